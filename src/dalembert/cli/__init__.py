"""The command line `dalembert`: one file a command. `dalembert --help` loads neither NumPy nor CasADi.

A command is a function that returns an `Answer`; `options` gives it its model, state and output, `app` what errors
become. docs/command_line.md describes every command.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command line, that of the process by default, and end the process with its exit code."""
    try:
        import click  # noqa: F401
    except ImportError:
        sys.stderr.write("dalembert: the command line needs the library 'click': pip install \"dalembert[cli]\"\n")
        sys.exit(5)
    from dalembert.cli.app import run

    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))
