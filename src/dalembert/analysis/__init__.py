"""Questions about the constraint manifold: assembly, mobility, subspaces; about the mass metric: curvature."""

from dalembert.analysis.curvature import Curvature, curvature
from dalembert.analysis.decoupling import DecouplingCoordinates, decoupling_coordinates
from dalembert.analysis.operators import Operators, operators
from dalembert.analysis.subspaces import Subspaces, characteristic_length, effort_limits

__all__ = [
    "Curvature",
    "DecouplingCoordinates",
    "Operators",
    "Subspaces",
    "characteristic_length",
    "curvature",
    "decoupling_coordinates",
    "effort_limits",
    "operators",
]
