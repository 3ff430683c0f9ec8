"""The result of `sensitivities`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import unknown
from dalembert.tables import Columns, Tabular


@dataclass(frozen=True, eq=False)
class Sensitivities(Tabular):
    """Values of some quantities and their derivatives with respect to some parameters, by name.

    `s["reach"]` is a value, `s.d("reach", "l1")` a derivative, `s.gradient("reach")` all derivatives of one quantity;
    `print(s)` is a table. Where several states or times were asked for, every one of these has them as its first axis.
    """

    of: tuple[str, ...]  # (k,) names of the quantities
    wrt: tuple[str, ...]  # (m,) names of the parameters
    value: np.ndarray  # (…, k)
    jacobian: np.ndarray  # (…, k, m) ∂value/∂wrt
    t: np.ndarray | None = None  # (N,) s, where there are several times
    method: str = "implicit"  # "implicit", "forward" or "adjoint"
    closure: float | None = None  # forward: by how much A δ + ∂Φ misses 0 at the end, relative to its terms

    def __getitem__(self, of: str) -> Any:
        return _plain(self.value[..., self._place(of, self.of, "quantity")])

    def d(self, of: str, wrt: str) -> Any:
        """The derivative of the quantity `of` with respect to the parameter `wrt`, by their names."""
        return _plain(self.gradient(of)[..., self._place(wrt, self.wrt, "parameter")])

    def gradient(self, of: str) -> np.ndarray:
        """(…, m) derivatives of the quantity `of` with respect to every parameter of `wrt`."""
        return self.jacobian[..., self._place(of, self.of, "quantity"), :]

    def _place(self, name: Any, known: tuple[str, ...], kind: str) -> int:
        if not isinstance(name, str) or name not in known:
            raise unknown(kind, name, known)
        return known.index(name)

    def _columns(self) -> Columns:
        """One row for each quantity, of several states or times for each of these: value, "d.l1" and so on."""
        k, m = self.jacobian.shape[-2:]
        n = self.value.size // max(k, 1)
        along, values = "", {"quantity": np.array(list(self.of) * n, dtype=object)}
        if self.value.ndim > 1:
            along = "t" if self.t is not None else "state"
            values[along] = np.repeat(np.arange(n) if self.t is None else self.t, k)
        values["value"] = self.value.reshape(-1)
        values |= {f"d.{name}": x for name, x in zip(self.wrt, self.jacobian.reshape(-1, m).T)}
        units = {"t": "s"} if "t" in values else {}
        return Columns("sensitivities", "row", np.arange(n * k), values, units, along=along, by="quantity")

    def __str__(self) -> str:
        """A table: a line for each quantity, a column for each parameter; of several times the last."""
        last = (-1,) * (self.value.ndim - 1)
        cells = [["", "value", *(f"d/d {name}" for name in self.wrt)]]
        for name, y, row in zip(self.of, self.value[last], self.jacobian[last]):
            cells.append([name, f"{y:.6g}", *(f"{x:.6g}" for x in row)])
        widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
        lines = [f"{row[0]:{widths[0]}}" + "".join(f"  {x:>{w}}" for x, w in zip(row[1:], widths[1:])) for row in cells]
        if self.value.ndim > 1:
            lines.append(f"the last of {len(self.value)}" + ("" if self.t is None else f", t = {self.t[-1]:g} s"))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<sensitivities of {', '.join(self.of)} with respect to {', '.join(self.wrt)}>"


def _plain(x: np.ndarray) -> Any:
    """A number of Python from an array of one."""
    return x.item() if x.ndim == 0 else x
