"""Names of a mechanism as identifiers of C."""

from __future__ import annotations

import re
from collections.abc import Iterable

KEYWORDS = frozenset(
    (
        "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
        "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed",
        "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "asm",
        "bool", "class", "delete", "export", "false", "friend", "namespace", "new", "operator", "private", "protected",
        "public", "real", "template", "this", "throw", "true", "try", "using", "virtual",
    )
)  # fmt: skip


def identifier(name: str) -> str:
    """A name in letters, digits and underscores.

    >>> identifier("four-bar"), identifier("left[0]"), identifier("3rrr"), identifier("φ")
    ('four_bar', 'left_0', 'x3rrr', 'x')
    """
    text = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "x"
    text = f"x{text}" if text[0].isdigit() else text
    return f"{text}_" if text in KEYWORDS else text


def identifiers(names: Iterable[str]) -> list[str]:
    """One for each name, all different.

    >>> identifiers(["a.b", "a b", "c"])
    ['a_b', 'a_b_2', 'c']
    """
    out: list[str] = []
    for name in names:
        base = found = identifier(name)
        k = 2
        while found.upper() in {x.upper() for x in out}:
            found, k = f"{base}_{k}", k + 1
        out.append(found)
    return out
