"""The report of a mechanism: mobility, redundancy, determinate multipliers, distance to singularity.

Everything is measured in the mass metric, Ã = A R⁻¹ with M = RᵀR, so that no rank depends on the units (singular values
and condition do where rows of lengths and of angles stand together). Redundancy that stays when the mechanism moves is
permanent; a rank that is smaller here than nearby is a singular configuration.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from dalembert.analysis.manifold import RANK_TOLERANCE, Tangent, tangent
from dalembert.errors import AssemblyError

STEP = 0.05  # how far "nearby" is, as a motion of about this many radians (or decimetres)
PROBES = 6
REACH = 1.5  # rad or m: beyond it a linear estimate says nothing


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """What `System.report` found."""

    name: str
    nv: int
    rows: int
    rank: int
    generic_rank: int
    mobility: int  # nv − rank, here
    generic_mobility: int  # nearby
    void: tuple[str, ...]  # rows left out when compiled: they hold whatever the mechanism does
    redundant: dict[str, dict[str, float]]  # redundant row: the rows, with coefficients, that make it
    determinate: dict[str, bool]  # per row: whether its multiplier is determinate
    singular_values: np.ndarray
    condition: float
    distance: float  # smallest retained singular value over the largest
    to_singularity: tuple[float, str] | None  # about how far, and of which coordinate, to where the rank drops
    residual: float
    directions: dict[str, list[float]]  # velocities of each admissible motion, by name

    @property
    def singular(self) -> bool:
        """Whether the rank drops here only."""
        return self.rank < self.generic_rank

    def __str__(self) -> str:
        return "\n".join([self.name, *(f"  {title + ':':22s}{text}" for title, text in self.lines())])

    def _repr_html_(self) -> str:
        left = "style='text-align:left'"
        body = "".join(f"<tr><th {left}>{escape(t)}</th><td {left}>{escape(x)}</td></tr>" for t, x in self.lines())
        return f"<b>{escape(self.name)}</b><table>{body}</table>"

    def lines(self) -> list[tuple[str, str]]:
        """(title, text) of every line."""
        out = [("mobility", self._mobility())]
        out.append(("constraints", f"{self.rows} rows, rank {self.rank}"))
        if self.void:
            out.append(("redundant, trivial", f"{', '.join(self.void)} (hold in every position; left out)"))
        for name, made_of in self.redundant.items():
            out.append(("redundant", f"{name} = {_combination(made_of)}"))
        free = [*(name for name, known in self.determinate.items() if not known), *self.void]
        if self.rows or self.void:
            out.append(("multipliers", "all determinate" if not free else f"not determinate: {', '.join(free)}"))
        if self.rows:
            out.append(("singular values", " ".join(f"{s:.3g}" for s in self.singular_values) + " (mass metric)"))
            out.append(("condition", f"{self.condition:.3g}"))
        if self.singular:
            out.append(("nearest singularity", "here"))
        elif self.to_singularity is not None:
            far, of = self.to_singularity
            near = f"about {far:.2g} of '{of}' away (rad or m, linear estimate)"
            out.append(("nearest singularity", near if far < REACH else f"none within about {REACH:g} of '{of}'"))
        open_ = "" if self.residual < 1e-6 else ": the loops are open here, assemble first"
        out.append(("closure", f"largest residual {self.residual:.1e}{open_}"))
        return out

    def _mobility(self) -> str:
        if self.singular:
            return f"{self.mobility} here, {self.generic_mobility} nearby: a singular configuration"
        return str(self.mobility)


def report(system: Any, state: Any, p: Any, on: np.ndarray) -> Report:
    """Diagnose a mechanism at a state."""
    here = tangent(system, state, p, on)
    names = [n for n, a in zip(system.row_names, on) if a]
    generic = max([here.rank, *(t.rank for t in _nearby(system, state, p, on, here))])
    sigma, r = here.sigma, here.rank
    largest, smallest = (sigma[0], sigma[r - 1]) if r else (1.0, 1.0)
    K = here.admissible
    return Report(
        system.name,
        system.nv,
        len(names),
        r,
        generic,
        system.nv - r,
        system.nv - generic,
        system.rows.void,
        _redundancies(here, names, system.constraint_size),
        _determinate(here, names, system.constraint_size),
        sigma,
        float(largest / smallest),
        float(smallest / largest),
        _to_singularity(system, state, p, on, here),
        float(np.abs(system.residuals(state, p=p)[on]).max(initial=0.0)),
        {name: K[i].tolist() for i, name in enumerate(system.v_names)},
    )


def _nearby(system: Any, state: Any, p: Any, on: np.ndarray, here: Tangent) -> list[Tangent]:
    """Tangents at configurations a small admissible motion away, back on the manifold."""
    rng = np.random.default_rng(1)
    K = here.admissible
    out = []
    for _ in range(PROBES if K.shape[1] else 0):
        direction = K @ rng.normal(size=K.shape[1])
        size = np.abs(direction).max()
        if size == 0:
            continue
        moved = state.replace(q=system.plus(state, direction * (STEP / size)))
        try:
            moved = system.project(moved, p=p, active=_switches(system, on))
        except AssemblyError:
            continue
        out.append(tangent(system, moved, p, on))
    return out


def _switches(system: Any, on: np.ndarray) -> dict[str, bool]:
    return {name: bool(a) for name, a in zip(system.rows.of, on)}


def _normalized(here: Tangent, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Whitened rows of unit length, and which rows vanish here: which row is big is a matter of units."""
    white = np.linalg.solve(here.R.T, here.A.T).T
    lengths = np.linalg.norm(white, axis=1)
    gone = lengths <= RANK_TOLERANCE * size
    return np.where(gone[:, None], 0.0, white / np.maximum(lengths, 1e-300)[:, None]), gone


def _redundancies(here: Tangent, names: list[str], size: float) -> dict[str, dict[str, float]]:
    """Each redundant row as a combination of independent ones; greedy, so that later rows give way."""
    white, gone = _normalized(here, size)
    kept: list[int] = []
    out: dict[str, dict[str, float]] = {}
    for k in range(len(names)):
        if gone[k]:
            out[names[k]] = {}
        elif len(kept) < here.rank and _independent(white[[*kept, k]]):
            kept.append(k)
        else:
            coefficients = np.linalg.lstsq(here.A[kept].T, here.A[k], rcond=None)[0] if kept else np.zeros(0)
            least = 1e-8 * np.abs(coefficients).max(initial=1e-300)
            out[names[k]] = {names[j]: float(c) for j, c in zip(kept, coefficients) if abs(c) > least}
    return out


def independent_rows(system: Any, state: Any, p: Any) -> tuple[int, ...] | None:
    """Rows that carry all the others near a state, or None where none is redundant: the rank is taken nearby, so that a
    singular position does not count.
    """
    m = len(system.rows.of)
    on = np.ones(m, dtype=bool)
    if _clearly_independent(system, state, p):
        return None
    here = tangent(system, state, p, on)
    if here.rank == m:
        return None
    best = max([here, *_nearby(system, state, p, on, here)], key=lambda t: t.rank)
    if best.rank == m:
        return None
    white, gone = _normalized(best, system.constraint_size)
    kept: list[int] = []
    while len(kept) < best.rank:  # the row farthest from those kept, each time: a well-conditioned choice
        Q = np.linalg.qr(white[kept].T)[0] if kept else np.zeros((white.shape[1], 0))
        rest = np.linalg.norm(white - (white @ Q) @ Q.T, axis=1)
        rest[kept] = -1.0
        kept.append(int(np.argmax(np.where(gone, -1.0, rest))))
    return tuple(sorted(kept))


def _clearly_independent(system: Any, state: Any, p: Any) -> bool:
    """Whether no row is short, or within about 0.01 rad of those before it, in the mass metric: without an SVD."""
    A, M = system.constraint_matrix(state, p=p), system.mass_matrix(state, p=p)
    try:
        gram = A @ np.linalg.solve(M, A.T)
        length = np.sqrt(np.diag(gram))
        if not length.min() > 1e-4 * system.constraint_size:
            return False
        return bool(np.diag(np.linalg.cholesky(gram / (length[:, None] * length))).min() > 1e-2)
    except np.linalg.LinAlgError:
        return False


def _independent(rows: np.ndarray) -> bool:
    sigma = np.linalg.svd(rows, compute_uv=False)
    return len(rows) <= rows.shape[1] and bool(sigma[-1] > RANK_TOLERANCE * sigma[0])


def _determinate(here: Tangent, names: list[str], size: float) -> dict[str, bool]:
    """A multiplier is determinate where its row does not vanish and no vanishing combination of rows contains it."""
    white, gone = _normalized(here, size)
    U, sigma, _ = np.linalg.svd(white) if len(white) else (np.zeros((0, 0)), np.zeros(0), None)
    rank = int((sigma > RANK_TOLERANCE * sigma[0]).sum()) if len(sigma) and sigma[0] > 0 else 0
    weights = np.abs(U[:, rank:]).max(axis=1, initial=0.0)
    return dict(zip(names, [bool(w <= 1e-8) and not g for w, g in zip(weights, gone)]))


def _to_singularity(system: Any, state: Any, p: Any, on: np.ndarray, here: Tangent) -> tuple[float, str] | None:
    """σ_r / ‖∇σ_r‖ along the admissible motions, said as a motion of the coordinate that moves most."""
    K, r = here.admissible, here.rank
    if r == 0 or K.shape[1] == 0:
        return None
    h, slopes = 1e-4, []
    for k in K.T:
        size = max(np.abs(k).max(), 1e-300)
        ends = []
        for sign in (1.0, -1.0):
            moved = state.replace(q=system.plus(state, k * (sign * h / size)))
            ends.append(tangent(system, moved, p, on).sigma[r - 1])
        slopes.append((ends[0] - ends[1]) / (2 * h) * size)
    gradient = np.array(slopes)
    steep = float(gradient @ gradient)
    if steep <= 1e-12 * here.sigma[0] ** 2:
        return None
    motion = K @ (-here.sigma[r - 1] * gradient / steep)
    k = int(np.argmax(np.abs(motion)))
    return float(abs(motion[k])), system.v_names[k]


def _combination(made_of: dict[str, float]) -> str:
    if not made_of:
        return "0"
    text = " ".join(f"{'-' if c < 0 else '+'} {abs(c):.4g} {name}" for name, c in made_of.items())
    return text.removeprefix("+ ")
