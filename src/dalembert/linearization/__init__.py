"""Linear models of constrained mechanisms: exact, in the coordinates the user chooses."""

from dalembert.linearization.linearize import linearize
from dalembert.linearization.model import LinearModel

__all__ = ["LinearModel", "linearize"]
