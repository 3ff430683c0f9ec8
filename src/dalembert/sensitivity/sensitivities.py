"""`sensitivities`: exact derivatives with respect to parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert import checks
from dalembert.analysis.mobility import independent_rows
from dalembert.errors import ArgumentError
from dalembert.linearization.linearize import check_closed, singular
from dalembert.linearization.model import LinearModel
from dalembert.linearization.plan import remembered
from dalembert.protocols import Inputs, Parameters
from dalembert.rank import rank_policy
from dalembert.sensitivity.equations import SensitivityEquations
from dalembert.sensitivity.following import following, held_names
from dalembert.sensitivity.models import of_model
from dalembert.sensitivity.phases import of_phases
from dalembert.sensitivity.quantities import check_determinate, quantities, values
from dalembert.sensitivity.result import Sensitivities
from dalembert.sensitivity.runs import METHODS, of_run, states_known
from dalembert.sensitivity.targets import Targets
from dalembert.simulation.results.run import Run
from dalembert.system.inertia import check_mass
from dalembert.system.system import System


def sensitivities(
    subject: System | Run | LinearModel,
    state: Any = None,
    *,
    of: Any,
    wrt: Any,
    held: Any = None,
    u: Inputs = None,
    p: Parameters = None,
    at: Any = None,
    method: str = "auto",
) -> Sensitivities:
    """Exact derivatives of quantities with respect to declared parameters: of a state, a linear model or a whole run.

    subject: a `System` with a `state` (or a list of states), a `LinearModel`, or a `Run`.

    of: quantities by name, (name, function of the state) pairs, or {name: quantity}: "A", "rate:A", "acceleration:A",
    "position:tip" (three) or "position:tip@x", "velocity:tip@x", "multiplier:C.x", "reaction:A" (six) or
    "reaction:A@fx", "energy", "kinetic_energy", "potential_energy". Of a run at its end, or at the times `at` (s);
    `da.Integral(quantity)` over the run; "time", when an event ended it. Of a linear model: "eigenvalue:k",
    "frequency:k" (Hz), "damping:k", "mode:k" of `model.modes`.

    wrt: parameters by name; also "input:push", a constant input, and "held:A" and "held:rate:A", what is held.

    held: coordinates that keep their values and rates as parameters change; the others follow from the loops. Of a run
    at its start. "equilibrium": the mechanism stays at rest. May be left out where the loops do not depend on `wrt`.

    u, p: inputs and parameters of a state. method: of runs, "forward" (one integration for each of `wrt`), "adjoint"
    (backward, one for each of `of`) or "auto", the shorter one.

    Runs may change their structure: the times of impacts, switches and rests move with the parameters (forward).

    Raises ArgumentError where there is no derivative: in singular positions, of runs that meet one, of repeated
    eigenvalues, of forces that redundant constraints share, of impacts with friction.

    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", gravity=(0, -10.0, 0))
    >>> L = m.add_parameter("L", 2.0)
    >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(L, 0, 0)))
    >>> system = m.compile()
    >>> s = da.sensitivities(system, {"A": 0.0}, of=["acceleration:A"], wrt=["L"])      # −g/L
    >>> s["acceleration:A"], s.d("acceleration:A", "L")
    (-5.0, 2.5)
    """
    checks.choice(method, METHODS, "method")
    if isinstance(subject, Run):
        _without("a run", state=state, u=u, p=p)
        make = of_phases if subject.phases else of_run
        return make(subject, of, wrt, held, at, method)
    _without("a state or a linear model", at=at, method=None if method == "auto" else method)
    if isinstance(subject, LinearModel):
        _without("a linear model", state=state, u=u, p=p)
        return of_model(subject, of, wrt, held)
    if not isinstance(subject, System):
        raise ArgumentError(f"subject is {checks.shown(subject)}; needed: a System, a LinearModel or a Run.")
    several = isinstance(state, (list, tuple)) and len(state) > 0 and not checks.is_real(state[0])
    given = [subject.arguments.resolve(x, u, p) for x in (state if several else [{} if state is None else state])]
    own = {
        (subject.arguments.input_vector(y).tobytes(), subject.arguments.parameter_vector(z).tobytes())
        for _, y, z in given
    }
    parts = [given] if len(own) == 1 else [[one] for one in given]
    found = [of_states(subject, [x for x, _, _ in part], of, wrt, held, *part[0][1:]) for part in parts]
    value, jacobian = (np.concatenate(x) for x in zip(*found))
    names = tuple(y.name for y in quantities(subject, of))
    if not several:
        value, jacobian = value[0], jacobian[0]
    return Sensitivities(names, Targets.of(subject, wrt).names, value, jacobian)


def _without(what: str, **given: Any) -> None:
    """Refuse arguments that the subject does not have."""
    for name, x in given.items():
        if x is not None:
            raise ArgumentError(f"{name} is given, but {what} has its own; leave it out.")


def of_states(
    system: System, states: list[Any], of: Any, wrt: Any, held: Any, u: Inputs, p: Parameters
) -> tuple[np.ndarray, np.ndarray]:
    """Values (N, k) and derivatives (N, k, m) at states on the manifold."""
    targets, asked = Targets.of(system, wrt), quantities(system, of)
    if any(y.integral or y.kind == "time" for y in asked):
        raise ArgumentError("integrals and the end time are quantities of a run; a state has none.")
    vector, inputs, policy = (
        system.arguments.parameter_vector(p),
        system.arguments.input_vector(u),
        rank_policy(system, p),
    )
    rows = independent_rows(system, states[0], p) if system.rows.of else None
    for x in states:
        check_mass(system, x, p)
        check_closed(system, x, p, {"q": x.q, "v": x.v, "p": vector, "t": x.t}, remembered(system), policy)
        check_determinate(system, x, u, p, asked)
    eq = SensitivityEquations(system, rows, targets)
    q, v, t = states_known(states)
    known = eq.known(q, v, t, np.tile(inputs, (len(q), 1)), vector)
    if eq.m:
        for x, margin in zip(states, eq.slopes(known)["margin"]):
            if not policy.separates(margin):
                raise singular(system, x, p)
    dq, dv = following(eq, states, known, held_names(system, held))
    y = values(eq, asked, known)
    return y.value, y.q @ dq + y.v @ dv + y.theta
