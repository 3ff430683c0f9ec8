"""The header of an export: names, sizes, structs and declarations, each with what it does."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.export.contents import Contents
from dalembert.export.names import identifiers
from dalembert.export.source import ATTEMPTS, flags, prefixed
from dalembert.export.templating import decided, filled, template


def header_text(c: Contents, work: int) -> str:
    """The header; work: numbers of workspace that the kernels need."""
    s = c.system
    rows, inputs = len(s.rows.of), len(s.u_names)
    room = max([rows, s.nv, s.nq, inputs, 2, *(len(law.coordinates) for law in c.laws)])
    sizes = {
        "NQ": s.nq, "NV": s.nv, "NU": inputs, "NP": len(s.p_names), "ROWS": rows,
        "HOLONOMIC": int(s.rows.holonomic.sum()) if rows else 0, "RANK": c.rank, "ATTEMPTS": ATTEMPTS,
    }  # fmt: skip
    listed = {
        "Q": (s.q_names, "coordinates, in q"),
        "V": (s.v_names, "velocities, in v"),
        "U": (s.u_names, "inputs, in u"),
        "ROW": ([*s.row_names] if rows else [], "rows of the constraints, in phi and lambda"),
        "FRAME": (c.frames, "frames: poses[12 i] the rotation row by row and the place, twists[6 i]"),
        "Y": (c.outputs, "outputs, in y"),
        "X": (c.states, "states of the linear model"),
        "ACTIVE": ([name for name, _, _ in c.active], "active coordinates"),
    }
    if c.frames:
        sizes["FRAMES"] = len(c.frames)
    if c.outputs:
        sizes["NY"] = len(c.outputs)
    if c.states:
        sizes["NX"] = len(c.states)
    if c.active:
        sizes["ACTIVE"] = len(c.active)
    if c.has("adjoint"):
        sizes["GRADIENT"] = s.nq + s.nv + inputs + len(s.p_names)
    if c.exchanged:
        sizes |= {"FREE_Q": c.free[0], "FREE_V": c.free[1], "STATES": sum(c.free)}
    members = identifiers(s.p_names)
    text = filled(
        decided(template("header.h"), flags(c)),
        {
            "TITLE": s.name.replace("*/", "* /"),
            "REAL": "float" if c.single else "double",
            "SIZES": ",\n    ".join(f"MECHANISM_{key} = {n}" for key, n in sizes.items()),
            "NAMES": "\n".join(_enum(key, names, what) for key, (names, what) in listed.items() if names),
            "MEMBERS": "\n".join(f"    mechanism_real {m};" for m in members)
            or "    mechanism_real none; /* there is none */",
            "ROOM_KERNEL": str(max(1, work)),
            "ROOM_ROWS": str(max(1, rows)),
            "ROOM_NU": str(max(1, inputs)),
            "ROOM_POWERS": str(max(1, len(s.work_names))),
            "ROOM": str(room),
            "ROOM_TASK": str(max([1, *(len(law.coordinates) for law in c.laws)])),
            "LAWS": "\n".join(_law(law.name, law.task, law.coordinates) for law in c.laws),
        },
    )
    return prefixed(c, text)


def _enum(key: str, names: Sequence[str], what: str) -> str:
    lines = [
        f"    MECHANISM_{key}_{short.upper()} = {k}{',' if k + 1 < len(names) else ''}"
        + (f" /* {name.replace('*/', '* /')} */" if short != name else "")
        for k, (name, short) in enumerate(zip(names, identifiers(names)))
    ]
    return "\n".join([f"/* {what} */", "enum {", *lines, "};"])


def _law(name: str, task: bool, coordinates: Sequence[str]) -> str:
    words = {"LAW_NAME": name, "LISTED": ", ".join(coordinates).replace("*/", "* /")}
    text = decided(template("laws.h"), {"LAW_TASK": task, "LAW_LQR": not task})
    return filled(text.replace("mechanism_LAW_NAME", f"mechanism_{name}"), words).rstrip()
