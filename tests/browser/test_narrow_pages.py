"""The studio on a phone, upright and across, and zoomed to twice its size: one column, and nothing covers anything."""

from itertools import pairwise

import pytest

pytest.importorskip("websockets", reason="websockets is not installed (extra `studio`)")
PARTS = ("header", "#tools", "#stage", "#time", "#plots", "#left", "#right")
BOXES = """names => names.map(name => {
  const r = document.querySelector(name).getBoundingClientRect();
  return [r.left, r.top, r.right, r.bottom];
})"""


@pytest.mark.parametrize("size", [(390, 844), (844, 390), (640, 400)])
def test_narrow_pages_have_no_parts_beside_or_above_each_other(opened, size):
    _, page = opened(size=size)
    assert page("document.documentElement.scrollWidth") == size[0]
    boxes = dict(zip(PARTS, page(BOXES, PARTS)))
    for left, top, right, bottom in boxes.values():
        assert 0 <= left < right <= size[0]
        assert top < bottom
    ordered = sorted(boxes.values(), key=lambda box: box[1])
    for above, below in pairwise(ordered):
        assert above[3] <= below[1] + 0.5
    left, top, right, bottom = boxes["#stage"]
    assert right - left == size[0]
    assert bottom - top >= 200
    assert bottom <= max(size[1], 420)  # the mechanism is what one sees first
    assert page("document.querySelector('#stage canvas').clientHeight") >= 200
