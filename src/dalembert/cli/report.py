"""`dalembert report`: mobility, redundancy and singularities of a model in a state."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from dalembert.cli.answer import Answer
from dalembert.cli.options import command

if TYPE_CHECKING:
    from dalembert.cli.study import CommandStudy


@command("report", state=True)
def report(study: CommandStudy) -> Answer:
    """Mobility, redundancy and singularities.

    Redundant constraints with what they depend on, determinate forces, distance to a singularity.
    """
    found = study.system.report(study.x)
    facts = {f.name: getattr(found, f.name) for f in fields(found)}
    lines = found.lines()
    return Answer(str(found), facts | {"singular": found.singular}, {"lines": dict(zip(("what", "text"), zip(*lines)))})
