"""Looking at mechanisms and runs: figures by Matplotlib, animations as one HTML file, the studio in the browser."""

from typing import TYPE_CHECKING, Any

from dalembert.view.animation import animate
from dalembert.view.plots import plot
from dalembert.view.snapshots import snapshot

if TYPE_CHECKING:
    from dalembert.studio.opening import Studio, studio

__all__ = ["Studio", "animate", "plot", "snapshot", "studio"]


def __getattr__(name: str) -> Any:
    if name not in ("Studio", "studio"):
        raise AttributeError(f"module 'dalembert.view' has no attribute '{name}'")
    from dalembert.studio import opening

    return getattr(opening, name)
