"""`dalembert convert`: a model written in another format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dalembert.cli.answer import Answer
from dalembert.cli.exits import Exit
from dalembert.cli.options import NewFile, command
from dalembert.errors import FileError

if TYPE_CHECKING:
    from dalembert.cli.study import CommandStudy


@command("convert")
@click.argument("target", type=NewFile())
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@click.option("--strict", is_flag=True, help="Exit with 1 if anything could not be read or written.")
@click.option("--base", type=click.Choice(["fixed", "free"]), help="Whether the model stands on the ground.")
@click.option("--keep-fixed", is_flag=True, help="Keep links on fixed joints as bodies of their own.")
def convert(study: CommandStudy, target: Path, force: bool, strict: bool, base: str | None, keep_fixed: bool) -> Answer:
    """Write a model in another format.

    The suffix of TARGET says which: .yaml, .json, .urdf, .sdf, .xml (MJCF). What the format cannot say is listed.
    """
    if target.exists() and not force:
        raise FileError(f"'{target}' exists; add --force to replace it.")
    from dalembert.formats import format_of, write
    from dalembert.mechanism.notes import grouped

    study.reading |= ({"base": base} if base else {}) | ({"merge_fixed": False} if keep_fixed else {})
    if (base or keep_fixed) and (not study.is_file or format_of(Path(study.model), reading=True) == "model"):
        raise click.UsageError("--base and --keep-fixed are for URDF, SDF and MJCF files.")
    m = _with_parameters(study)
    noted = {"not read": list(m.notes), "not written": write(m, target)}
    lines = [f"{m.name} → {target}"]
    lines += [f"  {what}: {text}" for what, notes in noted.items() for text in grouped(notes)]
    code = Exit.NO if strict and any(noted.values()) else Exit.DONE
    pairs = [(what, str(note)) for what, notes in noted.items() for note in notes]
    table = {"what": [what for what, _ in pairs], "note": [note for _, note in pairs]}
    return Answer("\n".join(lines), {"name": m.name, "file": str(target)}, {"notes": table}, code)


def _with_parameters(study: CommandStudy) -> Any:
    """The mechanism, its parameters with the values that were set."""
    m = study.mechanism
    if study.parameters:
        m.parameters.values.update(study.system.parameters)
    return m
