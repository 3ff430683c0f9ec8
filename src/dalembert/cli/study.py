"""A model with its parameters, in the state that was asked for."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from dalembert import formats
from dalembert.analysis.named_start import named_start
from dalembert.errors import ArgumentError, ModelFileError, UnknownName, unknown
from dalembert.lazy import cached_property
from dalembert.mechanism.mechanism import Mechanism
from dalembert.simulation.callbacks import expression
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.zoo import CATALOG

Pairs = Sequence[tuple[str, Any]]
START = "start"  # the state that is taken where none is named


class CommandStudy:
    """A model, from a file or the zoo, with parameters set; its system, and the state asked for.

    Parameters of a mechanism of the zoo are also the keywords of the function that describes it.
    """

    def __init__(
        self, model: str, parameters: Pairs = (), state: str | None = None, at: Pairs = (), speeds: Pairs = (),
        folder: Path | None = None,
    ):  # fmt: skip
        self.model, self.parameters, self.named = model, dict(parameters), state
        self.at, self.speeds = dict(at), dict(speeds)
        self.reading: dict[str, Any] = {"folder": folder} if folder else {}

    @cached_property
    def mechanism(self) -> Mechanism:
        """The model as it is described."""
        return self._read() if self.is_file or self.model not in CATALOG else self.from_zoo()

    @property
    def is_file(self) -> bool:
        """Whether there is a file of this name, which comes before the zoo."""
        return Path(self.model).is_file()

    def from_zoo(self) -> Mechanism:
        """The mechanism of the zoo, with its start for a state."""
        entry = CATALOG[self.model]
        known = inspect.signature(entry.build).parameters
        own = {name: self.parameters.pop(name) for name in list(self.parameters) if name in known}
        mechanism = entry.build(**own)
        for name in self.parameters:
            if name.partition("[")[0] not in mechanism.parameters.symbols:
                raise unknown("parameter", name, [*known, *mechanism.parameters.symbols], "--set")
        q, v = entry.start()
        mechanism.add_state(START, q=dict(q), v=dict(v), u=_holding(mechanism, q) if entry.held else None)
        return mechanism

    def check_names(self, options: Mapping[str, Any]) -> None:
        """Refuse options of a command that name what the model has not; nothing is compiled."""
        m = self.mechanism  # which takes the parameters of a function of the zoo
        joints = [a for a in m.joints.values() if a.joint.nq]
        q = {n: None for a in joints for n in (a.name, *a.coordinates)}
        v = {n: None for a in joints for n in (a.name, *a.velocities)}
        single = [n for a in joints if a.joint.nq == a.joint.nv for n in a.coordinates]
        known: dict[str, tuple[str, Any, Any]] = {
            "--set": ("parameter", self.parameters, m.parameters.symbols),
            "--state": ("state", [self.named] if self.named is not None else [], m.states),
            "--at": ("coordinate", self.at, q),
            "--speed": ("velocity", self.speeds, v),
            "--input": ("input", [name for name, _ in options.get("inputs", ())], m.inputs),
            "--bound": ("coordinate or input", [name for name, _ in options.get("bounds", ())], {**q, **m.inputs}),
            "--steady": ("velocity", options.get("steady", ()), v),
            "--find-speed": ("velocity", options.get("wanted", ()), v),
            "--independent": ("coordinate", (options.get("independent") or "").split(","), {"": None, **q}),
            "joint": ("coordinate", [options["joint"]] if "joint" in options else [], single),
            "--frame": ("frame", options.get("frames", ()), {**m.bodies, **m.frames}),
        }
        for option, (kind, names, there) in known.items():
            for name in names:
                if name not in there and name.partition("[")[0] not in there:
                    raise unknown(kind, name, [n for n in there if n], option)
        self.inputs(options.get("inputs", ()))

    def _read(self) -> Mechanism:
        path = Path(self.model)
        if not path.exists():
            near = get_close_matches(path.name, CATALOG, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else " 'dalembert zoo list' names the mechanisms of the zoo."
            raise ModelFileError(f"'{self.model}' is neither a file nor a mechanism of the zoo.{hint}")
        return formats.read(path, **self.reading)

    @cached_property
    def system(self) -> System:
        """The model compiled, with its parameters set."""
        mechanism = self.mechanism  # which takes its own parameters first
        system = mechanism.compile()
        if not self.parameters:
            return system
        try:
            return system.with_parameters(self.parameters)
        except UnknownName as error:
            raise UnknownName(f"--set: {error}") from None

    @property
    def state(self) -> str | None:
        """The name of the state: the one asked for, else 'start' if there is one."""
        return START if self.named is None and START in self.mechanism.states else self.named

    @cached_property
    def guess(self) -> State:
        """The named state, else neutral; not assembled."""
        return self.system.state() if self.state is None else self.system.named_state(self.state)

    @cached_property
    def x(self) -> State:
        """The state asked for, on the manifold."""
        found, changed = named_start(self.system, self.state, self.at, self.speeds)
        if changed:
            warnings.warn(changed, stacklevel=1)
        return found

    def inputs(self, given: Pairs) -> Any:
        """Inputs by name: the named state's and those given; a controller where one of them is an expression."""
        u: dict[str, Any] = {} if self.state is None else dict(self.mechanism.states[self.state].u)
        u.update(given)
        texts = {key: x for key, x in u.items() if isinstance(x, str)}
        if not texts:
            return u
        laws = {key: _law(self.mechanism, key, text) for key, text in texts.items()}
        return expression(lambda t, s: {**u, **{key: law(s) for key, law in laws.items()}})


def _holding(mechanism: Mechanism, q: Mapping[str, Any]) -> dict[str, float]:
    """The least inputs that hold a mechanism at rest, N or N m by name."""
    from dalembert.linearization.equilibrium import equilibrium

    system = mechanism.compile("casadi")
    held = equilibrium(system, system.state(q), solve_for="u")
    return dict(zip(system.u_names, held.u.tolist()))


def _law(mechanism: Mechanism, name: str, text: str) -> Any:
    """A function of the state from an expression, in the grammar of model files."""
    from dalembert.formats.model.cursor import FileNode
    from dalembert.formats.model.scope import STATE, Scope

    scope = Scope(mechanism)
    scope.know_joints()
    try:
        return scope.law([FileNode(text, f"--input {name}")], STATE)
    except ModelFileError as error:
        raise ArgumentError(str(error)) from None
