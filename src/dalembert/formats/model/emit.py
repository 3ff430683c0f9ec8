"""Data as YAML text for people: sections apart, vectors and short mappings on one line, numbers exact."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any

from dalembert.formats.yaml import resolved

WIDTH = 110
_PLAIN = re.compile(r"(?:[\w(/$.]|[-+](?=[^\s]))[^#:{}&!|\"%@`\\]*")
_FLOW = re.compile(r"[^\[\],]*")


def yaml_text(data: dict[str, Any], head: str = "") -> str:
    """The YAML text of a mapping; an empty line before every section that holds elements."""
    return "\n".join([*([head] if head else []), *_spaced([_section(k, v) for k, v in data.items()])]) + "\n"


def _section(key: str, value: Any) -> list[str]:
    block = _entry(key, value, "")
    if len(block) == 1 or not isinstance(value, dict):
        return block
    return [block[0], *_spaced([_entry(k, v, "  ") for k, v in value.items()])]


def _spaced(blocks: list[list[str]]) -> list[str]:
    """Blocks one after the other, with an empty line around those of several lines."""
    out: list[str] = []
    for k, block in enumerate(blocks):
        if k and (len(block) > 1 or len(blocks[k - 1]) > 1):
            out.append("")
        out += block
    return out


def _entry(key: str, value: Any, indent: str) -> list[str]:
    """The lines of a key and its value."""
    start = f"{indent}{_text(key)}:"
    if isinstance(value, str):
        return [f"{start} {_text(value, flow=False)}"]
    if value == {}:
        return [f"{start} {{}}"]
    line = f"{start} {_flow(value)}"
    if not isinstance(value, (dict, list)) or (len(line) <= WIDTH and _is_short(value)):
        return [line]
    if isinstance(value, dict):
        return [start, *(x for k, v in value.items() for x in _entry(k, v, indent + "  "))]
    return [start, *(x for v in value for x in _item(v, indent + "  "))]


def _item(value: Any, indent: str) -> list[str]:
    line = f"{indent}- {_flow(value)}"
    if not isinstance(value, (dict, list)) or len(line) <= WIDTH or not value:
        return [line]
    if isinstance(value, list):
        inner = [x for v in value for x in _item(v, indent + "  ")]
    else:
        inner = [x for k, v in value.items() for x in _entry(k, v, indent + "  ")]
    return [f"{indent}- {inner[0].lstrip()}", *inner[1:]]


def _is_short(value: Any) -> bool:
    """Whether it reads well on one line: vectors, and mappings of few plain values."""
    if isinstance(value, list):
        return True
    return len(value) <= 3 and not any(isinstance(v, dict) for v in value.values())


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(k)}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    return _number(value)


def _number(x: float) -> str:
    """The shortest digits that give it back; with a point before an exponent, as older readers of YAML need it."""
    assert isfinite(x)
    if isinstance(x, float) and x == int(x) and abs(x) < 1e15 and str(x) != "-0.0":
        return str(int(x))
    text = repr(x)
    return re.sub(r"^(-?\d+)e", r"\1.0e", text)


def _text(text: str, flow: bool = True) -> str:
    """A text as it is where no reader can take it for something else, else in double quotes.

    flow: it may stand in a list or mapping on one line.
    """
    plain = _PLAIN.fullmatch(text) is not None and text == text.strip() and isinstance(resolved(text), str)
    plain = plain and text.lower() not in ("yes", "no", "on", "off") and not text.startswith("---")
    plain = plain and (not flow or _FLOW.fullmatch(text) is not None)
    return text if plain else json.dumps(text, ensure_ascii=False)
