"""Whether a run still has a chance to reach its end within `max_steps`, judged by the steps it takes."""

from __future__ import annotations

from dalembert.integrators.run_record import RunRecord

LOOK = 5000  # steps between looks
LOOKS = 3  # in a row that see no chance
GROWTH = 1.2  # of the step between two looks: it may yet become long enough
BEYOND = 2.0  # times max_steps


class StepBudget:
    """Looks at the mean step of a run now and then; `why` says what was seen where the run has no chance."""

    steps = -1  # at the last look; −1: there was none
    t = h = 0.0  # then, and the mean step before
    hopeless = 0  # looks in a row that see no chance
    why = ""

    def is_hopeless(self, run: RunRecord, max_steps: int) -> bool:
        """Whether the last steps, none longer than those before, lead nowhere near the end."""
        if self.steps < 0:
            self.steps, self.t = run.counts.steps, run.clock.t
        taken = run.counts.steps - self.steps
        if taken < LOOK:
            return False
        h = (run.clock.t - self.t) / taken
        needed = (run.clock.end - run.clock.t) / max(h, 1e-300)
        dim = run.counts.steps + needed > BEYOND * max_steps and h < GROWTH * self.h
        self.steps, self.t, self.h, self.hopeless = run.counts.steps, run.clock.t, h, self.hopeless + 1 if dim else 0
        self.why = f"{run.counts.steps} are taken, and at {h:.2g} s each it needs {needed:.2g} more"
        return self.hopeless >= LOOKS
