"""Questions about the constraint manifold: assembly, mobility, subspaces, charts."""

from dalembert.analysis.parametrization import Parametrization, general, partition, tangent_space
from dalembert.analysis.subspaces import Subspaces, characteristic_length, effort_limits

__all__ = [
    "Parametrization",
    "Subspaces",
    "characteristic_length",
    "effort_limits",
    "general",
    "partition",
    "tangent_space",
]
