"""Positions and velocities of a mechanism, addressable by name, with the parameters and inputs they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, unknown
from dalembert.hints import hinted
from dalembert.mechanism.layout import TreeLayout
from dalembert.mechanism.values import vector_of
from dalembert.protocols import Inputs, Parameters
from dalembert.system.state_frames import FramesOfState
from dalembert.system.vectors import filled, listed


@hinted
@dataclass(frozen=True, slots=True, eq=False)
class State(FramesOfState):
    """q and v at time t (s). `state["A"]` is the position of joint (or coordinate) A, `state.rate("A")` its velocity.

    Joints that close loops have both too, with angles in (−π, π].

    `state.position("tip")`, `rotation`, `pose`, `velocity` and `twist` are those of frames. A state belongs to the
    systems of one mechanism, and to those of an equal mechanism: it can be pickled.

    A state knows the parameters p it was made with and the inputs u that act in it: `system.energy(state)`,
    `da.simulate(system, state, t)` and all others use them where p and u are not given. p None are the parameters of
    the system that is asked, u None are zero inputs.
    """

    q: np.ndarray  # (nq,)
    v: np.ndarray  # (nv,)
    t: float
    layout: TreeLayout
    evidence: Any = None  # how it was found, where it was assembled
    p: np.ndarray | None = None  # (np,) parameters it was made with; None: those of the system that is asked
    u: np.ndarray | None = None  # (nu,) inputs that act in it; None: zero
    _defaults: np.ndarray | None = None  # (np,) parameters of the system that made it

    def __getitem__(self, name: str) -> Any:
        if (cut := self.layout.cut_coordinate(name, "q")) is not None:
            return _value(self._number(self._traced().cut_joint(cut[0])[0])[cut[1]])
        return _lookup(self.q, name, self.layout.q_names, self.layout.q_slice, self.layout)

    def rate(self, name: str) -> Any:
        """Velocity of a joint, or of one of its velocities, by its name."""
        if (cut := self.layout.cut_coordinate(name, "v")) is not None:
            return _value(self._number(self._traced().cut_joint(cut[0])[1])[cut[1]])
        return _lookup(self.v, name, self.layout.v_names, self.layout.v_slice, self.layout)

    def replace(
        self,
        q: Any = None,
        v: Any = None,
        t: float | None = None,
        evidence: Any = None,
        p: Parameters = None,
        u: Inputs = None,
    ) -> State:
        """This state with some coordinates q, velocities v, parameters p, inputs u (by name, or arrays) or t changed.

        evidence: how it was found, kept with the state. Nothing is assembled: with other parameters the positions stay.
        """
        return make_state(
            self.layout,
            self.q if q is None else q,
            self.v if v is None else v,
            self.t if t is None else t,
            base=self,
            evidence=evidence,
            p=p,
            u=u,
        )

    def _repr_html_(self) -> str:
        """A picture of the mechanism in this state above its numbers, for notebooks."""
        from dalembert.view.notebook import html_of

        return html_of(self.layout, [self.q], repr(self), self.p)

    def __repr__(self) -> str:
        rows = [f"t = {self.t:g} s"]
        for name, a in self.layout.joints.items():
            q, v = (np.array2string(np.atleast_1d(x), precision=6) for x in (self[name], self.rate(name)))
            turning = set(a.joint.angular) if a.joint.nq == a.joint.nv else set()
            unit = ("rad" if turning.pop() else "m") if len(turning) == 1 else ""
            if a.joint.nq:
                rows.append(f"{name}: q = {q} {unit}, v = {v} {unit}/s" if unit else f"{name}: q = {q}, v = {v}")
        return "State(" + "\n      ".join(rows) + ")"


def make_state(
    layout: TreeLayout,
    q: Any,
    v: Any,
    t: float,
    base: State | None = None,
    evidence: Any = None,
    p: Parameters = None,
    u: Inputs = None,
    defaults: np.ndarray | None = None,
) -> State:
    """A state from arrays or mappings by name; the rest is as in `base`, or neutral and at rest.

    defaults: the parameters of the system that makes it, where it is not `base`'s.
    """
    qs = _filled(layout, None if base is None else base.q, q, "q")
    vs = _filled(layout, None if base is None else base.v, v, "v")
    for name, a in layout.joints.items() if layout.tree.nq != layout.tree.nv else ():
        where = layout.q_slice(name)
        try:
            qs[where] = a.joint.normalized(qs[where])
        except ArgumentError as error:
            raise ArgumentError(f"joint '{name}': {error}") from None
    own, inputs = (None, None) if base is None else (base.p, base.u)
    if defaults is None and base is not None:
        defaults = base._defaults
    if p is not None:
        own = parameters_of(layout, p, own if own is not None else defaults)
    if u is not None:
        inputs = inputs_of(layout, u, inputs)
    t = checks.number(t, "the time t of a state")
    return State(frozen(qs), frozen(vs), t, layout, evidence, own, inputs, defaults)


def parameters_of(layout: TreeLayout, p: Parameters, rest: np.ndarray | None) -> np.ndarray:
    """(np,) parameters p, by name or as an array; what is not named is as in `rest`, or as declared."""
    values = layout.mechanism.parameters.values
    return _vector(p, values, vector_of(values) if rest is None else rest, "parameter")


def inputs_of(layout: TreeLayout, u: Inputs, rest: np.ndarray | None) -> np.ndarray:
    """(nu,) inputs u, by name or as an array; what is not named is as in `rest`, or zero."""
    sizes = {name: np.zeros(x.numel()) for name, x in layout.mechanism.inputs.items()}
    return _vector(u, sizes, vector_of(sizes) if rest is None else rest, "input")


def _vector(given: Any, like: Mapping[str, np.ndarray], rest: np.ndarray, kind: str) -> np.ndarray:
    """A frozen vector from an array or by name; like: {name: an array of its size}."""
    if not isinstance(given, Mapping):
        names = [name if len(x) == 1 else f"{name}[{k}]" for name, x in like.items() for k in range(len(x))]
        return frozen(listed(given, names, f"the array of {kind}s").copy())
    ends = np.cumsum([0, *(len(x) for x in like.values())])
    start = {name: rest[a:b] for name, a, b in zip(like, ends, ends[1:])}
    return frozen(vector_of(filled(given, start, kind)))


def neutral(layout: TreeLayout) -> np.ndarray:
    """Every joint at its neutral position."""
    return np.concatenate([np.zeros(0), *(a.joint.neutral() for a in layout.joints.values())])


def _filled(layout: TreeLayout, start: np.ndarray | None, given: Any, which: str) -> np.ndarray:
    names = layout.q_names if which == "q" else layout.v_names
    kind = "coordinate" if which == "q" else "velocity"
    if given is not None and not isinstance(given, Mapping):
        x = checks.reals(given, which)
        if x.shape != (len(names),):
            raise ArgumentError(f"{which} has shape {x.shape}; needed: ({len(names)},), that is {_list(names)}.")
        return _finite(x.copy(), names)
    if start is None:
        start = neutral(layout) if which == "q" else np.zeros(len(names))
    if given is None:
        return start.copy()
    x, place = start.copy(), dict(zip(names, range(len(names))))
    for name, value in given.items():
        if isinstance(name, str) and name in place:
            x[place[name]] = _one(value, f"{kind} '{name}'")
        elif isinstance(name, str) and name in layout.joints:
            where = layout.q_slice(name) if which == "q" else layout.v_slice(name)
            joint = layout.joints[name].joint
            numbers = _of_joint(joint, value, which, f"{kind} of joint '{name}'")
            if numbers.shape != x[where].shape:
                raise ArgumentError(
                    f"{kind} of joint '{name}' is given {numbers.size} number(s); needed: {_list(names[where])}."
                )
            x[where] = numbers
        else:
            raise unknown(f"joint or {kind}", name, dict.fromkeys([*layout.joints, *names]))
    return _finite(x, names)


def _one(value: Any, what: str) -> float:
    numbers = checks.array(value, None, what)
    if numbers.size != 1:
        raise ArgumentError(f"{what} is given {numbers.size} numbers; needed: one.")
    return float(numbers.reshape(())[()])


def _of_joint(joint: Any, value: Any, which: str, what: str) -> np.ndarray:
    try:
        return joint.position_from(value) if which == "q" else np.atleast_1d(checks.array(value, None, what))
    except ArgumentError as error:
        raise ArgumentError(f"{what}: {error}" if which == "q" else str(error)) from None


def _finite(x: np.ndarray, names: list[str]) -> np.ndarray:
    if not np.isfinite(x).all():
        bad = [name for name, value in zip(names, x) if not np.isfinite(value)]
        raise ArgumentError(f"the value of {', '.join(bad)} is not finite; every number of a state must be.")
    return x


def _list(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f", … ({len(names)} in all)" if len(names) > 8 else "")


def frozen(x: np.ndarray) -> np.ndarray:
    """An array that is written no more."""
    x.flags.writeable = False
    return x


def _value(x: np.ndarray) -> Any:
    return float(x[0]) if len(x) == 1 else x


def _lookup(x: np.ndarray, name: str, names: list[str], where: Any, layout: TreeLayout) -> Any:
    if isinstance(name, str):
        if name in names:
            return float(x[names.index(name)])
        if name in layout.joints:
            return x[where(name)]
    raise unknown("joint or coordinate", name, dict.fromkeys([*layout.joints, *names]))
