"""The coordinates at which joints stand as a file draws its bodies, where that is not at zero."""

from __future__ import annotations

import numpy as np

from dalembert.formats.links import IDENTITY, WORLD, Graph
from dalembert.formats.sdf.drawing import located
from dalembert.mechanism.joints import Fixed, Free
from dalembert.mechanism.mechanism import Mechanism

ROUNDING = 1e-6  # rad or m: coordinates nearer zero are those of single precision


def add_drawn(m: Mechanism, graph: Graph) -> None:
    """Name the state "drawn", of the joints of a mechanism that was built of this graph."""
    place = {WORLD: IDENTITY, **{link.name: link.pose for link in graph.links}}
    drawn = {}
    for e in graph.edges:
        if e.name in m.joints and not isinstance(e.joint, Fixed | Free):
            T = (place[e.parent] @ e.at_parent).inverse() @ place[e.child] @ e.at_child
            drawn[e.name] = located(e.joint, T)
    if any(np.abs(q - m.joints[n].joint.neutral()).max() > ROUNDING for n, q in drawn.items()):
        m.add_state("drawn", q=drawn)
