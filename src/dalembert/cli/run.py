"""`dalembert run`: a scenario file, so that a study can be repeated."""

from __future__ import annotations

from pathlib import Path

import click

from dalembert.cli.options import debug_option


@click.command("run")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--folder", type=click.Path(path_type=Path), help="Where to write files. Default: beside the scenario.")
@debug_option
@click.pass_context
def run_scenario(ctx: click.Context, file: Path, folder: Path | None) -> int:
    """Run a scenario file: a study to be repeated.

    FILE (YAML or JSON) names a model, its state, and commands to run on it. The file is checked whole before
    anything is run. The first command that does not end with 0 ends the run.
    """
    from dalembert.cli.scenario import Scenario

    root = ctx.find_root().command
    assert isinstance(root, click.Group)
    target = folder or file.parent
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    scenario = Scenario(file, root.commands, target)
    for k, step in enumerate(scenario.steps):
        written = [a.partition("=")[2] for a in step.arguments if a.startswith("--output=")]
        click.echo(" → ".join([f"# {k + 1} of {len(scenario.steps)}: {step.command}", *written]))
        with root.commands[step.command].make_context(step.command, list(step.arguments), parent=ctx) as inner:
            code = inner.command.invoke(inner)
        if code:
            click.echo(f"dalembert: {file}:{step.line}: '{step.command}' ended with {code}.", err=True)
            return int(code)
    return 0
