"""Regulators and estimators as JSON, for controllers outside Python: gains beside the names they belong to."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from dalembert import checks
from dalembert.disk.atomic import replacing
from dalembert.errors import FileError
from dalembert.linearization.model import LinearModel


def write_law(path: str | os.PathLike[str], kind: str, model: LinearModel, gains: Mapping[str, Any]) -> None:
    """Write a law: what it is, its names, where it holds, and its gains."""
    place, op = checks.path(path, "path"), model.operating
    x, system = op.state, op.system
    law = {
        "kind": kind,
        "system": system.name,
        "states": list(model.state_names),
        "inputs": list(model.input_names),
        "outputs": list(model.output_names),
        "step": model.step,  # s; null where the law is one of continuous time
        "q": dict(zip(system.q_names, x.q.tolist())),
        "v": dict(zip(system.v_names, x.v.tolist())),
        "u": dict(zip(system.u_names, op.u.tolist())),
        **gains,
    }
    if model.reduction is not None:
        law |= {"reduced_from": list(model.reduction.names), "project": model.reduction.project.tolist()}
    try:
        with replacing(place) as temporary:
            temporary.write_text(json.dumps(law, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise FileError(f"'{place}' cannot be written: {error.strerror}.") from error
