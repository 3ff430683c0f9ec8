"""`dalembert export c`: a model as C."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dalembert.cli.answer import Answer
from dalembert.cli.options import command

if TYPE_CHECKING:
    from dalembert.cli.study import CommandStudy


@command("c", state=True)
@click.argument("target", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option("--name", help="Prefix of all names in C. Default: the model's name.")
@click.option("--float", "single", is_flag=True, help="float in place of double.")
@click.option("--frame", "frames", multiple=True, help="A frame or body whose pose and twist are wanted. Repeatable.")
@click.option("--outputs", help="Outputs with commas between, as A,rate:A,position:tip@x.")
@click.option("--independent", help="Coordinates of a linear model, with commas between.")
@click.option("--active", help="Coordinates that determine all others, with commas between.")
def export_c(
    study: CommandStudy, target: Path, name: str | None, single: bool, frames: tuple[str, ...], outputs: str | None,
    independent: str | None, active: str | None,
) -> Answer:  # fmt: skip
    """Write MODEL as one C99 file, its header and examples into FOLDER."""
    study.check_names({"frames": frames})
    files = study.system.export_c(
        target,
        study.x,
        name=name,
        precision="float" if single else "double",
        frames=frames,
        outputs=_listed(outputs) or (),
        independent=_listed(independent),
        active=_listed(active),
    )
    return Answer("\n".join(map(str, files)), {"name": study.system.name, "files": [str(f) for f in files]})


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]
