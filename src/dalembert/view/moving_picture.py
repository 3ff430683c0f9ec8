"""A run as an animated GIF, for pages that show pictures only: drawn by Matplotlib, put together by Pillow."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.errors import extra
from dalembert.view.door import writing
from dalembert.view.painting import Painting, path_of
from dalembert.view.scene import Scene

RATE = 20  # pictures for each second of watching
MOST = 160  # pictures in a file
INCHES, DPI = 4.4, 100  # the longer side
COLORS = 64


def write_gif(s: Scene, poses: np.ndarray, path: str | os.PathLike[str], seconds: float) -> None:
    """Write poses (N, bodies, 7) of a scene as an animated GIF that takes some seconds to watch, and repeats."""
    plt, image = extra("matplotlib.pyplot", "view", "drawing"), extra("PIL.Image", "view", "animated GIFs")
    painting = Painting(s)
    scratch = plt.figure()
    low3, high3 = painting.extent(poses)
    boxes = [painting.paint(scratch.gca(), one) for one in poses[:: max(1, len(poses) // 24)]]
    plt.close(scratch)
    low, high = np.min([b[0] for b in boxes], axis=0), np.max([b[1] for b in boxes], axis=0)
    for place in s.traces:
        seen = painting.seen(path_of(poses, place))[:, :2]
        low, high = np.minimum(low, seen.min(axis=0)), np.maximum(high, seen.max(axis=0))
    size = np.maximum(high - low, 0.3 * (high - low).max()) * 1.1
    figure = plt.figure(figsize=INCHES * size / size.max(), dpi=DPI)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    frames: list[Any] = []
    for k, one in enumerate(poses):
        axes.clear()
        painting.floor(axes, low3[1], low3, high3)
        painting.traces(axes, poses[: k + 1], 1.0)
        painting.paint(axes, one, shadow=None if s.planar else low3[1])
        axes.set_axis_off()
        middle = (low + high) / 2
        axes.set(xlim=middle[0] + size[0] / 2 * np.array([-1, 1]), ylim=middle[1] + size[1] / 2 * np.array([-1, 1]))
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=DPI)
        frames.append(image.open(buffer).convert("RGB"))
    plt.close(figure)
    _save(frames, path, seconds)


def _save(frames: Sequence[Any], path: str | os.PathLike[str], seconds: float) -> None:
    """One palette for all pictures, so that parts that rest cost nothing."""
    both = frames[0].copy()
    both.paste(frames[-1].crop((both.width // 2, 0, *both.size)), (both.width // 2, 0))  # the path is whole in the last
    palette = both.quantize(COLORS, method=2)  # by octree, which keeps small areas of a colour
    pictures = [frame.quantize(palette=palette, dither=0) for frame in frames]
    with writing(path):
        pictures[0].save(
            path, format="GIF", save_all=True, append_images=pictures[1:],
            duration=max(20, round(1000 * seconds / len(frames))), loop=0, optimize=True,
        )  # fmt: skip
