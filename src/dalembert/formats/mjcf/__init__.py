"""MJCF, the model files of MuJoCo: read through its compiler, written as text."""

from dalembert.formats.mjcf.reader import read_mjcf

__all__ = ["read_mjcf"]
