"""`dalembert simulate`: the motion of a model from a state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dalembert.cli.answer import Answer, grid, titled
from dalembert.cli.exits import Exit
from dalembert.cli.options import NewFile, Number, command, input_option

if TYPE_CHECKING:
    from dalembert.cli.study import CommandStudy

ROWS = 11  # of the table for people


@command("simulate", state=True)
@click.argument("time", type=Number())
@input_option
@click.option("--every", type=Number(), help="Answer with states so far apart, s. Default: every step.")
@click.option(
    "--method", help="dop853 (default), dopri5, rk4, sdirk4 (stiff motion), variational, moreau (many contacts)."
)
@click.option("--rtol", type=Number(), help="Relative tolerance.")
@click.option("--atol", type=Number(), help="Absolute tolerance.")
@click.option("--step", type=Number(), help="Step of rk4, variational and moreau, first step of others, s.")
@click.option("--max-step", type=Number(), help="Longest step, s.")
@click.option("--max-steps", type=int, help="Most steps.")
@click.option("--stabilization", help="projection (default), energy, baumgarte, none.")
@click.option("--coordinates", help="Integrate independent coordinates: partition, tangent, or names with commas.")
@click.option("--formulation", help="auto (default), nullspace, projection, lagrange, …")
@click.option("--on-singularity", help="continue (default), warn, stop.")
@click.option("--record", type=NewFile(), help="Record the run in a file as it goes (extra files).")
@click.option("--resume", is_flag=True, help="Go on with the recording where it ends.")
@click.option("--animate", type=NewFile(), help="Write an animation too, one HTML file.")
@click.option("--plot", type=NewFile(), help="Write a plot too, by its suffix (extra view).")
def simulate(
    study: CommandStudy,
    time: float,
    inputs: tuple[tuple[str, Any], ...],
    every: float | None,
    animate: Path | None,
    plot: Path | None,
    **options: Any,
) -> Answer:
    """The motion from a state, for TIME seconds.

    Ctrl-C ends the run where it is: its states are the answer, and the exit code is 4.
    """
    from dalembert.simulation.simulate import simulate as simulated

    given = {name: value for name, value in options.items() if value is not None}
    if given.get("coordinates") not in (None, "partition", "tangent"):
        given["coordinates"] = given["coordinates"].split(",")
    x = study.x
    run = simulated(study.system, x, time, u=study.inputs(inputs), t_eval=_samples(x.t, time, every), **given)
    if animate is not None:
        run.animate(animate)
    if plot is not None:
        run.plot(path=plot)
    return answer(run)


def _samples(start: float, time: float, every: float | None) -> Any:
    if every is None:
        return None
    import numpy as np

    from dalembert import checks

    checks.number(every, "--every", above=0.0, most=time if time > 0 else None)
    count = int(checks.number(time / every * (1 + 1e-9), "time over --every", most=1e8))
    return start + np.minimum(every * np.arange(count + 1), time)


def answer(run: Any) -> Answer:
    """The answer that a run is."""
    system, facts = run.system, _facts(run)
    columns = {
        "t": run.t,
        **{f"q.{name}": run.q[:, k] for k, name in enumerate(system.q_names)},
        **{f"v.{name}": run.v[:, k] for k, name in enumerate(system.v_names)},
        **{f"u.{name}": run.u[:, k] for k, name in enumerate(system.u_names)},
        "energy": run.energy,
    }
    passages = [str(p) for p in run.passages]
    shown = {name: x for name, x in facts.items() if name not in ("name", "status", "success", "message", "passages")}
    text = titled(f"{system.name}: {run.message}", shown)
    text += "".join(f"\n  singular: {p}" for p in passages)
    text += "\n\n" + grid(columns, most=ROWS)
    code = Exit.DONE if run.success else Exit.INTERRUPTED if run.status.name == "INTERRUPTED" else Exit.NO
    complaint = "" if run.success else run.message
    return Answer(text, facts, {"states": columns}, code, complaint, run)


def _facts(run: Any) -> dict[str, Any]:
    return {
        "name": run.system.name,
        "status": run.status.name,
        "success": run.success,
        "message": run.message,
        "time": float(run.t[-1]) if len(run.t) else 0.0,
        "states": len(run.t),
        "steps": run.steps,
        "rejected": run.rejected,
        "evaluations": run.evaluations,
        "largest residual": float(run.residuals.max(initial=0.0)),
        "largest energy error": float(abs(run.energy_error).max(initial=0.0)),
        "passages": [str(p) for p in run.passages],
    }
