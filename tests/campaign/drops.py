"""`python -m tests.campaign.drops --count 200 --seed S`: random machines dropped on a floor, of all sizes.

Kinds: boxes with contacts at their eight corners, chains of links with contacts at their ends and dry friction in their
joints, and four-bars with friction in all joints and a stop. Friction 0 to 1, restitution 0 to 0.9, lengths 1e-3 to
1e3 m with times and masses to match. Of every run: whether it ended with success, the energy that it made out of
nothing, and how far gaps were below zero, both over the size of the motion.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from dataclasses import dataclass

import numpy as np

import dalembert as da

G = 9.81


@dataclass(frozen=True)
class Drop:
    """What a run did."""

    kind: str
    seed: int
    size: float  # m
    status: str
    message: str
    made: float  # energy made, over that of a fall through the size
    below: float  # the deepest gap, over the size
    seconds: float


def dropped(seed: int) -> Drop:
    """The run of a seed."""
    rng = np.random.default_rng(seed)
    kind = ("box", "chain", "linkage")[seed % 3]
    size = float(10.0 ** rng.uniform(-3, 3))
    system, state = {"box": _box, "chain": _chain, "linkage": _linkage}[kind](rng, size)
    started = time.process_time()
    run = da.simulate(system, state, 2.5 * float(np.sqrt(size / G)) * 2.0, rtol=1e-6, atol=1e-7)
    seconds = time.process_time() - started
    scale = float(np.trace(system.mass_matrix(state))) if kind == "linkage" else 1.0
    fall = {"box": size**3 * G * size, "chain": 3 * size**3 * G * size, "linkage": scale * G / size}[kind]
    energy = run.kinetic_energy + run.potential_energy
    made = float(np.maximum.accumulate(energy[::-1])[::-1].max() - energy[0]) if len(energy) else 0.0
    rises = float(np.max(energy - np.minimum.accumulate(energy), initial=0.0))
    gaps = [g for name in ("lowest",) for g in (_lowest(system, run) if kind != "linkage" else np.zeros(1))]
    return Drop(
        kind, seed, size, run.status.name, run.message, max(made, rises) / fall, -min(gaps, default=0.0) / size, seconds
    )


def _box(rng: np.random.Generator, size: float) -> tuple[da.System, da.State]:
    mass = size**3
    sides = size * rng.uniform(0.3, 1.0, 3)
    m = da.Mechanism("box", gravity=(0, 0, -G))
    b = m.add_body("box", mass=mass, inertia=da.box(mass, tuple(sides)))
    m.add_joint("f", da.Free(), m.ground, b)
    law = {"friction": float(rng.uniform(0, 1)), "restitution": float(rng.uniform(0, 0.9))}
    for k, signs in enumerate(itertools.product((-0.5, 0.5), repeat=3)):
        m.add_frame(f"tip{k}", b.at(*(np.array(signs) * sides)))
        m.add_contact(f"c{k}", f"tip{k}", **law)
    q = rng.normal(size=4)
    rate = np.sqrt(G / size)
    system = m.compile()
    v = np.r_[rng.normal(size=3) * rate, rng.normal(size=3) * 0.3 * rate * size]
    return system, system.state(np.r_[q / np.linalg.norm(q), 0, 0, 1.2 * size], v)


def _chain(rng: np.random.Generator, size: float) -> tuple[da.System, da.State]:
    mass = size**3
    m = da.Mechanism("chain", gravity=(0, 0, -G))
    law = {"friction": float(rng.uniform(0, 1)), "restitution": float(rng.uniform(0, 0.9))}
    before, rate = None, np.sqrt(G / size)
    for k in range(3):
        b = m.add_body(f"b{k}", mass=mass, com=(size / 2, 0, 0), inertia=da.box(mass, (size, 0.1 * size, 0.1 * size)))
        if before is None:
            m.add_joint("f", da.Free(), m.ground, b)
        else:
            friction = float(rng.choice([0.0, 0.05])) * mass * G * size
            m.add_joint(f"j{k}", da.Revolute("y"), before.at(size, 0, 0), b, friction=friction)
        m.add_frame(f"tip{k}", b.at(size, 0, 0))
        m.add_contact(f"c{k}", f"tip{k}", **law)
        before = b
    system = m.compile()
    q = np.r_[1.0, 0, 0, 0, 0, 0, 3.2 * size, rng.uniform(-1, 1, 2)]
    return system, system.state(q, np.r_[np.zeros(6), rng.normal(size=2) * rate])


def _linkage(rng: np.random.Generator, size: float) -> tuple[da.System, da.State]:
    mass = size**3
    m = da.Mechanism("linkage", gravity=(0, -G, 0))
    lengths = size * np.array([0.2, 0.6, 0.4, 0.55])
    bars = [
        m.add_body(n, mass=mass, com=(x / 2, 0, 0), inertia=da.box(mass, (x, 0.05 * x, 0.05 * x)))
        for n, x in zip("abd", lengths)
    ]
    a, b, d = bars
    f = [float(x) * mass * G * size for x in rng.uniform(0, 0.05, 3)]
    stops = da.Stops(restitution=float(rng.uniform(0, 0.9)))
    m.add_joint("A", da.Revolute("z"), m.ground, a, friction=f[0], limits=(0.6, 2.63), stops=stops)
    m.add_joint("B", da.Revolute("z"), a.at(lengths[0], 0, 0), b, friction=f[1])
    m.add_joint("D", da.Revolute("z"), m.ground.at(lengths[3], 0, 0), d, friction=f[2])
    m.close_loop("C", da.Revolute("z"), b.at(lengths[1], 0, 0), d.at(lengths[2], 0, 0))
    system = m.compile()
    return system, system.assemble({"A": rng.uniform(1, 2.2)}, v={"A": rng.normal() * 3.0 * np.sqrt(1.0 / size)})


def _lowest(system: da.System, run: da.Run) -> list[float]:
    """The least height of a tip at records."""
    rows = np.unique(np.linspace(0, len(run.t) - 1, 60).astype(int))
    tips = [f"tip{k}" for k in range(8 if system.name == "box" else 3)]
    return [float(system.pose(run.state(int(k)), tip)[2, 3]) for k in rows for tip in tips]


def main() -> None:
    """Run, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    found = []
    for seed in range(asked.seed, asked.seed + asked.count):
        drop = dropped(seed)
        found.append(drop)
        if drop.status != "DONE" or drop.made > 1e-5 or drop.below > 1e-6:
            print(drop, flush=True)
    for kind in ("box", "chain", "linkage"):
        own = [x for x in found if x.kind == kind]
        if own:
            ends = dict(Counter(x.status for x in own))
            made, below, seconds = max(x.made for x in own), max(x.below for x in own), sum(x.seconds for x in own)
            print(f"{kind}: {ends}, energy made {made:.1e}, deepest gap {below:.1e}, {seconds:.1f} s of CPU")


if __name__ == "__main__":
    main()
