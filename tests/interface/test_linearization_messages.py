"""What linearization refuses, and how it says so; what results look like."""

import sys

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from random_loops import parallelogram


@pytest.fixture(scope="module")
def loader():
    return zoo.loader().compile(backend="casadi")


@pytest.fixture(scope="module")
def at(loader):
    return loader.state(*zoo.loader_start())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["lift", "B"], r"constraints tie lift, B together.*best choice among the joints of the tree is \['B', 'G'\]"),
        (["lift"], r"1 coordinates \(lift\); 'loader' has 2 degrees of freedom here"),
        (["lift", "tilt", "B"], r"3 coordinates .* has 2 degrees of freedom"),
        (["lift", "tlt"], "Did you mean 'tilt'"),
        ([], r"0 coordinates \(none\)"),
    ],
)
def test_a_choice_that_does_not_determine_the_motion_is_refused_with_a_better_one(loader, at, given, message):
    with pytest.raises((da.ArgumentError, da.UnknownName), match=message):
        da.linearize(loader, at, independent=given)


def test_a_coordinate_that_cannot_move_is_named():
    """At its top dead centre the slider stands still."""
    system = zoo.slider_crank().compile(backend="casadi")
    x = system.state(*zoo.slider_crank_start(0.0))
    with pytest.raises(da.ArgumentError, match=r"hold guide still here.*\['(A|B)'\]"):
        da.linearize(system, x, independent=["guide"])
    assert da.linearize(system, x, independent=["A"]).A.shape == (2, 2)


def test_a_singular_configuration_is_refused_with_the_reason():
    system = parallelogram()
    with pytest.raises(da.ArgumentError, match="singular configuration: the constraints have rank 1 here and 2 nearby"):
        da.linearize(system, system.state())


def test_a_state_off_the_manifold_is_refused(loader, at):
    with pytest.raises(da.ArgumentError, match="position misses row"):
        da.linearize(loader, at.replace({"B": 0.3}))
    with pytest.raises(da.ArgumentError, match="velocity misses row"):
        da.linearize(loader, at.replace(v={"B": 0.3}))


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("speed:B", "no output 'speed:B'"),
        ("position:lp", "Did you mean 'lip'"),
        ("position:lip@w", "needed: x, y or z"),
        ("multiplier:D.q", "no row"),
        ("multiplier:D.z", "not determinate"),
        (("two", lambda s: s.position("lip")), "has 3 values; needed: one"),
    ],
)
def test_outputs_that_do_not_exist_are_refused(loader, at, output, message):
    with pytest.raises((da.ArgumentError, da.UnknownName), match=message):
        da.linearize(loader, at, outputs=[output])


def test_regulators_refuse_what_cannot_work(loader, at):
    model = da.linearize(loader, at, independent=["B", "G"])
    with pytest.raises(da.UnknownName, match="'C rate'"):
        da.lqr(model, {"C rate": 1.0})
    with pytest.raises(da.ArgumentError, match="R is not positive definite"):
        da.lqr(model, R=0.0)
    with pytest.raises(da.ArgumentError, match="shape"):
        da.lqr(model, Q=np.eye(3))
    free = zoo.heavy_top().compile(backend="casadi")
    with pytest.raises(da.ArgumentError, match="no inputs"):
        da.lqr(da.linearize(free, free.state(*zoo.heavy_top_start())))
    lost = da.Mechanism("two carts")
    for name in ("a", "b"):
        lost.add_joint(name, da.Prismatic("x"), lost.ground, lost.add_body(f"cart {name}", mass=1.0))
    lost.add_motor("push", "a")
    carts = lost.compile(backend="casadi")
    model = da.linearize(carts, {})
    assert not model.controllable
    assert {name for h in model.uncontrollable for name in h.direction} <= {"b", "b rate"}
    with pytest.raises(da.ArgumentError, match=r"no input reaches 0.*b rate"):
        da.lqr(model)


def test_unobservable_states_are_named(loader, at):
    model = da.linearize(loader, at, independent=["B", "G"], outputs=["rate:B", "rate:G"])
    assert model.observable
    cart = zoo.cart_pole().compile(backend="casadi")
    model = da.linearize(cart, cart.state(*zoo.cart_pole_start()), outputs=["phi1"])
    assert not model.observable
    assert list(model.unobservable[0].direction) == ["cart"]


def test_second_derivatives_are_asked_for_along_a_direction_or_weighted_not_both():
    system = zoo.four_bar().compile(backend="casadi")
    x = system.state(*zoo.four_bar_start(0.7))
    with pytest.raises(da.ArgumentError, match="both given; needed: one"):
        da.second_derivatives(system, x, direction=np.zeros(6), weights=np.zeros(3))
    with pytest.raises(da.ArgumentError, match="direction"):
        da.second_derivatives(system, x, direction=np.zeros(5))


def test_equilibria_that_do_not_exist_are_refused():
    system = zoo.heavy_top().compile(backend="casadi")
    with pytest.raises(da.ArgumentError, match="has no inputs"):
        da.equilibrium(system, solve_for="u")
    with pytest.raises(da.ArgumentError, match="solve_for is 'v'"):
        da.equilibrium(system, solve_for="v")
    falling = da.Mechanism("falling", gravity=(0, 0, -9.81))
    falling.add_joint("z", da.Prismatic("z"), falling.ground, falling.add_body("stone", mass=1.0))
    with pytest.raises(da.AssemblyError, match=r"does not rest.*'z', by 9\.81"):
        da.equilibrium(falling.compile(backend="casadi"))


def test_a_search_for_rest_that_comes_to_a_singular_position_says_so():
    """Below 14 rad/s the arms of this governor hang down on the post, where both links turn freely."""
    m = da.Mechanism("governor")
    post = m.add_body("post", mass=1.0, inertia=(0.01, 0.01, 0.01))
    sleeve = m.add_body("sleeve", mass=2.0, inertia=(0.01, 0.01, 0.01))
    m.add_joint("spin", da.Revolute("z"), m.ground, post)
    m.add_joint("slide", da.Prismatic("z"), post.at(0, 0, -0.3), sleeve)
    for k in range(2):
        arm = m.add_body(f"arm {k}", mass=1.2, com=(0, 0, -0.2), inertia=(1e-4, 1e-4, 1e-4))
        m.add_joint(f"lean {k}", da.Revolute("y"), post.at(rotation=da.rotation("z", np.pi * k)), arm)
        m.add_rod(f"link {k}", arm.at(0, 0, -0.2), sleeve, length=0.2)
    m.add_spring("spring", post, sleeve, stiffness=200.0, rest_length=0.45)
    system = m.compile(backend="casadi")
    x = system.assemble({"lean 0": -0.5, "lean 1": -0.5})
    with pytest.raises(da.AssemblyError, match=r"no equilibrium was found near the guess.*singular"):
        da.equilibrium(system, x, v={"spin": 8.0})
    with pytest.raises(da.AssemblyError, match=r"with slide at the given value.*q= exerts no force.*add_driver"):
        da.equilibrium(system, x, q={"slide": x["slide"]}, v={"spin": 8.0})


def test_names_and_tables_read_well(loader, at):
    model = da.linearize(loader, at, independent=["B", "G"], outputs=["lift", "position:lip"])
    assert model.state_names == ("B", "G", "B rate", "G rate")
    assert model.output_names == ("lift", "position:lip@x", "position:lip@y", "position:lip@z")
    assert repr(model).startswith("<linear model of 'loader': 4 states (B, G, B rate, G rate), 2 inputs, 4 outputs")
    assert "damping" in model.table()
    states = model.modes[-1].states(0.01, n=4)
    assert len(states) == 4
    for x in states:
        assert np.abs(loader.residuals(x)).max() < 1e-9
    with pytest.raises(da.ArgumentError, match="cannot be left out"):
        model.without(["B"])
    with pytest.raises(da.ArgumentError, match="as many outputs as inputs"):
        model.zeros()
    with pytest.raises(da.ArgumentError, match="discrete already"):
        model.discretize(0.1).discretize(0.1)


@pytest.mark.parametrize(("damping", "stable"), [(0.0, False), (0.05, True)])
def test_stable_means_that_disturbances_die_out(damping, stable):
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    bob = m.add_body("bob", mass=1.0, com=(0, -1.0, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, bob, damping=damping)
    model = da.linearize(m.compile(backend="casadi"), {})
    assert model.stable == stable
    assert model.discretize(0.1).stable == stable
    (mode,) = model.modes
    assert mode.damping == pytest.approx(damping / (2 * np.sqrt(9.81)), abs=1e-12)


def test_without_python_control_the_extra_is_named(loader, at, monkeypatch):
    monkeypatch.setitem(sys.modules, "control", None)
    with pytest.raises(da.MissingExtra, match=r'pip install "dalembert\[control\]"'):
        da.linearize(loader, at).to_control()


@pytest.mark.parametrize("given", ["B", 3, {"B": 1.0}, [3, "G"], [("B",)], [("f", 1.0)], [["B"], "G"]])
def test_coordinates_that_are_no_list_of_names_are_refused(loader, at, given):
    with pytest.raises(da.ArgumentError, match="independent"):
        da.linearize(loader, at, independent=given)


def test_a_discrete_model_has_no_parameter_slopes(loader, at):
    with pytest.raises(da.ArgumentError, match=r"discrete, with a step of 0\.01 s"):
        da.parameter_slopes(da.linearize(loader, at).discretize(0.01))


def test_positions_that_repeat_independent_ones_are_named():
    """The message is about positions=, and tells what is left to give."""
    m = da.Mechanism("sled", gravity=(0, 0, -9.81))
    m.add_joint("at", da.Planar("z"), m.ground, m.add_body("sled", 1.0, inertia=(1, 1, 1)))
    m.add_skate("blade", "sled", sideways="y")
    system = m.compile()
    x = system.assemble({"at.x": 0.0}, {"at.x": 2.0})
    own = ["at.x", "at.angle"]
    with pytest.raises(da.ArgumentError, match=r"positions repeats 'at.x', 'at.angle' .* positions=\['at.y'\]"):
        da.linearize(system, x, independent=own, positions=["at.x", "at.angle", "at.y"])
    with pytest.raises(da.ArgumentError, match=r"Leave positions= out"):
        da.linearize(system, x, independent=own, positions=["at.x"])
    assert da.linearize(system, x, independent=own, positions=["at.y"]).A.shape == (5, 5)
