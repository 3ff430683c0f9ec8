"""Whether a run still has a chance to reach its end within `max_steps`, judged by the steps it takes."""

from __future__ import annotations

from dalembert.integrators.run_record import RunRecord

LOOK = 5000  # steps between looks
LOOKS = 3  # in a row that see no chance
GROWTH = 1.2  # of the step between two looks: it may yet become long enough
BEYOND = 2.0  # times max_steps


class Patience:
    """Looks at the mean step of a run now and then; `why` says what was seen where the run has no chance."""

    def __init__(self) -> None:
        self.steps, self.t, self.h, self.hopeless, self.why = -1, 0.0, 0.0, 0, ""

    def ends(self, run: RunRecord, max_steps: int) -> bool:
        """Whether the last steps, none longer than those before, lead nowhere near the end."""
        if self.steps < 0:
            self.steps, self.t = run.steps, run.t
        taken = run.steps - self.steps
        if taken < LOOK:
            return False
        h = (run.t - self.t) / taken
        needed = (run.end - run.t) / max(h, 1e-300)
        dim = run.steps + needed > BEYOND * max_steps and h < GROWTH * self.h
        self.steps, self.t, self.h, self.hopeless = run.steps, run.t, h, self.hopeless + 1 if dim else 0
        self.why = f"{run.steps} are taken, and at {h:.2g} s each it needs {needed:.2g} more"
        return self.hopeless >= LOOKS
