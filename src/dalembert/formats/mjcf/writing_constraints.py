"""Constraints as equalities of MJCF."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial import polynomial as P

from dalembert.formats.mjcf.document import Document
from dalembert.formats.mjcf.laws import Polynomial
from dalembert.formats.mjcf.paths import JointPath
from dalembert.formats.mjcf.writing_tendons import write_tendon
from dalembert.mechanism.constraints import Constraint, Expressions, LoopJoint, Rod
from dalembert.symbols import array


def write_constraints(d: Document) -> None:
    """Add an equality, or several, for each constraint that has one."""
    for c in d.m.constraints.values():
        if c.name not in d.left_out and not _written(d, c):
            d.note(f"{c.kind} '{c.name}'", f"has no equality in MJCF and is left out ({c.describe()})")


def _written(d: Document, c: Constraint) -> bool:
    if isinstance(c, LoopJoint):
        return _loop(d, c)
    if isinstance(c, Rod):
        return _rod(d, c)
    if isinstance(c, Expressions) and c.kind == "coupling" and c.recipe is not None:
        _, (_, coefficients, offset, _) = c.recipe
        values = {q: float(d.number([k])[0]) for q, k in coefficients.items()}
        return _coupling(d, c.name, values, float(d.number([offset])[0]))
    if isinstance(c, Expressions) and len(c.holonomic) == 1 and isinstance(c.holonomic[0][1], Polynomial):
        return _polynomial(d, c.name, c.holonomic[0][1])
    return False


def _loop(d: Document, c: LoopJoint) -> bool:
    """connect and weld; a hinge is two points on its axis."""
    kind = {"spherical": "connect", "fixed": "weld", "revolute": "connect"}.get(c.joint.kind)
    if kind is None:
        return False
    equality = d.section("equality")

    def tie(suffix: str, shift: float) -> None:
        axis = d.number(c.joint.orientation)[:, 2] * shift
        ends = [frame.at(axis.tolist()) for frame in (c.a, c.b)]
        sites = [d.site(f"{c.name}_{letter}{suffix}", end) for letter, end in zip("ab", ends)]
        equality.add(kind, name=d.name("equality", f"{c.name}{suffix}"), site1=sites[0], site2=sites[1])

    tie("", 0.0)
    if c.joint.kind == "revolute":
        tie("_axis", 0.1)
    return True


def _rod(d: Document, c: Rod) -> bool:
    """A tendon of constant length; in MJCF its change since the reference position is given."""
    ends = [d.site(f"{c.name}_{letter}", frame) for letter, frame in zip("ab", (c.a, c.b))]
    s = d.neutral()
    now = float(np.linalg.norm(d.number(array(s.position(c.a) - s.position(c.b)))))
    tendon = d.section("tendon").add("spatial", name=d.name("tendon", c.name))
    for site in ends:
        tendon.add("site", site=site)
    length = float(d.number([c.length])[0])
    _tie(d, "tendon", c.name, tendon.attributes["name"], None, [length - now, 0, 0, 0, 0])
    return True


def _coupling(d: Document, name: str, coefficients: dict[str, float], offset: float) -> bool:
    terms = {q: k for q, k in coefficients.items() if k}
    if not terms or any(q not in d.coordinates for q in terms):
        return False
    if len(terms) <= 2:
        (y, a), *rest = sorted(terms.items(), key=lambda item: abs(item[1]) != 1.0)
        x, b = rest[0] if rest else (None, 0.0)
        other = d.coordinates[x] if x is not None else None
        _tie(d, "joint", name, d.coordinates[y], other, [offset / a, -b / a, 0, 0, 0])
        return True
    tendon = d.section("tendon").add("fixed", name=d.name("tendon", name))
    for q, k in terms.items():
        tendon.add("joint", joint=d.coordinates[q], coef=k)
    _tie(d, "tendon", name, tendon.attributes["name"], None, [offset, 0, 0, 0, 0])
    return True


def _polynomial(d: Document, name: str, law: Polynomial) -> bool:
    """y − y₀ = Σ aₖ (x − x₀)ᵏ, moved to the lengths at the written reference position."""
    lengths = [float(d.number(array(p.length(d.neutral())))[0]) if p is not None else 0.0 for p in (law.y, law.x)]
    shifted = np.array([law.coefficients[-1]]) if law.x is not None else np.array([law.coefficients[0]])
    if law.x is not None:
        for a in reversed(law.coefficients[:-1]):
            shifted = P.polyadd(P.polymul(shifted, [lengths[1] - law.x0, 1.0]), [a])
    shifted = np.pad(shifted, (0, 5 - len(shifted)))
    shifted[0] += law.y0 - lengths[0]
    single = [_single(d, path) for path in (law.y, law.x)]
    if single[0] is not None and (law.x is None or single[1] is not None):
        _tie(d, "joint", name, single[0], single[1], shifted)
        return True
    names = [write_tendon(d, name, path) if path is not None else None for path in (law.y, law.x)]
    if names[0] is None or (law.x is not None and names[1] is None):
        return False
    _tie(d, "tendon", name, names[0], names[1], shifted)
    return True


def _single(d: Document, path: Any) -> str | None:
    """The joint whose coordinate a path is."""
    if isinstance(path, JointPath) and len(path.terms) == 1 and path.terms[0][1] == 1.0:
        return d.coordinates.get(path.terms[0][0])
    return None


def _tie(d: Document, kind: str, name: str, one: Any, two: Any, coefficients: Any) -> None:
    own = d.name("equality", name)
    both = {f"{kind}1": one} | ({f"{kind}2": two} if two is not None else {})
    d.section("equality").add(kind, name=own, **both, polycoef=coefficients)
