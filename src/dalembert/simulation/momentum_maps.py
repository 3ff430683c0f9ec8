"""Noether's theorem for runs: the rigid motions of space that a mechanism does not notice, and the momenta they keep.

A twist ξ = (ω; v) of space moves all bodies alike if the joints to the ground can follow it, all others standing still:

    S_r w_r = Ad(T_r)⁻¹ ξ   for every link r on the ground,   w = 0 elsewhere                                 (1)

Neither forces nor constraints notice it if Q · w = 0 and A w = 0; then J_ξ = w · M v is constant. (1) and these are
linear in ξ, so that the symmetries of a mechanism are a null space, found from a few states chosen at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import unknown
from dalembert.recursions.newton_euler import newton_euler
from dalembert.recursions.tree import ROOT
from dalembert.spatial import Ad
from dalembert.symbols import zeros

if TYPE_CHECKING:
    from dalembert.simulation.results.run import Run
    from dalembert.system.system import System
    from dalembert.system.trace import Trace

STATES = 6  # from which symmetries are found
SMALL = 1e-9


@dataclass(frozen=True, eq=False)
class MomentumMaps:
    """Momenta that a mechanism keeps, and their histories."""

    names: tuple[str, ...]  # "along x", "about z through (1, 0, 0)"; k of them
    twists: np.ndarray  # (k, 6) (ω; v) of space at the ground's origin
    values: np.ndarray  # (N, k) N s along an axis, N m s about one

    @property
    def change(self) -> np.ndarray:
        """(k,) the largest change of each since the first record."""
        return np.abs(self.values - self.values[:1]).max(axis=0, initial=0.0)

    def __getitem__(self, name: str) -> np.ndarray:
        """(N,) the history of one of them."""
        if name not in self.names:
            raise unknown("momentum map", name, self.names)
        return self.values[:, self.names.index(name)]

    def __repr__(self) -> str:
        found = ", ".join(f"{name}: {x:.1e}" for name, x in zip(self.names, self.change))
        return f"<momenta that are kept, and their largest change: {found or 'none'}>"


def momentum_maps(run: Run) -> MomentumMaps:
    """Those of the system of a run, at its records."""
    system = run.system
    idle = not run.u.size or not np.any(run.u)
    twists = symmetries(system, run.q[0], run.p, float(run.t[0]), idle)
    values = np.zeros((len(run.t), len(twists)))
    if len(twists):
        W = _followed(system, run.q, run.p)[0]
        values = np.einsum("nij,kj,ni->nk", W, twists, run.momentum)
    return MomentumMaps(tuple(map(_name, twists)), twists, values)


def symmetries(system: System, q: np.ndarray, p: np.ndarray, t: float, idle: bool) -> np.ndarray:
    """(k, 6) a basis of the twists of space that the mechanism does not notice; idle: whether inputs are zero."""
    rng, n = np.random.default_rng(0), system.nv
    conditions = [np.zeros((0, 6))]
    for _ in range(STATES):
        x = system.state(system.plus(q, rng.normal(size=n)), rng.normal(size=n), t + rng.uniform())
        u = np.zeros(len(system.u_names)) if idle else rng.normal(size=len(system.u_names))
        (W,), (missed,) = _followed(system, x.q[None], p)
        forces = system.kernels.at(_forces(system), x, u, p, {}).reshape(n)
        rows = [
            missed,
            (forces / max(1.0, np.abs(forces).max()) @ W)[None],
            W[list(system.description.prescribed.values())],
        ]
        if system.rows.of:
            _, A, _ = system.evaluate("constraints", x, p=p)
            A = A.reshape(-1, n)
            rows.append(A @ W / max(1.0, np.abs(A).max()))
        conditions += rows
    _, sizes, V = np.linalg.svd(np.vstack(conditions), full_matrices=True)
    sizes = np.concatenate([sizes, np.zeros(6 - len(sizes))])
    return _plain(V[sizes < SMALL])


def _plain(N: np.ndarray) -> np.ndarray:
    """A basis of the same space: translations, then rotations and screws, along the ground's axes where they can be."""
    _, sizes, V = np.linalg.svd(N[:, :3].T, full_matrices=True) if len(N) else (None, np.zeros(0), np.zeros((0, 0)))
    turning = int((sizes > SMALL).sum())
    slides = _reduced(V[turning:] @ N, slice(3, 6))
    turns = _reduced(V[:turning] @ N, slice(0, 3))
    if len(slides):
        Q = np.linalg.qr(slides[:, 3:].T)[0]
        turns[:, 3:] -= turns[:, 3:] @ Q @ Q.T
    turns = turns / np.maximum(np.linalg.norm(turns[:, :3], axis=1, keepdims=True), 1e-300)
    slides = slides / np.maximum(np.linalg.norm(slides[:, 3:], axis=1, keepdims=True), 1e-300)
    found = np.vstack([slides, turns])
    return np.where(np.abs(found) < SMALL, 0.0, found) + 0.0


def _reduced(X: np.ndarray, columns: slice) -> np.ndarray:
    """Rows in reduced echelon form by some of the columns."""
    X, row = X.copy(), 0
    for c in range(columns.start, columns.stop):
        if row == len(X):
            break
        k = row + int(np.argmax(np.abs(X[row:, c])))
        if abs(X[k, c]) < SMALL:
            continue
        X[[row, k]] = X[[k, row]]
        X[row] /= X[row, c]
        for i in range(len(X)):
            if i != row:
                X[i] -= X[i, c] * X[row]
        row += 1
    return X


def _name(twist: np.ndarray) -> str:
    omega, v = twist[:3], twist[3:]
    axis = _axis(v if not omega.any() else omega)
    if not omega.any():
        return f"along {axis}"
    point, pitch = np.cross(omega, v) + 0.0, float(omega @ v)
    through = f" through ({', '.join(f'{x:.4g}' for x in point)})" if np.abs(point).max() > SMALL else ""
    return f"about {axis}{through}" + (f" with pitch {pitch:.4g} m" if abs(pitch) > SMALL else "")


def _axis(d: np.ndarray) -> str:
    for name, e in zip("xyz", np.eye(3)):
        if np.abs(d - e).max() < SMALL:
            return name
    return f"({', '.join(f'{x:.4g}' for x in d)})"


def _followed(system: System, q: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """w of (1) for unit twists, (N, nv, 6), and what the joints cannot follow, (N, 6 roots, 6)."""
    roots = [link for link in system.layout.tree.links if link.parent == ROOT]
    kernel = system.kernels.custom(("ground_joints",), ("q", "p"), _ground_joints, None, ("joints",))
    given = {"q": q, "p": p}
    flat = kernel.batch(*(given[name] for name in kernel.names_in)).reshape(len(q), -1)
    W, missed, at = np.zeros((len(q), system.nv, 6)), np.zeros((len(q), 6 * len(roots), 6)), 0
    for k, link in enumerate(roots):
        width = link.v.stop - link.v.start
        S = flat[:, at : at + 6 * width].reshape(-1, 6, width)
        Ad = flat[:, at + 6 * width : at + 6 * (width + 6)].reshape(-1, 6, 6)
        at += 6 * (width + 6)
        W[:, link.v] = np.linalg.pinv(S) @ Ad
        missed[:, 6 * k : 6 * (k + 1)] = Ad - S @ W[:, link.v]
    return W, missed


def _ground_joints(s: Trace) -> np.ndarray:
    """S and Ad(T)⁻¹ of every link on the ground, one after another."""
    parts = [zeros(0)]
    for i, link in enumerate(s.tree.links):
        if link.parent == ROOT:
            parts += [np.reshape(s.at.S(i), -1), np.reshape(Ad(s.at.pose(i).inverse()), -1)]
    return np.concatenate(parts)


def _forces(system: System) -> Any:
    """Q: what the described forces and weight do on the coordinates, as a kernel."""

    def value(s: Trace) -> np.ndarray:
        still = s.tree.moving(s.q, zeros(s.tree.nv))
        return s.load.tau - newton_euler(still, zeros(s.tree.nv), s.d.gravity, s.load.wrenches)

    return system.kernels.custom(("forces_and_weight",), ("q", "v", "u", "p", "t"), value, None, ("forces",))
