"""The widget of notebooks in a real browser: its frame plays the run, its slider sends values and takes a new page."""

import json

from browser_waiting import until
from dalembert import zoo
from dalembert.view import web
from dalembert.view.widget import page_of

HOST = """<!doctype html><meta charset="utf-8"><body><div id="one"></div><div id="two"></div><script type="module">
const listening = {}, held = __STATE__;
window.sent = [];
window.model = {
  get: name => held[name],
  set: (name, value) => { held[name] = value; },
  save_changes: () => { window.sent.push(structuredClone(held.values)); },
  on: (event, f) => { (listening[event] ??= new Set()).add(f); },
  off: (event, f) => { listening[event]?.delete(f); },
  tell: (name, value) => { held[name] = value; for (const f of listening[`change:${name}`] ?? []) f(); },
};
const code = URL.createObjectURL(new Blob([__CODE__], { type: "text/javascript" }));
const widget = (await import(code)).default;
window.ends = ["one", "two"].map(id => widget.render({ model: window.model, el: document.getElementById(id) }));
window.ready = true;
</script>"""


def hosted(tab, tmp_path, page, sliders):
    state = {"page": page, "sliders": sliders, "values": {x["name"]: x["value"] for x in sliders}, "trouble": "",
             "height": 300}  # fmt: skip
    safe = {k: json.dumps(v).replace("</", "<\\/") for k, v in (("STATE", state), ("CODE", web.source("widget.js")))}
    path = tmp_path / "host.html"
    path.write_text(web.filled(HOST, safe), encoding="utf-8")
    tab.goto(path.as_uri())
    until(tab, "!!window.ready")


def frame(tab, k=0):
    return tab.locator("iframe").nth(k).element_handle().content_frame()


def test_a_sweep_plays_in_two_cells_and_a_slider_asks_python(tab, tmp_path):
    """Two views of one model, as notebooks make them: pages have ids and globals of their own in their frames."""
    system = zoo.four_bar().compile()
    x = system.assemble({"A": 0.6})
    pages = [page_of(system.sweep({"A": [a, a + 0.2]}, x)) for a in (0.6, 0.8)]
    hosted(tab, tmp_path, pages[0], [{"name": "A", "least": 0.4, "greatest": 1.0, "value": 0.6}])
    for k in range(2):
        until(frame(tab, k), "!!(window.player && player.stage)")
    before = frame(tab).evaluate("[...player.stage.poses]")
    tab.locator("input[type=range]").first.evaluate(
        "x => { x.value = 0.7; x.dispatchEvent(new Event('input')); x.dispatchEvent(new Event('change')); }"
    )
    assert tab.evaluate("window.sent") == [{"A": 0.7}]
    assert tab.locator("output").first.text_content() == "0.7"
    tab.evaluate("page => window.model.tell('page', page)", pages[1])
    until(frame(tab), "!!(window.player && player.stage)")
    until(tab, "!!window.ready")
    frame(tab).evaluate("player.go(0)")
    assert frame(tab).evaluate("[...player.stage.poses]") != before
    tab.evaluate("window.model.tell('trouble', 'ValueError: no')")
    assert tab.locator(".trouble").first.text_content() == "ValueError: no"
    tab.evaluate("window.ends[0](); window.model.tell('trouble', '')")
    assert tab.locator(".trouble").first.text_content() == "ValueError: no"  # a closed view does not listen


def test_a_mechanism_is_alive_in_its_cell(tab, tmp_path):
    hosted(tab, tmp_path, page_of(zoo.four_bar()), [])
    for k in range(2):
        until(frame(tab, k), "!!window.live")
    assert tab.locator("input[type=range]").count() == 0
