"""Expressions of a model file as CasADi expressions of parameters, inputs, time and state.

`LawText` is a function of the state, as `add_joint_force` and `add_constraint` take it, `MotionText` a function of
time for drivers. Both hold data only, so mechanisms with them pickle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import casadi as ca

from dalembert.formats.model.grammar import REFERENCES, GrammarError, StackStep

Steps = tuple[StackStep, ...]


class LawText:
    """Several expressions with the definitions they share, as a function of the state.

    let: definitions in order, each of the ones before; symbols: parameters and inputs by name; frames: by name.
    """

    def __init__(
        self, values: Sequence[Steps], let: Mapping[str, Steps], symbols: Mapping[str, ca.SX], frames: Mapping[str, Any]
    ):
        self.values, self.let, self.symbols, self.frames = tuple(values), dict(let), dict(symbols), dict(frames)

    @property
    def needs(self) -> set[str]:
        """Quantities used besides parameters and inputs: "t" and names of REFERENCES."""
        return {s.do for steps in (*self.let.values(), *self.values) for s in steps if s.do in {"t", *REFERENCES}}

    def __call__(self, s: Any) -> ca.SX:
        """The values in the state s, a column."""
        return ca.vertcat(*self.evaluated(s))

    def evaluated(self, s: Any = None) -> list[ca.SX]:
        """The values in a state, one by one; where they need none, s may be None."""
        return self._evaluated(_of_state(s, self.frames))

    def _evaluated(self, ask: Any) -> list[ca.SX]:
        known = dict(self.symbols)
        for name, steps in self.let.items():
            known[name] = _run(steps, known, ask)
        return [_run(steps, known, ask) for steps in self.values]


class MotionText(LawText):
    """Expressions as a function of time."""

    def __call__(self, t: ca.SX) -> ca.SX:
        """The values at the time t, a column."""
        return ca.vertcat(*self._evaluated(lambda step: t))


def needed(values: Sequence[Steps], let: dict[str, Steps]) -> dict[str, Steps]:
    """The definitions that the values use, directly or not, in order."""
    if not let:
        return {}
    wanted: set[str] = set()
    waiting = [s.text for steps in values for s in steps if s.do == "name"]
    while waiting:
        name = waiting.pop()
        if name in let and name not in wanted:
            wanted.add(name)
            waiting += [s.text for s in let[name] if s.do == "name"]
    return {name: steps for name, steps in let.items() if name in wanted} if wanted else {}


def _of_state(s: Any, frames: Mapping[str, Any]) -> Any:
    """How the steps that ask for the state are answered; each question is asked once."""
    found: dict[tuple[str, str], ca.SX] = {}

    def ask(step: StackStep) -> ca.SX:
        if step.do == "t":
            return s.t
        key = step.do, step.text
        if key not in found:
            if step.do == "q":
                found[key] = s[step.text]
            elif step.do == "v":
                found[key] = s.rate(step.text)
            else:
                found[key] = getattr(s, step.do)(frames[step.text])
        x = found[key]
        return x[step.index] if step.index else x

    return ask


def _run(steps: Steps, known: Mapping[str, ca.SX], ask: Any) -> ca.SX:
    stack: list[ca.SX] = []
    for step in steps:
        if step.do == "number":
            stack.append(ca.SX(step.value))
        elif step.do == "name":
            x = known[step.text]
            stack.append(x[step.index[0]] if step.index else x)
        elif step.do != "apply":
            stack.append(ask(step))
        else:
            count = abs(step.count)
            arguments = stack[-count:]
            del stack[-count:]
            stack.append(applied(step.text, arguments[::-1] if step.count < 0 else arguments))
    return stack[0]


def applied(operation: str, x: Sequence[ca.SX]) -> ca.SX:
    """An operation of CasADi by name; a number that it makes of numbers must be finite."""
    if operation == "IF_ELSE":
        c, a, b = x
        other = applied("NOT", [c])
        y = applied("ADD", [applied("IF_ELSE_ZERO", [c, a]), applied("IF_ELSE_ZERO", [other, b])])
    elif len(x) == 1:
        y = ca.SX.unary(getattr(ca, f"OP_{operation}"), x[0])
    else:
        y = ca.SX.binary(getattr(ca, f"OP_{operation}"), *x)
    if y.is_constant() and not isfinite(float(y)):
        raise GrammarError("a part of the expression is not finite; its numbers are too large, or it divides by zero")
    return y
