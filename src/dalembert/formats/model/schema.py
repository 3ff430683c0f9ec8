"""The JSON Schema of the format, for editors: made of the same words that the reader knows."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from dalembert.formats.model import vocabulary as words
from dalembert.formats.model.vocabulary import Keys
from dalembert.mechanism.curves import BEYOND
from dalembert.mechanism.motions import ENDS
from dalembert.mechanism.outlines import CORES
from dalembert.mechanism.shapes import SIZES

Schema = dict[str, Any]


def schema() -> Schema:
    """The JSON Schema (draft 2020-12) of model files, as it is shipped with the library.

    >>> from dalembert.formats.model import schema
    >>> schema()["title"]
    'dalembert model'
    """
    text = files("dalembert.formats.model").joinpath(words.SCHEMA_NAME).read_text(encoding="utf-8")
    return json.loads(text)


def made() -> Schema:
    """The schema made anew; what is shipped must equal it."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": words.SCHEMA_NAME,
        "title": "dalembert model",
        "description": "A mechanism: bodies, joints, constraints, forces. Numbers are in SI units, or expressions.",
        **_table(words.MODEL),
        "$defs": _definitions(),
    }


def _definitions() -> Schema:
    number, text, value = {"type": "number"}, {"type": "string", "minLength": 1}, _ref("value")
    two, three, six = ({"minItems": n, "maxItems": n} for n in (2, 3, 6))
    numbers = {"type": "array", "items": number}
    return {
        "version": {"const": words.VERSION, "description": "The version of the format."},
        "units": {"const": "SI", "description": "kg, m, s, rad, N."},
        "text": text,
        "flag": {"type": "boolean"},
        "number": number,
        "numbers": numbers,
        "value": {
            "type": ["number", "string"],
            "description": "A number or an expression such as 2*k, -c*v(A), sin(t), position(tip).x.",
        },
        "values": {"anyOf": [value, {"type": "array", "items": value}]},
        "vector": {"type": "array", "items": value, **three},
        "curve": _table(words.CURVE),
        "beyond": {"enum": list(BEYOND)},
        "law": {"anyOf": [value, _ref("curve")]},
        "laws or rows": {
            "anyOf": [
                {"type": "array", "items": x, **six} for x in (_ref("law"), {"type": "array", "items": value, **six})
            ]
        },
        "pair": {"type": "array", "items": value, "minItems": 2, "maxItems": 2},
        "values by name": {"type": "object", "additionalProperties": value, "minProperties": 1},
        "numbers by name": {
            "type": "object",
            "additionalProperties": {"anyOf": [value, {"type": "array", "items": value}]},
            "description": "Numbers, or expressions of numbers, as pi/6 or 30deg.",
        },
        "parameters": {"type": "object", "additionalProperties": {"anyOf": [number, {**numbers, "minItems": 1}]}},
        "inputs": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
        "let": {
            "type": "object",
            "additionalProperties": value,
            "description": "Names for parts of expressions, each of the ones before it.",
        },
        "letter": {"enum": ["x", "y", "z"]},
        "axes": {"enum": ["world", "body"]},
        "axis": {"anyOf": [{"enum": ["x", "y", "z", "-x", "-y", "-z"]}, _ref("vector")]},
        "axis or points": {"anyOf": [_ref("axis"), {"type": "array", "items": _ref("point"), **two}]},
        "point": {"anyOf": [{**text, "description": "A point of the drawing."}, _ref("coordinates")]},
        "points": _named(_ref("coordinates")),
        "places in drawing": {"type": "array", "items": _ref("point"), "minItems": 2},
        "coordinates": {"type": "array", "items": value, "minItems": 2, "maxItems": 3},
        "inertia": {
            "anyOf": [
                _ref("vector"),
                {"type": "array", "items": _ref("vector"), **three},
                *(_table({f"{solid}!": f"solid {solid}"}) for solid in words.SOLIDS),
            ]
        },
        **{f"solid {solid}": _table(keys) for solid, keys in words.SOLIDS.items()},
        "rotation": {
            "anyOf": [
                {"type": "array", "items": _ref("vector"), **three},
                _ref("turn"),
                {"type": "array", "items": _ref("turn"), "minItems": 1},
                _table(words.QUATERNION),
            ]
        },
        "turn": _table(words.TURN),
        "place": {"anyOf": [{**text, "description": "A body or a frame."}, _table(words.PLACE)]},
        "places": {"type": "array", "items": _ref("place"), "minItems": 2},
        "path": {"type": "array", "items": {"anyOf": [_ref("place"), _table(words.PULLEY)]}, "minItems": 2},
        "wheels": {"type": "array", "items": _table(words.WHEEL)},
        "two places": {"type": "array", "items": _ref("place"), **two},
        "local frames": {"type": "object", "additionalProperties": _table(words.PLACE)},
        "limits": {
            "type": "array",
            "items": {
                "anyOf": [
                    {"type": ["number", "null"]},
                    {"type": "array", "items": {"type": ["number", "null"]}, "minItems": 2, "maxItems": 2},
                ]
            },
        },
        "stroke": {"type": "array", "items": {"anyOf": [value, {"type": "null"}]}, **two},
        "frictions": {"anyOf": [law := {"anyOf": [number, _table(words.FRICTION)]}, {"type": "array", "items": law}]},
        "stops": {"anyOf": [{"const": "rigid"}, _table(words.STOPS)]},
        "motion": {"anyOf": [value, _table(words.TABLE)]},
        "motion of a point": {"anyOf": [_ref("vector"), _table(words.TABLE)]},
        "table": {"type": "array", "items": {"anyOf": [number, numbers]}, "minItems": 2},
        "ends": {"enum": list(ENDS)},
        "shape kind": {"enum": list(SIZES)},
        "size": {"anyOf": [value, {"type": "array", "items": value}]},
        "outline of a contact": _table(words.OUTLINE),
        "kind of outline": {"enum": list(CORES)},
        "solid kind": {"enum": list(words.WEIGHED_KINDS)},
        "outline": {"type": "array", "items": {"type": "array", "items": value, **two}, "minItems": 3},
        "solids": {"type": "array", "items": _table(words.WEIGHED), "minItems": 1},
        "shapes": {"type": "array", "items": _table(words.SHAPE)},
        "colliders": {"type": "array", "items": _table(words.COLLIDER)},
        "rule of a pair": {"enum": ["least", "greatest"]},
        "bits": {"type": "integer", "minimum": 0},
        "labels": {"type": "array", "items": _ref("text")},
        "joint type": {"enum": list(words.JOINTS)},
        "bodies": {**_named(_table(words.BODY)), "properties": {"ground": _table(words.GROUND)}},
        "frames": _named(_table(words.FRAME)),
        "joints": _named(
            {
                "anyOf": [
                    _table({**own, **_sides(sides)}, type=kind)
                    for kind, own in words.JOINTS.items()
                    for sides in (("parent", "child"), ("between",))
                ]
            }
        ),
        "forces": _named(_kinds({kind: {**own, **words.LOCAL} for kind, own in words.FORCES.items()})),
        "constraints": _named(
            {
                "anyOf": [
                    *(
                        _table({**own, **words.LOCAL}, type=kind)
                        for kind, own in words.CONSTRAINTS.items()
                        if kind != "loop"
                    ),
                    *(
                        _table({**own, **words.CONSTRAINTS["loop"], **words.LOCAL}, type="loop", joint=joint)
                        for joint, own in words.JOINTS.items()
                        if joint != "free"
                    ),
                ]
            }
        ),
        "contacts": _named(_kinds({kind: {**own, **words.LOCAL} for kind, own in words.CONTACTS.items()})),
        "states": _named(_table(words.STATE)),
    }


def _sides(sides: tuple[str, ...]) -> Keys:
    """The keys of a joint that says what it joins by some of them."""
    ways = {"parent", "child", "between"}
    return {f"{k}!" if k in sides else k: what for k, what in words.ATTACHMENT.items() if k in sides or k not in ways}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name.replace(' ', '%20')}"}


def _table(keys: Keys, **fixed: str) -> Schema:
    """A mapping with these keys; some have one fixed text."""
    needed = [*fixed, *(k for k in words.required(keys) if k not in fixed)]
    return {
        "type": "object",
        "properties": {
            **{key: {"const": text} for key, text in fixed.items()},
            **{key.rstrip("!"): _ref(what) for key, what in keys.items() if key.rstrip("!") not in fixed},
        },
        **({"required": needed} if needed else {}),
        "additionalProperties": False,
    }


def _named(schema: Schema) -> Schema:
    return {"type": "object", "additionalProperties": schema}


def _kinds(kinds: dict[str, Keys]) -> Schema:
    return {"anyOf": [_table(keys, type=kind) for kind, keys in kinds.items()]}


def write() -> None:
    """Write the shipped file anew, after the words of the format have changed."""
    path = files("dalembert.formats.model").joinpath(words.SCHEMA_NAME)
    with open(str(path), "w", encoding="utf-8") as file:
        file.write(json.dumps(made(), indent=1, ensure_ascii=False) + "\n")
