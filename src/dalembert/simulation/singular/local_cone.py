"""The tangent cone of many loops that are singular at once, by elements; `analysis.tangent_cone` is the same for few.

The rows of a loop are dependent by themselves in a position where many loops are, as the flat cranks of a ladder, so
the dependencies W are those of single loops: B = Ã Ãᵀ has them in its diagonal blocks. With U orthonormal, W = U S⁻¹,
the motions of `tangent_cone` are not given by a basis K but by slack s of the dependent rows,

    S⁻¹ A d = Uᵀ s                                                                                           (1)
    min ½ (d − d₀)ᵀ M (d − d₀)   with (1) and W γ(q, d) = 0,                                                 (2)

whose conditions are one sparse system. γ is a quadratic form of the few velocities of each row, whose coefficients
follow from its values at sums of velocities that no row knows two of (Curtis, Powell & Reid, 1974).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigvals_banded
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from dalembert.rank import rank_policy
from dalembert.ruler import Ruler
from dalembert.system.state import State
from dalembert.system.system import System

ROUNDS = 60  # of Newton's method


@dataclass(frozen=True, eq=False)
class ElementRows:
    """M, S⁻¹A and Ã = S⁻¹A R⁻¹ by their elements, and Φ, at a state."""

    M: sp.csr_array  # (nv, nv)
    A: sp.csr_array  # (m, nv)
    white: sp.csr_array  # (m, nv)
    phi: np.ndarray  # (m,), over usual lengths
    b: np.ndarray  # (m,) −b, and not zero where drivers move the mechanism

    @staticmethod
    def of(system: System, x: State, p: np.ndarray) -> ElementRows:
        """Those of all rows."""
        n, m, sizes = system.nv, len(system.rows.of), rank_policy(system, p).sizes
        out = system.evaluate("sparse_equations", x, p=p)
        lower, A = _matrix(out[2], out[6], n, n), _matrix(out[4], out[7], m, n)
        kernel = system.kernel("whitened_rows")
        given = {"q": x.q, "sizes": sizes, "p": p, "t": x.t}
        values, places = kernel(*(given[name] for name in kernel.names_in))
        white = _matrix(values, places, m, n)
        M = lower + sp.tril(lower, -1).T
        A.data /= np.repeat(sizes, np.diff(A.indptr))  # elements that happen to be zero stay in their places
        return ElementRows(M.tocsr(), A, white, out[-3] / sizes, out[-1])

    def singular_values(self) -> np.ndarray:
        """(m,) of Ã, rising, to 1e-8: roots of the eigenvalues of Ã Ãᵀ."""
        B = (self.white @ self.white.T).tocsr()
        order = reverse_cuthill_mckee(B, symmetric_mode=True)
        B = B[order][:, order].tocoo()
        width = int(np.abs(B.row - B.col).max(initial=0))
        band = np.zeros((width + 1, B.shape[0]))
        low = B.row >= B.col
        band[(B.row - B.col)[low], B.col[low]] = B.data[low]
        return np.sqrt(np.maximum(eigvals_banded(band, lower=True), 0.0))


def _matrix(values: np.ndarray, places: np.ndarray, m: int, n: int) -> sp.csr_array:
    row, column = np.divmod(np.asarray(places, dtype=np.int64), n)
    return sp.csr_array((values, (row, column)), shape=(m, n))


@dataclass(frozen=True, eq=False)
class LocalCone:
    """The equations W γ(q, d) = 0 of k dependencies of single loops; d: (nv,) velocities that (1) allows."""

    rows: ElementRows
    U: sp.csr_array  # (k, m) orthonormal
    W: sp.csr_array  # (k, m)
    linear: sp.csr_array  # (m, nv), of γ
    index: np.ndarray  # (3, count): row and two velocities of each coefficient
    forms: np.ndarray  # (count,)

    @staticmethod
    def of(system: System, x: State, p: np.ndarray, rows: ElementRows, k: int) -> LocalCone | None:
        """The cone of k dependencies, and of those that are hardly longer.

        None where they are not those of single loops, or drivers move the mechanism.
        """
        U = _dependencies(system, rows, k)
        terms = _second_order(system, x, p, rows.A)
        if U is None or terms is None or rows.b.any() or system.description.prescribed:
            return None
        return LocalCone(rows, U, U @ sp.diags_array(1.0 / rank_policy(system, p).sizes), *terms)

    def __call__(self, d: np.ndarray) -> np.ndarray:
        """(k,) W γ."""
        i, j, l = self.index
        return self.W @ (self.linear @ d + np.bincount(i, self.forms * d[j] * d[l], minlength=self.W.shape[1]))

    def slope(self, d: np.ndarray) -> sp.csr_array:
        """(k, nv) the derivative of this."""
        i, j, l = self.index
        return self.W @ (self.linear + _sum((i, j), 2.0 * self.forms * d[l], self.linear.shape))

    def length(self, d: np.ndarray) -> float:
        """In the mass metric."""
        return float(np.sqrt(max(d @ (self.rows.M @ d), 0.0)))

    def local(self, v: np.ndarray) -> np.ndarray:
        """The nearest velocity that (1) allows."""
        n, (k, m) = len(v), self.U.shape
        return splu(self._conditions(self.rows.M)).solve(np.r_[self.rows.M @ v, np.zeros(k + m)])[:n]

    def shortest(self, right: np.ndarray) -> np.ndarray:
        """The shortest d with S⁻¹ A d − Uᵀ s = right, (nv,)."""
        n, k = self.rows.M.shape[0], self.U.shape[0]
        return splu(self._conditions(self.rows.M)).solve(np.r_[np.zeros(n + k), right])[:n]

    def nearest(self, d0: np.ndarray) -> np.ndarray | None:
        """The solution of (2), by Newton's method; None where none is found."""
        M, A, U = self.rows.M, self.rows.A, self.U
        (m, n), k = A.shape, U.shape[0]
        x, length = np.r_[d0, np.zeros(k + m + k)], self.length(d0)
        i, j, l = self.index
        for _ in range(ROUNDS):
            d, mu, nu = x[:n], x[n + k : n + k + m], x[n + k + m :]
            J = self.slope(d)
            bent = M + _sum((j, l), 2.0 * self.forms * (self.W.T @ nu)[i], M.shape)
            rest = np.r_[M @ (d - d0) + A.T @ mu + J.T @ nu, -(U @ mu), A @ d - U.T @ x[n : n + k], self(d)]
            try:
                step = splu(self._conditions(bent, J)).solve(-rest)
            except RuntimeError:  # exactly singular
                return None
            longest = self.length(step[:n])
            x = x + min(1.0, 0.5 * length / max(longest, 1e-300)) * step
            if not longest > Ruler.ended * max(length, 1e-300):
                break
        return x[:n] if np.abs(self(x[:n])).max() <= Ruler.unseen * self._size(d0) else None

    def opening(self, d: np.ndarray) -> float:
        """How fast the smallest singular value of the scaled rows grows along d, 1/s."""
        return 0.5 * self._least_slope(d)

    def selects(self, d: np.ndarray) -> bool:
        """Whether all motions near the one along d meet such a position too and go on along one branch each.

        It is told of mechanisms of one degree of freedom; of others, that this is not known.
        """
        i, j, l = self.index
        m, n = self.rows.A.shape
        root = np.sqrt(self.rows.M.diagonal())
        flat = self.W @ sp.csr_array((self.forms / (root[j] * root[l]), (i, j * n + l)), shape=(m, n * n))
        return n - m == 1 and self._least_slope(d) > Ruler.flat * float(np.abs(flat.data).max()) * self.length(d)

    def _least_slope(self, d: np.ndarray) -> float:
        """The least singular value of the slope along motions of unit length that (1) allows."""
        (m, n), k = self.rows.A.shape, self.U.shape[0]
        try:
            factor = splu(self._conditions(self.rows.M, self.slope(d)))
        except RuntimeError:
            return 0.0
        inverse = LinearOperator((k, k), lambda r: -factor.solve(np.r_[np.zeros(n + k + m), np.ravel(r)])[n + k + m :])
        if k < 3:
            largest = np.linalg.eigvalsh(inverse @ np.eye(k))[-1]
        else:
            largest = eigsh(inverse, 1, v0=np.ones(k), tol=1e-6, return_eigenvectors=False)[0]
        return float(max(largest, 1e-300) ** -0.5)

    def _conditions(self, M: sp.csr_array, J: sp.csr_array | None = None) -> sp.csc_array:
        """The matrix of (2) in d, s and two multipliers; without J that of (1) alone."""
        A, U = self.rows.A, self.U
        if J is None:
            return sp.block_array([[M, None, A.T], [None, None, -U], [A, -U.T, None]], format="csc")
        parts = [[M, None, A.T, J.T], [None, None, -U, None], [A, -U.T, None, None], [J, None, None, None]]
        return sp.block_array(parts, format="csc")

    def _size(self, d: np.ndarray) -> float:
        """Sum of the absolute values of the terms of W γ."""
        (i, j, l), a = self.index, np.abs(d)
        terms = abs(self.linear) @ a + np.bincount(i, np.abs(self.forms) * a[j] * a[l], minlength=self.W.shape[1])
        return float((abs(self.W) @ terms).max(initial=1e-300))

    def exists(self, system: System, x: State, p: np.ndarray) -> bool:
        """Whether the position is one, to rounding: dependent rows hold where the others do."""
        policy = rank_policy(system, p)
        far = np.where(
            system.rows.angular, 1.0, max(policy.length, system.layout.length)
        )  # positions are rounded there
        rounding = Ruler.rounding * float((far / policy.sizes).max())
        phi = self.rows.phi
        for _ in range(3):
            weak = self.U @ phi
            if np.abs(phi - self.U.T @ weak).max() <= rounding:
                break
            x = x.replace(q=system.plus(x, self.shortest(-phi)))
            phi = system.residuals(x, p=p) / policy.sizes
        return bool(np.abs(self.U @ phi).max() <= rounding)


def _dependencies(system: System, rows: ElementRows, k: int) -> sp.csr_array | None:
    """(k, m) the combinations of rows of single loops that are dependent, orthonormal; None where others are too.

    They are k, or more up to where the next one is much longer.
    """
    B, found = (rows.white @ rows.white.T).tocsr(), []
    ends = np.flatnonzero(np.r_[[a != b for a, b in zip(system.rows.of, system.rows.of[1:])], True]) + 1
    for begin, end in zip(np.r_[0, ends], ends):
        values, vectors = np.linalg.eigh(B[begin:end, begin:end].toarray())
        found += [(max(value, 1e-300) ** 0.5, begin, vector) for value, vector in zip(values, vectors.T)]
    found.sort(key=lambda one: one[0])
    while k < len(found) and not found[k][0] > Ruler.together * found[k - 1][0]:
        k += 1
    if k == len(found) or found[k - 1][0] > Ruler.weak:
        return None
    index = [(i, begin + j) for i, (_, begin, vector) in enumerate(found[:k]) for j in range(len(vector))]
    values = np.concatenate([vector for _, _, vector in found[:k]])
    return sp.csr_array((values, tuple(np.array(index).T)), shape=(k, len(system.rows.of)))


def _second_order(
    system: System, x: State, p: np.ndarray, A: sp.csr_array
) -> tuple[sp.csr_array, np.ndarray, np.ndarray] | None:
    """Linear and quadratic coefficients of γ(q, v), by the velocities that A has; None where it has others."""
    kernel, (m, n) = system.kernel("gamma"), A.shape
    if "v" not in kernel.names_in:
        return None
    known = [A.indices[A.indptr[i] : A.indptr[i + 1]].tolist() for i in range(m)]
    color = _colors(known, n)
    count = max(color) + 1
    units = np.zeros((count, n))
    units[color, np.arange(n)] = 1.0
    a, b = np.triu_indices(count, 1)
    probe = np.random.default_rng(0).standard_normal(n)
    v = np.vstack([np.zeros(n), units, -units, units[a] + units[b], probe])
    given = {"q": x.q, "v": v, "p": p, "t": x.t}
    g = kernel.batch(*(given[name] for name in kernel.names_in)).reshape(len(v), m)
    zero, plus, minus, both = g[0], g[1 : count + 1], g[count + 1 : 2 * count + 1], g[2 * count + 1 : -1]
    pair = np.zeros((count, count), dtype=np.int64)
    pair[a, b] = pair[b, a] = np.arange(len(a))
    i, j, l = np.array([(i, j, l) for i, row in enumerate(known) for j in row for l in row]).T
    c = np.array(color)
    own = 0.5 * (plus + minus) - zero
    mixed = 0.5 * (both - plus[a] - plus[b] + zero)
    forms = np.where(j == l, own[c[j], i], mixed[pair[c[j], c[l]], i] if len(a) else 0.0)
    row, column = np.repeat(np.arange(m), np.diff(A.indptr)), A.indices
    linear = sp.csr_array((0.5 * (plus - minus)[c[column], row], (row, column)), shape=(m, n))
    again = zero + linear @ probe + np.bincount(i, forms * probe[j] * probe[l], minlength=m)
    if zero.any() or np.abs(again - g[-1]).max() > Ruler.unseen * np.abs(g[-1]).max():
        return None
    return linear, np.array([i, j, l]), forms


def _colors(known: list[list[int]], n: int) -> list[int]:
    """Colours of velocities, so that no row knows two of one colour."""
    rows_of: list[list[int]] = [[] for _ in range(n)]
    for i, row in enumerate(known):
        for j in row:
            rows_of[j].append(i)
    color = [-1] * n
    for j in range(n):
        used = {color[l] for i in rows_of[j] for l in known[i]}
        color[j] = next(c for c in range(n) if c not in used)
    return color


def _sum(index: tuple[np.ndarray, np.ndarray], values: np.ndarray, shape: tuple[int, int]) -> sp.csr_array:
    return sp.csr_array((values, index), shape=shape)
