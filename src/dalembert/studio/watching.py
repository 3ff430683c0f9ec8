"""Panels beside the mechanism: its report, and the joint forces as arrows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints import LoopJoint, Rod
from dalembert.mechanism.contacts import Contact, Rope
from dalembert.simulation.hybrid.phase_system import PhaseSystem
from dalembert.studio.bench import Bench
from dalembert.studio.jobs import Job
from dalembert.symbols import array
from dalembert.system.reactions import Reactions
from dalembert.system.state import State
from dalembert.system.trace import Trace
from dalembert.view.poses import place_on_body

if TYPE_CHECKING:
    from dalembert.studio.session import Session

COMPONENTS = ("Mx", "My", "Mz", "Fx", "Fy", "Fz")  # of a wrench, in the axes of the joint's second frame
PAUSE = 0.1  # s between reports
ROUNDING = 1e-9  # of the largest component


class Watching:
    """Reports of the state that is shown, the latest only."""

    def __init__(self, session: Session):
        self.session = session
        self._done, self._took = 0.0, 0.0  # when the last one was told, and how long it took, s

    def commands(self) -> dict[str, tuple[str, Any, str]]:
        """{command: (lane, method, label)}."""
        return {"look": ("look", self.look, "")}

    def again(self) -> None:
        """Look at what is shown now, soon."""
        self.session.lanes["look"].submit("look", lambda job: self.look(job, {}))

    def look(self, job: Job, given: dict[str, Any]) -> None:
        """Report and forces, not so often that what is dragged would wait for them."""
        time.sleep(max(0.0, self._done + max(PAUSE, 3 * self._took) - time.monotonic()))
        began = time.monotonic()
        self._look()
        self._done = time.monotonic()
        self._took = min(self._done - began, 0.5)

    def _look(self) -> None:
        bench, x = self.session.bench, self.session.bench.x
        told = report_of(bench, x)
        self.session.tell({"event": "report", **told, "opening": opening(bench, x, told)}, keep="report")
        try:
            arrows = forces_of(bench, x)
        except DalembertError as error:
            self.session.tell({"event": "forces", "arrows": [], "why": str(error)}, keep="forces")
            return
        self.session.tell({"event": "forces", "arrows": arrows, "why": ""}, keep="forces")


def report_of(bench: Bench, x: State) -> dict[str, Any]:
    """The report at a state as plain data."""
    try:
        system, p = bench.acting
        r = system.report(x, p=p)
    except DalembertError as error:
        return {"failed": str(error)}
    return {
        "failed": "",
        "lines": [list(line) for line in r.lines()],
        "mobility": r.mobility,
        "generic_mobility": r.generic_mobility,
        "nv": r.nv,
        "rows": r.rows,
        "rank": r.rank,
        "generic_rank": r.generic_rank,
        "singular": r.singular,
        "singular_values": r.singular_values,
        "distance": r.distance,
        "condition": r.condition,
        "to_singularity": None if r.to_singularity is None else list(r.to_singularity),
        "horizon": r.horizon,
        "redundant": [{"row": name, "made_of": made} for name, made in r.redundant.items()],
        "trivial": list(r.trivial),
        "determinate": r.determinate,
        "closed": r.closed,
        "residual": r.residual,
    }


def opening(bench: Bench, x: State, report: dict[str, Any]) -> list[dict[str, Any]]:
    """How bodies begin to move by the freedom that a singular position nearby opens; empty where none is near.

    It is the direction of v in which the rows resist least, in the mass metric: the right singular vector of A L⁻ᵀ,
    M = L Lᵀ, that belongs to the least singular value of the usual rank.
    """
    rank, system, p = report.get("generic_rank", 0), bench.system, bench.given_p
    if not rank or not bench.dragging.near(bench.dragging.place(x.q).sigma):
        return []
    try:
        L = np.linalg.cholesky(system.mass_matrix(x, p=p))
        V = np.linalg.svd(np.linalg.solve(L, system.constraint_matrix(x, p=p).T).T)[2]
        v = np.linalg.solve(L.T, V[rank - 1])
    except np.linalg.LinAlgError:  # a body without mass
        return []
    moving, out = x.replace(v=v), []
    for name, body in system.layout.bodies.items():
        if name == "ground":
            continue
        T = np.asarray(system.pose(x, body, p=p))
        twist = np.asarray(system.twist(moving, body, p=p, axes="world"))
        at = T[:3, :3] @ place_on_body(system, body.at(*body.com), p)[1]
        out.append({"body": name, "at": T[:3, 3] + at, "vector": twist[3:] + np.cross(twist[:3], at)})
    return out


def forces_of(bench: Bench, x: State) -> list[dict[str, Any]]:
    """The force and moment in every joint, in the ground's axes: what acts on its second body, and where.

    determinate: whether rigid bodies determine all that is shown; free: components that they leave open, some of which
    are shown as zero, as those across the plane of a planar mechanism.
    """
    system, p = bench.acting
    f = system.constraint_forces(x, u=bench.inputs, p=p)
    poses = dict(zip(system.layout.bodies, bench.poses(x.q, bench.p)[0]))
    frames = {a.name: a.loaded for a in system.description.whole.joints.values()}
    frames |= {c.name: c.b for c in system.description.constraints if isinstance(c, LoopJoint)}
    out = []
    for name, wrench in {**f.joints, **f.loops}.items():
        frame = frames.get(name)
        if frame is None or frame.body.name not in poses:
            continue
        R, at = place_on_body(bench.system, frame, bench.given_p)
        T = poses[frame.body.name]
        turn = _rotation(T[3:])
        known = np.asarray(f.determinate[name])
        sure = np.abs(wrench[~known]).max(initial=0.0) <= ROUNDING * max(np.abs(wrench).max(), 1e-300)
        out.append(
            {
                "name": name,
                "body": frame.body.name,
                "at": T[:3] + turn @ at,
                "force": turn @ R @ wrench[3:],
                "moment": turn @ R @ wrench[:3],
                "determinate": bool(sure),
                "free": [c for c, k in zip(COMPONENTS, known) if not k],
                "loop": name in f.loops,
            }
        )
    touched = system.mode.touched if isinstance(system, PhaseSystem) else {}
    for contact in system.layout.mechanism.contacts.values():
        if contact.name in touched:
            out += contact_forces(bench, x, contact, f)
    for c in system.description.constraints:
        if isinstance(c, Rod):
            row = f"{c.name}.length"
            out += line_forces(bench, x, c.name, (c.a, c.b), -f.multipliers[row], f.determinate_rows[row])
    return out


def contact_forces(bench: Bench, x: State, contact: Any, f: Reactions) -> list[dict[str, Any]]:
    """What a contact that touches presses on its body with, or the pull of a taut rope on its two ends."""
    sure = f.determinate_rows.get(f"{contact.name}.gap", True)
    press = f.multipliers[f"{contact.name}.gap"]
    if isinstance(contact, Rope):
        return line_forces(bench, x, contact.name, contact.points, press, sure)
    if not isinstance(contact, Contact):  # an expression of the position acts inside the joints
        return []
    R, at = _touched(bench, x, contact)
    slips = [f.multipliers.get(f"{contact.name}.{name}", 0.0) for name in contact.slip_names]
    if not any(f"{contact.name}.{name}" in f.multipliers for name in contact.slip_names):
        slip = (_speed(bench, x, contact.frame, at) - _speed(bench, x, contact.on, at)) @ R[:, :2]
        slips = -contact.friction * press * slip / max(float(np.linalg.norm(slip)), 1e-12)
    return [_pushed(contact.name, contact.frame.body.name, at, R @ [*slips, press], sure)]


def _touched(bench: Bench, x: State, contact: Contact) -> tuple[np.ndarray, np.ndarray]:
    """The axes of a contact, its normal last, and where it touches, in the ground."""

    def value(s: Trace) -> np.ndarray:
        _, axes, at = contact.touch(s.state.user())
        return np.concatenate([array(axes).reshape(-1), array(at)])

    kernel = bench.system.kernels.custom(("touch", contact.name), ("q", "p", "t"), value)
    given = {"q": x.q, "p": bench.system.arguments.parameter_vector(bench.given_p), "t": np.array([x.t])}
    found = kernel(*[given[name] for name in kernel.names_in])
    return found[:9].reshape(3, 3), found[9:]


def line_forces(
    bench: Bench, x: State, name: str, points: Sequence[Frame], tension: float, sure: bool
) -> list[dict[str, Any]]:
    """The pull of a rod or a rope on the bodies at its two ends; a rod may push."""
    ends = [_placed(bench, x, point)[1] for point in points]
    ways = ((0, ends[1] - ends[0]), (-1, ends[-2] - ends[-1]))
    return [_pushed(name, points[k].body.name, ends[k], tension * d / np.linalg.norm(d), sure) for k, d in ways]


def _pushed(name: str, body: str, at: np.ndarray, force: np.ndarray, sure: bool) -> dict[str, Any]:
    """A force without a moment, as the page takes it."""
    return {
        "name": name, "body": body, "at": at, "force": force, "moment": np.zeros(3), "determinate": bool(sure),
        "free": [] if sure else ["F"], "loop": False,
    }  # fmt: skip


def _placed(bench: Bench, x: State, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    """(R, x) of a frame in the ground."""
    T = np.asarray(bench.system.pose(x, frame, p=bench.given_p))
    return T[:3, :3], T[:3, 3]


def _speed(bench: Bench, x: State, frame: Frame, at: np.ndarray) -> np.ndarray:
    """The velocity of a frame's body at a place of the ground, (3,), in the ground's axes."""
    V = np.asarray(bench.system.twist(x, frame.body, p=bench.given_p, axes="world"))
    return V[3:] + np.cross(V[:3], at - _placed(bench, x, frame.body.at())[1])


def _rotation(q: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_quat(q[[1, 2, 3, 0]]).as_matrix())
