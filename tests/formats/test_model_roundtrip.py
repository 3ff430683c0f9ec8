"""What is saved is read back bit by bit: M, h, Q, Φ, A, b and γ of every mechanism, as YAML and as JSON."""

import pickle

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.formats.model import read_text, text_of
from random_loops import random_closed
from random_mechanisms import random_state, random_tree


def bits(system, x, u):
    """Everything the equations give in a state."""
    phi, A, b = system.evaluate("constraints", x)
    return [
        system.mass_matrix(x),
        system.bias(x),
        system.applied_forces(x, u=u),
        phi,
        A,
        b,
        system.constraint_gamma(x),
    ]


def assert_same(m: da.Mechanism, other: da.Mechanism, seeds: int = 3) -> None:
    """Equal names, and equal bits at random states, with default and with other parameters."""
    assert str(m) == str(other)
    one, two = m.compile("casadi"), other.compile("casadi")
    assert one.layout.fingerprint == two.layout.fingerprint
    assert (one.u_names, one.p_names, one.rows.of) == (two.u_names, two.p_names, two.rows.of)
    for seed in range(seeds):
        rng = np.random.default_rng([seed, 3])
        x = random_state(one, seed)
        x = one.state(x.q, x.v, 0.37 + seed)
        u = rng.normal(size=len(one.u_names))
        p = {n: v * (1 + 0.1 * rng.random()) for n, v in one.parameters.items()}
        for s, t in ((one, two), (one.with_parameters(p), two.with_parameters(p)))[: 1 + bool(p)]:
            for a, b in zip(bits(s, x, u), bits(t, two.state(x.q, x.v, x.t), u)):
                assert np.array_equal(a, b)


def there_and_back(m: da.Mechanism) -> da.Mechanism:
    """The mechanism through YAML; what JSON makes of it says the same, and writing it again gives the same text."""
    texts = text_of(m), text_of(m, json=True)
    out = [read_text(texts[0]), read_text(texts[1], json=True)]
    for other in out:
        assert (text_of(other), text_of(other, json=True)) == texts
    return out[0]


@pytest.mark.parametrize("name", zoo.CATALOG)
def test_every_mechanism_of_the_zoo_comes_back_bit_by_bit(name):
    m = zoo.CATALOG[name].build()
    assert_same(m, there_and_back(m))


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_come_back_bit_by_bit(seed):
    m = random_tree(seed, 9, floating=seed % 2 == 0)
    assert_same(m, there_and_back(m), 2)


@pytest.mark.parametrize("seed", range(4))
def test_random_loops_come_back_bit_by_bit(seed):
    m = random_closed(seed, bodies=5)[0].layout.mechanism
    assert_same(m, there_and_back(m), 2)


def law(s):
    """Everything the grammar has, in one force."""
    x, w, p = s["A"], s.rate("A"), s.position("tip")
    y = ca.if_else(x > 0.2, ca.sin(x) / 3, ca.cos(x) ** 3) + ca.fmin(x, w) - ca.fmax(w, 0.1) + ca.fabs(w) * ca.sign(x)
    y += ca.atan2(p[0], 2 + p[1] ** 2) + ca.tanh(w) + ca.sinh(x) * ca.cosh(x) / ca.exp(x) + ca.log(3 + x * x)
    y += ca.sqrt(1 + x**2) ** 1.7 + ca.floor(3 * x) + ca.ceil(w) + ca.erf(x) + ca.asin(ca.tanh(x)) + ca.acos(ca.tanh(w))
    y += ca.logic_and(x < 1, w <= 2) * 0.1 + ca.logic_or(x == 1, w != 2) + ca.logic_not(x < w) + ca.fmod(x, 0.3)
    y += ca.atan(x) + ca.tan(x) + ca.asinh(x) + ca.atanh(ca.tanh(x) / 2) + ca.acosh(2 + x**2) + ca.copysign(2.0, w)
    y += ca.log1p(x**2) + ca.expm1(x) + ca.hypot(x, w) + 1e-300 * x - 1e22 * w * 1e-22 + 1 / (3 + x**2) + 0.1 * s.t
    return y


def everything() -> da.Mechanism:
    """One element of every kind, with parameters, inputs, functions of the state, shapes, states and limits."""
    m = da.Mechanism("everything: 'all' of it", gravity=(0, 0, -9.81))
    L, k, g = m.add_parameter("L", 0.5), m.add_parameter("spring rate", 40.0), m.add_parameter("t", [0.1, 0.2])
    m.gravity = (0, -0.1 * g[1] * ca.sqrt(L), -9.81)
    push = m.add_input("push", 2)
    arm = m.add_body("arm", mass=2.0 + L, com=(L / 2, 0, 0), inertia=da.rod_inertia(2.0, L))
    m.add_joint("A", da.Revolute("y"), m.ground, arm, damping=0.1, friction=0.2, stiffness=k, rest=0.2 * L)
    m.add_contact("foot", arm.at(L, 0, 0), radius=0.1 * L, restitution=0.5, friction=0.3, static_friction=0.4)
    m.add_contact("knob", arm, on=m.ground.at(0, 0, -2.0), radius=0.1, on_radius=0.2 * L, friction=0.3)
    m.add_contact("rim", arm.at(L, 0, 0), shape=("disc", 0.1 * L), friction=0.2)
    m.add_contact("bar", arm, shape=("capsule", (0.1, L)), on=m.ground.at(0, 3.0, 0), on_shape=("capsule", (0.1, 0.4)))
    m.add_contact("crate", arm, radius=0.1, on=m.ground.at(0, 5.0, 0), on_shape=("box", (0.1, L, 0.3)))
    arm.add_collider(
        da.Shape("box", (0.1, L, 0.3), (da.rotation("x", 0.3), (0, 0, L))), friction=0.4, group=6, against=2
    )
    m.ground.add_collider(da.Shape("plane"), restitution=0.1, combine="greatest", apart=["one"], together=["two", "x"])
    m.add_rope("leash", ["ground", arm.at(0.1 * L, 0, 0)], length=2 * L)
    m.add_unilateral("lobe", lambda s: s.position(arm.at(L))[0] + L * ca.cos(s["A"]) + g[1] * s.t + 5, restitution=0.1)
    m.add_unilateral("play", lambda s: 4.0 - s["A"], angular=True)
    ball = m.add_body("ball", mass=1.0, com=(0, 0, -0.1), inertia=(0.1, 0.1, 0.1))
    m.add_joint("S", da.Spherical(), arm.at(L, 0, 0), ball, stiffness=2.0, rest=da.rotation((1, 2, 3), 0.3))
    nut = m.add_body("nut", mass=0.5, inertia=(0.1, 0.1, 0.3), physical=False)
    m.add_joint(
        "N",
        da.Screw((1, 2, 3), pitch=0.01 * L),
        arm,
        nut,
        limits=(-1, np.inf),
        armature=0.01,
        stops=da.Stops(restitution=0.5),
        friction=da.Friction(1.0, static=2.0, stribeck=0.1),
    )
    float_ = m.add_body("float", mass=3.0, inertia=(1, 1.1, 1.2), inertia_axes=da.rotation((1, 1, 0), 0.4))
    m.add_joint("F", da.Free(), m.ground, float_)
    plate = m.add_body("plate", mass=1.0, inertia=(1, 1, 1))
    m.add_joint(
        "P",
        da.Planar("z"),
        m.ground,
        plate,
        damping=[1, 2, 3],
        limits=[(-1, 1), (-2, 2), (-np.inf, 3)],
        friction=[0, 1, 2],
        stops="rigid",
    )
    wheel = m.add_body("wheel", mass=1.0, inertia=(1, 1, 2))
    m.add_joint("W x", da.Free(), m.ground, wheel)
    disc = m.add_body("disc", mass=1.0, inertia=(1, 1, 2))
    m.add_joint("D", da.Universal((1, 1, 0), (1, -1, 0)), plate.at(0, 0, 1), disc)
    hook = m.add_body("hook", mass=1.0, inertia=(1, 1, 2))
    m.add_joint("C", da.Cylindrical("-x"), disc, hook.at(0.1, 0, 0, rotation=da.rotation((3, 1, 2), 0.7)))
    m.add_joint("weld", da.Fixed(), hook, m.add_body("eye", mass=0.1))
    tip = m.add_frame("tip", ball.at(0, 0, -0.2 * L, rotation=da.rotation("x", L)))
    m.add_frame("tip of tip", tip.at(0.1, 0.2, 0.3, rotation=da.rotation("z", 1.0)))
    m.add_motor("motor", "A")
    m.add_joint_force("law", "A", law)
    m.add_joint_force("given", "N", push[0] * k)
    m.add_joint_force("three", "P", [1.0, 2 * push[1], g[0]])
    m.add_wrench("wind", float_.at(0.1, 0, 0), force=[g[0] * push[1], 0, 1.0], axes="body")
    elsewhere = plate.at(0.1 * L, 0.2, 0.3)
    m.add_wrench(
        "drag",
        disc.at(0, 0.1, 0),
        force=lambda s: -0.3 * s.velocity(disc.at(0, 0.1, 0)) * ca.norm_2(s.velocity(elsewhere)),
        moment=lambda s: s.rotation("plate") @ s.twist("float")[:3],
    )
    m.add_wrench(
        "lift", plate, force=lambda s: s.twist("tip", axes="world")[3:] + s.pose("float")[:3, :3] @ s.position("tip")
    )
    m.add_spring("spring", m.ground, float_, stiffness=k, rest_length=L, damping=0.3)
    m.add_cable("cable", [m.ground.at(0, 0, 2), plate, ball], tension=push[1])
    m.add_cable("rope", [m.ground.at(0, 0, 2), plate, ball, tip], stiffness=100 * L, damping=0.5, rest_length=1.0)
    m.add_cable("winch", [m.ground, wheel], tension=lambda s: ca.fmax(0, 3 - s.t))
    m.add_input("last")
    m.add_actuator("jack", m.ground.at(0, 0, -1), arm.at(L, 0, 0), limits=(-10, 20))
    m.add_actuator("ram", plate, "tip")
    m.add_servo("steer", "P.angle", stiffness=k, damping=0.1 * L, limits=(-3, np.inf))
    m.add_servo("turn", "A", stiffness=2.0, rate=True)
    m.add_kinematic_input("raise", "P.y")
    m.add_potential(
        "well", lambda s: k * (1 - ca.cos(s["A"])) + ca.sumsqr(s.position("tip") - s.position(elsewhere)) * L
    )
    m.add_joint_force("stroke", "A", lambda s: -s.length("jack") - 0.1 * s.length_rate("rope"))
    tilt = m.add_body("tilt", mass=1.0, inertia=da.planar_inertia(0.3 * L))
    m.add_joint("T", da.Revolute((L, 0, g[0])), arm, tilt)
    fork = m.add_body("fork", mass=1.0, inertia=(1, 1, 1))
    m.add_joint("U", da.Universal((L, g[1], 0), (-g[1], L, 0)), tilt, fork)
    m.add_driver("cam", "U.first", da.Table([0, 1, 2.5, 3], [0.1, 0.3, 0.2, 0.4], ends="cyclic"))
    m.add_driver("held", "U.second", 0.3 * L)
    m.add_driver("plan", "T", da.control.quintic([0.0], [1.0], 2.0))
    m.add_point_driver("path", fork, ([0, 1, 4], [[0, 0, 0], [1, 2, 3], [1, 1, 1.0]]))
    m.add_point_in_plane("tilted", fork.at(0, 0, 1), m.ground, normal=(L, 0, -1))
    m.add_coupling("gear", {"N": 1.0, "A": -2.0 * L}, offset=0.1 * L)
    m.add_driver("drive", "P.x", lambda t: 0.3 * ca.sin(2 * t) * L)
    m.add_point_driver("carry", float_.at(0, 1, 0), lambda t: [ca.cos(t), 1.0, t * t])
    m.add_rolling("roll", wheel, radius=0.3, axis="y")
    m.add_rolling("ball on plate", tip, radius=0.3 * L, on=plate.at(0, 0, 0.1))
    m.add_rolling_discs("rims", plate, 0.3, hook, 0.2, axis="z", inside=True)
    m.add_skate("blade", plate, sideways="x")
    m.add_rod("rod", ball, float_.at(0, 0, 1), length=1.5 * L)
    m.add_point_on_line("line", hook, m.ground.at(1, 0, 0), axis=(1, 2, 2.5))
    m.add_point_in_plane("plane", disc, m.ground, normal="-y")
    m.close_loop("loop", da.Screw("x", pitch=L), nut, float_.at(0.3, 0, 0, rotation=da.rotation("y", 0.2)))
    m.close_loop("cross", da.Universal((1, 2, 0), (2, -1, 0)), nut, wheel)
    m.add_bushing("mount", m.ground.at(0.1, 0, 0), float_, stiffness=[k, 2.0, 3.0, 0.0, 5.0, k * L])
    coupled = np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).astype(object)
    coupled[0, 4] = coupled[4, 0] = 0.3
    m.add_bushing("coupled", float_, m.ground, stiffness=coupled.tolist(), damping=[0.1] * 5 + [L])
    table = da.Curve([-0.1, 0.0, 0.2], [-30.0, 0.0, 10.0], beyond="constant")
    smooth = da.Curve([-1, 0, 1, 3], [0.0, 0.5, 0.7, 0.7], smooth=True)
    m.add_bushing(
        "rubber", m.ground, float_, stiffness=[k, 1.0, table, 3.0, smooth, L], damping=[0, 0, 0, smooth, 0, 1]
    )
    m.add_spring("bump", m.ground, plate, stiffness=table, damping=smooth, rest_length=L)
    m.add_damper("oil", plate, wheel, damping=table)
    m.add_damper("plain oil", plate, wheel, damping=2 * L)
    m.add_torsion_spring("coil", "A", stiffness=k, damping=smooth, rest=0.1 * L)
    m.add_gear("lossy", "A", "P.angle", ratio=-3.0 * L, stiffness=k, damping=0.1, efficiency=0.9, offset=0.1)
    m.add_elastic_coupling("bar", {"P.x": 1.0, "C.slide": -L, "A": 0.3}, stiffness=table)
    m.add_clutch("clutch", "A", "P.angle", capacity=3.0 * push[0])
    m.add_brake("brake", "C.slide", capacity=lambda s: 2 + ca.sin(s["A"]), creep=0.1 * L)
    m.add_one_way_clutch("ratchet", "P.angle", damping=50.0)
    m.add_planetary("epicyclic", "A", "P.angle", "C.angle", teeth=(20, 60 * L))
    m.add_belt("belt", "A", "C.angle", radii=(L, 0.2), crossed=True)
    m.add_clutch("plates", "A", "P.angle", capacity=3.0, static=4.0)
    m.add_brake("band", "C.slide", capacity=k * L)
    m.add_belt("flat", "A", "C.angle", radii=(L, 0.2), friction=0.3, pretension=k, distance=2 * L)
    m.add_rack("rack", "A", "C.slide", radius=0.1 * L, offset=0.2)
    m.add_dc_motor("dc", "A", torque_constant=0.1 * L, resistance=2.0, ratio=20.0, efficiency=0.8, limits=(-12, 12))
    m.add_dc_motor("dc 2", "P.angle", torque_constant=0.1, back_emf=0.2, resistance=k)
    m.add_muscle("biceps", [m.ground.at(0, 0, 2), plate, tip], strength=1000 * L, optimal_length=0.3, tendon=L)
    m.add_muscle("triceps", [plate, arm], strength=500.0, optimal_length=0.3, speed=8.0)
    m.add_tyre("tyre", wheel, radius=L, stiffness=1e5, damping=10.0, longitudinal=[10, 1.65, 1.0, 0.5], lateral=k)
    m.add_tyre("bump road", wheel, radius=0.3, stiffness=1e5, on=float_, axis="x", road=smooth, slow=0.2)
    m.add_pulley_rope("hoist", [m.ground, da.Pulley(wheel, 0.1 * L, axis="y", turn=-1), plate.at(1, 0, 0)])
    m.add_actuator("cylinder", m.ground, plate.at(0.2, 0.1, 3), stroke=(0.2 * L, 5.0))
    m.add_cut_joint_spring("thread", "loop", stiffness=k, rest=0.1 * L, damping=0.2)
    m.add_cut_joint_spring("cross", "cross", stiffness=[1.0, 2.0], damping=[0.0, L])
    m.add_joint_force("after the springs of loops", "A", -0.1)
    m.add_constraint(
        "own",
        holonomic={"a b": lambda s: s["C.slide"] - s["A"] ** 2 * L, "c": lambda s: ca.sumsqr(s["S"][1:]) - s.t},
        pfaffian=lambda s: ca.dot(s.velocity("tip"), s.position("tip")) + s.rate("S")[1] * s["A"] + s.t,
    )
    m.add_state("home", q={"A": 0.1, "S": da.rotation("z", 0.3)}, v={"P.x": 2.0}, u={"push": [1, 2]}, t=0.1)
    m.ground.add_shape("plane")
    arm.add_shape("mesh", file="arm's.stl", scale=(1e-3, 1e-3, 1e-3), name="arm", rotation=da.rotation("x", 0.1))
    arm.add_shape("box", (L, 0.1, 0.1), at=(L / 2, 0, 0))
    arm.add_shape("cylinder", (0.1, 0.3), at=(0.1, 0, 0), colour=(0.1, 0.2, 0.3, 1))
    return m


def test_one_element_of_every_kind_comes_back_bit_by_bit():
    m = everything()
    other = there_and_back(m)
    assert_same(m, other)
    for name, body in m.bodies.items():
        for a, b in zip(body.shapes, other.bodies[name].shapes, strict=True):
            assert (a.kind, repr(a.size), a.colour, a.file, a.scale, a.name) == (
                b.kind, repr(b.size), b.colour, b.file, b.scale, b.name,
            )  # fmt: skip
            assert repr(a.pose.p.tolist()) == repr(b.pose.p.tolist())
            assert np.array_equal(a.pose.R, b.pose.R)
    for name, a in m.joints.items():
        b = other.joints[name]
        for key in ("stiffness", "damping", "rest", "armature", "limits"):
            assert repr(getattr(a, key)) == repr(getattr(b, key))
    x, y = (system.compile("casadi").named_state("home") for system in (m, other))
    assert np.array_equal(x.q, y.q)
    assert np.array_equal(x.v, y.v)
    assert (m.states["home"].u, x.t) == (other.states["home"].u, y.t)


def test_what_was_read_pickles():
    m = everything()
    there = pickle.loads(pickle.dumps(there_and_back(m)))
    assert_same(m, there, 1)


def test_the_same_numbers_in_machine_code():
    m = zoo.five_bar()
    one, two = m.compile(), there_and_back(m).compile()
    x = random_state(one, 5)
    for a, b in zip(bits(one, x, None), bits(two, two.state(x.q, x.v), None)):
        assert np.array_equal(a, b)


def test_axes_and_quaternions_that_are_unit_stay_as_they_are():
    rng = np.random.default_rng(0)
    for _ in range(300):
        a, b = rng.normal(size=(2, 3))
        axis = da.Revolute(a).axis
        assert np.array_equal(da.Revolute(axis).axis, axis)
        b = b - (b @ axis) * axis
        first, second = da.Universal(axis, b / np.linalg.norm(b)).axes
        again = da.Universal(first, second)
        assert np.array_equal(again.axes, (first, second))
        q = da.Spherical().normalized(rng.normal(size=4) * 0.1 + [1, 0, 0, 0])
        assert np.array_equal(da.Spherical().normalized(q), q)
        assert abs(np.linalg.norm(axis) - 1) < 1e-15


def test_text_stays_short_where_a_graph_shares_its_parts():
    """40 squarings of a sum: 2⁴⁰ terms when written out; and a chain too deep for one expression."""

    def shared(s):
        x = s["A"]
        for k in range(40):
            x = 0.5 * (x + 1) * (x - 0.1 * k)
        return x

    def deep(s):
        x = s["A"]
        for _ in range(400):
            x = ca.sin(x) + 0.01
        return x

    m = da.Mechanism("long")
    m.add_joint("A", da.Revolute("y"), m.ground, m.add_body("b", mass=1.0, com=(1, 0, 0)))
    m.add_joint_force("shared", "A", shared)
    m.add_joint_force("deep", "A", deep)
    text = text_of(m)
    assert len(text) < 20_000
    assert max(map(len, text.splitlines())) < 1500
    assert_same(m, there_and_back(m))


def test_what_was_computed_twice_is_computed_twice():
    """(x + y) − y' with y' a second copy of y: made one, CasADi would make x of it, which rounds less."""

    def law(s):
        def y():
            return ca.exp(0.3 * s["A"] + 0.1 * s.rate("A")) * 1e5 + 1 / 3

        return (s["A"] + y()) - y() + 1e3 * (ca.sin(y()) ** 2 + ca.cos(y()) ** 2)

    m = da.Mechanism("twice")
    m.add_joint("A", da.Revolute("y"), m.ground, m.add_body("b", mass=1.0, com=(1, 0, 0)))
    m.add_joint_force("law", "A", law)
    assert_same(m, there_and_back(m), 5)


class Opaque(ca.Callback):
    """Numbers from Python, which CasADi cannot look into."""

    def __init__(self):
        ca.Callback.__init__(self)
        self.construct("opaque", {})

    def eval(self, x):
        return [x[0]]


def _call(s):
    f = ca.Function("f", [x := ca.SX.sym("x")], [x**2], {"never_inline": True})
    return f.call([s["A"]], False, True)[0]


@pytest.mark.parametrize("f", [lambda s: Opaque()(s["A"]), _call, lambda s: float(s["A"]), lambda s: 1 / 0])
def test_a_function_that_cannot_be_written_is_refused_by_name(f):
    m = da.Mechanism()
    m.add_joint("A", da.Revolute("y"), m.ground, m.add_body("b", mass=1.0, com=(1, 0, 0)))
    m.add_joint_force("the law", "A", f)
    with pytest.raises(da.DescriptionError, match="the law"):
        text_of(m)


def test_elements_that_no_method_made_are_refused_by_name():
    from dalembert.mechanism.forces import Force

    class Own(Force):
        name, kind = "mine", "own force"

        def act(self, s, load):
            pass

    m = da.Mechanism()
    m.forces["mine"] = Own()
    with pytest.raises(da.DescriptionError, match="own force 'mine' is a Own"):
        text_of(m)
    m = da.Mechanism()
    m.add_parameter("a\nb", 1.0)
    with pytest.raises(da.DescriptionError, match="control character"):
        text_of(m)
    m = da.Mechanism()
    u = ca.SX.sym("stranger")
    m.add_joint("A", da.Revolute("y"), m.ground, m.add_body("b", mass=1.0))
    m.add_joint_force("f", "A", u)
    with pytest.raises(da.DescriptionError, match=r"joint force 'f' .* stranger"):
        text_of(m)


GEARS = """
dalembert: 1
name: gears
parameters: {z: 60}
bodies:
BODIES
joints:
JOINTS
constraints:
  pair: {type: gear, a: A, b: B, teeth: [20, z], inside: true, carrier: C, offset: 0.1}
  worm: {type: gear, a: A, b: D, ratio: -40/2}
  pinion: {type: rack, pinion: D, rack: E, radius: 0.1*z, offset: 0.3}
  set: {type: planetary, sun: A, ring: B, carrier: F, teeth: [20, z]}
  axle: {type: differential, case: F, left: B, right: D}
  chain: {type: belt, a: A, b: F, radii: [0.1, 0.2], crossed: true}
"""


def test_gears_and_belts_of_a_file_are_those_of_the_methods():
    body = "{mass: 1.0, inertia: [1, 1, 1]}"
    joints = "".join(
        f"  {n}: {{type: {'prismatic' if n == 'E' else 'revolute'}, axis: z, parent: ground, child: {n.lower()}}}\n"
        for n in "ABCDEF"
    )
    bodies = "".join(f"  {n}: {body}\n" for n in "abcdef")
    read = read_text(GEARS.replace("BODIES\n", bodies).replace("JOINTS\n", joints))
    m = da.Mechanism("gears", gravity=(0, 0, -9.81))
    z = m.add_parameter("z", 60)
    for n in "ABCDEF":
        kind = da.Prismatic("z") if n == "E" else da.Revolute("z")
        m.add_joint(n, kind, m.ground, m.add_body(n.lower(), mass=1.0, inertia=(1, 1, 1)))
    m.add_gear("pair", "A", "B", teeth=(20, z), inside=True, carrier="C", offset=0.1)
    m.add_gear("worm", "A", "D", ratio=-20.0)
    m.add_rack("pinion", "D", "E", radius=0.1 * z, offset=0.3)
    m.add_planetary("set", "A", "B", "F", teeth=(20, z))
    m.add_differential("axle", "F", "B", "D")
    m.add_belt("chain", "A", "F", radii=(0.1, 0.2), crossed=True)
    assert_same(m, read)
    assert_same(read, there_and_back(read))
