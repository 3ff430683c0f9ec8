"""Motions of planar linkages that meet singular positions or pass beside them, to forty digits (planar_truth.py).

`python tests/closed_form/planar_motions.py` makes the table of test_near_misses.py anew.
"""

from __future__ import annotations

import numpy as np
from planar_linkages import LEGS, chain, four_bar, ladder, planar_3rrr, sarrus, slider_crank
from planar_truth import exact

FIVE_BAR = {
    "lengths": (1.0, 1.5, 1.5, 1.0),
    "masses": (2.0, 3.0, 3.0, 2.0),
    "inertias": (1.0, 2.0, 2.0, 1.0),
    "span": 1.0,
}
SIX_BAR = {  # five bars and the base: three degrees of freedom
    "lengths": (1.0, 0.5, 1.25, 0.75, 1.0),
    "masses": (1.0, 1.5, 0.75, 2.0, 1.25),
    "inertias": (0.25, 0.125, 0.5, 0.25, 0.375),
    "span": 2.0,
}
BASE = 5.0  # kg
RATE = 2.0  # rad/s of the driven crank
CHANGE_POINT = {"ground": 1.0, "crank": 0.5, "coupler": 1.25, "rocker": 0.75}  # shortest + longest = sum of the others
MISSES = tuple(10.0**-k for k in range(2, 10))
LONGER = tuple(s * 10.0**-k for k in (3, 5, 7, 9, 11, 13) for s in (1, -1))
LADDERS = {
    1: (0.0, *LONGER[1::4], *LONGER[2::4]),
    2: (0.0, *LONGER[3::4], *LONGER[::4]),
    5: (0.0, LONGER[0], LONGER[5], LONGER[8]),
}
SLIDERS = (0.0, *LONGER[::3], *LONGER[-2:])
NEIGHBOUR = 1e-7  # rad between two starts of which it is shown that they lead elsewhere


def made(mechanism, x=0.0):
    """Model of a mechanism and the matrix from joint to absolute coordinates; x: a length that differs, or a phase."""
    if mechanism == "five-bar":
        return chain(**FIVE_BAR), np.tril(np.ones((4, 4), int))
    if mechanism == "six-bar":
        return chain(**SIX_BAR), np.tril(np.ones((5, 5), int))
    if mechanism == "five-bar on a slide":  # joints: slide, A, B, C, D
        S = np.zeros((5, 5), int)
        S[:4, 1:], S[4, 0] = np.tril(np.ones((4, 4), int)), 1
        return chain(**FIVE_BAR, base=BASE), S
    if mechanism == "driven five-bar":
        return chain(**FIVE_BAR, driven=[({0: 1}, (x, RATE))]), np.tril(np.ones((4, 4), int))
    if mechanism == "3-RRR":  # joints: A1 B1 C1 A2 B2 A3 B3; absolute: legs, platform
        S = np.zeros((7, 7), int)
        S[0, 0] = S[2, 3] = S[4, 5] = 1
        S[1, :2] = S[3, 3:5] = S[5, 5:] = 1
        S[6, :3] = 1
        return planar_3rrr(), S
    if mechanism.startswith("ladder"):  # joints: A0, B1, A1, B2, A2, …
        loops = int(mechanism.split()[1])
        S = np.eye(2 * loops + 1, dtype=int)
        for k in range(1, loops + 1):
            S[2 * k - 1, 2 * k - 2] = 1
        return ladder(rungs(loops, x)), S
    if mechanism == "four-bar":
        S = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1]])
        return four_bar(**{**CHANGE_POINT, "coupler": CHANGE_POINT["coupler"] + x}), S
    if mechanism == "slider-crank":
        return slider_crank(1.0 + x), np.array([[1, 0], [1, 1]])
    return sarrus(), np.array([[1, 0], [1, 1]])


def rungs(loops, x):
    """Lengths of the couplers of a ladder: x, and for each another multiple of it, longer or shorter than one."""
    return tuple(1.0 + x * (1.0, -0.5, 0.75, -0.25, 0.5)[k] for k in range(loops))


def singular(mechanism):
    """A singular position in absolute coordinates."""
    straight = np.array([np.pi, 0.0, 0.0, np.pi])
    if mechanism == "six-bar":
        return np.array([0.0, np.pi, 0.0, np.pi, 0.0])
    if mechanism == "3-RRR":  # all legs stretched, through the centre of the platform, which is turned by half a turn
        return np.array([*np.repeat(LEGS + np.pi, 2), np.pi])
    return np.array([*straight, 0.0]) if mechanism == "five-bar on a slide" else straight


def beside(mechanism, miss, seed, speed, before, after):
    """A case that passes the singular position at about that distance, with a seeded direction and velocity."""
    rng = np.random.default_rng(seed)
    x = float(np.pi + miss - RATE * before) if mechanism == "driven five-bar" else 0.0
    model, S = made(mechanism, x)
    aside, v = rng.standard_normal((2, model.n))
    q = singular(mechanism) + miss * aside / np.linalg.norm(aside)
    t = exact(before)[()]
    q, v = model.on_manifold(exact(q), exact(v), t)
    if mechanism != "driven five-bar":
        v = v * exact(speed / np.linalg.norm(v.astype(float)))[()]
    q, v, _ = model.integrate(q, v, -before, before)
    back = exact(np.round(np.linalg.inv(S)).astype(int))
    return finished(mechanism, x, miss, (back @ q).astype(float), (back @ v).astype(float), before + after)


def finished(mechanism, x, miss, q, v, duration):
    """The case that starts with these joint coordinates, doubles as they are, with what follows."""
    model, S = made(mechanism, x)
    S = exact(S)
    back = exact(np.round(np.linalg.inv(S.astype(float))).astype(int))
    end_q, end_v, steps = model.integrate(S @ exact(q), S @ exact(v), duration)
    return {
        "mechanism": mechanism, "x": x, "miss": miss, "q": list(map(float, q)), "v": list(map(float, v)),
        "duration": duration, "end_q": (back @ end_q).astype(float).tolist(),
        "end_v": (back @ end_v).astype(float).tolist(),
        "passages": model.passages(steps), "steps": len(steps),
    }  # fmt: skip


def with_neighbour(case):
    """The case, and where a start beside its own leads to: on one side of it or on the other, whichever is farther."""
    model, S = made(case["mechanism"], case["x"])
    back, aside, ends = (
        exact(np.round(np.linalg.inv(S)).astype(int)),
        np.random.default_rng(7).standard_normal(model.n),
        [],
    )
    q0, v0 = exact(S) @ exact(case["q"]), exact(S) @ exact(case["v"])
    moved = model.on_manifold(q0 + exact(NEIGHBOUR * aside), v0)[0] - q0  # along the manifold
    moved = moved * exact(NEIGHBOUR)[()] / max(abs(x) for x in moved)
    for side in (1, -1):
        q, v = model.on_manifold(q0 + side * moved, v0)
        ends.append((back @ model.integrate(q, v, case["duration"])[0]).astype(float))
    end = max(ends, key=lambda e: float(np.abs(e - case["end_q"]).max()))
    return {**case, "neighbour": end.tolist()}


def table():
    """All cases, one after the other."""
    for k, miss in enumerate(MISSES):
        for seed, speed in ((3 * k, 1.0), (3 * k + 1, 6.0), (3 * k + 2, 2.5)):
            yield beside("five-bar", miss, seed, speed, 0.6 / speed, 0.6 / speed)
        yield beside("five-bar on a slide", miss, 100 + k, 2.0, 0.25, 0.25)
        yield beside("3-RRR", miss, 200 + k, 2.0, 0.25, 0.25)
        yield beside("driven five-bar", miss * (-1) ** k, 300 + k, 0.0, 0.2, 0.2)
    flat = np.pi / 2
    for x in (0.0, *LONGER):
        for loops in LADDERS:
            if x in LADDERS[loops]:
                yield started(f"ladder {loops}", x, [flat] + [-flat, flat] * loops, 0, -1.0, 0.9 if loops == 5 else 1.0)
        yield started("four-bar", x, change_point(CHANGE_POINT["coupler"] + x), 0, -3.0, 0.6)
        if x in SLIDERS:
            yield started("slider-crank", x, [0.5, -1.0], 0, 5.0, 0.5)
    yield started("sarrus", 0.0, [0.7, np.pi - 1.4], 0, -2.0, 0.6)
    for miss, seed in ((1e-3, 400), (1e-4, 402), (2e-5, 404), (1e-5, 405)):
        yield beside("six-bar", miss, seed, 2.0, 0.25, 0.25)


def change_point(coupler, angle=0.8):
    """Joint angles of the change-point four-bar with its crank at an angle."""
    a, c, d = CHANGE_POINT["crank"], CHANGE_POINT["rocker"], CHANGE_POINT["ground"]
    B = a * np.exp(1j * angle)
    gap = d - B
    inner = np.arccos((coupler**2 + abs(gap) ** 2 - c**2) / (2 * coupler * abs(gap)))
    C = B + coupler * np.exp(1j * (np.angle(gap) + inner))
    return [angle, np.angle(C - B) - angle, np.angle(C - d)]


def started(mechanism, x, q, leader, speed, duration):
    """The case that starts near joint coordinates q, on the manifold, with a speed of one of them."""
    model, S = made(mechanism, x)
    back = exact(np.round(np.linalg.inv(S)).astype(int))
    v = np.zeros(model.n)
    q, _ = model.on_manifold(exact(S) @ exact(q), exact(v))
    A = model.A(model.J(model.features(q))).astype(float) @ S
    rest = [i for i in range(model.n) if i != leader]
    v[leader] = speed
    v[rest] = np.linalg.lstsq(A[:, rest], -A[:, leader] * speed, rcond=None)[0]
    return finished(mechanism, x, x, (back @ q).astype(float), v, duration)


if __name__ == "__main__":
    import json
    import sys
    from pathlib import Path

    cases = []
    for case in table():
        if 0.0 < abs(case["miss"]) < 2e-9 and case["x"] != case["miss"]:
            case = with_neighbour(case)
        cases.append(case)
        print(case["mechanism"], case["miss"], case["steps"], case["passages"], file=sys.stderr, flush=True)
        text = ",\n".join(json.dumps(c) for c in cases)
        Path(__file__).with_name("near_misses.json").write_text(f"[\n{text}\n]\n")
