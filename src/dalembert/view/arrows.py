"""Arrows of what joints pass on along a run: forces and moments in the ground's axes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import unknown
from dalembert.view.door import names
from dalembert.view.plots import smooth
from dalembert.view.poses import body_poses, clock, place_on_body, positions_at
from dalembert.view.scene import Scene

SMALL = 1e-6  # of the largest: arrows that stay below are left out


@dataclass(frozen=True, slots=True, eq=False)
class Arrow:
    """One arrow: the joint, "force" or "moment", and where it begins, (3,) on a body (its index)."""

    name: str
    kind: str
    body: int
    position: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Arrows:
    """Arrows and their vectors (N, arrows, 3) in N and N m, in the ground's axes; largest: by kind."""

    arrows: list[Arrow]
    vectors: np.ndarray
    largest: dict[str, float]


def joint_arrows(s: Scene, run: Any, times: np.ndarray, joints: Iterable[str] | None = None) -> Arrows:
    """Forces and moments of joints and loops (default: all) on their second body at times (N,), in its frame."""
    system = run.system
    known = {j.name: j for j in s.joints}
    wanted = list(known) if joints is None else names(joints, "forces")
    for name in wanted:
        if name not in known:
            raise unknown("joint or loop", name, known)
    loops = {c.name: c for c in system.description.constraints if c.kind == "loop"}
    q, curves = positions_at(run, times), smooth(run)
    poses = body_poses(system, q, run.p)
    found: list[tuple[Arrow, np.ndarray]] = []
    for name in wanted:
        frame = loops[name].b if name in loops else system.layout.joints[name].loaded
        R, x = place_on_body(system, frame, run.p)
        wrench = np.column_stack([np.interp(times, clock(curves), column) for column in curves.reactions(name).T])
        turn = poses[frame.body.name][:, :3, :3] @ R
        for kind, part in (("force", wrench[:, 3:]), ("moment", wrench[:, :3])):
            arrow = Arrow(name, kind, known[name].b.body, x)
            found.append((arrow, np.einsum("nij,nj->ni", turn, np.nan_to_num(part))))
    largest = {
        kind: max((float(np.linalg.norm(v, axis=1).max()) for a, v in found if a.kind == kind), default=0.0)
        for kind in ("force", "moment")
    }
    if largest["moment"] < SMALL * largest["force"] * s.length:
        largest["moment"] = 0.0
    kept = [(a, v) for a, v in found if np.linalg.norm(v, axis=1).max() > SMALL * largest[a.kind] > 0]
    vectors = np.stack([v for _, v in kept], axis=1) if kept else np.zeros((len(times), 0, 3))
    return Arrows([a for a, _ in kept], vectors, largest)
