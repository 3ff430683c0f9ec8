"""Mechanisms with declared parameters for tests of sensitivities, and differences to compare derivatives with."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import casadi as ca
import numpy as np

import dalembert as da
from dalembert.spatial import Transform
from random_loops import TREE_JOINTS
from random_mechanisms import random_state, random_tree

FOUR_BAR = {"l1": 0.5, "l2": 1.5, "l3": 1.2, "span": 1.5, "m2": 3.0, "d": 0.2, "g": 9.81}


def four_bar() -> da.System:
    """A planar four-bar whose lengths, a mass, a damping and gravity are parameters; the first bar has a motor."""
    m = da.Mechanism("four-bar", gravity=(0, 0, 0))
    p = {name: m.add_parameter(name, value) for name, value in FOUR_BAR.items()}
    masses = {"a": 1.0, "b": p["m2"], "c": 2.4}
    lengths = {"a": p["l1"], "b": p["l2"], "c": p["l3"]}
    bars = {
        n: m.add_body(n, mass=masses[n], com=(L / 2, 0, 0), inertia=da.rod_inertia(masses[n], L))
        for n, L in lengths.items()
    }
    for n, body in bars.items():
        m.add_wrench(f"weight of {n}", body.at(lengths[n] / 2, 0, 0), force=(0, -masses[n] * p["g"], 0))
    m.add_joint("A", da.Revolute("z"), m.ground, bars["a"], damping=p["d"])
    m.add_joint("B", da.Revolute("z"), bars["a"].at(p["l1"], 0, 0), bars["b"])
    m.add_joint("D", da.Revolute("z"), m.ground.at(p["span"], 0, 0), bars["c"])
    m.close_loop("C", da.Revolute("z"), bars["b"].at(p["l2"], 0, 0), bars["c"].at(p["l3"], 0, 0))
    m.add_frame("point", bars["b"].at(0.6, 0.4, 0))
    m.add_motor("torque", "A")
    return m.compile()


def sized_linkage(parts: tuple[float, float, float], base: float) -> da.System:
    """A four-bar A, B, C, D without gravity, its lengths and radii of inertia in units of the parameter 'size' (m)."""
    m = da.Mechanism("sized linkage", gravity=(0, 0, 0))
    size = m.add_parameter("size", 1.0)
    before = m.ground.at()
    for joint, part in zip("ABC", parts):
        I = 0.1 * size * size
        link = m.add_body(f"link {joint}", mass=1.0, com=(part * size / 2, 0, 0), inertia=(I, I, I))
        m.add_joint(joint, da.Revolute("z"), before, link)
        before = link.at(part * size, 0, 0)
    m.close_loop("D", da.Revolute("z"), before, m.ground.at(base * size, 0, 0))
    return m.compile()


def random_parameterized(
    seed: int, bodies: int = 2, driven: bool = False, backend: str = "casadi"
) -> tuple[da.System, da.State]:
    """A random closed mechanism, one loop said twice, and a state on it.

    Parameters: "reach" and "place" move the two points that close the loop, "k" and "c" are of a spring, "m" is
    a mass at a point; of a driven one "w", a frequency.
    """
    rng = np.random.default_rng([seed, 23])
    m = random_tree(seed, bodies, TREE_JOINTS, floating=seed % 3 == 0, serial=1.0, rotors=False)
    probe = m.compile(backend="casadi")
    x = random_state(probe, seed)
    reach, k, c, mass = (m.add_parameter(n, v) for n, v in (("reach", 0.1), ("k", 30.0), ("c", 0.7), ("m", 0.4)))
    a, b = m.bodies[f"body{bodies - 1}"], m.ground
    where, way = rng.normal(size=3) * 0.3, rng.normal(size=3)
    T_a = probe.pose(x, a.at(*(where + 0.1 * way)))
    T_b = probe.pose(x, b)
    pose = Transform(T_b[:3, :3], T_b[:3, 3]).inverse() @ Transform(T_a[:3, :3], T_a[:3, 3])
    place = m.add_parameter("place", 0.0)
    in_a = a.at(*(float(w) + reach * float(d) for w, d in zip(where, way)))
    in_b = b.at(*(float(w) + place * float(d) for w, d in zip(pose.p, way)), rotation=pose.R)
    m.close_loop("loop", da.Spherical(), in_a, in_b)
    m.close_loop("twice", da.Spherical(), in_a, in_b)
    m.add_spring("spring", m.bodies["body0"].at(0.1, 0, 0), m.ground.at(0, 0, 1), stiffness=k, damping=c)
    load = m.add_body("load", mass=mass, inertia=(0.01, 0.02, 0.03))
    m.add_joint("ball", da.Spherical(), m.bodies["body0"].at(0, 0.1, 0), load, damping=0.05)
    if driven:
        w = m.add_parameter("w", 1.3)
        m.add_joint(
            "turn", da.Revolute("z"), m.ground, m.add_body("disc", mass=1.0, com=(0.1, 0, 0), inertia=(1, 1, 1))
        )
        m.add_driver("drive", "turn", lambda t: 0.3 * ca.sin(w * t))
        m.add_spring("pull", "disc", m.bodies["body0"], stiffness=k)
    system = m.compile(backend=backend)
    start = system.state({name: x[name] for name in probe.layout.joints})
    v = np.random.default_rng(seed).normal(size=system.nv) * 0.5
    return system, system.project(start.replace(v=v))


def started(system: da.System, x: da.State, held: list[str], p: dict[str, float]) -> da.State:
    """The state beside x, for other parameters, with held coordinates and rates where they are."""
    index = [system.v_names.index(n) for n in held]
    one = np.eye(system.nv)[index]
    h, y = system.rows.holonomic, x
    for _ in range(20):
        A = system.constraint_matrix(y, p=p)[h]
        gap = np.concatenate([system.minus(y, x)[index], system.residuals(y, p=p)[h]])
        step = np.linalg.lstsq(np.vstack([one, A]), -gap, rcond=1e-11)[0]
        y = y.replace(q=system.plus(y, step))
        if np.abs(step).max() < 1e-15:
            break
    A = system.constraint_matrix(y, p=p)
    still = system.speed_residuals(y.replace(v=np.zeros(system.nv)), p=p)
    v = np.linalg.lstsq(np.vstack([one, A]), np.concatenate([x.v[index], -still]), rcond=1e-11)[0]
    return y.replace(v=v)


def differences(f: Callable[[float], np.ndarray], step: float, rounds: int = 3) -> np.ndarray:
    """f′(0) by central differences of steps h, h/2, h/4, … and Richardson's extrapolation."""
    table = [(f(h) - f(-h)) / (2 * h) for h in step / 2.0 ** np.arange(rounds)]
    for order in range(1, rounds):
        table = [(4**order * fine - coarse) / (4**order - 1) for coarse, fine in pairwise(table)]
    return table[0]
