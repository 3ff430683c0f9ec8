"""`dalembert sweep`: positions of a mechanism as one coordinate goes through a range."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from dalembert.cli.answer import Answer, grid
from dalembert.cli.exits import Exit
from dalembert.cli.options import Number, command
from dalembert.cli.progress import Progress
from dalembert.errors import AssemblyError, unknown

if TYPE_CHECKING:
    from dalembert.cli.study import Study
    from dalembert.system.state import State


@command("sweep", state=True)
@click.argument("joint")
@click.argument("start", type=Number())
@click.argument("end", type=Number())
@click.option("--steps", type=click.IntRange(1, 10**6), default=60, help="Steps from the first value to the last.")
@click.option("--frame", "frames", multiple=True, help="A frame or body whose position is listed too. Repeatable.")
def sweep(study: Study, joint: str, start: float, end: float, steps: int, frames: tuple[str, ...]) -> Answer:
    """Positions as a coordinate goes through a range.

    The coordinate JOINT is led from START to END, by continuation from each position to the next.

    Where the mechanism cannot follow, the positions up to there are the answer, and the exit code is 1.
    """
    system = study.system
    if joint not in system.q_names or joint not in system.v_names:
        raise unknown("coordinate", joint, [n for n in system.q_names if n in system.v_names], "sweep")
    for frame in frames:
        system.layout.frame(frame)
    found: list[State] = []
    code, complaint = Exit.DONE, ""
    try:
        with Progress("sweeping") as progress:
            for x in _positions(study, joint, start, end, steps):
                found.append(x)
                progress(len(found) / (steps + 1))
    except AssemblyError as error:
        where = f"ends after {joint} = {found[-1][joint]:.6g}" if found else f"cannot begin at {joint} = {start:.6g}"
        code, complaint = Exit.NO, f"the sweep {where}: {error}"
    except KeyboardInterrupt:
        code, complaint = Exit.INTERRUPTED, f"interrupted after {len(found)} of {steps + 1} positions."
    columns: dict[str, Any] = {name: [float(x.q[k]) for x in found] for k, name in enumerate(system.q_names)}
    for frame in frames:
        places = [system.pose(x, frame)[:3, 3].tolist() for x in found]
        columns |= {f"{frame}.{axis}": [place[k] for place in places] for k, axis in enumerate("xyz")}
    columns["residual"] = [float(abs(system.residuals(x)).max(initial=0.0)) for x in found]
    facts = {"name": system.name, "joint": joint, "positions": len(found), "complete": code == Exit.DONE}
    return Answer(grid(columns, most=10**6), facts, {"positions": columns}, code, complaint)


def _positions(study: Study, joint: str, start: float, end: float, steps: int) -> Iterator[State]:
    """The states along the range: the first is assembled, each of the others follows from those before it."""
    from dalembert.analysis.continuation import Continuation

    system, held = study.system, {name: value for name, value in study.at.items() if name != joint}
    values = [start + (end - start) * k / steps for k in range(steps + 1)]
    if not system.rows.of:
        yield from (study.guess.replace(q={**held, joint: value}) for value in values)
        return
    way = Continuation(system, system.assemble({**held, joint: start}, guess=study.guess), joint, held)
    yield way.x
    yield from map(way.to, values[1:])
