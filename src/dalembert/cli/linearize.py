"""`dalembert linearize` and `dalembert modes`: the exact linear model of a mechanism near a state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dalembert.cli.answer import Answer, grid
from dalembert.cli.exits import Refused
from dalembert.cli.options import Number, command, input_option
from dalembert.errors import ArgumentError

if TYPE_CHECKING:
    from dalembert.cli.study import CommandStudy


def _choices(f: Any) -> Any:
    names = "Coordinates of the model, with commas between; default: those that determine the rest best."
    return input_option(click.option("--independent", help=names)(f))


@command("linearize", state=True)
@_choices
@click.option("--outputs", help="Outputs with commas between, as A,rate:A,position:tip@x. Default: the states.")
@click.option("--sample", type=Number(), help="Discretize the model with this step, s.")
def linearize(
    study: CommandStudy, independent: str | None, inputs: Any, outputs: str | None, sample: float | None
) -> Answer:
    """The linear model near a state: A, B, C, D."""
    model = _model(study, independent, inputs, outputs)
    model = model if sample is None else model.discretize(sample)
    states, ins, outs = model.state_names, model.input_names, model.output_names
    rate = "rate" if sample is None else "next"
    upper = {"state": list(states), **_named(model.A, states), **_named(model.B, [f"u.{n}" for n in ins])}
    lower = {"output": list(outs), **_named(model.C, states), **_named(model.D, [f"u.{n}" for n in ins])}
    facts = {
        "name": study.system.name,
        "states": list(states),
        "inputs": list(ins),
        "outputs": list(outs),
        **{name: getattr(model, name) for name in "ABCD"},
        rate: model.rate,
        "eigenvalues": model.eigenvalues,
        "stable": model.stable,
        "controllable": model.controllable,
        "observable": model.observable,
        "step": sample,
    }
    yes = ", ".join(f"{name}: {'yes' if facts[name] else 'no'}" for name in ("stable", "controllable", "observable"))
    text = f"{study.system.name}\nA, B\n{grid(upper)}\n\nC, D\n{grid(lower)}\n\n{yes}"
    return Answer(text, facts, {"dynamics": upper, "readings": lower})


@command("modes", state=True)
@_choices
def modes(study: CommandStudy, independent: str | None, inputs: Any) -> Answer:
    """Frequency, damping and shape of the modes."""
    model = _model(study, independent, inputs, None)
    columns: dict[str, Any] = {
        "real": [m.eigenvalue.real for m in model.modes],
        "imaginary": [m.eigenvalue.imag for m in model.modes],
        "frequency": [m.frequency for m in model.modes],
        "damping": [m.damping for m in model.modes],
        "time constant": [m.time_constant for m in model.modes],
    }
    facts = {
        "name": study.system.name,
        "stable": model.stable,
        "shapes": [{name: complex(z) for name, z in m.shape.items()} for m in model.modes],
    }
    return Answer(f"{study.system.name}\n{model.table()}", facts, {"modes": columns})


def _model(study: CommandStudy, independent: str | None, inputs: Any, outputs: str | None) -> Any:
    from dalembert.linearization.linearize import linearize as linearized

    u = study.inputs(inputs)
    if not isinstance(u, dict):
        raise ArgumentError("--input is an expression; a linear model needs the numbers of the inputs.")
    try:
        return linearized(study.system, study.x, u=u, independent=_list(independent), outputs=_list(outputs))
    except ArgumentError as error:
        if study.system.rows.of and study.system.report(study.x).singular:
            raise Refused(str(error)) from error
        raise


def _list(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",")]


def _named(matrix: Any, names: Any) -> dict[str, Any]:
    return {name: matrix[:, k] for k, name in enumerate(names)}
