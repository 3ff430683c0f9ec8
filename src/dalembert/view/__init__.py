"""Looking at mechanisms and runs: pictures by Matplotlib, animations as one HTML file that needs nothing else, glTF."""

from typing import TYPE_CHECKING, Any

from dalembert.view.animation import animate
from dalembert.view.gltf import export_gltf
from dalembert.view.plots import plot
from dalembert.view.scene import Scene, motion, scene
from dalembert.view.snapshots import snapshot

if TYPE_CHECKING:
    from dalembert.live.export import export_html as export_html

__all__ = ["Scene", "animate", "export_gltf", "export_html", "motion", "plot", "scene", "snapshot"]


def __getattr__(name: str) -> Any:
    if name == "export_html":  # it simulates and linearizes, which stand above the pictures
        from dalembert.live.export import export_html

        return export_html
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
