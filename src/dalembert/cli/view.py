"""`dalembert view`: a model in the studio, as a picture, or in motion."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dalembert.cli.answer import Answer
from dalembert.cli.options import Command, NewFile, Number, debug_option, input_option, model_options, state_options
from dalembert.errors import ArgumentError

if TYPE_CHECKING:
    from dalembert.cli.study import CommandStudy


@click.command("view", cls=Command)
@model_options
@state_options
@input_option
@click.option("--time", type=Number(), default=5.0, help="Seconds of motion. Default: 5.")
@click.option("--run", "run_file", type=click.Path(), help="Show this file of a run instead of simulating.")
@click.option("--trace", "traces", multiple=True, help="A frame or body whose path is drawn. Repeatable.")
@click.option(
    "-o",
    "--output",
    type=NewFile(),
    help="A file instead of the studio: .html an animation; .png, .svg, .pdf a picture.",
)
@click.option("--live", is_flag=True, help="With -o: a page in which the mechanism itself computes: move it, drop it.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The studio's port. Default: a free one.")
@click.option("--open/--no-open", "opened", default=None, help="Open it in a browser. Default: if no file is named.")
@debug_option
def view(
    inputs: Any, time: float, run_file: str | None, traces: tuple[str, ...], output: Path | None, live: bool, port: int,
    opened: bool | None, **given: Any,
) -> int:  # fmt: skip
    """Show a model in the browser: drag it, simulate it, study it.

    The studio runs until Ctrl-C, on this computer only. With -o it writes a file instead: an animation is one HTML
    file, which any browser plays; a picture shows the state. With --live the file holds the mechanism itself, which its
    reader can move and let go.
    """
    from dalembert.cli.study import CommandStudy

    study = CommandStudy(**given)
    if output is None:
        if live:
            raise ArgumentError("--live writes a file; name it with -o.")
        return _studio(study, time, inputs, run_file, port, opened is not False)
    if live:
        answer = _live(study, output, inputs, traces)
    elif output.suffix.lower() not in (".html", ".htm"):
        answer = _picture(study, output)
    else:
        answer = _animation(study, output, time, inputs, run_file, traces)
    click.echo(answer.text)
    if answer.complaint:
        click.echo(f"dalembert: {answer.complaint}", err=True)
    if opened:
        click.launch(str(output))
    return int(answer.code)


def _studio(study: CommandStudy, time: float, inputs: Any, run_file: str | None, port: int, opened: bool) -> int:
    from dalembert.simulation.files.saving import read_run
    from dalembert.studio import studio
    from dalembert.studio.script import quoted

    u = study.inputs(inputs)
    if not isinstance(u, dict):
        raise ArgumentError("an input is an expression, and those of the studio are numbers; name a file with -o.")
    run = None if run_file is None else read_run(run_file, study.system)
    source = (
        f"system = da.zoo.{study.model}().compile()"
        if not study.is_file
        else f"system = da.read({quoted(str(study.model))}).compile()"
    )
    shown = studio(
        study.system, run, state=None if run else study.x, duration=time, u=u, port=port, open=opened, source=source
    )
    with suppress(KeyboardInterrupt), shown:  # Ctrl-C may come before it waits
        click.echo(f"{shown.url}\nCtrl-C ends it.")
        shown.wait()
    return 0


def _picture(study: CommandStudy, path: Path) -> Answer:
    from dalembert.view import snapshot

    snapshot(study.system, study.x, path)
    return Answer(str(path))


def _live(study: CommandStudy, path: Path, inputs: Any, traces: tuple[str, ...]) -> Answer:
    from dalembert.live import export_html

    return Answer(str(export_html(study.system, path, study.x, u=study.inputs(inputs), traces=traces)))


def _animation(
    study: CommandStudy, path: Path, time: float, inputs: Any, run_file: str | None, traces: tuple[str, ...]
) -> Answer:
    from dalembert.cli.simulate import answer
    from dalembert.simulation.files.saving import read_run
    from dalembert.simulation.simulate import simulate

    if run_file is not None:
        run = read_run(run_file, study.system)
        run.animate(path, traces=traces)
        return Answer(str(path))
    run = simulate(study.system, study.x, time, u=study.inputs(inputs))
    run.animate(path, traces=traces)
    found = answer(run)
    return Answer(str(path), code=found.code, complaint=found.complaint)
