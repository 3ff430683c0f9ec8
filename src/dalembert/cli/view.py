"""`dalembert view`: a model as a picture, or in motion."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dalembert.cli.answer import Answer
from dalembert.cli.options import Command, NewFile, Number, debug_option, input_option, model_options, state_options

if TYPE_CHECKING:
    from dalembert.cli.study import Study


@click.command("view", cls=Command)
@model_options
@state_options
@input_option
@click.option("--time", type=Number(), default=5.0, help="Seconds of motion. Default: 5.")
@click.option("--run", "run_file", type=click.Path(), help="Show this file of a run instead of simulating.")
@click.option("--trace", "traces", multiple=True, help="A frame or body whose path is drawn. Repeatable.")
@click.option("-o", "--output", type=NewFile(), help="The file: .html an animation; .png, .svg, .pdf a picture.")
@click.option("--live", is_flag=True, help="A page in which the mechanism itself computes: move it, drop it.")
@click.option("--open/--no-open", "opened", default=None, help="Open it in a browser. Default: if no file is named.")
@debug_option
def view(
    inputs: Any, time: float, run_file: str | None, traces: tuple[str, ...], output: Path | None, live: bool,
    opened: bool | None, **given: Any,
) -> int:  # fmt: skip
    """Show a model: an animation, or a picture.

    An animation is one HTML file, which any browser plays; a picture shows the state. With --live the file holds the
    mechanism itself, which its reader can move and let go.
    """
    from dalembert.cli.study import Study

    study = Study(**given)
    path = output or Path(tempfile.mkdtemp(prefix="dalembert-")) / f"{_filename(study.system.name)}.html"
    if live:
        answer = _live(study, path, inputs, traces)
    elif path.suffix.lower() not in (".html", ".htm"):
        answer = _picture(study, path)
    else:
        answer = _animation(study, path, time, inputs, run_file, traces)
    click.echo(answer.text)
    if answer.complaint:
        click.echo(f"dalembert: {answer.complaint}", err=True)
    if opened or (opened is None and output is None):
        click.launch(str(path))
    return int(answer.code)


def _picture(study: Study, path: Path) -> Answer:
    from dalembert.view import snapshot

    snapshot(study.system, study.x, path)
    return Answer(str(path))


def _live(study: Study, path: Path, inputs: Any, traces: tuple[str, ...]) -> Answer:
    from dalembert.live import export_html

    return Answer(str(export_html(study.system, path, study.x, u=study.inputs(inputs), traces=traces)))


def _animation(
    study: Study, path: Path, time: float, inputs: Any, run_file: str | None, traces: tuple[str, ...]
) -> Answer:
    from dalembert.cli.simulate import answer
    from dalembert.simulation.saving import load
    from dalembert.simulation.simulate import simulate

    if run_file is not None:
        run = load(run_file, study.system)
        run.animate(path, traces=traces)
        return Answer(str(path))
    run = simulate(study.system, study.x, time, u=study.inputs(inputs))
    run.animate(path, traces=traces)
    found = answer(run)
    return Answer(str(path), code=found.code, complaint=found.complaint)


def _filename(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name) or "model"
