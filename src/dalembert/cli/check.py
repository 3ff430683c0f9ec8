"""`dalembert check`: read a model and validate it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dalembert.cli.answer import Answer, titled
from dalembert.cli.exits import Exit
from dalembert.cli.options import command
from dalembert.errors import AssemblyError

if TYPE_CHECKING:
    from dalembert.cli.study import CommandStudy


@command("check", state=True)
@click.option("--strict", is_flag=True, help="Refuse a file with anything that has no meaning here.")
@click.option("--fix", is_flag=True, help="Repair in the file what is surely meant otherwise, such as misspelt words.")
def check(study: CommandStudy, strict: bool, fix: bool) -> Answer:
    """Read and validate a model, and assemble it.

    What its file says that has no meaning here is listed. --fix repairs files of the format of this library.
    """
    from dalembert.mechanism.notes import grouped

    repairs = _repair(study) if fix else []
    study.reading["strict"] = strict
    m, system = study.mechanism, study.system
    facts: dict[str, Any] = {
        "bodies": len(m.bodies) - 1,
        "joints": len(m.joints),
        "constraints": len(m.constraints),
        "coordinates": system.nq,
        "velocities": system.nv,
        "inputs": list(system.u_names),
        "parameters": list(system.p_names),
        "states": list(m.states),
    }
    code, complaint = Exit.DONE, ""
    try:
        residual = study.x.evidence.residual if study.x.evidence is not None else 0.0
        facts |= {"closes": True, "residual": residual}
    except AssemblyError as error:
        facts |= {"closes": False}
        code, complaint = Exit.NO, str(error)
    notes: dict[str, list[Any]] = {
        "file": [n.file for n in m.notes],
        "line": [n.line for n in m.notes],
        "element": [n.element for n in m.notes],
        "text": [n.text for n in m.notes],
    }
    shown = {**facts, "closes": "yes" if facts["closes"] else "no", "notes": len(m.notes)}
    text = "\n".join([*repairs, titled(m.name, shown), *(f"  {note}" for note in grouped(m.notes))])
    more = {"repairs": repairs} if fix else {}
    return Answer(text, {"name": m.name, **facts, **more}, {"notes": notes}, code, complaint)


def _repair(study: CommandStudy) -> list[str]:
    """Repair the file of a model, and say how; where faults are left, on stderr, before they are raised."""
    from dalembert.errors import ArgumentError, ModelFileError
    from dalembert.formats.model.repairing import repair_file

    path = Path(study.model)
    if not study.is_file or path.suffix.lower() not in (".yaml", ".yml", ".json"):
        raise ArgumentError(f"--fix repairs files in .yaml, .yml and .json, and the model is '{study.model}'.")
    told = [str(repair) for repair in repair_file(path)]
    try:
        _ = study.mechanism
    except ModelFileError:
        for line in told:
            click.echo(line, err=True)
        raise
    return told
