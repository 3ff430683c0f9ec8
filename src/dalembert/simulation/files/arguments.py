"""What a run or a study was asked for, as texts that are equal in every process.

Functions written in CasADi are traced, and known by their formulas; anything else by all that it consists of
(`dalembert.facts`), and so by its code where it is a function.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import fields
from hashlib import sha256
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.facts import Facts, digest
from dalembert.mechanism.facts import described
from dalembert.mechanism.mechanism import Mechanism
from dalembert.simulation.callbacks import ARGUMENTS, expression, scalar_of, traced_inputs
from dalembert.simulation.files.fingerprint import description
from dalembert.simulation.files.resuming import resumable
from dalembert.simulation.setup import Setup, Span
from dalembert.simulation.stabilization import Baumgarte, Projection
from dalembert.system.functions import trace
from dalembert.system.system import System

#: fields of a setup that are told apart elsewhere: the system by its description, its parameters by their values
APART = ("system", "p")
IN_PYTHON = "in Python, "
PLAIN = (type(None), bool, int, float, str, Projection, Baumgarte)


def of_output(system: System, f: Any) -> str:
    """Fingerprint of an expression f(t, state) of one number."""
    return _formula(system, lambda s: np.array([scalar_of(s, f, "an output")]))


def of_controller(system: System, u: Any) -> str:
    """Fingerprint of a controller of any kind."""
    if isinstance(u, expression):
        return _formula(system, lambda s: traced_inputs(system, s, u.f))
    return of(system, u)


def of(system: System, x: Any) -> str:
    """Fingerprint of anything else that a run of a system uses; it says if there are functions in Python in it.

    Expressions in it are of one number, as those of events are.
    """

    def special(x: Any) -> Any:
        if isinstance(x, expression):
            return of_output(system, x.f)
        if isinstance(x, System):
            return of_system(x)
        return described(x) if isinstance(x, Mechanism) else x

    facts = Facts(special=special)
    facts.add(x, "")
    return f"{IN_PYTHON if facts.has_code else ''}{facts.digest()}"


def of_system(system: System) -> str:
    """Fingerprint of a mechanism, of the constraints that hold, and of its parameters."""
    return system.memo("fingerprint", lambda: digest([description(system), system.parameters]))


def of_setup(setup: Setup) -> dict[str, str]:
    """Every option of a run by its name, whatever else it starts from and wherever it ends."""
    options = {f.name.removesuffix("_name"): getattr(setup, f.name) for f in fields(setup) if f.name not in APART}
    controller, events = options.pop("controller"), options.pop("events")
    out = {name: _told(setup.system, resumable(x)) for name, x in options.items()}
    out["events"] = f"{list(events)}" + (f" ({of(setup.system, events)})" if events else "")
    return out | ({} if controller is None else {"u": f"a controller ({of_controller(setup.system, controller)})"})


def arguments_of_run(setup: Setup, span: Span) -> dict[str, str]:
    """Arguments that must be equal for a recorded run to be resumed, by name: all but its end and its most steps."""
    start = {
        "state": (span.start.q.tolist(), span.start.v.tolist()),
        "t": span.start.t,
        "t_eval": None if span.samples is None else span.samples.tolist(),
        "u": span.u.tolist(),
    }
    asked = {**{name: repr(x) for name, x in start.items()}, **of_setup(setup)}
    del asked["max_steps"]
    return asked


def check_arguments(recorded: Mapping[str, Any], found: Mapping[str, str], path: Any) -> None:
    """Refuse to resume a recording with other arguments.

    Functions in Python are told apart by their code, which may differ though they do the same: that is a warning.
    """
    for name, value in found.items():
        was = str(recorded.get(name))
        if was == value:
            continue
        before, now = was.partition(IN_PYTHON), value.partition(IN_PYTHON)
        if not now[1] or before[:2] != now[:2]:
            raise ArgumentError(
                f"'{path}' was recorded with {name}={was[:200]}; found {value[:200]}. A run goes on with the options "
                "it began with."
            )
        warnings.warn(
            f"'{path}' was recorded with another '{name}': the code of a function in Python, or what it uses, has "
            "changed. The run goes on with the new one.",
            RuntimeWarning,
            stacklevel=4,
        )


def _told(system: System, x: Any) -> str:
    """An option in words, where it consists of numbers and texts; else its fingerprint."""
    return repr(x) if _is_plain(x) else of(system, x)


def _is_plain(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return all(map(_is_plain, x))
    return all(map(_is_plain, x.values())) if isinstance(x, dict) else isinstance(x, PLAIN)


def _formula(system: System, value: Any) -> str:
    return sha256(trace(system.description, "f", ARGUMENTS, value)[0].serialize().encode()).hexdigest()
