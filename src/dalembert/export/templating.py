"""Templates of C: conditions that are decided here, and words that stand for values.

A template is C for a mechanism called "mechanism". `#if HAS_X` … `#else` … `#endif` are decided by flags; other
conditions are left to the compiler.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def template(name: str) -> str:
    """The text of a template."""
    return files("dalembert.export").joinpath("templates", name).read_text(encoding="utf-8")


def decided(text: str, flags: Mapping[str, bool]) -> str:
    """The text with conditions on flags decided.

    >>> decided("#if HAS_A\\na\\n#else\\n#if 1\\nb\\n#endif\\n#endif\\n", {"HAS_A": False})
    '#if 1\\nb\\n#endif\\n'
    """
    out: list[str] = []
    stack: list[tuple[bool, bool]] = []  # whether it is decided here, and whether lines are kept now
    for line in text.splitlines(keepends=True):
        words = line.split()
        first = words[0] if words else ""
        ours = False
        if first in ("#if", "#ifdef", "#ifndef"):
            ours = first == "#if" and len(words) == 2 and words[1] in flags
            stack.append((ours, not ours or flags[words[1]]))
        elif first == "#else" and stack[-1][0]:
            ours = True
            stack[-1] = True, not stack[-1][1]
        elif first == "#endif":
            ours = stack.pop()[0]
        if not ours and all(keep for _, keep in stack):
            out.append(line)
    return "".join(out)


def filled(text: str, words: Mapping[str, str]) -> str:
    """The text with words replaced: whole ones, and those ending with an underscore where names begin with them."""
    if not words:
        return text
    ends = (re.escape(w) if w.endswith("_") else rf"{re.escape(w)}\b" for w in sorted(words, key=len, reverse=True))
    return re.sub(rf"\b(?:{'|'.join(ends)})", lambda m: words[m.group(0)], text)
