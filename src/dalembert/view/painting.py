"""A scene painted by Matplotlib: shaded faces, the farthest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.spatial import quaternion_matrix
from dalembert.view.attachments import turn_to
from dalembert.view.faces import ROUND, Faces, capsule, cylinder, faces
from dalembert.view.plane import turned
from dalembert.view.scene import TRACES, DrawnLink, Scene

LIGHT = np.array([-0.35, 0.75, 0.6]) / np.linalg.norm([-0.35, 0.75, 0.6])  # towards it, in the axes of the picture
FINE = 0.12  # faces of spatial pictures are cut until they are shorter than this, of the mechanism
LINKS = {
    "rod": "#5d6670", "actuator": "#b06000", "cable": "#6b7480", "muscle": "#a63a32", "spring": "#7b8794",
    "gap": "#c00000",
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Shaded:
    """Polygons (k, 2) of the picture from behind to the front, colours of faces and edges; `whole`: in space."""

    polygons: list[np.ndarray]
    colors: list[Any]
    edges: list[Any]
    whole: list[np.ndarray]


class Painting:
    """A scene ready to be painted in any position; its faces are made once."""

    def __init__(self, s: Scene, round_: int = ROUND):
        """round_: sides of circles."""
        self.s, self.eye = s, (-float(np.radians(s.eye[0])), float(np.radians(s.eye[1])))
        self.parts: list[tuple[int, np.ndarray, str, float, bool]] = []  # body, polygons, colour, opacity, outlined
        for k, body in enumerate(s.bodies):
            for solid in body.solids:
                flat = solid.kind in ("plate", "box")
                for f in self._cut(faces(solid, round_)):
                    x = f @ np.asarray(solid.T.R, dtype=float).T + solid.T.p
                    self.parts.append((k, x, solid.color or body.color, solid.opacity, flat and s.planar))

    def _cut(self, found: Faces) -> Faces:
        """Faces with long edges in smaller ones, for spatial scenes, so that the order by depth is right."""
        if self.s.planar:
            return found
        out = []
        for f in found:
            if f.shape[1] > 4 or _longest(f) > FINE * self.s.length:
                f = np.concatenate([f[:, [0, k, k + 1]] for k in range(1, f.shape[1] - 1)])
                for _ in range(6):
                    if _longest(f) <= FINE * self.s.length or len(f) > 3000:
                        break
                    f = _halved(f)
            out.append(f)
        return out

    def seen(self, x: np.ndarray) -> np.ndarray:
        """Points (…, 3) of the ground in the picture: right, up, towards the eye."""
        x = x @ self.s.axes
        return x if self.s.planar else turned(x, *self.eye)

    def polygons(self, poses: np.ndarray) -> list[tuple[np.ndarray, str, float, bool]]:
        """Faces in the ground for poses (bodies, 7): (polygons (m, k, 3), colour, opacity, outlined)."""
        R = [np.asarray(quaternion_matrix(q), dtype=float) for q in poses[:, 3:]]
        out = [(x @ R[k].T + poses[k, :3], c, a, flat) for k, x, c, a, flat in self.parts]
        for link in self.s.links:
            if link.kind in ("rod", "actuator"):
                out += [(f, c, 1.0, False) for f, c in self._bars(link, poses, R)]
        return out

    def _bars(self, link: DrawnLink, poses: np.ndarray, R: list[np.ndarray]) -> list[tuple[np.ndarray, str]]:
        a, b = (R[x.body] @ x.T.p + poses[x.body, :3] for x in link.points[:2])
        length, r = float(np.linalg.norm(b - a)), self.s.thickness
        if length < 1e-9 * self.s.length:
            return []
        turn = turn_to(b - a)
        pieces = [(capsule(0.5 * r, length, 16), 0.0, 1.0, LINKS["rod"])]
        if link.kind == "actuator":
            pieces = [(cylinder(0.75 * r, 0.58 * length, 16), 0.0, 0.58, LINKS["actuator"]),
                      (cylinder(0.4 * r, 0.5 * length, 16), 0.5, 1.0, "#d9dde2")]  # fmt: skip
        out = []
        for found, low, high, color in pieces:
            middle = a + (low + high) / 2 * (b - a)
            out += [(f @ turn.T + middle, color) for f in found]
        return out

    def shaded(self, poses: np.ndarray, alpha: float = 1.0) -> Shaded:
        """The faces that look towards the eye in poses (bodies, 7), the farthest first."""
        polygons: list[np.ndarray] = []
        whole: list[np.ndarray] = []
        colors: list[Any] = []
        edges: list[Any] = []
        depths: list[float] = []
        for x, color, opacity, outlined in self.polygons(poses):
            p = self.seen(x)
            n = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 1])
            size = np.linalg.norm(n, axis=1)
            if p.shape[1] > 3:
                m = np.cross(p[:, 2] - p[:, 0], p[:, 3] - p[:, 1])  # where the first edge has no length
                n = np.where((size < 1e-3 * size.max(initial=0.0))[:, None], m, n)
                size = np.linalg.norm(n, axis=1)
            towards = (n[:, 2] > 1e-9 * size.max(initial=0.0)) | (opacity < 1)
            p, n = p[towards], n[towards] / np.maximum(size[towards], 1e-300)[:, None]
            base = np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255
            light = (0.62 if self.s.planar else 0.58) + 0.5 * np.clip(n @ LIGHT, 0, 1)
            rgb = np.clip(base[None] * light[:, None] + 0.05 * light[:, None] ** 4, 0, 1)
            polygons += list(p[..., :2])
            whole += list(x[towards]) if opacity == 1.0 else []
            colors += [(*c, alpha * opacity) for c in rgb]
            drawn = opacity == 1.0 and (outlined or alpha == 1.0)  # seams of faces would show through pale bodies
            edges += [(*(0.5 * c if outlined else c), alpha * drawn) for c in rgb]
            depths += p[..., 2].mean(axis=1).tolist()
        order = np.argsort(depths, kind="stable")
        return Shaded([polygons[k] for k in order], [colors[k] for k in order], [edges[k] for k in order], whole)

    def paint(self, axes: Any, poses: np.ndarray, alpha: float = 1.0, shadow: float | None = None) -> np.ndarray:
        """Paint the scene in poses (bodies, 7) into Matplotlib's axes; returns the box painted, (2, 2).

        shadow: height along up on which shadows fall, for spatial scenes.
        """
        from matplotlib.collections import LineCollection, PolyCollection

        seen = self.shaded(poses, alpha)
        if shadow is not None:
            shades = [self.fallen(x, shadow)[:, :2] for x in seen.whole]
            grey = beside_background(axes, 0.15)
            axes.add_collection(PolyCollection(shades, facecolors=grey, edgecolors=grey, lw=0.3, zorder=0.5))
        axes.add_collection(
            PolyCollection(seen.polygons, facecolors=seen.colors, edgecolors=seen.edges, linewidths=0.7, zorder=3)
        )
        for link in self.s.links:
            line = self.seen(self.line(link, poses))
            if len(line):
                width = {"cable": 0.9, "gap": 1.2, "muscle": 3.0}.get(link.kind, 1.3)
                axes.add_collection(
                    LineCollection([line[:, :2]], colors=LINKS[link.kind], lw=width, alpha=alpha, zorder=3.5)
                )
        corners = np.concatenate(seen.polygons or [np.zeros((1, 2))])
        return np.array([corners.min(axis=0), corners.max(axis=0)])

    def fallen(self, x: np.ndarray, height: float) -> np.ndarray:
        """The shadow of points (…, 3) on the floor, as seen."""
        up = self.s.axes[:, 1]
        sun = self.s.axes @ np.array([-0.35, 1.0, 0.45])
        return self.seen(x - ((x @ up - height) / (sun @ up))[..., None] * sun)

    def line(self, link: DrawnLink, poses: np.ndarray) -> np.ndarray:
        """The points (n, 3) of a cable, an open gap or a spring's coil; none for other links."""
        if link.kind in ("rod", "actuator"):
            return np.zeros((0, 3))
        x = np.array([path_of(poses[None], place)[0] for place in link.points])
        length = float(np.linalg.norm(x[-1] - x[0]))
        if link.kind == "gap" and length < 1e-6 * self.s.length:
            return np.zeros((0, 3))
        if link.kind != "spring" or length == 0.0:
            return x
        R, turn = turn_to(x[-1] - x[0], self.s.axes[:, 0]), np.linspace(0, 18 * np.pi, 220)
        r = 0.8 * self.s.thickness * np.clip(np.minimum(turn, turn[-1] - turn) / np.pi, 0, 1)
        return x[0] + np.column_stack([r * np.cos(turn), r * np.sin(turn), length * turn / turn[-1]]) @ R.T

    def floor(self, axes: Any, height: float, low: np.ndarray, high: np.ndarray) -> None:
        """A grid below a spatial scene, in the axes of the scene: `low` and `high` (3,) of what it carries."""
        from matplotlib.collections import LineCollection

        span = float((high - low).max())
        if span <= 0 or self.s.planar:
            return
        step = next(s for s in np.outer(10.0 ** np.arange(-12, 13), (1, 2, 5)).ravel() if span / s <= 10)
        middle = (low + high) / 2
        low, high = np.minimum(low, middle - 0.3 * span), np.maximum(high, middle + 0.3 * span)
        (x0, _, z0), (x1, _, z1) = np.floor(low / step) * step, np.ceil(high / step) * step
        lines = [[(x, height, z0), (x, height, z1)] for x in np.arange(x0, x1 + step / 2, step)]
        lines += [[(x0, height, z), (x1, height, z)] for z in np.arange(z0, z1 + step / 2, step)]
        seen = turned(np.array(lines), *self.eye)[..., :2]
        axes.add_collection(LineCollection(list(seen), colors=beside_background(axes, 0.1), linewidths=0.8, zorder=0))

    def extent(self, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest coordinates (3,) of all faces in the scene's axes, over poses (N, bodies, 7)."""
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for one in poses[:: max(1, len(poses) // 40)]:
            for x, *_ in self.polygons(one):
                flat = x.reshape(-1, 3) @ self.s.axes
                low, high = np.minimum(low, flat.min(axis=0)), np.maximum(high, flat.max(axis=0))
        return (low, high) if np.isfinite(low).all() else (np.zeros(3), np.zeros(3))

    def traces(self, axes: Any, poses: np.ndarray, width: float = 1.2) -> None:
        """The paths of the traced frames over poses (N, bodies, 7)."""
        for k, place in enumerate(self.s.traces):
            axes.plot(*self.seen(path_of(poses, place))[:, :2].T, color=TRACES[k % len(TRACES)], lw=width, zorder=2)


def beside_background(axes: Any, far: float) -> str:
    """A grey so far from the background of some axes: darker on a bright one, brighter on a dark one."""
    from matplotlib.colors import to_rgb

    back = float(np.mean(to_rgb(axes.get_facecolor())))
    return f"{back - far if back > 0.5 else back + far:.3f}"


def path_of(poses: np.ndarray, place: Any) -> np.ndarray:
    """The path (N, 3) of a place over poses (N, bodies, 7)."""
    from scipy.spatial.transform import Rotation

    q = poses[:, place.body, 3:]
    return Rotation.from_quat(q[:, [1, 2, 3, 0]]).apply(np.asarray(place.T.p, dtype=float)) + poses[:, place.body, :3]


def _longest(f: np.ndarray) -> float:
    return float(np.linalg.norm(np.roll(f, -1, axis=1) - f, axis=2).max(initial=0.0))


def _halved(f: np.ndarray) -> np.ndarray:
    """Triangles (m, 3, 3), each cut in two across its longest edge."""
    edges = np.linalg.norm(np.roll(f, -1, axis=1) - f, axis=2)
    order = (np.argmax(edges, axis=1)[:, None] + np.arange(3)) % 3
    a, b, c = (f[np.arange(len(f)), order[:, k]] for k in range(3))
    middle = (a + b) / 2
    return np.concatenate([np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)])
