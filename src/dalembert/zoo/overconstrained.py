"""Spatial linkages that move although their loops have more equations than they should: Bennett, Sarrus, Bricard."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.mechanism.body import Body
from dalembert.mechanism.inertia import cylinder_inertia
from dalembert.mechanism.joints import Revolute
from dalembert.mechanism.mechanism import Mechanism
from dalembert.spatial import rotation
from dalembert.zoo.door import checked
from dalembert.zoo.planar import Start


def _loop(name: str, lengths: Sequence[float], twists: Sequence[float], density: float, gravity: float) -> Mechanism:
    """Revolute joints about z with links Tx(a) Rx(α) between them (Denavit-Hartenberg, no offsets), closed.

    The last link is the ground: the last joint's axis is where Tx(a) Rx(α) leads from it to the first.
    """
    m = Mechanism(name, gravity=(0, 0, -gravity))
    before = m.ground.at()
    for k, (a, alpha) in enumerate(zip(lengths[:-1], twists[:-1]), start=1):
        link = _strut(m, f"link {k}", density * a, a, "x")
        m.add_joint(f"theta{k}", Revolute("z"), before, link)
        before = link.at(a, 0, 0, rotation=rotation("x", alpha))
    last = m.ground.at(-lengths[-1], 0, 0, rotation=rotation("x", -twists[-1]))
    m.close_loop(f"theta{len(lengths)}", Revolute("z"), before, last)
    return m


def _strut(m: Mechanism, name: str, mass: float, length: float, axis: str) -> Body:
    com = [length / 2 if letter == axis else 0.0 for letter in "xyz"]
    return m.add_body(name, mass=mass, com=com, inertia=cylinder_inertia(mass, 0.02, length, axis))


@checked
def bennett(
    *,
    a: float = 1.0,
    alpha: float = np.radians(40),
    beta: float = np.radians(70),
    density: float = 1.0,
    gravity: float = 9.81,
) -> Mechanism:
    """Bennett's 4R linkage: links a, b, a, b twisted by α, β, α, β with a/sin α = b/sin β; one degree of freedom.

    Kutzbach's count gives −2; three of the loop's five rows are redundant. theta1 to theta3 are the joints of the tree,
    theta4 closes the loop on the ground. θ₃ = −θ₁, θ₄ = −θ₂, tan(θ₁/2) tan(θ₂/2) = sin(½(β + α))/sin(½(β − α)). The
    axis of theta1 is z. Links are uniform struts of `density` kg/m; that and gravity are chosen.

    a is the length of links 1 and 3 (m), alpha and beta the twists α and β (rad); gravity acts along −z (m/s²).

    >>> from dalembert import zoo
    >>> system = zoo.bennett().compile()
    >>> q, _ = zoo.bennett_start(np.radians(75))
    >>> round(q["theta2"], 9), system.nv - system.acceleration(q).rank
    (2.665882693, 1)
    """
    b = a * np.sin(beta) / np.sin(alpha)
    return _loop("Bennett linkage", (a, b, a, b), (alpha, beta, alpha, beta), density, gravity)


@checked
def bennett_start(
    theta: float = np.radians(75), speed: float = 0.0, *, alpha: float = np.radians(40), beta: float = np.radians(70)
) -> Start:
    """θ₁ and its rate given (θ₁ not a multiple of 2π).

    theta is θ₁ (rad) and speed its rate (rad/s); alpha and beta are those of `bennett`.
    """
    k = np.sin((beta + alpha) / 2) / np.sin((beta - alpha) / 2)
    t = np.tan(theta / 2)
    rate = -k * (1 + t**2) / (t**2 + k**2) * speed
    return (
        {"theta1": theta, "theta2": float(2 * np.arctan(k / t)), "theta3": -theta},
        {"theta1": speed, "theta2": rate, "theta3": -speed},
    )


@checked
def bricard(*, length: float = 1.0, density: float = 1.0, gravity: float = 9.81) -> Mechanism:
    """Bricard's 6R linkage with threefold symmetry: equal links, twists ±90° in turn; one degree of freedom.

    The Bricard mechanism of the IFToMM benchmark library: a cube's edges at θ = ±90°, rods of 1 m and 1 kg. The loop's
    five rows have rank 4 (Kutzbach: 0 degrees of freedom). θ₁ = θ₃ = θ₅, θ₂ = θ₄ = θ₆, cos θ₁ + cos θ₂ + cos θ₁ cos θ₂
    = 0. theta6 closes the loop on the ground. Struts of 2 cm radius are chosen.

    length is that of a link (m), density the struts' mass per length (kg/m); gravity acts along −z (m/s²).

    >>> from dalembert import zoo
    >>> system = zoo.bricard().compile()
    >>> system.nv - system.acceleration(zoo.bricard_start(1.2)[0]).rank
    1
    """
    return _loop("Bricard linkage", (length,) * 6, (np.pi / 2, -np.pi / 2) * 3, density, gravity)


@checked
def bricard_start(theta: float = np.pi / 2, speed: float = 0.0) -> Start:
    """θ₁ (|θ₁| ≤ 120°) and its rate given, the branch θ₂ > 0.

    theta is θ₁ (rad), speed its rate (rad/s).
    """
    c = np.cos(theta)
    other = float(np.arccos(-c / (1 + c)))
    rate = -speed * np.sin(theta) * (1 + np.cos(other)) / (np.sin(other) * (1 + c))
    q = {f"theta{k}": theta if k % 2 else other for k in range(1, 6)}
    return q, {f"theta{k}": speed if k % 2 else rate for k in range(1, 6)}


@checked
def sarrus(*, length: float = 1.0, reach: float = 1.0, mass: float = 1.0, gravity: float = 9.81) -> Mechanism:
    """Sarrus' linkage: two pairs of hinged plates, at right angles, guide a platform straight up and down.

    Leg 1 turns about axes along y with its lower hinge at (reach, 0, 0), leg 2 about axes along x with it at (0, reach,
    0); each has two struts of `length`. The platform's frame is above the origin. A, B, C are the hinges from below;
    leg 1 carries the platform, C2 closes the loop: five rows of rank 4, one degree of freedom (Kutzbach: 0). Inertias
    are chosen (uniform struts, a thin square platform of half side `reach`).

    mass is that of a strut and of the platform (kg); gravity acts along −z (m/s²).

    >>> from dalembert import zoo
    >>> system = zoo.sarrus().compile()
    >>> x = system.state(*zoo.sarrus_start(0.7))
    >>> float(system.pose(x, "platform")[2, 3].round(6)), system.nv - system.acceleration(x).rank    # 2 l sin u
    (1.288435, 1)
    """
    m = Mechanism("Sarrus linkage", gravity=(0, 0, -gravity))
    J = mass * reach**2 / 3
    platform = m.add_body("platform", mass=mass, inertia=(J, J, 2 * J))
    for k, (axis, along, foot) in enumerate((("-y", "x", (reach, 0, 0)), ("x", "y", (0, reach, 0))), start=1):
        lower, upper = (_strut(m, f"{part} {k}", mass, length, along) for part in ("lower", "upper"))
        end = (length, 0, 0) if along == "x" else (0, length, 0)
        m.add_joint(f"A{k}", Revolute(axis), m.ground.at(*foot), lower)
        m.add_joint(f"B{k}", Revolute(axis), lower.at(*end), upper)
        if k == 1:
            m.add_joint("C1", Revolute(axis), upper.at(*end), platform.at(*foot))
        else:
            m.close_loop("C2", Revolute(axis), upper.at(*end), platform.at(*foot))
    return m


@checked
def sarrus_start(angle: float = 0.7, speed: float = 0.0) -> Start:
    """The lower struts raised by `angle` from the ground and turning at `speed`."""
    q = {"A1": angle, "B1": np.pi - 2 * angle, "C1": angle - np.pi, "A2": angle, "B2": np.pi - 2 * angle}
    return q, {"A1": speed, "B1": -2 * speed, "C1": speed, "A2": speed, "B2": -2 * speed}
