"""Linkages for planar_truth.py: chains, ladders, four-bars, slider-cranks, Sarrus' plates, the 3-RRR robot."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from planar_truth import Linkage, exact

LEGS = np.pi / 2 + 2 * np.pi / 3 * np.arange(3)
PINS = np.column_stack([np.cos(LEGS), np.sin(LEGS)]).tolist()  # as doubles: the supports and pins of the library too


def rod(m, length):
    """Inertia of a uniform bar about its middle, as an exact product."""
    m, length = exact(m)[()], exact(length)[()]
    return m * length * length / 12


def chain(lengths, masses, inertias, span, gravity=9.81, base=None, driven=()):
    """Bars in a row from the origin to (span, 0); with `base` all on a slide along x of that mass, coordinate n."""
    n = len(lengths)
    d = Linkage(n=n + (base is not None), slides=() if base is None else (n,), gravity=gravity)
    carried = {} if base is None else {n: (1, 0)}
    reached = dict(carried)
    for k, (length, m, inertia) in enumerate(zip(lengths, masses, inertias)):
        d.mass(m, ((0, 0), {**reached, k: (exact(length)[()] / 2, 0)}), inertia, on=k)
        reached[k] = (length, 0)
    if base is not None:
        d.mass(base, ((0, 0), carried))
        reached.pop(n)
    d.close(((-exact(span)[()], 0), reached))
    d.driven = list(driven)
    return d.model()


def ladder(couplers, gravity=9.81):
    """Cranks of unit length and mass on supports one apart, couplers of unit mass: A0, coupler 1, A1, coupler 2, …"""
    d = Linkage(n=2 * len(couplers) + 1, gravity=gravity)
    half = Decimal("0.5")
    d.mass(1, ((0, 0), {0: (half, 0)}), rod(1, 1), on=0)
    for k, length in enumerate(couplers, start=1):
        before, coupler, crank = 2 * k - 2, 2 * k - 1, 2 * k
        d.mass(1, ((k - 1, 0), {before: (1, 0), coupler: (exact(length)[()] / 2, 0)}), rod(1, length), on=coupler)
        d.mass(1, ((k, 0), {crank: (half, 0)}), rod(1, 1), on=crank)
        d.close(((-1, 0), {before: (1, 0), coupler: (length, 0), crank: (-1, 0)}))
    return d.model()


def four_bar(ground, crank, coupler, rocker, masses=(1.0, 1.5, 1.2), gravity=9.81):
    """Crank, coupler and rocker."""
    d = Linkage(n=3, gravity=gravity)
    a, b, c = (exact(x)[()] for x in (crank, coupler, rocker))
    d.mass(masses[0], ((0, 0), {0: (a / 2, 0)}), rod(masses[0], a), on=0)
    d.mass(masses[1], ((0, 0), {0: (a, 0), 1: (b / 2, 0)}), rod(masses[1], b), on=1)
    d.mass(masses[2], ((ground, 0), {2: (c / 2, 0)}), rod(masses[2], c), on=2)
    d.close(((-exact(ground)[()], 0), {0: (a, 0), 1: (b, 0), 2: (-c, 0)}))
    return d.model()


def slider_crank(rod_length=1.0, gravity=9.81):
    """Unit crank and a rod with unit masses at their ends; the rod's end stays on the x axis."""
    d = Linkage(n=2, gravity=gravity)
    d.mass(1, ((0, 0), {0: (1, 0)}))
    d.mass(1, ((0, 0), {0: (1, 0), 1: (rod_length, 0)}))
    d.close(((0, 0), {0: (1, 0), 1: (rod_length, 0)}), axes=(1,))
    return d.model()


def sarrus(gravity=9.81):
    """Both legs as one of twice the mass: two struts of unit length, the platform straight above the foot, x = 0."""
    d = Linkage(n=2, gravity=gravity)
    half, m = Decimal("0.5"), 2
    r = exact(0.02)[()]
    inertia = m * (3 * r * r + 1) / 12  # of a cylinder about an axis across it
    d.mass(m, ((0, 0), {0: (half, 0)}), inertia, on=0)
    d.mass(m, ((0, 0), {0: (1, 0), 1: (half, 0)}), inertia, on=1)
    d.mass(1, ((0, 0), {0: (1, 0), 1: (1, 0)}))
    d.close(((0, 0), {0: (1, 0), 1: (1, 0)}), axes=(0,))
    return d.model()


def planar_3rrr(base=0.5, platform=0.15, proximal=0.325, distal=0.325, masses=(0.6, 0.4, 1.0)):
    """Angles of proximal and distal link leg by leg, then that of the platform; no gravity."""
    d = Linkage(n=7, gravity=0.0)
    half = Decimal("0.5")
    a, b = exact(proximal)[()], exact(distal)[()]
    tips = []
    for k, (c, s) in enumerate(PINS):
        i, j = 2 * k, 2 * k + 1
        foot = exact([base * c, base * s])
        d.mass(masses[0], (foot, {i: (a * half, 0)}), rod(masses[0], a), on=i)
        d.mass(masses[1], (foot, {i: (a, 0), j: (b * half, 0)}), rod(masses[1], b), on=j)
        tips.append((foot, {i: (a, 0), j: (b, 0), 6: (-platform * c, -platform * s)}))
    # the platform's centre is the tip of leg 1 less its pin; leg 2 and 3 lead there too
    r = exact(platform)[()]
    d.mass(masses[2], tips[0], exact(masses[2])[()] * r * r / 2, on=6)
    for foot, terms in tips[1:]:
        loop = dict(terms)
        for i, (x, y) in tips[0][1].items():
            x0, y0 = loop.get(i, (0, 0))
            loop[i] = (exact(x0)[()] - exact(x)[()], exact(y0)[()] - exact(y)[()])
        d.close((foot - tips[0][0], loop))
    return d.model()
