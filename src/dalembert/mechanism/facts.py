"""Every number and text of a description that motions may depend on, by where it is: "contact floor.restitution".

Files keep them, to tell a mechanism that was changed since; see `dalembert.facts`.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.facts import Facts
from dalembert.mechanism.body import Body, Frame
from dalembert.mechanism.constraints.expression import Expressions
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.mechanism import Mechanism
from dalembert.mechanism.values import Defaults

#: fields that motions do not depend on: what bodies look like, texts for people, functions beside what they made
NOT_OF_MOTION: dict[type, tuple[str, ...]] = {
    Body: ("shapes", "colliders", "defaults", "drawn"),
    Attachment: ("tree",),
    Expressions: ("text", "recipe"),
}
#: tables of a mechanism, and what their elements are called
ELEMENTS = {
    "bodies": "body", "joints": "joint", "forces": "force", "constraints": "constraint", "contacts": "contact",
    "frames": "frame",
}  # fmt: skip
#: what else a mechanism has. Values of parameters are kept with each run;
BESIDE = ("name", "ground", "states", "notes", "points", "parameters", "inputs", "borrowed", "_gravity")
SAMPLES = 3  # values of every parameter and input at which expressions are compared


def described(m: Mechanism) -> dict[str, str | np.ndarray]:
    """{where: a text, or numbers of any shape}; expressions are their values (SAMPLES, …) at values drawn once for all.

    Default values of parameters are not among them.
    """
    facts = Facts(special=_special)
    facts.without = NOT_OF_MOTION
    elements = {f"{kind} {name}": x for part, kind in ELEMENTS.items() for name, x in getattr(m, part).items()}
    own = {id(x): where for where, x in elements.items() if not isinstance(x, Frame)}
    for where, x in elements.items():
        facts.names = {key: name for key, name in own.items() if key != id(x)}
        facts.add(x, where)
    facts.add(m._gravity, "gravity")
    for part in ELEMENTS:
        if part != "frames":
            facts.add(", ".join(getattr(m, part)), f"order of {part}")
    return _evaluated(m, facts)


def _special(x: Any) -> Any:
    """What counts of objects of descriptions: expressions of scalars; of mechanisms, all but values of parameters."""
    if hasattr(x, "sx"):
        return x.sx
    if isinstance(x, Defaults):
        return "parameters"
    return described(x) if isinstance(x, Mechanism) else x


def _evaluated(m: Mechanism, facts: Facts) -> dict[str, str | np.ndarray]:
    """The facts with numbers in place of expressions; those of symbols that are not the mechanism's as texts."""
    symbols = [*m.parameters.symbols.values(), *m.inputs.values(), *m.borrowed]
    expressions = {where: x for where, x in facts.found.items() if isinstance(x, ca.SX)}
    free = ca.Function("free", symbols, list(expressions.values()), {"allow_free": True})
    out: dict[str, str | np.ndarray] = {w: str(x) if isinstance(x, ca.SX) else x for w, x in facts.found.items()}
    if not expressions or free.has_free():
        return out
    random = np.random.default_rng(1717)
    drawn = [random.uniform(0.2, 1.2, (SAMPLES, x.numel())) * [[1.0], [7.0], [-3.0]] for x in symbols]
    values = [free.call([x[k] for x in drawn]) for k in range(SAMPLES)]
    return out | {where: np.array([np.array(some[i]) for some in values]) for i, where in enumerate(expressions)}
