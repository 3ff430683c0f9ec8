"""Structs shared by Python and native code: declared once, read by the same names on both sides.

    class Spring(Struct):
        n = Int()
        stiffness = Float()
        force = Doubles("n")             # an array of n doubles; "n", "n + m", "max(m, n, 1)" are evaluated at each access
        next = Part(lambda: Spring)      # another struct, by its address

In Python a struct owns references to its arrays and parts, so their memory lives as long as it does. Native code holds
one pointer (`native.numba_struct`): `s.stiffness`, `s.force[i]`, `s.next.n` read the same memory. Native code may set
numbers; only Python sets arrays and parts.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from math import prod
from typing import Any, ClassVar, TypeVar

import numpy as np

S = TypeVar("S", bound="Struct")


class Field:
    """A field of a struct; a subclass says what Python sees of it."""

    name: str
    ctype: Any = ctypes.c_int64

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name


class Int(Field):
    """A whole number."""

    def __get__(self, struct: Any, owner: Any = None) -> int:
        return getattr(struct._memory, self.name)

    def __set__(self, struct: Any, value: int) -> None:
        setattr(struct._memory, self.name, value)


class Float(Field):
    """A double."""

    ctype = ctypes.c_double

    def __get__(self, struct: Any, owner: Any = None) -> float:
        return getattr(struct._memory, self.name)

    def __set__(self, struct: Any, value: float) -> None:
        setattr(struct._memory, self.name, value)


class Doubles(Field):
    """An array of doubles, whose shape is given by expressions in the struct's whole numbers."""

    dtype: Any = np.float64

    def __init__(self, *shape: str) -> None:
        self.shape = shape
        self.sides: Callable[[Any], tuple[int, ...]]  # of a struct's memory

    def __get__(self, struct: Any, owner: Any = None) -> np.ndarray:
        return struct._held[self.name]

    def __set__(self, struct: Any, value: np.ndarray) -> None:
        if value.dtype != self.dtype or not value.flags.c_contiguous:
            raise TypeError(f"{type(struct).__name__}.{self.name} needs a dense {np.dtype(self.dtype)} array")
        struct._held[self.name] = value
        setattr(struct._memory, self.name, address(value))


class Ints(Doubles):
    """An array of whole numbers."""

    dtype = np.int64


class Part(Field):
    """Another struct, by its address. `kind` returns the class, so that a struct may name one declared later."""

    def __init__(self, kind: Callable[[], type[Struct]]) -> None:
        self.kind = kind

    def __get__(self, struct: Any, owner: Any = None) -> Any:
        return struct._held[self.name]

    def __set__(self, struct: Any, value: Struct) -> None:
        struct._held[self.name] = value
        setattr(struct._memory, self.name, ctypes.addressof(value._memory))


class Struct:
    """A record in memory that Python and native code share; see the head of this file."""

    __slots__ = ("__weakref__", "_held", "_memory")
    fields: ClassVar[dict[str, Field]] = {}
    layout: ClassVar[Any] = None  # the ctypes structure
    arrays: ClassVar[tuple[Doubles, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls.fields = {**cls.fields, **{k: f for k, f in vars(cls).items() if isinstance(f, Field)}}
        members = [(name, field.ctype) for name, field in cls.fields.items()]
        cls.layout = type(cls.__name__, (ctypes.Structure,), {"_fields_": members})
        cls.arrays = tuple(f for f in cls.fields.values() if isinstance(f, Doubles))
        for field in cls.arrays:
            field.sides = _shape_function(field.shape, members)

    def __init__(self, **values: Any) -> None:
        self._memory: Any = self.layout()
        self._held: dict[str, Any] = {}
        for name, value in values.items():
            if name not in self.fields:
                raise TypeError(f"{type(self).__name__} has no field '{name}'")
            setattr(self, name, value)

    @classmethod
    def sized(cls: type[S], **values: Any) -> S:
        """A struct with all its arrays, zeroed and in one block of memory, for the sizes given by name."""
        struct = cls(**values)
        memory, held = struct._memory, struct._held
        shapes = [(f, f.sides(memory)) for f in cls.arrays if f.name not in held]
        counts = [prod(shape) for _, shape in shapes]
        block, at = np.zeros(sum(counts)), 0
        start = address(block)
        for (field, shape), count in zip(shapes, counts):
            part = block[at : at + count]
            held[field.name] = (part if field.dtype is np.float64 else part.view(field.dtype)).reshape(shape)
            setattr(memory, field.name, start + 8 * at)
            at += count
        return struct

    def numbers(self, *names: str) -> list[Any]:
        """Several numbers by name: cheaper than one by one."""
        memory = self._memory
        return [getattr(memory, name) for name in names]

    def set(self, **numbers: float) -> None:
        """Set several numbers by name."""
        memory = self._memory
        for name, value in numbers.items():
            setattr(memory, name, value)

    @property
    def pointer(self) -> int:
        """Address of the record, for native code."""
        return ctypes.addressof(self._memory)

    def copy(self: S, memo: dict[int, Any] | None = None) -> S:
        """The same numbers in memory of their own, arrays and parts included; arrays that share memory still do."""
        memo = {} if memo is None else memo
        if id(self) in memo:
            return memo[id(self)]
        other = object.__new__(type(self))
        memo[id(self)] = other
        other._memory, other._held = self.layout.from_buffer_copy(self._memory), {}
        for name, held in self._held.items():
            if isinstance(held, Struct):
                setattr(other, name, held.copy(memo))
            elif name in self.fields:
                place = getattr(self._memory, name)
                other._held[name], moved = _copied(held, place, memo)
                setattr(other._memory, name, moved)
            else:
                other._held[name] = held
        return other


def _shape_function(sides: tuple[str, ...], members: list[tuple[str, Any]]) -> Callable[[Any], tuple[int, ...]]:
    """The shape of an array as a function of its struct's memory."""
    names = {name for name, _ in members}
    text = ", ".join(re.sub(r"[A-Za-z_]\w*", lambda w: f"s.{w[0]}" if w[0] in names else w[0], side) for side in sides)
    return eval(f"lambda s: ({text},)")


def address(x: np.ndarray) -> int:
    """Address of an array's first number."""
    return x.__array_interface__["data"][0]


def _copied(x: np.ndarray, place: int, memo: dict[int, Any]) -> tuple[np.ndarray, int]:
    """A copy of x, which is at this address, and the copy's address; views of one array become views of one copy."""
    root = x
    while isinstance(root.base, np.ndarray):
        root = root.base
    if id(root) not in memo:
        copy = root.copy()
        memo[id(root)] = copy, address(root), address(copy)
    copy, before, after = memo[id(root)]
    return np.ndarray(x.shape, x.dtype, copy, place - before), after + place - before
