"""The motion of a four-bar in closed form."""

import numpy as np

from dalembert.zoo.planar import heading, meet, normal, unit


def same_angle(a, b, atol=1e-11):
    np.testing.assert_allclose(np.exp(1j * np.asarray(a)), np.exp(1j * np.asarray(b)), atol=atol)


def four_bar_motion(angle, w, branch=1, *, ground=0.55, crank=0.20, coupler=0.60, rocker=0.40):
    """Angles of coupler and rocker, their rates and their accelerations at a constant crank speed."""
    C = meet(crank * unit(angle), coupler, np.array([ground, 0.0]), rocker, branch)
    beta, delta = heading(crank * unit(angle), C), heading(np.array([ground, 0.0]), C)
    rates = np.column_stack([coupler * normal(beta), -rocker * normal(delta)])
    first = np.linalg.solve(rates, -w * crank * normal(angle))
    drift = crank * unit(angle) * w**2 + coupler * unit(beta) * first[0] ** 2 - rocker * unit(delta) * first[1] ** 2
    return (beta, delta), first, np.linalg.solve(rates, drift)
