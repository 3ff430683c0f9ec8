"""modelDescription.xml of an FMU of version 2.0."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

from dalembert.export.contents import Contents
from dalembert.export.variables import Variable, unit_definitions, variables


def model_description(c: Contents, guid: str, tolerances: tuple[float, float]) -> str:
    """The whole document."""
    s, known, t = c.system, variables(c, tolerances), float(c.start.t)
    places = {v.reference: k for k, v in enumerate(known, 1)}
    states = [k for k, v in enumerate(known, 1) if v.name.startswith("state.")]
    slopes = [k for k, v in enumerate(known, 1) if v.derivative is not None]
    outputs = [k for k, v in enumerate(known, 1) if v.causality == "output"]
    nq, nv, nu = s.nq, s.nv, len(s.u_names)
    inputs = range(nq + 2 * nv + 1, nq + 2 * nv + nu + 1)
    given = range(inputs.stop, inputs.stop + len(s.p_names))
    moved = range(nq + nv + 1, nq + 2 * nv + 1)  # accelerations follow inputs at once

    def depends(k: int, early: bool) -> str:
        if c.exchanged:  # on everything
            return f'      <Unknown index="{k}"/>'
        on = [*inputs] if k in moved else []
        if early:
            on = [*range(1, nq + nv + 1), *on, *given]
        return f'      <Unknown index="{k}" dependencies="{" ".join(map(str, on))}"/>'

    early = [k for k in outputs if known[k - 1].initial != "exact"] + states + slopes
    saved = 'canGetAndSetFMUstate="true" canSerializeFMUstate="true"'
    sources = f'    <SourceFiles><File name="{c.prefix}.c"/><File name="fmi2.c"/></SourceFiles>'
    if c.exchanged:
        kind = "ModelExchange"
        abilities = f'completedIntegratorStepNotNeeded="false" {saved} providesDirectionalDerivative="false"'
    else:
        kind = "CoSimulation"
        abilities = f'canHandleVariableCommunicationStepSize="true" {saved} providesDirectionalDerivative="true"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<fmiModelDescription fmiVersion="2.0" modelName={quoteattr(s.name)} guid="{guid}" '
        f'generationTool="dalembert" variableNamingConvention="flat" numberOfEventIndicators="{int(c.charted)}">',
        f'  <{kind} modelIdentifier="{c.prefix}" {abilities}>', sources, f"  </{kind}>",
        *unit_definitions(known),
        '  <LogCategories><Category name="logStatusWarning"/><Category name="logStatusError"/></LogCategories>',
        f'  <DefaultExperiment startTime="{t!r}" stopTime="{t + 1.0!r}" tolerance="{tolerances[0]!r}"/>',
        "  <ModelVariables>",
        *(_element(v, places) for v in known),
        "  </ModelVariables>",
        "  <ModelStructure>",
        "    <Outputs>", *(depends(k, False) for k in outputs), "    </Outputs>",
        *(["    <Derivatives>", *(depends(k, False) for k in slopes), "    </Derivatives>"] if slopes else []),
        "    <InitialUnknowns>", *(depends(k, True) for k in sorted(early)), "    </InitialUnknowns>",
        "  </ModelStructure>",
        "</fmiModelDescription>",
        "",
    ]  # fmt: skip
    return "\n".join(lines)


def _element(v: Variable, places: dict[int, int]) -> str:
    """The element of a variable; places: of variables in the list, by value reference."""
    more = "" if v.initial is None else f" initial={quoteattr(v.initial)}"
    unit = "" if v.unit is None else f" unit={quoteattr(v.unit)}"
    start = "" if v.start is None else f' start="{v.start!r}"'
    derivative = "" if v.derivative is None else f' derivative="{places[v.derivative]}"'
    return (
        f'    <ScalarVariable name={quoteattr(v.name)} valueReference="{v.reference}" '
        f"causality={quoteattr(v.causality)} variability={quoteattr(v.variability)}{more} "
        f"description={quoteattr(v.text)}><Real{unit}{start}{derivative}/></ScalarVariable>"
    )
