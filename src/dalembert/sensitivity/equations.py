"""Derivatives of the equations of motion with respect to parameters θ, traced, at many states at once.

    e₁ = M v̇ + h − Q − Aᵀλ = 0,   e₂ = A v̇ + γ = 0,   e₃ = A v + b,   Φ
    [M −Aᵀ; A 0] [∂v̇; ∂λ] = −[∂e₁; ∂e₂]                                       with v̇ and λ held on the right     (1)
    wᵀ ∂v̇ = −μᵀ ∂e₁ + νᵀ ∂e₂,   M μ = w + Aᵀν,   A μ = 0                       one reverse sweep for any θ        (2)

CasADi differentiates the recursions for the right side, a short graph with v̇ and λ as symbols; the constraints are
eliminated as for v̇ itself. Derivatives with respect to q, v and t are those of `system.derivatives`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from dalembert.compiler import Kernel
from dalembert.errors import ArgumentError
from dalembert.recursions.elimination import Elimination, TreeFactor
from dalembert.recursions.newton_euler import newton_euler
from dalembert.sensitivity.targets import Targets
from dalembert.symbols import array, symbols, to_sx, zeros
from dalembert.system.derivatives import ACCELERATION_DERIVATIVES
from dalembert.system.equation_rows import EquationRows, is_large
from dalembert.system.functions import constrained
from dalembert.system.jacobian_rows import tangent_map
from dalembert.system.rows import RowChoice
from dalembert.system.system import System
from dalembert.system.trace import Trace

LARGEST = 400_000  # operations of a traced derivative: beyond, minutes to compile
LANES = 8  # states at once, where there are many


CONTROL = ("u", "q", "v", "t", "theta")  # inputs of a controller, and their slopes
_BY = tuple(f"by_{x}" for x in CONTROL)


class Control(NamedTuple):
    """Inputs as a traced function of the state, and a key of its own."""

    key: Any
    value: Callable[[Trace], np.ndarray]  # (nu,)


class SensitivityEquations:
    """The equations of a system on some rows, with their derivatives, at N states given as arrays."""

    def __init__(
        self, system: System, rows: RowChoice, targets: Targets, many: bool = False, control: Control | None = None
    ):
        """`many`: whether states come in hundreds, so that code for several at once is worth its making.

        control: inputs as traced functions of the state; None where they are given.
        """
        self.system, self.rows, self.targets, self.control = system, rows, targets, control
        self.lanes = LANES if many and system.backend == "native" else 1
        self.used = system.rows if rows is None else system.rows.only(rows)
        self.m = len(self.used.of)
        self.holonomic = self.used.holonomic if self.m else np.zeros(0, dtype=bool)

    def known(self, q: np.ndarray, v: np.ndarray, t: np.ndarray, u: np.ndarray, p: np.ndarray) -> dict[str, Any]:
        """The arguments of kernels at N states, with the slopes of a controller's inputs."""
        out: dict[str, Any] = {"q": q, "v": v, "t": t.reshape(-1, 1), "u": u, "p": p}
        if self.control is not None:
            kernel = self._kernel("control_slopes", ("q", "v", "p", "t"), self._controlled, _BY, self.control.key)
            n, found = len(q), dict(zip(CONTROL, self.at(kernel, out)))
            out["u"] = found["u"].reshape(n, -1)
            out["control"] = {x: found[x].reshape(n, out["u"].shape[1], found[x].shape[-1]) for x in CONTROL[1:]}
        return out

    def slopes(self, known: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """v̇ and λ with their derivatives by q, v, u and t, by the names `ACCELERATION_DERIVATIVES`; N first."""
        n, nv = len(known["q"]), self.system.nv
        if is_large(self.system):
            rows = EquationRows(self.system, self.rows)
            states = ({x: known[x][k] if np.ndim(known[x]) > 1 else known[x] for x in "qvupt"} for k in range(n))
            each = [rows.solved(state).slopes for state in states]
            out = {name: np.stack([found[name] for found in each]) for name in ACCELERATION_DERIVATIVES}
        else:
            kernel = self.system.kernel("acceleration_derivatives", rows=self.rows, lanes=self.lanes)
            out = dict(zip(ACCELERATION_DERIVATIVES, self.at(kernel, known)))
        for what, size in (("vdot", nv), ("multipliers", self.m)):
            for x, width in zip("qvut", (nv, nv, len(self.system.u_names), 1)):
                out[f"{what}_{x}"] = out[f"{what}_{x}"].reshape(n, size, width)
            if self.control is not None:
                for x in "qvt":
                    out[f"{what}_{x}"] = out[f"{what}_{x}"] + out[f"{what}_u"] @ known["control"][x]
        return out

    def jacobian(self, known: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """∂v̇/∂q, ∂v̇/∂v and the margin of the elimination."""
        if self.control is not None or is_large(self.system):
            d = self.slopes(known)
            return d["vdot_q"], d["vdot_v"], d["margin"]
        return self.at(self.system.kernel("ode_jacobian", rows=self.rows, lanes=self.lanes), known)

    def by_targets(self, known: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """∂/∂θ of v̇ and λ; N first, the columns those of `Targets.traced`."""
        names, n, k = ("vdot", "multipliers"), len(known["q"]), len(self.targets.traced)
        kernel = self._kernel("by_targets", ("q", "v", "u", "p", "t"), self._columns, names)
        found = self.at(kernel, known)
        out = {x: y.reshape(n, size, k) for x, y, size in zip(names, found, (self.system.nv, self.m))}
        if self.control is not None:
            d = self.slopes(known)
            for x in names:
                out[x] = out[x] + d[f"{x}_u"] @ known["control"]["theta"]
        return out

    def closure(self, known: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """∂/∂θ of Φ and of A v + b, ∂(A v + b)/∂q, and A; N first."""
        names, n, k, nv = ("phi", "speed", "speed_q", "A"), len(known["q"]), len(self.targets.traced), self.system.nv
        kernel = self._kernel("closure_slopes", ("q", "v", "u", "p", "t"), self._closed, names)
        found = self.at(kernel, known)
        return {x: y.reshape(n, self.m, size) for x, y, size in zip(names, found, (k, k, nv, nv))}

    def driven(self, known: Mapping[str, Any]) -> np.ndarray:
        """∂v̇/∂θ alone, (N, nv, traced)."""
        if self.control is not None:
            return self.by_targets(known)["vdot"]
        kernel = self._kernel("driven", ("q", "v", "u", "p", "t"), lambda s: self._columns(s)[0], ("vdot",))
        return self.at(kernel, known)

    def gradient(self, known: Mapping[str, Any], w: np.ndarray) -> np.ndarray:
        """(N, traced) wᵀ ∂v̇/∂θ for vectors w, (N, nv)."""
        kernel = self._kernel("gradient", ("q", "v", "w", "u", "p", "t"), self._reverse, ("gradient",))
        out = self.at(kernel, {**known, "w": w})
        if self.control is not None:
            out = out + (w[:, None] @ self.slopes(known)["vdot_u"] @ known["control"]["theta"])[:, 0]
        return out

    def at(self, kernel: Kernel, known: Mapping[str, Any]) -> Any:
        """Outputs of a kernel at the states."""
        return kernel.batch(*(known[name] for name in kernel.names_in))

    def _kernel(
        self, name: str, arguments: tuple[str, ...], value: Any, named: tuple[str, ...], more: Any = None
    ) -> Kernel:
        key = (name, *self.targets.key, more)
        return self.system.kernels.custom(key, arguments, value, self.rows, named, self.lanes)

    # --- traced -------------------------------------------------------------------------------------------------

    def _held(self, s: Trace) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """v̇ (but for what is led) and λ as symbols, and e₁ and e₂ with them."""
        a_sx, a = symbols("held_a", s.tree.nv)
        a[s.led.places] = s.led.accelerations
        lam_sx, lam = symbols("held_lam", self.m)
        e1 = newton_euler(s.at, a, s.d.gravity, s.load.wrenches) - s.load.tau
        e2 = zeros(0)
        if self.m:
            e1, e2 = e1 - s.rows.A.T @ lam, s.rows.A @ a + s.rows.gamma
        return a_sx, lam_sx, to_sx(e1), to_sx(e2)

    def _columns(self, s: Trace) -> tuple[Any, ...]:
        """(1)."""
        M, f, A, gamma = constrained(s)
        factor = Elimination(TreeFactor(M), A)
        vdot, lam = factor.solve(f, gamma)
        a_sx, lam_sx, e1, e2 = self._held(s)
        theta = self.targets.symbols(s)
        n = theta.numel()
        by = [ca.substitute([ca.jacobian(e, theta)], [a_sx, lam_sx], [to_sx(vdot), to_sx(lam)])[0] for e in (e1, e2)]
        checked(self.system, by)
        right = [_matrix(x, n) for x in by]
        f = -s.led.still(right[0])
        for d, by_theta in zip(s.led.places, s.led.by(theta)):
            f[d] = M[d, d] * by_theta
        return factor.columns(f, right[1])

    def _closed(self, s: Trace) -> tuple[Any, ...]:
        """Derivatives of Φ and of e₃."""
        theta = self.targets.symbols(s)
        speed = to_sx((s.rows.A @ s.v if self.m else zeros(0)) + s.rows.b)
        by = [_matrix(ca.jacobian(x, theta), theta.numel()) for x in (to_sx(s.rows.phi), speed)]
        return *by, _matrix(tangent_jacobian(s, speed), s.tree.nv), s.rows.A

    def _reverse(self, s: Trace) -> np.ndarray:
        """(2)."""
        s.sx["w"], w = symbols("w", s.tree.nv)
        M, f, A, gamma = constrained(s)
        factor = Elimination(TreeFactor(M), A)
        vdot, lam = factor.solve(f, gamma)
        mu, nu = factor.solve(w, zeros(self.m))
        led = to_sx(np.array([mu[d] * M[d, d] for d in s.led.places], dtype=object))
        mu = s.led.still(mu)
        a_sx, lam_sx, e1, e2 = self._held(s)
        mu_sx, nu_sx, led_sx = ca.SX.sym("mu", s.tree.nv), ca.SX.sym("nu", self.m), ca.SX.sym("led", len(s.led.places))
        scalar = -ca.dot(mu_sx, e1) + (ca.dot(nu_sx, e2) if self.m else 0.0)
        if s.led:
            scalar += ca.dot(led_sx, to_sx(s.led.accelerations))
        slope = ca.gradient(scalar, self.targets.symbols(s))
        actual = [*(to_sx(x) for x in (vdot, lam, mu, nu)), led]
        slope = ca.substitute([slope], [a_sx, lam_sx, mu_sx, nu_sx, led_sx], actual)[0]
        checked(self.system, [slope])
        return array(ca.densify(slope)).reshape(-1)

    def _controlled(self, s: Trace) -> tuple[Any, ...]:
        """Inputs of the controller and their slopes."""
        assert self.control is not None
        u = to_sx(self.control.value(s))
        n = u.numel()
        by = (tangent_jacobian(s, u), *(ca.jacobian(u, x) for x in (s.sx["v"], s.sx["t"], self.targets.symbols(s))))
        return array(u).reshape(-1), *(array(ca.densify(x)).reshape(n, x.shape[1]) for x in by)


def checked(system: System, expressions: list[ca.SX]) -> None:
    """Refuse derivatives that would take minutes to compile."""
    size = sum(ca.Function("size", ca.symvar(x), [x]).n_instructions() for x in expressions if x.numel())
    if size > LARGEST:
        raise ArgumentError(
            f"the traced derivatives of '{system.name}' take {size} operations; the limit is {LARGEST}. Name fewer "
            "parameters in wrt."
        )


def tangent_jacobian(s: Trace, f: ca.SX) -> ca.SX:
    """∂f(q ⊕ δ)/∂δ at δ = 0."""
    return ca.jacobian(f, s.sx["q"]) @ tangent_map(s)


def _matrix(x: ca.SX, columns: int) -> np.ndarray:
    return array(ca.densify(x)).reshape(x.shape[0], columns)
