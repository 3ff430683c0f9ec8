"""Files beside an export that show its use: a program for a computer, one for a controller, and CMake's list."""

from __future__ import annotations

from dalembert.export.contents import Contents
from dalembert.export.source import flags, prefixed
from dalembert.export.templating import decided, filled, template


def main_text(c: Contents) -> str:
    """A program that prints a second of motion as CSV."""
    return _text(c, "main.c")


def realtime_text(c: Contents) -> str:
    """One cycle of a controller, as an interrupt of a timer calls it: static memory, no library but libm."""
    return _text(c, "realtime.c")


def cmake_text(c: Contents) -> str:
    """A list for CMake: a library and the program."""
    return prefixed(c, template("CMakeLists.txt")).replace("PREFIX", c.prefix)


def _text(c: Contents, name: str) -> str:
    task = next((law for law in c.laws if law.task), None)
    lqr = next((law for law in c.laws if not law.task), None)
    own = {"HAS_LQR": lqr is not None, "HAS_TASK_LAW": task is not None and lqr is None, "HAS_ACTIVE": bool(c.active)}
    own["HAS_HOLD"] = not c.laws and c.has("input_matrix")
    own["HAS_PLANT"] = not c.laws and not c.has("input_matrix")
    words = {
        "FORMAT": "%.9g" if c.single else "%.17g", "ROOM_NU": str(max(1, len(c.system.u_names))),
        "ACTIVE_PLACES_Q": ", ".join(str(k) for _, k, _ in c.active),
        "ACTIVE_PLACES_V": ", ".join(str(k) for _, _, k in c.active),
        "LAW_COUNT": str(len(task.coordinates)) if task else "1",
        "COLUMNS": ",".join(["t", *c.system.q_names, *(f"{n} rate" for n in c.system.v_names)]).replace('"', ""),
    }  # fmt: skip
    text = decided(template(name), {**flags(c), **own})
    law = lqr or task
    text = filled(text, words).replace("mechanism_LAW", f"mechanism_{law.name}" if law else "")
    if c.single:
        text = (
            text.replace("0.001;", "0.001F;")
            .replace("0.001,", "0.001F,")
            .replace(" 0.0;", " 0.0F;")
            .replace("{0.0}", "{0.0F}")
        )
    return prefixed(c, text).replace("PREFIX.h", f"{c.prefix}.h")
