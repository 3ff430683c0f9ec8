"""Texts of small robots, and how positions and velocities of Pinocchio are ours."""

from __future__ import annotations

import numpy as np

BODY = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.2" izz="0.25"/></inertial>'


def link(name, inside=BODY):
    return f'<link name="{name}">{inside}</link>'


def joint(name, parent, child, kind="continuous", inside='<axis xyz="0 0 1"/>', xyz="0 0 0", tag="joint"):
    ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{xyz}"/>'
    return f'<{tag} name="{name}" type="{kind}">{ends}{inside}</{tag}>'


def robot(*parts):
    return '<robot name="r">\n' + "\n".join(parts) + "\n</robot>"


def texts(m):
    return [n.text for n in m.notes]


def peer_velocities(system, joints, nv):
    """(nv,) our place of each of Pinocchio's velocities; its free joints have the linear part first."""
    place = np.full(nv, -1)
    for j in joints:
        s = system.layout.v_slice(j["name"].replace(".", "_"))
        order = [3, 4, 5, 0, 1, 2] if j["nv"] == 6 else range(j["nv"])
        for ours, k in enumerate(order):
            place[j["idx_v"] + k] = s.start + ours
    return place


def peer_position(system, joints, q):
    """Pinocchio's coordinates as ours: quaternions are x y z w there, angles of continuous joints cosine and sine."""
    out, k = np.array(system.state().q), 0
    for j in joints:
        x, k = q[k : k + j["nq"]], k + j["nq"]
        s = system.layout.q_slice(j["name"].replace(".", "_"))
        if j["nq"] == 2 and j["nv"] == 1:
            x = [np.arctan2(x[1], x[0])]
        elif j["nq"] == 4:
            x = [x[3], *x[:3]]
        elif j["nq"] == 7:
            x = [x[6], *x[3:6], *x[:3]]
        out[s] = x
    return out


def symmetric(rows, n):
    M = np.zeros((n, n))
    M[np.tril_indices(n)] = rows
    return M + np.tril(M, -1).T
