"""Closed-form solutions, to hold simulations and linearizations against."""

from __future__ import annotations

import numpy as np

from dalembert.zoo.door import Times, Triple, checked

# --- pendulums ----------------------------------------------------------------------------------------------------


@checked
def pendulum(
    t: Times, *, amplitude: float, length: float = 1.0, gravity: float = 9.81
) -> tuple[np.ndarray, np.ndarray]:
    """Angle from below and its rate of a pendulum let go at rest at `amplitude` (|amplitude| < π), at time t = 0.

        sin(θ/2) = k cd(ωt, k),   θ̇ = −2 k k′ ω sd(ωt, k),   k = sin(amplitude/2),  ω² = g/l

    t is a time or an array of times (s), length in m, gravity in m/s².

    >>> theta, rate = pendulum(pendulum_period(amplitude=2.0) / 4, amplitude=2.0)
    >>> bool(abs(theta) < 1e-12), bool(abs(rate**2 / 2 - 9.81 * (1 - np.cos(2.0))) < 1e-12)       # energy
    (True, True)
    """
    from scipy import special

    k, w = np.sin(amplitude / 2), np.sqrt(gravity / length)
    sn, cn, dn, _ = special.ellipj(w * np.asarray(t), k**2)
    return 2 * np.arcsin(k * cn / dn), -2 * k * np.cos(amplitude / 2) * w * sn / dn


@checked
def pendulum_period(*, amplitude: float, length: float = 1.0, gravity: float = 9.81) -> float:
    """4 K(k)/ω.

    The period (s) of `pendulum`, with its amplitude (rad), length (m) and gravity (m/s²).
    """
    from scipy import special

    return float(4 * special.ellipk(np.sin(amplitude / 2) ** 2) * np.sqrt(length / gravity))


@checked
def spinning_pendulum(
    t: Times, *, speed: float, length: float = 1.0, gravity: float = 9.81
) -> tuple[np.ndarray, np.ndarray]:
    """θ and θ̇ of a pendulum that passes below at t = 0 with `speed` rad/s, fast enough to go over (speed > 2ω).

    θ = 2 am(½ speed t, k),  θ̇ = speed dn,  k = 2ω/speed.

    t, length and gravity are those of `pendulum`.
    """
    from scipy import special

    k = 2 * np.sqrt(gravity / length) / speed
    _, _, dn, am = special.ellipj(speed * np.asarray(t) / 2, k**2)
    return 2 * am, speed * dn


@checked
def chain_frequencies(links: int, *, length: float = 1.0, gravity: float = 9.81) -> np.ndarray:
    """rad/s, ascending, of n equal point masses on equal massless links hanging at rest: √(g/l × roots of Laguerre Lₙ).

    links is n, length that of a link (m), gravity in m/s².

    >>> chain_frequencies(2, gravity=1.0) ** 2
    array([0.58578644, 3.41421356])
    """
    from scipy import special

    return np.sqrt(gravity / length * special.roots_laguerre(links)[0])


# --- tops ---------------------------------------------------------------------------------------------------------


@checked
def free_top(t: Times, omega: Triple, *, transverse: float, axial: float) -> np.ndarray:
    """Angular velocity (…, 3), body axes, of a torque-free symmetric top with axis z that has `omega` at t = 0.

    ω₁ + iω₂ turns at (I₃ − I₁) ω₃/I₁ about the axis.

    t is a time or an array of times (s); axial is I₃ and transverse I₁ (kg m²).
    """
    x, y, z = omega
    turning = (x + 1j * y) * np.exp(1j * (axial - transverse) / transverse * z * np.asarray(t))
    return np.stack([turning.real, turning.imag, np.broadcast_to(z, turning.shape)], axis=-1)


@checked
def precession_rates(*, I1: float, I3: float, mgl: float, tilt: float, spin: float) -> np.ndarray:
    """The steady precessions Ω (fast, slow) of a heavy top: I₁ cos θ Ω² − I₃ ω₃ Ω + m g l = 0, ω₃ the total spin.

    I₁ and I₃ are about the tip. Complex where the spin is too slow.

    mgl is m g l (N m), tilt is θ (rad), spin is ω₃ (rad/s); I1 and I3 are I₁ and I₃ (kg m²).
    """
    return np.roots([I1 * np.cos(tilt), -I3 * spin, mgl])


@checked
def sleeping_top(*, I1: float, I3: float, mgl: float, spin: float) -> np.ndarray:
    """Eigenvalues λ of a small tilt of the upright top, seen from the ground: I₁λ² − i I₃ ω₃ λ − m g l = 0.

    Their conjugates belong to it too. Stable above the spin 2 √(I₁ m g l)/I₃.

    mgl is m g l (N m), spin is ω₃ (rad/s); I1 and I3 are I₁ and I₃ about the tip (kg m²).
    """
    return np.roots([I1, -1j * I3 * spin, -mgl])


# --- rolling ------------------------------------------------------------------------------------------------------


@checked
def sleigh(
    t: Times, *, mass: float, inertia: float, ahead: float, final: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Forward speed, turning rate and heading of the Chaplygin sleigh whose forward speed is 0 at t = 0.

        v = v∞ tanh(kt),  ω = (v∞/b) sech(kt),  θ = (2b/a) atan(tanh(kt/2)),  b² = (I + m a²)/m,  k = a v∞/b²

    `final` is v∞, `ahead` is a. From t = −∞ to ∞ it turns by π b/a.

    t is a time or an array of times (s); mass is m (kg), inertia I about the centre of mass (kg m²).
    """
    b = np.sqrt((inertia + mass * ahead**2) / mass)
    kt = ahead * final / b**2 * np.asarray(t)
    sech = 2 * np.exp(-np.abs(kt)) / (1 + np.exp(-2 * np.abs(kt)))
    return final * np.tanh(kt), final / b * sech, 2 * b / ahead * np.arctan(np.tanh(kt / 2))


@checked
def disc_spin(*, lean: float, yaw_rate: float, radius: float, gravity: float = 9.81) -> float:
    """Spin s about its axle of a thin uniform disc in a steady turn; R = Rz(ψ) Rx(lean), axle y, z up.

    6 s ψ̇ cos φ + 5 ψ̇² sin φ cos φ + (4g/r) sin φ = 0

    lean is φ (rad), yaw_rate is ψ̇ (rad/s), radius is r (m), gravity is g (m/s²).
    """
    s, c = np.sin(lean), np.cos(lean)
    return float(-(5 * yaw_rate**2 * s * c + 4 * gravity / radius * s) / (6 * yaw_rate * c))


@checked
def disc_growth(*, spin: float, radius: float, gravity: float = 9.81) -> float:
    """λ² of a small lean of a thin uniform disc rolling upright: 4g/(5r) − (12/5) s²; stable where s² > g/(3r).

    spin is s (rad/s), radius is r (m), gravity is g (m/s²).
    """
    return 4 * gravity / (5 * radius) - 2.4 * spin**2
