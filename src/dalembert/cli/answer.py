"""Answers of commands, and their forms: a text for people; JSON, CSV and Arrow for programs."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from dalembert.cli.exits import Exit

Columns = Mapping[str, Sequence[Any]]
#: suffix of a file: the form of the answer in it
FORMS = {"": "text", ".txt": "text", ".json": "json", ".csv": "csv", ".arrow": "arrow"}


@dataclass
class Answer:
    """The answer of a command."""

    text: str  # for people
    facts: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, Columns] = field(default_factory=dict)  # the first is what CSV and Arrow hold
    code: Exit = Exit.DONE
    complaint: str = ""  # a sentence for stderr, where the answer is not what was asked for
    run: Any = None  # a `Run`, whose own file format is an Arrow stream

    def as_json(self) -> str:
        """Facts and tables."""
        return json.dumps(_plain({**self.facts, **self.tables}), ensure_ascii=False)

    def as_csv(self) -> str:
        """The main table; numbers with all their digits."""
        columns, out = self.main, io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(_listed(x) for x in columns.values())))
        return out.getvalue()

    def as_arrow(self) -> bytes:
        """The main table as an Arrow stream, its facts in the key "dalembert" of the schema; of a run its file."""
        from dalembert.errors import extra

        pa = extra("pyarrow", "files", "--arrow")
        if self.run is not None:
            with tempfile.TemporaryDirectory() as folder:
                self.run.save(Path(folder) / "run.arrow")
                return (Path(folder) / "run.arrow").read_bytes()
        table = pa.table({name: _listed(x) for name, x in self.main.items()})
        table = table.replace_schema_metadata({"dalembert": json.dumps(_plain(self.facts), ensure_ascii=False)})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return sink.getvalue().to_pybytes()

    @property
    def main(self) -> Columns:
        """The main table; of an answer without one, its facts."""
        for columns in self.tables.values():
            return columns
        plain = {name: x for name, x in _plain(self.facts).items() if not isinstance(x, dict | list)}
        return {"name": list(plain), "value": ["" if x is None else str(x) for x in plain.values()]}


@dataclass
class Output:
    """Where an answer goes, and in which form."""

    form: str  # "text", "json", "csv" or "arrow"
    path: Path | None

    @classmethod
    def chosen(cls, flags: Mapping[str, bool], path: Path | None) -> Output:
        """From the options --json, --csv, --arrow and --output."""
        asked = [form for form, wanted in flags.items() if wanted]
        if len(asked) > 1:
            raise click.UsageError(f"--{asked[0]} and --{asked[1]} exclude each other.")
        suffix = path.suffix.lower() if path is not None else ""
        if not asked and suffix not in FORMS:
            known = ", ".join(f for f in FORMS if f)
            raise click.UsageError(f"'{path}' has the suffix '{suffix}', which says no form; needed: {known}, or none.")
        out = cls(asked[0] if asked else FORMS[suffix], path)
        if out.form == "arrow" and path is None and sys.stdout.isatty():
            raise click.UsageError("--arrow gives bytes, which a terminal cannot show; add --output FILE.")
        return out

    def write(self, answer: Answer) -> int:
        """Write an answer; returns its exit code."""
        text: str | bytes = answer.text + "\n"
        if self.form == "json":
            text = answer.as_json() + "\n"
        elif self.form == "csv":
            text = answer.as_csv()
        elif self.form == "arrow":
            text = answer.as_arrow()
        if self.path is not None:
            save(self.path, text)
        else:
            click.echo(text, nl=False)
        if answer.complaint:
            click.echo(f"dalembert: {answer.complaint}", err=True)
        return int(answer.code)


def save(path: Path, text: str | bytes) -> None:
    """Write a file in one piece: an older one stays whole until the new one is."""
    from dalembert.disk.atomic import replacing
    from dalembert.errors import FileError

    try:
        with replacing(path) as new:
            new.write_bytes(text.encode() if isinstance(text, str) else text)
    except OSError as error:
        raise FileError(f"'{path}' cannot be written: {error.strerror}.") from error


def grid(columns: Columns, most: int = 40) -> str:
    """A table for people: numbers with six digits, at most so many rows, the middle ones left out.

    Columns that a terminal has no room for come below, each time behind the first one.

    >>> print(grid({"name": ["A", "B"], "value": [0.5, 2 / 3]}))
    name     value
    A          0.5
    B     0.666667
    """
    cells = [[_cell(x) for x in _listed(column)] for column in columns.values()]
    count = len(cells[0]) if cells else 0
    shown = list(range(count))
    if count > most:
        shown = sorted({round(k * (count - 1) / (most - 1)) for k in range(most)})
    widths = [max([len(name), *(len(column[k]) for k in shown)]) for name, column in zip(columns, cells)]
    left = [all(isinstance(x, str) for x in _listed(column)) for column in columns.values()]
    rows = [list(columns), *([column[k] for column in cells] for k in shown)]
    texts = [[f"{x:<{w}}" if l else f"{x:>{w}}" for x, w, l in zip(row, widths, left)] for row in rows]
    blocks = _blocks(widths, _room())
    return "\n\n".join("\n".join("  ".join(row[k] for k in block).rstrip() for row in texts) for block in blocks)


def _blocks(widths: list[int], room: int | None) -> list[list[int]]:
    """Which columns stand beside each other in so many characters: the first one and others, at least one."""
    blocks = [list(range(len(widths)))[:1]]
    for k in range(1, len(widths)):
        taken = sum(widths[j] + 2 for j in blocks[-1]) + widths[k]
        if room is not None and taken > room and len(blocks[-1]) > 1:
            blocks.append([0])
        blocks[-1].append(k)
    return blocks


def _room() -> int | None:
    """The width of the terminal that an answer goes to; None where it goes to a file or a program."""
    context = click.get_current_context(silent=True)
    if not sys.stdout.isatty() or (context is not None and context.params.get("output") is not None):
        return None
    return shutil.get_terminal_size().columns


def titled(title: str, facts: Mapping[str, Any]) -> str:
    """A title and lines of facts."""
    width = max(map(len, facts), default=0) + 2
    return "\n".join([title, *(f"  {name + ':':{width}}{_cell(x)}" for name, x in facts.items())])


def _cell(x: Any) -> str:
    if isinstance(x, float):
        return f"{x:.6g}"
    return ", ".join(map(_cell, x)) or "none" if isinstance(x, list | tuple) else str(x)


def _listed(x: Any) -> list[Any]:
    return x.tolist() if hasattr(x, "tolist") else list(x)


def _plain(x: Any) -> Any:
    """A value in JSON's types: NaN and infinities become null, a complex number [real, imaginary]."""
    if hasattr(x, "tolist"):
        x = x.tolist()
    if isinstance(x, Mapping):
        return {str(key): _plain(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return [_plain(value) for value in x]
    if isinstance(x, complex):
        return [_plain(x.real), _plain(x.imag)]
    if isinstance(x, float):
        return x if math.isfinite(x) else None
    return x if isinstance(x, str | int | bool | None) else str(x)
