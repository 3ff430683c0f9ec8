"""Names that would be scripts: in files that are dropped, in pages that are written, they are text."""

import pytest

import dalembert as da
from browser_waiting import until
from studio_page import drop

pytest.importorskip("websockets", reason="websockets is not installed (extra `studio`)")

EVIL = '<img src=x onerror="broken=1">'


def named(word):
    """The name of an element that tries to be a script in three ways."""
    return f"{word} {EVIL}</script><script>broken=2</script>"


def mechanism(loops=True):
    """Bodies, joints, frames, parameters, inputs and a mechanism with such names."""
    m = da.Mechanism(named("machine"), gravity=(0, -9.81, 0))
    length = m.add_parameter(named("length"), 0.2)
    crank, coupler, rocker = (
        m.add_body(named(n), mass=1.0, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01)) for n in ("crank", "rod", "rocker")
    )
    m.add_joint(named("A"), da.Revolute("z"), m.ground, crank)
    m.add_joint(named("B"), da.Revolute("z"), crank.at(length, 0, 0), coupler)
    m.add_joint(named("D"), da.Revolute("z"), m.ground.at(0.55, 0, 0), rocker)
    if loops:
        m.close_loop(named("C"), da.Revolute("z"), coupler.at(0.6, 0, 0), rocker.at(0.4, 0, 0))
    m.add_frame(named("tip"), coupler.at(0.3, 0.1, 0))
    m.add_motor(named("torque"), named("A"))
    return m


def unharmed(page, *words):
    """No script ran, no element was made of a name, and the names are there as text."""
    found = page.evaluate("[window.broken ?? 0, document.querySelectorAll('img[src=x]').length]")
    assert found == [0, 0]
    text = page.evaluate("document.body.textContent")
    for word in words:
        assert named(word) in text, word


URDF = """<robot name="NAME"><link name="world"/>
<link name="crank"><inertial><mass value="1"/><origin xyz="0.1 0 0"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="A" type="continuous"><parent link="world"/><child link="crank"/><axis xyz="0 0 1"/></joint></robot>"""
MJCF = """<mujoco model="NAME"><worldbody><body name="crank"><joint name="A" axis="0 0 1"/>
<inertial pos="0.1 0 0" mass="1" diaginertia="0.01 0.01 0.01"/></body></worldbody>
<actuator><motor name="torque" joint="A"/></actuator></mujoco>"""


def escaped(text):
    from xml.sax.saxutils import quoteattr

    for word in ("NAME", "crank", "A", "torque"):
        text = text.replace(f'"{word}"', quoteattr(named("machine" if word == "NAME" else word)))
    return text


@pytest.mark.parametrize("kind", ["yaml", "json", "urdf", "mjcf"])
def test_names_in_dropped_files_are_text(opened, tmp_path, kind):
    """Every panel, toast, tooltip and plot is shown once."""
    if kind in ("yaml", "json"):
        mechanism().save(tmp_path / f"m.{kind}")
        text, words = (tmp_path / f"m.{kind}").read_text(), ("machine", "A", "B", "length", "torque")
    else:
        text, words = escaped(URDF if kind == "urdf" else MJCF), ("machine", "A")
    if kind == "mjcf":
        pytest.importorskip("mujoco", reason="MuJoCo reads MJCF; it is not installed (extra `mjcf`)")
    _, page = opened()
    drop(page, f"{named('file')}.{'xml' if kind == 'mjcf' else kind}".replace("/", ""), text)
    page.until("studio.state.model.name.startsWith('machine ')")
    page.until("studio.state.poses && !studio.state.fresh")
    unharmed(page.page, *words)
    page.page.fill("#duration", "0.05")
    page.page.click("#simulate")
    page.until("studio.state.runs.A?.more")
    page.page.click("[data-show=names]")
    page.page.click("[data-show=frames]")
    for tab in ("forces", "map", "linear"):
        page.page.click(f"#tab-{tab}")
    page.page.click("#linearize")
    page.page.wait_for_selector("#linear tr.pick")
    page("() => { for (const t of document.querySelectorAll('#groups [role=tab]')) t.click(); }")
    page("() => studio.link.on.note({ text: studio.state.model.name })")
    page("() => studio.link.on.error({ text: studio.state.model.name })")
    page.page.click("#python")
    page.page.wait_for_selector("#code[open] pre:has-text('import dalembert')")
    page.page.wait_for_timeout(200)
    unharmed(page.page, *words)


def test_names_in_written_pages_are_text(tab, tmp_path):
    """A live page, a run's page and what a notebook shows."""
    system = mechanism().compile()
    x = system.assemble(guess={named("A"): 0.6, named("B"): -0.1, named("D"): 1.4})
    run = da.simulate(system, x, 0.1)
    tab.goto(da.view.export_html(system, tmp_path / "live.html", x, traces=[named("tip")]).as_uri())
    until(tab, "!!window.live && live.drawn > 0")
    tab.click("details summary")
    tab.click("#modes button")
    unharmed(tab, "machine", "A", "length", "torque")
    tab.goto(run.animate(tmp_path / "run.html", traces=[named("tip")]).as_uri())
    until(tab, "!!(window.player && player.stage)")
    unharmed(tab, "machine")
    tab.goto("about:blank")
    for shown in (mechanism(), system, x, run, da.linearize(system, x)):
        if hasattr(shown, "_repr_html_"):
            tab.set_content(f"<!doctype html><body>{shown._repr_html_()}</body>")
            tab.wait_for_timeout(50)
            unharmed(tab)
