"""`dalembert export`: a model for other programs; one file a form."""

from __future__ import annotations

import click

from dalembert.cli.export_c import export_c
from dalembert.cli.export_fmu import export_fmu
from dalembert.cli.options import Group


@click.group("export", cls=Group)
def export() -> None:
    """Write a model for other programs: C, FMU."""


export.add_command(export_c)
export.add_command(export_fmu)
