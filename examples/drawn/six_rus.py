"""A platform on six cranks and rods (6-RUS), drawn in its home position: inverse kinematics and a circle."""

import numpy as np

import dalembert as da

BASE, TOP = np.radians([-12, 12, 108, 132, 228, 252]), np.radians([-50, 50, 70, 170, 190, 290])
RADIUS, PLATE, ARM, ROD = 0.30, 0.15, 0.12, 0.40


def drawing():
    """Feet, directions of the cranks, elbows and ball joints, (6, 3) each; the plate is where the rods reach."""
    foot = RADIUS * np.c_[np.cos(BASE), np.sin(BASE), 0 * BASE]
    turn = BASE + np.pi / 2 * np.array([-1, 1, -1, 1, -1, 1])
    along = np.c_[np.cos(turn), np.sin(turn), 0 * turn]
    elbow, ball = foot + ARM * along, PLATE * np.c_[np.cos(TOP), np.sin(TOP), 0 * TOP]
    ball[:, 2] = np.sqrt(ROD**2 - ((ball - elbow) ** 2).sum(1))
    return foot, along, elbow, ball


def machine():
    m = da.Mechanism("6-RUS", gravity=(0, 0, -9.81))
    foot, along, elbow, ball = drawing()
    plate = m.add_body("plate", at=(0, 0, ball[0, 2]), solid=da.solid("cylinder", (PLATE, 0.02), density=1400.0))
    for k in range(6):
        arm = m.add_body(f"arm {k}", mass=0.2, com=(foot[k] + elbow[k]) / 2, inertia=(1e-4, 1e-4, 1e-4))
        rod = m.add_body(f"rod {k}", mass=0.1, com=(elbow[k] + ball[k]) / 2, inertia=(2e-3, 2e-3, 1e-4))
        m.add_joint(f"M{k}", "revolute", m.ground, arm, at=foot[k], axis=np.cross(along[k], (0, 0, 1)), armature=1e-3)
        m.add_joint(f"U{k}", da.Universal("x", "y"), arm, rod, at=elbow[k])
        m.add_joint(f"S{k}", "spherical", rod, plate, at=ball[k])
        m.add_motor(f"torque {k}", f"M{k}")
    return m


def main():
    system = machine().compile()
    t = np.linspace(0.0, 2.0, 41)
    home = system.pose(system.state(), "plate")
    path = np.tile(home, (41, 1, 1))
    path[:, :2, 3] += 0.03 * np.c_[np.cos(np.pi * t) - 1, np.sin(np.pi * t)]
    sweep = system.sweep(frames={"plate": path}, state=system.state())
    held = da.equilibrium(system, system.state(), solve_for="u")
    return {"path": path, "sweep": sweep, "held": held, "mobility": system.report(system.state()).mobility}


if __name__ == "__main__":
    print(main())
