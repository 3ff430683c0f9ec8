"""A Geneva drive of four slots, as rows that a switch opens and closes, and a cam by a table of its angle."""

import casadi as ca
import numpy as np

import dalembert as da

PIN = np.sqrt(0.5)  # of the distance of the axes


def machine():
    m = da.Mechanism("Geneva", gravity=(0, 0, 0))
    for name, x in (("drive", 0.0), ("wheel", 1.0)):
        body = m.add_body(name, mass=1.0, inertia=da.planar_inertia(0.1), at=(x, 0))
        m.add_joint(name, "revolute", m.ground, body, at=(x, 0), axis="z")
    pin = m.add_frame("pin", m.bodies["drive"].at(PIN, 0))
    m.add_constraint("slot", holonomic=lambda s: _beside_a_slot(s.position(pin), s["wheel"]))
    m.add_constraint("lock", holonomic=lambda s: ca.cos(2 * s["wheel"]))
    m.add_driver("shaft", "drive", lambda t: 2 * t - np.pi / 2)
    return m


def _beside_a_slot(p, angle):
    """How far a point is beside the nearest of four slots."""
    return ca.sin(2 * (ca.atan2(p[1], p[0] - 1) - angle)) * ca.norm_2(p[:2] - ca.vertcat(1, 0))


def cam():
    m = da.Mechanism("cam", gravity=(0, 0, -9.81))
    lift = da.Table(np.linspace(0, 2 * np.pi, 9), [0, 2e-3, 6e-3, 9e-3, 0.01, 9e-3, 6e-3, 2e-3, 0], ends="cyclic")
    m.add_joint("cam", "revolute", m.ground, m.add_body("cam", mass=1.0, inertia=(0.01, 0.01, 0.01)), axis="y")
    valve = m.add_body("valve", mass=0.2)
    m.add_joint("lift", "prismatic", m.ground, valve, axis="z", stiffness=500.0, rest=-0.02)
    m.add_constraint("profile", holonomic=lambda s: s["lift"] - lift(s["cam"]))
    return m, lift


def main():
    system = machine().compile()
    out = system.without("slot")
    enter, leave = (da.Event(da.expression(lambda t, s, a=a: ca.sin(s["drive"] + a)), direction=1)
                    for a in (np.pi / 4, -np.pi / 4))  # fmt: skip
    switches = [
        da.Switch(open="lock", close="slot", when=enter, once=False),
        da.Switch(open="slot", close="lock", when=leave, once=False)]  # fmt: skip
    start = out.assemble({"drive": -np.pi / 2, "wheel": np.pi / 4}, v={"drive": 2.0})
    shaft = cam()[0].compile()
    return {
        "run": da.simulate(out, start, 7.0, switches=switches),
        "cam": da.simulate(shaft, shaft.assemble({"cam": 0.0}, v={"cam": 20.0}), 0.5),
    }


if __name__ == "__main__":
    print(main())
