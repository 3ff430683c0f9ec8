"""The group of all commands, and what becomes of errors: a sentence on stderr and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

from dalembert import __version__
from dalembert.cli.assemble import assemble
from dalembert.cli.cache import cache
from dalembert.cli.check import check
from dalembert.cli.completion import completion
from dalembert.cli.convert import convert
from dalembert.cli.equilibrium import equilibrium
from dalembert.cli.exits import Exit, code_of
from dalembert.cli.export import export
from dalembert.cli.linearize import linearize, modes
from dalembert.cli.new import new
from dalembert.cli.options import Group, debug_option
from dalembert.cli.report import report
from dalembert.cli.run import run_scenario
from dalembert.cli.simulate import simulate
from dalembert.cli.studio import studio
from dalembert.cli.sweep import sweep
from dalembert.cli.view import view
from dalembert.cli.zoo import zoo
from dalembert.errors import DalembertError

COMMANDS = (
    check, report, assemble, sweep, simulate, linearize, modes, equilibrium, convert, export, view, studio, zoo, new,
    run_scenario, cache, completion,
)  # fmt: skip


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dalembert")
@debug_option
def app() -> None:
    """Constrained multibody systems: check, assemble, simulate and linearize a model.

    MODEL is a model file or the name of a mechanism of the zoo (dalembert zoo list).

    Exit codes: 0 done; 1 the answer is no, or a run failed; 2 wrong usage; 3 a file is wrong; 4 interrupted; 5 a
    library is not installed; 6 a fault of dalembert.
    """


for command in COMMANDS:
    app.add_command(command)


def run(arguments: Sequence[str]) -> int:
    """Run a command line; returns its exit code. Nothing is raised."""
    debug = "--debug" in arguments
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal without Greek letters
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warned
            if not sys.warnoptions:
                warnings.simplefilter("default")
            code = _invoked(list(arguments))
            sys.stdout.flush()
        return int(code or Exit.DONE)
    except BaseException as error:
        if debug and not isinstance(error, BrokenPipeError | click.exceptions.Exit):
            traceback.print_exc()
        return _told(error)


def _invoked(arguments: list[str]) -> Any:
    """Exit code of the command; bypasses `app.main`, which handles closed pipes differently."""
    if "_DALEMBERT_COMPLETE" in os.environ:
        return app.main(arguments, prog_name="dalembert")
    with app.make_context("dalembert", arguments) as context:
        return app.invoke(context)


def _told(error: BaseException) -> int:
    """Say what went wrong, in one sentence; returns the exit code."""
    if isinstance(error, BrokenPipeError):  # the reader had enough
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.DONE
    if isinstance(error, click.exceptions.Exit):  # after --help
        return error.exit_code
    if isinstance(error, click.ClickException):
        error.show()
        return Exit.USAGE
    if isinstance(error, KeyboardInterrupt | click.Abort):
        say("interrupted.")
        return Exit.INTERRUPTED
    if isinstance(error, DalembertError):
        say(str(error))
        return code_of(error)
    if isinstance(error, OSError):
        say(f"{error.filename or 'a file'}: {error.strerror or error}.")
        return Exit.FILE
    if isinstance(error, SystemExit):
        return int(error.code or 0) if isinstance(error.code, int | None) else Exit.FAULT
    say(f"a fault in dalembert itself ({type(error).__name__}: {error}); --debug shows where. Please report it.")
    return Exit.FAULT


def say(text: str) -> None:
    """A line on stderr."""
    click.echo(f"dalembert: {text}", err=True)


def _warned(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"warning: {message}")
