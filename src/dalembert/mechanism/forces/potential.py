"""Forces of a potential energy that the user writes."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.mechanism.forces.force import Force, Value, evaluate
from dalembert.mechanism.local import LocalState
from dalembert.mechanism.traced import Load, TracedState
from dalembert.recursions import kinematics
from dalembert.recursions.tree import Link
from dalembert.spatial import Transform
from dalembert.symbols import array, to_sx


class Potential(Force):
    """Q = −∂V/∂δ of an energy V (J) of the positions of joints and frames.

    V is traced on links that stand alone and differentiated there, as short as it was written: along the joints it
    names and the twists of the links whose frames it asks for, which makes forces along the former and wrenches on the
    latter.
    """

    kind = "potential"

    def __init__(self, name: str, value: Value):
        self.name, self.value = name, value

    def given(self) -> list[tuple[str, Value, tuple[int, ...]]]:
        return [(f"the energy of potential '{self.name}'", self.value, ())]

    @property
    def conservative(self) -> bool:
        return True

    def energy(self, s: TracedState) -> Any:
        return evaluate(self.value, s, (), f"the energy of potential '{self.name}'")

    def act(self, s: TracedState, load: Load) -> None:
        local = LocalState(s.layout, s.t)
        slopes = local.slopes(to_sx([self.energy(local)]))
        tree = s.layout.tree
        touched = [link for link in local.at.tree.links if slopes[0, link.v].nnz()]
        if not touched:
            return
        here = to_sx(np.concatenate([s.at.q[: tree.nq], *(self._pose(s, i) for i in range(len(tree)))]))
        Q = -array(ca.densify(ca.substitute(slopes, local.z, here)).T)
        for link in touched:
            self._put(load, link, Q[link.v], tree.nv)

    @staticmethod
    def _pose(s: TracedState, link: int) -> np.ndarray:
        T = kinematics.pose(s.at, link, Transform.identity())
        return np.concatenate([T.R.ravel(), T.p])

    @staticmethod
    def _put(load: Load, link: Link, Q: np.ndarray, nv: int) -> None:
        """Along a joint's velocities, or, for a link that stands alone, as a wrench on it."""
        if link.v.start < nv:
            load.tau[link.v] = load.tau[link.v] + Q
        else:
            load.on_link((link.v.start - nv) // 6, Q)
