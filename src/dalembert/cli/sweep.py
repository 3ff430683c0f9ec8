"""`dalembert sweep`: positions of a mechanism as one coordinate goes through a range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dalembert.cli.answer import Answer, grid
from dalembert.cli.exits import Exit
from dalembert.cli.options import Number, command
from dalembert.cli.progress import Progress
from dalembert.errors import ArgumentError, AssemblyError, unknown

if TYPE_CHECKING:
    from dalembert.analysis.sweep import Sweep
    from dalembert.cli.study import CommandStudy
    from dalembert.system.state import State


@command("sweep", state=True)
@click.argument("joint")
@click.argument("start", type=Number())
@click.argument("end", type=Number())
@click.option("--steps", type=click.IntRange(1, 10**6), default=60, help="Steps from the first value to the last.")
@click.option("--frame", "frames", multiple=True, help="A frame or body whose position is listed too. Repeatable.")
def sweep(study: CommandStudy, joint: str, start: float, end: float, steps: int, frames: tuple[str, ...]) -> Answer:
    """Positions as a coordinate goes through a range.

    The coordinate JOINT is led from START to END, by continuation from each position to the next.

    Where the mechanism cannot follow, the positions up to there are the answer, and the exit code is 1.
    """
    system = study.system
    if joint not in system.q_names or joint not in system.v_names:
        raise unknown("coordinate", joint, [n for n in system.q_names if n in system.v_names], "sweep")
    for frame in frames:
        system.layout.frame(frame)
    found, complaint = _swept(study, joint, [start + (end - start) * k / steps for k in range(steps + 1)])
    count, code = 0 if found is None else len(found), Exit.NO if complaint else Exit.DONE
    columns: dict[str, Any] = {name: [] for name in system.q_names}
    if found is not None:
        columns = {name: found[name].tolist() for name in system.q_names}
        if found.interrupted:
            code, complaint = Exit.INTERRUPTED, f"interrupted after {count} of {steps + 1} positions."
    for frame in frames:
        places = found.position(frame).tolist() if found else []
        columns |= {f"{frame}.{axis}": [place[k] for place in places] for k, axis in enumerate("xyz")}
    states = [] if found is None else [found.state(k) for k in range(count)]
    columns["residual"] = [float(abs(system.residuals(x)).max(initial=0.0)) for x in states]
    facts = {"name": system.name, "joint": joint, "positions": count, "complete": code == Exit.DONE}
    if found is not None and found.points:
        facts["special points"] = [str(point) for point in found.points]
    return Answer(grid(columns, most=10**6), facts, {"positions": columns}, code, complaint)


def _swept(study: CommandStudy, joint: str, values: list[float]) -> tuple[Sweep | None, str]:
    """The sweep through the values from an assembled state, and what kept it from some of them."""
    system, held = study.system, {name: value for name, value in study.at.items() if name != joint}
    try:
        first = {**held, joint: values[0]}
        begin = _first(study, first)
    except AssemblyError as error:
        return None, f"the sweep cannot begin at {joint} = {values[0]:.6g}: {error}"
    with Progress("sweeping") as progress:
        found = system.sweep({joint: values}, begin, held=held, progress=progress)
    return found, found.message


def _first(study: CommandStudy, first: dict[str, float]) -> State:
    """Where the sweep begins: on the branch of the state at hand where that leads there, else assembled next to it."""
    system, guess = study.system, study.guess
    if not system.rows.of:
        return guess.replace(q=first)
    try:
        return system.walk(guess, to=first)
    except (AssemblyError, ArgumentError):  # it ends on the way, or the loops are open
        return system.assemble(first, guess=guess)
