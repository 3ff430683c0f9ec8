"""What results that find parameters answer alike."""

from __future__ import annotations

import numpy as np

from dalembert.errors import unknown
from dalembert.tables import Tabular


class Estimated(Tabular):
    """A result with parameters by name: `result["l1"]`, `result.values`."""

    names: tuple[str, ...]  # (m,) of the parameters
    estimate: np.ndarray  # (m,)

    @property
    def values(self) -> dict[str, float]:
        """The parameters by name."""
        return dict(zip(self.names, self.estimate.tolist()))

    def __getitem__(self, name: str) -> float:
        if name not in self.names:
            raise unknown("parameter", name, self.names)
        return self.values[name]


def aligned(cells: list[list[str]]) -> list[str]:
    """Lines of a table: the first column to the left, the others to the right."""
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    lines = (f"{row[0]:{widths[0]}}" + "".join(f"  {x:>{w}}" for x, w in zip(row[1:], widths[1:])) for row in cells)
    return [line.rstrip() for line in lines]
