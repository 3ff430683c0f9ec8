"""Runs: simulated beside the page, sampled for it, two kept for comparing."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, DalembertError
from dalembert.lazy import cached_property
from dalembert.simulation.hybrid.hybrid_run import HybridRun
from dalembert.simulation.hybrid.request import simulate_hybrid
from dalembert.simulation.results.phased_run import PhasedRun
from dalembert.simulation.results.result import result
from dalembert.simulation.results.run import Run
from dalembert.simulation.run.context import lay_out
from dalembert.simulation.run.record_pool import give_back, plain_layout
from dalembert.simulation.run.segment import Segment
from dalembert.simulation.run.stepping import begin, integrate
from dalembert.simulation.setup import Choices, make_choices, make_span
from dalembert.studio.jobs import Job
from dalembert.studio.script import by_name, inputs_of, shown
from dalembert.system.state import State
from dalembert.view.animation import wanderer
from dalembert.view.plots import smooth
from dalembert.view.poses import positions_at

if TYPE_CHECKING:
    from dalembert.studio.session import Session

RATE = 60  # pictures for a second of the run
MOST = 3000  # pictures of a run
POSES = 150_000  # bodies × pictures
POINTS = 4000  # records of a plot
LONGEST = 3600.0  # s of a run
SAMPLES = 120  # positions of a run that rails are made long enough for
STEPS = 200  # of a run, at least
CHANGES = 400  # of structure that are marked


@dataclass(frozen=True, eq=False)
class Shown:
    """A run in the studio: its number and name."""

    number: int
    run: Run
    name: str

    @cached_property
    def curves(self) -> Run:
        """The run at so many times that its plots look smooth."""
        return cast(Run, smooth(self.run))


class Runs:
    """The run that is shown, "A", and the one it is compared with, "B"."""

    def __init__(self, session: Session):
        self.session = session
        self.kept: dict[str, Shown] = {}
        self.count = 0
        self.time = 5.0
        self.shown: tuple[str, float] | None = None  # (slot, time) that the bench shows

    def commands(self) -> dict[str, tuple[str, Any, str]]:
        """{command: (lane, method, label)}."""
        return {
            "simulate": ("run", self.simulate, "simulating"),
            "parameters": ("hand", self.parameters, ""),
            "inputs": ("hand", self.inputs, ""),
            "seek": ("hand", self.seek, ""),
            "keep": ("hand", self.keep, ""),
            "forget": ("hand", self.forget, ""),
            "stop": ("", self.stop, ""),
        }

    def stop(self, job: Job, given: dict[str, Any]) -> None:
        """Stop simulating, and everything else that is slow."""
        stopped = [label for lane in ("run", "study", "live") for label in self.session.lanes[lane].cancel()]
        if stopped:
            self.session.tell({"event": "note", "text": f"stopped: {', '.join(stopped)}"})

    # --- simulating ---------------------------------------------------------------------------------------------

    def simulate(self, job: Job, given: dict[str, Any]) -> None:
        """Simulate from the state on the bench, or again from where run A began."""
        session, bench = self.session, self.session.bench
        if "time" in given:
            self.time = checks.number(given["time"], "time", above=0.0, most=LONGEST)
        again = given.get("again") is True and "A" in self.kept and self.kept["A"].run.system is bench.system
        start = self.kept["A"].run.state(0) if again else bench.x
        if again:
            start = bench.system.state(start.q, start.v, start.t)
            start = bench.system.project(start, p=bench.given_p)
        run = self._run(job, start)
        if not job.take():
            return
        session.script.add("simulate", f"run = da.simulate(system, x, {shown(self.time)}{inputs_of(bench.u)})")
        self.take(run, "A")

    def _run(self, job: Job, start: Any) -> Run:
        bench = self.session.bench
        longest = self.time / STEPS  # so that curves are smooth
        choices = make_choices("dop853", 1e-9, 1e-10, None, longest, "projection", "auto", "continue", 10_000_000)
        if bench.system.layout.is_hybrid:
            return self._phases(job, start, choices)
        span = make_span(bench.system, start, self.time, None, bench.inputs)
        layout = plain_layout(bench.system, choices, span, bench.given_p)
        ctx = lay_out(Segment(layout, span))
        job.on_cancel = ctx.interrupt.stop
        if job.cancelled:
            ctx.interrupt.stop()
        begun = float(start.t)
        job.progress = lambda: (ctx.record.clock.t - begun) / self.time
        begin(ctx)
        run = result(ctx, integrate(ctx))
        give_back(layout, ctx.spare)
        return run

    def _phases(self, job: Job, start: Any, choices: Choices) -> Run:
        """A run in which contacts, ropes, stops and dry friction act."""
        bench, begun = self.session.bench, float(start.t)

        def watched(run: HybridRun) -> None:
            job.on_cancel = run.stop
            if job.cancelled:
                run.stop()
            job.progress = lambda: (run.t - begun) / self.time

        nothing: dict[str, Any] = dict.fromkeys(
            ("t_eval", "controller", "period", "events", "switches", "stops", "coordinates", "options")
        )
        return simulate_hybrid(
            bench.system, start, self.time, u=bench.inputs, p=bench.given_p, choices=choices, begun=watched,
            shared=True, **nothing,
        )  # fmt: skip

    def take(self, run: Run, slot: str) -> None:
        """Show a run: its pictures first, what takes longer to compute after."""
        session = self.session
        if len(run.t) == 0:
            raise ArgumentError(f"the run has no records: {run.message}")
        self.count += 1
        kept = self.kept[slot] = Shown(self.count, run, f"run {self.count}")
        session.memory.pop(f"more {slot}", None)
        pick = np.unique(np.linspace(0, len(run.t) - 1, SAMPLES).round().astype(int))
        session.bench.see(f"run {slot}", run.q[pick])
        session.redraw()
        session.tell(*self.pictures(kept, slot), keep=f"run {slot}")
        session.lanes["look"].submit(f"more {slot}", lambda later: self._more(kept, slot))

    def pictures(self, kept: Shown, slot: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The run as it moves, with its coordinates and energies."""
        run, bench = kept.run, self.session.bench
        first, last = float(run.t[0]), float(run.t[-1])
        count = int(np.clip(RATE * (last - first), 2, min(MOST, max(2, POSES // bench.poses.bodies)))) + 1
        times = np.linspace(first, last, count)
        poses = bench.poses(positions_at(run, times), run.p)
        curves = kept.curves
        pick = np.unique(np.linspace(0, len(curves.t) - 1, min(len(curves.t), POINTS)).round().astype(int))
        channels: list[tuple[str, str, str, np.ndarray]] = []
        for name, i in bench.order(bench.system.q_names):
            channels.append(("positions", name, bench.unit.get(name, ""), curves.q[:, i]))
        for name, v in bench.order(bench.system.v_names):
            channels.append(("velocities", name, "rad/s" if bench.angular[v] else "m/s", curves.v[:, v]))
        energies = {"kinetic": curves.kinetic_energy, "potential": curves.potential_energy, "total": curves.energy}
        channels += [("energy", name, "J", x) for name, x in energies.items()]
        header = {
            "event": "run", "slot": slot, "number": kept.number, "name": kept.name, "message": run.message,
            "success": run.success, "duration": last - first, "begin": first,
            "follow": wanderer(bench.scene(), poses),
            "steps": run.steps, "channels": [[g, n, u] for g, n, u, _ in channels],
        }  # fmt: skip
        values = np.array([x[pick] for *_, x in channels]).reshape(len(channels), len(pick))
        return header, {"times": times, "poses": poses, "t": curves.t[pick], "values": values}

    def _more(self, kept: Shown, slot: str) -> None:
        """Multipliers, evidence, passages, events and warnings of a run."""
        run, curves, session = kept.run, kept.curves, self.session
        pick = np.unique(np.linspace(0, len(curves.t) - 1, min(len(curves.t), POINTS)).round().astype(int))
        channels: list[tuple[str, str, str, np.ndarray]] = []
        with np.errstate(all="ignore"):
            if run.system.rows.of:
                lam = curves.multipliers
                channels += [("multipliers", n, "N, N m", lam[:, k]) for k, n in enumerate(run.system.row_names)]
            for name in getattr(run, "contact_names", ()):
                channels.append(("multipliers", name, "N, N m", curves.multiplier(f"{name}.gap")))
            if run.system.rows.of or getattr(run, "contact_names", ()):
                channels.append(("evidence", "closure", "m, rad", curves.residuals))
            if run.system.rows.of:
                channels.append(("evidence", "margin", "", np.sqrt(np.maximum(curves.margin, 0.0))))
            channels.append(("evidence", "energy error", "J", np.abs(curves.energy_error)))
        marks = [{"t": p.nearest, "end": p.end, "kind": "passage", "text": str(p)} for p in run.passages]
        for name, times in run.t_events.items():
            marks += [{"t": float(t), "end": float(t), "kind": "event", "text": name} for t in times]
        for change in run.switches[:CHANGES]:
            marks.append(
                {"t": change.t, "end": change.t, "kind": "event", "text": f"{change.what} at {change.t:.4g} s"}
            )
        header = {
            "event": "more", "slot": slot, "number": kept.number, "marks": marks, "warnings": list(run.warnings),
            "channels": [[g, n, u] for g, n, u, _ in channels],
        }  # fmt: skip
        if self.kept.get(slot) is kept:
            values = np.array([x[pick] for *_, x in channels]).reshape(len(channels), len(pick))
            session.tell(header, {"t": curves.t[pick], "values": values}, keep=f"more {slot}")

    # --- what changes them --------------------------------------------------------------------------------------

    def parameters(self, job: Job, given: dict[str, Any]) -> None:
        """Other parameters: the mechanism is drawn again, and what was simulated is simulated again."""
        session, bench = self.session, self.session.bench
        values = checks.mapping(given.get("values"), "values")
        if not bench.set_parameters(values):
            session.tell({"event": "note", "text": "the loops do not close with this value; it was not taken"})
            session.tell(session.values(), keep="values")
            return
        session.script.add(f"parameters {sorted(values)}", f"system = system.with_parameters({by_name(values)})")
        session.redraw(always=True)
        session.show("parameters")
        self._renew()

    def inputs(self, job: Job, given: dict[str, Any]) -> None:
        """Other inputs, constant in a simulation and at once where one is live."""
        session = self.session
        session.bench.set_inputs(checks.mapping(given.get("values"), "values"))
        session.tell(session.values(), keep="values")
        if not session.live.on:
            session.watching.again()
            self._renew()

    def _renew(self) -> None:
        if "A" in self.kept:
            self.session.lanes["run"].submit("simulate", lambda job: self.simulate(job, {"again": True}), "simulating")

    def seek(self, job: Job, given: dict[str, Any]) -> None:
        """Show a time of a run on the bench: report and forces follow."""
        slot, bench = checks.choice(given.get("slot", "A"), ("A", "B"), "slot"), self.session.bench
        if slot not in self.kept:
            return
        run = self.kept[slot].run
        t = float(np.clip(checks.number(given.get("t"), "t"), run.t[0], run.t[-1]))
        x = _state_at(run, t)
        bench.put(x.q, x.v, t, run.phase(t) if isinstance(run, PhasedRun) else None)
        self.shown = slot, t
        self.session.script.add("seek", f"x = run({shown(t)})")
        self.session.show("seek")

    def keep(self, job: Job, given: dict[str, Any]) -> None:
        """Keep run A as B, to compare the next one with it."""
        if "A" not in self.kept:
            raise ArgumentError("there is no run to keep; simulate first.")
        kept = self.kept["B"] = self.kept["A"]
        session = self.session
        session.tell(*self.pictures(kept, "B"), keep="run B")
        session.lanes["look"].submit("more B", lambda later: self._more(kept, "B"))

    def forget(self, job: Job, given: dict[str, Any]) -> None:
        """Compare no longer."""
        self.kept.pop("B", None)
        for name in ("run B", "more B"):
            self.session.memory.pop(name, None)
        self.session.tell({"event": "gone", "slot": "B"})


def _state_at(run: Run, t: float) -> State:
    """The state of a run at a time; of one that knows its records only, the nearest on the manifold between two."""
    try:
        return cast(State, run(t))
    except ArgumentError:
        pass
    v = np.array([np.interp(t, run.t, run.v[:, k]) for k in range(run.system.nv)])
    x = run.system.state(positions_at(run, np.array([t]))[0], v, t)
    try:
        return run.system.project(x, p=run.p if len(run.p) else None) if run.system.rows.of else x
    except DalembertError:
        return x


class Live:
    """A simulation in real time, with the inputs as they are at each moment."""

    STEP = 1 / 60  # s

    def __init__(self, session: Session):
        self.session, self.on = session, False

    def commands(self) -> dict[str, tuple[str, Any, str]]:
        """{command: (lane, method, label)}."""
        return {"live": ("live", self.run, ""), "pause": ("hand", self.pause, "")}

    def pause(self, job: Job, given: dict[str, Any]) -> None:
        """Stop it."""
        self.session.lanes["live"].cancel()

    def run(self, job: Job, given: dict[str, Any]) -> None:
        """Step by step until it is paused."""
        from dalembert.simulation.simulate import simulate

        session, bench = self.session, self.session.bench
        self.on = True
        session.tell({"event": "live", "on": True}, keep="live")
        try:
            simulate(bench.system, bench.x, 1e-6, u=bench.inputs, p=bench.given_p, rtol=1e-6, atol=1e-7)  # compiles
            due = began = time.perf_counter()
            t0, told = bench.x.t, 0.0
            while not job.cancelled and session.bench is bench:
                run = simulate(bench.system, bench.x, self.STEP, u=bench.inputs, p=bench.given_p, rtol=1e-6, atol=1e-7)
                if not run.success:
                    session.tell({"event": "note", "text": f"live simulation ended: {run.message}"})
                    break
                x = run.state(-1)
                bench.put(x.q, x.v, x.t, run.phases[-1] if isinstance(run, PhasedRun) else None)
                now = time.perf_counter()
                look = now - told > 0.2
                session.show("live", look=look, speed=(x.t - t0) / max(now - began, self.STEP))
                told = now if look else told
                due = max(due + self.STEP, now - 0.1)
                time.sleep(max(0.0, due - time.perf_counter()))
        finally:
            self.on = False
            session.tell({"event": "live", "on": False}, keep="live")
            session.show("live")
            session.hand.release(job, {})
