"""The sketch: operations on a value, how it moves, and the mechanism and the script that it becomes."""

import contextlib
import json
import math
import random

import numpy as np
import pytest

import dalembert as da
import studio_desk
from dalembert.errors import DalembertError
from dalembert.studio.drawing import TEMPLATES
from dalembert.studio.planar import SketchRows, with_length
from dalembert.studio.script import Script
from dalembert.studio.session import Session
from dalembert.studio.sketch import Sketch, SketchHistory, edges, snapped
from dalembert.studio.sketch_linkage import linkage, problem, python


def drawn(pins, ground, members):
    """A sketch of pins {name: place} and members (kind, names)."""
    sketch = Sketch.from_dict({"pins": pins, "ground": ground.split()})
    for kind, names, *values in members:
        sketch = sketch.with_member(kind, names.split(), *values)
    return sketch


def four_bar(crank=0.2, coupler=0.5, rocker=0.4, base=0.55, angle=0.7):
    """A four-bar A B C D with these lengths, drawn at a crank angle; ground A D."""
    B = crank * np.array([math.cos(angle), math.sin(angle)])
    D = np.array([base, 0.0])
    L = np.linalg.norm(D - B)
    a = (L**2 + coupler**2 - rocker**2) / (2 * L)
    u = (D - B) / L
    C = B + a * u + math.sqrt(coupler**2 - a**2) * np.array([-u[1], u[0]])
    pins = {"A": (0.0, 0.0), "B": tuple(B), "C": tuple(C), "D": tuple(D)}
    return drawn(pins, "A D", [("bar", "A B"), ("bar", "B C"), ("bar", "C D"), ("motor", "A")])


WHITWORTH = drawn(
    {"O": (0, 0.4), "A": (0, 0), "P": (0.15, 0.55), "B": (0.15 * 1.6, 0.55 * 1.6)}, "O A",
    [("bar", "O P"), ("bar", "A B"), ("slider", "P A B"), ("motor", "O")],
)  # fmt: skip
PARALLEL = drawn(
    {"A": (0, 0), "B": (0.1, 0.3), "C": (0.5, 0), "D": (0.6, 0.3), "E": (1.0, 0), "F": (1.1, 0.3)}, "A C E",
    [("bar", "A B"), ("bar", "C D"), ("bar", "E F"), ("bar", "B D F")],
)  # fmt: skip
MIRRORED = four_bar().moved({pin: (x, -y) for pin, (x, y) in four_bar().pins.items()})
SKETCHES = {
    **TEMPLATES, "four-bar by lengths": four_bar(), "whitworth": WHITWORTH, "parallel": PARALLEL, "mirrored": MIRRORED
}  # fmt: skip


@pytest.mark.parametrize("name", SKETCHES)
def test_the_mechanism_has_the_mobility_and_redundancy_of_the_sketch_and_its_pins_where_they_are_drawn(name):
    sketch = SKETCHES[name]
    assert problem(sketch) == ""
    system = linkage(sketch).compile()
    report = system.report(system.state())
    mobility, redundant = SketchRows(sketch).mobility()
    assert (report.mobility, len(report.redundant)) == (mobility, redundant)
    assert report.residual < 1e-12
    m = system.layout.mechanism
    for pin, at in sketch.pins.items():
        placed = system.pose(system.state(), m.pin(pin))[:2, 3] if pin in m.holders else at
        assert np.allclose(placed, at, atol=1e-12)


@pytest.mark.parametrize("name", SKETCHES)
def test_a_sketch_its_saved_model_and_its_script_are_the_same_mechanism(name, tmp_path):
    """Parameters, accelerations and positions of three routes agree; the sketch itself is read back as it was."""
    sketch = SKETCHES[name]
    assert Sketch.from_dict(json.loads(json.dumps(sketch.to_dict()))) == sketch
    first = linkage(sketch)
    first.save(tmp_path / "m.json")
    space = {"da": da}
    exec(python(sketch), space)
    systems = [first.compile(), da.read(tmp_path / "m.json").compile(), space["system"]]
    v = np.random.default_rng(7).normal(size=systems[0].nv)
    for other in systems[1:]:
        assert other.q_names == systems[0].q_names
        assert other.p_names == systems[0].p_names
        a, b = (s.acceleration(s.project(s.state(v=dict(zip(s.v_names, v))))).vdot for s in (systems[0], other))
        assert np.allclose(a, b, rtol=1e-9, atol=1e-9 * np.abs(a).max())


def test_a_length_of_the_mechanism_is_its_parameter():
    """The four-bar of other lengths, by parameters, moves as one that is drawn with these lengths: closed form."""
    sketch, lengths = four_bar(), {"AB": 0.18, "BC": 0.52, "CD": 0.43, "AD": 0.6}
    system = linkage(sketch).compile().with_parameters(lengths)
    m = system.layout.mechanism
    x = system.state()
    at = {n: system.pose(x, m.pin(n))[:2, 3] for n in "ABCD"}
    for name, L in lengths.items():
        assert math.dist(at[name[0]], at[name[1]]) == pytest.approx(L, abs=1e-12)
    assert system.report(x).residual < 1e-12


def test_a_typed_length_is_reached_and_the_others_stay():
    sketch = TEMPLATES["four-bar"]
    pairs = [e for m in sketch.members.values() for e in edges(m)] + [("A", "B")]
    for a, b in pairs:
        new = math.dist(sketch.pins[a], sketch.pins[b]) * 1.07
        other = with_length(sketch, a, b, new)
        for p, q in pairs:
            wanted = new if {p, q} == {a, b} else math.dist(sketch.pins[p], sketch.pins[q])
            assert math.dist(other.pins[p], other.pins[q]) == pytest.approx(wanted, abs=1e-11)
        assert other.pins["A"] == (0.0, 0.0)
    with pytest.raises(DalembertError, match="while the other lengths stay"):
        with_length(sketch, "A", "C", 5.0)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_curve_of_a_traced_pin_closes_and_lies_on_the_circle_of_its_bar(scale):
    s = four_bar()
    s = s.moved({n: (scale * x, scale * y) for n, (x, y) in s.pins.items()})
    curve = SketchRows(s).curve()
    assert curve.closed
    assert not len(curve.dead)
    at = {n: curve.places[:, k] for k, n in enumerate(curve.pins)}
    for (a, b), L in {("A", "B"): 0.2, ("B", "C"): 0.5, ("C", "D"): 0.4}.items():
        assert np.allclose(np.linalg.norm(at[a] - at[b], axis=1), scale * L, atol=1e-11 * scale)
    turned = np.unwrap(np.arctan2(at["B"][:, 1], at["B"][:, 0]))
    assert abs(turned[-1] - turned[0]) == pytest.approx(2 * np.pi)


def test_dead_points_of_a_driven_rocker_are_where_crank_and_coupler_are_in_line():
    """The rocker of a crank-rocker turns back where the crank's far pin is b + a and b − a from its ground pin."""
    s = four_bar()
    s = s.without(["motor1"]).with_member("motor", ["D"])
    curve = SketchRows(s).curve()
    k = {n: i for i, n in enumerate(curve.pins)}
    assert curve.driver == "D"
    reach = sorted(np.linalg.norm(places[k["C"]] - places[k["A"]]) for places in curve.dead)
    assert reach == pytest.approx([0.3, 0.7], abs=1e-9)


def stroke(rng, s):
    """A sketch after an operation at random, which may be one that is refused."""
    names = [*s.pins] or ["A"]

    def pick():
        return rng.choice([rng.choice(names), [rng.uniform(-1, 1), rng.uniform(-1, 1)]])

    strokes = [
        lambda: s.with_pin([rng.uniform(-1, 1), rng.uniform(-1, 1)])[0],
        lambda: s.with_member(rng.choice(["bar", "bar", "spring", "damper", "cylinder"]), [pick(), pick()]),
        lambda: s.with_member("bar", [pick(), pick(), pick()]),
        lambda: s.with_member(rng.choice(["slider", "motor"]), [pick()]),
        lambda: s.with_member("slider", [pick(), rng.choice(names), rng.choice(names)]),
        lambda: s.grounded(rng.choice(names), rng.random() < 0.7),
        lambda: s.with_trace(rng.choice(names), rng.random() < 0.7),
        lambda: s.without([rng.choice([*s.pins, *s.members] or ["A"])]),
        lambda: s.copied(rng.sample(names, min(3, len(names))), (0.1, 0.0)),
        lambda: with_length(s, rng.choice(names), rng.choice(names), rng.uniform(0.1, 1.0)),
    ]
    return rng.choice(strokes)()


def test_random_strokes_of_the_pen_never_break_a_sketch():
    """Thousand operations at random: each gives a sketch that is read back as it was, or is refused with a sentence."""
    rng = random.Random(5)
    history, refused = SketchHistory(), 0
    for _ in range(1000):
        try:
            history = history.then(stroke(rng, history.now))
        except DalembertError:
            refused += 1
        assert Sketch.from_dict(history.now.to_dict()) == history.now
        if len(history.now.pins) > 12:
            history = history.then(Sketch())
    assert 50 < refused < 800
    back = history
    while back.before:
        back = back.undo()
    for _ in range(len(history.before)):
        back = back.redo()
    assert back == history


def test_what_random_strokes_call_a_mechanism_compiles_with_the_mobility_of_the_sketch():
    """Random bars, plates, sliders on random pins: generic positions, so ranks of both formulations are the same."""
    rng, count = random.Random(11), 0
    while count < 12:
        s = Sketch()
        for _ in range(rng.randint(4, 7)):
            s = s.with_pin([rng.uniform(-1, 1), rng.uniform(-1, 1)])[0]
        for pin in rng.sample([*s.pins], 2):
            s = s.grounded(pin, True)
        for _ in range(rng.randint(2, 5)):
            s = s.with_member("bar", rng.sample([*s.pins], rng.choice([2, 2, 3])))
        loose = [p for p in s.pins if p not in s.ground]
        if rng.random() < 0.5:
            s = s.with_member("slider", [rng.choice(loose)], {"angle": rng.uniform(0, 3)})
        if problem(s):
            continue
        count += 1
        system = linkage(s).compile()
        report = system.report(system.state())
        assert report.residual < 1e-11, s
        assert (report.mobility, len(report.redundant)) == SketchRows(s).mobility(), s


def test_snapping_prefers_pins_then_levels_then_the_grid():
    s = drawn({"A": (0.0, 0.0), "B": (0.33, 0.2)}, "A", [])
    assert snapped(s, (0.01, -0.01), 0.03, 0.1) == "A"
    assert snapped(s, (0.01, -0.01), 0.03, 0.1, ["A"]) == (0.0, 0.0)
    assert snapped(s, (0.335, 0.52), 0.03, 0.1) == (0.33, 0.5)
    assert snapped(s, (0.25, 0.25), 0.03, 0.1) == (0.25, 0.25)


BAD = [
    {"pins": {"A": [0, math.inf]}}, {"pins": {"A": [0]}}, {"pins": {"A": "00"}}, {"pins": {"along": [0, 0]}},
    {"pins": {"<img>": [0, 0]}}, {"pins": {"A": [0, 0]}, "members": {"A": {"kind": "bar", "pins": ["A", "A"]}}},
    {"pins": {"A": [0, 0], "B": [0, 0]}, "members": {"b": {"kind": "bar", "pins": ["A", "B"]}}},
    {"pins": {"A": [0, 0]}, "members": {"b": {"kind": "bar", "pins": ["A", [1, 0]]}}},
    {"pins": {"A": [0, 0]}, "members": {"b": {"kind": "gear", "pins": ["A"]}}},
    {"pins": {"A": [0, 0]}, "members": {"b": {"kind": "motor", "pins": ["A"], "values": {"x": 1}}}},
    {"pins": {"A": [0, 0]}, "members": {"b": {"kind": "spring", "pins": ["A", "B"], "values": {"stiffness": -1}}}},
    {"pins": {f"A{k}": [k, 0] for k in range(201)}}, {"pins": {"A": [1e5, 0]}}, {"pins": [], "ground": 3}, 7,
    {"pins": {"A": [0, 0]}, "ground": ["B"]}, {"pins": {"A": [0, 0]}, "ground": "A"},
]  # fmt: skip


@pytest.mark.parametrize("data", BAD)
def test_a_broken_file_of_a_sketch_is_refused_with_a_sentence(data):
    with pytest.raises(DalembertError, match=r"needed|there is no|at most|is not|known:"):
        Sketch.from_dict(data)


# --- in a session ------------------------------------------------------------------------------------------------


@pytest.fixture
def desk():
    return Desk()


def test_a_sketch_becomes_a_mechanism_as_soon_as_it_can_move_and_is_none_before(desk):
    desk.do("simulate", time=0.1)
    assert "no mechanism yet" in desk.errors()[-1]
    desk.draw("begin").draw("pin", at=[0, 0], ground=True)
    assert desk.last("sketch")[0]["why"] == "Join pins by a bar."
    desk.draw("member", kind="bar", pins=["A", [0.31, 0.02]], radius=0.04, grid=0.1)
    told = desk.last("sketch")[0]
    assert (told["mobility"], told["redundant"], told["why"]) == (1, 0, "")
    assert told["sketch"]["pins"]["B"] == [0.3, 0]  # on the grid, level with A
    assert desk.last("model")[0]["sketched"] is True
    system = desk.session.bench.system
    x = system.state({"A": 0.3})
    assert system.acceleration(x).vdot[0] == pytest.approx(-1.5 * 9.81 / 0.3 * math.cos(0.3))  # of a hanging bar
    desk.draw("delete", names=["B"])
    assert desk.session.is_empty
    assert desk.events("empty")
    desk.draw("undo")
    assert not desk.session.is_empty
    desk.do("simulate", time=0.05)
    assert not desk.errors()[1:]
    assert desk.events("run")


def test_a_drag_is_one_step_and_curves_follow_it(desk):
    desk.draw("begin", **{"from": "four-bar"})
    before = desk.last("sketch")[0]
    for k in range(3):
        desk.draw("drag", pin="E", to=[0.4, 0.6 + 0.02 * k])
        told = desk.last("sketch")[0]
        assert told["dragged"]
        assert told["sketch"]["pins"]["E"] == [0.4, 0.6 + 0.02 * k]
    desk.draw("drag", pin="E", to=[0.4, 0.7], end=True)
    told = desk.last("sketch")[0]
    assert told["curves"][0]["pin"] == "E"
    assert told["curves"] != before["curves"]
    assert desk.draw("undo").last("sketch")[0]["sketch"] == before["sketch"]
    assert desk.draw("redo").last("sketch")[0]["sketch"]["pins"]["E"] == [0.4, 0.7]
    assert not desk.errors()


def test_a_saved_sketch_is_opened_again_and_its_model_is_an_ordinary_one(desk, tmp_path):
    desk.draw("begin", **{"from": "slider-crank"})
    sketch = desk.last("sketch")[0]["sketch"]
    desk.do("save", what="sketch")
    header, saved = desk.last("file")
    assert header["name"] == "sketch.json"
    desk.do("save", what="model")
    header, model = desk.last("file")
    (tmp_path / "m.json").write_bytes(model)
    assert da.read(tmp_path / "m.json").compile().p_names == desk.session.bench.system.p_names
    desk.do("script")
    assert "da.Linkage(" in desk.last("script")[0]["text"]
    desk.do("load", data=model, name="m.json")
    assert desk.session.drawing.history is None
    assert "sketch" not in desk.session.memory
    desk.do("load", data=saved, name="s.json")
    assert desk.last("sketch")[0]["sketch"] == sketch
    assert not desk.errors()


def test_hostile_operations_are_refused_with_a_sentence_and_change_nothing(desk):
    """Thousand operations with wrong kinds, names, depths: an error each or a sketch that can be read back."""
    rng = random.Random(3)
    desk.draw("begin", **{"from": "four-bar"})
    junk = [None, True, -1, 1e308, "A", "E", "<img src=x onerror=alert(1)>", "__class__", "bar1", [], {}, [[]],
            ["A"], ["A", "A"], [0, 0], [1e308, 0], [None, 0], {"A": [0, 0]}, {"angle": "x"}, "four-bar",
            "x" * 9999]  # fmt: skip
    keys = (
        "at",
        "pin",
        "pins",
        "kind",
        "values",
        "member",
        "names",
        "by",
        "a",
        "b",
        "to",
        "on",
        "end",
        "radius",
        "grid",
        "from",
    )
    ops = (
        "pin",
        "member",
        "ground",
        "trace",
        "length",
        "values",
        "place",
        "delete",
        "copy",
        "drag",
        "undo",
        "redo",
        "x",
        None,
        [],
    )
    drawing = desk.session.drawing
    for _ in range(1000):
        given = {key: rng.choice(junk) for key in rng.sample(keys, 6)}
        with contextlib.suppress(DalembertError):
            drawing.draw(None, {"op": rng.choice(ops), **given})
        assert Sketch.from_dict(drawing.sketch.to_dict()) == drawing.sketch
    assert desk.session.idle(120)
    assert not [text for text in desk.errors() if "unexpectedly" in text]


class Desk(studio_desk.Desk):
    """A session without a mechanism, with everything it told."""

    def __init__(self):
        self.session, self.told = Session(None, Script("")), []
        self.session.listen(1, self.hear)

    def draw(self, op, **given):
        return self.do("sketch", op=op, **given)
