"""A seven-joint arm: described by name, compiled, evaluated, checked and timed."""

from timeit import repeat

import numpy as np

import dalembert as da

AXES = ["z", "y", "z", "-y", "z", "y", "z"]
LENGTHS = [0.36, 0.20, 0.22, 0.20, 0.20, 0.20, 0.126]  # m, from each joint to the next, straight up
MASSES = [5.0, 4.0, 3.5, 2.8, 2.0, 1.6, 0.5]  # kg


def arm() -> da.Mechanism:
    """Alternating upright and transverse axes; straight up where every angle is zero."""
    m = da.Mechanism("arm", gravity=(0, 0, -9.81))
    before = m.ground.at(0, 0, 0)
    for k, (axis, length, mass) in enumerate(zip(AXES, LENGTHS, MASSES), start=1):
        inertia = da.cylinder(mass, radius=0.06, length=length)
        link = m.add_body(f"link{k}", mass=mass, com=(0, 0, length / 2), inertia=inertia)
        m.add_joint(f"A{k}", da.Revolute(axis), before, link, damping=0.2, armature=0.1)
        m.add_motor(f"M{k}", f"A{k}")
        before = link.at(0, 0, length)
    m.add_frame("tool", before)
    return m


def main() -> None:
    np.set_printoptions(precision=3, suppress=True)
    m = arm()
    system = m.compile()
    print(f"{m}\n\n{system!r}")
    print("Each question below is compiled when first asked; the next run finds the code on disk.\n")

    x = system.state({"A2": 0.5, "A4": -1.2, "A6": 0.8}, v={"A1": 0.3, "A3": -0.6})
    print(f"Pose of the tool:\n{system.pose(x, 'tool')}\n")
    print(f"Mass matrix, kg m²:\n{system.mass_matrix(x)}\n")
    print(f"Torques that hold it against gravity, N m:\n{system.gravity_vector(x)}\n")

    a = np.random.default_rng(1).normal(size=system.nv)
    error = np.abs(system.forward_dynamics(x, system.inverse_dynamics(x, a)) - a).max()
    print(f"forward_dynamics(inverse_dynamics(a)) differs from a by at most {error:.1e} rad/s².\n")

    n = 8000
    q, v, a = np.random.default_rng(2).normal(size=(3, n, system.nv))
    u = np.zeros(system.nv)
    print(f"Time of one inverse dynamics, in a batch of {n} states:")
    for lanes in (1, 8):
        kernel = system.kernel("inverse_dynamics", lanes=lanes)
        out = np.empty((n, system.nv))
        seconds = min(repeat(lambda k=kernel, y=out: k.batch(q, v, a, u, out=y), number=1, repeat=10))
        print(f"  {lanes} at once: {seconds / n * 1e9:.0f} ns")


if __name__ == "__main__":
    main()
