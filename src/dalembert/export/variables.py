"""The variables of an FMU: names, causality, units and starts; the same for all versions of FMI."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.export.contents import Contents
from dalembert.mechanism.forces import JointForce
from dalembert.mechanism.joints import Joint

#: unit: exponents of FMI's base units
UNITS = {
    "s": {"s": 1}, "rad": {"rad": 1}, "m": {"m": 1}, "rad/s": {"rad": 1, "s": -1}, "m/s": {"m": 1, "s": -1},
    "rad/s2": {"rad": 1, "s": -2}, "m/s2": {"m": 1, "s": -2}, "N": {"kg": 1, "m": 1, "s": -2},
    "N.m": {"kg": 1, "m": 2, "s": -2},
}  # fmt: skip
AXES = ("xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz", "x", "y", "z")


@dataclass(frozen=True)
class Variable:
    """A scalar of the FMU."""

    reference: int
    name: str
    causality: str
    variability: str
    text: str
    start: float | None = None
    initial: str | None = None
    unit: str | None = None
    derivative: int | None = None  # value reference of the state whose derivative it is


def variables(c: Contents, tolerances: tuple[float, float]) -> list[Variable]:
    """All of them; value references are those of `fmu.c`."""
    s, out = c.system, list[Variable]()

    def add(name: str, causality: str, text: str, variability: str = "continuous", **more: object) -> None:
        out.append(Variable(len(out), name, causality, variability, text, **more))  # type: ignore[arg-type]

    units = _units(c)
    for n, x, unit in zip(s.q_names, c.start.q, units[0]):
        add(f"q.{n}", "output", f"coordinate {n}", start=float(x), initial="exact", unit=unit)
    for n, x, unit in zip(s.v_names, c.start.v, units[1]):
        add(f"v.{n}", "output", f"velocity {n}", start=float(x), initial="exact", unit=unit)
    for n, unit in zip(s.v_names, units[2]):
        add(f"a.{n}", "output", f"acceleration {n}", unit=unit)
    held = "" if c.exchanged else ", held between steps"
    for n, unit in zip(s.u_names, _input_units(c)):
        add(f"u.{n}", "input", f"input {n}{held}", start=0.0, unit=unit)
    for n, x in zip(s.p_names, c.p):
        add(f"p.{n}", "parameter", f"parameter {n}", "fixed", start=float(x), initial="exact")
    for n in c.outputs:
        add(f"y.{n}", "output", f"output {n}")
    for frame in c.frames:
        for axis in AXES:
            placed = len(axis) == 1
            text = f"place of {frame}, {axis}" if placed else f"rotation of {frame}, {axis}"
            add(f"frame.{frame}.{axis}", "output", text, unit="m" if placed else None)
    near = "distance of the last position from a singular one" if c.exchanged else (
        "least distance of the last step from a singular position"
    )  # fmt: skip
    add("margin", "output", f"{near}: 1 far away, 0 there", "continuous" if c.exchanged else "discrete")
    text = "steps so far in which elimination gave way to careful ones"
    add("careful", "output", text, "continuous" if c.exchanged else "discrete")
    for name, x in zip(("rtol", "atol"), tolerances):
        add(name, "parameter", "tolerance of integration", "fixed", start=x, initial="exact")
    add("time", "independent", "time", unit="s")
    if c.exchanged:
        first, count = len(out), sum(c.free)
        for k in range(count):
            what = "coordinate" if k < c.free[0] else "velocity"
            add(f"state.{k + 1}", "local", f"independent {what} of the chart that is in use", initial="calculated")
        for k in range(count):
            add(f"der(state.{k + 1})", "local", f"derivative of state.{k + 1}", derivative=first + k)
    if c.charted:
        add("room", "local", "what is left of the chart in use: 1 at its base; at 0 an event brings another")
    return [v for v in out if not (c.exchanged and v.name in ("rtol", "atol"))]


def unit_definitions(known: list[Variable]) -> list[str]:
    """Elements of the units that are used."""
    used = sorted({v.unit for v in known if v.unit})
    exponents = {u: " ".join(f'{b}="{e}"' for b, e in UNITS[u].items()) for u in used}
    lines = [f'    <Unit name="{u}"><BaseUnit {exponents[u]}/></Unit>' for u in used]
    return ["  <UnitDefinitions>", *lines, "  </UnitDefinitions>"] if used else []


def _units(c: Contents) -> tuple[list[str | None], list[str | None], list[str | None]]:
    """Of coordinates, velocities and accelerations; parts of quaternions have none."""
    s = c.system
    q: list[str | None] = [None] * s.nq
    v: list[str | None] = [None] * s.nv
    for name, a in s.layout.joints.items():
        units = ["rad" if turns else "m" for turns in a.joint.angular]
        v[s.layout.v_slice(name)] = units
        at = s.layout.q_slice(name)
        if type(a.joint).unit is Joint.unit:
            q[at] = units
        elif a.joint.nq == 7:
            q[at.start + 4 : at.start + 7] = ["m"] * 3
    return q, [u and f"{u}/s" for u in v], [u and f"{u}/s2" for u in v]


def _input_units(c: Contents) -> list[str | None]:
    """Of motors along one joint coordinate; others have none."""
    s, out = c.system, {}
    for f in s.description.forces:
        if isinstance(f, JointForce) and f.kind == "motor" and len(f.joint.joint.angular) == 1:
            out[getattr(f, "name", "")] = "N.m" if bool(np.all(f.joint.joint.angular)) else "N"
    return [out.get(n) for n in s.u_names]
