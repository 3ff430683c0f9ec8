"""Scenario files: a model, its state, and a list of commands to run on it, each with the options of its command line.

A file has the keys of `KEYS`. It is checked whole before anything is run; wrong parts are told by file and line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from dalembert.cli.answer import Output
from dalembert.cli.options import NewFile, Pair
from dalembert.errors import ArgumentError, ModelFileError, UnknownName

VERSION = 1
#: key: what it holds
KEYS = {
    "scenario": "the version of the format, 1",
    "title": "a text",
    "model": "a model file, or a name of the zoo",
    "set": "parameters by name",
    "state": "the name of a state",
    "at": "held coordinates by name",
    "speed": "held velocities by name",
    "input": "inputs by name",
    "tolerances": "rtol and atol",
    "run": "a list of commands, each with its options",
}
SHARED = ("set", "state", "at", "speed", "input")
COMMANDS = (
    "check", "report", "assemble", "sweep", "simulate", "linearize", "modes", "equilibrium", "convert", "view",
)  # fmt: skip


@dataclass(frozen=True)
class ScenarioStep:
    """One command, its arguments, and where the file asks for it."""

    command: str
    arguments: list[str]
    line: int


class Scenario:
    """A scenario file that was read and checked: `title`, and `steps` with complete command lines.

    commands: by name. folder: where files are written.
    """

    def __init__(self, path: Path, commands: Mapping[str, click.Command], folder: Path):
        from dalembert.formats import yaml

        self.path, self.folder, self.commands = path, folder, commands
        self.mechanisms: dict[str, Any] = {}  # the model for each set of parameters
        self.data = self._table(yaml.load(path), "the file", 1)
        for key in self.data:
            if key not in KEYS:
                raise self._wrong(f"has the key '{key}'; {_known(key, KEYS)}", self._line(self.data, key))
        if self.data.get("scenario") != VERSION or isinstance(self.data["scenario"], bool):
            raise self._wrong(f"needs the line 'scenario: {VERSION}', the version of the format.", 1)
        for key in ("model", "run"):
            if key not in self.data:
                raise self._wrong(f"needs the key '{key}': {KEYS[key]}.", 1)
        self.title = self._text("title") if "title" in self.data else ""
        self.model = self._model(self._text("model"))
        self.steps = self._steps()

    def _steps(self) -> list[ScenarioStep]:
        listed = self.data["run"]
        if not isinstance(listed, list) or not listed:
            raise self._wrong("'run' is no list; needed: commands, each a line like '- report: {}'.", self._at("run"))
        out = []
        for k, item in enumerate(listed):
            line = getattr(listed, "lines", [0] * len(listed))[k]
            if isinstance(item, str):
                item = {item: None}
            name = next(iter(item)) if isinstance(item, dict) and len(item) == 1 else None
            if name not in COMMANDS:
                found = f"'{name}'" if isinstance(name, str) else "no single command"
                raise self._wrong(f"has {found} in 'run'; {_known(str(name), COMMANDS)}", line)
            given = self._table({} if item[name] is None else item[name], f"'{name}'", line)
            if name == "view" and "output" not in given:
                raise self._wrong("'view' needs an output, a file: the studio does not end by itself.", line)
            out.append(ScenarioStep(name, self._arguments(self.commands[name], given, line), line))
        return out

    def _arguments(self, command: click.Command, given: Mapping[str, Any], line: int) -> list[str]:
        """The command line of a step, its options checked by the command itself."""
        withheld = ("model", "debug", "include-from")  # which folder is trusted is for the user to say, not for a file
        known = {_key(p): p for p in command.params if _key(p) not in withheld}
        for key in given:
            if key not in known:
                where = self._line(given, key) or line
                raise self._wrong(f"'{command.name}' has no option '{key}'; {_known(key, known)}", where)
        options, positional = [], [self.model]
        for key, parameter in known.items():
            values = self._values(key, parameter, given, self._line(given, key) or line)
            if isinstance(parameter, click.Argument):
                positional += values
            elif isinstance(parameter, click.Option) and parameter.is_flag:
                options += [f"--{'' if value == 'True' else 'no-'}{key}" for value in values if value]
            else:
                options += [f"--{key}={value}" for value in values]
        arguments = [*options, "--", *positional]
        try:
            with command.make_context(command.name, list(arguments)) as context:
                self._check(context.params)
        except click.ClickException as error:
            raise self._wrong(f"'{command.name}': {error.format_message()}", line) from None
        except (ArgumentError, UnknownName) as error:
            raise self._wrong(f"'{command.name}': {error}", line) from None
        return arguments

    def _check(self, options: Mapping[str, Any]) -> None:
        """Check the names that a step gives against the model, and the form of its answer."""
        from dalembert.cli.study import CommandStudy

        if "json" in options:
            Output.chosen({form: options[form] for form in ("json", "csv", "arrow")}, options["output"])
        parameters, at, speeds = (options.get(name, ()) for name in ("parameters", "at", "speeds"))
        study = CommandStudy(self.model, parameters, options.get("state"), at, speeds)
        own = repr(sorted(study.parameters.items(), key=str))
        if own in self.mechanisms:
            study.mechanism, study.parameters = self.mechanisms[own]
        study.check_names(options)
        self.mechanisms[own] = study.mechanism, study.parameters

    def _values(self, key: str, parameter: click.Parameter, given: Mapping[str, Any], line: int) -> list[str]:
        """The texts of an option: of the step, else of the whole scenario."""
        value = given.get(key)
        if isinstance(parameter.type, Pair):
            table = {**self._shared(key, {}), **self._table(value if value is not None else {}, f"'{key}'", line)}
            return [f"{name}={_word(x)}" for name, x in table.items()]
        if value is None:
            value = self._shared(key, None)
        if value is None and key == "open":
            value = False
        if value is None:
            return []
        if isinstance(parameter, click.Option) and parameter.is_flag:
            if not isinstance(value, bool):
                raise self._wrong(f"'{key}' is {value!r}; needed: true or false.", line)
            return [str(value)] if value or parameter.secondary_opts else []
        if isinstance(parameter.type, NewFile):
            return [str(self._file(value, key, line))]
        if isinstance(value, list) and parameter.multiple:
            return [_word(x) for x in value]
        if isinstance(value, dict):
            raise self._wrong(f"'{key}' is a table; needed: {parameter.type.name}.", line)
        return [_word(value)]

    def _shared(self, key: str, otherwise: Any) -> Any:
        """Settings of the scenario that apply to all its steps."""
        tolerances = self._table(self.data.get("tolerances") or {}, "'tolerances'", self._at("tolerances"))
        for name in tolerances:
            if name not in ("rtol", "atol"):
                where = self._line(tolerances, name)
                raise self._wrong(f"'tolerances' has '{name}'; {_known(name, ['rtol', 'atol'])}", where)
        if key in tolerances:
            return tolerances[key]
        if key not in SHARED or self.data.get(key) is None:
            return otherwise
        if isinstance(otherwise, dict):
            return self._table(self.data[key], f"'{key}'", self._at(key))
        return self._text(key)

    def _file(self, value: Any, key: str, line: int) -> Path:
        """A file to be written, inside the folder."""
        path = Path(value) if isinstance(value, str) and value else None
        if (
            path is None
            or path.is_absolute()
            or not (self.folder / path).resolve().is_relative_to(self.folder.resolve())
        ):
            raise self._wrong(f"'{key}' is {value!r}; needed: a file inside the folder of the scenario.", line)
        return self.folder / path

    def _model(self, name: str) -> str:
        beside = self.path.parent / name
        return str(beside) if beside.is_file() else name

    def _text(self, key: str) -> str:
        value = self.data[key]
        if not isinstance(value, str) or not value:
            raise self._wrong(f"'{key}' is {value!r}; needed: {KEYS[key]}.", self._at(key))
        return value

    def _table(self, x: Any, what: str, line: int) -> dict[str, Any]:
        if not isinstance(x, dict):
            raise self._wrong(f"{what} is {x!r:.60}; needed: names and values.", line)
        return x

    def _at(self, key: str) -> int:
        return self._line(self.data, key)

    def _line(self, table: Any, key: str) -> int:
        return getattr(table, "lines", {}).get(key, 0)

    def _wrong(self, text: str, line: int) -> ModelFileError:
        return ModelFileError(text, str(self.path), line)


def _key(parameter: click.Parameter) -> str:
    """The name of a parameter in a scenario: its long option."""
    if isinstance(parameter, click.Argument):
        return parameter.name or ""
    return max(parameter.opts, key=len).lstrip("-")


def _word(x: Any) -> str:
    """A value as a command line has it."""
    if isinstance(x, list):
        return ",".join(map(_word, x))
    return repr(x) if isinstance(x, float) else str(x)


def _known(name: str, names: Any) -> str:
    near = get_close_matches(name, list(names), n=1)
    return f"known: {', '.join(names)}." + (f" Did you mean '{near[0]}'?" if near else "")
