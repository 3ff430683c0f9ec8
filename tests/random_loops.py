"""Closed mechanisms for tests: seeded random ones, redundant rows included, and a parallelogram that can lie flat."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

import dalembert as da
from dalembert.spatial import Transform
from random_mechanisms import random_joint, random_state, random_tree

TREE_JOINTS = (da.Revolute, da.Prismatic, da.Spherical, da.Universal, da.Cylindrical, da.Screw, da.Planar)
CUT_JOINTS = (da.Revolute, da.Spherical, da.Universal, da.Cylindrical, da.Planar, da.Prismatic)


def random_closed(
    seed: int, bodies: int = 7, loops: int = 2, redundant: bool = True, backend: str = "casadi", motors: bool = False
) -> tuple[da.System, da.State]:
    """A mechanism and a state on its manifold: the tree is posed at random and its loops are closed where it stands.

    motors: whether every joint of the tree has a motor, so that u are the forces along v. Tests that ask for the same
    mechanism share the system, which does not change: it is traced once.
    """
    return _random_closed(seed, bodies, loops, redundant, backend, motors)


@lru_cache(maxsize=48)
def _random_closed(
    seed: int, bodies: int, loops: int, redundant: bool, backend: str, motors: bool
) -> tuple[da.System, da.State]:
    rng = np.random.default_rng([seed, 17])
    m = random_tree(seed, bodies, TREE_JOINTS, floating=seed % 3 == 0, rotors=False)
    tree = m.compile(backend="casadi")
    x = random_state(tree, seed)
    for k in range(loops):
        a, b = m.bodies[f"body{bodies - 1 - k}"], m.bodies[f"body{rng.integers(max(1, bodies // 2))}"]
        if a is b:
            b = m.ground
        kinds = CUT_JOINTS[:3] if k == 0 else CUT_JOINTS  # the first keeps a point together, which is then said again
        joint = random_joint(rng, kinds[rng.integers(len(kinds))])
        in_a = a.at(*rng.normal(size=3) * 0.3)
        T_a, T_b = (tree.pose(x, f) for f in (in_a, b))
        pose = Transform(T_b[:3, :3], T_b[:3, 3]).inverse() @ Transform(T_a[:3, :3], T_a[:3, 3])
        in_b = b.at(*pose.p, rotation=pose.R)
        m.close_loop(f"loop{k}", joint, in_a, in_b)
        if redundant and k == 0:
            m.add_point_in_plane("again", in_b, in_a, rng.normal(size=3))
            m.close_loop("twice", da.Spherical(), in_a, in_b)
    for name in m.joints if motors else ():
        m.add_motor(f"motor of {name}", name)
    system = m.compile(backend=backend)
    y = system.project(system.state(x.q, x.v))
    return system, y


def parallelogram() -> da.System:
    m = da.Mechanism("parallelogram", gravity=(0, -9.81, 0))
    a, b = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0)) for n in "ab")
    c = m.add_body("c", mass=1.0, com=(1.0, 0, 0), inertia=da.rod_inertia(1.0, 2.0))
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), m.ground.at(2, 0, 0), b)
    m.add_joint("C", da.Revolute("z"), a.at(1, 0, 0), c)
    m.close_loop("D", da.Revolute("z"), c.at(2, 0, 0), b.at(1, 0, 0))
    return m.compile(backend="casadi")
