"""Units of a dataset, as factors to SI."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.errors import ModelFileError
from dalembert.formats.adams.statements import Statement
from dalembert.formats.xml import shown

KNOWN = {
    "LENGTH": {
        "METER": 1.0, "CENTIMETER": 0.01, "MILLIMETER": 0.001, "KILOMETER": 1000.0, "INCH": 0.0254, "FOOT": 0.3048,
        "MILE": 1609.344,
    },
    "MASS": {
        "KILOGRAM": 1.0, "GRAM": 0.001, "POUND_MASS": 0.45359237, "OUNCE_MASS": 0.028349523125,
        "KPOUND_MASS": 453.59237,        "SLUG": 14.593902937206364, "MEGAGRAM": 1000.0, "TONNE": 1000.0,
    },
    "TIME": {"SECOND": 1.0, "MILLISECOND": 0.001, "MINUTE": 60.0, "HOUR": 3600.0},
    "FORCE": {
        "NEWTON": 1.0, "KNEWTON": 1000.0, "KILOGRAM_FORCE": 9.80665, "DYNE": 1e-5, "POUND_FORCE": 4.4482216152605,
        "KPOUND_FORCE": 4448.2216152605, "OUNCE_FORCE": 0.27801385095378125,
    },
}  # fmt: skip
SYSTEMS = {
    "MKS": ("METER", "KILOGRAM", "SECOND", "NEWTON"), "CGS": ("CENTIMETER", "GRAM", "SECOND", "DYNE"),
    "IPS": ("INCH", "POUND_MASS", "SECOND", "POUND_FORCE"), "MMKS": ("MILLIMETER", "KILOGRAM", "SECOND", "NEWTON"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Units:
    """Factors by which numbers of the file become SI."""

    length: float
    mass: float
    time: float
    force: float

    @property
    def acceleration(self) -> float:
        """That of accelerations."""
        return self.length / self.time**2

    @classmethod
    def of(cls, e: Statement | None, file: str) -> Units:
        """Those of a UNITS statement, which must be there."""
        if e is None:
            raise ModelFileError("has no UNITS; needed: FORCE, MASS, LENGTH and TIME, or SYSTEM.", file)
        e.refuse_others(*KNOWN, "SYSTEM")
        if "SYSTEM" in e.values:
            system = SYSTEMS.get(e.values["SYSTEM"].upper())
            if system is None or len(e.values) > 1:
                raise e.error(f"has SYSTEM = {shown(e.values['SYSTEM'])}; needed, alone: {', '.join(SYSTEMS)}.")
            given = dict(zip(("LENGTH", "MASS", "TIME", "FORCE"), system))
        else:
            given = {kind: e.text(kind).upper() for kind in KNOWN}
        for kind, name in given.items():
            if name not in KNOWN[kind]:
                raise e.error(f"has {kind} = {shown(name)}; needed: one of {', '.join(KNOWN[kind])}.")
        length, mass, time, force = (KNOWN[k][given[k]] for k in ("LENGTH", "MASS", "TIME", "FORCE"))
        return cls(length, mass, time, force)
