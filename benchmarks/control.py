"""One control update beside Pinocchio, NumPy and a QP solver: measured state → actuator forces.

The law is projected inverse-dynamics control on a task (Aghili 43-44, with passive joints 60): the smallest actuator
forces that give the task the acceleration θ̈_d + G_D ė + G_P e. Ours:

    native    the native function "allocate" in a compiled loop, the reference being given
    Python    the controller called as u(t, state), the reference evaluated from a compiled trajectory

The peer computes M, h, the loop Jacobian and its drift, the task Jacobian and its drift with Pinocchio, and solves

    min ‖u‖²   with   M v̇ + h = B u + Aᵀλ,   A v̇ = −γ,   J v̇ = a_θ                     unknowns (v̇, u, λ)

in two ways: step by step with NumPy (null space of A, then v̇, then the shortest u), and as a quadratic program by
ProxQP through CasADi, which is what a whole-body controller does. Of planar loops it takes the two rows that say
something.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import pinocchio as pin

import dalembert as da
from benchmarks import models
from benchmarks.description import Model
from benchmarks.timing import Table, address_loop, interleaved, python_loop, versus
from dalembert import control, zoo
from dalembert.mechanism.inertia import cylinder_inertia
from dalembert.native.library import address

GAINS = (100.0, 20.0)
WEIGHT = 100.0  # of the task against the forces, where it is moved least: with ten times more ProxQP fails on some


@dataclass(frozen=True)
class Case:
    """A mechanism in both libraries, which velocities are driven and which coordinates are the task."""

    name: str
    mechanism: da.Mechanism
    joints: tuple[str, ...]  # driven, by name
    task: tuple[str, ...]  # coordinates, by name
    start: Any  # of a system, a state on the constraints
    model: Any  # Pinocchio's
    loops: Any  # its constraints
    rows: int  # of a loop that are used: 2, 3 or 6
    to_pinocchio: Any  # (q, v) in its order


def cases() -> list[Case]:
    """A five-bar with two motors, 3-RRR with three, a Stewart platform with six, two arms with fourteen."""
    return [
        revolute(models.five_bar(), (0, 2), (0, 2), 2),
        revolute(three_legs(), (0, 3, 5), (0, 3, 5), 2),
        stewart(),
        revolute(models.two_arms(), tuple(range(14)), tuple(range(8)), 6),
    ]


def revolute(model: Model, driven: tuple[int, ...], task: tuple[int, ...], rows: int) -> Case:
    """A case of a benchmark model."""
    names = [f"j_{link.name}" for link in model.links]
    peer = model.pinocchio()

    def start(system: da.System) -> da.State:
        return system.state(*models.consistent_state(model, system))

    joints, moved = (tuple(names[k] for k in chosen) for chosen in (driven, task))
    loops = model.pinocchio_closures(peer)
    return Case(
        model.name, model.mechanism(), joints, moved, start, peer, loops, rows, lambda q, v: (q.copy(), v.copy())
    )


def stewart() -> Case:
    """`zoo.stewart`; the task is the lengths of the legs."""
    model = pin.Model()
    model.gravity = pin.Motion(np.array([0.0, 0.0, -9.81]), np.zeros(3))
    plate = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "platform")
    model.appendBodyToJoint(plate, pin.Inertia(100.0, np.zeros(3), np.diag([25.0, 25.0, 50.0])), pin.SE3.Identity())
    loops = pin.StdVec_RigidConstraintModel()
    for k, (base, top, length, R) in enumerate(zoo.StewartGeometry().legs(), start=1):
        part, half = 0.6 * length, 0.5
        inertia = np.asarray(cylinder_inertia(half, 0.05, part), dtype=float)
        inertia = inertia if inertia.ndim == 2 else np.diag(inertia)
        first = model.addJoint(0, pin.JointModelRX(), pin.SE3(R, base), f"first {k}")
        second = model.addJoint(first, pin.JointModelRY(), pin.SE3.Identity(), f"second {k}")
        model.appendBodyToJoint(second, pin.Inertia(half, np.array([0, 0, part / 2]), inertia), pin.SE3.Identity())
        slide = model.addJoint(second, pin.JointModelPZ(), pin.SE3(np.eye(3), np.array([0, 0, length])), f"slide {k}")
        model.appendBodyToJoint(slide, pin.Inertia(half, np.array([0, 0, -part / 2]), inertia), pin.SE3.Identity())
        ends = slide, pin.SE3.Identity(), plate, pin.SE3(np.eye(3), top)
        loops.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, *ends, pin.ReferenceFrame.LOCAL))

    def start(system: da.System) -> da.State:
        at = system.state(*zoo.stewart_start([0.1, -0.05, 1.9], da.rotation("x", 0.1)))
        K = system.subspaces(at).K
        return at.replace(v=K @ np.random.default_rng(3).normal(size=K.shape[1]))

    def swapped(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.concatenate([q[4:7], q[1:4], q[:1], q[7:]]), np.concatenate([v[3:6], v[:3], v[6:]])

    legs = tuple(f"P{k}" for k in range(1, 7))
    return Case("Stewart platform", zoo.stewart(), legs, legs, start, model, loops, 3, swapped)


def three_legs() -> Model:
    """3-RRR with the proportions of `zoo.planar_3rrr`; the platform hangs on leg 1."""
    legs = np.pi / 2 + 2 * np.pi / 3 * np.arange(3)
    links, q = [], []
    start, _ = zoo.planar_3rrr_start()
    for k, leg in enumerate(legs):
        at = (*(0.5 * np.array([np.cos(leg), np.sin(leg)])), 0.0)
        links.append(models._bar(f"proximal{k + 1}", models.WORLD, at, 0.3, 0.6))
        links.append(models._bar(f"distal{k + 1}", len(links) - 1, (0.3, 0.0, 0.0), 0.3, 0.4))
        q += [start[f"A{k + 1}"], start[f"B{k + 1}"]]
        if k == 0:
            inertia = np.diag([1.0, 1.0, 2.0]) * 1.0 * 0.15**2 / 4
            # the platform's frame stands in its first pin; its centre is 0.15 m from there
            links.append(models.Link("platform", 1, "z", (0.3, 0.0, 0.0), 1.0, (0.0, -0.15, 0.0), inertia))
            q.append(start["C1"])
    closures = []
    for k in (1, 2):
        pin_at = 0.15 * np.array([np.cos(legs[k]), np.sin(legs[k])]) - [0.0, 0.15]
        distal = 2 + 2 * k
        closures.append(models.Closure(f"C{k + 1}", "z", distal, (0.3, 0.0, 0.0), 2, (*pin_at, 0.0)))
    return Model("3-RRR", tuple(links), models.PLANAR, closures=tuple(closures), q=np.array(q))


class Ours:
    """The controller on a case, at its state."""

    def __init__(self, case: Case):
        if not case.mechanism.inputs:
            for name in case.joints:
                case.mechanism.add_motor(f"u_{name}", name)
        self.system = case.mechanism.compile()
        self.x = case.start(self.system)
        self.goal = np.array([self.x[n] + 0.02 * (k + 1) for k, n in enumerate(case.task)])
        self.law = control.motion_control(
            self.system, control.coordinates(*case.task), control.constant(self.goal), gains=GAINS
        )
        self.u = self.law(0.0, self.x)
        self.workspace = self.law.allocator.take()  # as the call left it


class Peer:
    """The same law by Pinocchio and dense algebra."""

    def __init__(self, case: Case, ours: Ours):
        system, self.model, self.loops, self.rows = ours.system, case.model, case.loops, case.rows
        self.data, n = self.model.createData(), self.model.nv
        self.n, self.m, self.goal = n, len(self.loops) * case.rows, ours.goal
        self.driven = [system.v_names.index(name) for name in case.joints]
        self.task = [system.v_names.index(name) for name in case.task]
        self.places = [system.q_names.index(name) for name in case.task]
        self.q, self.v = case.to_pinocchio(ours.x.q, ours.x.v)
        self.B = np.zeros((n, len(self.driven)))
        self.B[self.driven, range(len(self.driven))] = 1.0
        self.J = np.eye(n)[self.task]
        m, na = self.m, len(self.driven)
        self.H = ca.DM(np.diag(np.concatenate([np.full(n, 1e-6), np.ones(na), np.full(m, 1e-6)])))
        rows = n + m + len(self.task)
        shape = {"h": self.H.sparsity(), "a": ca.Sparsity.dense(rows, n + na + m)}
        self.solver = ca.conic("qp", "proxqp", shape, {"error_on_fail": False})
        self.E, self.r = np.zeros((rows, n + na + m)), np.zeros(rows)
        self.E[:n, n : n + na], self.E[n + m :, :n] = -self.B, self.J

    def terms(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, ...]:
        """M, h, A, γ and the task's acceleration."""
        M = pin.crba(self.model, self.data, q)
        M = np.triu(M) + np.triu(M, 1).T
        h = pin.rnea(self.model, self.data, q, v, np.zeros(self.n))
        pin.computeJointJacobians(self.model, self.data, q)
        pin.forwardKinematics(self.model, self.data, q, v, np.zeros(self.n))
        pairs = [self._difference(loop) for loop in self.loops]
        A, gamma = np.vstack([pair[0] for pair in pairs]), np.concatenate([pair[1] for pair in pairs])
        a_task = GAINS[0] * (self.goal - q[self.places]) - GAINS[1] * v[self.task]
        return M, h, A, gamma, a_task

    def _end(self, joint, placement):
        """Jacobian, angular velocity, and linear and angular drift of an end of a loop, in its own axes."""
        J = placement.toActionMatrixInverse() @ pin.getJointJacobian(self.model, self.data, joint, pin.LOCAL)
        V, dV = placement.actInv(self.data.v[joint]), placement.actInv(self.data.a[joint])
        return J, np.concatenate([dV.linear + np.cross(V.angular, V.linear), dV.angular])

    def _difference(self, loop):
        """A and γ of a loop: end 1 less end 2 in the axes of end 1; the first `rows` of them."""
        one, two = (loop.joint1_id, loop.joint1_placement), (loop.joint2_id, loop.joint2_placement)
        R = (self.data.oMi[one[0]] * one[1]).rotation.T @ (self.data.oMi[two[0]] * two[1]).rotation
        (J1, d1), (J2, d2) = self._end(*one), self._end(*two)
        if self.rows < 6:
            return J1[: self.rows] - R[: self.rows] @ J2[:3], d1[: self.rows] - R[: self.rows] @ d2[:3]
        J = np.vstack([J1[:3] - R @ J2[:3], J1[3:] - R @ J2[3:]])
        return J, np.concatenate([d1[:3] - R @ d2[:3], d1[3:] - R @ d2[3:]])

    def dense(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """u by least squares: v̇ from the constraints and the task, then (u, λ), the shortest u."""
        M, h, A, gamma, a_task = self.terms(q, v)
        J = self.J
        K = np.linalg.svd(A)[2][self.m :].T
        c = np.linalg.lstsq(A, -gamma, rcond=None)[0]
        reduced = np.linalg.cholesky(K.T @ M @ K)
        K = np.linalg.solve(reduced, K.T).T  # orthonormal in the mass metric
        c = c - K @ (K.T @ (M @ c))
        y = np.linalg.lstsq(J @ K, a_task - J @ c, rcond=None)[0]
        vdot = c + K @ y
        return np.linalg.lstsq(K.T @ self.B, K.T @ (M @ vdot + h), rcond=None)[0]

    def program(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """u by a quadratic program in (v̇, u, λ)."""
        M, h, A, gamma, a_task = self.terms(q, v)
        n, m, na = self.n, self.m, len(self.driven)
        E, r = self.E, self.r
        E[:n, :n], E[:n, n + na :], E[n : n + m, :n] = M, -A.T, A
        r[:n], r[n : n + m], r[n + m :] = -h, -gamma, a_task
        x = self.solver(h=self.H, g=0, a=E, lba=r, uba=r)["x"]
        return np.array(x).ravel()[n : n + na]


class Bounded:
    """The same law with bounds that matter: motors at 0.7 of what they would give, accelerations at 0.8."""

    def __init__(self, case: Case, ours: Ours, peer: Peer):
        free = ours.law.explain(0.0, ours.x)
        self.limit, self.fastest = 0.7 * np.abs(free.u).max(), 0.8 * np.abs(free.vdot).max()
        task = control.coordinates(*case.task)
        self.law = control.motion_control(
            ours.system, task, control.constant(ours.goal), gains=GAINS, limits=self.limit, accelerations=self.fastest,
            weights=dict.fromkeys(task.names, 1.0),
        )  # fmt: skip
        self.u = self.law(0.0, ours.x)
        self.workspace, self.peer = self.law.allocator.take(), peer
        n, m, na = peer.n, peer.m, len(peer.driven)
        weight = WEIGHT / self.least_effect(peer) ** 2
        self.H = np.zeros((n + na + m, n + na + m))
        self.H[:n, :n] = weight * peer.J.T @ peer.J + 1e-6 * np.eye(n)
        self.H[n : n + na, n : n + na], self.H[n + na :, n + na :] = np.eye(na), 1e-6 * np.eye(m)
        self.weight, rows = weight, n + m
        shape = {"h": ca.Sparsity.dense(*self.H.shape), "a": ca.Sparsity.dense(rows, n + na + m)}
        self.solver = ca.conic("bounded", "proxqp", shape, {"error_on_fail": False})
        free_lam = np.full(m, np.inf)
        self.most = np.concatenate([np.full(n, self.fastest), np.full(na, self.limit), free_lam])

    @staticmethod
    def least_effect(peer: Peer) -> float:
        """The least acceleration of the task for a unit of force: what the weight of the task is measured by."""
        M, _, A, _, _ = peer.terms(peer.q, peer.v)
        motion = np.linalg.solve(M, np.hstack([peer.B, A.T]))
        free, held = motion[:, : len(peer.driven)], motion[:, len(peer.driven) :]
        effect = peer.J @ (free - held @ np.linalg.lstsq(A @ held, A @ free, rcond=None)[0])
        sigma = np.linalg.svd(effect, compute_uv=False)
        return float(sigma[sigma > 1e-9 * sigma[0]].min())

    def program(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """u by ProxQP: the task in the cost, dynamics and loops as equations, bounds as they are."""
        p = self.peer
        M, h, A, gamma, a_task = p.terms(q, v)
        n, m, na = p.n, p.m, len(p.driven)
        E, r = p.E[: n + m], p.r[: n + m]
        E[:n, :n], E[:n, n + na :], E[n : n + m, :n] = M, -A.T, A
        r[:n], r[n : n + m] = -h, -gamma
        g = np.concatenate([-self.weight * p.J.T @ a_task, np.zeros(na + m)])
        x = self.solver(h=self.H, g=g, a=E, lba=r, uba=r, lbx=-self.most, ubx=self.most)["x"]
        return np.array(x).ravel()[n : n + na]


def bounded_table(quick: bool) -> Table:
    """Updates with bounds of motors and accelerations that matter."""
    table = Table(
        "Bounded control update: µs",
        ["case", "motors", "bounds", "native", "Python", "Pinocchio + ProxQP", "native ≥ 10", "Python", "difference"],
    )
    for case in cases():
        ours = Ours(case)
        peer = Peer(case, ours)
        bounded = Bounded(case, ours, peer)
        q, v = peer.q, peer.v
        difference = np.abs(bounded.program(q, v) - bounded.u).max() / np.abs(bounded.u).max()
        assert difference < 5e-3, (case.name, difference, bounded.u)
        routes = {
            "native": address_loop(address("allocate"), 0, 0, bounded.workspace.pointer),
            "Python": python_loop("f(0.0, x)", f=bounded.law, x=ours.x),
            "program": python_loop("f(q, v)", f=bounded.program, q=q, v=v),
        }
        t = interleaved(routes, 15 if quick else 60)
        table.add(
            case.name, len(case.joints), 2 * (len(case.joints) + ours.system.nv), 1e6 * t["native"], 1e6 * t["Python"],
            1e6 * t["program"], t["program"] / t["native"], t["program"] / t["Python"], float(difference),
        )  # fmt: skip
        table.notes.append(f"- {case.name}, native: {versus(t['program'] / t['native'], 10.0)}")
    table.notes.append("- The peer weighs the task against the forces, ours puts it first: answers differ by 1/weight.")
    return table


def run(quick: bool = False) -> list[Table]:
    """The tables of this part."""
    table = Table(
        "Control update: µs",
        ["case", "nv", "rows", "motors", "native", "kHz", "Python", "Pinocchio + NumPy", "Pinocchio + QP",
         "native ≥ 10", "Python ≥ 10", "QP / Python", "difference"],
    )  # fmt: skip
    for case in cases():
        ours = Ours(case)
        peer = Peer(case, ours)
        q, v = peer.q, peer.v
        difference = np.abs(peer.dense(q, v) - ours.u).max() / np.abs(ours.u).max()
        assert difference < 1e-9, (case.name, difference, ours.u, peer.dense(q, v))
        program = np.abs(peer.program(q, v) - ours.u).max() / np.abs(ours.u).max()
        routes = {
            "native": address_loop(address("allocate"), 0, 0, ours.workspace.pointer),
            "Python": python_loop("f(0.0, x)", f=ours.law, x=ours.x),
            "dense": python_loop("f(q, v)", f=peer.dense, q=q, v=v),
            "program": python_loop("f(q, v)", f=peer.program, q=q, v=v),
        }
        t = interleaved(routes, 15 if quick else 60)
        name = case.name
        table.add(
            name, ours.system.nv, len(ours.system.rows.of), len(case.joints), 1e6 * t["native"], 1e-3 / t["native"],
            1e6 * t["Python"], 1e6 * t["dense"], 1e6 * t["program"], t["dense"] / t["native"], t["dense"] / t["Python"],
            t["program"] / t["Python"], float(difference),
        )  # fmt: skip
        table.notes += [
            f"- {name}, native against Pinocchio + NumPy: {versus(t['dense'] / t['native'], 10.0)}",
            f"- {name}, from Python against Pinocchio + NumPy: {versus(t['dense'] / t['Python'], 10.0)}",
            f"- {name}, the QP's answer differs by {program:.1e}",
        ]
    return [table, bounded_table(quick)]
