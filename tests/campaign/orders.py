"""Random closed mechanisms described in other orders and cut elsewhere: `python -m tests.campaign.orders 500`.

The same accelerations of bodies, energies, mobility and reactions, to 1e-12 of the largest and of the condition.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1])]

import dalembert as da  # noqa: E402
from dalembert.mechanism.constraints import LoopJoint  # noqa: E402
from random_loops import random_closed  # noqa: E402


def joints_of(m):
    """{name: (joint, a, b)} of all joints, of the tree and closing."""
    out = {a.name: (a.joint, a.parent, a.child) for a in m.joints.values()}
    return out | {c.name: (c.joint, c.a, c.b) for c in m.constraints.values() if isinstance(c, LoopJoint)}


def described(m, joints, order, cut=()):
    """The mechanism with its joints described in an order, those in `cut` closing loops."""
    other = da.Mechanism(m.name, gravity=m.gravity)
    for b in m.bodies.values():
        if b is not m.ground:
            other.add_body(b.name, b.mass, b.com, b.inertia)
    for name in order:
        joint, *ends = joints[name]
        a, b = (other.bodies[f.body.name].at(f.T.p, rotation=f.T.R) for f in ends)
        other.add_joint(name, joint, a, b, tree=False if name in cut else None)
    return other


def random_cut(rng, joints):
    """Joints that are left over by a random spanning tree; free ones are always in it."""
    up: dict[str, str] = {}

    def top(body):
        while body in up:
            body = up[body]
        return body

    cut = []
    for name in sorted(rng.permutation(list(joints)), key=lambda n: bool(joints[n][0].closure)):
        a, b = (top(frame.body.name) for frame in joints[name][1:])
        if a == b:
            cut.append(name)
        else:
            up[a] = b
    return cut


def any_tree(rng, m, joints):
    """A system with a random tree in which no massless body is left alone (there compile refuses)."""
    for _ in range(40):
        try:
            return described(m, joints, rng.permutation(list(joints)), random_cut(rng, joints)).compile("casadi")
        except da.DescriptionError as error:
            if "no mass" not in str(error):
                raise
    raise AssertionError("no tree was accepted")


def condition(system, x):
    """Of A R⁻¹ and of R, with M = Rᵀ R: what amplifies the rounding of M and A."""
    return system.acceleration(x).condition * np.sqrt(np.linalg.cond(system.mass_matrix(x)))


def answers(system, x):
    a, forces = system.acceleration(x), system.constraint_forces(x)
    motion = np.array([system.frame_acceleration(x, body, a.vdot) for body in sorted(system.layout.bodies)])
    energy = np.array([system.kinetic_energy(x), system.potential_energy(x)])
    return motion, energy, system.nv - a.rank, {**forces.joints, **forces.loops}, forces.determinate


def differences(seed: int) -> list[str]:
    """What of a mechanism depends on the order of description or on the tree: nothing."""
    rng = np.random.default_rng([seed, 33])
    first, x = random_closed(seed, int(rng.integers(2, 7)), int(rng.integers(1, 3)), redundant=seed % 5 == 0)
    m = first.layout.mechanism
    if seed % 5 == 0:
        del (m := m.snapshot()).constraints["again"]
        first = m.compile("casadi")
        x = first.state(x.q, x.v)
    joints = joints_of(m)
    motion, energy, mobility, wrenches, known = answers(first, x)
    size = max(np.abs(W).max() for W in wrenches.values())
    wrong = []
    for system in (described(m, joints, rng.permutation(list(joints))).compile("casadi"), any_tree(rng, m, joints)):
        tree = [name for name, a in system.layout.joints.items() if a.joint.nv]
        there = system.state({name: x[name] for name in tree}, {name: x.rate(name) for name in tree})
        found = answers(system, there)
        near = 1e-12 * max(1.0, condition(first, x) / 30, condition(system, there) / 30)  # larger ones show
        if not np.abs(found[0] - motion).max() < near * max(10.0, np.abs(motion).max()):
            wrong.append("accelerations")
        if not np.abs(found[1] - energy).max() < 1e-12 * max(1.0, np.abs(energy).max()):
            wrong.append("energies")
        if found[2] != mobility:
            wrong.append(f"mobility {found[2]} for {mobility}")
        for name, W in wrenches.items():
            sure = found[4][name]
            if not (sure == known[name]).all():
                wrong.append(f"what is determinate in '{name}'")
            elif not np.abs((found[3][name] - W)[sure]).max(initial=0.0) < near * max(10.0, size):
                wrong.append(f"the reaction of '{name}'")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=500, help="mechanisms")
    parser.add_argument("--seed", type=int, default=0, help="of the first one")
    given = parser.parse_args()
    found = {seed: differences(seed) for seed in range(given.seed, given.seed + given.count)}
    wrong: dict[int, Any] = {seed: what for seed, what in found.items() if what}
    for seed, what in wrong.items():
        print(f"seed {seed}: {'; '.join(what)} differ")
    print(f"{given.count} mechanisms in three orders and trees, {len(wrong)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
