"""What the gallery's scripts share: where figures go, histories of constraints, tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")


def folder() -> Path:
    """Where figures go: the first argument, else build/gallery."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
    path.mkdir(parents=True, exist_ok=True)
    return path


def constraints(run: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Φ (N, m), A v + b (N, m) and A (N, m, nv) along a run."""
    kernel = run.system.kernel("constraints", lanes=8)
    known = {"q": run.q, "p": run.system._p(run.p), "t": run.t}
    phi, A, b = kernel.batch(*(known[name] for name in kernel.names_in))
    return phi, np.einsum("nij,nj->ni", A, run.v) + b, A


class ByHand:
    """A run by RK4 with a given acceleration(q, v): what the papers did where da.simulate does better."""

    def __init__(self, system: Any, start: Any, span: float, step: float, acceleration: Any) -> None:
        def rate(y: np.ndarray) -> np.ndarray:
            q, v = y[: system.nq], y[system.nq :]
            return np.concatenate([v, acceleration(q, v)])  # q̇ = v: no quaternions here

        y, states = np.concatenate([start.q, start.v]), []
        for _ in range(round(span / step)):
            states.append(y)
            k1 = rate(y)
            k2 = rate(y + step / 2 * k1)
            k3 = rate(y + step / 2 * k2)
            y = y + step / 6 * (k1 + 2 * k2 + 2 * k3 + rate(y + step * k3))
        self.system, self.p, self.passages = system, None, ()
        self.t, x = step * np.arange(len(states)), np.array(states)
        self.q, self.v = np.ascontiguousarray(x[:, : system.nq]), np.ascontiguousarray(x[:, system.nq :])
        self.kinetic_energy = system.kernel("kinetic_energy").batch(self.q, self.v)
        self.potential_energy = system.kernel("potential_energy").batch(self.q)
        self.energy = self.kinetic_energy + self.potential_energy


def condition(A: np.ndarray) -> np.ndarray:
    """(N,) condition numbers, up to what rounding lets see."""
    s = np.linalg.svd(A, compute_uv=False)
    return s[:, 0] / np.maximum(s[:, -1], 1e-16 * s[:, 0])


def table(title: str, rows: dict[str, Any]) -> dict[str, Any]:
    """Print name and value of each row, and return them."""
    print(f"\n{title}\n{'─' * len(title)}")
    for name, value in rows.items():
        print(f"  {name:58s} {value:.6g}" if isinstance(value, float) else f"  {name:58s} {value}")
    return rows


def save(figure: Any, path: Path) -> None:
    """Write a figure, close it, say where it is."""
    from matplotlib import pyplot

    figure.savefig(path, dpi=130)
    pyplot.close(figure)
    print(f"  figure: {path}")
