"""The reference as pages: docs/reference.md lists every public name by subject; each class gets a page of its own.

Pages of subjects hold their functions and a table of their classes. In all pages of the site, names of public classes
and functions in code become links to where they are described.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Mapping
from pkgutil import resolve_name
from typing import NamedTuple

ENTRY = re.compile(r"^::: (\S+)\n((?:    .*\n)*)", re.M)


class Entry(NamedTuple):
    """A public name and how it is shown."""

    path: str  # dotted
    options: str  # indented lines of mkdocstrings

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def target(self) -> object:
        """What the name stands for."""
        return resolve_name(self.path)

    @property
    def first(self) -> str:
        """The first line of its docstring."""
        return (inspect.getdoc(self.target) or "").partition("\n")[0].replace("|", "\\|")


class Subject(NamedTuple):
    """A section of the list."""

    title: str
    text: str  # beside its entries
    entries: tuple[Entry, ...]

    @property
    def slug(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")

    def of(self, classes: bool) -> list[Entry]:
        """Its classes, or its other names."""
        return [e for e in self.entries if inspect.isclass(e.target) == classes]


def subjects(listing: str) -> list[Subject]:
    """The sections of docs/reference.md."""
    out = []
    for part in re.split(r"^## ", listing, flags=re.M)[1:]:
        title, _, body = part.partition("\n")
        found = tuple(Entry(path, options) for path, options in ENTRY.findall(body + "\n"))
        text = re.sub(r"\n{3,}", "\n\n", ENTRY.sub("", body + "\n")).strip()
        out.append(Subject(title.strip(), text, found))
    return out


def pages(listing: str) -> dict[str, str]:
    """{address: Markdown} of all pages that are made of the list."""
    out = {}
    for subject in subjects(listing):
        rows = [f"| [`{e.name}`]({subject.slug}/{e.name}.md) | {e.first} |" for e in subject.of(classes=True)]
        table = ["| class | |", "|---|---|", *rows] if rows else []
        functions = [f"::: {e.path}\n{e.options}" for e in subject.of(classes=False)]
        parts = [f"# {subject.title}", subject.text, "\n".join(table), *functions]
        out[f"reference/{subject.slug}.md"] = "\n\n".join(x for x in parts if x) + "\n"
        for e in subject.of(classes=True):
            back = f"[{subject.title}](../{subject.slug}.md)"
            out[f"reference/{subject.slug}/{e.name}.md"] = f"# {e.name}\n\n{back}\n\n::: {e.path}\n{e.options}\n"
    return out


def overview(listing: str) -> str:
    """The first page of the reference: subjects, and every name with a line."""
    parts = [re.split(r"^## ", listing, maxsplit=1, flags=re.M)[0].rstrip()]
    for subject in subjects(listing):
        parts.append(f"## [{subject.title}](reference/{subject.slug}.md)")
        rows = [f"| [`{e.name}`]({where}) | {e.first} |" for e, where in _places(subject)]
        parts.append("\n".join(["| | |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def addresses(listing: str) -> dict[str, str]:
    """{name: address of its page, from the root of the site}; names that two subjects have are left out."""
    found: dict[str, list[str]] = {}
    for subject in subjects(listing):
        for e, where in _places(subject):
            page, _, anchor = where.partition("#")
            found.setdefault(e.name, []).append(_html(page) + (f"#{anchor}" if anchor else ""))
    return {name: places[0] for name, places in found.items() if len(places) == 1}


def linked(html: str, known: Mapping[str, str], here: str) -> str:
    """HTML of a page at the address `here`, with public names in code as links."""

    def link(found: re.Match[str]) -> str:
        name = found[1].removeprefix("da.")
        if name not in known or known[name].partition("#")[0] == here:
            return found[0]
        place, _, anchor = known[name].partition("#")
        away = os.path.relpath(place, os.path.dirname(here) or ".").replace(os.sep, "/")
        return f'<a href="{away}{"#" + anchor if anchor else ""}"><code>{found[1]}</code></a>'

    return re.sub(r"(?<!<pre>)(?<!\">)<code>((?:da\.)?[A-Za-z_]\w*)</code>(?!</a>)", link, html)


def _places(subject: Subject) -> list[tuple[Entry, str]]:
    """Where each name of a subject is described, from the first page of the reference."""
    own = {e.path for e in subject.of(classes=True)}
    return [
        (e, f"reference/{subject.slug}/{e.name}.md" if e.path in own else f"reference/{subject.slug}.md#{e.path}")
        for e in subject.entries
    ]


def _html(page: str) -> str:
    return page.removesuffix(".md") + ".html"
