"""Kernels of a traced function y = f(x₁, x₂, …; c) and of its derivatives, each one sweep over its graph.

    value      (x₁, x₂, …, c)                          → y
    tangent    (x₁, δx₁, x₂, δx₂, …, c)                → y, f′ δx
    adjoint    (x₁, x₂, …, c, w)                       → wᵀ ∂f/∂x₁, wᵀ ∂f/∂x₂, …
    second     (x₁, δx₁, x₂, δx₂, …, c, w, δw)         → wᵀ ∂f/∂x₁, its change along (δx, δw), wᵀ ∂f/∂x₂, its change, …

A forward sweep, or a reverse one, takes two to three times the operations of f whatever the sizes (Griewank & Walther,
ch. 4), and is exact for f as it is computed, off the manifold and for quaternions that are not quite of unit length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca

from dalembert.compiler import Kernel
from dalembert.symbols import array, to_sx
from dalembert.system.rows import RowChoice
from dalembert.system.system import System
from dalembert.system.trace import Trace

#: a value of a trace: y, and what a kernel returns besides, which is not differentiated
Value = Callable[[Trace], tuple[Any, Any]]
Groups = Sequence[Sequence[str]]  # names of the arguments of which x₁, x₂, … are made


def derived_kernel(
    system: System,
    key: tuple[Any, ...],
    value: Value,
    groups: Groups,
    constants: Sequence[str],
    *,
    parts: int,
    adjoint: bool,
    lanes: int,
    rows: RowChoice = None,
) -> Kernel:
    """One of the four kernels; parts: 2 with tangents. Its one input has all arguments, its one output all results."""

    def traced(s: Trace) -> Any:
        y, beside = (to_sx(part) for part in value(s))
        x = [ca.vertcat(ca.SX(0, 1), *(s.sx[name] for name in names)) for names in groups]
        c = ca.vertcat(ca.SX(0, 1), *(s.sx[name] for name in constants))
        given, results = _swept(y, x, c, parts, adjoint)
        s.sx["given"] = ca.vertcat(*given)
        return array(ca.densify(ca.vertcat(*results, *([] if adjoint else [beside])))).reshape(-1)

    whole = ("derived", *key, tuple(map(tuple, groups)), tuple(constants), parts, adjoint)
    return system.kernels.custom(whole, ("given",), traced, rows, ("results",), lanes)


def _swept(y: ca.SX, x: list[ca.SX], c: ca.SX, parts: int, adjoint: bool) -> tuple[list[ca.SX], list[ca.SX]]:
    """Arguments and results, as the head of this file lists them."""
    all_x, dx = ca.vertcat(*x), [ca.SX.sym(f"dx{i}", part.numel()) for i, part in enumerate(x)]
    w, dw = ca.SX.sym("w", y.numel()), ca.SX.sym("dw", y.numel())
    along = ca.vertcat(*dx)
    states = [z for pair in zip(x, dx) for z in pair] if parts == 2 else list(x)
    if not adjoint:
        return [*states, c], [y, ca.jtimes(y, all_x, along)] if parts == 2 else [y]
    gradient = ca.jtimes(y, all_x, w, True)
    results = _split(gradient, x)
    if parts == 1:
        return [*states, c, w], results
    change = ca.jtimes(gradient, ca.vertcat(all_x, w), ca.vertcat(along, dw))
    return [*states, c, w, dw], [z for pair in zip(results, _split(change, x)) for z in pair]


def _split(z: ca.SX, like: list[ca.SX]) -> list[ca.SX]:
    out, at = [], 0
    for part in like:
        out.append(z[at : at + part.numel()])
        at += part.numel()
    return out
