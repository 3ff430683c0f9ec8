"""A Z-bar wheel loader: eight bodies, three loops, two degrees of freedom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.errors import ArgumentError
from dalembert.mechanism.body import Body, Frame
from dalembert.mechanism.inertia import cylinder_inertia
from dalembert.mechanism.joints import Prismatic, Revolute
from dalembert.mechanism.mechanism import Mechanism
from dalembert.zoo.door import checked
from dalembert.zoo.planar import Start, heading, meet

#: (x, z) of the pins in the drawn position, m
PINS: dict[str, tuple[float, float]] = {
    "A": (0.0, 1.675), "B": (0.0, 2.115), "C": (0.32, 2.027), "D": (1.13, 1.515), "E": (1.4, 2.297), "F": (1.6, 1.8),
    "G": (2.26, 0.832), "H": (1.4, 1.03), "L": (2.118, 1.03),
}  # fmt: skip

#: body: (pin it turns on, centre of mass (x, z) in the drawn position, mass, moment of inertia about y)
BODIES: dict[str, tuple[str, tuple[float, float], float, float]] = {
    "boom": ("B", (1.13, 1.4735), 928.0, 1986.1),
    "rocker": ("F", (1.4666666666666668, 1.709), 318.0, 33.4),
    "bucket": ("G", (2.76, 0.832), 1305.0, 800.0),
    "link": ("H", (1.759, 1.03), 56.0, 11.1),
}

#: cylinder: (pin of the tube, pin of the rod)
CYLINDERS = {"lift": ("A", "D"), "tilt": ("C", "E")}


@checked
def loader(
    *,
    pins: Mapping[str, tuple[float, float]] = PINS,
    bodies: Mapping[str, tuple[str, tuple[float, float], float, float]] = BODIES,
    cylinder_masses: Sequence[float] = (60.0, 40.0),
    gravity: float = 9.81,
) -> Mechanism:
    """A loader linkage of the size of Spencer's example 4.5, with published dimensions of a Z-bar wheel loader.

    x forward, z up; joints turn from +x to +z, and every coordinate is zero in the drawn position. boom on B, rocker on
    F, bucket on G, link on H; cylinders "lift" from A and "tilt" from C, each a tube and a rod with the extension as
    coordinate. Loops close at D (lift rod, boom), E (tilt rod, rocker) and L (link, bucket). Inputs "lift" and
    "tilt": forces (N) that extend the cylinders. Frame "lip": the bucket's cutting edge.

    Sources: pins, masses and moments about y from the wheel-loader files for Chrono by V. Bertolazzo. Spencer prints no
    dimensions of the John Deere 744, so his eigenvalues cannot be asked of it. Chosen: centres of mass (boom mid-way
    from B to G, rocker at the mean of its pins, link mid-way, bucket 0.5 m ahead of G), moments of inertia about x and
    z (half of those about y), masses of tube and rod (the cylinders are massless in the source) and their shape, the
    lip.

    pins places each pin at (x, z) in the drawn position (m); bodies gives each body (pin of its frame, centre of mass
    (x, z), mass, moment about y); cylinder_masses are those of tube and rod (kg); gravity in m/s².

    >>> from dalembert import zoo
    >>> system = zoo.loader().compile()
    >>> x = system.state(*zoo.loader_start(lift=0.1))
    >>> round(x["B"], 6), system.nv - system.acceleration(x).rank
    (0.22784, 2)
    """
    pins, bodies = _checked_pins(pins), _checked_bodies(bodies)
    m = Mechanism("loader", gravity=(0, 0, -gravity))
    made = {name: _body(m, name, pins[pin], com, mass, J) for name, (pin, com, mass, J) in bodies.items()}

    def at(pin: str, body: str | None = None) -> Frame:
        """A pin on a body (whose frame is at its own pin), or on the ground."""
        x, z = pins[pin] if body is None else np.subtract(pins[pin], pins[bodies[body][0]])
        return m.ground.at(x, 0, z) if body is None else made[body].at(x, 0, z)

    m.add_joint("B", Revolute("-y"), at("B"), made["boom"])
    m.add_joint("F", Revolute("-y"), at("F", "boom"), made["rocker"])
    m.add_joint("G", Revolute("-y"), at("G", "boom"), made["bucket"])
    m.add_joint("H", Revolute("-y"), at("H", "rocker"), made["link"])
    m.close_loop("L", Revolute("-y"), at("L", "link"), at("L", "bucket"))
    for name, target in (("lift", at("D", "boom")), ("tilt", at("E", "rocker"))):
        _cylinder(m, name, pins, cylinder_masses, target)
    m.add_frame("lip", made["bucket"].at(1.1, 0, -0.3))
    return m


def _checked_pins(pins: Mapping[str, ArrayLike]) -> dict[str, tuple[float, float]]:
    """{pin: (x, z)}, with all pins of the drawing."""
    given = checks.mapping(pins, "pins")
    if set(given) != set(PINS):
        raise ArgumentError(f"pins has the names {', '.join(map(str, given)) or 'none'}; needed: {', '.join(PINS)}.")
    found = {name: checks.vector(given[name], 2, f"pin '{name}'").tolist() for name in PINS}
    return {name: (x, z) for name, (x, z) in found.items()}


def _checked_bodies(bodies: Any) -> dict[str, Any]:
    given = checks.mapping(bodies, "bodies")
    if set(given) != set(BODIES):
        raise ArgumentError(
            f"bodies has the names {', '.join(map(str, given)) or 'none'}; needed: {', '.join(BODIES)}."
        )
    for name, parts in given.items():
        if not isinstance(parts, (tuple, list)) or len(parts) != 4:
            raise ArgumentError(f"body '{name}' is {checks.shown(parts)}; needed: (pin, (x, z), mass, moment about y).")
        checks.choice(parts[0], PINS, f"the pin of body '{name}'")
        checks.vector(parts[1], 2, f"the centre of mass of body '{name}'")
        checks.number(parts[3], f"the moment of inertia of body '{name}'", least=0.0)
    return dict(given)


def _body(m: Mechanism, name: str, pin: ArrayLike, com: ArrayLike, mass: float, J: float) -> Body:
    x, z = np.subtract(com, pin)
    return m.add_body(name, mass=mass, com=(x, 0, z), inertia=(J / 2, J, J / 2))


def _cylinder(m: Mechanism, name: str, pins: Mapping[str, Any], masses: Sequence[float], target: Frame) -> None:
    """A tube and a rod, each as long as 6/10 of the way between the pins in the drawn position."""
    base, tip = (np.array(pins[p]) for p in CYLINDERS[name])
    length = float(np.hypot(*(tip - base)))
    n = (tip - base) / length
    axis, part = (float(n[0]), 0.0, float(n[1])), 0.6 * length
    turned = np.array([[n[0], 0, -n[1]], [0, 1, 0], [n[1], 0, n[0]]])  # columns: along, y, across
    halves = []
    for half, mass, middle in zip(("tube", "rod"), masses, (part / 2, -part / 2)):
        solid = cylinder_inertia(mass, 0.05, part, "x")
        com = (middle * n[0], 0, middle * n[1])
        halves.append(m.add_body(f"{name} {half}", mass=mass, com=com, inertia=solid, inertia_axes=turned))
    tube, rod = halves
    m.add_joint(CYLINDERS[name][0], Revolute("-y"), m.ground.at(base[0], 0, base[1]), tube)
    m.add_joint(name, Prismatic(axis), tube.at(tip[0] - base[0], 0, tip[1] - base[1]), rod)
    m.close_loop(CYLINDERS[name][1], Revolute("-y"), rod, target)
    m.add_motor(name, name)


@checked
def loader_start(lift: float = 0.0, tilt: float = 0.0, *, pins: Mapping[str, tuple[float, float]] = PINS) -> Start:
    """At rest with the cylinders extended by lift and tilt (m) from the drawn position, on the same branch as there.

    pins are those of `loader`.
    """
    p = {name: np.array(x) for name, x in _checked_pins(pins).items()}

    def distance(a: str, b: str) -> float:
        return float(np.hypot(*(p[b] - p[a])))

    def side(a: str, b: str, c: str) -> float:
        """On which side of a→b the pin c lies in the drawing."""
        (ax, az), (bx, bz) = p[b] - p[a], p[c] - p[a]
        return float(ax * bz - az * bx)

    def turn(start: np.ndarray, end: np.ndarray, a: str, b: str) -> float:
        """Rotation from a→b of the drawing to start→end, in (−π, π]."""
        angle = heading(start, end) - heading(p[a], p[b])
        return float((angle + np.pi) % (2 * np.pi) - np.pi)

    def carried(origin: np.ndarray, angle: float, a: str, b: str) -> np.ndarray:
        """Where pin b is when the body through a → b has turned about a, now at `origin`."""
        c, s = np.cos(angle), np.sin(angle)
        return origin + np.array([[c, -s], [s, c]]) @ (p[b] - p[a])

    D = meet(p["A"], distance("A", "D") + lift, p["B"], distance("B", "D"), side("A", "B", "D"))
    boom = turn(p["B"], D, "B", "D")
    F, G = carried(p["B"], boom, "B", "F"), carried(p["B"], boom, "B", "G")
    E = meet(p["C"], distance("C", "E") + tilt, F, distance("F", "E"), side("C", "F", "E"))
    rocker = turn(F, E, "F", "E")
    H = carried(F, rocker, "F", "H")
    L = meet(H, distance("H", "L"), G, distance("G", "L"), side("H", "G", "L"))
    link, bucket = turn(H, L, "H", "L"), turn(G, L, "G", "L")
    q = {"B": boom, "F": rocker - boom, "G": bucket - boom, "H": link - rocker, "lift": lift, "tilt": tilt}
    q |= {"A": turn(p["A"], D, "A", "D"), "C": turn(p["C"], E, "C", "E")}
    return q, {}
