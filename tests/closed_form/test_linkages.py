"""Planar linkages from a sketch against the triangles they are made of."""

import copy
import inspect

import numpy as np
import pytest

import dalembert as da
from dalembert.zoo.planar import meet, unit


def klann():
    """A leg of Klann's kind: crank, bent rod, two rockers, leg."""
    pins = {
        "O": (0, 0), "A": (0.65, 0.30), "B": (0.60, -0.27), "M": ("O", 0.27, 0.0), "C": ("M", 0.60, "B", 0.38, 1),
        "D": ("M", 1.18, "C", 0.60, 1), "E": ("D", 0.50, "A", 0.55, -1), "foot": ("D", 0.95, "E", 1.36, 1)}  # fmt: skip
    bars = {"crank": "O M", "rod": "M C D", "lower": "B C", "upper": "A E", "leg": "D E foot"}
    return da.Linkage("Klann", pins, "O A B", bars, density=2.0)


def jansen(angle=0.0):
    a, b, c, d, e, f, g, h, i, j, k, l, m = np.array(
        [38.0, 41.5, 39.3, 40.1, 55.8, 39.4, 36.7, 65.7, 49.0, 50.0, 61.9, 7.8, 15.0]) / 100  # fmt: skip
    pins = {
        "Z": (0, 0), "O": (a, l), "X": ("O", m, angle), "Y": ("Z", b, "X", j, 1), "W": ("Z", c, "X", k, -1),
        "V": ("Z", d, "Y", e, 1), "U": ("V", f, "W", g, -1), "foot": ("U", h, "W", i, -1)}  # fmt: skip
    bars = {"crank": "O X", "upper": "X Y", "lower": "X W", "top": "Z Y V", "rod": "Z W", "link": "V U"}
    bars |= {"shin": "U W foot"}
    return da.Linkage("Jansen", pins, "O Z", bars)


@pytest.mark.parametrize("leg", [klann, jansen])
def test_walking_legs_are_twelve_lines_and_walk(leg):
    """Pins found by hand where the crank has turned are where the sweep has them."""
    assert len(inspect.getsource(leg).splitlines()) <= 12
    m = leg()
    system = m.compile("casadi")
    assert system.report(system.state()).mobility == 1
    assert system.report(system.state()).residual < 1e-15
    turn = system.sweep({"O": np.linspace(0.0, 2 * np.pi, 25)}, system.state())
    assert turn.success
    if leg is jansen:
        for k in (3, 11, 19):
            drawn = jansen(turn["O"][k]).points["foot"].astype(float)
            np.testing.assert_allclose(turn.position("foot")[k], drawn, atol=1e-9)
    assert np.ptp(turn.position("foot")[:, 0]) > 0.3


def test_pins_are_placed_by_distances_and_angles():
    pins = {"A": (0.1, 0.2), "B": ("A", 0.5, 0.3), "C": ("A", 0.4, "B", 0.3, 1), "D": ("A", 0.4, "B", 0.3, -1)}
    m = da.Linkage("pins", pins)
    A, B, C, D = (m.points[n].astype(float)[:2] for n in "ABCD")
    np.testing.assert_allclose(B, A + 0.5 * unit(0.3), atol=1e-15)
    np.testing.assert_allclose(C, meet(A, 0.4, B, 0.3, 1), atol=1e-15)
    np.testing.assert_allclose(D, meet(A, 0.4, B, 0.3, -1), atol=1e-15)


def test_a_pin_along_and_across_a_way_keeps_its_place_on_the_plate_for_other_lengths():
    """The pin is u along and w to the left of A → B whatever the length and direction of AB; w = 0 lies on the line."""
    pins = {
        "A": (0.1, -0.2),
        "B": lambda p: ("A", p["AB"], p["turn"]),
        "C": lambda p: ("A", "B", p["u"], p["w"]),
        "M": ("B", "A", 0.25, 0.0),
    }
    given = {"AB": 0.5, "turn": 0.4, "u": 0.3, "w": 0.2}
    m = da.Linkage("plate", pins, "A", {"plate": "A B C M"}, parameters=given)
    system = m.compile()
    for changed in ({}, {"AB": 0.9, "turn": 2.5}, {"w": -0.1, "u": -0.2}, {"w": 0.0}):
        p = given | changed
        way = np.array([np.cos(p["turn"]), np.sin(p["turn"])])
        left = np.array([-way[1], way[0]])
        at = system.with_parameters(p)
        x = at.state()
        assert np.allclose(at.pose(x, "C")[:2, 3], [0.1, -0.2] + p["u"] * way + p["w"] * left, atol=1e-14)
        assert np.allclose(at.pose(x, "M")[:2, 3], [0.1, -0.2] + (p["AB"] - 0.25) * way, atol=1e-14)
    with pytest.raises(da.DescriptionError, match="two pins apart"):
        da.Linkage("none", {"A": (0, 0), "B": (0, 0), "C": ("A", "B", 1.0, 0.0)})


def test_lengths_may_be_parameters():
    """A four-bar drawn again with another crank is the one whose crank was changed."""

    def bars(r, **options):
        pins = {"A": (0, 0), "D": (0.55, 0), "B": ("A", r, 0.6) if options == {} else lambda p: ("A", p["r"], 0.6)}
        pins |= {"C": ("B", 0.6, "D", 0.4, 1)}
        return da.Linkage("bars", pins, "A D", {"crank": "A B", "coupler": "B C", "rocker": "C D"}, **options)

    one = bars(0.2, parameters={"r": 0.2}).compile("casadi").with_parameters(r=0.25)
    other = bars(0.25).compile("casadi")
    assert one.report(one.state()).residual < 1e-15
    for system in (one, other):
        assert list(system.layout.joints) == ["A", "B", "D"]
    np.testing.assert_allclose(one.acceleration({}).vdot, other.acceleration({}).vdot, rtol=1e-12)


def test_a_slider_crank_moves_as_its_triangle():
    """x = r cos q + √(l² − r² sin² q)."""
    r, l = 0.1, 0.3
    drawn = r * np.cos(0.5) + np.sqrt(l * l - (r * np.sin(0.5)) ** 2)
    pins = {"O": (0, 0), "A": ("O", r, 0.5), "P": (drawn, 0.0)}
    m = da.Linkage("engine", pins, "O", {"crank": "O A", "rod": "A P"})
    m.add_slider("piston", "P", (1, 0), mass=0.5)
    system = m.compile("casadi")
    turn = system.sweep({"O": np.linspace(0.0, 2 * np.pi, 13)}, system.state())
    q = turn["O"] + 0.5
    wanted = r * np.cos(q) + np.sqrt(l * l - (r * np.sin(q)) ** 2)
    np.testing.assert_allclose(turn.position("piston")[:, 0], wanted, atol=1e-12)
    assert len(system.row_names) == 2  # none of the spatial rows is left


def test_plates_weigh_as_the_bars_of_their_outline():
    """A square frame: m = 4 ρ a, about its middle J = 4 ρ a (a²/12 + a²/4); a bar: ρ l and m l²/12."""
    m = da.Linkage("frame", {"A": (0, 0), "B": (2, 0), "C": (2, 2), "D": (0, 2), "E": (4, 0)}, "A",
                   {"frame": "A B C D", "bar": "B E"}, density=3.0)  # fmt: skip
    frame, bar = m.bodies["frame"], m.bodies["bar"]
    assert frame.mass == pytest.approx(24.0)
    np.testing.assert_allclose(frame.com.astype(float), (1, 1, 0))
    assert frame.inertia[2, 2] == pytest.approx(24.0 * (4 / 12 + 1))
    assert bar.mass == pytest.approx(6.0)
    assert bar.inertia[2, 2] == pytest.approx(6.0 * 4 / 12)
    heavy = da.Linkage("bar", {"A": (0, 0), "B": (2, 0)}, "A", {"bar": "A B"}, mass=5.0).bodies["bar"]
    assert heavy.inertia[2, 2] == pytest.approx(5.0 * 4 / 12)


def test_wheels_and_cylinders_are_joined_at_pins():
    m = da.Linkage("crane", {"A": (0, 0), "B": (2, 0), "C": (1, -1), "E": (1, 0)}, "A C", {"boom": "A E B"}, mass=100.0)
    m.add_cylinder("jack", "C", "E", masses=(2.0, 1.0), limits=(-0.2, 0.5))
    m.add_wheel("wheel", "B", radius=0.3, mass=10.0)
    system = m.compile("casadi")
    assert system.report(system.state()).mobility == 2
    u = da.equilibrium(system, system.state(), solve_for="u").u[0]
    weight = 9.81 * (m.bodies["boom"].mass * m.bodies["boom"].com[0] + 10.0 * 2.0)
    assert u == pytest.approx(weight + 9.81 * 1.0, rel=1e-9)  # and the rod, of 1 kg; the tube stands on its pin


def test_a_linkage_is_a_mechanism_that_can_be_copied_and_saved(tmp_path):
    m = copy.deepcopy(jansen())
    m.add_bar("tail", ["foot", "Z"])  # joins at pins of the copy
    assert m.holders["foot"] == ["shin", "tail"]
    jansen().save(tmp_path / "jansen.yaml")
    read = da.read(tmp_path / "jansen.yaml").compile("casadi")
    np.testing.assert_allclose(read.acceleration({}).vdot, jansen().compile("casadi").acceleration({}).vdot, rtol=1e-12)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda m: m.add_bar("x", "A"), "needed: two or more, each once"),
        (lambda m: m.add_bar("x", "A Q"), "asks for pin 'Q'; known: A, B, C"),
        (lambda m: m.add_pin("x", ("A", 0.1, "B", 0.2, 1)), "between 0.1 and 0.3 m"),
        (lambda m: m.add_pin("x", 3), "needed: (x, y), (pin, distance, angle)"),
        (lambda m: m.add_slider("x", "B", (0, 0)), "the direction of 'x' is (0, 0)"),
        (lambda m: m.pin("C"), "no body has pin 'C'"),
    ],
)
def test_sketches_that_cannot_be_are_refused(act, message):
    m = da.Linkage("bar", {"A": (0, 0), "B": (1, 0), "C": (2, 0)}, "A", {"bar": "A B"})
    with pytest.raises(da.DalembertError) as caught:
        act(m)
    assert message in str(caught.value)


def test_a_linkage_is_copied_with_its_pins():
    m = jansen().copy("other")
    m.add_bar("tail", "foot Z")
    assert m.holders["foot"] == ["shin", "tail"]
    assert "tail" not in jansen().bodies
