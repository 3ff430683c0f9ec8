"""Mechanisms as bytes: the description, with every CasADi expression as one serialized function of its symbols.

CasADi expressions do not pickle, and a symbol that did would be another symbol on arrival. So the elements are pickled
with numbers in the places of their expressions; the expressions together are the outputs of one `casadi.Function` of
the declared parameters and inputs, which CasADi can serialize. On arrival it is called with fresh symbols.
"""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any

import casadi as ca

from dalembert.errors import DescriptionError
from dalembert.mechanism.values import Defaults

if TYPE_CHECKING:
    from dalembert.mechanism.constraints import Constraint
    from dalembert.mechanism.contacts import OneSided
    from dalembert.mechanism.forces import Force
    from dalembert.mechanism.mechanism import Mechanism

PARTS = (
    "name",
    "ground",
    "bodies",
    "joints",
    "frames",
    "forces",
    "constraints",
    "contacts",
    "states",
    "notes",
    "points",
    "_gravity",
)


def pickler() -> type[pickle.Pickler]:
    """The pickler that writes functions by value, where it is installed; else Python's own."""
    try:
        from cloudpickle import Pickler
    except ImportError:
        return pickle.Pickler
    return Pickler


class Numbered:
    """The part of a pickler that puts the number of an expression in its place."""

    def __init__(self, file: Any):
        super().__init__(file, protocol=5)  # type: ignore[call-arg]
        self.expressions: list[ca.SX] = []
        self.numbers: dict[int, int] = {}

    def persistent_id(self, x: Any) -> Any:
        if isinstance(x, Defaults):
            return "parameters"
        if not isinstance(x, ca.SX):
            return None
        if id(x) not in self.numbers:
            self.numbers[id(x)] = len(self.expressions)
            self.expressions.append(x)  # kept, so that no other object gets its id
        return self.numbers[id(x)]


def _writer(file: Any) -> Any:
    return type("Writer", (Numbered, pickler()), {})(file)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: Any, expressions: list[ca.SX], parameters: Defaults):
        super().__init__(file)
        self.expressions, self.parameters = expressions, parameters

    def persistent_load(self, number: Any) -> Any:
        return self.parameters if number == "parameters" else self.expressions[number]


def reduced(m: Mechanism) -> tuple[Any, ...]:
    """The description from which `restored` makes the mechanism."""
    data, expressions = _written(m)
    symbols = {**m.parameters.symbols, **m.inputs}
    f = ca.Function("description", [*symbols.values(), *m.borrowed], expressions, {"allow_free": True})
    if f.has_free():
        raise DescriptionError(
            f"mechanism '{m.name}' uses {', '.join(sorted(f.get_free()))}, which is neither an input nor a parameter "
            "of it, and cannot be pickled. Declare it with add_input or add_parameter."
        )
    inputs = {name: u.numel() for name, u in m.inputs.items()}
    borrowed = [(x[0].name(), x.numel()) for x in m.borrowed]
    return type(m), data, f.serialize(), dict(m.parameters.values), inputs, borrowed


def restored(
    kind: type[Mechanism], data: bytes, serialized: str, values: dict[str, Any], inputs: Any, borrowed: Any = ()
) -> Mechanism:
    """A mechanism from its parts, with symbols of its own."""
    symbols = {name: ca.SX.sym(name, len(x)) for name, x in values.items()}
    given = {name: ca.SX.sym(name, n) for name, n in inputs.items()}
    lent = tuple(ca.SX.sym(name, n) for name, n in borrowed)
    expressions = ca.Function.deserialize(serialized).call([*symbols.values(), *given.values(), *lent])
    m = kind.__new__(kind)
    m.parameters, m.inputs, m.borrowed = Defaults(symbols, dict(values)), given, lent
    vars(m).update(_Unpickler(io.BytesIO(data), expressions, m.parameters).load())
    m.parameters.points = m.points
    return m


def _written(m: Mechanism) -> tuple[bytes, list[ca.SX]]:
    file = io.BytesIO()
    writer = _writer(file)
    try:
        writer.dump({part: getattr(m, part) for part in (*PARTS, *m.own_parts)})
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise DescriptionError(
            f"{_culprit(m)} of mechanism '{m.name}' holds a function that cannot be pickled ({error}). Write it with "
            "def at the top level of a module in place of a lambda or an inner function, or install cloudpickle."
        ) from error
    return file.getvalue(), writer.expressions


def _culprit(m: Mechanism) -> str:
    """The first element that does not pickle."""
    elements: list[Force | Constraint | OneSided] = [*m.forces.values(), *m.constraints.values(), *m.contacts.values()]
    for element in elements:
        try:
            _writer(io.BytesIO()).dump(element)
        except (pickle.PicklingError, AttributeError, TypeError):
            return f"{element.kind} '{element.name}'"
    return "an element"
