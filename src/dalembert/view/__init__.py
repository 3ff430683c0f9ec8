"""Looking at mechanisms and runs: pictures, animations as one HTML file, glTF, the studio in the browser."""

from typing import TYPE_CHECKING, Any

from dalembert.view.animation import animate
from dalembert.view.gltf import export_gltf
from dalembert.view.plots import plot
from dalembert.view.scene import Scene, motion, scene
from dalembert.view.snapshots import snapshot

if TYPE_CHECKING:
    from dalembert.studio.opening import Studio, studio

__all__ = ["Scene", "Studio", "animate", "export_gltf", "motion", "plot", "scene", "snapshot", "studio"]


def __getattr__(name: str) -> Any:
    if name not in ("Studio", "studio"):
        raise AttributeError(f"module 'dalembert.view' has no attribute '{name}'")
    from dalembert.studio import opening

    return getattr(opening, name)
