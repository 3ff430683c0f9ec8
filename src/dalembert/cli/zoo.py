"""`dalembert zoo`: mechanisms that come with the library."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import click

from dalembert.cli.answer import Answer, grid
from dalembert.cli.options import Group, ModelArgument, NewFile, command
from dalembert.errors import FileError, unknown


@click.group("zoo", cls=Group)
def zoo() -> None:
    """Mechanisms that come along: list, copy out."""


@command("list", model=False)
def list_zoo() -> Answer:
    """The mechanisms, their degrees of freedom, and what they are."""
    from dalembert.zoo import CATALOG

    columns: dict[str, list[Any]] = {
        "name": list(CATALOG),
        "mobility": [e.mobility for e in CATALOG.values()],
        "description": [(inspect.getdoc(e.build) or "").split("\n")[0] for e in CATALOG.values()],
    }
    return Answer(grid(columns, most=10**6), {}, {"mechanisms": columns})


@command("copy", model=False)
@click.argument("name", type=ModelArgument())
@click.argument("target", type=NewFile(), required=False)
@click.option("--force", is_flag=True, help="Replace a file that exists.")
def copy(name: str, target: Path | None, force: bool) -> Answer:
    """Write the mechanism NAME, with its state 'start', to TARGET. Default: NAME.yaml."""
    from dalembert.cli.study import CommandStudy
    from dalembert.formats import write
    from dalembert.zoo import CATALOG

    if name not in CATALOG:
        raise unknown("mechanism", name, CATALOG, "zoo copy")
    path = target or Path(f"{name}.yaml")
    if path.exists() and not force:
        raise FileError(f"'{path}' exists; add --force to replace it.")
    lost = [str(note) for note in write(CommandStudy(name).from_zoo(), path)]
    return Answer("\n".join([str(path), *lost]), {"file": str(path), "notes": lost})


zoo.add_command(list_zoo)
zoo.add_command(copy)
