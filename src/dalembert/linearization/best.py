"""The coordinates of a linear model for which none were asked: remembered, as long as they are the best ones for sure.

Which coordinates are best is a function of the state alone (`coordinates.best_choice`), whatever was asked before. It
takes a decomposition to find them, where nothing is known. A linear model in the coordinates of the last state has the
motions here, of which a native function (`formulations.choice`) finds the best ones: nearly always the same, and
certainly so. Where it is not certain, or these motions are too long to judge by, they are chosen anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dalembert.formulations.choice import Choice
from dalembert.linearization.traced import NAMES
from dalembert.native.library import call
from dalembert.rank import RankPolicy
from dalembert.system.system import System

if TYPE_CHECKING:
    from dalembert.linearization.plan import Found, LinearPlan

KQ, KV = NAMES.index("Kq"), NAMES.index("Kv")
STEEP = 1e-6  # squared sine of coordinates to the motions: below, their motions are too long to judge by
VANISHED = 1e-12  # of a usual row: it follows from the others


class Best:
    """The plan in the coordinates that were best at some state."""

    def __init__(self, system: System, plan: LinearPlan):
        self.plan = plan
        self.at: tuple[bytes, bytes, Any] = b"", b"", None  # q, p and t
        self.chosen = tuple(c.index for c in (*plan.velocities, *plan.more))
        straight = plan.kernel is not None and not (plan.more and plan.rows is not None)
        #: whether coordinates at other states are found from motions in these
        self.judges = straight and None not in self.chosen and system.kernels.selected_from is None
        self._all = len(plan.velocities) == system.nv
        self._M = system.kernel("mass_matrix") if self.judges else None
        self._A = system.kernel("constraints") if self.judges and plan.rows is not None else None
        self._sizes = system.nv, 0 if self._A is None else len(system.rows.of)
        self._spare: list[list[Choice]] = []

    @staticmethod
    def of(system: System, plan: LinearPlan, given: Mapping[str, Any]) -> Best:
        """That of a plan, with the state at which it was found to be the best."""
        best = plan.best
        if best is None:
            best = plan.best = Best(system, plan)
        best.at = given["q"].tobytes(), given["p"].tobytes(), given["t"]
        return best

    def known(self, given: Mapping[str, Any]) -> bool:
        """Whether this is the state for which they were chosen."""
        q, p, t = self.at
        return self._all or (given["q"].tobytes() == q and given["p"].tobytes() == p and given["t"] == t)

    def places(self, given: Mapping[str, Any], found: Found, policy: RankPolicy) -> tuple[int, ...] | None:
        """The best coordinates at a state whose model in these is `found`; None where they are not certain."""
        values, margin = found
        if not min(margin[2:]) > STEEP:
            return None
        try:
            spare = self._spare.pop()
        except IndexError:
            spare = self._workspaces()
        first = spare[0]
        assert self._M is not None
        self._M(*map(given.__getitem__, self._M.names_in), out=first.M)
        if self._A is not None:
            first.A[:] = self._A(*map(given.__getitem__, self._A.names_in))[1]
            first.sizes[:] = policy.sizes
        chosen: list[int] | None = []
        for choice, K in zip(spare, (KV, KQ)):
            choice.K[:] = values[K]
            choice.chosen[: choice.fixed] = chosen
            call("best_choice", choice)
            if not choice.found:
                chosen = None
                break
            chosen = choice.chosen.tolist()
        self._spare.append(spare)
        return None if chosen is None else tuple(chosen)

    def _workspaces(self) -> list[Choice]:
        """One for the velocities, and one for positions where there are more of these; both read the same M."""
        n, m = self._sizes
        k, more = len(self.plan.velocities), len(self.plan.more)
        out = [Choice.sized(n=n, k=k, m=m, vanish=VANISHED)]
        if more:
            out.append(Choice.sized(n=n, k=k + more, fixed=k, M=out[0].M))
        return out
