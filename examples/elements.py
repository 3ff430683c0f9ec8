"""Every machine element in a few lines, with a number that its formula gives: python examples/elements.py [picture.png]

Each function returns a system, a state, what the library finds there and what the formula says.
"""

import sys

import casadi as ca
import numpy as np

import dalembert as da

ELEMENTS = {}


def element(make):
    """Keep an example by its name."""
    ELEMENTS[make.__name__.replace("_", " ")] = make
    return make


def shafts(*names, at=(0, 0.4, 0.8), axis="z", inertia=1.0):
    """Discs of a moment of inertia on hinges along x."""
    m = da.Mechanism("shafts", gravity=(0, 0, 0))
    moments = [inertia if letter == axis else inertia / 2 for letter in "xyz"]
    for name, x in zip(names, at):
        body = m.add_body(f"{name} wheel", mass=1.0, inertia=moments)
        m.add_joint(name, da.Revolute(axis), m.ground.at(x, 0, 0), body)
    return m


def arm(**gravity):
    """A slender arm of 2 kg and 0.5 m on a hinge."""
    m = da.Mechanism("arm", **(gravity or {"gravity": (0, -9.81, 0)}))
    bar = m.add_body("bar", mass=2.0, com=(0.25, 0, 0), inertia=da.rod_inertia(2.0, 0.5))
    m.add_joint("hinge", da.Revolute("z"), m.ground, bar)
    return m, bar


@element
def spring_and_damper():
    m, bar = arm()
    m.add_spring("spring", m.ground.at(0.3, 0.4), bar.at(0.3), stiffness=500.0, rest_length=0.3)
    m.add_damper("damper", m.ground.at(0.45, 0.4), bar.at(0.45), damping=30.0)
    system = m.compile("casadi")
    x = system.state(v={"hinge": 2.0})
    exact = (500.0 * 0.1 * 0.3 - 30.0 * 0.9 * 0.45 - 2 * 9.81 * 0.25) / (2.0 * 0.25 / 3)  # moments / (m L²/3)
    return system, x, system.forward_dynamics(x)[0], exact


@element
def torsion_spring_by_a_table():
    m, _ = arm()
    m.add_torsion_spring("coil", "hinge", stiffness=([-1.0, -0.1, 0.1, 1.0], [-9.0, 0.0, 0.0, 9.0]))  # with play
    system = m.compile("casadi")
    x = system.state({"hinge": -0.6})
    return system, x, system.forward_dynamics(x)[0], (5.0 - 2 * 9.81 * 0.25 * np.cos(0.6)) / (2.0 * 0.25 / 3)


@element
def bushing():
    m = da.Mechanism("mount", gravity=(0, 0, -9.81))
    block = m.add_body("block", mass=20.0, inertia=(0.4, 0.4, 0.6))
    m.add_joint("free", "free", m.ground, block)
    for name, at in {"a": (-0.2, -0.1), "b": (0.2, -0.1), "c": (0.2, 0.1), "d": (-0.2, 0.1)}.items():
        m.add_bushing(name, m.ground, block, at=at, stiffness=(50, 50, 50, 2e4, 2e4, 5e4))
    system = m.compile()
    rest = da.equilibrium(system, {}).state
    return system, rest, rest.position("block")[2], -20 * 9.81 / (4 * 5e4)


@element
def gear_pair():
    m = shafts("a", "b")
    m.add_gear("mesh", "a", "b", teeth=(20, 60))
    torque = m.add_motor("torque", "a")
    system = m.compile("casadi")
    a = system.acceleration(system.state(), u={torque.name(): 5.0})
    return system, system.state(), a.vdot[system.v_names.index("a")], 5.0 / (1 + 1 / 9)  # J_a + J_b/i²


@element
def ring_gear():
    m = shafts("a", "b", at=(0, 0.2))
    m.add_gear("mesh", "a", "b", teeth=(20, 60), inside=True)
    system = m.compile("casadi")
    return system, system.state(), system.assemble(v={"a": 3.0}).rate("b"), 1.0


@element
def bevel_gears():
    m = shafts("a")
    m.add_joint("b", da.Revolute("x"), m.ground.at(0.1, 0, 0.05), m.add_body("b wheel", mass=1.0, inertia=(1, 1, 1)))
    m.add_gear("mesh", "a", "b", ratio=-2.0)
    system = m.compile("casadi")
    return system, system.state(), system.assemble(v={"a": 3.0}).rate("b"), -1.5


@element
def worm_and_wheel():
    m = shafts("wheel")
    m.add_joint("worm", da.Revolute("x"), m.ground.at(0, 0.2, 0), m.add_body("screw", mass=1.0, inertia=(1, 1, 1)))
    m.add_gear("mesh", "worm", "wheel", ratio=40.0)  # teeth over threads
    system = m.compile("casadi")
    return system, system.state(), system.assemble(v={"worm": 80.0}).rate("wheel"), 2.0


@element
def rack_and_pinion():
    m = shafts("pinion")
    m.add_joint("rack", da.Prismatic("x"), m.ground.at(0, -0.1), m.add_body("bar", mass=4.0))
    m.add_rack("mesh", "pinion", "rack", radius=0.1)
    m.add_joint_force("push", "rack", 6.0)
    system = m.compile("casadi")
    a = system.acceleration(system.state()).vdot
    return system, system.state(), a[system.v_names.index("rack")], 6.0 / (4.0 + 1.0 / 0.1**2)


@element
def planetary_gear():
    m = shafts("sun", "ring", "arm", at=(0, 0, 0))
    planet = m.add_body("planet", mass=0.2, inertia=(1e-4, 1e-4, 2e-4))
    m.add_joint("planet", da.Revolute("z"), m.bodies["arm wheel"].at(0.04), planet)
    m.add_gear("inner", "sun", "planet", teeth=(20, 20), carrier="arm")
    m.add_gear("outer", "planet", "ring", teeth=(20, 60), inside=True, carrier="arm")
    m.add_driver("housing", "ring", 0.0)
    system = m.compile("casadi")
    return system, system.state(), system.assemble(v={"sun": 4.0}).rate("arm"), 1.0  # Willis: 1 + z_r/z_s = 4


@element
def differential():
    m = shafts("left", "case", "right", axis="x", at=(-0.3, 0, 0.3))
    m.add_differential("gears", "case", "left", "right")
    system = m.compile("casadi")
    return system, system.state(), system.assemble(v={"left": 2.0, "right": 5.0}).rate("case"), 3.5


@element
def cam_and_follower():
    m = shafts("cam", axis="y", inertia=0.01)
    m.add_joint("valve", da.Prismatic("z"), m.ground.at(0, 0, 0.05), m.add_body("stem", mass=0.2))
    m.add_cam("profile", "cam", "valve", lift=lambda angle: 0.01 * (1 - ca.cos(angle)))
    m.add_driver("shaft", "cam", lambda t: 100.0 * t)
    system = m.compile("casadi")
    a = system.acceleration(system.assemble(t=0.01))  # at 1 rad
    return system, system.state(), a.vdot[system.v_names.index("valve")], 0.01 * 100.0**2 * np.cos(1.0)


@element
def chain():
    m = shafts("a", "b", at=(0, 0.8))
    m.add_belt("chain", "a", "b", radii=(0.1, 0.25))
    system = m.compile("casadi")
    return system, system.state(), system.assemble(v={"a": 5.0}).rate("b"), 2.0


@element
def flat_belt():
    m = shafts("a", "b", at=(0, 0.8))
    m.add_belt("belt", "a", "b", radii=(0.1, 0.25), crossed=True, friction=0.3, pretension=200.0, distance=0.8,
               creep=1e-3)  # fmt: skip
    system = m.compile("casadi")
    x = system.state(v={"a": 9.0})  # it slips
    wrap = np.pi + 2 * np.arcsin(0.35 / 0.8)
    return system, x, -system.forward_dynamics(x)[0] / 0.1, 400 * np.tanh(0.3 * wrap / 2)  # Euler and Eytelwein


@element
def clutch():
    m = shafts("engine", "shaft", axis="x", at=(-0.3, 0.3))
    m.add_clutch("plates", "engine", "shaft", capacity=2.0)
    system = m.compile()
    run = da.simulate(system, system.state(v={"engine": 10.0}), 4.0)
    return system, system.state(), run.switches[0].t, 10.0 / (2 * 2.0)  # J ω/2T, when it sticks


@element
def brake():
    m = shafts("drum", inertia=0.5)
    m.add_brake("brake", "drum", capacity=4.0)
    system = m.compile()
    run = da.simulate(system, system.state(v={"drum": 8.0}), 3.0)
    return system, system.state(), run["drum"][-1], 0.5 * 8.0**2 / (2 * 4.0)  # J ω²/2T


@element
def one_way_clutch():
    m = shafts("crank", "hub", axis="x", at=(-0.2, 0.2))
    m.add_one_way_clutch("freewheel", "crank", "hub", damping=50.0)
    system = m.compile("casadi")
    ahead, behind = (system.forward_dynamics(system.state(v={"crank": w, "hub": 2.0}))[1] for w in (2.5, 1.0))
    return system, system.state(), ahead + behind, 25.0  # it takes the hub along, and does not hold it


@element
def electric_motor():
    m, _ = arm()
    volts = m.add_dc_motor("drive", "hinge", torque_constant=0.05, resistance=2.0, ratio=30.0)
    system = m.compile("casadi")
    x = system.state(v={"hinge": 4.0})
    torque = 30 * 0.05 * (24.0 - 0.05 * 30 * 4.0) / 2.0
    found = system.forward_dynamics(x, u={volts.name(): 24.0})[0]
    return system, x, found, (torque - 2 * 9.81 * 0.25) / (2.0 * 0.25 / 3)


@element
def cylinder():
    m, bar = arm()
    m.add_actuator("ram", m.ground.at(0, -0.3), bar.at(0.4), stroke=(0.45, 0.7))
    system = m.compile()
    held = da.equilibrium(system, {}, solve_for="u")
    return system, held.state, held.u[0], 2 * 9.81 * 0.25 / (0.4 * 0.3 / 0.5)  # weight's moment / lever


@element
def muscle():
    m, bar = arm(gravity=(0, 0, 0))
    points = [m.ground.at(-0.1, 0.3), m.ground.at(0, 0.1), bar.at(0.06)]
    path = np.hypot(0.1, 0.2) + np.hypot(0.06, 0.1)
    m.add_muscle("biceps", points, strength=800.0, optimal_length=0.12, tendon=path - 0.12)
    system = m.compile("casadi")
    lever = 0.06 * 0.1 / np.hypot(0.06, 0.1)
    return system, system.state(), system.applied_forces(system.state(), u={"biceps": 0.5})[0], 400.0 * lever


@element
def tyre():
    m = da.Mechanism("wheel", gravity=(0, 0, -9.81))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("sledge", mass=1.0))
    m.add_joint("z", da.Prismatic("z"), "sledge", m.add_body("hub", mass=279.0))
    rim = m.add_body("rim", mass=20.0, inertia=(0.5, 1.0, 0.5))
    m.add_joint("spin", da.Revolute("y"), "hub", rim)
    m.add_tyre("tyre", rim, radius=0.3, stiffness=2e5, longitudinal=(12, 1.65, 1.0, 0.3), slow=1e-6,
               road=([-1.0, 1.0, 1.5, 2.0], [0.0, 0.0, 0.05, 0.05]))  # fmt: skip
    system = m.compile("casadi")
    height = 0.3 - 299 * 9.81 / 2e5  # at which the tyre carries the weight
    x = system.state({"z": height}, {"x": 10.0, "spin": 11.0 / height})  # it slips by 10 %
    push = np.sin(1.65 * np.arctan(1.2 - 0.3 * (1.2 - np.arctan(1.2)))) * 299 * 9.81
    return system, x, system.applied_forces(x)[0], push


@element
def rope_and_pulley():
    m = da.Mechanism("hoist", gravity=(0, -10.0, 0))
    sheave = m.add_body("sheave", mass=2.0, inertia=da.disc_inertia(2.0, 0.1))
    m.add_joint("turn", da.Revolute("z"), m.ground, sheave)
    for name, mass, x in (("load", 3.0, -0.1), ("weight", 1.0, 0.1)):
        m.add_joint(name, da.Prismatic("y"), m.ground.at(x, -0.6), m.add_body(name, mass=mass))
    m.add_pulley_rope("rope", ["load", da.Pulley(sheave, 0.1, turn=-1), "weight"])
    system = m.compile("casadi")
    a = system.acceleration(system.state()).vdot
    return system, system.state(), a[system.v_names.index("weight")], (3 - 1) * 10.0 / (3 + 1 + 0.01 / 0.1**2)


@element
def cable():
    m, bar = arm()
    m.add_cable("stay", [m.ground.at(0, 0.5), bar.at(0.5)], stiffness=4000.0, rest_length=0.7)
    system = m.compile("casadi")
    pull = 4000.0 * (np.sqrt(0.5) - 0.7)
    exact = (pull * np.sqrt(0.5) * 0.5 - 2 * 9.81 * 0.25) / (2.0 * 0.25 / 3)
    return system, system.state(), system.forward_dynamics({})[0], exact


def picture(path):
    """All elements on one sheet."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from dalembert import view

    figure, axes = pyplot.subplots(3, 8, figsize=(19, 7.5), layout="constrained")
    for place, (name, make) in zip(axes.flat, ELEMENTS.items()):
        system, state, *_ = make()
        view.snapshot(system, state, ax=place, names=False)
        place.set(title=name, xlabel="", ylabel="", xticks=[], yticks=[])
    for place in axes.flat[len(ELEMENTS) :]:
        place.set_axis_off()
    figure.savefig(path, dpi=64)


def main():
    """{element: (found, exact)}."""
    return {name: make()[2:] for name, make in ELEMENTS.items()}


if __name__ == "__main__":
    for name, (found, exact) in main().items():
        print(f"{name:26s} {found:12.6f} {exact:12.6f}")
    if len(sys.argv) > 1:
        picture(sys.argv[1])
