"""Looking at mechanisms and runs: figures by Matplotlib, animations as one HTML file that needs nothing else."""

from dalembert.view.animation import animate
from dalembert.view.plots import plot
from dalembert.view.snapshots import snapshot

__all__ = ["animate", "plot", "snapshot"]
