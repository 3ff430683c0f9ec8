"""States with a name: a home position, a keyframe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, DescriptionError, unknown
from dalembert.mechanism.checks import no_joint

if TYPE_CHECKING:
    from dalembert.mechanism.mechanism import Mechanism

Numbers = dict[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class NamedState:
    """Positions q, velocities v and inputs u by name, and the time t (s); what is not named is neutral, at rest, zero.

    Made by `Mechanism.add_state`; `System.named_state` gives the `State`.
    """

    name: str
    q: Numbers  # numbers of each joint or coordinate
    v: Numbers
    u: Numbers
    t: float


def named_state(m: Mechanism, name: str, q: Any, v: Any, u: Any, t: Any) -> NamedState:
    """A named state of a mechanism, its names and numbers checked."""
    what = f"state '{name}'"
    return NamedState(
        name,
        _of_joints(m, q, "q", what),
        _of_joints(m, v, "v", what),
        _of_inputs(m, u, what),
        checks.number(t, f"the time t of {what}", error=DescriptionError),
    )


def _of_joints(m: Mechanism, given: Any, which: str, what: str) -> Numbers:
    out: Numbers = {}
    if given is None:
        return out
    sizes: dict[str, int] = {}
    for a in m.joints.values():
        sizes.update(dict.fromkeys(a.coordinates if which == "q" else a.velocities, 1))
        sizes[a.name] = a.joint.nq if which == "q" else a.joint.nv
    for name, value in checks.mapping(given, f"{which} of {what}", error=DescriptionError).items():
        of = f"{which} of '{name}' in {what}"
        if not isinstance(name, str) or name not in sizes:
            raise no_joint("joint or coordinate", name, sizes, m.constraints.values(), what)
        try:
            x = m.joints[name].joint.position_from(value) if which == "q" and name in m.joints else value
            x = np.atleast_1d(checks.array(x, None, of))
        except ArgumentError as error:
            raise DescriptionError(f"{of}: {error}") from None
        if x.shape != (sizes[name],):
            raise DescriptionError(f"{of} has {x.size} number(s); needed: {sizes[name]}.")
        out[name] = tuple(x.tolist())
    return out


def _of_inputs(m: Mechanism, given: Any, what: str) -> Numbers:
    out: Numbers = {}
    if given is None:
        return out
    for name, value in checks.mapping(given, f"u of {what}", error=DescriptionError).items():
        if not isinstance(name, str) or name not in m.inputs:
            raise unknown("input", name, m.inputs, what)
        of = f"u of '{name}' in {what}"
        x = np.atleast_1d(checks.array(value, None, of, error=DescriptionError))
        if x.shape != (m.inputs[name].numel(),):
            raise DescriptionError(f"{of} has {x.size} number(s); needed: {m.inputs[name].numel()}.")
        out[name] = tuple(x.tolist())
    return out
