"""Lengths that make a pin follow a path, against coupler curves by circles that meet."""

import math

import numpy as np
import pytest

from dalembert import zoo
from dalembert.errors import DalembertError
from dalembert.studio.drawing import TEMPLATES
from dalembert.studio.path_synthesis import follow, resampled
from dalembert.studio.sketch import Sketch
from studio_desk import Desk


def coupler_curve(pins, turns):
    """Places (complex) of E on the coupler C D of the four-bar A C D B: D is where two circles meet, left of C → B."""
    A, B, C, D, E = (complex(*pins[n]) for n in "ABCDE")
    out = []
    for turn in turns:
        c = A + (C - A) * np.exp(1j * turn)
        L = abs(B - c)
        x = (L**2 + abs(D - C) ** 2 - abs(D - B) ** 2) / (2 * L)
        d = c + (x + 1j * math.sqrt(abs(D - C) ** 2 - x**2)) * (B - c) / L
        out.append(c + (E - C) / (D - C) * (d - c))
    return np.array(out)


def strokes(w):
    return np.column_stack([w.real, w.imag])


TURNS = np.linspace(0, 2 * np.pi, 90)
START = TEMPLATES["four-bar"]


def test_a_path_of_other_lengths_elsewhere_is_followed_on_the_branch():
    """The stroke is a coupler curve of other lengths, turned and smaller; what is found traces it by the circles."""
    other = START.moved({"C": (0.08, 0.21), "E": (0.35, 0.62)})
    wanted = (0.4 + 0.5j) + 0.6j * coupler_curve(other.pins, TURNS)
    found = follow(START, "E", strokes(wanted))
    curve = coupler_curve(found.sketch.pins, np.linspace(0, 2 * np.pi, 2000))
    size = np.ptp(wanted.real)
    assert np.abs(wanted[:, None] - curve).min(axis=1).max() < 5e-3 * size
    assert found.rms <= found.most < 5e-3 * size
    assert set(found.sketch.members) == set(START.members)


def test_an_open_path_is_followed_by_a_part_of_the_curve():
    wanted = 1.3 * coupler_curve(START.pins, np.linspace(0.5, 2.5, 40)) - 0.2
    found = follow(START, "E", strokes(wanted))
    curve = coupler_curve(found.sketch.pins, np.linspace(0, 2 * np.pi, 2000))
    assert np.abs(wanted[:, None] - curve).min(axis=1).max() < 5e-3 * np.ptp(wanted.real)


def test_a_stroke_is_met_at_even_distances_and_closed_where_its_ends_meet():
    square = [(0, 0), (1, 0), (1, 1), (0, 1), (0, 0.1)]
    w, closed = resampled(square)
    assert closed
    assert np.abs(np.diff(np.append(w, w[0]))).max() == pytest.approx(4 / len(w))
    assert not resampled(square[:4])[1]


@pytest.mark.parametrize(
    ("sketch", "pin", "path", "said"),
    [
        (START, "E", [(0, 0), (1, 1)], "fewer than three points"),
        (START, "E", [(0, 0)] * 5, "no length"),
        (START, "E", [(0, 0), (1, math.nan), (2, 2)], "fewer than three points"),
        (START, "E", [(0, 0), (1e9, 1), (2, 2)], "farther"),
        (START, "E", "hello", "fewer than three points"),
        (START, "A", [(0, 0), (1, 0), (1, 1)], "does not move"),
        (START, "Q", [(0, 0), (1, 0), (1, 1)], "'Q'"),
        (TEMPLATES["five-bar"], "E", [(0, 0), (1, 0), (1, 1)], "mobility 2"),
        (Sketch().with_pin((0, 0))[0], "A", [(0, 0), (1, 0), (1, 1)], "does not move yet"),
    ],
)
def test_what_cannot_be_followed_is_refused_with_a_sentence(sketch, pin, path, said):
    with pytest.raises(DalembertError, match=said):
        follow(sketch, pin, path)


HOSTILE = [
    {"do": "follow", "pin": "E", "path": "hello"},
    {"do": "follow", "pin": "E", "path": [[0, 0]] * 5001},
    {"do": "follow", "pin": "E", "path": [[0, 0], [1, None], [2, 2]]},
    {"do": "follow", "pin": ["E"], "path": [[0, 0], [1, 0], [1, 1]]},
    {"do": "follow"},
    {"do": "recent", "name": "../../../etc/passwd"},
    {"do": "recent", "name": ["a"]},
    {"do": "recent"},
]


def test_hostile_paths_and_names_are_refused_and_change_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    system = zoo.four_bar().compile()
    desk = Desk(system, system.state(*zoo.four_bar_start(0.6)))
    desk.do("sketch", op="begin", **{"from": "four-bar"})
    for command in HOSTILE:
        count = len(desk.errors())
        desk.do(command["do"], **{k: x for k, x in command.items() if k != "do"})
        assert len(desk.errors()) == count + 1, command
        assert "unexpectedly" not in desk.errors()[-1]
        assert desk.session.drawing.sketch == START
    desk.session.close()
    assert not list(tmp_path.glob("studio/*"))
