"""SDF by another route: ElementTree and 4×4 matrices. Every link is displaced by products of exponentials of screws.

Used beside the reader's mechanism: only the names of its joints, and which body each one hangs on which, come from it.
Twists are (ω; v) of the ground's axes and origin.
"""

import xml.etree.ElementTree as ET

import numpy as np
from scipy.linalg import expm
from scipy.spatial.transform import Rotation


def matrix(text):
    x = np.array((text or "0 0 0 0 0 0").split(), dtype=float)
    T = np.eye(4)
    T[:3, :3] = Rotation.from_euler("xyz", x[3:]).as_matrix()
    T[:3, 3] = x[:3]
    return T


def hat(w):
    return np.cross(np.eye(3), np.asarray(w))


def adjoint(T):
    R, p = T[:3, :3], T[:3, 3]
    return np.block([[R, np.zeros((3, 3))], [hat(p) @ R, R]])


def exponential(s):
    X = np.zeros((4, 4))
    X[:3, :3], X[:3, 3] = hat(s[:3]), s[3:]
    return expm(X)


def turning(n, p, pitch=0.0):
    return np.concatenate([n, np.cross(p, n) + pitch * n])


class Peer:
    """Links, joints and frames of the models of a file, by full name, as drawn."""

    def __init__(self, path):
        root = ET.parse(path).getroot()
        self.version = tuple(map(int, root.get("version").split(".")))
        world = root.find("world")
        self.scope, self.raw, self.elements, self.static = {}, {"world": ("", np.eye(4), "")}, {}, set()
        self.attached = {}
        self.take(root if world is None else world, "", "world")
        self.X = {name: self.pose(name) for name in self.raw}
        self.links = [n for n, e in self.elements.items() if e.tag == "link"]
        self.joints = [n for n, e in self.elements.items() if e.tag == "joint"]

    def take(self, parent, prefix, model):
        for e in parent:
            if e.tag not in ("model", "link", "joint", "frame"):
                continue
            name = prefix + e.get("name")
            pose = e.find("pose")
            relative = (pose.get("relative_to") or "") if pose is not None else ""
            if e.tag == "joint":
                relative = relative or e.find("child").text.strip()
            if e.tag == "frame":
                self.attached[name] = self.full(e.get("attached_to") or "__model__", prefix, model)
                relative = relative or e.get("attached_to") or ""
            self.raw[name] = (
                self.full(relative or "__model__", prefix, model),
                matrix(pose.text if pose is not None else ""),
                prefix,
            )
            self.elements[name] = e
            self.scope[name] = (prefix, model)
            if e.tag == "model":
                first = next((c for c in e if c.tag == "link"), None)
                if first is not None:
                    self.attached[name] = f"{name}::{first.get('name')}"
                if (e.findtext("static") or "").strip() in ("true", "1"):
                    self.static.add(name)
                self.take(e, name + "::", name)

    def full(self, name, prefix, model):
        return model if name == "__model__" else "world" if name == "world" else prefix + name

    def pose(self, name):
        T = np.eye(4)
        while name != "world":
            relative, raw, _ = self.raw[name]
            T, name = raw @ T, relative
        return T

    def link(self, name):
        while name != "world" and self.elements[name].tag != "link":
            name = self.attached[name]
        return name

    def end(self, joint, tag):
        return self.link(self.full(self.elements[joint].findtext(tag).strip(), *self.scope[joint]))

    def axis(self, joint, tag="axis"):
        e = self.elements[joint].find(tag)
        xyz = e.find("xyz")
        inside = xyz.get("expressed_in") or ""
        old = (e.findtext("use_parent_model_frame") or str(int(self.version < (1, 5)))).strip()
        if self.version < (1, 7) and old in ("1", "true"):
            inside = "__model__"
        R = self.X[joint if not inside else self.full(inside, *self.scope[joint])][:3, :3]
        n = R @ np.array(xyz.text.split(), dtype=float)
        return n / np.linalg.norm(n)

    def screws(self, joint):
        """The screws (6, n) along which the joint lets its child move, as drawn."""
        e, p = self.elements[joint], self.X[joint][:3, 3]
        kind = e.get("type")
        if kind in ("revolute", "continuous"):
            return turning(self.axis(joint), p)[:, None]
        if kind == "prismatic":
            return np.concatenate([np.zeros(3), self.axis(joint)])[:, None]
        if kind == "screw":
            per_turn = e.findtext("screw_thread_pitch")
            old = e.findtext("thread_pitch")
            pitch = float(per_turn) / (2 * np.pi) if per_turn else -1 / float(old) if old else 1 / (2 * np.pi)
            return turning(self.axis(joint), p, pitch)[:, None]
        if kind in ("universal", "revolute2"):
            return np.column_stack([turning(self.axis(joint, t), p) for t in ("axis", "axis2")])
        if kind == "ball":
            return np.column_stack([turning(n, p) for n in self.X[joint][:3, :3].T])
        return np.zeros((6, 0))

    def inertia(self, link):
        """(mass, T of the inertial frame in the link, J)."""
        e = self.elements[link].find("inertial")
        if e is None:
            return 1.0, np.eye(4), np.eye(3)
        number = lambda path, default: float(e.findtext(path) or default)  # noqa: E731
        xx, yy, zz = (number(f"inertia/i{k}", 1) for k in ("xx", "yy", "zz"))
        xy, xz, yz = (number(f"inertia/i{k}", 0) for k in ("xy", "xz", "yz"))
        J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return number("mass", 1), matrix(e.findtext("pose")), J

    def is_static(self, link):
        return any(link.startswith(model + "::") for model in self.static)


class Motion:
    """The links of a peer where a mechanism's state says: displacement and Jacobian of each."""

    def __init__(self, peer, m, state, prefix):
        self.peer, self.prefix = peer, prefix
        system = state.layout
        nv = system.tree.nv
        self.G, self.J = {"world": np.eye(4)}, {"world": np.zeros((6, nv))}
        for link in peer.links:
            if peer.is_static(link):
                self.G[link], self.J[link] = self.G["world"], self.J["world"]
        self.spread()
        for name, a in system.joints.items():
            q, v = state.q[system.q_slice(name)], system.v_slice(name)
            inner = self.link_of(a.parent.body)
            outer = self.link_of(a.child.body)
            self.G[outer], self.J[outer] = self.step(self.full(name), a, q, inner, outer, v)
            self.spread()

    def full(self, name):
        return name if name in self.peer.raw else self.prefix + name

    def link_of(self, body):
        return "world" if body.name == "ground" else self.full(body.name)

    def spread(self):
        """Links fixed to others move with them."""
        peer, more = self.peer, True
        while more:
            more = False
            for joint in peer.joints:
                if peer.elements[joint].get("type") == "fixed":
                    a, b = peer.end(joint, "parent"), peer.end(joint, "child")
                    for one, other in ((a, b), (b, a)):
                        if one in self.G and other not in self.G:
                            self.G[other], self.J[other], more = self.G[one], self.J[one], True

    def step(self, joint, a, q, inner, outer, v):
        peer = self.peer
        before, J = self.G[inner], self.J[inner].copy()
        if a.joint.kind in ("free", "spherical"):
            X = peer.X[outer] if a.joint.kind == "free" else peer.X[joint]
            T = np.eye(4)
            T[:3, :3] = Rotation.from_quat(q[[1, 2, 3, 0]]).as_matrix()
            T[:3, 3] = q[4:] if len(q) == 7 else 0
            G = before @ X @ T @ np.linalg.inv(X)
            J[:, v] = adjoint(G @ X)[:, : a.joint.nv]
            return G, J
        S = peer.screws(joint)
        if not self.same(peer.end(joint, "child"), outer):
            S = -S[:, ::-1]
        for k, s in enumerate(S.T):
            J[:, v.start + k] += adjoint(before) @ s
            before = before @ exponential(s * q[k])
        return before, J

    def same(self, link, head):
        """Whether two links belong to the same cluster of fixed links."""
        known = self.G.get(link)
        self_G = self.G.get(head)
        if link == head:
            return True
        if known is not None or self_G is not None:
            return known is self_G and known is not None
        seen, waiting = {link}, [link]
        while waiting:
            one = waiting.pop()
            for joint in self.peer.joints:
                if self.peer.elements[joint].get("type") == "fixed":
                    ends = self.peer.end(joint, "parent"), self.peer.end(joint, "child")
                    if one in ends:
                        for other in ends:
                            if other not in seen:
                                seen.add(other)
                                waiting.append(other)
        return head in seen

    def mass_matrix(self):
        M = 0
        for link in self.peer.links:
            m, T, J = self.peer.inertia(link)
            X = np.linalg.inv(self.G[link] @ self.peer.X[link] @ T)
            I = np.zeros((6, 6))
            I[:3, :3], I[3:, 3:] = J, m * np.eye(3)
            columns = adjoint(X) @ self.J[link]
            M = M + columns.T @ I @ columns
        return M

    def weights(self, g):
        """The generalized forces of gravity."""
        f = 0
        for link in self.peer.links:
            m, T, _ = self.peer.inertia(link)
            c = (self.G[link] @ self.peer.X[link] @ T)[:3, 3]
            f = f + (self.J[link][3:] - hat(c) @ self.J[link][:3]).T @ (m * np.asarray(g))
        return f

    def pose(self, frame):
        return self.G[self.peer.link(frame)] @ self.peer.X[frame]

    def rows(self, names):
        """Rows of joints that are cut, and of gearboxes: what they forbid, at a closed position."""
        rows = [np.zeros((0, self.J["world"].shape[1]))]
        for name in map(self.full, names):
            if name.endswith(" mimic"):
                rows.append(self.mimic(name.removesuffix(" mimic")))
            elif self.peer.elements[name].get("type") == "gearbox":
                rows.append(self.gear(name))
            else:
                a, b = self.peer.end(name, "parent"), self.peer.end(name, "child")
                S = adjoint(self.G[a]) @ self.peer.screws(name)
                if self.peer.elements[name].get("type") in ("universal", "ball", "revolute2"):
                    S = np.column_stack([S[:, 0], *(adjoint(self.G[b]) @ self.peer.screws(name)).T[1:]])
                U = np.linalg.svd(S)[0][:, S.shape[1] :] if S.size else np.eye(6)
                rows.append(U.T @ (self.J[b] - self.J[a]))
        return np.concatenate(rows)

    def gear(self, name):
        reference, a, b = (self.peer.end(name, t) for t in ("gearbox_reference_body", "parent", "child"))
        R = self.G[reference][:3, :3]
        ratio = float(self.peer.elements[name].findtext("gearbox_ratio"))
        first = R @ self.peer.axis(name) @ (self.J[a] - self.J[reference])[:3]
        second = R @ self.peer.axis(name, "axis2") @ (self.J[b] - self.J[reference])[:3]
        return (second + ratio * first)[None]

    def rate(self, joint, axis="axis"):
        """The speed of a revolute joint."""
        a, b = self.peer.end(joint, "parent"), self.peer.end(joint, "child")
        return self.G[a][:3, :3] @ self.peer.axis(joint, axis) @ (self.J[b] - self.J[a])[:3]

    def mimic(self, joint):
        e = self.peer.elements[joint].find("axis/mimic")
        leader = self.peer.full(e.get("joint"), *self.peer.scope[joint])
        return (self.rate(joint) - float(e.findtext("multiplier")) * self.rate(leader))[None]
