"""WebAssembly's binary format, as far as an object file of LLVM needs it to become a module.

A file is a list of sections (number, bytes); numbers are LEB128. The object imports its memory, its stack pointer and
its table; the module has them itself and exports them. WebAssembly core specification 2.0, chapter 5; the names of
functions are in the custom section "linking" (tool conventions, Linking.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

TYPE, IMPORT, FUNCTION, TABLE, MEMORY, GLOBAL, EXPORT, ELEMENT, CODE, DATA = 1, 2, 3, 4, 5, 6, 7, 9, 10, 11
DATA_COUNT = 12
PAGE = 1 << 16
I32, FUNCREF = 0x7F, 0x70
_SYMBOLS = 8  # the part of "linking" that has them
_UNDEFINED, _EXPLICIT = 0x10, 0x40  # flags of a symbol
_GAP = 16  # zeros that are worth a new segment


def leb(n: int) -> bytes:
    """An unsigned number.

    >>> leb(624485).hex()
    'e58e26'
    """
    out = bytearray()
    while True:
        n, low = n >> 7, n & 0x7F
        out.append(low | (0x80 if n else 0))
        if not n:
            return bytes(out)


def signed(n: int) -> bytes:
    """A signed number.

    >>> signed(-123456).hex()
    'c0bb78'
    """
    out = bytearray()
    while True:
        low, n = n & 0x7F, n >> 7
        done = (n == 0 and not low & 0x40) or (n == -1 and bool(low & 0x40))
        out.append(low if done else low | 0x80)
        if done:
            return bytes(out)


class Reader:
    """Numbers and names, one after the other."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        n, shift = 0, 0
        while True:
            b = self.byte()
            n |= (b & 0x7F) << shift
            shift += 7
            if b < 0x80:
                return n

    def bytes(self, n: int) -> bytes:
        self.at += n
        return self.data[self.at - n : self.at]

    def name(self) -> str:
        return self.bytes(self.number()).decode()

    def limits(self) -> None:
        flag = self.byte()
        self.number()
        if flag & 1:
            self.number()

    @property
    def more(self) -> bool:
        return self.at < len(self.data)


def sections(code: bytes) -> Iterator[tuple[int, bytes]]:
    """(number, bytes) of each section."""
    if code[:8] != b"\0asm\1\0\0\0":
        raise ValueError("these bytes are not WebAssembly of version 1")
    r = Reader(code, 8)
    while r.more:
        number = r.byte()
        yield number, r.bytes(r.number())


@dataclass(frozen=True)
class Wasm:
    """An object file of LLVM, read."""

    parts: dict[int, bytes]  # sections by number, custom ones left out
    imported: dict[str, bytes]  # functions: what the import section says of their type
    functions: dict[str, int]  # indices of those defined here that others may call

    @staticmethod
    def read(code: bytes) -> Wasm:
        """The object file in these bytes."""
        parts, symbols = {}, b""
        for number, data in sections(code):
            if number:
                parts[number] = data
            else:
                r = Reader(data)
                if r.name() == "linking":
                    symbols = data[r.at :]
        return Wasm(parts, _imports(parts.get(IMPORT, b"\0")), _defined(symbols))

    @property
    def data_end(self) -> int:
        """Where constants end, which begin at 0."""
        end, r = 0, Reader(self.parts.get(DATA, b"\0"))
        for _ in range(r.number()):
            if r.number() != 0 or r.byte() != 0x41:
                raise ValueError("a data segment of the object is not at a constant place in memory 0")
            at = r.number()
            if r.byte() != 0x0B:
                raise ValueError("the place of a data segment is not a plain number")
            size = r.number()
            r.bytes(size)
            end = max(end, at + size)
        return end


def _imports(data: bytes) -> dict[str, bytes]:
    r, out = Reader(data), {}
    for _ in range(r.number()):
        r.name()
        name, kind, start = r.name(), r.byte(), r.at
        if kind == 0:
            r.number()
            out[name] = data[start : r.at]
        elif kind == 1:
            r.byte()
            r.limits()
        elif kind == 2:
            r.limits()
        else:
            r.bytes(2)
            if name != "__stack_pointer":
                raise ValueError(f"the object imports a global variable, {name}")
    return out


def _defined(linking: bytes) -> dict[str, int]:
    r, out = Reader(linking), {}
    r.number()  # version
    while r.more:
        kind, size = r.byte(), r.number()
        end = r.at + size
        if kind == _SYMBOLS:
            for _ in range(r.number()):
                sort, flags = r.byte(), r.number()
                if sort == 1:  # data
                    r.name()
                    if not flags & _UNDEFINED:
                        r.number(), r.number(), r.number()
                elif sort == 3:  # section
                    r.number()
                else:
                    index = r.number()
                    named = not flags & _UNDEFINED or bool(flags & _EXPLICIT)
                    name = r.name() if named else ""
                    if sort == 0 and not flags & _UNDEFINED:
                        out[name] = index
        r.at = end
    return out


def assembled(
    made: Wasm, names: Sequence[str], blocks: Sequence[tuple[int, bytes]], end: int, stack: int, start: int
) -> bytes:
    """A module of an object file: the functions in a table, from 1, blocks of bytes in memory, then a stack.

    `end` is where the blocks end; `start` where they begin: what is below is the object's.
    """
    if made.data_end > start:
        raise ValueError(f"the code has {made.data_end} bytes of constants, and room for {start}")
    top = (max(end, start) + stack + 15) & ~15
    pages = -(-top // PAGE)
    index = [made.functions[name] for name in names]
    exports = [_text(name) + b"\0" + leb(i) for name, i in zip(names, index)]
    exports += [_text("memory") + b"\2\0", _text("table") + b"\1\0"]
    segments = [s for at, data in blocks for s in _segments(at, data)]
    r = Reader(made.parts.get(DATA, b"\0"))
    count = r.number()
    parts = {
        TYPE: made.parts[TYPE],
        IMPORT: _vector([_text("env") + _text(name) + b"\0" + kind for name, kind in made.imported.items()]),
        FUNCTION: made.parts[FUNCTION],
        TABLE: _vector([bytes([FUNCREF, 1]) + leb(len(names) + 1) * 2]),
        MEMORY: _vector([b"\0" + leb(pages)]),
        GLOBAL: _vector([bytes([I32, 1]) + _constant(top)]),
        EXPORT: _vector(exports),
        ELEMENT: _vector([b"\0" + _constant(1) + _vector([leb(i) for i in index])]),
        DATA_COUNT: leb(count + len(segments)),
        CODE: made.parts[CODE],
        DATA: leb(count + len(segments)) + r.data[r.at :] + b"".join(segments),
    }
    order = (TYPE, IMPORT, FUNCTION, TABLE, MEMORY, GLOBAL, EXPORT, ELEMENT, DATA_COUNT, CODE, DATA)
    return b"\0asm\1\0\0\0" + b"".join(bytes([k]) + leb(len(parts[k])) + parts[k] for k in order)


def _segments(at: int, data: bytes) -> Iterator[bytes]:
    """Data segments of a block, without its longer runs of zeros: memory is zero at first."""
    begin = 0
    while begin < len(data):
        if not data[begin]:
            begin += 1
            continue
        end = data.find(bytes(_GAP), begin)
        end = len(data) if end < 0 else end
        yield b"\0" + _constant(at + begin) + leb(end - begin) + data[begin:end]
        begin = end


def _vector(items: Sequence[bytes]) -> bytes:
    return leb(len(items)) + b"".join(items)


def _text(name: str) -> bytes:
    return leb(len(name.encode())) + name.encode()


def _constant(n: int) -> bytes:
    """The expression that is a number of 32 bits."""
    return b"\x41" + signed(n) + b"\x0b"
