"""`dalembert equilibrium`: where a model rests, or what holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dalembert.cli.answer import Answer, Columns, grid, titled
from dalembert.cli.options import Pair, command, input_option
from dalembert.cli.states import one_table
from dalembert.errors import ArgumentError

if TYPE_CHECKING:
    from dalembert.cli.study import CommandStudy


@command("equilibrium", state=True)
@input_option
@click.option("--solve-for", type=click.Choice(["q", "u"]), default="q", help="A position (q), or the inputs (u).")
@click.option(
    "--bound",
    "bounds",
    multiple=True,
    type=Pair(),
    help="Limits of an input (with --solve-for u) or a coordinate, as pull=0,inf or lid=0,90deg. Repeatable.",
)
@click.option("--steady", multiple=True, help="A velocity that stays constant. Repeatable; default: all.")
@click.option("--find-speed", "wanted", multiple=True, help="A constant velocity that is to be found. Repeatable.")
def equilibrium(study: CommandStudy, inputs: Any, solve_for: str, bounds: Any, steady: Any, wanted: Any) -> Answer:
    """Where a model rests or moves steadily, or what holds it.

    With --solve-for u the inputs that hold a position. --at holds coordinates, --speed those of a steady motion.
    """
    from dalembert.linearization.equilibrium import equilibrium as found

    u = study.inputs(inputs)
    if not isinstance(u, dict):
        raise ArgumentError("--input is an expression; an equilibrium needs the numbers of the inputs.")
    system = study.system
    rest = found(
        system, study.guess, solve_for=solve_for, q=study.at, u=u,
        v={**study.speeds, **dict.fromkeys(wanted)}, steady=list(steady) or None, bounds=dict(bounds) or None,
    )  # fmt: skip
    state = one_table(system, rest.state)
    columns = {
        "kind": [*state["kind"], *["input"] * len(rest.u)],
        "name": [*state["name"], *system.u_names],
        "value": [*state["value"], *rest.u.tolist()],
    }
    facts = {"residual": rest.residual, "iterations": rest.iterations, "stability": rest.stability}
    text = titled(system.name, facts) + "\n\n" + grid(columns, 10**6)
    tables: dict[str, Columns] = {"state": columns}
    if rest.stops:
        tables["stops"] = {"name": list(rest.stops), "force": list(rest.stops.values())}
        text += "\n\nstops (N or N m)\n" + grid(tables["stops"], 10**6)
    return Answer(text, {"name": system.name, **facts}, tables)
