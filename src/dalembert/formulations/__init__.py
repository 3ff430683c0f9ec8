"""Formulations of constrained dynamics: one problem, one file each, named as people call them."""

from dalembert.formulations.gauge import make_gauge
from dalembert.formulations.landing import make_landing
from dalembert.formulations.precise import are_rows_known, make_precise, make_precise_rows
from dalembert.formulations.problem import EUCLIDEAN, MASS, WEIGHT, Problem, make_problem
from dalembert.formulations.right_hand_side import make_field
from dalembert.formulations.whitening import make_whitening

#: name: number of variants
FORMULATIONS = {"nullspace": 1, "admissible": 2, "projection": 3, "partition": 1, "lagrange": 1, "augmented": 1}

__all__ = [
    "EUCLIDEAN",
    "FORMULATIONS",
    "MASS",
    "WEIGHT",
    "Problem",
    "are_rows_known",
    "make_field",
    "make_gauge",
    "make_landing",
    "make_precise",
    "make_precise_rows",
    "make_problem",
    "make_whitening",
]
