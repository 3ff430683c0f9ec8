"""Public callables, each with a good call; a new one joins by adding a row.

A row is {dotted name: (callable, {argument: good value})}. Values that are functions named `fresh_…` are called for
every use. One file a subject; `models` holds what the calls are made on.
"""

from __future__ import annotations

from targets.analysing import ANALYSIS, CHARTING, VIEWING
from targets.controlling import CONTROLLING
from targets.describing import DESCRIBING, JOINTS, SOLIDS
from targets.evaluating import EVALUATING, zoo_targets
from targets.exporting import EXPORTING
from targets.linearizing import LINEARIZING, SENSITIVITIES
from targets.models import Target
from targets.simulating import SIMULATING

TARGETS: dict[str, Target] = {
    **JOINTS, **SOLIDS, **DESCRIBING, **EVALUATING, **zoo_targets(), **VIEWING, **ANALYSIS, **CHARTING, **LINEARIZING,
    **SENSITIVITIES, **SIMULATING, **CONTROLLING, **EXPORTING,
}  # fmt: skip
