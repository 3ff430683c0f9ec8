"""Examples in docstrings, shown as code on the reference page: a doctest becomes a fenced block."""

from typing import Any

import griffe


class ExamplesAsCode(griffe.Extension):
    """Loaded by mkdocstrings; see mkdocs.yml."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of a function, class or module."""
        if obj.docstring is not None and not isinstance(obj, griffe.Alias):
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The text with each run of doctest lines, up to a blank one, in a fence."""
    out: list[str] = []
    inside = False
    for line in text.splitlines():
        if not inside and line.lstrip().startswith(">>>"):
            out += ["", "```python"]
            inside = True
        elif inside and not line.strip():
            out.append("```")
            inside = False
        out.append(line)
    return "\n".join([*out, "```"] if inside else out)
