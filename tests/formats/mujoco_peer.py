"""MuJoCo beside a mechanism that was read from the same file: its states, matrices and forces in our coordinates.

v = T(q) w takes MuJoCo's velocities w to ours: the linear velocity of a free joint is in world axes there, in the
body's here, and comes first there. Where a tendon has inertia, our last coordinates are the lengths of such tendons.
"""

from __future__ import annotations

import numpy as np


def rotation(q):
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


class Peer:
    """MuJoCo's model and data at a state, and our system's state there."""

    def __init__(self, model, system, seed=0, spread=0.5):
        import mujoco as mj

        self.mj, self.model, self.data, self.system = mj, model, mj.MjData(model), system
        self.rng, self.spread = np.random.default_rng(seed), spread
        for limited in ("actuator_ctrllimited", "actuator_forcelimited", "jnt_actfrclimited", "tendon_actfrclimited"):
            getattr(model, limited)[:] = 0  # limits are not modelled
        model.opt.viscosity = model.opt.density = 0.0

    def drive(self, u):
        """Controls, or activations where an actuator has them."""
        self.data.ctrl[:] = u
        if self.model.na:
            self.data.act[:] = np.asarray(u)[self.model.actuator_actnum > 0]
        self.mj.mj_forward(self.model, self.data)

    def at(self, qpos, qvel):
        mj, model, data = self.mj, self.model, self.data
        data.qpos[:], data.qvel[:] = qpos, qvel
        mj.mj_forward(model, data)
        q, nv = [], model.nv
        T, rate = np.zeros((nv, nv)), np.zeros(nv)
        for k in range(model.njnt):
            a, d, kind = model.jnt_qposadr[k], model.jnt_dofadr[k], model.jnt_type[k]
            if kind == 0:
                R = rotation(qpos[a + 3 : a + 7])
                q += [*qpos[a + 3 : a + 7], *qpos[a : a + 3]]
                T[d : d + 3, d + 3 : d + 6] = np.eye(3)
                T[d + 3 : d + 6, d : d + 3] = R.T
                rate[d + 3 : d + 6] = -np.cross(qvel[d + 3 : d + 6], R.T @ qvel[d : d + 3])
            elif kind == 1:
                q += [*qpos[a : a + 4]]
                T[d : d + 3, d : d + 3] = np.eye(3)
            else:
                q += [qpos[a]]
                T[d, d] = 1.0
        single = (model.tendon_num == 1) & (model.wrap_type[model.tendon_adr] == 1)  # a multiple of one joint
        heavy = [k for k in range(model.ntendon) if self.armature(k) > 0 and not single[k]]
        if heavy:
            J = self.tendon_jacobian()[heavy]
            T, rate = np.vstack([T, J]), np.concatenate([rate, self._tendon_rate(qpos, qvel, heavy)])
            q += [*data.ten_length[heavy]]
        self.T, self.rate = T, rate
        self.state = (np.array(q), T @ qvel)
        return self.state

    def armature(self, k):
        m = self.model
        total = m.tendon_armature[k]
        for a in range(len(m.actuator_trntype)):
            if m.actuator_trntype[a] == 3 and m.actuator_trnid[a, 0] == k:
                total += m.actuator_armature[a] * m.actuator_gear[a, 0] ** 2
        return total

    def tendon_jacobian(self):
        J = np.zeros((self.model.ntendon, self.model.nv))
        m, d = self.model, self.data
        sparse = np.asarray(d.ten_J).ravel()
        for k in range(m.ntendon):
            adr, n = m.ten_J_rowadr[k], m.ten_J_rownnz[k]
            J[k, m.ten_J_colind[adr : adr + n]] = sparse[adr : adr + n]
        return J

    def _tendon_rate(self, qpos, qvel, which, step=1e-3):
        """J̇ v by differences of fourth order along the motion."""
        speeds = {}
        for k in (1, -1, 2, -2):
            q = qpos.copy()
            self.mj.mj_integratePos(self.model, q, qvel, k * step)
            self.data.qpos[:] = q
            self.mj.mj_forward(self.model, self.data)
            speeds[k] = self.tendon_jacobian()[which] @ qvel
        self.data.qpos[:] = qpos
        self.mj.mj_forward(self.model, self.data)
        return (8 * (speeds[1] - speeds[-1]) - (speeds[2] - speeds[-2])) / (12 * step)

    def random(self, velocity=1.0):
        """A random state near the reference position."""
        m, rng = self.model, self.rng
        q = m.qpos0.copy()
        self.mj.mj_integratePos(m, q, rng.normal(size=m.nv) * self.spread, 1.0)
        return self.at(q, velocity * rng.normal(size=m.nv))

    def mass(self):
        """(MuJoCo's M, ours in its coordinates)."""
        M = np.zeros((self.model.nv, self.model.nv))
        try:
            self.mj.mj_fullM(self.model, self.data, M)
        except TypeError:
            self.mj.mj_fullM(self.model, M, self.data.qM)
        return M, self.T.T @ self.system.mass_matrix(self.state[0]) @ self.T

    def total(self, u=None):
        """(MuJoCo's bias − passive − actuator forces, ours in its coordinates), at v̇ = 0 in its coordinates."""
        d = self.data
        theirs = d.qfrc_bias - d.qfrc_passive - d.qfrc_actuator
        q, v = self.state
        x = self.system.state(q, v)
        h = self.system.bias(x) + self.system.mass_matrix(x) @ self.rate - self.system.applied_forces(x, u=u)
        return theirs, self.T.T @ h

    def equality(self):
        """MuJoCo's equality rows J, their residuals, and the equality of each."""
        m, d = self.model, self.data
        rows = [k for k in range(d.nefc) if d.efc_type[k] == 0]
        if self.mj.mj_isSparse(m):
            J = np.zeros((d.nefc, m.nv))
            for k in range(d.nefc):
                a, n = d.efc_J_rowadr[k], d.efc_J_rownnz[k]
                J[k, d.efc_J_colind[a : a + n]] = np.asarray(d.efc_J).ravel()[a : a + n]
        else:
            J = np.asarray(d.efc_J).reshape(-1, m.nv)
        return J[rows], d.efc_pos[rows], d.efc_id[rows]
