"""Derivatives of inverse dynamics, and linear models of closed mechanisms, beside Pinocchio, MuJoCo and SymPy.

Trees: `inverse_dynamics_derivatives` (∂τ/∂q, ∂τ/∂v, M) beside `computeRNEADerivatives`. Up to 40 joints it is one
kernel; beyond, a kernel of columns and a compiled loop over pairs.

Loops, natively: "minimal" is the kernel behind `da.linearize`, Â, B̂ in as many coordinates as there are degrees of
freedom, with v̇ and λ; "full" is the kernel "ode_jacobian", ∂v̇/∂q and ∂v̇/∂v in all coordinates. "ode" is one
evaluation of the right-hand side, and "differences" what central differences of it in full coordinates would take
(4 nv evaluations, without the projections they need besides). From Python: `da.linearize(system, state)`.

Peers: Pinocchio's `constraintDynamics` with `computeConstraintDynamicsDerivatives` (full coordinates; μ = 1e-8, two
iterations), MuJoCo's `mjd_transitionFD` (soft constraints, of the discrete step), SymPy's Lagrange equations with its
Linearizer, for P2. "error" is Â against our derivatives in full coordinates chained along the manifold, which in turn
the tests compare with automatic differentiation; "Pinocchio's" the same with its derivatives. (Off the manifold the
two fields differ, and so may their derivatives; along it they must not.)
"""

from __future__ import annotations

from time import perf_counter

import mujoco
import numpy as np
import pinocchio as pin

import dalembert as da
from benchmarks import models
from benchmarks.description import Model
from benchmarks.timing import Table, interleaved, native, python_loop, versus
from benchmarks.tree import native_loop
from dalembert.compiler.call import call_kernel
from dalembert.linearization.plan import linear_kernel
from dalembert.native import library
from dalembert.native.calls import jump

TOLERANCE = 1e-9


@native
def _long(count, address, x, y, w, tree_pairs, tree):
    for _ in range(count):
        call_kernel(address, x, y, w)
        jump(tree_pairs, 0, 0, tree)


def _long_loop(system, q, v, a):
    """Kernel of columns and loop over pairs, natively."""
    k = system.kernel("long_chain_columns")
    x, y, w = np.concatenate([q, v, a]), np.zeros(k.y_size), np.zeros(max(1, k.work_size))
    columns, start = [], 0
    for shape in k.shapes_out[:7]:
        size = int(np.prod(shape))
        columns.append(y[start : start + size].reshape(shape))
        start += size
    tree = system.kernels.pairs.around(*columns)
    return lambda count: _long(count, k.address, x, y, w, library.address("tree_pairs"), tree.pointer)


def trees(rounds: int) -> Table:
    """∂τ/∂q, ∂τ/∂v and M."""
    table = Table(
        "Derivatives of inverse dynamics: µs per evaluation",
        ["", "ours: native", "Python", "Pinocchio: Python", "its overhead", "native ratio", "net ratio", "difference"],
    )
    net = {}
    for model in (models.arm(), models.chain(7), models.humanoid(), models.chain(50), models.chain(200)):
        system = model.mechanism().compile()
        (q,), (v,), (a,) = models.random_state(model, 1)
        x, peer, empty = system.state(q, v), model.pinocchio(), pin.Model()
        found = system.inverse_dynamics_derivatives(x, a)
        given = model.to_pinocchio_q(q), model.to_pinocchio_v(v), model.to_pinocchio_v(a)
        data, nothing = peer.createData(), empty.createData()
        order = model.to_pinocchio_v(np.arange(system.nv)).astype(int)
        expected = pin.computeRNEADerivatives(peer, data, *given)
        difference = max(
            float(np.abs(mine[np.ix_(order, order)] - theirs).max() / np.abs(theirs).max())
            for mine, theirs in zip(found[:2], expected[:2])
        )
        assert difference < TOLERANCE, (model.name, difference)
        if system.nv <= 40:
            loop = native_loop(system.kernel("inverse_dynamics_derivatives"), [q[None], v[None], a[None]])[0]
        else:
            loop = _long_loop(system, q, v, a)
        call = {"f": pin.computeRNEADerivatives, "z": np.zeros(0)}
        time = interleaved(
            {
                "native": loop,
                "Python": python_loop("f(x, a)", f=system.inverse_dynamics_derivatives, x=x, a=a),
                "peer": python_loop("f(m, d, q, v, a)", m=peer, d=data, **dict(zip("qva", given)), **call),
                "overhead": python_loop("f(m, d, z, z, z)", m=empty, d=nothing, **call),
            },
            rounds,
        )
        net[model.name] = (time["peer"] - time["overhead"]) / time["native"]
        micro = [1e6 * time[k] for k in ("native", "Python", "peer", "overhead")]
        table.add(model.name, *micro, time["peer"] / time["native"], net[model.name], difference)
    table.notes += [
        f"- native against Pinocchio less its overhead, N = 7: {versus(net['chain, 7 joints'], 3.0)}",
        f"- the same, N = 200: {versus(net['chain, 200 joints'], 1.0)}",
    ]
    return table


class Problem:
    """A closed mechanism, its kernels and its peers."""

    def __init__(self, model: Model):
        self.model, self.system = model, model.mechanism().compile()
        self.q, self.v = models.consistent_state(model, self.system)
        self.state = self.system.state(self.q, self.v)
        start = perf_counter()
        self.linear = da.linearize(self.system, self.state)
        self.first = perf_counter() - start
        self.names = list(self.linear.velocities)
        op = self.linear.operating
        self.keep = op.rows
        self.kernel = linear_kernel(self.system, op.speeds, op.coordinates[len(op.speeds) :], op.rows)
        self.full = da.linearize_full(self.system, self.state)
        columns = np.block([[op.Kq, np.zeros_like(op.Kv)], [op.Dv, op.Kv]])
        rows = [*(c.index for c in op.coordinates), *(self.system.nv + c.index for c in op.speeds)]
        self.columns, self.rows = columns, rows
        expected = (self.full.Df @ columns)[rows]
        self.error = float(np.abs(self.linear.A - expected).max() / np.abs(expected).max())
        assert self.error < TOLERANCE, (model.name, self.error)

    def routes(self) -> dict:
        """Ours."""
        given = [self.q[None], self.v[None]]
        small = {"f": da.linearize, "s": self.system, "x": self.state, "n": self.names}
        return {
            "minimal": native_loop(self.kernel, given)[0],
            "full": native_loop(self.system.kernel("ode_jacobian", rows=self.keep), given)[0],
            "ode": native_loop(self.system.kernel("ode", rows=self.keep), given)[0],
            "Python": python_loop("f(s, x, independent=n)", **small),
            "Python, kernel": python_loop("f(q, v)", f=self.kernel, q=self.q, v=self.v),
        }

    def pinocchio(self):
        """A loop of its dynamics and derivatives, and how far Â made of them is off."""
        peer = self.model.pinocchio()
        data, closures = peer.createData(), self.model.pinocchio_closures(peer)
        datas = pin.StdVec_RigidConstraintData()
        for c in closures:
            datas.append(c.createData())
        pin.initConstraintDynamics(peer, data, closures, datas)
        settings, tau = pin.ProximalSettings(1e-12, 1e-8, 2), np.zeros(peer.nv)

        def loop(count):
            for _ in range(count):
                pin.constraintDynamics(peer, data, self.q, self.v, tau, closures, datas, settings)
                pin.computeConstraintDynamicsDerivatives(peer, data, closures, datas, settings)

        loop(1)
        n = peer.nv
        field = np.block([[np.zeros((n, n)), np.eye(n)], [data.ddq_dq, data.ddq_dv]])
        theirs = (field @ self.columns)[self.rows]
        return loop, float(np.abs(theirs - self.linear.A).max() / np.abs(self.linear.A).max())

    def mujoco(self):
        """A loop of its transition matrices by centred differences."""
        model = mujoco.MjModel.from_xml_string(self.model.mujoco_xml())
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER  # it differentiates no other explicit one
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = self.q, self.v
        n = model.nv
        A = np.zeros((2 * n, 2 * n))
        return lambda count: [
            mujoco.mjd_transitionFD(model, data, 1e-6, True, A, None, None, None) for _ in range(count)
        ]


def loops(rounds: int) -> tuple[Table, Table]:
    """Linear models."""
    table = Table(
        "Linear models of closed mechanisms: µs per evaluation",
        ["problem", "dof of nv", "minimal", "full", "ode", "Python", "Python, kernel", "Pinocchio", "MuJoCo, FD",
         "differences of ode", "Pinocchio / minimal", "minimal / ode", "error", "Pinocchio's"],
    )  # fmt: skip
    size = Table("Their kernels", ["problem", "operations: minimal", "full", "ode", "first call, s"])
    found = {}
    for model in (models.five_bar(), models.four_bar(), models.two_arms(), models.ladder(1), models.ladder(10)):
        problem = Problem(model)
        theirs, off = problem.pinocchio()
        time = interleaved({**problem.routes(), "Pinocchio": theirs, "MuJoCo": problem.mujoco()}, rounds)
        nv, dof = problem.system.nv, len(problem.names)
        differences = 4 * nv * time["ode"]
        ratio, price = time["Pinocchio"] / time["minimal"], time["minimal"] / time["ode"]
        found[model.name] = ratio, price, differences / time["minimal"]
        names = ("minimal", "full", "ode", "Python", "Python, kernel", "Pinocchio", "MuJoCo")
        micro = [1e6 * time[k] for k in names]
        table.add(model.name, f"{dof} of {nv}", *micro, 1e6 * differences, ratio, price, problem.error, off)
        kernels = [problem.kernel, problem.system.kernel("ode_jacobian", rows=problem.keep)]
        counts = [k.instructions for k in (*kernels, problem.system.kernel("ode", rows=problem.keep))]
        size.add(model.name, *counts, problem.first)
    for name in ("P1 five-bar", "P2 four-bar", "P3 two arms"):
        table.notes.append(f"- {name}, Pinocchio's full coordinates / our minimal: {versus(found[name][0], 4.0)}")
    for name in ("P1 five-bar", "P2 four-bar"):
        table.notes.append(f"- {name}, price in right-hand sides: {versus(found[name][1], 6.0, at_most=True)}")
    least = min(x[2] for x in found.values())
    table.notes.append(f"- differences / minimal, least: {versus(least, 1.0)}")
    return table, size


def symbolic() -> Table:
    """P2 in SymPy: Lagrange's equations with its Linearizer."""
    import sympy as sp
    from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols

    start = perf_counter()
    q = dynamicsymbols("q0:3")
    rates = [x.diff() for x in q]
    lengths, masses, ground = (0.5, 1.5, 1.2), (1.0, 3.0, 2.4), 1.5
    tip = lengths[0] * sp.Matrix([sp.cos(q[0]), sp.sin(q[0])])
    along = sp.Matrix([sp.cos(q[0] + q[1]), sp.sin(q[0] + q[1])])
    last = sp.Matrix([sp.cos(q[2]), sp.sin(q[2])])
    base = sp.Matrix([ground, 0])
    parts = [(tip / 2, q[0]), (tip + lengths[1] / 2 * along, q[0] + q[1]), (base + lengths[2] / 2 * last, q[2])]
    t = dynamicsymbols._t
    L = 0
    for m, length, (c, angle) in zip(masses, lengths, parts):
        speed = c.diff(t)
        L += m * speed.dot(speed) / 2 + m * length**2 / 12 * angle.diff(t) ** 2 / 2 - m * 9.81 * c[1]
    closure = list(tip + lengths[1] * along - base - lengths[2] * last)
    method = LagrangesMethod(L, q, hol_coneqs=closure)
    method.form_lagranges_equations()
    problem = Problem(models.four_bar())
    op = dict(zip(q, problem.q)) | dict(zip(rates, problem.v))
    op |= dict(zip([x.diff() for x in rates], problem.full.vdot))
    A = np.array(sp.Matrix(closure).jacobian(q).subs(op), dtype=float)  # its rows are in the ground's axes
    force = problem.system.acceleration(problem.state).force
    op |= dict(zip(method.lam_vec, -np.linalg.lstsq(A.T, force, rcond=None)[0]))
    lead = problem.names[0]
    k = problem.system.v_names.index(lead)
    rest = [i for i in range(3) if i != k]
    formed = perf_counter() - start
    start = perf_counter()
    A, _, _ = method.linearize(
        q_ind=[q[k]], qd_ind=[rates[k]], q_dep=[q[i] for i in rest], qd_dep=[rates[i] for i in rest],
        op_point=op, A_and_B=True,
    )  # fmt: skip
    spent = perf_counter() - start
    theirs = np.array(sp.N(A), dtype=float)
    difference = float(np.abs(theirs - problem.linear.A).max() / np.abs(problem.linear.A).max())
    assert difference < TOLERANCE, difference
    table = Table("P2 in SymPy", ["", "forming, s", "linearizing at a state, s", "difference of Â"])
    table.add("LagrangesMethod.linearize", formed, spent, difference)
    return table


def run(quick: bool = False) -> list[Table]:
    """The tables of this part."""
    rounds = 20 if quick else 100
    return [trees(rounds), *loops(rounds), symbolic()]
