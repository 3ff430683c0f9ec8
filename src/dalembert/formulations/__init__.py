"""Formulations of constrained dynamics: one contract, one file each, named as people call them."""

from dalembert.formulations import admissible, augmented, lagrange, nullspace, partition, projection

#: name: (kernel, number of variants)
FORMULATIONS = {
    "nullspace": (nullspace.solve, 1),
    "admissible": (admissible.solve, 2),
    "projection": (projection.solve, 3),
    "partition": (partition.solve, 1),
    "lagrange": (lagrange.solve, 1),
    "augmented": (augmented.solve, 1),
}

#: the same as right-hand sides, not yet compiled; see `field.field_address`
FIELDS = {
    "nullspace": nullspace.field,
    "admissible": admissible.field,
    "projection": projection.field,
    "partition": partition.field,
    "lagrange": lagrange.field,
    "augmented": augmented.field,
}

__all__ = ["FIELDS", "FORMULATIONS"]
