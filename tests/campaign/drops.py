"""`python -m tests.campaign.drops --count 200 --seed S [--stepped]`: random machines dropped on a floor, of all sizes.

Kinds: boxes with contacts at their eight corners, chains of links with contacts at their ends and dry friction in
their joints, four-bars with friction in all joints and a stop, capsules, and four-bars that fall on their joints. Every
fourth floor is driven up and down. Friction 0 to 1, restitution 0 to 0.9, lengths 1e-3 to 1e3 m with times and masses
to match. Of every run: whether it ended with success, the energy that it made out of nothing and how deep contacts
overlapped, both over the size of the motion, and by how much forces missed the laws of contact and friction. --stepped:
by time stepping, 4000 steps.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import casadi
import numpy as np

import dalembert as da

G = 9.81
MADE = 1e-5  # of the energy of a fall through the size: ten times the tolerance of the runs
OVERLAP = 1e-8  # of the size: contacts that touch without bearing give way by 1e-9 of the largest length
STEPPED_OVERLAP = 2e-2  # of the size: a bounce is deep for a step, at most the step times the speed
RESIDUAL = 1e-10  # of the largest force, or of the speeds of a step


@dataclass(frozen=True)
class Drop:
    """What a run did."""

    kind: str
    seed: int
    stepped: bool
    size: float  # m
    status: str
    message: str
    made: float  # energy made, over that of a fall through the size
    below: float  # the deepest overlap, over the size
    residual: float  # of the laws of contact and friction, over the largest force
    seconds: float

    @property
    def is_sound(self) -> bool:
        """Whether it ended with success, and nothing was made, overlapped or pulled."""
        deepest = STEPPED_OVERLAP if self.stepped else OVERLAP
        right = self.made <= MADE and self.below <= deepest and self.residual <= RESIDUAL
        return self.status == "DONE" and right


def dropped(seed: int, stepped: bool = False) -> Drop:
    """The run of a seed."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    size = float(10.0 ** rng.uniform(-3, 3))
    m, state = MADE_BY[kind](rng, size, seed // len(KINDS) % 4 == 1 and kind != "linkage")
    system = m.compile()
    state = state(system)
    started, end = time.process_time(), 2.5 * float(np.sqrt(size / G)) * 2.0
    how = {"method": "moreau", "step": end / 4000} if stepped else {"rtol": 1e-6, "atol": 1e-7}
    run = da.simulate(system, state, end, **how)
    seconds = time.process_time() - started
    masses = {"box": 1, "capsule": 1}.get(kind, 3)
    energy, fall = run.kinetic_energy + run.potential_energy, masses * size**3 * G * size
    made = float(np.max(energy - np.minimum.accumulate(energy), initial=0.0))
    if "drivers" in run.work:
        made = float(np.abs(run.energy_error).max())
    below, residual = run.penetration.max(initial=0.0), run.contact_residuals.max(initial=0.0)
    unit = 1.0 if kind == "linkage" else size
    return Drop(kind, seed, stepped, size, run.status.name, run.message, made / fall, below / unit, residual, seconds)


Start = Callable[[da.System], da.State]


def _floor(m: da.Mechanism, size: float, driven: bool) -> da.mechanism.Frame | None:
    """A floor that is driven up and down by a twentieth of the size; None: the ground."""
    if not driven:
        return None
    base, rate = m.add_body("base", mass=size**3), float(np.sqrt(G / size))
    m.add_joint("lift", da.Prismatic("z"), m.ground, base)
    m.add_driver("shaker", "lift", lambda t: 0.05 * size * casadi.sin(3.0 * rate * t))
    return base.at(0, 0, 0)


def _law(rng: np.random.Generator) -> dict[str, float]:
    return {"friction": float(rng.uniform(0, 1)), "restitution": float(rng.uniform(0, 0.9))}


def _thrown(rng: np.random.Generator, size: float) -> Start:
    """A free body at 1.2 sizes, turned and thrown at random."""
    q, rate = rng.normal(size=4), np.sqrt(G / size)
    at = np.r_[q / np.linalg.norm(q), 0, 0, 1.2 * size]
    v = np.r_[rng.normal(size=3) * rate, rng.normal(size=3) * 0.3 * rate * size]

    def start(system: da.System) -> da.State:
        lift = {"lift": 0.0} if "lift" in system.q_names else {}
        rates = {"lift": 0.15 * rate * size} if lift else {}
        free = dict(zip((n for n in system.q_names if n != "lift"), at.tolist()))
        return system.state(
            {**lift, **free}, {**rates, **dict(zip((n for n in system.v_names if n != "lift"), v.tolist()))}
        )

    return start


def _box(rng: np.random.Generator, size: float, driven: bool) -> tuple[da.Mechanism, Start]:
    mass = size**3
    sides = size * rng.uniform(0.3, 1.0, 3)
    m = da.Mechanism("box", gravity=(0, 0, -G))
    floor = _floor(m, size, driven)
    b = m.add_body("box", mass=mass, inertia=da.box_inertia(mass, tuple(sides)))
    m.add_joint("f", da.Free(), m.ground, b)
    law = _law(rng)
    for k, signs in enumerate(itertools.product((-0.5, 0.5), repeat=3)):
        m.add_frame(f"tip{k}", b.at(*(np.array(signs) * sides)))
        m.add_contact(f"c{k}", f"tip{k}", on=floor, **law)
    return m, _thrown(rng, size)


def _capsule(rng: np.random.Generator, size: float, driven: bool) -> tuple[da.Mechanism, Start]:
    mass, radius = size**3, size * float(rng.uniform(0.05, 0.3))
    m = da.Mechanism("capsule", gravity=(0, 0, -G))
    floor = _floor(m, size, driven)
    b = m.add_body("capsule", mass=mass, inertia=da.cylinder_inertia(mass, radius, size))
    m.add_joint("f", da.Free(), m.ground, b)
    law = _law(rng)
    for k, end in enumerate((-0.5, 0.5)):
        m.add_contact(f"c{k}", b.at(0, 0, end * size), on=floor, radius=radius, **law)
    return m, _thrown(rng, size)


def _chain(rng: np.random.Generator, size: float, driven: bool) -> tuple[da.Mechanism, Start]:
    mass = size**3
    m = da.Mechanism("chain", gravity=(0, 0, -G))
    floor = _floor(m, size, driven)
    law = _law(rng)
    before, rate = None, np.sqrt(G / size)
    for k in range(3):
        b = m.add_body(
            f"b{k}", mass=mass, com=(size / 2, 0, 0), inertia=da.box_inertia(mass, (size, 0.1 * size, 0.1 * size))
        )
        if before is None:
            m.add_joint("f", da.Free(), m.ground, b)
        else:
            friction = float(rng.choice([0.0, 0.05])) * mass * G * size
            m.add_joint(f"j{k}", da.Revolute("y"), before.at(size, 0, 0), b, friction=friction)
        m.add_frame(f"tip{k}", b.at(size, 0, 0))
        m.add_contact(f"c{k}", f"tip{k}", on=floor, **law)
        before = b
    bends, rates = rng.uniform(-1, 1, 2), rng.normal(size=2) * rate

    def start(system: da.System) -> da.State:
        moving = {"lift": 0.15 * rate * size} if driven else {}
        q = {"f.z": 3.2 * size, "j1": bends[0], "j2": bends[1]}
        return system.state(q, {**moving, "j1": rates[0], "j2": rates[1]})

    return m, start


def _fallen(rng: np.random.Generator, size: float, driven: bool) -> tuple[da.Mechanism, Start]:
    """A four-bar whose ground link is free: it falls on its four joints."""
    mass = size**3
    m = da.Mechanism("falling linkage", gravity=(0, 0, -G))
    floor = _floor(m, size, driven)
    law, lengths = _law(rng), size * np.array([0.2, 0.6, 0.4, 0.55])
    bars = [
        m.add_body(n, mass=mass, com=(x / 2, 0, 0), inertia=da.box_inertia(mass, (x, 0.05 * x, 0.05 * x)))
        for n, x in zip("abdg", lengths)
    ]
    a, b, d, g = bars
    m.add_joint("f", da.Free(), m.ground, g)
    friction = float(rng.choice([0.0, 0.02])) * mass * G * size
    m.add_joint("A", da.Revolute("y"), g, a, friction=friction)
    m.add_joint("B", da.Revolute("y"), a.at(lengths[0], 0, 0), b)
    m.add_joint("D", da.Revolute("y"), g.at(lengths[3], 0, 0), d)
    m.close_loop("C", da.Revolute("y"), b.at(lengths[1], 0, 0), d.at(lengths[2], 0, 0))
    points = {"A": g.at(0, 0, 0), "B": b.at(0, 0, 0), "C": b.at(lengths[1], 0, 0), "D": d.at(0, 0, 0)}
    for name, point in points.items():
        m.add_contact(f"at {name}", point, on=floor, **law)
    q, rate, crank = rng.normal(size=4), float(np.sqrt(G / size)), float(rng.uniform(1, 2.2))
    turned = (q / np.linalg.norm(q)).tolist()

    def start(system: da.System) -> da.State:
        free = dict(zip(("f.w", "f.x", "f.y", "f.z"), turned))
        names = [n for n in system.q_names if n.startswith("f")]
        held = dict(zip(names, [*turned, 0.0, 0.0, 1.2 * size])) if len(names) == 7 else free
        moving = {"lift": 0.15 * rate * size} if driven else {}
        return system.assemble({**held, "A": -crank}, v={**moving, "A": rate})

    return m, start


def _linkage(rng: np.random.Generator, size: float, driven: bool) -> tuple[da.Mechanism, Start]:
    mass = size**3
    m = da.Mechanism("linkage", gravity=(0, -G, 0))
    lengths = size * np.array([0.2, 0.6, 0.4, 0.55])
    bars = [
        m.add_body(n, mass=mass, com=(x / 2, 0, 0), inertia=da.box_inertia(mass, (x, 0.05 * x, 0.05 * x)))
        for n, x in zip("abd", lengths)
    ]
    a, b, d = bars
    f = [float(x) * mass * G * size for x in rng.uniform(0, 0.05, 3)]
    stops = da.Stops(restitution=float(rng.uniform(0, 0.9)))
    m.add_joint("A", da.Revolute("z"), m.ground, a, friction=f[0], limits=(0.6, 2.63), stops=stops)
    m.add_joint("B", da.Revolute("z"), a.at(lengths[0], 0, 0), b, friction=f[1])
    m.add_joint("D", da.Revolute("z"), m.ground.at(lengths[3], 0, 0), d, friction=f[2])
    m.close_loop("C", da.Revolute("z"), b.at(lengths[1], 0, 0), d.at(lengths[2], 0, 0))
    crank, rate = rng.uniform(1, 2.2), rng.normal() * 3.0 * np.sqrt(1.0 / size)
    return m, lambda system: system.assemble({"A": crank}, v={"A": rate})


MADE_BY = {"box": _box, "chain": _chain, "linkage": _linkage, "capsule": _capsule, "falling linkage": _fallen}
KINDS = tuple(MADE_BY)


def main() -> None:
    """Run, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stepped", action="store_true")
    asked = parser.parse_args()
    found = []
    for seed in range(asked.seed, asked.seed + asked.count):
        drop = dropped(seed, asked.stepped)
        found.append(drop)
        if not drop.is_sound:
            print(drop, flush=True)
    for kind in KINDS:
        own = [x for x in found if x.kind == kind]
        if own:
            ends, seconds = dict(Counter(x.status for x in own)), sum(x.seconds for x in own)
            made, below, residual = (max(getattr(x, n) for x in own) for n in ("made", "below", "residual"))
            print(
                f"{kind}: {ends}, energy made {made:.1e}, deepest overlap {below:.1e}, laws missed by {residual:.1e}, "
                f"{seconds:.1f} s of CPU"
            )


if __name__ == "__main__":
    main()
