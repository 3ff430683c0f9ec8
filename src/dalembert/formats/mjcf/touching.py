"""Which geoms may touch, and with what friction, as MuJoCo's rules say; kept as data for `Mechanism.add_contacts`."""

from __future__ import annotations

from typing import Any

from dalembert.formats.mjcf.reading import Reading
from dalembert.formats.xml import Element

NO_CONTACT = 1 << 4  # the flag that switches contacts off
FRICTIONLESS = 1  # condim


def touching(r: Reading, g: int) -> dict[str, Any] | None:
    """The arguments of `Body.add_collider` for a geom; None where it touches nothing.

    Bits and friction are those of the geom; of a pair MuJoCo takes the greatest friction. Excluded bodies, and pairs,
    have labels.
    """
    model = r.model
    group, against = int(model.geom_contype[g]), int(model.geom_conaffinity[g])
    if g in r.of.replaced:  # a mesh that is not opened, whose geom is another in MuJoCo's model
        group, against = r.of.replaced[g]
    name, body = r.of.name("geom", g), int(model.geom_bodyid[g])
    together = [f"pair {k + 1}" for k, e in enumerate(_contacts(r, "pair")) if name and name in _ends(e, "geom")]
    if model.opt.disableflags & NO_CONTACT or not (group or against or together):
        return None
    called = r.of.name("body", body)
    apart = [f"exclude {k + 1}" for k, e in enumerate(_contacts(r, "exclude")) if called in _ends(e, "body")]
    friction = 0.0 if int(model.geom_condim[g]) == FRICTIONLESS else float(model.geom_friction[g, 0])
    return {
        "friction": friction,
        "combine": "greatest",
        "group": group & 0xFFFFFFFF,
        "against": against & 0xFFFFFFFF,
        "apart": apart,
        "together": together,
    }


def _contacts(r: Reading, tag: str) -> list[Element]:
    return [e for e in r.of.contacts if e.tag == tag]


def _ends(e: Element, kind: str) -> tuple[str | None, str | None]:
    return e.get(f"{kind}1"), e.get(f"{kind}2")
