"""First and second derivatives of accelerations, and derivatives of steps, beside Pinocchio, Crocoddyl and CasADi.

Accelerations of trees: ∂v̇/∂q and ∂v̇/∂v. Ours is the kernel "ode_jacobian" up to 24 joints and rows by reverse sweeps
beyond, natively; Pinocchio's `computeABADerivatives`; Crocoddyl's `calc` and `calcDiff` of free forward dynamics, no
costs, where it is installed; CasADi's virtual machine on the Jacobian that it makes of the articulated-body recursion.

Second derivatives: all ∂²v̇/∂(q, v)², and along one direction, called from Python; CasADi's of the same recursion, and
central differences of `computeABADerivatives`, which take 4 nv calls, with their error.

Steps: derivatives of one step by q, v and inputs; ours of the variational midpoint rule, natively, from Python, and in
a motion of 100 steps, by step; Crocoddyl's of a Runge-Kutta step of order 2 of the same chain, whose answer is another.
trep's figures are its published ones, taken on another machine: linearization of the five-bar 74 µs, of 20 links 25 ms.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
import pinocchio as pin

import dalembert as da
from benchmarks import models
from benchmarks.description import Model
from benchmarks.timing import Table, address_loop, interleaved, python_loop, versus
from benchmarks.tree import native_loop
from dalembert.linearization.discrete_motion import followed, slopes_along
from dalembert.simulation.large import make_large_slope
from dalembert.system.discrete_slopes import LARGE as STRAIGHT
from dalembert.system.equation_rows import is_large

try:
    import crocoddyl
except ModuleNotFoundError:
    crocoddyl = None

TOLERANCE = 1e-9
STEP = 0.002  # s
TREP = {"P1 five-bar": 74e-6, "chain, 20 joints": 25e-3}  # s, published


class Case:
    """A chain, a state, and its peers."""

    def __init__(self, model: Model):
        self.model, self.system = model, model.mechanism().compile()
        (self.q,), (self.v,), _ = models.random_state(model, 1)
        self.state, self.n = self.system.state(self.q, self.v), self.system.nv
        self.peer = model.pinocchio()
        self.data, self.tau = self.peer.createData(), np.zeros(self.n)

    def pinocchio(self) -> np.ndarray:
        """(n, 2 n) its derivatives."""
        pin.computeABADerivatives(self.peer, self.data, self.q, self.v, self.tau)
        return np.hstack([self.data.ddq_dq, self.data.ddq_dv])

    def native(self):
        """A loop of ours."""
        if not is_large(self.system):
            return native_loop(self.system.kernel("ode_jacobian"), [self.q[None], self.v[None]])[0]
        bound = make_large_slope(self.system, None, np.zeros(0))
        bound.at(0.0, np.concatenate([self.q, self.v]))
        self.bound = bound
        return address_loop(bound.address, bound.at_x, bound.at_y, bound.at_w)

    def casadi(self, order: int) -> ca.Function:
        """The derivative of an order of v̇ by CasADi."""
        f = self.system.function("forward_dynamics")
        q, v = ca.SX.sym("q", self.n), ca.SX.sym("v", self.n)
        given = {"q": q, "v": v, "tau": ca.SX.zeros(self.n)}
        x, y = ca.vertcat(q, v), f(*(given[name] for name in f.name_in()))
        for _ in range(order):
            y = ca.densify(ca.jacobian(ca.vec(y), x))
        return ca.Function("derivative", [q, v], [y])

    def crocoddyl(self):
        """Its model of free forward dynamics, fully actuated."""
        state = crocoddyl.StateMultibody(self.peer)
        actuation = crocoddyl.ActuationModelFull(state)
        return crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, crocoddyl.CostModelSum(state))


def _off(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def _croco_loop(model, x: np.ndarray, u: np.ndarray):
    data = model.createData()

    def loop(count):
        for _ in range(count):
            model.calc(data, x, u)
            model.calcDiff(data, x, u)

    loop(1)
    return loop, data


def _micro(time: dict[str, float], *names: str) -> list[float | None]:
    return [1e6 * time[name] if name in time else None for name in names]


def first(rounds: int) -> Table:
    """∂v̇/∂q and ∂v̇/∂v of trees."""
    table = Table(
        "Derivatives of accelerations of trees: µs per evaluation",
        ["", "ours: native", "linearize_full", "Pinocchio", "Crocoddyl", "CasADi", "best other / native", "difference"],
    )
    ratios = {}
    for model in (models.chain(7), models.chain(20), models.chain(50)):
        case = Case(model)
        full = da.linearize_full(case.system, case.state)
        found, theirs = np.hstack([full.vdot_q, full.vdot_v]), case.pinocchio()
        off = _off(found, theirs)
        routes = {
            "native": case.native(),
            "Python": python_loop("f(s, x)", f=da.linearize_full, s=case.system, x=case.state),
            "Pinocchio": python_loop(
                "f(m, d, q, v, t)",
                f=pin.computeABADerivatives,
                m=case.peer,
                d=case.data,
                q=case.q,
                v=case.v,
                t=case.tau,
            ),
        }
        if case.n <= 20:
            f = case.casadi(1)
            off = max(off, _off(found, np.array(f(case.q, case.v))))
            buffer, run = f.buffer()
            out, q, v = np.zeros(f.numel_out(0)), case.q.copy(), case.v.copy()
            buffer.set_arg(0, memoryview(q)), buffer.set_arg(1, memoryview(v)), buffer.set_res(0, memoryview(out))
            routes["CasADi"] = python_loop("f()", f=run)
        if crocoddyl is not None:
            loop, data = _croco_loop(case.crocoddyl(), np.concatenate([case.q, case.v]), case.tau)
            off = max(off, _off(found, np.array(data.Fx)))
            routes["Crocoddyl"] = loop
        assert off < TOLERANCE, (model.name, off)
        time = interleaved(routes, rounds)
        others = min(time[name] for name in ("Pinocchio", "Crocoddyl", "CasADi") if name in time)
        ratios[model.name] = others / time["native"]
        names = ("native", "Python", "Pinocchio", "Crocoddyl", "CasADi")
        table.add(model.name, *_micro(time, *names), ratios[model.name], off)
    table.notes += [
        f"- best other / ours, N = 7: {versus(ratios['chain, 7 joints'], 3.0)}",
        f"- the same, N = 50: {versus(ratios['chain, 50 joints'], 1.0)}",
    ]
    return table


def second(rounds: int) -> Table:
    """∂²v̇/∂(q, v)² of trees."""
    table = Table(
        "Second derivatives of accelerations: µs per call from Python",
        ["", "all", "along one direction", "weighted sum", "CasADi, all", "differences of Pinocchio, all",
         "best other / all", "difference, CasADi", "error of differences"],
    )  # fmt: skip
    for model in (models.chain(7), models.chain(20), models.chain(50)):
        case = Case(model)
        n, x = case.n, np.concatenate([case.q, case.v])
        found = da.second_derivatives(case.system, case.state)
        direction, weights = np.ones(2 * n), np.ones(n)

        def differences(case=case, n=n, x=x, d=1e-5):
            out = np.zeros((n, 2 * n, 2 * n))
            for k in range(2 * n):
                pair = []
                for sign in (1, -1):
                    y = x.copy()
                    y[k] += sign * d
                    pin.computeABADerivatives(case.peer, case.data, y[:n], y[n:], case.tau)
                    pair.append(np.hstack([case.data.ddq_dq, case.data.ddq_dv]))
                out[:, :, k] = (pair[0] - pair[1]) / (2 * d)
            return out

        f = da.second_derivatives
        routes = {
            "all": python_loop("f(s, x)", f=f, s=case.system, x=case.state),
            "along": python_loop("f(s, x, direction=d)", f=f, s=case.system, x=case.state, d=direction),
            "weights": python_loop("f(s, x, weights=w)", f=f, s=case.system, x=case.state, w=weights),
            "differences": python_loop("f()", f=differences),
        }
        off = None
        if n <= 7:
            H = case.casadi(2)
            off = _off(found, np.array(H(case.q, case.v)).reshape(2 * n, n, 2 * n).transpose(1, 0, 2))
            assert off < TOLERANCE, (model.name, off)
            routes["CasADi"] = python_loop("f(q, v)", f=H, q=case.q, v=case.v)
        rough = _off(differences(), found)
        assert rough < 1e-4, (model.name, rough)
        time = interleaved(routes, max(5, rounds // 10))
        best = min(time[name] for name in ("CasADi", "differences") if name in time)
        micro = _micro(time, "all", "along", "weights", "CasADi", "differences")
        table.add(model.name, *micro, best / time["all"], off, rough)
    return table


def steps(rounds: int) -> Table:
    """Derivatives of one step."""
    table = Table(
        "Derivatives of a step: µs per step",
        ["", "native kernel", "discrete_step", "in a motion of 100", "Hessian weighted, in a motion", "Crocoddyl, RK2",
         "Crocoddyl / in a motion", "difference"],
    )  # fmt: skip
    closed, ratios = models.five_bar(), {}
    for model in (models.chain(7), models.chain(20), models.chain(50), closed):
        system = model.mechanism().compile()
        if model is closed:
            q, v = models.consistent_state(model, system)
        else:
            (q,), (v,), _ = models.random_state(model, 1)
        start = system.state(q, v)
        none, p = system.arguments.input_vector(None), system.arguments.parameter_vector(None)
        taken = followed(system, [start], STEP, np.tile(none, (100, 1)), p)
        ((_, many),) = slopes_along(system, taken, p)
        step = da.discrete_step(system, start, STEP)
        off = _off(many.first[0], step.slopes.first[0])
        W = np.ones((100, many.rows.count))

        def along(system=system, taken=taken, p=p):
            return [part.first for _, part in slopes_along(system, taken, p)]

        routes = {
            "Python": python_loop("f(s, x, h).derivative('q')", f=da.discrete_step, s=system, x=start, h=STEP),
            "motion": python_loop("f()", f=along),
            "Hessian": python_loop("f(w)", f=many.weighted, w=W),
        }
        if system.nv <= STRAIGHT:
            lanes = many.rows.lanes
            kernel = system.kernels.compiled[("discrete_slopes",), many.rows.rows, lanes]
            known = [many.known[name][:lanes] for name in kernel.names_in]
            routes["native"] = native_loop(kernel, known)[0]
        if crocoddyl is not None and model is not closed:
            case = Case(model)
            one = crocoddyl.IntegratedActionModelRK(case.crocoddyl(), crocoddyl.RKType.two, STEP)
            routes["Crocoddyl"], data = _croco_loop(one, np.concatenate([case.q, case.v]), case.tau)
            D = np.vstack([step.derivative(name)[:, : 2 * case.n] for name in "qv"])
            off = max(off, _off(np.array(data.Fx), D))  # two rules of order 2: h³
        time = interleaved(routes, max(5, rounds // 5))
        for name in ("motion", "Hessian"):
            time[name] /= 100
        if "native" in time:
            time["native"] /= lanes
        ratio = ratios[model.name] = time["Crocoddyl"] / time["motion"] if "Crocoddyl" in time else None
        table.add(model.name, *_micro(time, "native", "Python", "motion", "Hessian", "Crocoddyl"), ratio, off)
    if crocoddyl is not None:
        table.notes += [
            f"- Crocoddyl / in a motion, N = 7: {versus(ratios['chain, 7 joints'], 3.0)}",
            f"- the same, N = 50: {versus(ratios['chain, 50 joints'], 1.0)}",
        ]
    return table


def trep(rounds: int) -> Table:
    """∂v̇/∂q and ∂v̇/∂v, called from Python, beside trep's published figures."""
    table = Table(
        "Beside trep's published figures: µs per call from Python",
        ["", "the kernel", "linearize_full", "trep", "trep / kernel", "trep / linearize_full"],
    )
    for model in (models.five_bar(), models.chain(20)):
        system = model.mechanism().compile()
        if model.closures:
            q, v = models.consistent_state(model, system)
        else:
            (q,), (v,), _ = models.random_state(model, 1)
        full = da.linearize_full(system, x := system.state(q, v))
        kernel = system.kernel("ode_jacobian", rows=full.chosen)
        by_q, by_v, _ = kernel(q, v)
        off = max(_off(by_q, full.vdot_q), _off(by_v, full.vdot_v))
        assert off < TOLERANCE, (model.name, off)
        time = interleaved(
            {
                "kernel": python_loop("f(q, v)", f=kernel, q=q, v=v),
                "full": python_loop("f(s, x)", f=da.linearize_full, s=system, x=x),
            },
            rounds,
        )
        published = TREP[model.name]
        ratios = [published / time[name] for name in ("kernel", "full")]
        table.add(model.name, *_micro(time, "kernel", "full"), 1e6 * published, *ratios)
        table.notes.append(f"- {model.name}, trep / kernel: {versus(ratios[0], 20.0)}")
    return table


def run(quick: bool = False) -> list[Table]:
    """The tables of this part."""
    rounds = 20 if quick else 100
    return [first(rounds), second(rounds), steps(rounds), trep(rounds)]
