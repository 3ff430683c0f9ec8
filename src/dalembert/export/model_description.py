"""modelDescription.xml of an FMU: variables by name with units and starts, and what depends on what."""

from __future__ import annotations

from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

import numpy as np

from dalembert.export.contents import Contents
from dalembert.mechanism.forces import JointForce
from dalembert.mechanism.joints import Joint

#: unit: exponents of FMI's base units
UNITS = {
    "rad": {"rad": 1}, "m": {"m": 1}, "rad/s": {"rad": 1, "s": -1}, "m/s": {"m": 1, "s": -1},
    "rad/s2": {"rad": 1, "s": -2}, "m/s2": {"m": 1, "s": -2}, "N": {"kg": 1, "m": 1, "s": -2},
    "N.m": {"kg": 1, "m": 2, "s": -2},
}  # fmt: skip
AXES = ("xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz", "x", "y", "z")


@dataclass(frozen=True)
class Variable:
    """A scalar of the FMU; its value reference is its place."""

    name: str
    causality: str
    variability: str
    text: str
    start: float | None = None
    initial: str | None = None
    unit: str | None = None

    def xml(self, reference: int) -> str:
        """Its element."""
        more = "" if self.initial is None else f" initial={quoteattr(self.initial)}"
        unit = "" if self.unit is None else f" unit={quoteattr(self.unit)}"
        start = "" if self.start is None else f' start="{self.start!r}"'
        return (
            f'    <ScalarVariable name={quoteattr(self.name)} valueReference="{reference}" '
            f"causality={quoteattr(self.causality)} variability={quoteattr(self.variability)}{more} "
            f"description={quoteattr(self.text)}><Real{unit}{start}/></ScalarVariable>"
        )


def variables(c: Contents, tolerances: tuple[float, float]) -> list[Variable]:
    """All of them, in the order of the value references."""
    s = c.system
    slopes = _units(c)
    out = [
        Variable(f"q.{n}", "output", "continuous", f"coordinate {n}", float(x), "exact", unit)
        for n, x, unit in zip(s.q_names, c.start.q, slopes[0])
    ]
    out += [
        Variable(f"v.{n}", "output", "continuous", f"velocity {n}", float(x), "exact", unit)
        for n, x, unit in zip(s.v_names, c.start.v, slopes[1])
    ]
    out += [
        Variable(f"a.{n}", "output", "continuous", f"acceleration {n}", unit=unit)
        for n, unit in zip(s.v_names, slopes[2])
    ]
    out += [
        Variable(f"u.{n}", "input", "continuous", f"input {n}, held between steps", 0.0, unit=unit)
        for n, unit in zip(s.u_names, _input_units(c))
    ]
    out += [
        Variable(f"p.{n}", "parameter", "fixed", f"parameter {n}", float(x), "exact") for n, x in zip(s.p_names, c.p)
    ]
    out += [Variable(f"y.{n}", "output", "continuous", f"output {n}") for n in c.outputs]
    for frame in c.frames:
        for axis in AXES:
            unit = "m" if len(axis) == 1 else None
            what = f"place of {frame}, {axis}" if unit else f"rotation of {frame}, {axis}"
            out.append(Variable(f"frame.{frame}.{axis}", "output", "continuous", what, unit=unit))
    text = "least distance of the last step from a singular position: 1 far away, 0 there"
    out.append(Variable("margin", "output", "discrete", text))
    out.append(Variable("careful", "output", "discrete", "steps so far in which elimination gave way to careful ones"))
    for name, x in zip(("rtol", "atol"), tolerances):
        out.append(Variable(name, "parameter", "fixed", "tolerance of integration", x, "exact"))
    return out


def model_description(c: Contents, guid: str, tolerances: tuple[float, float]) -> str:
    """The whole document."""
    s, known, t = c.system, variables(c, tolerances), float(c.start.t)
    outputs = [k for k, v in enumerate(known, 1) if v.causality == "output"]
    nq, nv, nu = s.nq, s.nv, len(s.u_names)
    inputs = range(nq + 2 * nv + 1, nq + 2 * nv + nu + 1)
    given = range(inputs.stop, inputs.stop + len(s.p_names))
    moved = range(nq + nv + 1, nq + 2 * nv + 1)  # accelerations follow inputs at once

    def depends(k: int, early: bool) -> str:
        on = [*inputs] if k in moved else []
        if early:
            on = [*range(1, nq + nv + 1), *on, *given]
        return f'      <Unknown index="{k}" dependencies="{" ".join(map(str, on))}"/>'

    early = [k for k in outputs if known[k - 1].initial != "exact"]
    exponents = {u: " ".join(f'{b}="{e}"' for b, e in UNITS[u].items()) for u in UNITS}
    used = sorted({v.unit for v in known if v.unit})
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<fmiModelDescription fmiVersion="2.0" modelName={quoteattr(s.name)} guid="{guid}" '
        'generationTool="dalembert" variableNamingConvention="flat">',
        f'  <CoSimulation modelIdentifier="{c.prefix}" canHandleVariableCommunicationStepSize="true" '
        'canGetAndSetFMUstate="true" canSerializeFMUstate="true" providesDirectionalDerivative="true">',
        f'    <SourceFiles><File name="{c.prefix}.c"/><File name="fmi2.c"/></SourceFiles>',
        "  </CoSimulation>",
        *(["  <UnitDefinitions>"] if used else []),
        *(f'    <Unit name="{u}"><BaseUnit {exponents[u]}/></Unit>' for u in used),
        *(["  </UnitDefinitions>"] if used else []),
        '  <LogCategories><Category name="logStatusWarning"/><Category name="logStatusError"/></LogCategories>',
        f'  <DefaultExperiment startTime="{t!r}" stopTime="{t + 1.0!r}" tolerance="{tolerances[0]!r}"/>',
        "  <ModelVariables>",
        *(v.xml(k) for k, v in enumerate(known)),
        "  </ModelVariables>",
        "  <ModelStructure>",
        "    <Outputs>", *(depends(k, False) for k in outputs), "    </Outputs>",
        "    <InitialUnknowns>", *(depends(k, True) for k in early), "    </InitialUnknowns>",
        "  </ModelStructure>",
        "</fmiModelDescription>",
        "",
    ]  # fmt: skip
    return "\n".join(lines)


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
