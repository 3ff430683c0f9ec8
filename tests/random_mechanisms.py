"""Seeded random trees with every joint type, for tests that compare two routes."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert.mechanism.joints import JOINT_TYPES, Joint

GRAVITY = (0.4, -0.7, -9.6)


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    return Rotation.random(None, rng).as_matrix()


def random_inertia(rng: np.random.Generator) -> np.ndarray:
    """Of a cloud of points: physical by construction."""
    points = rng.normal(size=(6, 3)) * rng.uniform(0.05, 0.4)
    points -= points.mean(axis=0)
    return sum(np.dot(x, x) * np.eye(3) - np.outer(x, x) for x in points)


def random_joint(rng: np.random.Generator, kind: type[Joint]) -> Joint:
    """An instance with an axis along a letter or anywhere."""
    axis = "xyz"[rng.integers(3)] if rng.random() < 0.5 else rng.normal(size=3)
    if kind in (da.Fixed, da.Spherical, da.Free):
        return kind()
    if kind is da.Screw:
        return da.Screw(axis, pitch=rng.normal() * 0.3)
    if kind is da.Universal:
        R = random_rotation(rng)
        return da.Universal(R[:, 0], R[:, 1])
    return kind(axis)


def random_frame(rng: np.random.Generator, body: da.Body) -> da.Frame:
    if rng.random() < 0.3:
        return body.at(*rng.normal(size=3) * 0.4)
    return body.at(*rng.normal(size=3) * 0.4, rotation=random_rotation(rng))


def random_tree(
    seed: int,
    bodies: int,
    kinds: tuple[type[Joint], ...] = JOINT_TYPES,
    *,
    floating: bool = False,
    serial: float = 0.6,
    rotors: bool = True,
) -> da.Mechanism:
    """A tree of `bodies` bodies; some have armature, some inner ones are massless."""
    rng = np.random.default_rng(seed)
    m = da.Mechanism(f"random {seed}", gravity=GRAVITY)
    placed = [m.ground]
    for k in range(bodies):
        massless = 0 < k < bodies - 1 and rng.random() < 0.1
        inertia = np.zeros((3, 3)) if massless else random_inertia(rng)
        mass = 0.0 if massless else rng.uniform(0.5, 3.0)
        body = m.add_body(f"body{k}", mass=mass, com=rng.normal(size=3) * 0.2, inertia=inertia)
        parent = placed[-1] if rng.random() < serial else placed[rng.integers(len(placed))]
        if k and placed[-1].mass == 0.0:
            parent = placed[-1]  # a massless body carries a heavy one
        kind = da.Free if floating and k == 0 else kinds[rng.integers(len(kinds))]
        if massless or (parent.mass == 0.0 and parent is not m.ground):
            kind = (da.Revolute, da.Prismatic, da.Screw)[rng.integers(3)]  # else nothing may resist the joint's motion
        rotor = rotors and kind not in (da.Free, da.Fixed) and rng.random() < 0.3
        armature = 0.1 * rng.random() if rotor else 0.0
        m.add_joint(
            f"joint{k}",
            random_joint(rng, kind),
            random_frame(rng, parent),
            random_frame(rng, body),
            armature=armature,
        )
        placed.append(body)
    m.add_frame("probe", random_frame(rng, placed[-1]))
    return m


def random_state(system: da.System, seed: int) -> da.State:
    rng = np.random.default_rng([seed, 7])
    q = system.plus(system.state(), rng.uniform(-2, 2, system.nv))
    return system.state(q, rng.normal(size=system.nv))
