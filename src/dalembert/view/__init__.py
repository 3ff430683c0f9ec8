"""Looking at mechanisms and runs: figures by Matplotlib, animations as one HTML file, the studio in the browser."""

from typing import TYPE_CHECKING, Any

from dalembert.view.animation import animate
from dalembert.view.plots import plot
from dalembert.view.snapshots import snapshot

if TYPE_CHECKING:
    from dalembert.studio.opening import studio

__all__ = ["animate", "plot", "snapshot", "studio"]


def __getattr__(name: str) -> Any:
    if name != "studio":
        raise AttributeError(f"module 'dalembert.view' has no attribute '{name}'")
    from dalembert.studio.opening import studio

    return studio
