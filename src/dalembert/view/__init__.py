"""Looking at mechanisms and runs: figures by Matplotlib, animations as one HTML file that needs nothing else."""

from typing import TYPE_CHECKING, Any

from dalembert.view.animation import animate
from dalembert.view.plots import plot
from dalembert.view.snapshots import snapshot

if TYPE_CHECKING:
    from dalembert.live.export import export_html as export_html

__all__ = ["animate", "export_html", "plot", "snapshot"]


def __getattr__(name: str) -> Any:
    if name == "export_html":  # it simulates and linearizes, which stand above the pictures
        from dalembert.live.export import export_html

        return export_html
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
