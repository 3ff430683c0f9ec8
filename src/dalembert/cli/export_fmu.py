"""`dalembert export fmu`: a model as an FMU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dalembert.cli.answer import Answer
from dalembert.cli.options import NewFile, Number, command

if TYPE_CHECKING:
    from dalembert.cli.study import CommandStudy


@command("fmu", state=True)
@click.argument("target", metavar="FILE", type=NewFile())
@click.option("--name", help="Identifier of the FMU. Default: the model's name.")
@click.option("--frame", "frames", multiple=True, help="A frame or body whose pose is an output. Repeatable.")
@click.option("--outputs", help="Outputs with commas between, as A,rate:A,position:tip@x.")
@click.option("--rtol", type=Number(), default=1e-9, help="Relative tolerance. Default: 1e-9.")
@click.option("--atol", type=Number(), default=1e-10, help="Absolute tolerance. Default: 1e-10.")
@click.option(
    "--platform",
    "platforms",
    multiple=True,
    help="linux64, win64 or darwin64; with --fmi 3.0 x86_64-linux and so on. Repeatable. Default: this one.",
)
@click.option("--fmi", type=click.Choice(["2.0", "3.0"]), default="2.0", help="Version of FMI. Default: 2.0.")
@click.option(
    "--kind",
    type=click.Choice(["co-simulation", "model-exchange"]),
    default="co-simulation",
    help="Whether the FMU integrates itself, or another program its independent coordinates.",
)
def export_fmu(
    study: CommandStudy, target: Path, name: str | None, frames: tuple[str, ...], outputs: str | None, rtol: float,
    atol: float, platforms: tuple[str, ...], fmi: str, kind: str,
) -> Answer:  # fmt: skip
    """Write MODEL as an FMU to FILE."""
    study.check_names({"frames": frames})
    listed = [part.strip() for part in (outputs or "").split(",") if part.strip()]
    made = study.system.export_fmu(
        target, study.x, name=name, frames=frames, outputs=listed, rtol=rtol, atol=atol, platforms=platforms or None,
        version=fmi, kind=kind,
    )  # fmt: skip
    return Answer(str(made), {"name": study.system.name, "file": str(made)})
