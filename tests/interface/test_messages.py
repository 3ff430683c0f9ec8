"""Every refusal says what, found, needed, where and how to repair it."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da


@pytest.fixture
def m():
    m = da.Mechanism("arm")
    m.add_body("base", mass=1.0, inertia=(1, 1, 1))
    m.add_body("forearm", mass=1.0, inertia=(1, 1, 1))
    m.add_body("hand", mass=1.0, inertia=(1, 1, 1))
    m.add_joint("shoulder", da.Revolute("z"), "ground", "base")
    return m


def _slide(m):
    return m.add_joint("elbow", da.Prismatic("x"), "base", "hand")


def _hinge(m):
    return m.add_joint("elbow", da.Revolute("x"), "base", "hand")


REFUSED = {
    "unknown body": (
        lambda m: m.add_joint("elbow", da.Revolute("z"), "forarm", "hand"),
        "joint 'elbow' asks for body 'forarm'; known: ground, base, forearm, hand. Did you mean 'forearm'?",
    ),
    "unknown joint": (
        lambda m: m.add_motor("drive", "sholder"),
        "motor 'drive' asks for joint 'sholder'; known: shoulder. Did you mean 'shoulder'?",
    ),
    "duplicate body": (lambda m: m.add_body("hand"), "there is a body 'hand' already"),
    "duplicate joint": (
        lambda m: m.add_joint("shoulder", da.Revolute("z"), "base", "hand"),
        "there is a joint 'shoulder' already",
    ),
    "duplicate parameter": (
        lambda m: (m.add_parameter("L", 1), m.add_parameter("L", 2)),
        "there is a parameter 'L' already",
    ),
    "duplicate input": (lambda m: (m.add_input("u"), m.add_input("u")), "there is an input 'u' already"),
    "parameter named as an input": (
        lambda m: (m.add_input("k"), m.add_parameter("k", 1)),
        "there is an input 'k' already",
    ),
    "body named as a frame": (
        lambda m: (m.add_frame("tip", m.ground.at(1, 0, 0)), m.add_body("tip")),
        "there is a frame 'tip' already",
    ),
    "dot in a joint's name": (
        lambda m: m.add_joint("a.b", da.Revolute("z"), "base", "hand"),
        "joint 'a.b' has a dot in its name",
    ),
    "motor on a fixed joint": (
        lambda m: (m.add_joint("weld", da.Fixed(), "base", "hand"), m.add_motor("drive", "weld")),
        "motor 'drive' is on joint 'weld', which is fixed",
    ),
    "rotation about nothing": (lambda m: da.rotation("w", 1.0), "the axis of a rotation is 'w'; needed: 'x'"),
    "loop by a free joint": (
        lambda m: m.close_loop("c", da.Free(), "base", "hand"),
        "loop 'c' is closed by a free joint, which forbids no motion",
    ),
    "loop of a body with itself": (
        lambda m: m.close_loop("c", da.Revolute("z"), "hand", "hand"),
        "loop 'c' connects body 'hand' with itself",
    ),
    "rod of no length": (lambda m: m.add_rod("c", "base", "hand", length=0.0), "the length of rod 'c' is 0"),
    "coupling of an unknown coordinate": (
        lambda m: m.add_coupling("c", {"sholder": 1.0}),
        "coupling 'c' asks for coordinate 'sholder'; known: shoulder. Did you mean 'shoulder'?",
    ),
    "driver of a quaternion": (
        lambda m: (m.add_joint("ball", da.Spherical(), "base", "hand"), m.add_driver("c", "ball.qx", lambda t: t)),
        "asks for coordinate 'ball.qx' of a spherical joint, a quaternion; constrain frames instead",
    ),
    "constraint without rows": (lambda m: m.add_constraint("c"), "constraint 'c' has no rows"),
    "skate along no axis": (lambda m: m.add_skate("c", "base", sideways="w"), "the axis of skate 'c' is 'w'"),
    "empty name": (lambda m: m.add_body(""), "the name of a body is ''"),
    "NaN mass": (lambda m: m.add_body("x", mass=np.nan), "the mass of body 'x' is nan; every number must be finite"),
    "infinite centre of mass": (
        lambda m: m.add_body("x", mass=1, com=(0, np.inf, 0)),
        "the centre of mass of body 'x' is [0.0, inf, 0.0]; every number must be finite",
    ),
    "two coordinates for a point": (
        lambda m: m.add_body("x", mass=1, com=(0, 1)),
        "the centre of mass of body 'x' has shape (2,); needed: three numbers",
    ),
    "words for a mass": (
        lambda m: m.add_body("x", mass="heavy"),
        "the mass of body 'x' is 'heavy' (str); needed: one number",
    ),
    "negative mass": (lambda m: m.add_body("x", mass=-1), "the mass of body 'x' is -1; it must be at least 0"),
    "negative default of a parameter used as mass": (
        lambda m: m.add_body("x", mass=m.add_parameter("mass", -2.0)),
        "the mass of body 'x' is -2; it must be at least 0",
    ),
    "zero axis": (
        lambda m: da.Revolute((0, 0, 0)),
        "the axis of a revolute joint is (0, 0, 0), which has no direction",
    ),
    "NaN axis": (lambda m: da.Prismatic((0, np.nan, 0)), "the axis of a prismatic joint[1] is nan"),
    "unknown axis letter": (lambda m: da.Revolute("w"), "the axis of a revolute joint is 'w'; needed: 'x', 'y', 'z'"),
    "axes not perpendicular": (
        lambda m: da.Universal("x", (1, 1, 0)),
        "the axes of a universal joint meet at 45°; they must be perpendicular",
    ),
    "not a rotation": (
        lambda m: m.ground.at(0, 0, 0, rotation=np.diag([1, 1, 2])),
        "the rotation of a frame on body 'ground' is not a rotation: R Rᵀ differs from the identity by 3",
    ),
    "reflection": (
        lambda m: m.ground.at(0, 0, 0, rotation=np.diag([1, 1, -1])),
        "is a reflection (determinant −1), not a rotation",
    ),
    "impossible inertia": (
        lambda m: m.add_body("rod", mass=1, inertia=(1, 1, 3)),
        "the inertia of body 'rod' is diag(1, 1, 3): the largest principal moment (3) exceeds the sum of the "
        "others (2)",
    ),
    "negative inertia": (lambda m: m.add_body("x", mass=1, inertia=(1, -1, 1)), "a principal moment is negative (-1)"),
    "asymmetric inertia": (
        lambda m: m.add_body("x", mass=1, inertia=[[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]),
        "the inertia of body 'x' is not symmetric",
    ),
    "a second free joint": (
        lambda m: (
            m.add_joint("elbow", da.Free(), "base", "forearm"),
            m.add_joint("wrist", da.Free(), "base", "hand"),
            m.add_joint("x", da.Free(), "hand", "forearm"),
            m.compile(),
        ),
        "joint 'x' is free and forbids no motion, but its bodies are connected by others",
    ),
    "tree that is no flag": (
        lambda m: m.add_joint("x", da.Revolute("z"), "base", "hand", tree="yes"),
        "tree of joint 'x' is 'yes'",
    ),
    "body on itself": (
        lambda m: m.add_joint("x", da.Revolute("z"), "hand", "hand"),
        "joint 'x' connects body 'hand' with itself",
    ),
    "class instead of joint": (
        lambda m: m.add_joint("x", da.Revolute, "base", "hand"),
        "needed: a joint such as da.Revolute('z')",
    ),
    "not connected": (lambda m: m.compile(), "bodies 'forearm', 'hand' not connected to the ground by joints"),
    "frame of another mechanism": (
        lambda m: m.add_joint("x", da.Revolute("z"), da.Mechanism().ground, "hand"),
        "belongs to another mechanism",
    ),
    "undeclared symbol": (
        lambda m: m.add_body("x", mass=ca.SX.sym("M")),
        "the mass of body 'x' uses the symbol M, which is no parameter of this mechanism; parameters are: none. "
        "Declare it with add_parameter(name, value).",
    ),
    "limits the wrong way round": (
        lambda m: m.add_joint("x", da.Revolute("z"), "base", "hand", limits=(1, -1)),
        "each lower one must not exceed its upper one",
    ),
    "anisotropic armature on a ball": (
        lambda m: m.add_joint("x", da.Spherical(), "base", "hand", armature=(1, 2, 3)),
        "a spherical joint takes one number for all three",
    ),
    "armature on a free joint": (
        lambda m: m.add_joint("x", da.Free(), "base", "hand", armature=1.0),
        "is on a free joint, which has no rotor",
    ),
    "spring on no loop": (lambda m: m.add_cut_joint_spring("s", "elbow"), "spring 's' asks for loop 'elbow'"),
    "bushing with three numbers": (
        lambda m: m.add_bushing("k", "base", "hand", stiffness=(1, 2, 3)),
        "the stiffness of bushing 'k' has shape (3,); needed: 6 numbers",
    ),
    "bushing with one number": (
        lambda m: m.add_bushing("k", "base", "hand", stiffness=5.0),
        "the stiffness of bushing 'k' has shape (); needed: 6 numbers",
    ),
    "bushing that is not symmetric": (
        lambda m: m.add_bushing("k", "base", "hand", stiffness=np.arange(36.0).reshape(6, 6)),
        "the stiffness of bushing 'k' is not symmetric",
    ),
    "free joint that closes a loop": (
        lambda m: m.close_loop("l", da.Free(), "base", "hand"),
        "forbids no motion; leave it out, or use add_bushing",
    ),
    "a spring without a law": (
        lambda m: m.add_spring("s", "base", "hand"),
        "spring 's' needs either a stiffness or a force",
    ),
    "a gear without a ratio": (lambda m: m.add_gear("g", "shoulder", "elbow"), "either a ratio or teeth=(z_a, z_b)"),
    "a gear that loses and is rigid": (
        lambda m: m.add_rack("g", "shoulder", _slide(m), radius=2.0, efficiency=0.9),
        "has a damping or an efficiency and no stiffness; a rigid one loses nothing. Give stiffness=.",
    ),
    "a belt with half of its friction": (
        lambda m: m.add_belt("b", "shoulder", _hinge(m), radii=(1, 2), friction=0.3),
        "belt 'b' has friction; it takes pretension= and distance=, and no stiffness",
    ),
    "an efficiency above 1": (
        lambda m: m.add_elastic_coupling("c", {"shoulder": 1.0}, stiffness=1.0, efficiency=1.2),
        "the efficiency of elastic coupling 'c' is 1.2",
    ),
    "a carrier named second": (
        lambda m: (
            m.add_joint("planet", da.Revolute("z"), "hand", "base"),
            m.add_joint("sun", da.Revolute("z"), "ground", "forearm"),
            m.add_gear("g", "sun", "planet", ratio=2.0, carrier="shoulder"),
        ),
        "gear 'g' has a wheel on joint 'planet', whose second body is the carrier 'base'; name the carrier first there",
    ),
    "a gear on itself": (
        lambda m: m.add_gear("g", "shoulder", "shoulder", ratio=2.0),
        "gear 'g' names coordinate 'shoulder' twice",
    ),
    "a belt on a slide": (
        lambda m: m.add_belt("b", "shoulder", _slide(m), radii=(1, 2)),
        "belt 'b' asks for coordinate 'elbow', which slides; needed: an angle",
    ),
    "a curve that goes back": (lambda m: da.Curve([0, 0], [1, 2]), "a curve has 2 x and 2 y; needed: as many of both"),
    "cable with nothing": (lambda m: m.add_cable("c", ["base", "hand"]), "needs either a tension or a stiffness"),
    "cable through one point": (lambda m: m.add_cable("c", ["base"], tension=1.0), "runs through 1 point(s)"),
    "unknown axes of a wrench": (
        lambda m: m.add_wrench("w", "base", force=(0, 0, 1), axes="local"),
        "axes of wrench 'w' is 'local'; needed: 'world' or 'body'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_descriptions_are_refused_with_a_repair(m, case):
    act, message = REFUSED[case]
    with pytest.raises(da.DescriptionError) as caught:
        act(m)
    assert message in str(caught.value)


def test_a_mass_matrix_that_is_singular_by_construction_names_the_coordinate():
    m = da.Mechanism()
    rotor = m.add_body("rotor", mass=1.0, com=(0, 0, 0.3), inertia=da.rod_inertia(1.0, 0.6, "z"))
    m.add_joint("spin", da.Revolute("z"), m.ground, rotor)
    with pytest.raises(da.DescriptionError, match="the mass matrix is singular: 'spin' moves no mass"):
        m.compile()


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_a_thin_rod_in_a_ball_joint_may_not_spin_freely_whatever_its_size(scale):
    m = da.Mechanism()
    rod = m.add_body("rod", mass=scale, com=(scale, 0, 0), inertia=da.rod_inertia(scale, 2 * scale))
    m.add_joint("ball", da.Spherical(), m.ground, rod)
    with pytest.raises(da.DescriptionError, match=r"'ball\.wx' moves no mass"):
        m.compile()


def test_an_undeclared_symbol_in_a_force_is_named(m):
    m.add_joint("elbow", da.Revolute("z"), "base", "forearm")
    m.add_joint("wrist", da.Revolute("z"), "forearm", "hand")
    m.add_joint_force("mystery", "wrist", ca.SX.sym("gain") * 2)
    with pytest.raises(da.DescriptionError, match="uses gain, which is neither an input nor a parameter"):
        m.compile(backend="casadi").forward_dynamics({})


@pytest.fixture
def system(m):
    m.add_joint("elbow", da.Universal(), "base", "forearm")
    m.add_joint("wrist", da.Spherical(), "forearm", "hand")
    m.add_frame("tip", m.bodies["hand"].at(0, 0, 0.1))
    m.add_motor("drive", "shoulder")
    m.add_parameter("gain", 2.0)
    return m.compile(backend="casadi")


ASKED = {
    "unknown coordinate": (
        lambda s: s.state({"elbw": 0.1}),
        "there is no joint or coordinate 'elbw'; known: shoulder, elbow, wrist, elbow.first",
    ),
    "wrong length of q": (lambda s: s.state([0, 1]), "q has shape (2,); needed: (7,), that is shoulder, elbow.first"),
    "wrong length of a joint": (
        lambda s: s.state({"elbow": 0.1}),
        "coordinate of joint 'elbow' is given 1 number(s); needed: elbow.first, elbow.second",
    ),
    "quaternion of no length": (
        lambda s: s.state({"wrist": (0, 0, 0, 0)}),
        "joint 'wrist': the quaternion [0.0, 0.0, 0.0, 0.0] has length 0; needed: 1, as (w, x, y, z).",
    ),
    "NaN in a state": (lambda s: s.state({"shoulder": np.nan}), "coordinate 'shoulder' is nan"),
    "unknown velocity": (lambda s: s.state(v={"wrist.wq": 1}), "there is no joint or velocity 'wrist.wq'"),
    "unknown frame": (lambda s: s.pose({}, "tipp"), "there is no frame or body 'tipp'; known: tip"),
    "unknown input": (
        lambda s: s.forward_dynamics({}, u={"drve": 1}),
        "there is no input 'drve'; known: drive. Did you mean 'drive'?",
    ),
    "wrong length of u": (
        lambda s: s.forward_dynamics({}, u=[1, 2]),
        "the array of inputs has shape (2,); needed: (1,)",
    ),
    "unknown parameter": (lambda s: s.mass_matrix({}, p={"gian": 1}), "Did you mean 'gain'?"),
    "wrong length of vdot": (lambda s: s.inverse_dynamics({}, [1.0]), "vdot has shape (1,); needed: (6,)"),
    "wrong axes": (lambda s: s.jacobian({}, "tip", axes="local"), "axes is 'local'; needed: 'body'"),
    "unknown function": (lambda s: s.function("mass_matrx"), "Did you mean 'mass_matrix'?"),
    "short wrench": (
        lambda s: s.inverse_dynamics({}, np.zeros(6), wrenches={"tip": (0, 0, 1)}),
        "the wrench (moment; force) on 'tip' has shape (3,); needed: 6 numbers.",
    ),
    "state of another system": (
        lambda s: da.Mechanism().compile().kinetic_energy(s.state()),
        "the state belongs to another system",
    ),
}


@pytest.mark.parametrize("case", ASKED)
def test_bad_questions_are_refused_with_a_repair(system, case):
    act, message = ASKED[case]
    with pytest.raises(da.DalembertError) as caught:
        act(system)
    assert message in str(caught.value)


@pytest.mark.parametrize("active", [np.array([True, False]), np.zeros(0), "C"])
def test_switches_that_are_no_mapping_are_refused(active):
    system = da.zoo.four_bar().compile(backend="casadi")
    with pytest.raises(da.ArgumentError, match=r"active is .*; needed: a mapping of names to values"):
        system.acceleration(system.state(*da.zoo.four_bar_start(0.6)), active=active)
