"""One control update beside Pinocchio, NumPy and a QP solver: measured state → actuator forces.

The law is projected inverse-dynamics control on a task (Aghili 43-44, with passive joints 60): the smallest actuator
forces that give the task the acceleration θ̈_d + G_D ė + G_P e. Ours:

    native    `law.update` in a compiled loop, the reference being given
    Python    the controller called as u(t, state), the reference evaluated from a compiled trajectory

The peer computes M, h, the loop Jacobian and its drift, the task Jacobian and its drift with Pinocchio, and solves

    min ‖u‖²   with   M v̇ + h = B u + Aᵀλ,   A v̇ = −γ,   J v̇ = a_θ                     unknowns (v̇, u, λ)

in two ways: step by step with NumPy (null space of A, then v̇, then the shortest u), and as a quadratic program by
ProxQP through CasADi, which is what a whole-body controller does. Of planar loops it takes the two rows that say
something.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
import pinocchio as pin

from benchmarks import models
from benchmarks.description import Model
from benchmarks.timing import Table, interleaved, native, python_loop, versus
from dalembert import control, zoo
from dalembert.control.native.law import update

GAINS = (100.0, 20.0)


@dataclass(frozen=True)
class Case:
    """A model with the links whose joints are driven, and those whose angles are the task."""

    model: Model
    driven: tuple[int, ...]
    task: tuple[int, ...]
    planar: bool


def cases() -> list[Case]:
    """A five-bar with two motors, a parallel robot with three and six passive joints, two arms with fourteen."""
    return [
        Case(models.five_bar(), (0, 2), (0, 2), True),
        Case(three_legs(), (0, 3, 6), (0, 3, 6), True),
        Case(models.two_arms(), tuple(range(14)), tuple(range(8)), False),
    ]


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


@native
def _updates(count, address, x, y, w, flat, ints, dims, options, mode, kind):
    for _ in range(count):
        update(address, x, y, w, flat, ints, dims, options, mode, kind)


class Ours:
    """The controller on a case, at its state."""

    def __init__(self, case: Case):
        mechanism = case.model.mechanism()
        names = [f"j_{case.model.links[k].name}" for k in range(len(case.model.links))]
        for k in case.driven:
            mechanism.add_motor(f"u_{names[k]}", names[k])
        self.system = mechanism.compile()
        q, v = models.consistent_state(case.model, self.system)
        self.x = self.system.state(q, v)
        task = [names[k] for k in case.task]
        self.goal = np.array([self.x[n] + 0.1 * (k + 1) for k, n in enumerate(task)])
        self.law = control.motion_control(
            self.system, control.coordinates(*task), control.constant(self.goal), gains=GAINS
        )
        self.u = self.law(0.0, self.x)
        plant, solver = self.law.plant, self.law.solver
        self.arguments = (
            plant.kernel.address, plant.x, plant.y, plant.w, *solver._memory,
            solver.options, self.law.mode, solver.kind,
        )  # fmt: skip


class Peer:
    """The same law by Pinocchio and dense algebra."""

    def __init__(self, case: Case, q: np.ndarray, v: np.ndarray, goal: np.ndarray):
        self.model = case.model.pinocchio()
        self.data = self.model.createData()
        self.loops = case.model.pinocchio_closures(self.model)
        n = self.model.nv
        self.planar = case.planar
        self.n, self.driven, self.task, self.goal = n, list(case.driven), list(case.task), goal
        self.B = np.zeros((n, len(self.driven)))
        self.B[self.driven, range(len(self.driven))] = 1.0
        self.q, self.v = q, v
        m = len(self.loops) * (2 if case.planar else 6)
        self.m, na = m, len(self.driven)
        total = n + na + m
        H = ca.DM(np.diag(np.concatenate([np.full(n, 1e-6), np.ones(na), np.full(m, 1e-6)])))
        self.H, rows = H, n + m + len(self.task)
        self.solver = ca.conic(
            "qp", "proxqp", {"h": H.sparsity(), "a": ca.Sparsity.dense(rows, total)}, {"error_on_fail": False}
        )
        self.E, self.r = np.zeros((rows, total)), np.zeros(rows)
        self.E[:n, n : n + na], self.E[n + m + np.arange(len(self.task)), self.task] = -self.B, 1.0

    def terms(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, ...]:
        """M, h, A, γ and the task's acceleration."""
        M = pin.crba(self.model, self.data, q)
        M = np.triu(M) + np.triu(M, 1).T
        h = pin.rnea(self.model, self.data, q, v, np.zeros(self.n))
        pin.computeJointJacobians(self.model, self.data, q)
        pin.forwardKinematics(self.model, self.data, q, v, np.zeros(self.n))
        pairs = [self._difference(loop) for loop in self.loops]
        A, gamma = np.vstack([pair[0] for pair in pairs]), np.concatenate([pair[1] for pair in pairs])
        a_task = GAINS[0] * (self.goal - q[self.task]) - GAINS[1] * v[self.task]
        return M, h, A, gamma, a_task

    def _end(self, joint, placement):
        """Jacobian, angular velocity, and linear and angular drift of an end of a loop, in its own axes."""
        J = placement.toActionMatrixInverse() @ pin.getJointJacobian(self.model, self.data, joint, pin.LOCAL)
        V, dV = placement.actInv(self.data.v[joint]), placement.actInv(self.data.a[joint])
        return J, np.concatenate([dV.linear + np.cross(V.angular, V.linear), dV.angular])

    def _difference(self, loop):
        """A and γ of a loop: end 1 less end 2 in the axes of end 1; two rows of a planar one."""
        one, two = (loop.joint1_id, loop.joint1_placement), (loop.joint2_id, loop.joint2_placement)
        R = (self.data.oMi[one[0]] * one[1]).rotation.T @ (self.data.oMi[two[0]] * two[1]).rotation
        (J1, d1), (J2, d2) = self._end(*one), self._end(*two)
        if self.planar:
            return J1[:2] - R[:2] @ J2[:3], d1[:2] - R[:2] @ d2[:3]
        J = np.vstack([J1[:3] - R @ J2[:3], J1[3:] - R @ J2[3:]])
        return J, np.concatenate([d1[:3] - R @ d2[:3], d1[3:] - R @ d2[3:]])

    def dense(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """u by least squares: v̇ from the constraints and the task, then (u, λ), the shortest u."""
        M, h, A, gamma, a_task = self.terms(q, v)
        J = np.eye(self.n)[self.task]
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


def run(quick: bool = False) -> list[Table]:
    """The tables of this part."""
    table = Table(
        "Control update: µs",
        ["case", "nv", "rows", "motors", "native", "kHz", "Python", "Pinocchio + NumPy", "Pinocchio + QP",
         "native ≥ 10", "Python ≥ 10", "QP / Python", "difference"],
    )  # fmt: skip
    for case in cases():
        ours = Ours(case)
        peer = Peer(case, ours.x.q.copy(), ours.x.v.copy(), ours.goal)
        q, v = peer.q, peer.v
        difference = np.abs(peer.dense(q, v) - ours.u).max() / np.abs(ours.u).max()
        assert difference < 1e-9, (case.model.name, difference, ours.u, peer.dense(q, v))
        program = np.abs(peer.program(q, v) - ours.u).max() / np.abs(ours.u).max()
        routes = {
            "native": lambda count, a=ours.arguments: _updates(count, *a),
            "Python": python_loop("f(0.0, x)", f=ours.law, x=ours.x),
            "dense": python_loop("f(q, v)", f=peer.dense, q=q, v=v),
            "program": python_loop("f(q, v)", f=peer.program, q=q, v=v),
        }
        t = interleaved(routes, 15 if quick else 60)
        name = case.model.name
        table.add(
            name, ours.system.nv, len(ours.system.rows.of), len(case.driven), 1e6 * t["native"], 1e-3 / t["native"],
            1e6 * t["Python"], 1e6 * t["dense"], 1e6 * t["program"], t["dense"] / t["native"], t["dense"] / t["Python"],
            t["program"] / t["Python"], float(difference),
        )  # fmt: skip
        table.notes += [
            f"- {name}, native against Pinocchio + NumPy: {versus(t['dense'] / t['native'], 10.0)}",
            f"- {name}, from Python against Pinocchio + NumPy: {versus(t['dense'] / t['Python'], 10.0)}",
            f"- {name}, the QP's answer differs by {program:.1e}",
        ]
    return [table]
