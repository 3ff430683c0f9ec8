"""Wheels of gearboxes: the revolute joint by which one link turns in another."""

from __future__ import annotations

import numpy as np

from dalembert.formats.links import WORLD, Edge, Graph
from dalembert.formats.notes import Notes
from dalembert.formats.xml import Element
from dalembert.mechanism.joints import Fixed, Revolute
from dalembert.mechanism.spanning import clusters


class Turning:
    """Revolute joints by the links they connect, links that are fixed to each other being one."""

    def __init__(self, graph: Graph, notes: Notes):
        self.notes = notes
        self.poses = {link.name: link.pose for link in graph.links}
        self.number = {WORLD: 0, **{link.name: i for i, link in enumerate(graph.links, start=1)}}
        rigid = [e for e in graph.edges if isinstance(e.joint, Fixed) and not e.cut]
        self.part = clusters(len(self.number), [(self.number[e.parent], self.number[e.child]) for e in rigid])
        self.known: dict[tuple[int, int], tuple[Edge, float]] = {}
        for e in graph.edges:
            if isinstance(e.joint, Revolute):
                self.known.setdefault(self._ends(e.parent, e.child), (e, 1.0))
                self.known.setdefault(self._ends(e.child, e.parent), (e, -1.0))

    def _ends(self, a: str, b: str) -> tuple[int, int]:
        return self.part[self.number[a]], self.part[self.number[b]]

    def between(self, reference: str, wheel: str, n: np.ndarray, e: Element) -> tuple[str, float]:
        """The joint by which a wheel turns in the reference, and the sign of its angle about n (in the world)."""
        found = self.known.get(self._ends(reference, wheel))
        if found is None:
            raise e.error(
                f"needs a revolute joint between its reference body '{reference}' and '{wheel}', and there is none."
            )
        joint, sign = found
        T = joint.at_parent if joint.parent == WORLD else self.poses[joint.parent] @ joint.at_parent
        along = float(T.R @ joint.joint.axis @ n)  # type: ignore[attr-defined]
        if abs(along) < 0.999:
            angle = np.degrees(np.arccos(min(abs(along), 1.0)))
            self.notes.add(
                e,
                f"its axis stands {angle:.3g}° from that of joint '{joint.name}', the only way in which '{wheel}' can "
                "turn; the angle of the joint is taken",
            )
        return joint.name, sign if along > -1e-9 else -sign
