"""URDF: robots as trees of links, with every way in use of closing their loops."""

from dalembert.formats.urdf.reader import read_urdf
from dalembert.formats.urdf.writer import write

__all__ = ["read_urdf", "write"]
