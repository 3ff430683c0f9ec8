"""Copies of one system that go on by time stepping, several at once in threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.ensembles.work import usual_workers
from dalembert.errors import ArgumentError
from dalembert.simulation.setup import Choices, Setup, Span
from dalembert.simulation.time_stepping.layout import SteppingLayout
from dalembert.simulation.time_stepping.request import advanced, check, check_start, laid_out

if TYPE_CHECKING:
    from dalembert.learning.worlds import Worlds

NOT_MADE = "the step was not made: {}"
SHARE = 4  # worlds: for fewer no thread is started


class SteppedWorlds:
    """Layouts and contact forces of worlds: the steps of an episode are those of one run, to rounding."""

    def __init__(self, setup: Setup, choices: Choices, n: int) -> None:
        check(setup.system, choices)
        self.setup = setup
        self.layouts: dict[bytes, SteppingLayout] = {}  # by parameters
        self.forces: list[np.ndarray | None] = [None] * n  # what x has behind q and v; None: an episode begins

    def begin(self, worlds: Worlds, rows: np.ndarray) -> dict[int, str]:
        """Episodes of these rows begin; returns {place among them: why it cannot start there}."""
        if len(self.layouts) > 2 * worlds.n:  # of episodes that are over
            used = {p.tobytes() for p in worlds.p}
            self.layouts = {key: layout for key, layout in self.layouts.items() if key in used}
        refused = {}
        for i, k in enumerate(rows):
            self.forces[k] = None
            start = worlds.system.state(worlds.q[k], worlds.v[k], float(worlds.t[k]))
            try:
                check_start(self.layout(worlds.p[k]), start)
            except ArgumentError as error:
                refused[i] = str(error)
        return refused

    def layout(self, p: np.ndarray) -> SteppingLayout:
        """The layout of worlds with these parameters."""
        key = p.tobytes()
        if key not in self.layouts:
            self.layouts[key] = laid_out(replace(self.setup, p=p.copy()))
        return self.layouts[key]

    def advance(self, worlds: Worlds, rows: np.ndarray, u: np.ndarray) -> dict[int, str]:
        """One period of these rows with inputs u (len(rows), nu); returns the sentences of those that fail."""
        layouts = [self.layout(worlds.p[k]) for k in rows]

        def make(places: range) -> dict[int, str]:
            failed = {}
            for i in places:
                k = int(rows[i])
                start = worlds.system.state(worlds.q[k], worlds.v[k], float(worlds.t[k]))
                span = Span(start, float(worlds.t[k] + worlds.period), None, u[i])
                end = advanced(layouts[i], span, self.forces[k])
                if not end.success:
                    failed[k] = NOT_MADE.format(end.message)
                    continue
                worlds.put(np.array([k]), end.x[None], np.array([end.t]))
                self.forces[k] = end.x[worlds.system.nq + worlds.system.nv :]
            return failed

        workers = min(usual_workers(), len(rows) // SHARE)
        if workers < 2:
            return make(range(len(rows)))
        with ThreadPoolExecutor(workers) as pool:
            parts = pool.map(make, [range(w, len(rows), workers) for w in range(workers)])
            return {k: text for part in parts for k, text in part.items()}
