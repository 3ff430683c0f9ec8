"""Impulses of contacts with circular friction cones, dry friction, stops and ropes: one complementarity problem.

    w = G z + q,   n = [n − w_n]₊,   t = the point nearest to t − w_t with ‖t‖ ≤ μ n + F                         (1)

G = A M⁻¹Aᵀ (Delassus), with loops cut. t is against the slip w_t where there is one: Coulomb's law as it is, with
nothing relaxed (P. Alart & A. Curnier, A mixed formulation for frictional contact problems prone to Newton like
solution methods, CMAME 92 (1991) 353-375). Rows are first brought to unit length, G_ii = 1, so that all numbers have
one unit, the root of an energy.

Sweeps of Gauss and Seidel find who bears and who slides; Newton's method for (1) as an equation, F(z) = 0, with a
proximal term ε on the rows that hold, then converges in a few steps,

    (J + ε I_holding) (z⁺ − z) = −F                                                                             (2)

also where G is singular: of redundant contacts the impulses nearest to those of the start are taken. Where a step does
not make F smaller more sweeps follow. Contacts that can neither stick together nor slide far, such as corners of a
box that turns while it comes to rest, leave Newton's method only a small region; there friction is smoothed first,

    t √(w_t² + ε²) + (μ n + F) w_t = 0,   ε → 0                                                                 (3)

then, where that does not help and `enough` is not reached, friction is raised from zero in parts, and other starts are
tried. Rows without length cannot be moved by any impulse, and get none.
"""

from __future__ import annotations

from math import sqrt

from dalembert.integrators.cone_problem import ConeProblem
from dalembert.native.jit import entry, inline, native
from dalembert.native.simd import axpy, dot
from dalembert.outcome import NOT_CONVERGED, NOT_FINITE, OK

PROXIMAL = 1e-7  # of G_ii = 1: far above its rounding, and what it slows Newton's method by is far below 1
SMOOTH_PROXIMAL = 1e-10  # of G_ii = 1, where friction is smoothed and holds redundant rows by itself
ROUNDED = 1e-3  # of impulses beside speeds, in what residuals are relative to: large ones round w
HALVES = 6  # of a Newton step
AGAIN, LAST = 20, 320  # sweeps after a Newton step that does not help, twice as many each time up to the last number
SMALLEST = 1e-9  # of speeds: ε of (3)
FLOOR = 1e-3  # of ε: residual of (3) with which the next one begins
PARTS = 16  # of friction, where this does not get there
STARTS = 30  # others, where that does not help either


@entry(ConeProblem)
def solve_cone(x, y, c):
    """Solve the problem from z; the outcome goes into the struct."""
    solve(c)


@native
def solve(c):
    """Solve the problem from z. Returns the outcome."""
    c.steps = c.swept = 0
    c.outcome, c.part = OK, 1.0
    _to_unit_rows(c)
    residual = natural(c, c.z)
    if residual > c.tolerance:
        residual = _attempt(c, c.sweeps)
    if not residual <= c.tolerance:
        residual = _by_smoothing(c)
    if not residual <= c.enough:
        residual = _from_elsewhere(c, residual)
    natural(c, c.z)
    c.residual = residual * c.scale / max(_largest(c.q, c.rows), 1e-300)
    if not residual <= c.tolerance:
        c.outcome = NOT_CONVERGED if residual < 1e300 else NOT_FINITE
    z, w, size = c.z, c.w, c.size
    for i in range(c.rows):
        w[i] *= size[i] if size[i] > 0.0 else 1.0
        z[i] = z[i] / size[i] if size[i] > 0.0 else 0.0
    return c.outcome


@native
def _attempt(c, sweeps):
    """Sweeps and Newton's method from z. Returns the residual."""
    sweep(c, sweeps)
    residual, sweeps = natural(c, c.z), AGAIN
    for _ in range(c.rounds):
        if residual <= c.tolerance:
            break
        better = newton(c, residual)
        if better < residual:
            residual = better
            continue
        sweep(c, sweeps)
        sweeps = min(2 * sweeps, LAST)
        residual = natural(c, c.z)
    return residual


@native
def _by_smoothing(c):
    """Newton's method for (3), ε falling by a factor of ten; then for (1) from there. Returns the residual."""
    eps = 0.1 * _largest(c.q, c.rows)
    last, best = SMALLEST * eps, 1e301
    for i in range(c.rows):
        c.z[i] = 0.0
    while eps > last:
        residual, floor = smoothed(c, c.z, eps), FLOOR * eps
        for _ in range(c.rounds):
            if residual <= max(floor, last):
                break
            residual = _smooth_step(c, eps, residual)
            if residual > 1e300:
                break
        eps *= 0.1
        residual = natural(c, c.z)
        if residual < best:
            best = residual
            for i in range(c.rows):
                c.kept[i] = c.z[i]
        if residual <= c.tolerance:
            return residual
    return _best_of(c, best, _attempt(c, 0))


@native
def _best_of(c, best, residual):
    """The smaller residual; z is what has it, of itself and `kept`."""
    if residual <= best:
        for i in range(c.rows):
            c.kept[i] = c.z[i]
        return residual
    for i in range(c.rows):
        c.z[i] = c.kept[i]
    return best


@native
def _from_elsewhere(c, best):
    """From the solution without friction, with more of it step by step; then from other starts."""
    for i in range(c.rows):
        c.kept[i], c.z[i] = c.z[i], 0.0
    for k in range(PARTS + 1):
        c.part = k / PARTS
        residual = _attempt(c, c.sweeps)
    best, seed = _best_of(c, best, residual), 1
    for k in range(STARTS):
        if best <= c.tolerance:
            break
        seed = _scatter(c, seed)
        best = _best_of(c, best, _attempt(c, k % 3))
    return best


@inline
def _largest(x, n):
    most = 0.0
    for i in range(n):
        most = max(most, abs(x[i]))
    return most


@native
def _scatter(c, seed):
    """z ← numbers of the size of q from a congruential generator. Returns its state."""
    most = _largest(c.q, c.rows)
    for i in range(c.rows):
        seed = (1103515245 * seed + 12345) % 2147483648
        c.z[i] = most * (4.0 * seed / 2147483648.0 - 2.0)
    for e in range(c.elements):
        if c.normal[e] != 0:
            c.z[c.first[e]] = abs(c.z[c.first[e]])
    return seed


@native
def _to_unit_rows(c):
    """G_ii ← 1: rows of an element's tangents by their largest, so that circles stay circles. z is scaled alike."""
    G, q, z, size, k = c.G, c.q, c.z, c.size, c.rows
    for e in range(c.elements):
        i, j = c.first[e], c.first[e] + c.normal[e]
        if c.normal[e] != 0:
            size[i] = sqrt(max(G[i, i], 0.0))
        most = 0.0
        for a in range(j, j + c.across[e]):
            most = max(most, G[a, a])
        for a in range(j, j + c.across[e]):
            size[a] = sqrt(most)
    for i in range(k):
        inverse = 1.0 / size[i] if size[i] > 0.0 else 0.0
        q[i] *= inverse
        z[i] *= size[i]
        for j in range(k):
            G[i, j] *= inverse / size[j] if size[j] > 0.0 else 0.0


@inline
def radius(c, z, e):
    """The largest friction of an element, in units of its rows."""
    i, j = c.first[e], c.first[e] + c.normal[e]
    out = c.part * c.bound[e] * c.size[j]
    if c.normal[e] != 0 and z[i] > 0.0 and c.size[i] > 0.0:
        out += c.part * c.mu[e] * c.size[j] / c.size[i] * z[i]
    return out


@native
def natural(c, z):
    """w ← G z + q, F ← z − P(z − w). Returns the largest |F| over the scale, which is set."""
    G, q, w, F, k = c.G, c.q, c.w, c.F, c.rows
    scale, most = 0.0, 0.0
    for i in range(k):
        w[i] = q[i] + dot(G, i, z, 0, 0, k)
        scale = max(scale, abs(q[i]), ROUNDED * abs(z[i]))
    for e in range(c.elements):
        i, j, a = c.first[e], c.first[e] + c.normal[e], c.across[e]
        if c.normal[e] != 0:
            F[i] = z[i] - max(z[i] - w[i], 0.0)
        if a > 0:
            reach = 0.0
            for b in range(j, j + a):
                reach += (z[b] - w[b]) ** 2
            reach = sqrt(reach)
            r = radius(c, z, e)
            share = 1.0 if reach <= r else r / reach
            for b in range(j, j + a):
                F[b] = z[b] - share * (z[b] - w[b])
    for i in range(k):
        most = max(most, abs(F[i]))
        if not abs(F[i]) < 1e300:
            most = 1e301
    c.scale = scale
    return most / scale if scale > 0.0 else 0.0


@native
def sweep(c, count):
    """Projections of one element after another, each as far as its own impulses lead."""
    G, q, z, k = c.G, c.q, c.z, c.rows
    for _ in range(count):
        c.swept += 1
        moved, most = 0.0, 0.0
        for e in range(c.elements):
            i, j, a = c.first[e], c.first[e] + c.normal[e], c.across[e]
            if c.normal[e] != 0 and c.size[i] > 0.0:
                after = max(z[i] - q[i] - dot(G, i, z, 0, 0, k), 0.0)
                moved, most = max(moved, abs(after - z[i])), max(most, after)
                z[i] = after
            if a > 0 and c.size[j] > 0.0:
                reach = _tangential(c, z, j, a)
                r = radius(c, z, e)
                share = 1.0 if reach <= r else r / reach
                for b in range(j, j + a):
                    after = share * c.trial[b]
                    moved, most = max(moved, abs(after - z[b])), max(most, abs(after))
                    z[b] = after
        if moved <= 1e-15 * most:
            break


@inline
def _tangential(c, z, j, a):
    """trial ← t − w_t / m, m a bound of the eigenvalues of this block of G. Returns ‖trial‖."""
    G, q, k = c.G, c.q, c.rows
    if a == 1:
        c.trial[j] = z[j] - q[j] - dot(G, j, z, 0, 0, k)
        return abs(c.trial[j])
    m = max(G[j, j], G[j + 1, j + 1]) + abs(G[j, j + 1])
    x = z[j] - (q[j] + dot(G, j, z, 0, 0, k)) / m
    y = z[j + 1] - (q[j + 1] + dot(G, j + 1, z, 0, 0, k)) / m
    c.trial[j], c.trial[j + 1] = x, y
    return sqrt(x * x + y * y)


@native
def newton(c, residual):
    """One step (2), halved until F is smaller: z ← z⁺. Returns the residual; not below the old one: z is as it was."""
    k, z, best, trial = c.rows, c.z, c.best, c.trial
    c.steps += 1
    count = _linearize(c)
    found = _eliminate(c.matrix, count)
    if not found:
        return 1e301
    for i in range(k):
        best[i], trial[i] = z[i], 0.0
    for a in range(count):
        trial[c.active[a]] = c.matrix[a, c.room]
    for i in range(k):
        trial[i] -= best[i]
    part = 1.0
    for _ in range(HALVES):
        for i in range(k):
            z[i] = best[i] + part * trial[i]
        after = natural(c, z)
        if after < residual:
            return after
        part *= 0.5
    for i in range(k):
        z[i] = best[i]
    natural(c, z)
    return 1e301


@native
def smoothed(c, z, eps):
    """w ← G z + q, F ← residuals of (3), over s + r, and of the normal law. Returns the largest."""
    G, q, w, F, k, most = c.G, c.q, c.w, c.F, c.rows, 0.0
    for i in range(k):
        w[i] = q[i] + dot(G, i, z, 0, 0, k)
    for e in range(c.elements):
        i, j, a = c.first[e], c.first[e] + c.normal[e], c.across[e]
        if c.normal[e] != 0:
            F[i] = z[i] - max(z[i] - w[i], 0.0)
            most = max(most, abs(F[i]))
        if a > 0:
            r, s = radius(c, z, e), eps * eps
            for b in range(j, j + a):
                s += w[b] * w[b]
            s = sqrt(s)
            for b in range(j, j + a):
                F[b] = (z[b] * s + r * w[b]) / (s + r)
                most = max(most, abs(F[b]))
    return most


@native
def _smooth_step(c, eps, residual):
    """One step of Newton's method for (3), halved until it helps. Returns the residual; 1e301 where none does."""
    k, z, best, trial = c.rows, c.z, c.best, c.trial
    c.steps += 1
    count = _linearize_smoothed(c, eps)
    if not _eliminate(c.matrix, count):
        return 1e301
    for i in range(k):
        best[i], trial[i] = z[i], 0.0
    for a in range(count):
        trial[c.active[a]] = c.matrix[a, c.room]
    part = 1.0
    for _ in range(HALVES):
        for i in range(k):
            z[i] = best[i] + part * (trial[i] - best[i])
        after = smoothed(c, z, eps)
        if after < residual:
            return after
        part *= 0.5
    for i in range(k):
        z[i] = best[i]
    smoothed(c, z, eps)
    return 1e301


@native
def _linearize_smoothed(c, eps):
    """Rows of Newton's method for (3), for z⁺, as `_linearize`."""
    G, z, w, active, matrix = c.G, c.z, c.w, c.active, c.matrix
    count, proximal = 0, SMOOTH_PROXIMAL
    for e in range(c.elements):
        i, j, a = c.first[e], c.first[e] + c.normal[e], c.across[e]
        bears = c.normal[e] != 0 and c.size[i] > 0.0 and z[i] - w[i] > 0.0
        if bears:
            active[count] = i
            count += 1
        if a > 0 and c.size[j] > 0.0 and (bears or c.bound[e] > 0.0):
            for b in range(j, j + a):
                active[count] = b
                count += 1
    at = 0
    for e in range(c.elements):
        i, j, a, place = c.first[e], c.first[e] + c.normal[e], c.across[e], -1
        if at < count and c.normal[e] != 0 and active[at] == i:
            _holds(c, at, i, count)
            place = at
            at += 1
        if a > 0 and at < count and active[at] == j:
            r, s = radius(c, z, e), eps * eps
            for b in range(j, j + a):
                s += w[b] * w[b]
            s = sqrt(s)
            slope = c.part * c.mu[e] * c.size[j] / c.size[i] if place >= 0 and z[i] > 0.0 else 0.0
            for b in range(j, j + a):
                row = at + b - j
                for d in range(count):
                    value = r * G[b, active[d]]
                    for g in range(j, j + a):
                        value += z[b] * w[g] / s * G[g, active[d]]
                    matrix[row, d] = value / (s + r)
                matrix[row, row] += s / (s + r) + proximal
                if place >= 0:
                    matrix[row, place] += slope * w[b] / (s + r)
            for b in range(j, j + a):  # J z − F
                row = at + b - j
                right = -c.F[b]
                for d in range(count):
                    right += matrix[row, d] * z[active[d]]
                matrix[row, c.room] = right
            at += a
    return count


@native
def _linearize(c):
    """Rows of (2) that are not trivial into `matrix`, for z⁺ itself, right-hand sides in the last column.

    Returns how many there are; `active` lists them. Those left out have no impulse. F and w are those of z.
    """
    z, w, active, matrix = c.z, c.w, c.active, c.matrix
    count = 0
    for e in range(c.elements):
        i, j, a = c.first[e], c.first[e] + c.normal[e], c.across[e]
        bears = c.normal[e] != 0 and c.size[i] > 0.0 and z[i] - w[i] > 0.0
        if bears:
            active[count] = i
            count += 1
        r = radius(c, z, e) if a > 0 else 0.0
        if a > 0 and c.size[j] > 0.0 and (bears or r > 0.0):
            for b in range(j, j + a):
                active[count] = b
                count += 1
    at = 0
    for e in range(c.elements):
        i, j, a = c.first[e], c.first[e] + c.normal[e], c.across[e]
        place = -1
        if at < count and c.normal[e] != 0 and active[at] == i:
            _holds(c, at, i, count)
            place = at
            at += 1
        if a > 0 and at < count and active[at] == j:
            reach = 0.0
            for b in range(j, j + a):
                reach += (z[b] - w[b]) ** 2
            reach = sqrt(reach)
            r = radius(c, z, e)
            if reach <= r:
                for b in range(a):
                    _holds(c, at + b, j + b, count)
            else:
                slope = c.part * c.mu[e] * c.size[j] / c.size[i] if place >= 0 and c.size[i] > 0.0 else 0.0
                share = r / reach
                for b in range(a):
                    _slides(c, at + b, j + b, count, j, a, reach, share, at)
                    if place >= 0:
                        d = (z[j + b] - w[j + b]) / reach
                        matrix[at + b, place] -= slope * d
                        matrix[at + b, c.room] -= slope * d * max(z[i], 0.0)
            at += a
    return count


@inline
def _holds(c, at, i, count):
    """w_i = 0, with the proximal term."""
    G, matrix, active = c.G, c.matrix, c.active
    for b in range(count):
        matrix[at, b] = G[i, active[b]]
    matrix[at, at] += PROXIMAL
    matrix[at, c.room] = PROXIMAL * c.z[i] - c.q[i]


@inline
def _slides(c, at, i, count, j, a, reach, share, first):
    """t = r d, d the direction of t − w_t, linearized: z_t − (r/reach)(I − d dᵀ)(z_t − w_t) − … = …, for z⁺."""
    G, z, w, matrix, active = c.G, c.z, c.w, c.matrix, c.active
    d = (z[i] - w[i]) / reach
    for b in range(count):
        matrix[at, b] = 0.0
    right = 0.0
    for e in range(j, j + a):
        coefficient = share * ((1.0 if e == i else 0.0) - d * (z[e] - w[e]) / reach)
        if coefficient != 0.0:
            for b in range(count):
                matrix[at, b] += coefficient * G[e, active[b]]
            matrix[at, first + e - j] -= coefficient
            # value of (I − d dᵀ)(z_t − w_t) is 0, so that only the constant part of w stays on the right
            right -= coefficient * c.q[e]
    matrix[at, at] += 1.0
    matrix[at, c.room] = right + share * reach * d


@native
def _eliminate(a, n):
    """The last column of a ← a⁻¹ times it, n × n, by elimination with partial pivoting. Returns whether it exists."""
    last = a.shape[1] - 1
    for k in range(n):
        best, size = k, abs(a[k, k])
        for i in range(k + 1, n):
            if abs(a[i, k]) > size:
                best, size = i, abs(a[i, k])
        if not size > 1e-300:
            return False
        if best != k:
            for j in range(k, n):
                a[k, j], a[best, j] = a[best, j], a[k, j]
            a[k, last], a[best, last] = a[best, last], a[k, last]
        inverse = 1.0 / a[k, k]
        for i in range(k + 1, n):
            factor = a[i, k] * inverse
            if factor != 0.0:
                axpy(-factor, a, k, a, i, k + 1, n)
                a[i, last] -= factor * a[k, last]
    for k in range(n - 1, -1, -1):
        s = a[k, last]
        for j in range(k + 1, n):
            s -= a[k, j] * a[j, last]
        a[k, last] = s / a[k, k]
    return True
