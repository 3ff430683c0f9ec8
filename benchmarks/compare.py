"""Two files of results beside each other: the numbers that changed.

A number is found by its part, its table, its column and the texts at the head of its row. Times and ratios move from
run to run, on one machine too: only what moved by more than `BEYOND` is shown. Whether more is better the title of a
column tells to a reader; it is not judged here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.timing import Table

BEYOND = 0.15  # of a number: smaller changes are what repeats differ by
NOISE = 1e-6  # numbers below are errors and differences: rounding, no results


def compared(first: Path, second: Path, beyond: float = BEYOND) -> list[Table]:
    """The table of what changed, and of what only one of the files has."""
    before, after = (json.loads(path.read_text()) for path in (first, second))
    old, new = (dict(_numbers(file)) for file in (before, after))
    both = {key: (old[key], new[key]) for key in old if key in new and min(abs(old[key]), abs(new[key])) > NOISE}
    changed = Table(
        f"Changes by more than {beyond:.0%}", ["part", "table", "row", "column", "before", "after", "ratio"]
    )
    for key, (a, b) in sorted(both.items(), key=lambda item: -abs(item[1][1] / item[1][0] - 1.0)):
        if abs(b / a - 1.0) > beyond:
            changed.add(*key, a, b, b / a)
    changed.notes += [f"- {len(changed.rows)} of {len(both)} numbers that both have", *_circumstances(before, after)]
    lone = Table("Only in one of them", ["part", "table", "row", "column", "where"])
    for key in sorted(old.keys() ^ new.keys()):
        lone.add(*key, "before" if key in old else "after")
    return [changed, lone] if lone.rows else [changed]


def _numbers(file: dict[str, Any]) -> Iterator[tuple[tuple[str, str, str, str], float]]:
    """((part, table, row, column), number) of all numbers of a file."""
    for part, tables in file["parts"].items():
        for table in tables:
            seen: dict[str, int] = {}
            for row in table["rows"]:
                name = ", ".join(str(x) for x in list(row.values())[:2] if isinstance(x, str))
                seen[name] = seen.get(name, 0) + 1
                label = name if seen[name] == 1 else f"{name} ({seen[name]})"
                for column, x in row.items():
                    if isinstance(x, (int, float)) and not isinstance(x, bool):
                        yield (part, table["title"], label, column), float(x)


def _circumstances(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    """Lines about date, machine and versions."""
    for word, file in (("before", before), ("after", after)):
        yield f"- {word}: {file.get('date', 'no date')}, {file.get('machine', 'unknown machine')}"
    old, new = before["versions"], after["versions"]
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield f"- {name}: {old.get(name, 'absent')} → {new.get(name, 'absent')}"
