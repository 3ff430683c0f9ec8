"""Derivatives of eigenvalues and modes of a linear model.

    ∂λ = w ∂A x / (w x),   ∂x = Σ_j (w_j ∂A x) / ((λ − λ_j) (w_j x_j)) x_j + c x         w: left, x: right eigenvectors

A changes with the parameters themselves and with the state that follows them. Its traced formulas are differentiated
in one direction for each parameter, (∂q, ∂v, ∂θ) together.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError
from dalembert.linearization.model import LinearModel
from dalembert.linearization.traced import linear
from dalembert.sensitivity.equations import SensitivityEquations, checked
from dalembert.sensitivity.following import following, held_names
from dalembert.sensitivity.result import Sensitivities
from dalembert.sensitivity.targets import Targets
from dalembert.symbols import array, symbols, to_sx
from dalembert.system.trace import Trace

KINDS = ("eigenvalue", "frequency", "damping", "mode")
APART = 1e-6  # of the largest eigenvalue: nearer ones are one repeated


def of_model(model: LinearModel, of: Any, wrt: Any, held: Any) -> Sensitivities:
    """See `sensitivities`."""
    if model.step is not None:
        raise ArgumentError(f"the model is discrete, with a step of {model.step:g} s; needed: that of `linearize`.")
    op = model.operating
    if any(c.index is None for c in op.coordinates):
        raise ArgumentError("sensitivities of a model need coordinates of tree joints; see independent= of linearize.")
    targets = Targets.of(op.system, wrt)
    eq = SensitivityEquations(op.system, op.rows, targets)
    x, p = op.state, op.system.arguments.parameter_vector(op.p)
    known = eq.known(x.q[None], x.v[None], np.array([x.t]), op.u[None], p)
    own = [c.index for c in op.coordinates] if held is None else held_names(op.system, held)
    dq, dv = following(eq, [x], known, own)
    dA = _slopes(model, eq, known, dq[0], dv[0])
    values, X = np.linalg.eig(model.A)
    W = np.linalg.inv(X)
    names, found, slopes = [], [], []
    for name, kind, k in _asked(model, of):
        place = int(np.argmin(np.abs(values - model.modes[k].eigenvalue)))
        _check_single(values, place, name)
        by = np.array([W[place] @ d @ X[:, place] for d in dA])
        z = values[place]
        if kind == "mode":
            for state, y, dy in _shape(model, values, X, W, place, dA):
                names.append(f"{name}@{state}")
                found.append(y)
                slopes.append(dy)
            continue
        size, along = abs(z), (z.real * by.real + z.imag * by.imag) / max(abs(z), 1e-300)
        numbers = {
            "eigenvalue": (z if np.iscomplexobj(values) else float(z.real), by),
            "frequency": (size / (2 * np.pi), along / (2 * np.pi)),
            "damping": (
                -z.real / max(size, 1e-300),
                (-by.real + z.real / max(size, 1e-300) * along) / max(size, 1e-300),
            ),
        }
        y, dy = numbers[kind]
        names.append(name)
        found.append(y)
        slopes.append(dy)
    return Sensitivities(tuple(names), targets.names, np.array(found), np.array(slopes))


def _asked(model: LinearModel, of: Any) -> list[tuple[str, str, int]]:
    """(name, kind, number of the mode) of each item."""
    if isinstance(of, str):
        of = [of]
    if not isinstance(of, (list, tuple)):
        raise ArgumentError(f"of is {checks.shown(of)}; needed: a list of names such as 'eigenvalue:0'.")
    out = []
    for item in of:
        kind, _, number = item.partition(":") if isinstance(item, str) else ("", "", "")
        if kind not in KINDS or not number.isdecimal() or int(number) >= len(model.modes):
            raise ArgumentError(
                f"{checks.shown(item)} is no quantity of a linear model with {len(model.modes)} modes; needed: "
                f"{', '.join(f'{x}:k' for x in KINDS)} with the number k of a mode, from 0."
            )
        out.append((item, kind, int(number)))
    if not out:
        raise ArgumentError("of names no quantity; needed: at least one.")
    return out


def _check_single(values: np.ndarray, k: int, name: str) -> None:
    gaps = np.abs(np.delete(values, k) - values[k])
    if len(gaps) and gaps.min() <= APART * max(float(np.abs(values).max()), 1e-300):
        raise ArgumentError(
            f"'{name}' belongs to a repeated eigenvalue, {values[k]:.6g}: it splits as parameters change and has no "
            "derivative."
        )


def _slopes(
    model: LinearModel, eq: SensitivityEquations, known: Any, dq: np.ndarray, dv: np.ndarray
) -> list[np.ndarray]:
    """∂A of each target, in the states that the model has."""
    op, targets, system = model.operating, eq.targets, eq.system
    q, v = list(op.coordinates), list(op.speeds)

    def value(s: Trace) -> np.ndarray:
        A = to_sx(linear(s, q, v)[0])
        s.sx["dq"], d = symbols("dq", s.tree.nv)
        s.sx["dv"], _ = symbols("dv", s.tree.nv)
        s.sx["dp"], _ = symbols("dp", s.sx["p"].numel())
        s.sx["du"], _ = symbols("du", s.sx["u"].numel())
        moved = to_sx(s.per_joint(lambda j, k, i: j.rates(s.q[k], d[i])))
        x = ca.vertcat(s.sx["q"], s.sx["v"], s.sx["p"], s.sx["u"])
        along = ca.jtimes(ca.vec(A), x, ca.vertcat(moved, s.sx["dv"], s.sx["dp"], s.sx["du"]))
        checked(system, [along])
        return array(ca.densify(ca.reshape(along, *A.shape))).reshape(A.shape)

    key = ("linear_along", tuple(c.key for c in q), tuple(c.key for c in v))
    arguments = ("q", "v", "dq", "dv", "dp", "du", "u", "p", "t")
    kernel = system.kernels.custom(key, arguments, value, op.rows, ("along",))
    places = [op.names.index(name) for name in model.state_names]
    out = []
    for k in range(len(targets.names)):
        dp, du = np.zeros(len(system.p_names)), np.zeros(len(system.u_names))
        dp[[i for column, i in targets.p if column == k]] = 1.0
        du[[i for column, i in targets.u if column == k]] = 1.0
        more = {"dq": dq[:, k], "dv": dv[:, k], "dp": dp, "du": du}
        given = {name: x[0] if np.ndim(x) == 2 else x for name, x in known.items()}
        full = kernel(*({**given, **more}[name] for name in kernel.names_in))
        out.append(np.asarray(full).reshape(len(op.names), len(op.names))[np.ix_(places, places)])
    return out


def _shape(
    model: LinearModel, values: np.ndarray, X: np.ndarray, W: np.ndarray, k: int, dA: list[np.ndarray]
) -> list[tuple[str, complex, np.ndarray]]:
    """The components of a mode's shape and their derivatives; the largest position stays 1."""
    n = len([name for name in model.state_names if name in model.positions])
    x = X[:, k]
    lead = int(np.argmax(np.abs(x[:n]))) if n and np.abs(x[:n]).max() > 0 else int(np.argmax(np.abs(x)))
    shape, others = x / x[lead], [j for j in range(len(values)) if j != k]
    slopes = np.zeros((len(x), len(dA)), dtype=complex)
    for i, d in enumerate(dA):
        moved = sum((X[:, j] * (W[j] @ d @ shape) / (values[k] - values[j]) for j in others), np.zeros(len(x)) * 1j)
        slopes[:, i] = moved - moved[lead] * shape
    return [(name, complex(y), dy) for name, y, dy in zip(model.state_names, shape, slopes)]
