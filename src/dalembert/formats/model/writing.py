"""Parts of a description as data: numbers as they are, expressions as texts, frames by name or by their numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

import casadi as ca
import numpy as np

from dalembert.errors import DescriptionError
from dalembert.formats.model import vocabulary as words
from dalembert.formats.model.cursor import MAX_NAME
from dalembert.formats.model.places import TYPES
from dalembert.formats.model.texts import NoText, texts
from dalembert.formats.model.tracing import ExpressionNames, SymbolicState, same_place
from dalembert.mechanism.body import Frame
from dalembert.mechanism.joints import Joint
from dalembert.mechanism.mechanism import Mechanism
from dalembert.spatial import Transform
from dalembert.symbols import Scalar, all_numbers, is_number

Data = dict[str, Any]
_FRAME = re.compile(r"((?:position|velocity|rotation|twist)\()(frame_\d+)(?=\))")


class Writing:
    """A mechanism that is being written."""

    def __init__(self, mechanism: Mechanism):
        self.m, self.names = mechanism, ExpressionNames(mechanism)

    def recorder(self) -> SymbolicState:
        """A state for functions of the description."""
        return SymbolicState(self.names)

    def finished(self, data: Data, what: str, recorder: SymbolicState | None = None) -> Data:
        """Data with its expressions (`Scalar`s, SX) as texts, and the definitions and frames these use.

        what: the words that name the element in errors.
        """
        leaves = self.names.leaves if recorder is None else {**self.names.leaves, **recorder.leaves}
        let: dict[str, str] = {}
        try:
            out = self._texts(data, leaves, let)
        except NoText as error:
            raise DescriptionError(f"{what} cannot be written to a model file: it {error}.") from None
        own = {} if recorder is None else recorder.frames
        new = _in_order(own, [let, out])
        if new:
            let, out = _renamed(let, new), _renamed(out, new)
            out["frames"] = {name: self.finished(self.place(own[old]), what) for old, name in new.items()}
        if let:
            head = {k: out.pop(k) for k in ("type",) if k in out}
            out = {**head, "let": let, **out}
        return out

    def _texts(self, data: Any, leaves: Mapping[int, str], let: dict[str, str]) -> Any:
        """Data with texts for expressions; those of one list share definitions, as the reader reads them together."""
        if isinstance(data, dict):
            return {key: self._texts(x, leaves, let) for key, x in data.items()}
        if isinstance(data, list) and any(isinstance(x, dict) for x in data):
            return [self._texts(x, leaves, let) for x in data]
        found: list[ca.SX] = []
        _collect(data, found)
        if not found:
            return data
        written, more = texts(found, leaves, self.names.symbols, len(let) + 1)
        let.update(more)
        return _replaced(data, iter(written))

    def place(self, frame: Frame, *, name: bool = True) -> Any:
        """A frame: by its name, else {body, at, rotation}; name=False: never by its own name."""
        known = self.names.of(frame) if name else None
        if known is not None:
            return known
        data: Data = {"body": frame.body.name}
        I = Transform.identity()
        if not same_place(frame, Frame(frame.body, Transform(frame.T.R, I.p))):
            data["at"] = vector(frame.T.p)
        if not _equal(frame.T.R, I.R):
            data["rotation"] = [vector(row) for row in frame.T.R]
        return data

    def joint(self, joint: Joint, what: str) -> tuple[str, Data]:
        """The kind of a joint type and its options."""
        if TYPES.get(joint.kind) is not type(joint):
            raise DescriptionError(
                f"{what} is of the type {type(joint).__name__}, which a model file cannot say; needed: one of "
                f"{', '.join(words.JOINTS)}."
            )
        if joint.kind == "universal":
            first, second = joint.given  # type: ignore[attr-defined]
            return joint.kind, {"first": axis(first), "second": axis(second)}
        data: Data = {"axis": axis(joint.given)} if "axis" in words.JOINTS[joint.kind] else {}  # type: ignore[attr-defined]
        if joint.kind == "screw":
            data["pitch"] = joint.pitch  # type: ignore[attr-defined]
        return joint.kind, data


def checked_name(name: str, what: str) -> str:
    """A name that a file can hold."""
    if not name or len(name) > MAX_NAME or not name.isprintable():
        raise DescriptionError(
            f"the name {name[:60]!r} of {what} cannot be written to a model file; needed: 1 to {MAX_NAME} characters, "
            "none of them a control character."
        )
    return name


def vector(x: Any) -> list[Any]:
    """Numbers and expressions as a list."""
    return [float(e) if is_number(e) else e for e in x]


def axis(n: np.ndarray) -> Any:
    """A letter where it is one, else three numbers or expressions."""
    for sign, mark in ((1.0, ""), (-1.0, "-")):
        for k, letter in enumerate("xyz"):
            if all_numbers(n) and np.array_equal(n, sign * np.eye(3)[k]):
                return mark + letter
    return vector(n)


def each_or_one(x: Any) -> Any:
    """A list, or one number where all are the same."""
    values = vector(x)
    first = values[0]
    if all(v is first or (is_number(v) and is_number(first) and v == first) for v in values):
        return first
    return values


def is_zero(x: Any) -> bool:
    """Whether all of it is the number 0."""
    return all(is_number(e) and float(e) == 0.0 for e in np.ravel(x))


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    return all(is_number(x) and is_number(y) and x == y for x, y in zip(a.ravel(), b.ravel()))


def _in_order(frames: Data, data: Any) -> dict[str, str]:
    """New names for frames that have none of their own, in the order in which texts ask for them."""
    found: list[str] = []
    _strings(data, found)
    asked = dict.fromkeys(m[2] for text in found for m in _FRAME.finditer(text) if m[2] in frames)
    return dict(zip(asked, frames))


def _strings(data: Any, into: list[str]) -> None:
    if isinstance(data, str):
        into.append(data)
    elif isinstance(data, (dict, list)):
        for x in data.values() if isinstance(data, dict) else data:
            _strings(x, into)


def _renamed(data: Any, new: dict[str, str]) -> Any:
    if isinstance(data, str):
        return _FRAME.sub(lambda m: m[1] + new.get(m[2], m[2]), data)
    if isinstance(data, dict):
        return {key: _renamed(x, new) for key, x in data.items()}
    return [_renamed(x, new) for x in data] if isinstance(data, list) else data


def _collect(data: Any, into: list[ca.SX]) -> None:
    if isinstance(data, Scalar):
        into.append(data.sx)
    elif isinstance(data, ca.SX):
        into.append(data)
    elif isinstance(data, float) and not isfinite(data):
        raise NoText(f"has the number {data} in it, which is not finite")
    elif isinstance(data, list):
        for x in data:
            _collect(x, into)


def _replaced(data: Any, texts: Any) -> Any:
    if isinstance(data, (Scalar, ca.SX)):
        return next(texts)
    return [_replaced(x, texts) for x in data] if isinstance(data, list) else data
