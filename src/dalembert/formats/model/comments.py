"""Saving over a file that a person wrote: what did not change stays as it stands there, comments and all."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.errors import DalembertError, MissingExtra, extra
from dalembert.formats import yaml
from dalembert.formats.data import MAX_BYTES
from dalembert.formats.model.reader import read_text
from dalembert.formats.xml import contents

if TYPE_CHECKING:
    from dalembert.mechanism.mechanism import Mechanism

Data = dict[str, Any]


def kept(path: Path, mechanism: Mechanism, new: Data, plain: str, data_of: Any) -> str:
    """The text of the file at `path` with what changed put in; `plain` where there is no model of the same name.

    new: the data of the mechanism; data_of: what makes data of a mechanism. Whatever text comes of it is read again,
    and taken only if it says the same as `plain`.
    """
    if not path.is_file():
        return plain
    try:
        text = yaml.decoded(contents(path, str(path), MAX_BYTES), str(path))
        before = read_text(text, file=str(path))
        if before.name != mechanism.name:
            return plain
        old = data_of(before)
        for fine in (True, False):
            merged = _merged(text, old, new, fine)
            if merged is not None and _says(merged, data_of) == json.dumps(new):
                return merged
    except (DalembertError, MissingExtra):
        pass
    return plain


def _says(text: str, data_of: Any) -> str | None:
    """All that a text says, in order."""
    try:
        return json.dumps(data_of(read_text(text)))
    except DalembertError:
        return None


def _merged(text: str, old: Data, new: Data, fine: bool) -> str | None:
    """The text with elements that differ changed; fine: key by key, else whole."""
    ruamel = extra("ruamel.yaml", "yaml", "keeping comments")
    door = ruamel.YAML(typ="rt", pure=True)
    door.preserve_quotes, door.width = True, 2**16
    door.indent(mapping=2, sequence=4, offset=2)
    try:
        document = door.load(text)
        for section in [key for key in document if key in old and key not in new]:
            del document[section]
        for section, value in new.items():
            if section in document and old.get(section) == value:
                continue
            if section in document and isinstance(value, dict) and isinstance(old.get(section), dict):
                _update(document[section], old[section], value, 1 if fine else 0, ruamel)
            else:
                document[section] = _flow(value, ruamel)
        out = io.StringIO()
        door.dump(document, out)
        return out.getvalue()
    except (ruamel.error.YAMLError, AttributeError, TypeError, ValueError, LookupError, AssertionError):
        return None  # a text that ruamel's other half does not take


def _update(node: Any, old: Data, new: Data, depth: int, ruamel: Any) -> None:
    """Change what differs, `depth` levels of keys further down."""
    for key in [k for k in node if k not in new]:
        del node[key]
    for key, value in new.items():
        if key in node and key in old and old[key] == value:
            continue
        if depth and key in node and isinstance(value, dict) and isinstance(old.get(key), dict):
            _update(node[key], old[key], value, depth - 1, ruamel)
        else:
            node[key] = _flow(value, ruamel)


def _flow(value: Any, ruamel: Any) -> Any:
    """A value as ruamel writes it on one line where it is a list."""
    if isinstance(value, list):
        seq = ruamel.comments.CommentedSeq([_flow(v, ruamel) for v in value])
        seq.fa.set_flow_style()
        return seq
    if isinstance(value, dict):
        return ruamel.comments.CommentedMap({k: _flow(v, ruamel) for k, v in value.items()})
    return value
