"""A governed reference: a spline through nearest positions, so that a task slows down before the edge of its workspace.

The nearest position N(θ_d) moves with the reference, but stops within a hundredth of the mechanism's size where that
leaves the workspace. What is passed on is a mean over time. With cubic B-splines B_k about the times t_k = k δ, and
N_k = N(θ_d(t_k)),

    θ_g = Σ B_k N_k + w (θ_d − Σ B_k θ_d(t_k)),   w = Σ B_k χ_k,                                       (1)

where χ_k is 1 if the references of all times within 3δ of t_k are reached, else 0. Then

    θ_g = θ_d         where no reference within 5δ is out of reach: nothing changes, to the last digit
    θ_g = Σ B_k N_k   where one of the four nearest is: no faster than the N_k, whose speed changes within 3δ

and in between a mean of the reference and of its own mean. The rate and the acceleration are the derivatives of (1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import floor

import numpy as np

from dalembert.control.reachability import NearestPosition, PositionSearch
from dalembert.control.references import Triple
from dalembert.system.state import State

NEAR = (-1, 0, 1, 2)  # times t_k, from the last one on, whose splines are not zero
WITHIN = 3  # δ: NEAR times are that far apart, so that w > 0 only where all of them are reached
KEPT = 200  # nodes remembered: an integrator goes back by some, and must find what it found before
#: coefficients of the four splines, by powers of the time since the last t_k in δ
SPLINES = np.array([[1.0, -3.0, 3.0, -1.0], [4.0, 0.0, -6.0, 3.0], [1.0, 3.0, 3.0, -3.0], [0.0, 0.0, 0.0, 1.0]]) / 6.0


@dataclass(frozen=True, eq=False)
class ReferenceNode:
    """The reference at one of the times t_k, and the position nearest to it."""

    t: float
    goal: np.ndarray  # (nt,) θ_d
    found: NearestPosition


@dataclass(frozen=True, eq=False)
class Governed:
    """A reference as it is passed on, and the nodes that it was made from."""

    reference: Triple
    nodes: dict[int, ReferenceNode]  # to be remembered: those that were known, and new ones
    farthest: ReferenceNode | None  # of those about t that were not reached, if the reference was not followed


class Governor:
    """References that a task can follow up to the edge of its workspace, of a workspace and a reference.

    step: δ, s.
    """

    def __init__(self, workspace: PositionSearch, reference: Callable[[float], Triple], step: float):
        self.workspace, self.reference, self.step = workspace, reference, step

    def __call__(self, t: float, state: State, active: np.ndarray, known: dict[int, ReferenceNode]) -> Governed:
        """(1) at the time t; state: where the search for the first position starts. known: nodes of earlier calls."""
        now, last = self.reference(t), floor(t / self.step)
        nodes = self._nodes(last, state, active, known)
        known = {**known, **nodes}
        if len(known) > KEPT:
            known = {k: known[k] for k in sorted(known)[-KEPT // 2 :]} | nodes
        reached = np.array([node.found.reached for node in nodes.values()])
        if reached.all():
            return Governed(now, known, None)
        free = np.array([reached[k : k + 2 * WITHIN + 1].all() for k in range(len(NEAR))])  # χ of the near ones
        near = [nodes[last + k] for k in NEAR]
        turn = self.workspace.plant.short_way
        goals = np.array([now[0] + turn(node.goal - now[0]) for node in near])
        misses = np.array([0.0 * x.goal if x.found.reached else turn(x.found.theta - x.goal) for x in near])
        B = self._splines(t / self.step - last)
        places, means, w = B @ (goals + misses), B @ goals, B @ free
        off = np.array(now) - means  # 0, 1 and 2 derivatives each
        value = places[0] + w[0] * off[0]
        rate = places[1] + w[1] * off[0] + w[0] * off[1]
        acceleration = places[2] + w[2] * off[0] + 2 * w[1] * off[1] + w[0] * off[2]
        farthest = max(nodes.values(), key=lambda node: 0.0 if node.found.reached else node.found.distance)
        return Governed((value, rate, acceleration), known, farthest)

    def _splines(self, u: float) -> np.ndarray:
        """(3, 4) the near splines, and their first and second derivatives by time, u times δ after the last t_k."""
        powers = np.array([[1.0, u, u * u, u**3], [0.0, 1.0, 2 * u, 3 * u * u], [0.0, 0.0, 2.0, 6 * u]])
        return powers @ SPLINES.T / self.step ** np.arange(3.0)[:, None]

    def _nodes(
        self, last: int, state: State, active: np.ndarray, known: dict[int, ReferenceNode]
    ) -> dict[int, ReferenceNode]:
        """The nodes that count at a time after node `last`, in order, each searched from the one beside it."""
        wanted = range(last + NEAR[0] - WITHIN, last + NEAR[-1] + WITHIN + 1)
        nodes = {k: known[k] for k in wanted if k in known}
        for k in sorted(wanted, key=lambda k: abs(k - last)):
            if k not in nodes:
                beside = next((nodes[j].found.q for j in sorted(nodes, key=lambda j: abs(j - k))), None)
                goal = self.reference(k * self.step)[0]
                found = self.workspace.nearest(state, beside, k * self.step, goal, active, margin=True)
                nodes[k] = ReferenceNode(k * self.step, goal, found)
        return {k: nodes[k] for k in wanted}
