"""The Python that does what was clicked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.protocols import SystemLike


class Script:
    """Lines of Python in the order of what was done; doing the same again replaces it where nothing came between."""

    def __init__(self, opening: str):
        self.opening = opening
        self.lines: list[tuple[str, str]] = []  # (kind, line)

    def add(self, kind: str, line: str) -> None:
        """Add a line, in place of the last one of its kind."""
        if self.lines and self.lines[-1][0] == kind:
            self.lines.pop()
        self.lines.append((kind, line))

    @property
    def text(self) -> str:
        """The whole script."""
        lines = [self.opening, *(line for _, line in self.lines)]
        numpy = ["import numpy as np", ""] if any("np." in line for line in lines) else []
        return "\n".join([*numpy, "import dalembert as da", "", *lines, ""])


def shown(x: float) -> str:
    """A number with enough digits.

    >>> shown(0.30000000000000004), shown(np.float64(2.0))
    ('0.3', '2.0')
    """
    return repr(float(f"{x:.12g}"))


def quoted(text: str) -> str:
    """A string as Python, whatever is in it: names come from files.

    >>> print(quoted('a" + evil() + "'))
    "a\\" + evil() + \\""
    """
    return json.dumps(text, ensure_ascii=False)


def by_name(values: Mapping[str, float]) -> str:
    """A mapping as Python.

    >>> by_name({"A": 0.5})
    '{"A": 0.5}'
    """
    return "{" + ", ".join(f"{quoted(name)}: {shown(x)}" for name, x in values.items()) + "}"


def inputs_of(u: Mapping[str, float]) -> str:
    """Inputs as the end of a call; nothing where all are zero.

    >>> inputs_of({"torque": 2.0}), inputs_of({"torque": 0.0})
    (', u={"torque": 2.0}', '')
    """
    return f", u={by_name(u)}" if any(u.values()) else ""


def state_line(system: SystemLike, x: Any) -> str:
    """The state as Python, as an array where a joint has no plain coordinates."""
    v = "" if not np.any(x.v) else f", v={by_name(dict(zip(system.v_names, x.v)))}"
    t = "" if x.t == 0 else f", t={shown(x.t)}"
    if list(system.q_names) == list(system.v_names):
        return f"x = system.state({by_name(dict(zip(system.q_names, x.q)))}{v}{t})"
    return f"x = system.state([{', '.join(shown(q) for q in x.q)}]{v}{t})"
