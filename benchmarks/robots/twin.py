"""A system of dalembert built a second time in Pinocchio: the same tree and the same loops, joint by joint."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin

import dalembert as da
from benchmarks.constrained import Peer
from dalembert.recursions.tree import ROOT


class Twin(Peer):
    """A system built a second time in Pinocchio, at a position of the first, at rest."""

    def __init__(self, system: da.System, x: da.State):
        self.model, tree = pin.Model(), system.layout.tree
        g = system.description.gravity.astype(float)
        self.model.gravity = pin.Motion(g, np.zeros(3))
        self.joint = {ROOT: 0}
        self.links, order = list(_depth_first(tree)), []
        for i in self.links:
            link = tree.links[i]
            made = self.model.addJoint(self.joint[link.parent], _joint(link.joint), _se3(link.placement), link.name)
            self.joint[i] = made
            I = link.inertia
            mass, h = float(I.m), np.array(I.h, dtype=float)
            com = h / mass if mass else np.zeros(3)
            about = np.array(I.J, dtype=float) - mass * (com @ com * np.eye(3) - np.outer(com, com))
            self.model.appendBodyToJoint(made, pin.Inertia(mass, com, about), pin.SE3.Identity())
            dofs = list(range(link.v.start, link.v.stop))
            order += [*dofs[3:], *dofs[:3]] if link.joint.kind == "free" else dofs
        for i, link in enumerate(tree.links):
            start = self.model.idx_vs[self.joint[i]]
            self.model.armature[start : start + link.joint.nv] = link.armature.astype(float)
        self.order = np.array(order)  # ours of each of theirs
        self.tree = tree
        self.q, self.v, self.tau = self.theirs(x.q), x.v[self.order], np.zeros(self.model.nv)
        self.constraints = pin.StdVec_RigidConstraintModel()
        for c in system.description.constraints:
            (la, Ta), (lb, Tb) = (system.layout.locate(f) for f in (c.a, c.b))
            kind = pin.ContactType.CONTACT_6D if c.joint.kind == "fixed" else pin.ContactType.CONTACT_3D
            ends = (self.joint[la], _se3(Ta), self.joint[lb], _se3(Tb))
            self.constraints.append(pin.RigidConstraintModel(kind, self.model, *ends, pin.ReferenceFrame.LOCAL))

    def theirs(self, q: np.ndarray) -> np.ndarray:
        """Their coordinates of our q."""
        out: list[float] = []
        for i in self.links:
            link = self.tree.links[i]
            ours = q[link.q]
            if link.joint.kind == "free":  # position and quaternion in their orders
                ours = _free(link.joint, ours)
            elif link.joint.kind == "spherical":
                ours = ours[[1, 2, 3, 0]]
            out += list(ours)
        return np.array(out)

    def centres(self, q: np.ndarray) -> np.ndarray:
        """(links, 3) centres of mass at their q, m."""
        data = self.model.createData()
        pin.forwardKinematics(self.model, data, q)
        return np.array([data.oMi[i].act(self.model.inertias[i].lever) for i in range(1, self.model.njoints)])

    def rates(self) -> Callable[[float, np.ndarray], np.ndarray]:
        """(t, (q, v)) → (q̇, v̇) by `constraintDynamics`."""
        model, constraints = self.model, self.constraints
        data, details = model.createData(), pin.StdVec_RigidConstraintData()
        for c in constraints:
            c.setBaumgarteCorrectorParameters(pin.BaumgarteCorrectorParameters(100.0, 20.0))
            details.append(c.createData())
        pin.initConstraintDynamics(model, data, constraints, details)
        settings, n, tau = pin.ProximalSettings(1e-14, 1e-8, 2), model.nq, np.zeros(model.nv)
        turning = [(model.joints[i].idx_q, model.joints[i].idx_v, model.joints[i].nq) for i in range(1, model.njoints)]
        quaternions = [(q + size - 4, v + size - 4) for q, v, size in turning if size >= 4]
        straight = np.array([(q + k, v + k) for q, v, s in turning for k in range(1 if s == 1 else 0)])
        free = [(q, v) for q, v, size in turning if size == 7]

        def rhs(t: float, y: np.ndarray) -> np.ndarray:
            q, v = y[:n], y[n:]
            out = np.empty_like(y)
            out[straight[:, 0]] = v[straight[:, 1]]
            for i, k in quaternions:
                u, w, omega = q[i : i + 3], q[i + 3], v[k : k + 3]
                out[i : i + 3], out[i + 3] = 0.5 * (w * omega + np.cross(u, omega)), -0.5 * u @ omega
            for i, k in free:
                R = pin.Quaternion(q[i + 3 : i + 7] / np.linalg.norm(q[i + 3 : i + 7])).matrix()
                out[i : i + 3] = R @ v[k : k + 3]
            out[n:] = pin.constraintDynamics(model, data, q, v, tau, constraints, details, settings)
            return out

        return rhs

    def truth(self, q: np.ndarray | None = None) -> np.ndarray:
        """Theirs of v̇ at rest (at their q), dense, refined once; rows that depend on others are dropped by rank."""
        q = self.q if q is None else q
        data = self.model.createData()
        M = pin.crba(self.model, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        f = -pin.computeGeneralizedGravity(self.model, data, q)
        pin.computeJointJacobians(self.model, data, q)
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
