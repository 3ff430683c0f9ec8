"""modelDescription.xml and buildDescription.xml of an FMU of version 3.0."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

from dalembert.export.contents import Contents
from dalembert.export.variables import Variable, unit_definitions, variables


def model_description_3(c: Contents, token: str, tolerances: tuple[float, float]) -> str:
    """The whole document."""
    s, known, t = c.system, variables(c, tolerances), float(c.start.t)
    outputs = [v for v in known if v.causality == "output"]
    states = [v for v in known if v.name.startswith("state.")]
    slopes = [v for v in known if v.derivative is not None]
    inputs = [v.reference for v in known if v.causality == "input"]
    given = [v.reference for v in known if v.name.startswith("p.")]
    starts = [v.reference for v in outputs if v.initial == "exact"]

    def depends(kind: str, v: Variable, early: bool = False) -> str:
        if c.exchanged:  # on everything
            return f'    <{kind} valueReference="{v.reference}"/>'
        on = inputs if v.name.startswith("a.") else []
        on = [*starts, *on, *given] if early else on
        return f'    <{kind} valueReference="{v.reference}" dependencies="{" ".join(map(str, on))}"/>'

    early = [*(v for v in outputs if v.initial != "exact"), *states, *slopes]
    saved = 'canGetAndSetFMUState="true" canSerializeFMUState="true"'
    if c.exchanged:
        kind = f'<ModelExchange modelIdentifier="{c.prefix}" needsCompletedIntegratorStep="true" {saved}/>'
    else:
        kind = (
            f'<CoSimulation modelIdentifier="{c.prefix}" canHandleVariableCommunicationStepSize="true" {saved} '
            'providesDirectionalDerivatives="true" providesAdjointDerivatives="true"/>'
        )
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<fmiModelDescription fmiVersion="3.0" modelName={quoteattr(s.name)} instantiationToken="{token}" '
        'generationTool="dalembert" variableNamingConvention="flat">',
        f"  {kind}",
        *unit_definitions(known),
        '  <LogCategories><Category name="logStatusWarning"/><Category name="logStatusError"/></LogCategories>',
        f'  <DefaultExperiment startTime="{t!r}" stopTime="{t + 1.0!r}" tolerance="{tolerances[0]!r}"/>',
        "  <ModelVariables>",
        *map(_element, known),
        "  </ModelVariables>",
        "  <ModelStructure>",
        *(depends("Output", v) for v in outputs),
        *(depends("ContinuousStateDerivative", v) for v in slopes),
        *(depends("InitialUnknown", v, True) for v in early),
        *(f'    <EventIndicator valueReference="{v.reference}"/>' for v in known if v.name == "room"),
        "  </ModelStructure>",
        "</fmiModelDescription>",
        "",
    ]
    return "\n".join(lines)


def build_description(c: Contents) -> str:
    """How the sources are built."""
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            '<fmiBuildDescription fmiVersion="3.0">',
            f'  <BuildConfiguration modelIdentifier="{c.prefix}">',
            f'    <SourceFileSet language="C99"><SourceFile name="{c.prefix}.c"/><SourceFile name="fmi3.c"/>'
            "</SourceFileSet>",
            "  </BuildConfiguration>",
            "</fmiBuildDescription>",
            "",
        ]
    )


def _element(v: Variable) -> str:
    attributes: dict[str, object] = {
        "name": v.name, "valueReference": v.reference, "causality": v.causality, "variability": v.variability,
        "description": v.text, "initial": v.initial, "unit": v.unit,
        "start": None if v.start is None else repr(v.start), "derivative": v.derivative,
    }  # fmt: skip
    return "    <Float64 " + " ".join(f"{k}={quoteattr(str(x))}" for k, x in attributes.items() if x is not None) + "/>"
