"""The part of JSON Schema that the shipped schema uses, in a few lines, so that tests need no library for it."""

from typing import Any
from urllib.parse import unquote

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {
    "$schema", "$id", "$defs", "$ref", "title", "description", "type", "properties", "required", "additionalProperties",
    "items", "minItems", "maxItems", "minLength", "minProperties", "minimum", "enum", "const", "anyOf",
}  # fmt: skip


def is_type(x: Any, name: str) -> bool:
    if name in ("number", "integer"):
        return isinstance(x, int if name == "integer" else (int, float)) and not isinstance(x, bool)
    return isinstance(x, TYPES[name])


def valid(x: Any, schema: dict, root: dict) -> bool:
    """Whether data satisfies a schema."""
    assert set(schema) <= KNOWN, set(schema) - KNOWN
    if "$ref" in schema and not valid(x, root["$defs"][unquote(schema["$ref"].removeprefix("#/$defs/"))], root):
        return False
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(is_type(x, t) for t in types):
        return False
    if "const" in schema and x != schema["const"]:
        return False
    if "enum" in schema and x not in schema["enum"]:
        return False
    if "anyOf" in schema and not any(valid(x, s, root) for s in schema["anyOf"]):
        return False
    if isinstance(x, str) and len(x) < schema.get("minLength", 0):
        return False
    if "minimum" in schema and x < schema["minimum"]:
        return False
    if isinstance(x, list):
        if not schema.get("minItems", 0) <= len(x) <= schema.get("maxItems", len(x)):
            return False
        return all(valid(e, schema.get("items", {}), root) for e in x)
    if isinstance(x, dict):
        if any(key not in x for key in schema.get("required", ())) or len(x) < schema.get("minProperties", 0):
            return False
        own, other = schema.get("properties", {}), schema.get("additionalProperties", {})
        for key, value in x.items():
            rule = own.get(key, other)
            if rule is False or not valid(value, rule, root):
                return False
    return True
