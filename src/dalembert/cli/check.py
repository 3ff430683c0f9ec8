"""`dalembert check`: read a model and validate it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dalembert.cli.answer import Answer, titled
from dalembert.cli.exits import Exit
from dalembert.cli.options import command
from dalembert.errors import AssemblyError

if TYPE_CHECKING:
    from dalembert.cli.study import Study


@command("check", state=True)
@click.option("--strict", is_flag=True, help="Refuse a file with anything that has no meaning here.")
def check(study: Study, strict: bool) -> Answer:
    """Read and validate a model, and assemble it.

    What its file says that has no meaning here is listed.
    """
    from dalembert.mechanism.notes import grouped

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
    text = "\n".join([titled(m.name, shown), *(f"  {note}" for note in grouped(m.notes))])
    return Answer(text, {"name": m.name, **facts}, {"notes": notes}, code, complaint)
