"""Structs inside Numba: one pointer, whose attributes are the fields. Importing this imports Numba."""

from __future__ import annotations

import ast
import ctypes
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.datamodel import models, register_default
from numba.core.imputils import lower_getattr_generic, lower_setattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import intrinsic

from dalembert.native.struct import Doubles, Embedded, Float, Ints, Opaque, Struct, StructField, StructPart

BYTES = ir.IntType(8).as_pointer()
WORD, DOUBLE = ir.IntType(64), ir.DoubleType()


class StructType(types.Type):
    """Numba's type of a pointer to a struct."""

    def __init__(self, kind: type[Struct]) -> None:
        self.kind = kind
        fields = ", ".join(f"{n}: {type(f).__name__}" for n, f in kind.fields.items())
        super().__init__(name=f"{kind.__module__}.{kind.__qualname__}({fields})")


@register_default(StructType)
class _Pointer(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, BYTES)


def _type(field: StructField) -> Any:
    if isinstance(field, Opaque):
        return types.int64
    if isinstance(field, Embedded):
        return StructType(field.kind)
    if isinstance(field, StructPart):
        return StructType(field.kind())
    if isinstance(field, Doubles):
        item = types.int64 if isinstance(field, Ints) else types.float64
        return types.Array(item, len(field.shape), "C")
    return types.float64 if isinstance(field, Float) else types.int64


@infer_getattr
class _Attributes(AttributeTemplate):
    key = StructType

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]
        field = kind.kind.fields.get(name)
        return None if field is None else _type(field)


def _place(builder: Any, kind: Any, pointer: Any, name: str, item: Any) -> Any:
    """Pointer to a field."""
    return builder.bitcast(_inside(builder, kind.kind, pointer, name), item.as_pointer())


def _inside(builder: Any, kind: type[Struct], pointer: Any, name: str) -> Any:
    """Pointer to the bytes of a field."""
    return builder.gep(pointer, [WORD(getattr(kind, kind.fields[name].place).offset)])


@lower_getattr_generic(StructType)
def _get(context: Any, builder: Any, kind: Any, pointer: Any, name: str) -> Any:
    field = kind.kind.fields[name]
    if isinstance(field, Embedded):
        return _inside(builder, kind.kind, pointer, name)
    if isinstance(field, Float):
        return builder.load(_place(builder, kind, pointer, name, DOUBLE))
    word = builder.load(_place(builder, kind, pointer, name, WORD))
    if isinstance(field, StructPart) and not isinstance(field, Opaque):
        return builder.inttoptr(word, BYTES)
    if not isinstance(field, Doubles):
        return word
    array = _type(field)
    sides = [_side(builder, kind, pointer, ast.parse(side, mode="eval").body) for side in field.shape]
    strides = [WORD(8)]
    for side in reversed(sides[1:]):
        strides.insert(0, builder.mul(side, strides[0]))
    out = context.make_array(array)(context, builder)
    data = builder.inttoptr(word, context.get_value_type(array.dtype).as_pointer())
    context.populate_array(out, data=data, shape=sides, strides=strides, itemsize=WORD(8), meminfo=None)
    return out._getvalue()


def _side(builder: Any, kind: Any, pointer: Any, node: Any) -> Any:
    """The length of one side of an array: a name, a number, sums, products, `max` and `min` of such."""

    def value(n: Any) -> Any:
        return _side(builder, kind, pointer, n)

    if isinstance(node, ast.Constant):
        return WORD(node.value)
    if isinstance(node, ast.Name):
        return builder.load(_place(builder, kind, pointer, node.id, WORD))
    if isinstance(node, ast.Attribute):
        assert isinstance(node.value, ast.Name)
        part = kind.kind.fields[node.value.id]
        inner = _inside(builder, kind.kind, pointer, node.value.id)
        return builder.load(_place(builder, StructType(part.kind), inner, node.attr, WORD))
    if isinstance(node, ast.BinOp):
        make = {ast.Add: builder.add, ast.Mult: builder.mul, ast.Sub: builder.sub}[type(node.op)]
        return make(value(node.left), value(node.right))
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    sign = {"max": ">", "min": "<"}[node.func.id]
    best, *rest = [value(n) for n in node.args]
    for other in rest:
        best = builder.select(builder.icmp_signed(sign, best, other), best, other)
    return best


@lower_setattr_generic(StructType)
def _set(context: Any, builder: Any, signature: Any, args: Any, name: str) -> None:
    kind = signature.args[0]
    field = kind.kind.fields[name]
    if isinstance(field, Embedded):  # word by word, so that copies that nobody reads vanish
        there = _inside(builder, kind.kind, args[0], name)
        for at in range(0, ctypes.sizeof(field.kind), 8):
            word = builder.load(builder.bitcast(builder.gep(args[1], [WORD(at)]), WORD.as_pointer()))
            builder.store(word, builder.bitcast(builder.gep(there, [WORD(at)]), WORD.as_pointer()))
        return
    if isinstance(field, (Doubles, StructPart)):
        raise NotImplementedError(f"native code sets numbers only; {kind}.{name} is an array or a struct")
    item = DOUBLE if isinstance(field, Float) else WORD
    builder.store(args[1], _place(builder, kind, args[0], name, item))


def struct_at(kind: type[Struct]) -> Any:
    """A native function that reads an address as a struct of this kind."""

    def at(typingctx: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], BYTES)

        return StructType(kind)(types.int64), codegen

    return intrinsic(at)
