"""Whether a file belongs to a system: by its names, its description, and numbers its equations give in some state.

The description is every number and text of the mechanism, but what it looks like (`mechanism.facts`); functions of the
user are told apart by their code, within one version of Python. The numbers are inverse dynamics, constraint residuals
and their rates at a state drawn from a fixed seed. All agree between machines to rounding. Parameters are drawn too:
their values are in the header, on their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import FileError
from dalembert.facts import is_code
from dalembert.protocols import Parameters, SystemLike
from dalembert.simulation.files.format import Header

AGREE = 1e-9  # relative
ROUNDING = 1e-14  # of the largest number of its kind: what is left of cos(π/2) in the length of a frame


def fingerprint(system: SystemLike) -> dict[str, float]:
    """{what: number}; traced and evaluated by CasADi, so nothing is compiled for it."""
    random = np.random.default_rng(2004)
    sizes = {
        "dq": system.nv,
        "v": system.nv,
        "a": system.nv,
        "u": len(system.u_names),
        "p": len(system.p_names),
        "t": 1,
    }
    known = {name: random.uniform(0.2, 1.2, size) for name, size in sizes.items()}
    known["q"] = system.state().q

    def value(name: str) -> list[np.ndarray]:
        f = system.function(name)
        outputs = f.call([known[f.name_in(k)] for k in range(f.n_in())])
        return [np.array(y, dtype=float) for y in outputs]

    known["q"] = value("plus")[0].ravel()  # with unit quaternions
    found = dict(zip((f"force {n}" for n in system.v_names), value("inverse_dynamics")[0].ravel()))
    if system.rows.of:
        phi, A, b = value("constraints")[:3]
        rates = A @ known["v"] + b.ravel()
        found |= dict(zip((f"position {n}" for n in system.row_names), phi.ravel()))
        found |= dict(zip((f"velocity {n}" for n in system.row_names), rates))
    return {name: float(x) for name, x in found.items()}


def description(system: SystemLike) -> dict[str, str | np.ndarray]:
    """{where: text or numbers} of the mechanism of a system."""
    return {**system.layout.facts, "constraints that hold": ", ".join(dict.fromkeys(system.rows.of))}


def header_of_run(
    system: SystemLike, options: Mapping[str, Any] | None = None, extra: tuple[str, ...] = (), p: Parameters = None
) -> Header:
    """The header of a run of a system with parameters p."""
    return Header(
        system.name,
        list(system.q_names),
        list(system.v_names),
        list(system.u_names),
        dict(zip(system.p_names, system.arguments.parameter_vector(p).tolist())),
        fingerprint(system),
        dict(options or {}),
        list(extra),
        {where: x if isinstance(x, str) else x.tolist() for where, x in description(system).items()},
    )


def check_system(header: Header, system: SystemLike, path: Any) -> None:
    """Raise unless the file is of this system."""
    for what, its, mine in (
        ("coordinates", header.q_names, system.q_names),
        ("velocities", header.v_names, system.v_names),
        ("inputs", header.u_names, system.u_names),
    ):
        if list(its) != list(mine):
            raise FileError(
                f"'{path}' is a run of '{header.system}' with the {what} {', '.join(its) or 'none'}; system "
                f"'{system.name}' has {', '.join(mine) or 'none'}. Load it with the system it was made with."
            )
    different = _changes(header.description, description(system))
    if different:
        where, before, now = different[0]
        raise FileError(
            f"'{path}' is a run of a system with the names of '{system.name}' but another description: {where} was "
            f"{before[:80]} and is {now[:80]}. Describe it as it was then."
        )
    other = _differences(header.fingerprint, fingerprint(system))
    if other:
        raise FileError(
            f"'{path}' is a run of a system with the names of '{system.name}' but other equations: they differ in "
            f"'{other[0]}'. A mass, length, force or constraint was changed since. Describe it as it was then."
        )


def _changes(one: Mapping[str, Any], other: Mapping[str, str | np.ndarray]) -> list[tuple[str, str, str]]:
    """(where, what it was, what it is) in two descriptions; frames by name that only one of them has do not count."""
    size: dict[str, float] = {}
    for where, x in other.items():
        if not isinstance(x, str):
            kind = where.rpartition(".")[2]
            size[kind] = max(size.get(kind, 0.0), float(np.abs(x[np.isfinite(x)]).max(initial=0.0)))
    out = []
    for where in {**one, **other}:
        was, now = one.get(where), other.get(where)
        if (was is None or now is None) and where.startswith("frame "):
            continue
        if not _agree(was, now, ROUNDING * size.get(where.rpartition(".")[2], 0.0)):
            before, after = ("not there" if x is None else str(x) for x in (was, now))
            out.append((where, before, after))
    return out


def _agree(was: Any, now: str | np.ndarray | None, rounding: float) -> bool:
    """Whether two facts are the same; code of two versions of Python is not compared."""
    if isinstance(was, str) and isinstance(now, str):
        return was == now or (is_code(was) and is_code(now) and was.split()[0] != now.split()[0])
    if was is None or now is None or isinstance(was, str) or isinstance(now, str):
        return False
    try:
        x = np.asarray(was, dtype=float)
    except (TypeError, ValueError, OverflowError):  # texts, ragged lists, whole numbers that no float holds
        return False
    return (x.shape == now.shape or x.size == now.size == 0) and bool(
        np.isclose(x.reshape(now.shape), now, rtol=AGREE, atol=rounding, equal_nan=True).all()
    )


def _differences(one: Mapping[str, float], other: Mapping[str, float]) -> list[str]:
    """Names of the numbers that differ by more than rounding, measured by the largest of their kind."""
    size: dict[str, float] = {}
    for name, x in other.items():
        kind = name.split()[0]
        size[kind] = max(size.get(kind, 0.0), abs(x) if np.isfinite(x) else 0.0)
    return [
        name
        for name in {**one, **other}
        if name not in one
        or name not in other
        or not np.isclose(one[name], other[name], rtol=AGREE, atol=AGREE * size[name.split()[0]], equal_nan=True)
    ]
