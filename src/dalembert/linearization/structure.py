"""Modes, controllability, observability and transmission zeros of a linear model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, DalembertError
from dalembert.rank import rank_policy
from dalembert.system.state import State

if TYPE_CHECKING:
    from dalembert.linearization.model import LinearModel

MULTIPLE = 1e-6  # accuracy of a test with eigenvalues: multiple ones are found to 1e-8 only


def eigenvalue_columns(values: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Columns "real.0", "imag.0", … of eigenvalues, (N, n), falling by their real parts; and their units."""
    order = np.argsort(-values.real, axis=1, kind="stable")
    falling = np.take_along_axis(values, order, axis=1)
    out = {f"{part}.{k}": x for k, one in enumerate(falling.T) for part, x in (("real", one.real), ("imag", one.imag))}
    return out, {name: "1/s" if name.startswith("real") else "rad/s" for name in out}


@dataclass(frozen=True, eq=False)
class Mode:
    """One eigenvalue (of a conjugate pair the one above the axis) and its shape."""

    eigenvalue: complex  # 1/s
    shape: dict[str, complex]  # of the states; the largest position is 1
    joints: dict[str, complex]  # motion of every coordinate of the tree that goes with it, by velocity name
    model: LinearModel  # it is a mode of

    @property
    def frequency(self) -> float:
        """|λ| / 2π, Hz."""
        return abs(self.eigenvalue) / (2 * np.pi)

    @property
    def damping(self) -> float:
        """−Re λ / |λ|; negative where the mode grows."""
        return -self.eigenvalue.real / abs(self.eigenvalue) if self.eigenvalue else 0.0

    @property
    def time_constant(self) -> float:
        """1/|Re λ|, s: in which it decays or grows by e."""
        return 1 / abs(self.eigenvalue.real) if self.eigenvalue.real else np.inf

    def states(self, amplitude: float = 0.1, n: int = 24) -> list[State]:
        """The mechanism through one swing of the mode, on its manifold: Re(shape e^{iφ}), φ from 0 to 2π.

        amplitude: of the position that moves most, rad or m. n: states in one swing.
        """
        amplitude = checks.number(amplitude, "amplitude")
        n = checks.whole(n, "n", least=1, most=100_000)
        op = self.model.operating
        delta = np.array([self.joints[name] for name in op.system.v_names])
        out = []
        for phase in np.linspace(0, 2 * np.pi, n, endpoint=False):
            moved = op.system.plus(op.state, amplitude * (delta * np.exp(1j * phase)).real)
            out.append(op.system.project(op.state.replace(q=moved), p=op.p))
        return out

    def _repr_html_(self) -> str:
        """A picture of the mechanism at both ends of its swing above the numbers, for notebooks."""
        from dalembert.view.notebook import html_of

        try:
            ends = [x.q for x in self.states(0.15, 4)]
        except DalembertError:
            ends = []
        op = self.model.operating
        return html_of(op.system, [ends[2], ends[0]] if ends else [], str(self), op.p)

    def __str__(self) -> str:
        z = self.eigenvalue
        text = f"{z.real:+.6g} {'±' if z.imag else '+'} {abs(z.imag):.6g}j"
        largest = sorted(self.shape.items(), key=lambda item: -abs(item[1]))[:4]
        shape = ", ".join(f"{name} {_number(value)}" for name, value in largest if abs(value) > 1e-3)
        return f"{text:>24}  {self.frequency:9.4g}  {self.damping:8.4f}  {self.time_constant:9.4g}  {shape}"


@dataclass(frozen=True)
class Hidden:
    """A mode that inputs do not reach, or outputs do not show: the combination of states it lives in."""

    eigenvalue: complex  # 1/s, or per step
    direction: dict[str, float]  # states with a noticeable part

    def __str__(self) -> str:
        parts = " ".join(f"{'-' if x < 0 else '+'} {abs(x):.3g} {name}" for name, x in self.direction.items())
        return f"{self.eigenvalue:.4g}: {parts.removeprefix('+ ')}"


def modes(model: LinearModel) -> tuple[Mode, ...]:
    """The modes of a model, slowest first."""
    values, vectors = np.linalg.eig(model.A)
    if model.step is not None:
        values = np.log(values.astype(complex)) / model.step
    out = []
    for k in np.argsort(np.abs(values), kind="stable"):
        if values[k].imag < -1e-12 * max(1.0, abs(values[k])):
            continue
        x = vectors[:, k]
        n = len([name for name in model.state_names if name in model.positions])
        lead = x[:n] if n and np.abs(x[:n]).max() > 0 else x
        x = x / lead[np.argmax(np.abs(lead))]
        delta, _ = motion_of(model, x)
        shape = {name: complex(value) for name, value in zip(model.state_names, x)}
        joints = {name: complex(d) for name, d in zip(model.operating.system.v_names, delta)}
        out.append(Mode(complex(values[k]), shape, joints, model))
    return tuple(out)


def motion_of(model: LinearModel, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(δ, δv), (nv,) each, of changes x, (n,), of a model's states; real or complex."""
    op, y = model.operating, np.zeros(len(model.operating.names), dtype=np.result_type(x, float))
    y[model._places] = x if model.reduction is None else model.reduction.lift @ x
    n = op.Kq.shape[1]
    return op.Kq @ y[:n], op.Dv @ y[:n] + op.Kv @ y[n:]


def sizes_of(model: LinearModel) -> np.ndarray:
    """(states,) of equal kinetic energy, times the fastest rate of the model for positions: a scale without units.

    All are 1 where a coordinate moves nothing that has mass.
    """
    op = model.operating
    if model.reduction is not None:
        return np.ones(len(model.A))
    M = op.system.mass_matrix(op.state, p=op.p)
    energies = {name: k @ M @ k for name, k in zip(op.names, [*op.Kq.T, *op.Kv.T])}
    e = np.array([energies[name] for name in model.state_names])
    if not (e > 0).all():
        return np.ones(len(e))
    sizes = 1 / np.sqrt(e)
    slow = np.array([name in model.positions for name in model.state_names], dtype=bool)
    even = model.A * sizes / sizes[:, None]
    rate = float(max(np.linalg.norm(even[~slow][:, slow]) ** 0.5, np.linalg.norm(even[~slow][:, ~slow]))) or 1.0
    if model.step is not None:
        rate = 1 / model.step
    return np.where(slow, sizes / rate, sizes)


def hidden(A: np.ndarray, B: np.ndarray, names: Sequence[str], sizes: np.ndarray) -> tuple[Hidden, ...]:
    """Popov, Belevitch and Hautus: w with w A = λ w and w B = 0, at each eigenvalue where [A − λ, B] loses rank.

    sizes: (n,) of the states. In them what rounding leaves of zeros is known and dropped; the scales that balance A
    would magnify it. Inputs are scaled to the size of A: units of neither count.
    """
    from scipy.linalg import matrix_balance

    n = len(A)
    if n == 0:
        return ()
    even = A * sizes / sizes[:, None]
    even[np.abs(even) < 10 * n * np.finfo(float).eps * np.linalg.norm(even, 2)] = 0.0
    balanced, (scale, _) = matrix_balance(even, permute=False, separate=True)
    scale = scale * sizes
    reach = B / scale[:, None]
    size = max(float(np.linalg.norm(balanced, 2)), 1e-300)
    lengths = np.linalg.norm(reach, axis=0)
    reach = reach[:, lengths > 0] * (size / lengths[lengths > 0])
    out: list[Hidden] = []
    policy = rank_policy(accuracy=MULTIPLE)
    for value in _distinct(np.linalg.eigvals(balanced), size):
        if value.imag < 0:
            continue
        for w in policy.reveal(np.hstack([balanced - value * np.eye(n), reach]), size).dependencies:
            w = w.conj() / scale  # back to the user's states
            w = w / w[np.argmax(np.abs(w))]
            part = {name: float(x.real) for name, x in zip(names, w) if abs(x) > 1e-6}
            out.append(Hidden(complex(value), part))
    return tuple(out)


def zeros_of(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray) -> np.ndarray:
    """Finite generalized eigenvalues of ([A B; C D], [1 0; 0 0])."""
    n, m = B.shape
    if len(C) != m:
        raise ArgumentError(
            f"transmission zeros need as many outputs as inputs; found {len(C)} and {m}. Name some: "
            "model.zeros(inputs=[...], outputs=[...])."
        )
    from scipy.linalg import eig

    size = np.linalg.norm(A, 2) if n else 1.0
    b, c = np.linalg.norm(B, axis=0), np.linalg.norm(np.hstack([C, D]), axis=1)  # units do not move zeros
    b, c = np.where(b > 0, b, 1.0) / size, np.where(c > 0, c, 1.0) / size
    left = np.block([[A, B / b], [C / c[:, None], D / c[:, None] / b]])
    right = np.zeros_like(left)
    right[:n, :n] = np.eye(n)
    alpha, beta = eig(left, right, right=False, homogeneous_eigvals=True)
    finite = np.abs(beta) > 1e-10 * np.maximum(np.abs(alpha), np.abs(beta))
    return np.sort_complex(alpha[finite] / beta[finite])


def _distinct(values: np.ndarray, size: float) -> list[complex]:
    out: list[complex] = []
    for value in values:
        if all(abs(value - other) > 0.1 * MULTIPLE * size for other in out):
            out.append(complex(value))
    return out


def _number(x: complex) -> str:
    return f"{x.real:.3g}" if abs(x.imag) < 1e-3 else f"{x.real:.3g}{x.imag:+.3g}j"
