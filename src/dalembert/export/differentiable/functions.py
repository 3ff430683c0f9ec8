"""The functions of a mechanism that have derivatives here: straight-line ones, and steps with projection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.compiler import Kernel
from dalembert.export.differentiable.derived import Value, derived_kernel
from dalembert.export.differentiable.function import DifferentiableFunction
from dalembert.export.differentiable.program import LaneProgram, digest, kernel_cost
from dalembert.integrators.rollout_plan import RolloutPlan, lay_out
from dalembert.mechanism.body import Frame
from dalembert.native import library
from dalembert.native.struct import Int
from dalembert.rank import RankPolicy
from dalembert.recursions.newton_euler import newton_euler
from dalembert.ruler import Ruler
from dalembert.simulation.stabilization import Projection
from dalembert.simulation.state_units import gap_unit
from dalembert.symbols import array, minimum, where_less, zeros
from dalembert.system.functions import forces
from dalembert.system.rows import RowChoice
from dalembert.system.stepping import correct, filter_, ode
from dalembert.system.system import System
from dalembert.system.trace import Trace

SEARCH = 50  # Newton steps of a projection from afar; each is of full length


@dataclass(frozen=True, eq=False)
class StepRules:
    """What decides in steps of a system: rows of the elimination, margins, tolerances."""

    rows: RowChoice
    policy: RankPolicy
    p: np.ndarray

    @property
    def shortest(self) -> float:
        """Usual length of the shortest row."""
        return float(self.policy.sizes.min(initial=self.policy.size))


def straight(
    system: System, key: tuple[Any, ...], value: Value, names: Sequence[str], rows: RowChoice
) -> DifferentiableFunction:
    """A function of straight-line code, of arguments by their names and the time."""
    sizes = {"q": system.nq, "v": system.nv, "a": system.nv, "dq": system.nv, "q1": system.nq}
    sizes |= {"u": len(system.u_names), "p": len(system.p_names)}
    nx = sum(sizes[name] for name in names)

    def made(parts: int, adjoint: bool, lanes: int) -> Kernel:
        return derived_kernel(system, key, value, [names], ["t"], parts=parts, adjoint=adjoint, lanes=lanes, rows=rows)

    ny = sum(made(1, False, 1).sizes_out)

    def program(parts: int, adjoint: bool, lanes: int) -> LaneProgram:
        return LaneProgram.of(made(parts, adjoint, lanes), *found.sizes(parts, adjoint))

    found = DifferentiableFunction(key[0], nx, 1, ny, False, program)
    return found


def acceleration(rules: StepRules) -> Value:
    """v̇; NaN where the elimination cannot be trusted."""

    def value(s: Trace) -> tuple[Any, Any]:
        vdot, _, (angle, length) = s.led.solve(forces(s), s.rows.sparse, s.rows.gamma)
        if not s.rows.of:
            return vdot, zeros(0)
        trusted = minimum(angle - rules.policy.near**2, length - (rules.policy.near * rules.shortest) ** 2)
        unknown = where_less(-trusted, 0.0, lambda: 0.0, lambda: np.nan)
        return vdot + unknown, zeros(0)

    return value


def inverse_dynamics(s: Trace) -> tuple[Any, Any]:
    """τ with M a + h = τ + Q, constraints left out."""
    return newton_euler(s.at, s.a, s.d.gravity, s.load.wrenches) - s.load.tau, zeros(0)


def pose_of(frame: Frame) -> Value:
    """The pose of a frame, (4, 4), row by row."""
    return lambda s: (array(s.state.pose(frame).matrix()).reshape(-1), zeros(0))


def moved(s: Trace) -> tuple[Any, Any]:
    """q ⊕ δ."""
    return s.per_joint(lambda j, q, v: j.plus(s.q[q], s.dq[v])), zeros(0)


def difference(s: Trace) -> tuple[Any, Any]:
    """q₁ ⊖ q."""
    return s.per_joint(lambda j, q, v: j.minus(s.q1[q], s.q[q])), zeros(0)


# --- steps ----------------------------------------------------------------------------------------------------------


def _ode(s: Trace) -> tuple[Any, Any]:
    moving, vdot, _, _, margin = ode(s)
    return np.concatenate([moving, vdot]), margin


def _correct(s: Trace) -> tuple[Any, Any]:
    q, phi, margin = correct(s)
    return np.concatenate([q, s.v]), np.concatenate([phi, margin])


def _filter(s: Trace) -> tuple[Any, Any]:
    v, _, margin = filter_(s)
    return np.concatenate([s.q, v]), margin


_VALUES: dict[str, Value] = {"ode": _ode, "correct": _correct, "filter": _filter}


def rollout(system: System, rules: StepRules, steps: int, step: float) -> DifferentiableFunction:
    """(q, v, inputs of every step, p), t → (q, v) after every step of RK4 of length step with projection."""
    limit = Ruler.runaway * (float(rules.policy.units.max(initial=0.0)) or 1.0)
    kinds = ("ode", *_on_manifold(system))
    return _stepped("rollout", system, rules, kinds, steps, step, Projection().corrections, limit)


def projection(system: System, rules: StepRules) -> DifferentiableFunction:
    """(q, v, p), t → the nearest state on the constraints in the mass metric, by Newton's method."""
    limit = 1e-9 * gap_unit(system, rules.p)
    return _stepped("projection", system, rules, _on_manifold(system), 1, 0.0, SEARCH, limit)


def _on_manifold(system: System) -> tuple[str, ...]:
    corrected = bool(system.rows.holonomic.any()) or system.nq != system.nv
    return (*(["correct"] if corrected else []), *(["filter"] if system.rows.of else []))


def _stepped(
    name: str,
    system: System,
    rules: StepRules,
    kinds: Sequence[str],
    steps: int,
    h: float,
    corrections: int,
    limit: float,
) -> DifferentiableFunction:
    n, nu, count = system.nq + system.nv, len(system.u_names), len(system.p_names)
    on = system.rows.holonomic if rules.rows is None else system.rows.holonomic[list(rules.rows)]
    holonomic = int(on.sum()) if system.rows.of else 0
    bare = not system.rows.of  # no rows, no elimination to be trusted
    numbers = {
        "n": n, "nu": nu, "np": count, "steps": steps, "rows": holonomic, "corrections": corrections, "h": h,
        "tolerance": 1e-9 * gap_unit(system, rules.p), "limit": limit,
        "least_angle": -1.0 if bare else rules.policy.near**2,
        "least_length": -1.0 if bare else (rules.policy.near * rules.shortest) ** 2,
    }  # fmt: skip

    def make(parts: int, adjoint: bool, lanes: int) -> LaneProgram:
        def kernel(kind: str, transposed: bool) -> Kernel:
            return derived_kernel(
                system, (kind,), _VALUES[kind], (("q", "v"), ("u", "p")), ("t",),
                parts=parts, adjoint=transposed, lanes=lanes, rows=rules.rows,
            )  # fmt: skip

        used = {kind: kernel(kind, False) for kind in kinds}
        used |= {f"{kind}_adjoint": kernel(kind, True) for kind in kinds} if adjoint else {}
        addresses = {kind: k.address for kind, k in used.items()}
        plan = RolloutPlan(lanes=lanes, parts=parts, least=parts if adjoint else 1, **numbers, **addresses)
        sizes_in, sizes_out = found.sizes(parts, adjoint)
        outputs = max((k.y_size for k in used.values()), default=0) // lanes
        lay_out(plan, sum(sizes_out), outputs, max((k.work_size for k in used.values()), default=0))
        facts = [getattr(plan, f) for f, kind in plan.fields.items() if not (isinstance(kind, Int) and f in used)]
        entry = "rollout_adjoint" if adjoint else "rollout"
        often = {"ode": 4.0, "correct": 2.0}
        cost = steps * sum(often.get(kind.removesuffix("_adjoint"), 1.0) * kernel_cost(k) for kind, k in used.items())
        return LaneProgram(
            library.address(entry), lanes, sizes_in, sizes_out, plan.room, 0, plan.pointer, cost,
            digest(entry, library.source(entry), facts, [(kind, k.code_name) for kind, k in used.items()]),
            (plan, *used.values()),
        )  # fmt: skip

    found = DifferentiableFunction(name, n + steps * nu + count, 1, steps * n, True, make)
    return found
