"""`studio`: open a mechanism in the browser."""

from __future__ import annotations

import time
import webbrowser
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.charts.leaders import name_and_function, named_list
from dalembert.errors import ArgumentError, DalembertError
from dalembert.mechanism.traced import UserState
from dalembert.protocols import Parameters, StateGiven, check_system
from dalembert.simulation.results.run import Run
from dalembert.studio.bench import Bench
from dalembert.studio.files import first_state
from dalembert.studio.script import Script, by_name, state_line
from dalembert.studio.server import Server
from dalembert.studio.session import Session
from dalembert.system.state import State
from dalembert.system.system import System


class Studio:
    """A studio that is open: `url` is its address, `state` where its mechanism is, `close()` ends it.

    It ends with the process too. In a `with` statement it ends with the block.
    """

    def __init__(self, session: Session, server: Server):
        self.session, self.server = session, server

    @property
    def url(self) -> str:
        """The address of the page, with its token."""
        return self.server.url

    @property
    def state(self) -> State:
        """The state that is shown, with its parameters and inputs."""
        bench = self.session.bench
        return bench.system.arguments.belonging(bench.x, bench.given_p, bench.inputs)

    @property
    def system(self) -> System:
        """The system that is shown."""
        return self.session.bench.system

    @property
    def run(self) -> Run | None:
        """The last run, if there is one."""
        kept = self.session.runs.kept.get("A")
        return None if kept is None else kept.run

    def open(self) -> None:
        """Show the page in the browser."""
        webbrowser.open(self.url)

    def wait(self) -> None:
        """Stay until Ctrl-C."""
        try:
            while True:
                time.sleep(3600.0)
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """End it."""
        self.server.close()
        self.session.close()

    def __enter__(self) -> Studio:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        of = " without a mechanism" if self.session.is_empty else f" of '{self.system.name}'"
        return f"<studio{of} at {self.url}>"


def studio(
    system: System | None = None,
    run: Run | None = None,
    *,
    state: StateGiven | None = None,
    duration: float = 5.0,
    u: Any = None,
    p: Parameters = None,
    outputs: Sequence[tuple[str, Callable[[UserState], Any]]] = (),
    port: int = 0,
    open: bool = True,
    source: str = "system = ...  # the system that was given",
) -> Studio:
    """Open a mechanism in the browser: drag it, simulate it, look at its report, modes and workspace.

    The page comes from this process, on the loopback address and under a random token; nothing is fetched from
    elsewhere. Call it from a script, a notebook or an interpreter: it returns at once, and the studio stays open as
    long as the process lives, or until `close()`. Needs the extra `studio`.

    system: a compiled `System`; without one it begins with an empty stage, on which a linkage is sketched. run: a run
    of it to show. state: where to begin, a `State`, positions by name or an array; default the start of the run, the
    state named "start", or assembled. duration: s that are simulated. u: constant inputs, p: parameters, by
    name. outputs: (name, function of the state) that Bode plots offer beside coordinates,
    frames, multipliers and energies, as in `da.linearize`. port: to listen on, 0 for a free one. open: whether to show
    the page in the browser.
    source: the line of Python that makes the system, for "Show the Python".

    >>> from dalembert import view, zoo
    >>> with view.studio(zoo.four_bar().compile(), open=False) as s:
    ...     s.url.startswith("http://127.0.0.1:"), s
    (True, <studio of 'four-bar' at http://127.0.0.1:...>)
    """
    checks.whole(port, "port", least=0, most=65535)
    seconds = checks.number(duration, "duration", above=0.0)
    if system is None:
        if any(x is not None for x in (run, state, u, p)) or len(outputs):
            raise ArgumentError("run, state, u, p or outputs belong to a system, and none was given; needed: system.")
        return _shown(Session(None, Script(""), seconds), port, open)
    check_system(system)
    if run is not None and not isinstance(run, Run):
        raise ArgumentError(f"run is {checks.shown(run)}; needed: a Run, as da.simulate returns it.")
    if run is not None and run.system.layout is not system.layout and list(run.system.q_names) != list(system.q_names):
        raise ArgumentError(f"the run is one of '{run.system.name}', not of '{system.name}'.")
    if state is not None:
        state, u, p = system.arguments.resolve(state, u, p)
    given_p = system.arguments.parameter_vector(p if p is not None or run is None else run.p)
    x = _start(system, run, state, given_p)
    inputs = dict(zip(system.u_names, system.arguments.input_vector(x.u if u is None else u).tolist()))
    script = Script(source)
    if not np.array_equal(given_p, system.arguments.parameter_vector(None)):
        values = dict(zip(system.p_names, given_p.tolist()))
        script.add("parameters", f"system = system.with_parameters({by_name(values)})")
    script.add("place", state_line(system, x))
    more = [name_and_function(item, "outputs") for item in named_list(outputs, "outputs")]
    session = Session(Bench(system, x, given_p, inputs, more), script, seconds)
    if run is not None:
        session.runs.take(run, "A")
    return _shown(session, port, open)


def _shown(session: Session, port: int, open: bool) -> Studio:
    """The studio of a session, served, and shown in the browser if it is to be."""
    try:
        made = Studio(session, Server(session, port))
    except DalembertError:
        session.close()
        raise
    if checks.flag(open, "open"):
        made.open()
    return made


def _start(system: System, run: Run | None, state: StateGiven | None, p: np.ndarray) -> State:
    if state is not None:
        x = system.arguments.as_state(state)
        return system.project(x, p=p if len(p) else None) if system.rows.of else x
    if run is not None and len(run.t):
        return system.state(run.q[0], run.v[0], float(run.t[0]))
    return first_state(system)
