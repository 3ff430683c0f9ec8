"""Outlines in a plane: convex hulls with round corners."""

from __future__ import annotations

import numpy as np

ARC = 16  # points of a half circle


def hull(points: np.ndarray) -> np.ndarray:
    """The corners (m, 2) of the convex hull of points (n, 2), counterclockwise, without those on its edges."""
    size = float(np.ptp(points, axis=0).max(initial=0.0))
    order = sorted(map(tuple, np.asarray(points, dtype=float)))
    if size == 0.0:
        return np.array(order[:1])

    def half(row: list[tuple[float, float]]) -> list[tuple[float, float]]:
        out: list[tuple[float, float]] = []
        for c in row:
            while len(out) > 1:
                (ax, ay), (bx, by) = out[-2:]
                if (bx - ax) * (c[1] - ay) - (by - ay) * (c[0] - ax) > 1e-9 * size**2:
                    break
                out.pop()
            out.append(c)
        return out

    return np.array(half(order)[:-1] + half(order[::-1])[:-1])


def rounded(points: np.ndarray, radius: float) -> np.ndarray:
    """The outline (m, 2), counterclockwise, of all that is within a radius of the hull of points (n, 2)."""
    corners = hull(points)
    n = len(corners)
    if n == 1:
        turn = np.linspace(0, 2 * np.pi, 2 * ARC, endpoint=False)
        return corners + radius * np.column_stack([np.cos(turn), np.sin(turn)])
    edges = np.roll(corners, -1, axis=0) - corners
    normal = np.arctan2(-edges[:, 0], edges[:, 1])  # of the edge that leaves each corner, outwards
    parts = []
    for k in range(n):
        first, last = normal[k - 1], normal[k]
        last = first + (last - first) % (2 * np.pi)
        turn = np.linspace(first, last, max(2, int(np.ceil((last - first) / np.pi * ARC))))
        parts.append(corners[k] + radius * np.column_stack([np.cos(turn), np.sin(turn)]))
    return np.concatenate(parts)
