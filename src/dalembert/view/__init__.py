"""Looking at mechanisms and runs: pictures by Matplotlib, animations as one HTML file that needs nothing else, glTF."""

from dalembert.view.animation import animate
from dalembert.view.gltf import export_gltf
from dalembert.view.plots import plot
from dalembert.view.scene import Scene, motion, scene
from dalembert.view.snapshots import snapshot

__all__ = ["Scene", "animate", "export_gltf", "motion", "plot", "scene", "snapshot"]
