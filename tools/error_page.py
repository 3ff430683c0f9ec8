"""Every sentence of an error, from the source, as one page that search finds."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

HEAD = """# Messages

What the library says where something is wrong, from its source. `‹…›` stands for a name or a number of yours. Each
sentence says what was found, what is needed, and where; search finds them by their words.
"""


def sentences(package: Path) -> dict[str, list[tuple[str, str]]]:
    """{part of the package: [(kind of the error, its sentence)]}, in the order of the source, each once."""
    kinds = {
        node.name for node in ast.parse((package / "errors.py").read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }  # fmt: skip
    out: dict[str, list[tuple[str, str]]] = {}
    for path in sorted(package.rglob("*.py")):
        part = path.relative_to(package).parts[0].removesuffix(".py")
        for one in _raised(ast.parse(path.read_text(encoding="utf-8")), kinds):
            if one not in out.setdefault(part, []):
                out[part].append(one)
    return {part: found for part, found in out.items() if found}


def page(by_part: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    """The page, as Markdown, of what `sentences` has found."""
    parts = [HEAD]
    for part, found in by_part.items():
        rows = [f"- `{kind}`: {_escaped(text)}" for kind, text in found]
        parts.append(f"## {part}\n\n" + "\n".join(rows))
    return "\n\n".join(parts) + "\n"


def _raised(tree: ast.AST, kinds: set[str]) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        call = node.exc if isinstance(node, ast.Raise) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in kinds:
            continue
        text = _text(call.args[0]) if call.args else ""
        if len(text.replace("‹…›", "").split()) > 3:  # more than placeholders
            yield call.func.id, text


def _text(node: ast.expr) -> str:
    """The text of a string or of an f-string, with ‹…› for what is put in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(x) if isinstance(x, ast.Constant) else f"‹{_named(x)}›" for x in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    return "‹…›"


def _named(node: ast.expr) -> str:
    """A name that is put in, where it is one."""
    value = node.value if isinstance(node, ast.FormattedValue) else node
    while isinstance(value, ast.Attribute):
        value = ast.Name(value.attr)
    return value.id if isinstance(value, ast.Name) else "…"


def _escaped(text: str) -> str:
    for mark in "\\`*_{}[]<>#|":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())
