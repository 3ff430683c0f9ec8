"""Which parameters and inputs count, where a state has its own, a call gives some, and a system has defaults.

Inputs: those that are given; those that are not named, the state's; else zero.

Parameters: those that are given; those that are not named, the state's: those it was given, or those of the system that
made it. Where another system is asked, what `with_parameters` has set in that (or all, where it was compiled anew)
counts as said since; a state that was given another value of its own contradicts it, and is refused. So is a state
whose loops close with its own parameters and not with those that count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.mechanism.values import vector_of
from dalembert.protocols import Inputs, Parameters
from dalembert.rank import row_units
from dalembert.system.state import State
from dalembert.system.vectors import filled, listed

if TYPE_CHECKING:
    from dalembert.system.system import System

OPEN = 1e-5  # rad, or lengths of the mechanism: more is no rounding, and no start of a simulation


def parameters_at(system: System, x: State, p: Parameters, search: bool) -> np.ndarray:
    """Those that count at a state, (np,): the state's own array where they are.

    search: whether the state is only where a search begins: then it may be of other parameters.
    """
    own, before = (_carried(system, x, y) for y in (x.p if x.p is not None else x._defaults, x._defaults))
    defaults = system.arguments.defaults
    given = np.full(len(own), np.nan) if p is None else _given(system, p)
    found = np.where(np.isnan(given), own, given)
    changed = system.arguments.changed if x.layout is system.layout else np.ones(len(own), dtype=bool)
    if changed is not None and x._defaults is not None:
        newer = changed & np.isnan(given) & (own != defaults) & (before != defaults)
        if not search and (newer & (own != before)).any():
            raise ArgumentError(
                f"the state was made with {_told(system, own, newer)}, and the system asked has "
                f"{_told(system, defaults, newer)}; say which with p=, or take state.replace(p=...)."
            )
        found[newer] = defaults[newer]
    if (found == own).all():
        return own
    if not search and x.p is not None:
        _check_closed(system, x, found, own)
    return found


def inputs_at(system: System, x: State, u: Inputs) -> Inputs:
    """Those that count at a state with inputs of its own."""
    assert x.u is not None
    if u is not None and not isinstance(u, Mapping):
        return u
    own = x.u
    if x.layout is not system.layout:
        sizes = {name: np.zeros(n) for name, n in system.arguments.input_sizes.items()}
        theirs = _split(own, {name: u.numel() for name, u in x.layout.mechanism.inputs.items()})
        own = vector_of({**sizes, **{name: value for name, value in theirs.items() if name in sizes}})
    return own if u is None else vector_of(filled(u, _split(own, system.arguments.input_sizes), "input"))


def missed(system: System, x: State, p: Parameters) -> tuple[str, float]:
    """How a state misses its constraints, in words, "" where by rounding only; and its largest gap.

    Gaps of positions and velocities are in rad or lengths of the mechanism.
    """
    phi, A, b = system.evaluate("constraints", State(x.q, x.v, x.t, x.layout), p=p)
    units = row_units(system, p)
    gaps = np.abs(phi) / units, np.abs(A @ x.v + b) / units
    fast = np.abs(x.v).max(initial=0.0) / min(1.0, system.layout.length)
    for gap, limit, what in zip(gaps, (1.0, 1.0 + fast), ("position", "velocity")):
        if not gap.max() <= OPEN * limit:
            worst = int(np.argmax(gap))
            text = f"the {what} misses row '{system.rows.names[worst]}' by {gap[worst] * units[worst]:.3g}"
            return text, float(gap[worst])
    return "", float(max(gap.max() for gap in gaps))


def _check_closed(system: System, x: State, p: np.ndarray, own: np.ndarray) -> None:
    """Refuse parameters that open loops which are closed with the state's own."""
    if not system.rows.of:
        return
    open_now = missed(system, x, p)[0]
    if open_now and not missed(system, x, own)[0]:
        raise ArgumentError(
            f"the state was made with {_told(system, own, p != own)}, and is asked with {_told(system, p, p != own)}, "
            f"where its loops are open: {open_now}. Leave out p=, or assemble it again with "
            "system.assemble(..., guess=state, p=...); state.replace(p=...) keeps the positions all the same."
        )


def _told(system: System, p: np.ndarray, which: np.ndarray) -> str:
    shown = [f"{name} = {value:.6g}" for name, value, of in zip(system.p_names, p.tolist(), which) if of]
    return ", ".join(shown[:4]) + (", …" if len(shown) > 4 else "")


def _given(system: System, p: Parameters) -> np.ndarray:
    """(np,) parameters given by name or as an array; NaN where none is."""
    if not isinstance(p, Mapping):
        return listed(p, system.p_names, "the array of parameters")
    return vector_of(filled(p, {name: np.full(len(x), np.nan) for name, x in system.parameters.items()}, "parameter"))


def _carried(system: System, x: State, p: np.ndarray | None) -> np.ndarray:
    """Parameters of a state in the order of a system: one of an equal mechanism, or a phase, may have others."""
    if p is None:
        return system.arguments.defaults
    if x.layout is system.layout and len(p) == len(system.arguments.defaults):
        return p
    theirs = _split(p, {name: len(value) for name, value in x.layout.mechanism.parameters.values.items()})
    return vector_of({**system.parameters, **{n: value for n, value in theirs.items() if n in system.parameters}})


def _split(x: np.ndarray, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    """A vector as values by name."""
    ends = np.cumsum([0, *sizes.values()])
    return {name: x[a:b] for name, a, b in zip(sizes, ends, ends[1:])}
