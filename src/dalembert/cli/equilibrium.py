"""`dalembert equilibrium`: where a model rests, or what holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dalembert.cli.answer import Answer, grid, titled
from dalembert.cli.options import command, input_option
from dalembert.cli.states import one_table
from dalembert.errors import ArgumentError

if TYPE_CHECKING:
    from dalembert.cli.study import Study


@command("equilibrium", state=True)
@input_option
@click.option("--solve-for", type=click.Choice(["q", "u"]), default="q", help="A position (q), or the inputs (u).")
def equilibrium(study: Study, inputs: Any, solve_for: str) -> Answer:
    """Where a model rests, or what holds it.

    With --solve-for u the inputs that hold a position. --at holds coordinates, --speed those of a steady motion.
    """
    from dalembert.linearization.equilibrium import equilibrium as found

    u = study.inputs(inputs)
    if not isinstance(u, dict):
        raise ArgumentError("--input is an expression; an equilibrium needs the numbers of the inputs.")
    system = study.system
    rest = found(system, study.guess, solve_for=solve_for, holding=study.at, speeds=study.speeds, u=u)
    state = one_table(system, rest.state)
    columns = {
        "kind": [*state["kind"], *["input"] * len(rest.u)],
        "name": [*state["name"], *system.u_names],
        "value": [*state["value"], *rest.u.tolist()],
    }
    facts = {"residual": rest.residual, "iterations": rest.iterations, "stable": rest.model.stable}
    text = titled(system.name, {**facts, "stable": "yes" if facts["stable"] else "no"}) + "\n\n" + grid(columns, 10**6)
    return Answer(text, {"name": system.name, **facts}, {"state": columns})
