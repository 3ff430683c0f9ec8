"""The diagonal equations of Jain and Rodriguez beside the articulated-body recursion, and their factor as a metric.

Forward dynamics of spatial chains and of a humanoid:

    8.1     the kernel "diagonal_dynamics_xi": ξ̇ of (q, v, τ), algorithm 8.1 in un-normalized variables
    ode ξ   the kernel "diagonal_ode_xi": q̇ and ξ̇ of (q, ξ), what an integrator calls
    ABA     the kernel "forward_dynamics": v̇ of (q, v, τ)
    CRBA    the kernels "mass_matrix" and "bias", a dense Cholesky factorization and solve

The metric, on chains whose end is held at a point (three rows) and on ladders (two rows a loop):

    innovations   the kernel "whitened": Ã = A ℓᵀ by O(N) recursion, row by row
    LᵀDL          the same rows from M by sparse elimination, unrolled, as `recursions.elimination` has it
    Cholesky      the kernels "mass_matrix" and "constraints", a dense factor and triangular solves

Operations are instructions of straight-line code after common subexpressions have been merged.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

import dalembert as da
from benchmarks import models
from benchmarks.description import Model
from benchmarks.timing import Table, interleaved, native, python_loop, room
from dalembert import zoo
from dalembert.compiler import Kernel
from dalembert.compiler.call import call_kernel
from dalembert.linalg import cholesky, solve_cholesky, whiten_rows
from dalembert.recursions import elimination
from dalembert.recursions.composite_body import composite_body
from dalembert.recursions.newton_euler import newton_euler
from dalembert.symbols import sqrt
from dalembert.system.functions import trace

TOLERANCE = 1e-9
PLOT = Path(__file__).with_name("diagonal.png")
SIZES = (7, 14, 28, 50, 100, 200)
UNROLLED = 50  # links: beyond, the elimination of M is too long to compile


@native
def _call(count, address, x, y, w):
    for _ in range(count):
        call_kernel(address, x, y, w)


@native
def _dense_dynamics(count, a1, x1, M, w1, a2, x2, h, w2, tau, upper, out):
    for _ in range(count):
        call_kernel(a1, x1, M.reshape(-1), w1)
        call_kernel(a2, x2, h, w2)
        for i in range(len(tau)):
            out[i] = tau[i] - h[i]
        cholesky(M, upper)
        solve_cholesky(upper, out)


@native
def _dense_white(count, a1, x1, M, w1, a2, x2, y2, w2, A, upper, white, S, product):
    m, n = A.shape
    for _ in range(count):
        call_kernel(a1, x1, M.reshape(-1), w1)
        call_kernel(a2, x2, y2, w2)
        cholesky(M, upper)
        whiten_rows(A, upper, white)
        if product:
            for i in range(m):
                for j in range(i + 1):
                    s = 0.0
                    for k in range(n):
                        s += white[i, k] * white[j, k]
                    S[i, j] = S[j, i] = s


class Called:
    """A kernel with room for its arguments, in a compiled loop."""

    def __init__(self, kernel: Kernel, **given: np.ndarray):
        self.kernel = kernel
        self.x, self.y, self.w = (room(size) for size in (kernel.x_size, kernel.y_size, kernel.work_size))
        known = [np.ravel(given[name]) for name in kernel.names_in]
        self.x[: kernel.x_size] = np.concatenate([np.zeros(0), *known])

    def __call__(self, count: int) -> None:
        _call(count, self.kernel.address, self.x, self.y, self.w)


def dynamics(model: Model, rounds: int) -> dict[str, float]:
    """Operations and seconds of the four routes and of Pinocchio's ABA, and the largest difference of the answers."""
    system = model.mechanism().compile()
    n = system.nv
    q, v, tau = (x[0] for x in models.random_state(model, 1))
    x, d = system.state(q, v), system.diagonal
    given = {"q": q, "v": v, "tau": tau}
    names = {"8.1": "diagonal_dynamics_xi", "ABA": "forward_dynamics"}
    routes = {key: Called(system.kernel(name), **given) for key, name in names.items()}
    xi = d.total_rates(x, normalized=False)
    routes["ode ξ"] = Called(system.kernel("diagonal_ode_xi"), q=q, v=xi)
    mass, bias = Called(system.kernel("mass_matrix"), q=q), Called(system.kernel("bias"), q=q, v=v)
    M, upper, out = mass.y.reshape(n, n), np.zeros((n, n)), np.zeros(n)
    ma, ba = mass.kernel.address, bias.kernel.address
    peer = model.pinocchio()
    data = peer.createData()
    theirs = [model.to_pinocchio_q(q), model.to_pinocchio_v(v), model.to_pinocchio_v(tau)]
    loops = {
        **routes,
        "CRBA": lambda k: _dense_dynamics(k, ma, mass.x, M, mass.w, ba, bias.x, bias.y, bias.w, tau, upper, out),
        "Pinocchio": python_loop("f(m, d, q, v, t)", f=pin.aba, m=peer, d=data, **dict(zip("qvt", theirs))),
    }
    time = interleaved(loops, rounds)
    operations = {f"{key} operations": route.kernel.instructions for key, route in routes.items()}
    cost = n**3 / 3 + 2 * n**2  # products and sums of a Cholesky factorization and two solves
    operations["CRBA operations"] = int(mass.kernel.instructions + bias.kernel.instructions + cost)
    vdot = model.to_pinocchio_v(np.array(pin.aba(peer, data, *theirs)))
    scale = np.abs(vdot).max()
    errors = [np.abs(y - vdot).max() / scale for y in (routes["ABA"].y, out)]
    for y, a in ((routes["8.1"].y, vdot), (routes["ode ξ"].y[system.nq : system.nq + n], system.forward_dynamics(x))):
        total = system.function("total_rates_xi")  # ξ(q, v), differentiated along (q̇, v̇) by AD: what ξ̇ must be
        rate = np.array(total.forward(1)(q, v, total(q, v), system.rates(x), a)).ravel()
        errors.append(np.abs(y - rate).max() / np.abs(rate).max())
    time["difference"] = float(max(errors))
    assert time["difference"] < TOLERANCE, (model.name, time["difference"])
    return {**time, **operations}


def closed_chain(n: int) -> tuple[da.System, np.ndarray]:
    """A chain of rods of 1 m about y and x in turn, its end held at a point."""
    m = zoo.chain(n, axes=("y", "x"), bobs=False)
    m.close_loop("end", da.Spherical(), m.frames["tip"], m.ground.at(0.3 * n, 0, -0.4 * n))
    return m.compile(), np.random.default_rng(n).uniform(-1, 1, n)


def ladder(n: int) -> tuple[da.System, np.ndarray]:
    """A ladder of n loops."""
    system = zoo.ladder(n).compile()
    return system, system.state(zoo.ladder_start(n, angle=1.0)[0]).q


def _rows_by_elimination(s):
    factor = elimination.TreeFactor(composite_body(s.at))
    roots = np.array([sqrt(x) for x in factor.inverse], dtype=object)
    return np.array([factor.lower_transposed(row) * roots for row in s.rows.A], dtype=object)


def metric(system: da.System, q: np.ndarray, rounds: int) -> dict[str, float]:
    """The three routes to Ã, and two to A M⁻¹ Aᵀ."""
    n, m = system.nv, len(system.rows.of)
    white, product = Called(system.kernel("whitened"), q=q), Called(system.kernel("delassus"), q=q)
    mass, rows = Called(system.kernel("mass_matrix"), q=q), Called(system.kernel("constraints"), q=q)
    A = rows.y[m : m + m * n].reshape(m, n)
    M, upper, dense, S = mass.y.reshape(n, n), np.zeros((n, n)), np.zeros((m, n)), np.zeros((m, m))
    common = (mass.kernel.address, mass.x, M, mass.w, rows.kernel.address, rows.x, rows.y, rows.w, A, upper, dense, S)
    loops = {
        "innovations": white,
        "Cholesky": lambda k: _dense_white(k, *common, False),
        "A M⁻¹ Aᵀ": product,
        "dense A M⁻¹ Aᵀ": lambda k: _dense_white(k, *common, True),
    }
    deepest = max(len(system.layout.tree.path(i)) for i in range(len(system.layout.tree)))
    if deepest <= UNROLLED:
        f, shapes = trace(system.description, "rows", ("q",), _rows_by_elimination)
        loops["LᵀDL"] = Called(Kernel(f, shapes=shapes), q=q)
    time = interleaved(loops, rounds)
    for name in ("innovations", "LᵀDL"):
        if name in loops:
            time[f"{name} operations"] = loops[name].kernel.instructions
    time["Cholesky operations"] = int(mass.kernel.instructions + rows.kernel.instructions + n**3 / 3 + m * n**2)
    W = white.y.reshape(m, n)
    errors = [W @ W.T - S, product.y.reshape(m, m) - S]
    if "LᵀDL" in loops:
        errors.append(loops["LᵀDL"].y.reshape(m, n) - W)  # the same factor
    time["difference"] = max(float(np.abs(e).max()) for e in errors) / float(np.abs(S).max())
    assert time["difference"] < TOLERANCE, (system.name, time["difference"])
    return time


def crossover(axes: tuple[str, ...]) -> tuple[int, int]:
    """First chain length from which innovations take fewer operations: for Ã, and for a whole acceleration."""

    def count(system, name, value, arguments=("q", "v", "tau")):
        return Kernel(trace(system.description, name, arguments, value)[0]).instructions

    def whole(s, factor):
        f = s.tau - newton_euler(s.at, 0.0 * s.tau, s.d.gravity, {})
        return elimination.eliminate(factor, f, s.rows.A, s.rows.gamma)

    found: list[int] = []
    for kind in ("rows", "accelerate"):
        for n in range(3, 25):
            m = zoo.chain(n, axes=axes, bobs=False)
            m.close_loop("end", da.Spherical(), m.frames["tip"], m.ground.at(0.3 * n, 0, -0.4 * n))
            system = m.compile(backend="casadi")
            if kind == "rows":
                ours = count(system, "whitened", lambda s: _whitened(s))
                theirs = count(system, "whitened", _rows_by_elimination)
            else:
                ours = count(system, kind, lambda s: whole(s, elimination.Innovations(s.at)))
                theirs = count(system, kind, lambda s: whole(s, elimination.TreeFactor(composite_body(s.at))))
            if ours < theirs:
                found.append(n)
                break
    return found[0], found[1]


def _whitened(s):
    factor = elimination.Innovations(s.at)
    return np.array([factor.ell(row) for row in s.rows.A], dtype=object)


def plot(results: dict[Any, dict[str, float]]) -> None:
    """Operations and time of forward dynamics over the number of links, both axes logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    sizes = sorted(n for n in results if isinstance(n, int))
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    marks = {"8.1": "o-", "ode ξ": "v-", "ABA": "s-", "CRBA": "^-"}
    names = {"8.1": "algorithm 8.1", "ode ξ": "right-hand side in (q, ξ)", "ABA": "ABA", "CRBA": "CRBA + Cholesky"}
    for panel, unit, title in ((axes[0], " operations", "operations"), (axes[1], "", "µs, native")):
        for key, style in marks.items():
            scale = 1.0 if unit else 1e6
            panel.loglog(sizes, [scale * results[n][key + unit] for n in sizes], style, label=names[key], ms=4, lw=1.2)
        first = results[sizes[0]]["ABA" + unit] * (1.0 if unit else 1e6)
        panel.loglog(sizes, [0.6 * first * n / sizes[0] for n in sizes], "k:", lw=1, label="∝ N")
        panel.set(xlabel="joints N", title=title)
        panel.set_xticks(sizes, [str(n) for n in sizes])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(PLOT, dpi=120)
    plt.close(figure)


def run(quick: bool = False) -> list[Table]:
    """The tables of this part; draws `benchmarks/diagonal.png` where matplotlib is there."""
    rounds, sizes = (20, SIZES[:4]) if quick else (300, SIZES)
    columns = ["chain of", "8.1", "ode ξ", "ABA", "CRBA", "Pinocchio ABA", "operations: 8.1", "ode ξ", "ABA", "CRBA",
               "8.1/ABA: operations", "time", "difference"]  # fmt: skip
    forward = Table("Diagonal equations: forward dynamics (µs)", columns)
    results = {}
    for key, model in [(n, models.chain(n)) for n in sizes] + [("humanoid, 36 DoF", models.humanoid())]:
        t = results[key] = dynamics(model, rounds)
        keys = ("8.1", "ode ξ", "ABA", "CRBA")
        work = [t[f"{k} operations"] for k in keys]
        micro = [1e6 * t[k] for k in (*keys, "Pinocchio")]
        forward.add(key, *micro, *work, work[0] / work[2], t["8.1"] / t["ABA"], t["difference"])
    last, before = (results[n]["8.1 operations"] / n for n in (sizes[-1], sizes[-2]))
    forward.notes.append(f"- operations per link of 8.1 at N = {sizes[-2]} and {sizes[-1]}: {before:.1f}, {last:.1f}")
    columns = ["µs for Ã (all rows)", "rows", "innovations", "LᵀDL", "Cholesky", "operations: innovations", "LᵀDL",
               "Cholesky", "A M⁻¹ Aᵀ: innovations", "Cholesky", "difference"]  # fmt: skip
    table = Table("Diagonal equations: constraints in the mass metric", columns)
    cases = [(f"chain of {n}", *closed_chain(n)) for n in sizes]
    cases += [(f"ladder of {n}", *ladder(n)) for n in ((1, 10) if quick else (1, 10, 40))]
    for name, system, q in cases:
        t = metric(system, q, rounds)
        keys = ("innovations", "LᵀDL", "Cholesky")
        micro = [1e6 * t[k] if k in t else None for k in keys]
        work = [t.get(f"{k} operations") for k in keys]
        products = [1e6 * t[k] for k in ("A M⁻¹ Aᵀ", "dense A M⁻¹ Aᵀ")]
        table.add(name, len(system.rows.of), *micro, *work, *products, t["difference"])
    for axes, what in ((("y",), "planar"), (("y", "x"), "spatial")):
        rows, whole = crossover(axes)
        table.notes.append(
            f"- {what} chains: innovations take fewer operations than LᵀDL from {rows} links on for Ã, "
            f"from {whole} on for a whole acceleration"
        )
    try:
        plot(results)
    except ModuleNotFoundError:
        forward.notes.append("- no plot: matplotlib is absent")
    return [forward, table]
