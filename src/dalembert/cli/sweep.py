"""`dalembert sweep`: positions of a mechanism as one coordinate goes through a range."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from dalembert.cli.answer import Answer, grid
from dalembert.cli.exits import Exit
from dalembert.cli.options import Number, command
from dalembert.cli.progress import Progress
from dalembert.errors import ArgumentError, AssemblyError, unknown

if TYPE_CHECKING:
    from dalembert.cli.study import Study
    from dalembert.system.state import State

HALVINGS = 12  # of the way from one position to the next, before the branch counts as ended
FAR = 0.5  # rad, or lengths of the mechanism: a motion that is checked by smaller steps


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
        for k, axis in enumerate("xyz"):
            columns[f"{frame}.{axis}"] = [float(x.position(frame)[k]) for x in found]
    columns["residual"] = [x.evidence.residual if x.evidence is not None else 0.0 for x in found]
    facts = {"name": system.name, "joint": joint, "positions": len(found), "complete": code == Exit.DONE}
    return Answer(grid(columns, most=10**6), facts, {"positions": columns}, code, complaint)


def _positions(study: Study, joint: str, start: float, end: float, steps: int) -> Iterator[State]:
    """The states along the range."""
    system, held = study.system, {name: value for name, value in study.at.items() if name != joint}
    if not system.rows.of:
        for k in range(steps + 1):
            yield study.guess.replace(q={**held, joint: start + (end - start) * k / steps})
        return

    def assembled(value: float, guess: Any) -> State:
        x = {**held, joint: value}
        try:
            return system.assemble(x, {**dict.fromkeys(held, 0.0), joint: 1.0}, guess=guess)
        except AssemblyError:  # at a dead point, where the coordinate has no velocity
            return system.assemble(x, guess=guess)

    x = assembled(start, study.guess)
    yield x.replace(v=0.0 * x.v, evidence=x.evidence)
    for k in range(1, steps + 1):
        x = _followed(system, assembled, x, x[joint], start + (end - start) * k / steps, 0)
        yield x.replace(v=0.0 * x.v, evidence=x.evidence)


def _followed(system: Any, assembled: Any, x: State, value: float, target: float, depth: int) -> State:
    """The state at the target on the branch of x: predicted by its velocity, in as many parts as that takes."""
    try:
        guess = system.plus(x, x.v * (target - value))
        new = assembled(target, guess)
        if new.evidence.attempts == 1 and _near(system, new, x):
            return new
        failure: Exception = AssemblyError("the branch it is on ends there.")
    except (AssemblyError, ArgumentError) as error:
        failure = error
    if depth == HALVINGS:
        raise AssemblyError(str(failure)) from None
    middle = 0.5 * (value + target)
    half = _followed(system, assembled, x, value, middle, depth + 1)
    return _followed(system, assembled, half, middle, target, depth + 1)


def _near(system: Any, new: State, old: State) -> bool:
    """Whether a step is small enough to be one of continuation."""
    import numpy as np

    from dalembert.rank import angular_velocities

    units = np.where(angular_velocities(system), 1.0, system.layout.length)
    return bool(np.abs(system.minus(new, old) / units).max(initial=0.0) <= FAR)
