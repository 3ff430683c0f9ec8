"""Texts of small models, and what tests of SDF share."""

import numpy as np


def random_state(system, seed, size=1.0):
    rng = np.random.default_rng(seed)
    q = [
        np.array(a.joint.plus(a.joint.neutral(), rng.uniform(-size, size, a.joint.nv)), dtype=float)
        for a in system.layout.joints.values()
    ]
    return system.state(np.concatenate([np.zeros(0), *q]), rng.uniform(-1, 1, system.nv))


def prefix_of(peer, m):
    return f"{m.name}::" if m.name in peer.raw else ""


def same_rows(A, B):
    """Whether two matrices have the same row space."""
    rank = lambda X: np.linalg.matrix_rank(X, tol=1e-7) if X.size else 0  # noqa: E731
    return rank(A) == rank(B) == rank(np.concatenate([A, B]))


INERTIAL = "<inertial><mass>2</mass><inertia><ixx>0.3</ixx><iyy>0.4</iyy><izz>0.5</izz></inertia></inertial>"


def model(inside, name="m", more=""):
    return f'<model name="{name}" {more}>{inside}</model>'


def link(name, pose="", inside=INERTIAL, relative_to=""):
    at = f'<pose relative_to="{relative_to}">{pose}</pose>' if pose or relative_to else ""
    return f'<link name="{name}">{at}{inside}</link>'


def joint(name, kind, parent, child, inside="", axis="0 0 1"):
    along = f"<axis><xyz>{axis}</xyz></axis>" if axis else ""
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{along}{inside}</joint>'


def texts(m):
    return [n.text for n in m.notes]
