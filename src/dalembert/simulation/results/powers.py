"""Whose power a name means, and the power itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.analysis.at_states import AtStates
from dalembert.errors import ArgumentError, article, unknown
from dalembert.mechanism.forces import Force, JointSpringDamper
from dalembert.mechanism.traced import Load
from dalembert.symbols import array
from dalembert.system.stepping import power_of
from dalembert.system.trace import Trace

if TYPE_CHECKING:
    from dalembert.system.system import System

KINDS = ("input", "force", "constraint", "joint")


def kind_of(system: System, name: Any, kind: str | None) -> str:
    """The input, force, constraint or joint of a name; refused if there is none, or several."""
    if kind is not None:
        checks.choice(kind, KINDS, "kind")
    mechanism = system.layout.mechanism
    known = {
        "input": [*system.arguments.input_sizes, *system.u_names],
        "force": list(mechanism.forces),
        "constraint": [c.name for c in system.description.constraints],
        "joint": list(system.layout.joints),
    }
    of = [k for k in KINDS if isinstance(name, str) and name in known[k] and kind in (None, k)]
    if not of:
        wanted = KINDS if kind is None else (kind,)
        named = "input, force, constraint or joint" if kind is None else kind
        raise unknown(named, name, dict.fromkeys(n for k in wanted for n in known[k]))
    if "joint" in of and len(of) > 1 and not of_force(system, name, "joint"):
        of.remove("joint")  # it has neither spring nor damper
    if of[:2] == ["input", "force"] and mechanism.forces[name].input_units:
        of.remove("input")  # the force is that of the input
    if len(of) > 1:
        choices = " or ".join(f'kind="{k}"' for k in of)
        raise ArgumentError(f"'{name}' names {' and '.join(f'{article(k)} {k}' for k in of)}; say {choices}.")
    return of[0]


def of_force(system: System, name: str, kind: str) -> tuple[Force, ...]:
    """The forces of the description that a name means; all of them for an input."""
    if kind == "input":
        return system.description.forces
    spring = kind == "joint"
    return tuple(f for f in system.description.forces if f.name == name and isinstance(f, JointSpringDamper) == spring)


def force_power(system: System, name: str, kind: str) -> Callable[[Trace], Any]:
    """v · Q of some forces, or what an input adds to that of all, as a value of a trace."""
    forces = of_force(system, name, kind)

    def value(s: Trace) -> Any:
        total = power_of(s, Load.of(forces, s.state))
        if kind == "input":
            u, names = s.sx["u"], system.u_names
            off = (name, *(f"{name}[{k}]" for k in range(system.arguments.input_sizes.get(name, 0))))
            kept = ca.vertcat(*(0.0 if n in off else u[k] for k, n in enumerate(names)))
            total = total - ca.substitute(total, u, kept)
        return array(total)[0]

    return value


def constraint_power(of: Sequence[str], name: str, multipliers: np.ndarray, A: np.ndarray, v: np.ndarray) -> np.ndarray:
    """(N,) λ · A v over the rows of a constraint."""
    rows = [k for k, constraint in enumerate(of) if constraint == name]
    return np.einsum("kr,kri,ki->k", multipliers[:, rows], A[:, rows], v)


class Powers(AtStates):
    """A motion whose inputs are known: the power that each of them, and each force, brings in."""

    def power(self, name: str, kind: str | None = None) -> np.ndarray:
        """(N,) W that an input, a force, a constraint or a joint's spring and damper brings into the motion.

        name, kind: as in `Run.power`.
        """
        system, kind = self.system, kind_of(self.system, name, kind)
        r = self._records()
        if kind == "constraint":
            flat, m = r.flat(), len(system.row_names)
            A = self._batch("constraints")[1].reshape(len(flat["v"]), m, system.nv)
            found = constraint_power(system.rows.of, name, self._row_forces().reshape(-1, m), A, flat["v"])
            return found.reshape(r.shape)
        if name in system.description.prescribed and kind in ("input", "force"):
            forces = self._batch("driving_forces", a=self._accelerations(), lam=self._all_multipliers())
            k = list(system.description.prescribed).index(name)
            return forces.reshape(*r.shape, -1)[..., k] * r.v[..., system.description.prescribed[name]]
        if kind == "joint" and not of_force(system, name, kind):
            return np.zeros(r.shape)
        key, value = ("power", kind, name), force_power(system, name, kind)
        return self._through(lambda lanes: system.kernels.custom(key, ("q", "v", "u", "p", "t"), value, lanes=lanes))
