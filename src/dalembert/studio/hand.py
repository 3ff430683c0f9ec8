"""The hand: bodies that are dragged, sliders that are moved, other branches, other states."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, AssemblyError
from dalembert.linearization.equilibrium import equilibrium
from dalembert.studio.dragging import Moved, Pull, Slide
from dalembert.studio.jobs import Job
from dalembert.studio.script import by_name, inputs_of, state_line

if TYPE_CHECKING:
    from dalembert.studio.session import Session

BRANCHES = 12  # looked for
FARTHEST = 1e6  # place of a point that is dragged, lengths of the mechanism
PATIENCE = 0.25  # s of one slide: the page asks again where there is more way to go


class Hand:
    """Moves the mechanism on the bench."""

    def __init__(self, session: Session):
        self.session = session
        self.limits = True  # whether limits of joints stop it
        self.branches: list[np.ndarray] = []  # positions with the same leaders, the first the one they were asked from
        self.branch = 0

    def commands(self) -> dict[str, tuple[str, Any, str]]:
        """{command: (lane, method, label)}."""
        return {
            "grab": ("hand", self.grab, ""),
            "drag": ("hand", self.drag, ""),
            "slide": ("hand", self.slide, ""),
            "release": ("hand", self.release, ""),
            "limits": ("hand", self.respect, ""),
            "reset": ("hand", self.reset, ""),
            "branch": ("study", self.other_branch, "looking for other branches"),
            "equilibrium": ("study", self.equilibrium, "looking for an equilibrium"),
            "hold": ("study", self.hold, "looking for inputs"),
        }

    def grab(self, job: Job, given: dict[str, Any]) -> None:
        """Make ready for pulls at a body."""
        bench = self.session.bench
        bench.dragging.warm(checks.choice(given.get("body"), tuple(bench.system.layout.bodies), "body"))

    def drag(self, job: Job, given: dict[str, Any]) -> None:
        """Draw a point of a body to a place."""
        bench = self.session.bench
        body = checks.choice(given.get("body"), tuple(bench.system.layout.bodies), "body")
        point, to = (checks.vector(given.get(k), 3, k) for k in ("point", "to"))
        if max(np.abs(point).max(), np.abs(to).max()) > FARTHEST * bench.dragging.length:
            raise ArgumentError(f"point or to is farther away than {FARTHEST:g} lengths of '{bench.system.name}'.")
        pull = Pull(body, tuple(point.tolist()), tuple(to.tolist()))
        self._moved(bench.dragging.drag(bench.x.q, [pull], limits=self.limits), "drag")
        self.session.script.add("place", state_line(bench.system, bench.x))

    def slide(self, job: Job, given: dict[str, Any]) -> None:
        """Lead a coordinate to a value; the other actuated ones stay if they can."""
        bench = self.session.bench
        name = checks.choice(given.get("name"), tuple(bench.dragging.places), "name")
        to = checks.number(given.get("to"), "to")
        moved = bench.dragging.drag(bench.x.q, [Slide(name, to)], hold=bench.actuated, limits=self.limits)
        due = time.monotonic() + PATIENCE
        while moved.more and not job.cancelled and time.monotonic() < due:
            again = bench.dragging.drag(moved.q, [Slide(name, to)], hold=bench.actuated, limits=self.limits)
            if not again.gap < moved.gap:
                moved = replace(moved, more=False)
                break
            moved = again
        self._moved(moved, "slide")
        self.session.script.add(f"slide {name}", f"x = system.walk(x, to={by_name({name: bench.x[name]})})")

    def release(self, job: Job, given: dict[str, Any]) -> None:
        """The hand is off the mechanism: rails are drawn as far as it came."""
        self.session.bench.see("hand", np.atleast_2d(self.session.bench.x.q))
        self.session.redraw()

    def respect(self, job: Job, given: dict[str, Any]) -> None:
        """Whether limits of joints stop what is dragged."""
        self.limits = checks.flag(given.get("on"), "on")

    def reset(self, job: Job, given: dict[str, Any]) -> None:
        """Back to the state of the beginning."""
        bench = self.session.bench
        x = bench.start
        q = bench.closed(x.q, x.t)
        bench.put(q, x.v if np.array_equal(q, x.q) else None, x.t)
        self.session.script.add("place", state_line(bench.system, bench.x))
        self.session.show("reset")

    def other_branch(self, job: Job, given: dict[str, Any]) -> None:
        """The next assembly in which the leading coordinates are the same."""
        session, bench = self.session, self.session.bench
        at = bench.x.q
        if not (self.branches and np.allclose(self.branches[self.branch], at, atol=1e-9)):
            held = {name: float(bench.x[name]) for name in bench.leaders()}
            try:
                found = bench.system.assemble(held, guess=bench.x, t=bench.x.t, p=bench.given_p, branches=BRANCHES)
            except AssemblyError as error:
                session.tell({"event": "note", "text": str(error)})
                return
            others = [x.q for x in found if not self._same(x.q, at)]
            if not job.take():
                return
            self.branches, self.branch = [at, *others], 0
        if len(self.branches) == 1:
            session.tell({"event": "note", "text": "no other branch was found with these leading coordinates"})
            return
        self.branch = (self.branch + 1) % len(self.branches)
        bench.put(bench.closed(self.branches[self.branch], bench.x.t))
        self.branches[self.branch] = bench.x.q
        session.script.add("branch", state_line(bench.system, bench.x))
        session.show("branch", note=f"branch {self.branch + 1} of {len(self.branches)} found")

    def _same(self, one: np.ndarray, other: np.ndarray) -> bool:
        """Whether two positions look the same: poses of all bodies."""
        bench = self.session.bench
        a, b = bench.poses(one, bench.p)[0], bench.poses(other, bench.p)[0]
        turned = 1 - np.abs(np.sum(a[:, 3:] * b[:, 3:], axis=1))
        return bool(np.abs(a[:, :3] - b[:, :3]).max() < 1e-5 * bench.dragging.length and turned.max() < 1e-9)

    def equilibrium(self, job: Job, given: dict[str, Any]) -> None:
        """The equilibrium that is found from here."""
        session, bench = self.session, self.session.bench
        found = equilibrium(bench.system, bench.x.replace(v=np.zeros(bench.system.nv)), u=bench.inputs, p=bench.given_p)
        if not job.take():
            return
        bench.put(found.state.q)
        session.script.add("equilibrium", f"x = da.equilibrium(system, x{inputs_of(bench.u)}).state")
        session.show("equilibrium", note="at rest here")

    def hold(self, job: Job, given: dict[str, Any]) -> None:
        """The least inputs that keep the mechanism at rest where it is."""
        session, bench = self.session, self.session.bench
        at = bench.x.replace(v=np.zeros(bench.system.nv))
        found = equilibrium(bench.system, at, solve_for="u", p=bench.given_p)
        if not job.take():
            return
        bench.put(found.state.q)
        session.script.add("hold", 'u = da.equilibrium(system, x, solve_for="u").u')
        values = dict(zip(bench.system.u_names, np.asarray(found.u, dtype=float).ravel().tolist()))
        session.runs.inputs(job, {"values": values})
        session.show("hold", note="these inputs hold it here")

    def _moved(self, moved: Moved, source: str) -> None:
        session = self.session
        session.runs.shown = None
        session.bench.put(moved.q)
        session.show(source, moved)
