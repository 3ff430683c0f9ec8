"""Decisions about rank: which rows are independent, which motions are free, how close a singular position is.

Rows of A come in metres and in radians, of heavy bodies and of light ones, so their lengths cannot be compared. Each is
whitened by the mass metric, M = RᵀR, and measured by its own usual length there,

    Ã = S⁻¹ A R⁻¹,   S = diag(usual length of each row of A R⁻¹),                                       (1)

found at random configurations with the parameters in use. A row of Ã is about 1 long where the mechanism is far from
singular, and what is much smaller has lost its meaning here:

    σ_k ≤ tolerance · max(σ_1, 1)    counts as zero: the accuracy asked for does not resolve it
    sin(row, others) ≤ near          elimination without pivoting, which squares it, would lose that accuracy

Every rank in the library is decided by a `RankPolicy`, made by `rank_policy` and by nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import sqrt
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from dalembert.blas import one_thread
from dalembert.forks import held_over_forks
from dalembert.lazy import cached_property
from dalembert.protocols import Parameters, StateGiven, SystemLike

ACCURACY = 1e-8  # relative, of an answer, where none is asked for
ROUNDING = 1e-16  # of a product
CLOSED = 1e-6  # rad, or lengths of the mechanism, and their rates: farther from the manifold there is no model
RESOLVED = 1e-12  # of the usual size of a row: positions are not known better
TRIVIAL = 1e-11  # of a row in lengths of the mechanism: coefficients below are rounding
TRIVIAL_OWN = 1e-13  # the same of rows in units of the user's, which may be of any size
EVEN = 1e-6  # of a squared distance: coordinates that differ by less are equally good, and the first is taken
MASSLESS = 1e-13  # of the usual inertia of a motion: what is left is rounding
SAMPLES = 3  # random configurations that tell the usual length of a row
REMEMBERED = 64  # parameter sets per system
LARGE = 24  # rows from which a decomposition would use threads


@dataclass(frozen=True, eq=False)
class RankPolicy:
    """Thresholds for one system, one set of parameters and one accuracy; made by `rank_policy`."""

    tolerance: float  # singular values up to this part of the largest are zero
    floor: float  # and so are those of A up to this, in the mass metric: rounding
    near: float  # sine of the angle between rows up to which elimination is not accurate enough
    size: float  # usual length, in the mass metric, of the row of A that is shortest there
    sizes: np.ndarray  # (m,) usual length of each row, S of (1)
    units: np.ndarray  # (m,) of each row of Φ: `length`, 1 rad, or what a row of the user's changes over these
    length: float  # m: of the mechanism

    def rank(self, sigma: np.ndarray, least: float = 0.0) -> int:
        """Number of singular values sigma (falling) above tolerance × the largest, and × `least`, a usual size."""
        return int((sigma > self.tolerance * max(sigma[0], least)).sum()) if len(sigma) and sigma[0] > 0 else 0

    def reveal(self, X: np.ndarray, least: float = 0.0) -> Revealed:
        """The singular value decomposition of X with its rank."""
        if min(X.shape) < LARGE:
            U, sigma, Vt = np.linalg.svd(X)
        else:
            with one_thread():
                U, sigma, Vt = np.linalg.svd(X)
        return Revealed(U, sigma, Vt.T, self.rank(sigma, least))

    def absent(self, part: np.ndarray) -> np.ndarray:
        """Whether entries of unit vectors of a null space are zero but for rounding."""
        return np.asarray(np.abs(part) <= 10 * self.tolerance)

    # --- elimination without pivoting ---------------------------------------------------------------------------

    def separates(self, margin: Sequence[float] | np.ndarray) -> bool:
        """Whether elimination was accurate: rows neither nearly dependent nor nearly zero.

        margin: (squared sine of the smallest angle between rows, squared length of the shortest), mass metric.
        """
        return bool(margin[0] > self.least_angle and margin[1] > self.least_length)

    def determines(self, margin: float) -> bool:
        """Whether chosen coordinates determine a motion to some digits; margin: a squared sine, as above."""
        return margin > 1e4 * ROUNDING

    def condition(self, margin: Sequence[float], rows: int) -> float:
        """An estimate of the condition number of `rows` rows from the margin of their elimination."""
        return min(margin[0], margin[1] / self.size**2) ** -0.5 if rows else 1.0

    def clearly_independent(self, A: np.ndarray, M: np.ndarray) -> bool:
        """Whether no row is short, nor within 100 × `near` of those before it: without a decomposition."""
        try:
            gram = A @ np.linalg.solve(M, A.T)
            length = np.sqrt(np.diag(gram))
            if not (length > self.near * self.sizes).all():
                return False
            sines = np.diag(np.linalg.cholesky(gram / (length[:, None] * length)))
            return bool(sines.min() > 100 * self.near)
        except np.linalg.LinAlgError:
            return False

    @cached_property
    def closed(self) -> float:
        """Sum of squares of Φ, or of A v + b, below which a state is on the manifold: no row is off by `CLOSED`."""
        return (CLOSED * min(1.0, self.length, *self.units)) ** 2

    @cached_property
    def least_angle(self) -> float:
        """Squared sine between rows above which elimination is accurate."""
        return self.near**2

    @cached_property
    def least_length(self) -> float:
        """Squared length of a row, in the mass metric, above which it is not rounding."""
        return (self.tolerance * self.size) ** 2


@dataclass(frozen=True, eq=False)
class Revealed:
    """X = U Σ Vᵀ and its rank."""

    U: np.ndarray  # (m, m)
    sigma: np.ndarray  # min(m, n) values, falling
    V: np.ndarray  # (n, n)
    rank: int

    @property
    def null(self) -> np.ndarray:
        """(n, n − rank) orthonormal x with X x = 0."""
        return self.V[:, self.rank :]

    @property
    def dependencies(self) -> np.ndarray:
        """(m − rank, m) orthonormal w with w X = 0."""
        return self.U[:, self.rank :].T

    def solve(self, right: np.ndarray) -> np.ndarray:
        """X⁺ right: the shortest x that brings X x nearest to `right`, (n,) or (n, …)."""
        r = self.rank
        part = self.U[:, :r].T @ right
        return self.V[:, :r] @ (part.T / self.sigma[:r]).T


def independent(rows: np.ndarray, count: int, first: Sequence[int] = (), even: float = 0.0) -> list[int]:
    """`count` rows that span best, those in `first` and then others in order: each time the farthest from those taken.

    Gram and Schmidt's method with pivoting, each direction cleared twice. even: part of its squared distance by which
    the row that is taken may be nearer than the farthest, if it comes earlier.
    """
    rest, taken = np.array(rows, dtype=float), list[int]()
    Q, found = np.zeros((rows.shape[1], count)), 0
    for step in range(min(count, len(rows))):
        if step < len(first):
            k = first[step]
        else:
            distance = np.einsum("ij,ij->i", rest, rest)
            distance[taken] = -1.0
            k = int(np.argmax(distance > (1.0 - even) * distance.max())) if even else int(np.argmax(distance))
        taken.append(k)
        q = rest[k] - Q[:, :found] @ (rest[k] @ Q[:, :found])
        size = float(q @ q) ** 0.5
        if size > 0:
            q /= size
            Q[:, found], found = q, found + 1
            rest -= np.outer(rest @ q, q)
    fixed = len(first)
    return [*taken[:fixed], *sorted(taken[fixed:])]


def earliest_independent(rows: np.ndarray, count: int, tolerance: float) -> list[int]:
    """`count` independent rows, each as early as it can be: later rows give way."""
    kept: list[int] = []
    Q = np.zeros((rows.shape[1], 0))
    for k, row in enumerate(rows):
        if len(kept) == count:
            break
        rest = row - Q @ (Q.T @ row)
        rest = rest - Q @ (Q.T @ rest)
        size = float(np.linalg.norm(rest))
        if size > tolerance:
            kept.append(k)
            Q = np.column_stack([Q, rest / size])
    return kept


# --- the policy of a system -----------------------------------------------------------------------------------------

_known: WeakKeyDictionary[SystemLike, dict[Any, RankPolicy]] = WeakKeyDictionary()
_lock = held_over_forks(Lock())


def rank_policy(system: SystemLike | None = None, p: Parameters = None, accuracy: float | None = None) -> RankPolicy:
    """The policy of a system with parameters p (default: its own) for answers of a relative accuracy.

    Without a system: for matrices whose entries are of one kind.

    >>> from dalembert import zoo
    >>> from dalembert.rank import rank_policy
    >>> policy = rank_policy(zoo.four_bar().compile())
    >>> f"{policy.tolerance:.0e} {policy.near:.0e}"
    '1e-09 1e-04'
    """
    if system is None:
        return _scaled(ACCURACY if accuracy is None else accuracy)
    if p is not None and np.array_equal(system.arguments.parameter_vector(p), system.arguments.parameter_vector(None)):
        p = None
    key = None if p is None else np.asarray(system.arguments.parameter_vector(p), dtype=float).tobytes(), accuracy
    known = _known.get(system)
    found = None if known is None else known.get(key)
    if found is not None:
        return found
    with _lock:  # of another accuracy: the same sizes
        like = next((x for (of, _), x in (known or {}).items() if of == key[0]), None)
    if like is not None:
        made = _scaled(ACCURACY if accuracy is None else accuracy, like.sizes, like.units, like.length)
    else:
        vector = np.asarray(system.arguments.parameter_vector(p), dtype=float)[None]
        keep = getattr(getattr(system, "kernels", None), "kept_arrays", None) if p is None else None
        measure = partial(usual_sizes, system, vector)
        sizes, units, length = measure() if keep is None else keep("usual_sizes", vector, measure)
        made = _scaled(ACCURACY if accuracy is None else accuracy, sizes[0], units[0], float(length[0]))
    with _lock:
        known = _known.setdefault(system, {})
        made = known.setdefault(key, made)
        while len(known) > REMEMBERED:
            del known[next(iter(known))]
    return made


def _scaled(accuracy: float, sizes: ArrayLike = (), units: ArrayLike = (), length: float = 1.0) -> RankPolicy:
    sizes, units = np.array(sizes, dtype=float), np.array(units, dtype=float)
    for x in (sizes, units):
        x.flags.writeable = False
    accuracy = max(accuracy, 10 * RESOLVED)
    size = float(sizes.min()) if len(sizes) else 1.0
    return RankPolicy(0.1 * accuracy, 1e-13 * size, sqrt(ROUNDING / accuracy), size, sizes, units, length)


def row_units(system: SystemLike, p: Parameters = None) -> np.ndarray:
    """(m,) of each row of Φ: a length of the mechanism, 1 rad, or what a row of the user's changes over these."""
    if system.rows.own.any():
        return rank_policy(system, p).units
    return np.where(system.rows.angular, 1.0, system.layout.length)


def usual_sizes(system: SystemLike, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(N, m) usual lengths of rows in the mass metric, (N, m) their units and (N,) lengths of the mechanism.

    p: (N, np) parameters.
    """
    m, count = len(system.rows.of), len(p)
    if (whole := system.kernels.selected_from) is not None:  # measured once, for all selections
        policy, chosen = rank_policy(whole[0], p[0, : len(whole[0].p_names)]), list(whole[1])
        sizes, units = (np.tile(x[chosen], (count, 1)) for x in (policy.sizes, policy.units))
        return sizes, units, np.full(count, policy.length)
    if not m:
        return np.zeros((count, 0)), np.zeros((count, 0)), np.full(count, system.layout.length)
    if count > 1 and (p == p[0]).all():
        policy = rank_policy(system, p[0])
        return np.tile(policy.sizes, (count, 1)), np.tile(policy.units, (count, 1)), np.full(count, policy.length)
    length = _lengths(system, p)
    units = np.where(system.rows.angular, 1.0, length[:, None])
    reach = np.where(angular_velocities(system), 1.0, length[:, None])
    lengths, coefficients = np.full((SAMPLES, count, m), np.nan), np.full((SAMPLES, count, m), np.nan)
    rng = np.random.default_rng(0)
    for k in range(SAMPLES):
        squares, angles, slides, _, least = _at_random(system, p, rng.uniform(-1, 1, system.nv) * reach)
        with np.errstate(all="ignore"):
            lengths[k] = np.where((least > 0.0) & (squares >= 0.0), np.sqrt(np.abs(squares)), np.nan)  # M is positive
            known = np.isfinite(lengths[k]).any(axis=1)
            coefficients[k][known] = (np.sqrt(angles + slides * length[:, None] ** 2) / units)[known]
    each, plain, own = _median(lengths), _median(coefficients), system.rows.own
    real = np.isfinite(each) & (plain > np.where(own, TRIVIAL_OWN, TRIVIAL))
    units = np.where(own & real, plain * units, units)
    plain = np.where(own & real, 1.0, plain)
    # of a row that is nothing but rounding: as if its coefficients were of the mechanism's length
    with np.errstate(all="ignore"):
        nominal = np.where(real, each / plain / units, np.nan)
    typical = _median(nominal.T)
    return np.where(real, each, np.where(np.isfinite(typical), typical, 1.0)[:, None] * units), units, length


def _lengths(system: SystemLike, p: np.ndarray) -> np.ndarray:
    """(N,) the longest lever of a row against an angle, slides at their neutral place: lengths that know parameters.

    A row in a unit of the user's has a lever in metres if a slide enters too; else it counts only where there is no
    other, and lengths may be parameters.
    """
    turning, own = angular_velocities(system), system.rows.own
    levers, rng = np.zeros((2, len(p))), np.random.default_rng(1)
    for _ in range(SAMPLES):
        _, _, slides, arms, _ = _at_random(system, p, np.tile(rng.uniform(-1, 1, system.nv) * turning, (len(p), 1)))
        with np.errstate(all="ignore"):
            arms = np.where(own & (slides > 0.0), arms / slides, arms)
        for k, rows in enumerate((~system.rows.angular & ~(own & ~(slides > 0.0).all(axis=0)), own)):
            found = np.sqrt(np.fmax.reduce(arms[:, rows], axis=1, initial=0.0))
            levers[k] = np.fmax(levers[k], found)  # no NaN
    usual = np.full(len(p), system.layout.length)
    for lever in levers[::-1] if p.shape[1] else levers[:1]:
        usual = np.where(np.isfinite(lever) & (lever > RESOLVED * system.layout.length), lever, usual)
    return usual


def _at_random(system: SystemLike, p: np.ndarray, delta: np.ndarray) -> tuple[np.ndarray, ...]:
    """The kernel "row_sizes", (N, m) each, where velocities delta (N, nv) lead from the neutral position, at t = 0."""
    start = system.state()
    q = system.kernel("plus").batch(np.tile(start.q, (len(p), 1)), delta)
    if (row_sizes := getattr(system, "row_sizes", None)) is not None:
        return row_sizes(q, p, start.t)
    known = {"q": q, "p": p, "t": np.full((len(p), 1), start.t)}
    if system.rows.dense:
        return _sizes_in_loops(system, known)
    kernel = system.kernel("row_sizes")
    *of_rows, least = kernel.batch(*(known[name] for name in kernel.names_in))
    return *of_rows, least.reshape(-1, 1)


def _sizes_in_loops(system: SystemLike, known: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
    """The outputs of the kernel "row_sizes" from A and M: where that kernel would be long."""
    rows, masses = system.kernel("constraints"), system.kernel("mass_matrix")
    _, A, _ = rows.batch(*(known[name] for name in rows.names_in))
    M = masses.batch(*(known[name] for name in masses.names_in))
    squares, angles, turning = np.full(A.shape[:2], -1.0), A * A, angular_velocities(system)
    positive = np.zeros((len(A), 1))
    for k in range(len(A)):
        try:
            with one_thread():
                white = np.linalg.solve(np.linalg.cholesky(M[k]), A[k].T)
        except np.linalg.LinAlgError:  # not positive definite, or not finite
            continue
        squares[k], positive[k] = (white * white).sum(axis=0), 1.0
    about = angles * turning
    return squares, about.sum(axis=2), (angles - about).sum(axis=2), about.max(axis=2, initial=0.0), positive


def _median(values: np.ndarray) -> np.ndarray:
    """Median of the finite values along the first axis; NaN where there are none."""
    finite = np.isfinite(values)
    if len(values) == 3 and finite.all():
        a, b, c = values
        return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))
    ordered, count = np.sort(np.where(finite, values, np.inf), axis=0), finite.sum(axis=0)
    middle = [np.take_along_axis(ordered, k[None], axis=0)[0] for k in (np.maximum(count - 1, 0) // 2, count // 2)]
    return np.where(count > 0, 0.5 * (middle[0] + np.where(count > 0, middle[1], 0.0)), np.nan)


# --- the mass matrix --------------------------------------------------------------------------------------------------

_inertias: WeakKeyDictionary[SystemLike, dict[Any, np.ndarray]] = WeakKeyDictionary()


def usual_inertias(system: SystemLike) -> np.ndarray:
    """(nv,) the usual diagonal of M with the default parameters, at random configurations."""
    return np.asarray(1.0 / np.diag(_inertia_weights(system, None)[0]))


def _inertia_weights(system: SystemLike, p: Parameters) -> np.ndarray:
    """(2, nv, nv): what gives M a usual diagonal of 1, element by element, and the limit of its eigenvalues times 1."""
    key = None if p is None else np.asarray(system.arguments.parameter_vector(p), dtype=float).tobytes()
    known = _inertias.setdefault(system, {})
    if key not in known:
        rng, reach = np.random.default_rng(0), np.where(angular_velocities(system), 1.0, system.layout.length)
        places = [system.plus(system.state(), rng.uniform(-1, 1, system.nv) * reach) for _ in range(SAMPLES)]
        diagonals = np.array([system.evaluate("mass_diagonal", system.state(q), p=p) for q in places])
        while len(known) >= REMEMBERED:
            known.pop(next(iter(known)), None)
        roots = np.sqrt(np.maximum(_median(diagonals), 1e-300))
        known[key] = np.array([1.0 / roots / roots[:, None], 10 * MASSLESS * np.eye(len(roots))])
    return known[key]


def massless(system: SystemLike, state: StateGiven, p: Parameters = None) -> str | None:
    """The velocity, by name, that moves no mass at a state but for rounding; None where all do.

    M is measured by its usual diagonal, at random configurations: a motion whose inertia falls below MASSLESS of that
    is lost in rounding. Systems whose links all have mass and inertia need not be asked.
    """
    M = system.mass_matrix(state, p=p)
    weights, limit = _inertia_weights(system, p)
    scaled = M * weights
    try:  # where this factor exists and is a number, no eigenvalue is near the limit
        if not len(M) or np.linalg.cholesky(scaled - limit)[-1, -1] > 0.0:
            return None
    except np.linalg.LinAlgError:
        pass
    if not np.isfinite(scaled).all():
        return system.v_names[int(np.argmin(np.isfinite(scaled).all(axis=0)))]
    values, vectors = np.linalg.eigh(scaled)
    return system.v_names[int(np.argmax(np.abs(vectors[:, 0])))] if values[0] <= MASSLESS else None


def angular_velocities(system: SystemLike) -> np.ndarray:
    """(nv,) bool: which velocities are those of angles, not of slides."""
    return np.concatenate([[], *(a.joint.angular for a in system.layout.joints.values())]).astype(bool)


def reach(system: SystemLike, p: Parameters) -> np.ndarray:
    """(nv,) how far a velocity may lead in unit time: 1 rad, or the mechanism's length."""
    return np.where(angular_velocities(system), 1.0, rank_policy(system, p).length)
