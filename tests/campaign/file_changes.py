"""Changes of a text: bytes, words, lines, and elements or values of what it says."""

from __future__ import annotations

import copy
import json
import random
import re
import string
from functools import cache
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import forged_runs
from dalembert.formats import yaml

WORDS = [
    "nan", "inf", "-1", "0", "1e400", "1e308", "1e-320", "1 2", "", "world", "ground", "../x", "/etc/passwd", "a.b",
    "::", "true", "null", "[]", "{}", "&amp;", "&x;", "<", ">", '"', "'", "]]>", "<!--", "<!DOCTYPE a>", "\0", "\u2028",
    "é", "!!python/name:os", "*a", "&a", "- ", ": ", "fixed", "ball", "free", "revolute", "universal", "x" * 3000,
    "9" * 400,
]  # fmt: skip
VALUES = [x for x in WORDS if x.isprintable() and "<" not in x] + ["0.1 0 0 1", "1 0 0", "0 0 0", "mesh.stl", "model"]

QUOTE = {'"': "&quot;"}


def bytes_changed(data: bytes, r: random.Random) -> bytes:
    """Some bytes other ones, a stretch taken away or repeated, the end cut off."""
    out = bytearray(data)
    for _ in range(r.choice([1, 1, 2, 8])):
        a, n, kind = r.randrange(len(out) + 1), r.choice([1, 4, 64, 1000]), r.randrange(5)
        if kind == 0 and out:
            out[a % len(out)] ^= 1 << r.randrange(8)
        elif kind == 1:
            out[a : a + n] = r.randbytes(n)
        elif kind == 2:
            del out[a : a + n]
        elif kind == 3:
            out[a:a] = out[r.randrange(len(out) + 1) :][:n]
        else:
            del out[a:]
    return bytes(out)


def words_changed(data: bytes, r: random.Random) -> bytes:
    """Names, numbers and values exchanged with one another, or with words that mean trouble."""
    text = data.decode()
    known = re.findall(r"[\w.+-]+", text)
    for _ in range(r.choice([1, 1, 2, 3])):
        found = list(re.finditer(r"[\w.+-]+", text))
        if not found:
            break
        x = r.choice(found)
        new = r.choice(WORDS) if r.random() < 0.5 else r.choice(known)
        text = text[: x.start()] + new + text[x.end() :]
    return text.encode(errors="replace")


def lines_changed(data: bytes, r: random.Random) -> bytes:
    """Lines, and stretches of them, exchanged, doubled, taken away, or deep inside one another."""
    lines = data.decode().split("\n")
    for _ in range(r.choice([1, 1, 2, 4])):
        a, b, n = r.randrange(len(lines)), r.randrange(len(lines)), r.choice([1, 1, 3, 10])
        kind = r.randrange(5)
        if kind == 0:
            lines[a], lines[b] = lines[b], lines[a]
        elif kind == 1:
            lines[a:a] = lines[b : b + n]
        elif kind == 2 and len(lines) > n:
            del lines[a : a + n]
        elif kind == 3:
            lines[a:a] = lines[b : b + n] * 30
        else:
            lines[a] += r.choice(string.punctuation)
        lines = lines or [""]
    return "\n".join(lines).encode()


def structure_changed(data: bytes, r: random.Random) -> bytes:
    """Values, elements and branches of what the text says other ones: the text is well-formed after it."""
    if data.lstrip().startswith(b"<"):
        return _elements_changed(data, r)
    if b"return {" in data or b"PART/" in data:  # Lua, Adams: one of the others
        return r.choice((bytes_changed, words_changed, lines_changed))(data, r)
    facts = json.loads(_as_json(data))
    for _ in range(r.choice([1, 1, 2, 3])):
        forged_runs._change(facts, r)
    return json.dumps(facts).encode(errors="replace")  # which is YAML, too


CHANGES = (bytes_changed, words_changed, lines_changed, *[structure_changed] * 6)


@cache
def _as_json(data: bytes) -> str:
    return json.dumps(yaml.loads(data.decode(), "good"))


@cache
def _tree(data: bytes) -> ElementTree.Element:
    return ElementTree.fromstring(re.sub(rb"(</?|\s)drake:(?=\w)", rb"\1drake.", data))


def _elements_changed(data: bytes, r: random.Random) -> bytes:
    root = copy.deepcopy(_tree(data))
    for _ in range(r.choice([1, 1, 2, 3])):
        every = list(root.iter())
        a, b = r.choice(every), r.choice(every)
        kind = r.randrange(8)
        if kind < 4:
            _value_changed(a, every, r)
        elif kind == 4 and a.attrib:
            del a.attrib[r.choice(list(a.attrib))]
        elif kind == 5 and a is not root:
            next(e for e in every if a in list(e)).remove(a)
        elif kind == 6:
            a.append(copy.deepcopy(b))
        else:
            a.tag = b.tag
    parts: list[str] = []
    _write(root, parts)
    return "".join(parts).replace("<drake.", "<drake:").replace("</drake.", "</drake:").encode(errors="replace")


def _write(e: Any, parts: list[str]) -> None:
    """XML without indentation; faster than the library's."""
    head = "".join([f' {name}="{escape(value, QUOTE)}"' for name, value in e.attrib.items()])
    parts.append(f"<{e.tag}{head}>{escape(e.text or '')}")
    for child in e:
        _write(child, parts)
    parts.append(f"</{e.tag}>\n")


def _value_changed(a: Any, every: list[Any], r: random.Random) -> None:
    """One attribute of an element, or its text, another one; or one word of it."""
    known = [x for e in every for x in e.attrib.values()]
    new = str(r.choice(VALUES)) if r.random() < 0.6 else r.choice(known or VALUES)
    keys = [*a.attrib, *(["text of it"] if (a.text or "").strip() else [])]
    if not keys:
        return
    key = r.choice(keys)
    old = (a.text if key == "text of it" else a.attrib[key]).split() or [""]
    k = r.randrange(len(old))
    value = " ".join([*old[:k], new, *old[k + 1 :]]) if r.random() < 0.5 else new
    if key == "text of it":
        a.text = value
    else:
        a.set(key, value)
