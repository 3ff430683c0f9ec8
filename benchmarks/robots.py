"""Whole robots with closed loops, and machines of many parts, beside Pinocchio and MuJoCo.

Robots are read from a collection of model files ($DALEMBERT_CORPUS), closed by `assemble` and asked for their
acceleration at rest; the machines are described here: planar loops on a free body, ladders, chains. The peers get the
very tree and loops that dalembert has read, joint by joint. MuJoCo gets the file that `Mechanism.save` writes.

The truth is a dense solution by NumPy of Pinocchio's own M, gravity and closure rows, refined; differences are relative
to the largest acceleration. Pinocchio: `constraintDynamics` with μ = 1e-8 and `lcaba` with μ = 1e-6, two proximal
iterations each.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from time import perf_counter, process_time

import mujoco
import numpy as np
import pinocchio as pin

import dalembert as da
from benchmarks.constrained import Peer
from benchmarks.timing import Table, interleaved, python_loop
from dalembert import zoo
from dalembert.recursions.tree import ROOT

ROBOTS = (
    "gepetto_parallel/5bar_linkage_iso3d",
    "gepetto_parallel/cassie_like",
    "gepetto_parallel/digit_like",
    "gepetto_parallel/digit_like_2legs_6D",
    "gepetto_parallel/wl16_like",
    "gepetto_parallel/disney_like",
    "gepetto_parallel/disney_robot",
    "gepetto_parallel/robot_delta",
)


def collection() -> Path:
    """The folder of the model files, which may not be there."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "corpus"
    return Path(os.environ.get("DALEMBERT_CORPUS", beside))


def loops_on_a_base(loops: int = 20) -> tuple[da.Mechanism, dict, dict]:
    """Four-bars around a free body, each in a plane of its own; with the held and the guessed angles."""
    m = da.Mechanism(f"{loops} planar loops on a free base", gravity=(0, 0, -9.81))
    base = m.add_body("base", mass=10.0, inertia=(1.0, 1.2, 1.4))
    m.add_joint("float", da.Free(), m.ground, base)
    for k in range(loops):
        turn = 2 * np.pi * k / loops
        R = da.rotation("z", turn) @ da.rotation("x", 0.3)
        at = base.at(0.5 * np.cos(turn), 0.5 * np.sin(turn), 0.1, rotation=R)
        sizes = {"crank": (1.0, 0.2), "coupler": (1.5, 0.6), "rocker": (1.2, 0.4)}
        bars = [
            m.add_body(f"{n} {k}", mass=mass, com=(size / 2, 0, 0), inertia=da.rod(mass, size))
            for n, (mass, size) in sizes.items()
        ]
        m.add_joint(f"A{k}", da.Revolute("z"), at, bars[0])
        m.add_joint(f"B{k}", da.Revolute("z"), bars[0].at(0.2), bars[1])
        m.add_joint(f"D{k}", da.Revolute("z"), at.at(0.55), bars[2])
        m.close_loop(f"C{k}", da.Revolute("z"), bars[1].at(0.6), bars[2].at(0.4))
    held = {f"A{k}": 0.6 + 0.02 * k for k in range(loops)}
    return m, held, {f"B{k}": -0.3 for k in range(loops)} | {f"D{k}": 1.2 for k in range(loops)}


class Twin(Peer):
    """A system built a second time in Pinocchio, at a position of the first, at rest."""

    def __init__(self, system: da.System, x: da.State):
        self.model, tree = pin.Model(), system.layout.tree
        g = system.description.gravity.astype(float)
        self.model.gravity = pin.Motion(g, np.zeros(3))
        self.joint = {ROOT: 0}
        q, order = [], []
        for i in _depth_first(tree):
            link = tree.links[i]
            made = self.model.addJoint(self.joint[link.parent], _joint(link.joint), _se3(link.placement), link.name)
            self.joint[i] = made
            I = link.inertia
            mass, h = float(I.m), np.array(I.h, dtype=float)
            com = h / mass if mass else np.zeros(3)
            about = np.array(I.J, dtype=float) - mass * (com @ com * np.eye(3) - np.outer(com, com))
            self.model.appendBodyToJoint(made, pin.Inertia(mass, com, about), pin.SE3.Identity())
            ours, dofs = x.q[link.q], list(range(link.v.start, link.v.stop))
            if link.joint.kind == "free":  # position and quaternion (w, x, y, z) in their orders
                ours, dofs = _free(link.joint, ours), [*dofs[3:], *dofs[:3]]
            elif link.joint.kind == "spherical":
                ours = ours[[1, 2, 3, 0]]
            q += list(ours)
            order += dofs
        for i, link in enumerate(tree.links):
            start = self.model.idx_vs[self.joint[i]]
            self.model.armature[start : start + link.joint.nv] = link.armature.astype(float)
        self.order = np.array(order)  # ours of each of theirs
        self.q, self.v, self.tau = np.array(q), np.zeros(self.model.nv), np.zeros(self.model.nv)
        self.constraints = pin.StdVec_RigidConstraintModel()
        for c in system.description.constraints:
            (la, Ta), (lb, Tb) = (system.layout.locate(f) for f in (c.a, c.b))
            kind = pin.ContactType.CONTACT_6D if c.joint.kind == "fixed" else pin.ContactType.CONTACT_3D
            ends = (self.joint[la], _se3(Ta), self.joint[lb], _se3(Tb))
            self.constraints.append(pin.RigidConstraintModel(kind, self.model, *ends, pin.ReferenceFrame.LOCAL))

    def truth(self) -> np.ndarray:
        """Theirs of v̇ at rest, dense, refined once; rows that depend on others are dropped by rank."""
        data = self.model.createData()
        M = pin.crba(self.model, data, self.q)
        M = np.triu(M) + np.triu(M, 1).T
        f = -pin.computeGeneralizedGravity(self.model, data, self.q)
        pin.computeJointJacobians(self.model, data, self.q)
        J = np.vstack([self._rows(data, c) for c in self.constraints])
        U, s, _ = np.linalg.svd(J, full_matrices=False)
        J = U[:, s > 1e-9 * s[0]].T @ J
        K = np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])
        right = np.concatenate([f, np.zeros(len(J))])
        a = np.linalg.solve(K, right)
        rest = (right.astype(np.longdouble) - K.astype(np.longdouble) @ a.astype(np.longdouble)).astype(float)
        return (a + np.linalg.solve(K, rest))[: len(M)]

    def _rows(self, data: pin.Data, c: pin.RigidConstraintModel) -> np.ndarray:
        """Velocity of one end less that of the other, and for six rows the turning too, in the ground's axes."""
        ends = []
        for joint, at in ((c.joint1_id, c.joint1_placement), (c.joint2_id, c.joint2_placement)):
            local = at.toActionMatrixInverse() @ pin.getJointJacobian(self.model, data, joint, pin.ReferenceFrame.LOCAL)
            R = (data.oMi[joint] * at).rotation
            ends.append(np.vstack([R @ local[:3], R @ local[3:]]))
        return (ends[0] - ends[1])[: 6 if c.type == pin.ContactType.CONTACT_6D else 3]


def _depth_first(tree):
    waiting = [i for i in reversed(range(len(tree))) if tree.links[i].parent == ROOT]
    while waiting:
        i = waiting.pop()
        yield i
        waiting += reversed(tree.children[i])


def _joint(joint):
    kinds = {
        "revolute": pin.JointModelRZ,
        "prismatic": pin.JointModelPZ,
        "spherical": pin.JointModelSpherical,
        "free": pin.JointModelFreeFlyer,
    }
    return kinds[joint.kind]()


def _se3(T) -> pin.SE3:
    return pin.SE3(T.R.astype(float), T.p.astype(float))


def _free(joint, q: np.ndarray) -> np.ndarray:
    T = joint.transform(q.astype(object))
    quaternion = pin.Quaternion(T.R.astype(float))
    return np.concatenate([T.p.astype(float), quaternion.coeffs()])


def mujoco_route(m: da.Mechanism, system: da.System, x: da.State):
    """mj_forward of the file that we write, or None where MuJoCo refuses it; its answer is of soft constraints."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        try:
            m.save(path)
            model = mujoco.MjModel.from_xml_path(str(path))
        except (da.DalembertError, ValueError):
            return None
    if model.nq != system.nq:
        return None
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return python_loop("f(m, d)", f=mujoco.mj_forward, m=model, d=data)


def accelerations(cases: list[tuple[str, da.Mechanism, dict, dict]], rounds: int) -> Table:
    """v̇ of each robot by every route."""
    table = Table(
        "Whole robots: acceleration at rest, µs from Python, and differences from the truth",
        ["robot", "nv, rows (rank)", "constraintDynamics", "(error)", "lcaba", "(error)", "MuJoCo",
         "system.acceleration", "(error)", "kernel", "× lcaba", "first answer, s CPU"],
    )  # fmt: skip
    for name, m, held, guess in cases:
        start = process_time()
        system = m.compile()
        x = system.assemble(held, guess=guess)
        x = system.state(x.q)
        found = system.acceleration(x)
        first = process_time() - start
        twin = Twin(system, x)
        exact = twin.truth()
        answers = {"ours": found.vdot[twin.order]}
        routes = {"ours": python_loop("f(x)", f=system.acceleration, x=x)}
        kernel = system.kernel("answer")
        known = {"q": x.q, "v": x.v, "tau": np.zeros(system.nv), "u": system.input_vector(None), "t": np.zeros(1)}
        given = [known[n] for n in kernel.names_in]
        if found.rank == len(system.row_names):
            routes["kernel"] = python_loop("f(*given)", f=kernel, given=given)
        for peer, mu in (("constraintDynamics", 1e-8), ("lcaba", 1e-6)):
            routes[peer], answers[peer] = twin.route(peer, mu, 2)
        soft = mujoco_route(m, system, x)
        if soft is not None:
            routes["MuJoCo"] = soft
        seconds = interleaved(routes, rounds)
        micro = {n: 1e6 * t for n, t in seconds.items()}
        size = np.abs(exact).max()
        error = {n: float(np.abs(a - exact).max() / size) for n, a in answers.items()}
        table.add(
            name, f"{system.nv}, {len(system.row_names)} ({found.rank})", micro["constraintDynamics"],
            error["constraintDynamics"], micro["lcaba"], error["lcaba"], micro.get("MuJoCo"), micro["ours"],
            error["ours"], micro.get("kernel"), micro["lcaba"] / micro["ours"], first,
        )  # fmt: skip
        print(table.text().splitlines()[-1], flush=True)
    return table


def growth(sizes: tuple[int, ...]) -> Table:
    """Ladders and chains: from the description to the first derivative of the state, and each after it."""
    table = Table(
        "Size: seconds of CPU from the description to the first right-hand side, µs for each one more",
        ["machine", "velocities", "operations", "empty cache, s", "from the cache, s", "µs", "µs a velocity"],
    )
    for kind in ("ladder", "chain"):
        for n in sizes:
            m = zoo.ladder(n) if kind == "ladder" else zoo.chain(n, axes=("y", "x"), bobs=False)
            with tempfile.TemporaryDirectory() as folder:
                before, os.environ["DALEMBERT_CACHE"] = os.environ.get("DALEMBERT_CACHE"), folder
                try:
                    start = process_time()
                    m.compile().kernel("ode")
                    first = process_time() - start
                    start = process_time()
                    again = m.compile()
                    kernel = again.kernel("ode")
                    kept = process_time() - start
                finally:
                    if before is None:
                        del os.environ["DALEMBERT_CACHE"]
                    else:
                        os.environ["DALEMBERT_CACHE"] = before
            x = [np.full(k, 0.1) for k in kernel.n_in]
            best = float("inf")
            for _ in range(200):
                start = perf_counter()
                kernel(*x)
                best = min(best, perf_counter() - start)
            table.add(f"{kind} of {n}", again.nv, kernel.instructions, first, kept, 1e6 * best, 1e6 * best / again.nv)
            print(table.text().splitlines()[-1], flush=True)
    return table


def run(quick: bool = False) -> list[Table]:
    """The tables of this part."""
    cases = [(m.name, m, held, guess) for m, held, guess in [loops_on_a_base(20)]]
    folder = collection()
    for name in ROBOTS:
        path = folder / name / "robot.urdf"
        if path.exists():
            cases.append((path.parent.name, da.read(path), {}, {}))
    tables = [accelerations(cases, 20 if quick else 60), growth((100, 300) if quick else (100, 300, 1000))]
    if len(cases) == 1:
        tables[0].notes.append("No collection of model files was found; set DALEMBERT_CORPUS to its folder.")
    return tables
