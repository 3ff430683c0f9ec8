"""`dalembert new`: a commented model to start from."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from dalembert.cli.answer import Answer
from dalembert.cli.options import NewFile, command
from dalembert.errors import FileError

STARTERS = ("four-bar", "slider-crank", "suspension", "robot")


@command("new", model=False)
@click.argument("kind", type=click.Choice(STARTERS))
@click.argument("target", type=NewFile(), required=False)
@click.option("--force", is_flag=True, help="Replace a file that exists.")
def new(kind: str, target: Path | None, force: bool) -> Answer:
    """Write a commented model of a KIND to start from to TARGET. Default: KIND.yaml."""
    path = target or Path(f"{kind}.yaml")
    if path.exists() and not force:
        raise FileError(f"'{path}' exists; add --force to replace it.")
    text = files("dalembert.cli").joinpath("starters", f"{kind}.yaml").read_text(encoding="utf-8")
    path.write_text(text.replace("NAME", str(path)), encoding="utf-8")
    return Answer(str(path), {"file": str(path)})
