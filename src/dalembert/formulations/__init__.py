"""Formulations of constrained dynamics: one contract, one file each, named as people call them."""

from importlib import import_module
from typing import Any

#: name: number of variants
FORMULATIONS = {"nullspace": 1, "admissible": 2, "projection": 3, "partition": 1, "lagrange": 1, "augmented": 1}


def load(name: str) -> Any:
    """The module of a formulation, with `solve` and `field`; it brings Numba, which the names alone do without."""
    return import_module(f"dalembert.formulations.{name}")


__all__ = ["FORMULATIONS", "load"]
