"""Motions through a singular position: those that satisfy the constraints to second order.

Where rows of A depend on each other, W A ≈ 0, A v + b = 0 allows more velocities than there are motions. A motion
also has W (A v̇ + γ) = 0, that is W γ(q, v) = 0 whatever v̇ is: with v = c + K y, k quadratic equations

    g(y) = W γ(q, c + K y) = 0,                                                                           (1)

the tangent cone of the constraints in that position. From rest the same holds for accelerations, since q ≈ ½ a t².
K is orthonormal in the mass metric, so the nearest y is the nearest motion in the sense of Gauss.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.analysis.manifold import Tangent, tangent, tangent_of_motion
from dalembert.protocols import Inputs, Parameters, StateLike, SystemLike
from dalembert.rank import rank_policy, reach
from dalembert.ruler import Ruler

APPROACHES = 4  # to a position whose gap equations of second order tell
SAMPLES = 16  # states around it, of which the mean gap is taken
ROUNDS = 100  # of a perceptron
TRIES = 12  # starts from which other solutions of (1) are looked for


@dataclass(frozen=True, eq=False)
class TangentCone:
    """The k equations (1) in n unknowns, by their coefficients: g_i(y) = constant_i + linear_i y + yᵀ forms_i y."""

    tangent: Tangent
    K: np.ndarray  # (nv, n)
    c: np.ndarray  # (nv,) the shortest v with A v + b = 0
    W: np.ndarray  # (k, m) dependencies between rows
    constant: np.ndarray  # (k,)
    linear: np.ndarray  # (k, n)
    forms: np.ndarray  # (k, n, n) symmetric

    @staticmethod
    def of(
        system: SystemLike,
        state: StateLike,
        p: Parameters,
        rank: int,
        usual: int,
        t: Tangent | None = None,
        u: Inputs = None,
    ) -> TangentCone:
        """The cone where the rank of A is `rank` in place of the `usual` one; t: the tangent there, if known.

        u: inputs. Given with a `tangent_of_motion`, what kinematic inputs lead moves as the state and they say.
        """
        t = tangent(system, state, p) if t is None else t
        led = list(system.description.prescribed.values()) if u is not None else []
        K = np.linalg.solve(t.R, t.V[:, rank : system.nv - len(led)])
        W = t.U[:, rank:].T / t.scale
        _, A, b = system.evaluate("constraints", state, p=p)
        given = np.zeros(system.nv)
        given[led] = state.v[led]
        strong = t.U[:, :rank].T @ (-(A @ given + b) / t.scale) / np.maximum(t.sigma[:rank], 1e-300)
        c = given + np.linalg.solve(t.R, t.V[:, :rank] @ strong)
        terms = second_order_terms(system, state, p, W, c, K)
        if led:  # A v̇ with v̇ = u there
            M, f, _, _ = system.evaluate("constrained", state, u=u, p=p)
            terms = terms[0] + W @ A[:, led] @ (f[led] / M[led, led]), terms[1], terms[2]
        if len(W) > usual - rank:  # rows that depend on others for good add equations 0 = 0, and mix with the rest
            mixed = np.linalg.svd(np.hstack([x.reshape(len(W), -1) for x in terms]))[0][:, : usual - rank].T
            return TangentCone(t, K, c, mixed @ W, *(np.tensordot(mixed, x, 1) for x in terms))
        return TangentCone(t, K, c, W, *terms)

    def __call__(self, y: np.ndarray) -> np.ndarray:
        """g(y), (k,)."""
        return self.constant + self.linear @ y + np.einsum("kij,i,j->k", self.forms, y, y)

    def slope(self, y: np.ndarray) -> np.ndarray:
        """∂g/∂y, (k, n)."""
        return self.linear + 2.0 * np.einsum("kij,j->ki", self.forms, y)

    def opening(self, y: np.ndarray) -> float:
        """How fast the smallest singular value of the scaled rows grows along y, 1/s."""
        half = 0.5 * self.slope(y)  # Ȧ K: of 2 Φ_qt v in γ, half is the change of A
        return float(np.linalg.svd(half, compute_uv=False)[-1]) if len(half) else 0.0

    def local(self, v: np.ndarray) -> np.ndarray:
        """y, (n,), of the velocity, or part of it, that K spans."""
        RK = self.tangent.R @ self.K
        return RK.T @ (self.tangent.R @ (v - self.c))

    def nearest(self, y0: np.ndarray) -> np.ndarray | None:
        """The y with g(y) = 0 that is nearest to y0, by Newton's method on the conditions of a minimum; else None."""
        y, multipliers, n = y0.copy(), np.zeros(len(self.constant)), len(y0)
        size, length = self._size(y0), float(np.linalg.norm(y0))
        for _ in range(60):
            J, g = self.slope(y), self(y)
            H = np.eye(n) + 2.0 * np.einsum("k,kij->ij", multipliers, self.forms)
            top, bottom = np.hstack([H, J.T]), np.hstack([J, np.zeros((len(g), len(g)))])
            right = -np.concatenate([y - y0 + J.T @ multipliers, g])
            step = _solved(np.vstack([top, bottom]), right)
            longest = float(np.linalg.norm(step[:n]))
            shorten = min(1.0, 0.5 * length / max(longest, 1e-300))
            y, multipliers = y + shorten * step[:n], multipliers + shorten * step[n:]
            if longest <= Ruler.ended * max(length, 1e-300):
                break
        return y if np.abs(self(y)).max(initial=0.0) <= Ruler.unseen * size else None

    def nearest_as_long(self, y0: np.ndarray) -> np.ndarray | None:
        """The y of `nearest`, made as long as y0 on the cone, where there is one: a motion that keeps its energy."""
        first = self.nearest(y0)
        if first is None or not first.any():
            return first
        length, size = float(np.linalg.norm(y0)), self._size(y0)
        y = first * (length / np.linalg.norm(first))
        for _ in range(20):
            values = np.append(self(y), 0.5 * (y @ y - length**2))
            y = y - np.linalg.lstsq(np.vstack([self.slope(y), y]), values, rcond=Ruler.sharp)[0]
        kept = abs(float(np.linalg.norm(y)) - length) <= Ruler.unseen * length
        return y if kept and np.abs(self(y)).max(initial=0.0) <= Ruler.unseen * size else first

    def others(self, y0: np.ndarray) -> list[np.ndarray]:
        """Solutions of (1) nearest to y0 and to seeded directions of the same length, without repetitions."""
        rng, found = np.random.default_rng(0), list[np.ndarray]()
        length = np.linalg.norm(y0)
        for k in range(TRIES):
            start = y0 if k == 0 else rng.standard_normal(len(y0))
            y = self.nearest(start if k == 0 else start * (length / np.linalg.norm(start)))
            if y is not None and all(np.linalg.norm(y - o) > Ruler.distinct * length for o in found):
                found.append(y)
        return found

    def _size(self, y: np.ndarray) -> float:
        """Sum of the absolute values of the terms of (1)."""
        a = np.abs(y)
        terms = np.abs(self.constant) + np.abs(self.linear) @ a + np.einsum("kij,i,j->k", np.abs(self.forms), a, a)
        return float(terms.max(initial=1e-300))

    # --- what it looks like -------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """Kind: "crossing" branches, a "cone", branches that "touch", an "isolated" position, or "several"."""
        if len(self.forms) != 1:
            return "isolated" if self._definite() else "several"
        values = np.linalg.eigvalsh(self.forms_with_time[0])
        size = np.abs(values).max(initial=0.0)
        up, down = int((values > Ruler.flat * size).sum()), int((values < -Ruler.flat * size).sum())
        if min(up, down) == 0:
            return "isolated" if max(up, down) == len(values) else "touch"
        return "crossing" if up == down == 1 else "cone"

    def _definite(self) -> bool:
        """Whether some sum c of the forms is positive definite, so that only y = 0 solves (1): by perceptrons."""
        forms = self.forms_with_time
        if not forms.any():
            return False
        c, size = np.zeros(len(forms)), np.abs(forms).max()
        for _ in range(ROUNDS):
            y = np.linalg.eigh(np.tensordot(c, forms, 1))[1][:, 0]
            g = np.einsum("kij,i,j->k", forms, y, y)
            if c @ g > Ruler.flat * size * np.linalg.norm(c):
                return True
            c += g / max(float(np.linalg.norm(g)), 1e-300)
        return False

    @property
    def parts_neighbours(self) -> bool:
        """Whether motions that pass the apex side by side part: they do where the cone, or its section, is curved.

        A cone in three dimensions can be rolled out flat, and what passes its apex on one side stays side by side.
        With more, motions pass it around a curved section, each the farther from its neighbours the nearer it passes.
        """
        if len(self.forms) != 1:
            return False
        values = np.abs(np.linalg.eigvalsh(self.forms_with_time[0]))
        return int((values > Ruler.flat * values.max(initial=0.0)).sum()) > 3

    def selects(self, y: np.ndarray) -> bool:
        """Whether all motions near the one along y meet such a position too, and go on along one branch each.

        Else (a cone met in its apex, branches that touch) a motion beside this one goes on in another way.
        """
        J = self.slope(y)
        sizes = np.linalg.svd(J, compute_uv=False)
        largest = np.abs(self.forms).max(initial=0.0) * np.linalg.norm(y)
        if not len(sizes) or len(sizes) < len(J) or sizes[-1] <= Ruler.flat * largest:
            return False
        if len(J) == 1:
            return self.kind == "crossing"
        if len(self.forms_with_time[0]) > len(y):
            y = np.append(y, self.driven)
            J = 2.0 * np.einsum("kij,j->ki", self.forms_with_time, y)
        return len(y) - len(J) == 1 or self._neighbours_meet_it(y, J)

    @property
    def driven(self) -> float:
        """Length of c, by which motion goes on even where y = 0; 0 where (1) does not see it."""
        length = float(np.linalg.norm(self.tangent.R @ self.c))
        seen = max(np.abs(self.constant).max(initial=0.0), length * np.abs(self.linear).max(initial=0.0))
        return length if seen > Ruler.unseen * length**2 * np.abs(self.forms).max(initial=0.0) else 0.0

    @property
    def forms_with_time(self) -> np.ndarray:
        """(k, n, n), or (k, n + 1, n + 1) with the motion along c as one more direction: g = (y, |c|)ᵀ F (y, |c|)."""
        if self.driven == 0.0:
            return self.forms
        corner, side = self.constant[:, None, None], 0.5 * self.linear[:, :, None]
        side, corner = side / self.driven, corner / self.driven**2
        return np.block([[self.forms, side], [np.transpose(side, (0, 2, 1)), corner]])

    def _neighbours_meet_it(self, y: np.ndarray, J: np.ndarray) -> bool:
        """Whether a motion beside y, along the same branch, comes to where the rows are dependent again."""
        from scipy.optimize import minimize_scalar

        rng = np.random.default_rng(1)
        branch = np.linalg.svd(J)[2][len(J) :]
        aside = branch.T @ rng.standard_normal(len(branch))
        aside *= np.linalg.norm(y) / np.linalg.norm(aside)

        def least(s: float) -> float:
            rows = np.einsum("kij,j->ki", self.forms_with_time, aside + s * y)
            return float(np.linalg.svd(rows, compute_uv=False)[-1])

        grid = np.linspace(-20, 20, 401)
        values = np.array([least(s) for s in grid])
        k = int(np.argmin(values))
        found = minimize_scalar(least, bounds=(grid[max(k - 1, 0)], grid[min(k + 1, 400)]), method="bounded")
        return bool(found.fun < Ruler.dip * np.median(values))


def _solved(A: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A⁻¹ right; the shortest solution nearest to one where the condition of A is beyond 1e12."""
    try:
        inverse = np.linalg.inv(A)
    except np.linalg.LinAlgError:
        inverse = np.full(A.shape, np.inf)
    if np.abs(A).sum(axis=0).max() * np.abs(inverse).sum(axis=0).max() < 1.0 / Ruler.sharp:
        return np.asarray(inverse @ right)
    return np.asarray(np.linalg.lstsq(A, right, rcond=Ruler.sharp)[0])


def exists(system: SystemLike, state: StateLike, p: Parameters, rank: int, usual: int, u: Inputs = None) -> bool:
    """Whether there is a position of this rank next to a state, to rounding; if not, branches avoid each other there.

    Where the strong rows hold, W Φ is nearly f + r y + ½ yᵀ forms y in q ⊕ K y. The position is where its slope is
    zero, and on the manifold if its value is zero there. u: inputs; given, what kinematic inputs lead stays as it is.
    """
    units, far = rank_policy(system, p).units, reach(system, p)
    for _ in range(APPROACHES):
        state, t = on_strong_rows(system, state, p, rank, u)
        cone = TangentCone.of(system, state, p, rank, usual, t, u)
        r, n = cone.W @ system.evaluate("constraints", state, p=p)[1] @ cone.K, cone.K.shape[1]
        y = np.linalg.lstsq(cone.forms.reshape(-1, n), -r.ravel(), rcond=Ruler.flat)[0]
        if not np.linalg.norm(t.R @ cone.K @ y) > Ruler.second * np.linalg.norm(t.R @ far):
            break  # terms of third order are rounding
        state = state.replace(q=system.plus(state, cone.K @ y))
    gaps, rng = np.zeros((SAMPLES, len(cone.W))), np.random.default_rng(0)
    for k in range(SAMPLES):  # rounding of Φ differs from state to state, and the gap does not
        aside = cone.K @ rng.standard_normal(n)
        beside = state.replace(
            q=system.plus(state, aside * (Ruler.sampled / max(np.abs(aside / far).max(initial=0.0), 1e-300)))
        )
        phi, A, _ = system.evaluate("constraints", beside, p=p)
        r = cone.W @ A @ cone.K
        y = np.linalg.lstsq(cone.forms.reshape(-1, n), -r.ravel(), rcond=Ruler.flat)[0]
        gaps[k] = cone.W @ phi + r @ y + 0.5 * np.einsum("kij,i,j->k", cone.forms, y, y)
    return bool((np.abs(gaps.mean(axis=0)) <= Ruler.rounding * (np.abs(cone.W) @ units)).all())


def on_strong_rows(
    system: SystemLike, state: StateLike, p: Parameters, rank: int, u: Inputs
) -> tuple[StateLike, Tangent]:
    """The nearest state on which the first `rank` combinations of rows hold, to rounding, and the tangent there."""
    at = tangent if u is None else tangent_of_motion
    units = rank_policy(system, p).units
    for _ in range(3):
        t, phi = at(system, state, p), system.evaluate("constraints", state, p=p)[0]
        strong = t.U[:, :rank].T @ (-phi / t.scale)
        if np.abs(strong).max(initial=0.0) <= Ruler.rounding * (units / t.scale).max(initial=0.0):
            return state, t
        back = t.V[:, :rank] @ (strong / t.sigma[:rank])
        state = state.replace(q=system.plus(state, np.linalg.solve(t.R, back)))
    return state, at(system, state, p)


def second_order_terms(
    system: SystemLike, state: StateLike, p: Parameters, W: np.ndarray, c: np.ndarray, K: np.ndarray, size: float = 1.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Constant (k,), linear (k, n) and quadratic (k, n, n) parts of y ↦ W γ(q, c + K y).

    From its values at 0, ±e_i and e_i + e_j, each times `size`.
    """
    kernel, n = system.kernel("gamma"), K.shape[1]
    i, j = np.triu_indices(n, 1)
    e = size * np.eye(n)
    y = np.vstack([np.zeros(n), e, -e, e[i] + e[j]])
    given = {"q": state.q, "v": c + y @ K.T, "p": system.arguments.parameter_vector(p), "t": state.t}
    values = [given[name] for name in kernel.names_in]
    if "v" in kernel.names_in:
        gamma = kernel.batch(*values).reshape(len(y), -1)
    else:
        gamma = np.broadcast_to(np.ravel(kernel(*values)), (len(y), W.shape[1]))
    g = gamma @ W.T
    zero, plus, minus, both = g[0], g[1 : n + 1], g[n + 1 : 2 * n + 1], g[2 * n + 1 :]
    linear, diagonal = (plus - minus) / 2, (plus + minus) / 2 - zero
    forms = np.zeros((len(W), n, n))
    forms[:, np.arange(n), np.arange(n)] = diagonal.T
    forms[:, i, j] = forms[:, j, i] = ((both - plus[i] - plus[j] + zero) / 2).T
    return zero, linear.T / size, forms / size**2
