"""Structs shared by Python and native code: declared once, read by the same names on both sides.

    class Spring(Struct):
        n = Int()
        stiffness = Float()
        force = Doubles("n")             # an array; its sides ("n", "n + m", "max(m, n, 1)") are found at each access
        next = Part(lambda: Spring)      # another struct, by its address
        wear = Embedded(Wear)            # another struct of numbers, inside this one's memory

In Python a struct owns references to its arrays and parts, so their memory lives as long as it does. Native code holds
one pointer (`native.numba_struct`): `s.stiffness`, `s.force[i]`, `s.next.n`, `s.wear.cycles` read the same memory.
Native code may set numbers, and embedded structs, which are copied (`s.wear = s.old_wear`); only Python sets arrays and
parts. An embedded struct is at a fixed place: to read its fields costs no more than to read those around it.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Collection
from functools import cache, lru_cache
from math import prod
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from dalembert.lazy import cached_property

if TYPE_CHECKING:
    from _ctypes import _PyCStructType as Structures
else:
    Structures = type(ctypes.Structure)
S = TypeVar("S", bound="Struct")
LINE = 8  # numbers in a line of the processor's cache


class StructField:
    """A field of a struct; a subclass says what Python sees of it."""

    name: str
    ctype: Any = ctypes.c_int64

    @property
    def place(self) -> str:
        """Name of the member of the ctypes structure."""
        return self.name

    if TYPE_CHECKING:  # numbers are members of the ctypes structure, the others properties

        def __get__(self, struct: Any, owner: Any = None) -> Any: ...

        def __set__(self, struct: Any, value: Any) -> None: ...


class Int(StructField):
    """A whole number."""


class Float(StructField):
    """A double."""

    ctype = ctypes.c_double


class Embedded(StructField):
    """Another struct inside this one: numbers only, so that it is copied as bytes.

    In Python it is an attribute of each struct, which is not replaced: its fields are set, or all of them by `store`.
    """

    def __init__(self, kind: type[Struct]) -> None:
        if any(isinstance(f, (Held, Embedded)) for f in kind.fields.values()):
            raise TypeError(f"{kind.__name__} has arrays or parts; a struct that is embedded has numbers only")
        self.kind = self.ctype = kind

    @cached_property
    def place(self) -> str:
        """Name of the member."""
        return f"at_{self.name}"


class Held(StructField):
    """Something that the struct has by its address, and that it keeps alive."""

    @cached_property
    def own(self) -> str:
        """Name of the attribute that is the thing."""
        return f"_{self.name}"

    @cached_property
    def place(self) -> str:
        """Name of the member that is its address."""
        return f"at_{self.name}"

    def seen(self) -> Any:
        """The ctypes structure that Python reads and writes."""
        return property(attrgetter(self.own), self.put)

    def put(self, struct: Any, value: Any) -> None:
        """Have the struct hold a value."""
        setattr(struct, self.own, value)
        setattr(struct, self.place, address(value) if isinstance(value, np.ndarray) else value.pointer)


class Doubles(Held):
    """An array of doubles, whose shape is given by expressions in the struct's whole numbers."""

    dtype: Any = np.float64

    def __init__(self, *shape: str) -> None:
        self.shape = shape
        self.sides: Callable[[Any], tuple[int, ...]]  # of a struct

    def put(self, struct: Any, value: np.ndarray) -> None:
        if value.dtype != self.dtype or not value.flags.c_contiguous:
            raise TypeError(f"{type(struct).__name__}.{self.name} needs a dense {np.dtype(self.dtype)} array")
        if value.shape != (needed := self.sides(struct)):  # native code would read and write past its end
            raise ValueError(f"{type(struct).__name__}.{self.name} has shape {value.shape}; needed: {needed}")
        super().put(struct, value)


class Ints(Doubles):
    """An array of whole numbers."""

    dtype = np.int64


class StructPart(Held):
    """Another struct, by its address. `kind` returns the class, so that a struct may name one declared later."""

    def __init__(self, kind: Callable[[], type[Struct]]) -> None:
        self.kind = kind


class Opaque(StructPart):
    """Another struct, or an array of doubles, by its address: native code sees a number and casts it."""

    def __init__(self) -> None:
        super().__init__(lambda: Struct)


class _Declared(Structures):
    """Makes a ctypes structure of the fields in a class's body."""

    def __new__(meta, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        fields = {k: f for k, f in body.items() if isinstance(f, StructField)}
        for k, f in fields.items():
            f.name = k
            if isinstance(f, Held):
                body[k] = f.seen()
            else:
                del body[k]
        body["_fields_"] = [(f.place, f.ctype) for f in fields.values()]
        cls: Any = super().__new__(meta, name, bases, body)
        cls.fields = fields
        cls.embedded = tuple(f for f in fields.values() if isinstance(f, Embedded))
        cls.arrays = tuple(f for f in fields.values() if isinstance(f, Doubles))
        for array in cls.arrays:
            array.sides = _shape_function(array.shape, fields)
        return cls


class Struct(ctypes.Structure, metaclass=_Declared):
    """A record in memory that Python and native code share; see the head of this file."""

    fields: ClassVar[dict[str, StructField]]
    arrays: ClassVar[tuple[Doubles, ...]]
    embedded: ClassVar[tuple[Embedded, ...]]

    def __new__(cls, **values: Any) -> Any:
        """Memory that embedded structs share with the one around them; each keeps it alive."""
        return cls._within(bytearray(ctypes.sizeof(cls))) if cls.embedded else super().__new__(cls)

    @classmethod
    def _within(cls, memory: bytearray) -> Any:
        struct = cls.from_buffer(memory)
        for f in cls.embedded:
            setattr(struct, f.name, f.kind.from_buffer(memory, getattr(cls, f.place).offset))
        return struct

    def __init__(self, **values: Any) -> None:
        super().__init__()
        for name in values:
            if name not in self.fields:
                raise TypeError(f"{type(self).__name__} has no field '{name}'")
        for name in sorted(values, key=lambda n: isinstance(self.fields[n], Held)):  # shapes depend on the numbers
            (self.store if isinstance(self.fields[name], Embedded) else self.__setattr__)(name, values[name])

    @classmethod
    def sized(cls: type[S], **values: Any) -> S:
        """A struct with all its arrays, zeroed and in one block of memory, for the sizes given by name."""
        struct = cls(**values)
        held = vars(struct)
        count, members, views = _plan(cls, tuple(f.sides(struct) for f in cls.arrays), frozenset(held))
        held["_block"], held["_views"] = block, _ = zeros(count), views
        start = address(block)
        for place, at in members:
            setattr(struct, place, start + at)
        return struct

    def __getattr__(self, name: str) -> Any:
        """An array of the block, made when it is first read: native code needs its address only."""
        found = vars(self).get("_views", {}).get(name)
        if found is None:
            raise AttributeError(f"{type(self).__name__} has no '{name}'")
        shape, dtype, at = found
        view = vars(self)[name] = np.ndarray(shape, dtype, vars(self)["_block"], at)
        return view

    def set(self, **numbers: float) -> None:
        """Set several numbers by name."""
        for name, value in numbers.items():
            setattr(self, name, value)

    def store(self, path: str, value: Any) -> None:
        """Set a field, an embedded struct (by copying it), or one of its fields: `store("wear.cycles", 3)`."""
        outer, _, name = path.rpartition(".")
        field = self.fields.get(path)
        setattr(getattr(self, outer) if outer else self, field.place if isinstance(field, Embedded) else name, value)

    def fetch(self, path: str) -> Any:
        """The value of a field, or of one of an embedded struct."""
        return attrgetter(path)(self)

    def allocate(self, *names: str) -> None:
        """Give these arrays memory of their own, zeroed, of the shape that the struct's numbers tell."""
        for name in names:
            field: Any = self.fields[name]
            setattr(self, name, np.zeros(field.sides(self), field.dtype))

    @classmethod
    def members(cls) -> dict[str, tuple[int, StructField]]:
        """{path: (offset in bytes, field)} of all numbers and addresses, those of embedded structs included."""
        out: dict[str, tuple[int, StructField]] = {}
        for name, field in cls.fields.items():
            at = getattr(cls, field.place).offset
            if isinstance(field, Embedded):
                out |= {f"{name}.{path}": (at + inner, f) for path, (inner, f) in field.kind.members().items()}
            else:
                out[name] = at, field
        return out

    #: address of the record, for native code
    pointer = property(ctypes.addressof)

    def renew(self: S, other: S) -> None:
        """Take the numbers of another struct whose arrays and parts have the sizes of these, which stay as they are."""
        for start, size in _spans(type(self)):
            ctypes.memmove(self.pointer + start, other.pointer + start, size)

    def copy(self: S, memo: dict[int, Any] | None = None) -> S:
        """A deep copy with its own memory, arrays and parts included; arrays that share memory still share it."""
        memo = {} if memo is None else memo
        if id(self) in memo:
            return memo[id(self)]
        kind = type(self)
        other = memo[id(self)] = kind._within(bytearray(self)) if kind.embedded else kind.from_buffer_copy(self)
        start, stop, moved = self._copy_block(other, memo)
        for field in self.fields.values():
            if not isinstance(field, Held):
                continue
            place = getattr(self, field.place)
            if start <= place < stop:  # in the block, which is copied already
                setattr(other, field.place, place + moved)
                continue
            held = getattr(self, field.own, None)
            if held is not None:  # sizes that native code has lessened do not count: the array is as large as it was
                Held.put(field, other, held.copy(memo) if isinstance(held, Struct) else _copied(held, memo))
        return other

    def _copy_block(self, other: Any, memo: dict[int, Any]) -> tuple[int, int, int]:
        """Copy the block that `sized` made; returns its first and last address, and how far away the copy is.

        Its arrays are made again when they are read, as in a struct that is new.
        """
        block = vars(self).get("_block")
        if block is None or not block.size:
            return 0, 0, 0
        new = _copied(block, memo)
        vars(other).update(_block=new, _views=vars(self)["_views"])
        start = address(block)
        return start, start + 8 * block.size, address(new) - start


@cache
def _spans(kind: Any) -> tuple[tuple[int, int], ...]:
    """Stretches of numbers between the addresses of arrays and parts: first byte and size."""
    out: list[list[int]] = []
    for field in kind.fields.values():
        if not isinstance(field, Held):
            at, size = getattr(kind, field.place).offset, ctypes.sizeof(field.ctype)
            if out and sum(out[-1]) == at:
                out[-1][1] += size
            else:
                out.append([at, size])
    return tuple((at, size) for at, size in out)


def _shape_function(sides: tuple[str, ...], names: Collection[str]) -> Callable[[Any], tuple[int, ...]]:
    """The shape of an array as a function of its struct."""
    word = r"(?<![\w.])[A-Za-z_]\w*"  # not the name after a dot, which is of an embedded struct
    text = ", ".join(re.sub(word, lambda w: f"s.{w[0]}" if w[0] in names else w[0], side) for side in sides)
    return eval(f"lambda s: ({text},)")


@lru_cache(maxsize=512)
def _plan(
    kind: type[Struct], shapes: tuple[tuple[int, ...], ...], given: frozenset[str]
) -> tuple[int, list[tuple[str, int]], dict[str, tuple[tuple[int, ...], Any, int]]]:
    """Numbers in the block of a struct, where in it (bytes) each array begins by its member, and the arrays by name.

    Arrays of a cache line and more begin at the beginning of one.
    """
    at, members, views = 0, [], {}
    for field, shape in zip(kind.arrays, shapes):
        if field.own not in given:
            at = on_line(at) if prod(shape) >= LINE else at
            members.append((field.place, 8 * at))
            views[field.own] = (shape, field.dtype, 8 * at)
            at += prod(shape)
    return at, members, views


def zeros(count: int) -> np.ndarray:
    """(count,) zeros from the beginning of a cache line, where vectors of eight do not straddle two lines."""
    block = np.zeros(count + LINE - 1)
    start = -(address(block) // 8) % LINE
    return block[start : start + count]


def on_line(at: int) -> int:
    """The next multiple of LINE."""
    return -(-at // LINE) * LINE


def address(x: np.ndarray) -> int:
    """Address of an array's first number."""
    return x.__array_interface__["data"][0]


def _copied(x: np.ndarray, memo: dict[int, Any]) -> np.ndarray:
    """A copy of x; views of one array become views of one copy."""
    root = x
    while isinstance(root.base, np.ndarray):
        root = root.base
    if id(root) not in memo:
        memo[id(root)] = new = zeros(root.size + LINE)[address(root) // 8 % LINE :][: root.size]
        new.view(root.dtype)[:] = root.ravel()
    return np.ndarray(x.shape, x.dtype, memo[id(root)], address(x) - address(root))
