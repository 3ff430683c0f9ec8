"""`dalembert assemble`: positions and velocities that satisfy the constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dalembert.cli.answer import Answer, grid, titled
from dalembert.cli.options import command
from dalembert.cli.states import coordinates, one_table

if TYPE_CHECKING:
    from dalembert.cli.study import CommandStudy


@command("assemble", state=True)
@click.option("--branches", default="1", help="Look for so many different assemblies, or for all assembly modes.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Of the random starts for more than one.")
def assemble(study: CommandStudy, branches: str, seed: int) -> Answer:
    """Close the loops: a state on the constraints.

    What --at and --speed hold stays; the rest follows.
    """
    system = study.system
    number = branches if branches == "all" else click.IntRange(1, 1000).convert(branches, None, None)  # type: ignore[arg-type]
    found = [study.x]
    if number != 1 and system.rows.of:
        found = system.assemble(study.at, study.speeds, guess=study.guess, branches=number, seed=seed)
    evidence = [x.evidence for x in found if x.evidence is not None]
    facts = {
        "branches": len(found),
        "residual": max((e.residual for e in evidence), default=0.0),
        "speed residual": max((e.speed_residual for e in evidence), default=0.0),
        "rank": evidence[0].rank if evidence else 0,
    }
    tables = coordinates(system, found)
    text = "\n\n".join(
        [titled(system.name, facts), *(f"{name}\n{grid(table, most=10**6)}" for name, table in tables.items())]
    )
    if len(found) == 1:
        tables = {"state": one_table(system, found[0]), **tables}
    return Answer(text, {"name": system.name, "t": found[0].t, **facts}, tables)
