"""The C file of an export: kernels written from their programs, and the templates around them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dalembert.compiler.c_source import CText, Dialect
from dalembert.export.contents import Contents
from dalembert.export.names import identifiers
from dalembert.export.templating import decided, filled, template
from dalembert.integrators import dop853

CORRECTIONS = 2  # Newton steps after a step of integration, as `Projection` has them
PROJECTIONS = 25  # Newton steps of a projection or of passive joints
ATTEMPTS = 30  # of one adaptive step: each at least a tenth shorter
RUNAWAY = 0.1  # of the unit of residuals: what is left of them after a step that leads back to no manifold
LONGEST = 0.5  # of the unit of residuals: a Newton step of passive joints
NEARBY = 0.1  # margin of a step that fails below which it is tried with stages on the constraints
STEEP = 1.0  # slope of the manifold over the plane of a chart, in the mass metric, from which another chart is due
ROOM_LEFT = 0.1  # of a chart, from which the next event renews it
MOST_TURN = 0.5  # rad from the base of a chart, of joints that turn in space, from which another is due
SHIFT, SHIFTS = 0.87, 12  # of a step with a stage too near to a singular position, and how often
#: by precision: rounding, ranks relative to the longest row and absolute, sine between rows for elimination, actuators
DOUBLE = {
    "part": 1e-10,
    "floor": 1e-13,
    "near": 1e-4,
    "closed": 1e-9,
    "drive": 1e-9,
    "missed": 1e-7,
    "beside": 1e-3,
    "charted": 1e-9,
}
SINGLE = {
    "part": 1e-4,
    "floor": 1e-5,
    "near": 1e-2,
    "closed": 1e-5,
    "drive": 1e-4,
    "missed": 1e-3,
    "beside": 3e-2,
    "charted": 1e-4,
}


def c_text(c: Contents) -> tuple[str, int, int]:
    """The C file, the numbers of workspace that its kernels need, and the operations of all of them."""
    dialect = Dialect(c.single)
    members = identifiers(c.system.p_names)
    written = [k.written(dialect, members) for k in c.kernels]
    head = "\n".join(
        [
            f"/* {c.system.name}: written by dalembert. See {c.prefix}.h. */",
            f'#include "{c.prefix}.h"',
            "",
            "#include <float.h>",
            "#include <math.h>",
            "#include <stddef.h>",
            "",
            "typedef mechanism_real real;",
            "",
        ]
    )
    used = ["dynamics.c", "steps.c", "inverse.c", *(["passive.c"] if c.active else [])]
    used += ["chart.c"] if c.exchanged else []
    body = [template("arithmetic.c"), template("algebra.c"), *_kernels(c, written), *map(template, used)]
    body += [_law(c, i) for i in range(len(c.laws))]
    body += [template("questions.c"), _constants(c, members)]
    text = decided("\n".join([head, *body]), flags(c))
    text = filled(text, words(c))
    return prefixed(c, text), max((w.work for w in written), default=0), sum(w.operations for w in written)


def prefixed(c: Contents, text: str) -> str:
    """A text with the mechanism's own names."""
    return filled(text, {"mechanism_": f"{c.prefix}_", "MECHANISM_": f"{c.prefix.upper()}_"})


def flags(c: Contents) -> dict[str, bool]:
    """Conditions of the templates."""
    s, rows = c.system, len(c.system.rows.of)
    return {
        "HAS_ROWS": rows > 0,
        "HAS_HOLONOMIC": rows > 0 and bool(s.rows.holonomic.any()),
        "HAS_LANDING": rows > 0 or s.nq != s.nv,
        "HAS_DENSE": c.has("equations"),
        "HAS_INPUTS": bool(s.u_names),
        "HAS_INVERSE": c.has("input_matrix"),
        "HAS_TASK": any(law.task for law in c.laws),
        "HAS_ADAPTIVE": True,
        "HAS_SINGLE": c.single,
        "HAS_FRAMES": bool(c.frames),
        "HAS_OUTPUTS": bool(c.outputs),
        "HAS_LINEAR": bool(c.states),
        "HAS_ACTIVE": bool(c.active),
        "HAS_LAWS": bool(c.laws),
        "HAS_DIRECTIONAL": c.has("directional"),
        "HAS_EXCHANGE": c.exchanged,
        "HAS_TURNS": bool(c.turns),
        "HAS_INDICATOR": c.charted,
        "HAS_PARAMETERS": bool(s.p_names),
    }


def numbers(c: Contents, values: Iterable[float]) -> str:
    """Numbers of C with commas between, some in a line."""
    texts = [Dialect(c.single).literal(float(x)) for x in values]
    return ",\n    ".join(", ".join(texts[i : i + 6]) for i in range(0, len(texts), 6))


def words(c: Contents) -> dict[str, str]:
    """Words of the templates and what they stand for."""
    s, limits = c.system, SINGLE if c.single else DOUBLE
    one = Dialect(c.single).literal
    size, near = float(c.policy.sizes.min(initial=c.policy.size)), limits["near"]
    on = np.flatnonzero(s.rows.holonomic).tolist() if s.rows.of else list[int]()
    A = np.zeros((12, 12))
    for row, below in zip(A[1:], dop853.A):
        row[: len(below)] = below
    widest = float(c.policy.units.max(initial=0.0)) or 1.0
    table = {
        "USUAL": c.policy.sizes if s.rows.of else [1.0],
        "DOP_A": A.ravel(), "DOP_B": dop853.B, "DOP_C": dop853.C, "DOP_E5": dop853.E5[:12], "DOP_E3": dop853.E3[:12],
    }  # fmt: skip
    single = {
        "SIZE_SQUARED": size**2, "LEAST_ANGLE": near**2, "LEAST_LENGTH": (near * size) ** 2,
        "RANK_PART": limits["part"], "RANK_FLOOR": limits["floor"], "CLOSED": limits["closed"] * c.gap,
        "RUNAWAY": RUNAWAY * widest, "LONGEST": LONGEST * c.gap, "PASSIVE_PART": limits["part"],
        "DRIVE_PART": limits["drive"], "DRIVE_MISSED": limits["missed"], "BESIDE": limits["beside"],
        "CHARTED": limits["charted"], "NEARBY": NEARBY,
        "STEEP": STEEP, "ROOM_LEFT": ROOM_LEFT, "MOST_TURN": MOST_TURN, "SHIFT": SHIFT,
        "COORDINATES": limits["part"] ** 2,
    }  # fmt: skip
    return {
        **{key: numbers(c, x) for key, x in table.items()},
        **{key: one(x) for key, x in single.items()},
        "HOLONOMIC": ", ".join(map(str, on)),
        "CHOSEN_HOLONOMIC": str(c.chosen),
        "ROOM_ROWS": str(max(1, len(s.rows.of))),
        "USUAL_RANK": str(c.rank),
        "CORRECTIONS": str(CORRECTIONS),
        "PROJECTIONS": str(PROJECTIONS),
        "SHIFTS": str(SHIFTS),
        "COUNT_TURNS": str(len(c.turns)),
        "TURNS": ", ".join(map(str, c.turns)),
        "ACTIVE_Q": ", ".join(str(k) for _, k, _ in c.active),
        "ACTIVE_V": ", ".join(str(k) for _, _, k in c.active),
    }


def _kernels(c: Contents, written: list[CText]) -> list[str]:
    line = "/* --- straight-line code of the equations "
    return [line + "-" * (116 - len(line)) + " */\n", *(w.text for w in written)]


def _law(c: Contents, i: int) -> str:
    law = c.laws[i]
    text = decided(template("laws.c"), {"LAW_LQR": not law.task, "LAW_TASK": law.task})
    marked = text.replace("mechanism_LAW_NAME", f"mechanism_{law.name}")
    return filled(marked, law.words(lambda values: numbers(c, values)))


def _constants(c: Contents, members: list[str]) -> str:
    """Functions that give the parameters and the start."""
    one, s = Dialect(c.single).literal, c.system
    given = [f"    p->{name} = {one(x)};" for name, x in zip(members, c.p)] or ["    p->none = NUMBER(0.0);"]
    start = [f"    x->q[{k}] = {one(x)};" for k, x in enumerate(c.start.q)]
    start += [f"    x->v[{k}] = {one(x)};" for k, x in enumerate(c.start.v)]
    return "\n".join(
        [
            "void mechanism_defaults(mechanism_parameters *p)", "{", *given, "}", "",
            "void mechanism_start(mechanism_state *x)", "{", f"    x->t = {one(s.state().t + c.start.t)};", *start, "}",
            "",
        ]
    )  # fmt: skip
