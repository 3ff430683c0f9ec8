"""Options shared by commands: the model and its state, the output format, and the command decorator."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from dalembert.cli.answer import Output

Function = Callable[..., Any]
MINUS = "\N{MINUS SIGN}"


class Group(click.Group):
    """A group that names the nearest command where there is none of a name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they were added."""
        return list(self.commands)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command of the first argument."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            near = get_close_matches(name, self.list_commands(ctx), n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            ctx.fail(f"There is no command '{name}'.{hint}")
        return super().resolve_command(ctx, args)


class Command(click.Command):
    """A command whose arguments may be negative numbers: -1 is no option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """With the signs of numbers written as minus signs, which `number` reads."""
        return super().parse_args(ctx, [re.sub(r"^-(?=\.?\d)", MINUS, a) for a in args])


class ModelArgument(click.ParamType):
    """A model file, or a name of the zoo."""

    name = "model"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Names of the zoo, and files."""
        from click.shell_completion import CompletionItem

        from dalembert.zoo import CATALOG

        names = [CompletionItem(name) for name in CATALOG if name.startswith(incomplete)]
        return [CompletionItem(incomplete, type="file"), *names]  # bash forgets what comes before files


class Pair(click.ParamType):
    """name=value, the value one number or several with commas between; a number may end with deg."""

    name = "name=value"

    def __init__(self, texts: bool = False):
        self.texts = texts  # whether a value may be an expression

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        """(name, number, list of numbers or text)."""
        if isinstance(value, tuple):
            return value
        name, sign, text = (part.strip() for part in value.partition("="))
        if not (name and sign and text):
            self.fail(f"'{value}' is not of the form name=value.", param, ctx)
        try:
            numbers = [number(part) for part in text.split(",")]
        except ValueError:
            if self.texts:
                return name, text
            self.fail(f"'{text}' of '{value}' is no number.", param, ctx)
        return name, numbers[0] if len(numbers) == 1 else numbers


class Number(click.ParamType):
    """A number; it may end with deg."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """As a float."""
        try:
            return number(value) if isinstance(value, str) else float(value)
        except ValueError:
            self.fail(f"'{value}' is no number.", param, ctx)


class NewFile(click.Path):
    """A file that the command writes."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)


def number(text: str) -> float:
    """A number, in degrees where it says so.

    >>> number("1e-3"), round(number("-90deg"), 4)
    (0.001, -1.5708)
    """
    text = text.strip().replace(MINUS, "-")
    return math.radians(float(text[:-3])) if text.endswith("deg") else float(text)


def debug_option(f: Function) -> Function:
    """--debug, before the command or after it."""
    return click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks of errors.")(f)


def model_options(f: Function) -> Function:
    """MODEL, --set and --include-from."""
    f = click.option(
        "--include-from",
        "folder",
        type=click.Path(path_type=Path),
        help="A folder around an MJCF or SDF file from which it may include others. Default: its own.",
    )(f)
    f = click.option(
        "--set", "parameters", multiple=True, type=Pair(), help="A parameter of the model, as mass=2.5. Repeatable."
    )(f)
    return click.argument("model", type=ModelArgument())(f)


def state_options(f: Function) -> Function:
    """--state, --at and --speed."""
    speed = "A velocity that is held, as crank=2. Repeatable."
    at = "A coordinate that is held, as crank=0.6 or crank=30deg; the rest is assembled around it. Repeatable."
    f = click.option("--speed", "speeds", multiple=True, type=Pair(), help=speed)(f)
    f = click.option("--at", "at", multiple=True, type=Pair(), help=at)(f)
    return click.option("--state", "state", help="A state of the model by its name. Default: 'start', else neutral.")(f)


def input_option(f: Function) -> Function:
    """--input."""
    text = "An input, as motor=3, or as an expression of t, q(joint), v(joint). Repeatable."
    return click.option("--input", "inputs", multiple=True, type=Pair(texts=True), help=text)(f)


def command(name: str, *, state: bool = False, model: bool = True) -> Callable[[Function], click.Command]:
    """Make a command of a function that takes a `CommandStudy` (unless model=False) and its own options.

    It returns an `Answer`, which is written as the user asks.
    """

    def decorate(f: Function) -> click.Command:
        @functools.wraps(f)
        def called(*, json: bool, csv: bool, arrow: bool, output: Path | None, **given: Any) -> int:
            out = Output.chosen({"json": json, "csv": csv, "arrow": arrow}, output)
            if model:
                from dalembert.cli.study import CommandStudy

                names = ["model", "parameters", "folder", *(("state", "at", "speeds") if state else ())]
                given["study"] = CommandStudy(**{key: given.pop(key) for key in names})
            return out.write(f(**given))

        made: Function = debug_option(called)
        for form, text in (("arrow", "an Arrow stream"), ("csv", "CSV"), ("json", "JSON")):
            made = click.option(f"--{form}", is_flag=True, help=f"Answer with {text}.")(made)
        made = click.option(
            "-o",
            "--output",
            type=NewFile(),
            help="Write the answer to a file; .json, .csv, .arrow and .txt say the form.",
        )(made)
        if state:
            made = state_options(made)
        if model:
            made = model_options(made)
        return click.command(name, cls=Command)(made)

    return decorate
