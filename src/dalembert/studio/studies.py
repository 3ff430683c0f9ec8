"""Studies at a state: the linear model with its modes, poles and Bode plots, and maps of the workspace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError
from dalembert.kinematics.result import Workspace
from dalembert.kinematics.workspace import workspace
from dalembert.linearization.linearize import linearize
from dalembert.linearization.model import LinearModel
from dalembert.linearization.outputs import ENERGIES
from dalembert.studio.jobs import Job
from dalembert.studio.script import inputs_of, quoted, shown, state_line

if TYPE_CHECKING:
    from dalembert.studio.session import Session

PHASES = 48  # pictures of a mode
FREQUENCIES = 240  # of a Bode plot
FRAMES = 200  # whose positions are offered as outputs
FINEST = 81  # values along an axis of a map
NARROWEST, WIDEST = 1e-9, 100.0  # axis of a map, rad or lengths of the mechanism


class Studies:
    """Studies at the state on the bench: linear model, modes, maps."""

    def __init__(self, session: Session):
        self.session = session
        self.model: LinearModel | None = None
        self.outputs: dict[str, list[str]] = {}  # names that Bode plots offer, by group
        self.map: Workspace | None = None

    def commands(self) -> dict[str, tuple[str, Any, str]]:
        """{command: (lane, method, label)}."""
        return {
            "linearize": ("study", self.linearize, "linearizing"),
            "mode": ("study", self.mode, ""),
            "bode": ("study", self.bode, "computing a Bode plot"),
            "map": ("study", self.chart, "mapping the workspace"),
            "go": ("hand", self.go, ""),
        }

    # --- linear model -------------------------------------------------------------------------------------------

    def linearize(self, job: Job, given: dict[str, Any]) -> None:
        """Poles and modes at the state on the bench."""
        session, bench = self.session, self.session.bench
        model = linearize(bench.system, bench.x, u=bench.inputs, p=bench.given_p)
        outputs = offered(model, bench.outputs)
        if not job.take():
            return
        self.model, self.outputs = model, outputs
        modes = [
            {
                "re": m.eigenvalue.real, "im": m.eigenvalue.imag, "frequency": m.frequency, "damping": m.damping,
                "time": m.time_constant, "shape": _largest(m.shape),
            }
            for m in model.modes
        ]  # fmt: skip
        rate = float(np.abs(model.rate).max(initial=0.0))
        session.tell(
            {
                "event": "linear", "modes": modes, "stable": model.stable, "states": list(model.state_names),
                "poles": [[z.real, z.imag] for z in model.eigenvalues], "inputs": list(model.input_names),
                "outputs": outputs, "rate": rate, "text": model.table(),
            },
            keep="linear",
        )  # fmt: skip
        line = f"model = da.linearize(system, x{inputs_of(bench.u)})\nprint(model.table())"
        session.script.add("linearize", line)

    def mode(self, job: Job, given: dict[str, Any]) -> None:
        """The mechanism through one swing of a mode."""
        session, bench = self.session, self.session.bench
        if self.model is None:
            raise ArgumentError("there is no linear model; linearize first.")
        if not self.model.modes:
            raise ArgumentError(f"'{bench.system.name}' has no modes here: nothing of it moves by itself.")
        number = checks.whole(given.get("number"), "number", least=0, most=len(self.model.modes) - 1)
        amplitude = checks.number(given.get("amplitude", 0.2), "amplitude", above=0.0, most=10.0)
        mode = self.model.modes[number]
        scale = amplitude * self._size(mode.joints)
        q = np.array([x.q for x in mode.states(scale, PHASES)])
        if not job.take():
            return
        session.tell(
            {"event": "mode", "number": number, "frequency": mode.frequency, "real": mode.eigenvalue.imag == 0},
            {"poses": bench.poses(q, bench.p)},
        )
        session.script.add(f"mode {number}", f"swing = model.modes[{number}].states({shown(scale)})")

    def _size(self, joints: dict[str, complex]) -> float:
        """Factor that makes the largest motion of a mode 1 rad or one length of the mechanism."""
        d = self.session.bench.dragging
        parts = [abs(joints[name]) / reach for name, reach in zip(self.session.bench.system.v_names, d.reach)]
        return 1.0 / max(max(parts, default=1.0), 1e-12)

    def bode(self, job: Job, given: dict[str, Any]) -> None:
        """Amplitude and phase from an input to an output."""
        model, bench = self.model, self.session.bench
        if model is None:
            raise ArgumentError("there is no linear model; linearize first.")
        i = checks.choice(given.get("input"), model.input_names, "input")
        o = checks.choice(given.get("output"), [name for names in self.outputs.values() for name in names], "output")
        at, more = model.operating, o not in model.output_names
        if more:
            asked = bench.outputs.get(o, o)
            model = linearize(bench.system, at.state, u=at.u, p=at.p, outputs=[asked])
        sizes = np.abs(model.eigenvalues)
        sizes = sizes[sizes > 1e-6] if (sizes > 1e-6).any() else np.array([1.0])
        omega = np.geomspace(sizes.min() / 30, sizes.max() * 30, FREQUENCIES)
        omega = omega * (1 + 1e-9)  # not on a pole
        G = model.frequency_response(omega)[:, model.output_names.index(o), model.input_names.index(i)]
        if not job.take():
            return
        self.session.tell(
            {"event": "bode", "input": i, "output": o},
            {"omega": omega, "gain": np.abs(G), "phase": np.degrees(np.unwrap(np.angle(G)))},
        )
        place = f"[:, {model.output_names.index(o)}, {model.input_names.index(i)}]"
        line = f"omega = np.geomspace({shown(omega[0])}, {shown(omega[-1])}, {FREQUENCIES})\n"
        if more:
            what = quoted(o) if o not in bench.outputs else f"({quoted(o)}, ...)"  # its function is not known here
            u = inputs_of(dict(zip(bench.system.u_names, at.u)))
            line += f"model = da.linearize(system, model.operating.state{u}, outputs=[{what}])\n"
        line += f"G = model.frequency_response(omega){place}  # from {quoted(i)} to {quoted(o)}"
        self.session.script.add("bode", line)

    # --- maps ---------------------------------------------------------------------------------------------------

    def chart(self, job: Job, given: dict[str, Any]) -> None:
        """A map of the workspace over one or two axes."""
        session, bench = self.session, self.session.bench
        axes = given.get("axes")
        if not isinstance(axes, list) or not 1 <= len(axes) <= 2:
            raise ArgumentError("axes must be a list of one or two, each with a name, low, high and count.")
        grid: dict[str, Any] = {}
        for axis in axes:
            a = checks.mapping(axis, "an axis")
            low, high = checks.number(a.get("low"), "low"), checks.number(a.get("high"), "high")
            scale = max(1.0, bench.dragging.length)
            if not NARROWEST * scale <= abs(high - low) <= WIDEST * scale:
                why = "farther" if abs(high - low) > scale else "less"
                raise ArgumentError(f"the axis goes from {low:g} to {high:g}, {why} than can be mapped.")
            count = checks.whole(a.get("count", 31), "count", least=2, most=FINEST)
            grid[checks.name(a.get("name"), "name of an axis")] = np.linspace(low, high, count)

        def progress(part: float) -> None:
            job.progress = lambda: part

        found = workspace(bench.system, grid, bench.x, p=bench.given_p, progress=progress, limits=session.hand.limits)
        if not job.take():
            return
        self.map = found
        shape = found.shape if len(grid) == 2 else (*found.shape, 1)
        margin = np.where(found.reachable, found.margin, np.nan).reshape(shape)
        session.tell(
            {"event": "map", "axes": [{"name": n, "low": v[0], "high": v[-1]} for n, v in grid.items()],
             "share": found.share, "branches": found.branches},
            {"margin": np.nan_to_num(margin, nan=-1.0)}, keep="map",
        )  # fmt: skip
        text = ", ".join(f"{quoted(n)}: np.linspace({shown(v[0])}, {shown(v[-1])}, {len(v)})" for n, v in grid.items())
        session.script.add("map", f"reach = da.workspace(system, {{{text}}}, x)")

    def go(self, job: Job, given: dict[str, Any]) -> None:
        """Take the position of a place of the map."""
        session, bench = self.session, self.session.bench
        if self.map is None:
            raise ArgumentError("there is no map; make one first.")
        asked = given.get("place")
        if not isinstance(asked, list) or len(asked) != len(self.map.shape):
            raise ArgumentError(f"place must be a list of {len(self.map.shape)}: a number along each axis of the map.")
        place = tuple(checks.whole(k, "place", least=0, most=n - 1) for k, n in zip(asked, self.map.shape))
        if not self.map.reachable[place]:
            session.tell({"event": "note", "text": "this place is not reached"})
            return
        bench.put(bench.closed(self.map.q[place], bench.x.t))
        session.script.add("place", state_line(bench.system, bench.x))
        session.show("map")


def offered(model: LinearModel, own: Mapping[str, Any]) -> dict[str, list[str]]:
    """Names of outputs by group: those of the model, and everything else that `linearize` takes at its state."""
    at, system = model.operating, model.operating.system
    frames = list(dict.fromkeys([*system.layout.frames, *system.layout.bodies]))[:FRAMES]
    report = system.report(at.state, p=at.p)
    names = [n for n in system.v_names if n not in model.output_names]
    out = {
        "states": list(model.output_names),
        "of the user": list(own),
        "coordinates": names,
        "rates": [f"rate:{n}" for n in system.v_names],
        "accelerations": [f"acceleration:{n}" for n in system.v_names],
        "positions": [f"position:{f}@{x}" for f in frames if f != "ground" for x in "xyz"],
        "velocities": [f"velocity:{f}@{x}" for f in frames if f != "ground" for x in "xyz"],
        "multipliers": [f"multiplier:{n}" for n, known in report.determinate.items() if known],
        "energies": list(ENERGIES),
    }
    return {group: found for group, found in out.items() if found}


def _largest(shape: dict[str, complex]) -> list[list[Any]]:
    """Names, amplitudes and phases (degrees) of the largest parts."""
    positions = {name: z for name, z in shape.items() if not name.endswith(" rate")} or shape
    parts = sorted(positions.items(), key=lambda item: -abs(item[1]))[:6]
    return [[name, abs(z), float(np.degrees(np.angle(z)))] for name, z in parts if abs(z) > 1e-6]
