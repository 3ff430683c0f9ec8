"""The studio on a phone, upright and across, and zoomed to twice its size: the mechanism and one panel at a time."""

from itertools import combinations

import pytest

pytest.importorskip("websockets", reason="websockets is not installed (extra `studio`)")
PANELS = {"left": "#left", "plots": "#plots", "right": "#right"}
BOXES = """names => names.map(name => {
  const r = document.querySelector(name).getBoundingClientRect();
  return [r.left, r.top, r.right, r.bottom];
})"""


@pytest.mark.parametrize("size", [(390, 844), (844, 390), (640, 400)])
def test_narrow_pages_show_the_mechanism_and_one_panel_and_nothing_covers_anything(opened, size):
    _, page = opened(size=size, touch=True)
    for sheet, panel in PANELS.items():
        if page(f"document.body.dataset.sheet !== '{sheet}'"):
            page.page.click(f'#sheets [data-sheet="{sheet}"]')
        assert page.page.get_attribute(f'#sheets [data-sheet="{sheet}"]', "aria-pressed") == "true"
        assert page("document.documentElement.scrollWidth") == size[0]
        assert page("document.documentElement.scrollHeight") == size[1]
        assert [s for s in PANELS if page.page.locator(PANELS[s]).is_visible()] == [sheet]
        boxes = page(BOXES, ["header", "#tools", "#stage", "#time", "#sheets", panel])
        for left, top, right, bottom in boxes:
            assert 0 <= left < right <= size[0]
            assert 0 <= top < bottom <= size[1]
        for one, other in combinations(boxes, 2):  # apart, to half a pixel
            assert one[2] <= other[0] + 0.5 or other[2] <= one[0] + 0.5 or one[3] <= other[1] + 0.5 or (
                other[3] <= one[1] + 0.5
            )  # fmt: skip
    page.page.click('#sheets [data-sheet="right"]')  # away with it
    assert page("[...document.querySelectorAll('#left, #right, #plots')].every(e => !e.offsetWidth)")
    left, top, right, bottom = page(BOXES, ["#stage"])[0]
    assert right - left == size[0]
    assert bottom - top >= 150
    assert page("document.querySelector('#stage canvas').clientHeight") >= 150


def test_the_mechanism_is_seen_while_a_slider_is_moved_with_a_thumb(opened):
    _, page = opened(size=(390, 844), touch=True)
    stage, slider = page(BOXES, ["#stage", "#coordinates .slider"])
    assert stage[3] - stage[1] >= 150
    assert slider[3] <= 844
    before = page("studio.state.q[0]")
    box = page.page.locator("#coordinates .slider input[type=range]").first.bounding_box()
    page.page.touchscreen.tap(box["x"] + 0.7 * box["width"], box["y"] + box["height"] / 2)
    page.until(f"Math.abs(studio.state.q[0] - {before}) > 1e-3")
