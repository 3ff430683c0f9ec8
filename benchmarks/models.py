"""The benchmark models and their states: arms, a humanoid, chains; P1 five-bar, P2 four-bar, P3 two arms, P5 ladder."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

import dalembert as da
from benchmarks.description import WORLD, Closure, Link, Load, Model, turned

# --- trees ------------------------------------------------------------------------------------------------------


def _solid(mass: float, size: float, rng: np.random.Generator) -> np.ndarray:
    """A full inertia matrix of about mass × size², that of some box in arbitrary axes."""
    a = size * rng.uniform(0.3, 1.0, 3)
    R = Rotation.random(random_state=rng).as_matrix()
    return R @ np.diag(mass / 12.0 * (np.sum(a**2) - a**2)) @ R.T


IIWA_AT = [0.1575, 0.2025, 0.2045, 0.2155, 0.1845, 0.2155, 0.081]
IIWA_MASS = [3.4525, 3.4821, 4.05623, 3.4822, 2.1633, 2.3466, 3.129]
IIWA_AXES = "zyzyzyz"


def _arm_links(prefix: str, base: tuple[float, float, float], rotation: np.ndarray, first: int = 0) -> list[Link]:
    rng = np.random.default_rng(7)
    links = []
    for k in range(7):
        at = base if k == 0 else (0.0, 0.0, IIWA_AT[k])
        com = (0.01 * (-1) ** k, 0.03, 0.07)
        inertia = _solid(IIWA_MASS[k], 0.25, rng)
        R = rotation if k == 0 else np.eye(3)
        parent = WORLD if k == 0 else first + k - 1
        links.append(Link(f"{prefix}{k + 1}", parent, IIWA_AXES[k], at, IIWA_MASS[k], com, inertia, R))
    return links


def arm() -> Model:
    """Seven revolute joints with alternating axes, an iiwa's masses and lengths, full inertia matrices."""
    return Model("arm, 7 joints", tuple(_arm_links("link", (0.0, 0.0, IIWA_AT[0]), np.eye(3))))


def arm_with_turned_frames() -> Model:
    """The same with every joint frame turned arbitrarily: no structural zeros to be had."""
    rng = np.random.default_rng(8)
    links = [
        Link(x.name, x.parent, x.axis, tuple(rng.uniform(-0.2, 0.2, 3)), x.mass, x.com, x.inertia,
             Rotation.random(random_state=rng).as_matrix())
        for x in arm().links
    ]  # fmt: skip
    return Model("arm, frames turned at random", tuple(links))


def chain(n: int) -> Model:
    """n links of 0.2 m with alternating axes y, z."""
    rng = np.random.default_rng(9)
    links = []
    for k in range(n):
        at = (0.0, 0.0, 0.0) if k == 0 else (0.2, 0.0, 0.0)
        links.append(Link(f"link{k + 1}", k - 1, "yz"[k % 2], at, 1.0, (0.1, 0.01, -0.02), _solid(1.0, 0.2, rng)))
    return Model(f"chain, {n} joints", tuple(links))


def humanoid() -> Model:
    """A floating base and 30 revolute joints: two legs of 6, a waist of 2, a head of 2, two arms of 7."""
    rng = np.random.default_rng(10)
    links = [Link("pelvis", WORLD, "free", (0.0, 0.0, 0.0), 8.0, (0.01, 0.0, 0.05), _solid(8.0, 0.3, rng))]

    def limb(name: str, parent: int, at: tuple[float, float, float], axes: str, step: tuple, mass: float) -> int:
        for k, axis in enumerate(axes):
            here = at if k == 0 else step
            com = tuple(0.5 * np.array(step) + rng.uniform(-0.02, 0.02, 3))
            links.append(Link(f"{name}{k + 1}", parent, axis, here, mass, com, _solid(mass, 0.2, rng)))
            parent = len(links) - 1
        return parent

    limb("left_leg", 0, (0.0, 0.1, -0.1), "zxyyyx", (0.01, 0.0, -0.15), 2.0)
    limb("right_leg", 0, (0.0, -0.1, -0.1), "zxyyyx", (0.01, 0.0, -0.15), 2.0)
    chest = limb("waist", 0, (0.0, 0.0, 0.1), "zy", (0.02, 0.0, 0.2), 5.0)
    limb("head", chest, (0.0, 0.0, 0.3), "zy", (0.03, 0.0, 0.1), 1.0)
    limb("left_arm", chest, (0.0, 0.2, 0.2), "yxzyzyx", (0.0, 0.02, -0.12), 1.0)
    limb("right_arm", chest, (0.0, -0.2, 0.2), "yxzyzyx", (0.0, -0.02, -0.12), 1.0)
    return Model("humanoid, 36 DoF", tuple(links))


# --- with loops -------------------------------------------------------------------------------------------------


def _bar(name: str, parent: int, at: tuple, length: float, mass: float, moment: float | None = None) -> Link:
    """A bar along x turning about z; moment about its centre (uniform rod if None)."""
    J = mass * length**2 / 12.0 if moment is None else moment
    inertia = np.diag([1e-3 * mass, J, J])  # a thin rod has a little spin inertia; it does not matter in the plane
    return Link(name, parent, "z", at, mass, (length / 2, 0.0, 0.0), inertia)


PLANAR = (0.0, -9.81, 0.0)


def five_bar() -> Model:
    """P1: supports 2.5 m apart, links 1.0/1.5/1.5/1.0 m, 2/3/3/2 kg; two chains of two, closed by a pin."""
    links = (
        _bar("left1", WORLD, (0.0, 0.0, 0.0), 1.0, 2.0, 1.0),
        _bar("left2", 0, (1.0, 0.0, 0.0), 1.5, 3.0, 2.0),
        _bar("right1", WORLD, (2.5, 0.0, 0.0), 1.0, 2.0, 1.0),
        _bar("right2", 2, (1.0, 0.0, 0.0), 1.5, 3.0, 2.0),
    )
    pin = Closure("pin", "z", 1, (1.5, 0.0, 0.0), 3, (1.5, 0.0, 0.0))
    down = np.arcsin(np.sqrt(1.5**2 - 0.25**2) / 1.5)
    q = np.array([0.0, -down, np.pi, down])
    return Model("P1 five-bar", links, PLANAR, closures=(pin,), q=q, v=np.array([0.8, -0.3, 0.5, 0.9]))


def four_bar() -> Model:
    """P2: crank 0.5, coupler 1.5, rocker 1.2, ground 1.5 m, rods of 2 kg/m, crank at 90° and 2 rad/s."""
    links = (
        _bar("crank", WORLD, (0.0, 0.0, 0.0), 0.5, 1.0),
        _bar("coupler", 0, (0.5, 0.0, 0.0), 1.5, 3.0),
        _bar("rocker", WORLD, (1.5, 0.0, 0.0), 1.2, 2.4),
    )
    pin = Closure("pin", "z", 1, (1.5, 0.0, 0.0), 2, (1.2, 0.0, 0.0))
    return Model("P2 four-bar", links, PLANAR, closures=(pin,), q=np.array([1.57, -1.2, 1.4]), v=np.array([2.0, 0, 0]))


def tilted_four_bar() -> Model:
    """P2 in a plane of arbitrary direction: nothing shows that it is planar, and three of its rows are redundant."""
    flat, R = four_bar(), Rotation.from_rotvec([0.3, -0.5, 0.2]).as_matrix()
    links = tuple(
        replace(x, at=tuple(R @ x.at), rotation=R @ x.rotation) if x.parent == WORLD else x for x in flat.links
    )
    return replace(flat, name="P2 four-bar, tilted", links=links, gravity=tuple(R @ flat.gravity))


def two_arms() -> Model:
    """P3: two 7-joint arms, bases 1.2 m apart and facing each other, rigidly holding a 2 kg box of 0.3 m."""
    up = IIWA_AT[0]
    left = _arm_links("left", (-0.6, 0.0, up), np.eye(3))
    right = _arm_links("right", (0.6, 0.0, up), turned("z", np.pi), first=7)
    side = np.full(3, 0.3)
    box = Load("box", 6, (0.0, 0.0, 0.2), 2.0, np.diag(2.0 / 12.0 * (np.sum(side**2) - side**2)))
    # each hand ends 0.05 m before its face of the box; the right one is the left one turned by half about the vertical
    grip = Closure("grip", "fixed", 6, (0.0, 0.0, 0.4), 13, (0.0, 0.0, 0.0), turned("x", np.pi))
    bend = np.array([0.2, -0.4, 0.1, 1.9, 0.2, 0.3, 0.1])
    q = np.concatenate([bend, bend * [-1, 1, -1, 1, -1, 1, -1]])
    return Model("P3 two arms", (*left, *right), loads=(box,), closures=(grip,), q=q)


def ladder(n: int) -> Model:
    """P5: n + 1 cranks and n couplers of 1 m and 1 kg, hanging, 4 rad/s."""
    links, closures, q, v = [], [], [], []
    crank = []
    for k in range(n + 1):
        crank.append(len(links))
        links.append(_bar(f"crank{k}", WORLD, (float(k), 0.0, 0.0), 1.0, 1.0))
        q.append(-np.pi / 2 + 0.3)
        v.append(4.0)
        if k < n:
            links.append(_bar(f"coupler{k}", crank[k], (1.0, 0.0, 0.0), 1.0, 1.0))
            q.append(np.pi / 2 - 0.3)
            v.append(-4.0)
    for k in range(n):
        closures.append(Closure(f"pin{k}", "z", crank[k] + 1, (1.0, 0.0, 0.0), crank[k + 1], (1.0, 0.0, 0.0)))
    return Model(f"P5 ladder {n}", tuple(links), PLANAR, closures=tuple(closures), q=np.array(q), v=np.array(v))


# --- states -----------------------------------------------------------------------------------------------------


def random_state(model: Model, count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`count` states (q, v, a) of a tree as rows."""
    rng = np.random.default_rng(seed)
    n = len(model.links) + 5 * model.floating
    q = rng.uniform(-1.0, 1.0, (count, n))
    if model.floating:
        ball = rng.normal(size=(count, 4))
        ball /= np.linalg.norm(ball, axis=1)[:, None]
        q = np.hstack([ball, rng.uniform(-1, 1, (count, 3)), q[:, 6:]])
    return q, rng.normal(size=(count, n)), rng.normal(size=(count, n))


def consistent_state(model: Model, system: da.System) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) on the constraints, from the model's guess: Newton for q, projection for v."""
    constraints = system.kernel("constraints")
    q = model.q.copy()
    for _ in range(50):
        phi, A, _ = constraints(q)
        if np.abs(phi).max() < 1e-14:
            break
        q -= np.linalg.lstsq(np.atleast_2d(A), np.atleast_1d(phi), rcond=1e-9)[0]
    phi, A, b = constraints(q)
    assert np.abs(phi).max() < 1e-12, f"{model.name} does not assemble: {np.abs(phi).max():.1e}"
    v = np.random.default_rng(2).normal(size=system.nv) if model.v is None else model.v.astype(float)
    v = v - np.linalg.lstsq(A, A @ v + b, rcond=1e-9)[0]
    return q, v
