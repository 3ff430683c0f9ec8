"""Looking at mechanisms and runs: pictures, animations as one HTML file, glTF, the studio in the browser."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dalembert.view.animation import animate
from dalembert.view.gltf import export_gltf
from dalembert.view.plots import plot
from dalembert.view.scene import Scene, motion, scene
from dalembert.view.snapshots import snapshot
from dalembert.view.widget import show

if TYPE_CHECKING:
    from dalembert.live.export import export_html
    from dalembert.studio.opening import Studio, studio

__all__ = [
    "Scene",
    "Studio",
    "animate",
    "export_gltf",
    "export_html",
    "motion",
    "plot",
    "scene",
    "show",
    "snapshot",
    "studio",
]

#: names of packages that stand above the pictures, imported when they are first used
_ABOVE = {"export_html": "live.export", "Studio": "studio.opening", "studio": "studio.opening"}


def __getattr__(name: str) -> Any:
    if name not in _ABOVE:
        raise AttributeError(f"module 'dalembert.view' has no attribute '{name}'")
    return getattr(import_module(f"dalembert.{_ABOVE[name]}"), name)
