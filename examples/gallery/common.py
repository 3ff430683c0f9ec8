"""What the gallery's scripts share: where figures go, and tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")


def folder() -> Path:
    """Where figures go: the first argument, else build/gallery."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
    path.mkdir(parents=True, exist_ok=True)
    return path


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
