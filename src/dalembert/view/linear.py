"""Linear models, by Matplotlib: Bode and Nyquist diagrams, step responses, poles and zeros."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, extra
from dalembert.view.door import ink, writing
from dalembert.view.snapshots import draw_states
from dalembert.view.swings import SWINGS, swing

POINTS = 600  # times of a curve
SETTLED = 6.0  # time constants of the slowest mode that a step response shows
PERIODS = 10.0  # periods of one without damping
MODES = 9  # modes that are drawn
GROWN = 4.0  # time constants of one that grows


def plot_model(
    model: Any,
    kind: str = "bode",
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    omega: Any = None,
    path: str | os.PathLike[str] | None = None,
) -> Any:
    """Matplotlib's figure of a linear model; see `LinearModel.plot`."""
    checks.choice(kind, tuple(KINDS), "kind")
    i, o = model._where(inputs, model.input_names, "input"), model._where(outputs, model.output_names, "output")
    if kind not in ("poles", "shapes") and not (len(i) and len(o)):
        raise ArgumentError(
            f"a {kind} diagram needs an input and an output; the model has no {'out' if i else 'in'}put."
        )
    if path is not None:
        checks.path(path, "path")
    w = model.frequencies() if omega is None else checks.increasing(omega, "omega")
    plt = extra("matplotlib.pyplot", "view", "plotting")
    figure = KINDS[kind](plt, model, i, o, w)
    figure.suptitle(model.operating.system.name, fontsize="medium")
    if path is not None:
        with writing(path):
            figure.savefig(path, dpi=150)
    return figure


def step_response(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Times (N,) and outputs (N, outputs, inputs) after a unit step of each input, from x = 0."""
    from scipy.linalg import expm

    poles = model.eigenvalues if model.step is None else np.log(model.eigenvalues + 0j) / model.step
    end = _shown(poles)
    n, m = model.B.shape
    if model.step is None:
        h = end / POINTS
        held = np.zeros((n + m, n + m))
        held[:n, :n], held[:n, n:] = model.A, model.B
        E = expm(held * h)
        A, B = E[:n, :n], E[:n, n:]
    else:
        h, A, B = model.step, model.A, model.B
    t = h * np.arange(int(np.ceil(end / h)) + 1)
    x, out = np.zeros((n, m)), []
    for _ in t:
        out.append(model.C @ x + model.D)
        x = A @ x + B
    return t, np.array(out)


def _shown(poles: np.ndarray) -> float:
    """How long a step response is shown, s: until it has settled, some swings, or until it has grown."""
    size = float(np.abs(poles).max(initial=0.0)) or 1.0
    decaying, growing = -poles.real[poles.real < -1e-6 * size], poles.real[poles.real > 1e-6 * size]
    swinging = np.abs(poles.imag)[np.abs(poles.imag) > 1e-6 * size]
    end = 10.0 / size
    if len(decaying):
        end = SETTLED / decaying.min()
    elif len(swinging):
        end = PERIODS * 2 * np.pi / swinging.min()
    return float(min(end, GROWN / growing.max()) if len(growing) else end)


def _bode(plt: Any, model: Any, i: list[int], o: list[int], w: np.ndarray) -> Any:
    figure, (gain, phase) = plt.subplots(2, 1, sharex=True, figsize=(8, 5.5), layout="constrained")
    G = model.frequency_response(w)
    for k in o:
        for j in i:
            g = G[:, k, j]
            gain.loglog(w, np.where(np.abs(g) > 0, np.abs(g), np.nan), lw=1.3, label=_pair(model, j, k))
            phase.semilogx(w, np.degrees(np.unwrap(np.angle(g))), lw=1.3)
    gain.set_ylabel("gain")
    phase.set(ylabel="phase (°)", xlabel="ω (rad/s)")
    phase.yaxis.set_major_locator(plt.MultipleLocator(90) if _narrow(phase) else plt.AutoLocator())
    _finish(gain, phase, legend=gain)
    return figure


def _narrow(axes: Any) -> bool:
    low, high = axes.get_ylim()
    return high - low < 900.0


def _nyquist(plt: Any, model: Any, i: list[int], o: list[int], w: np.ndarray) -> Any:
    figure, axes = plt.subplots(figsize=(6.5, 5.5), layout="constrained")
    G = model.frequency_response(w)
    for k in o:
        for j in i:
            (line,) = axes.plot(G[:, k, j].real, G[:, k, j].imag, lw=1.3, label=_pair(model, j, k))
            axes.plot(G[:, k, j].real, -G[:, k, j].imag, lw=0.8, ls="--", color=line.get_color())
    axes.plot([-1], [0], marker="+", ms=10, color=ink())
    axes.set(xlabel="Re G(jω)", ylabel="Im G(jω)")
    _finish(axes, legend=axes)
    return figure


def _step(plt: Any, model: Any, i: list[int], o: list[int], w: np.ndarray) -> Any:
    t, y = step_response(model)
    figure, grid = plt.subplots(
        len(o), 1, sharex=True, squeeze=False, figsize=(8, 0.9 + 2.0 * len(o)), layout="constrained"
    )
    for k, axes in zip(o, grid[:, 0]):
        for j in i:
            axes.plot(t, y[:, k, j], lw=1.3, label=f"after a step of {model.input_names[j]}")
        axes.set_ylabel(model.output_names[k])
    grid[-1, 0].set_xlabel("t (s)")
    _finish(*grid[:, 0], legend=grid[0, 0])
    return figure


def _poles(plt: Any, model: Any, i: list[int], o: list[int], w: np.ndarray) -> Any:
    figure, axes = plt.subplots(figsize=(6.5, 5.5), layout="constrained")
    axes.plot(model.eigenvalues.real, model.eigenvalues.imag, "x", ms=8, mew=1.8, label="poles")
    if len(i) == len(o) and i:
        zeros = model.zeros([model.input_names[j] for j in i], [model.output_names[k] for k in o])
        axes.plot(zeros.real, zeros.imag, "o", ms=8, mfc="none", label="zeros")
    if model.step is None:
        axes.axvline(0.0, color=ink(), alpha=0.6, lw=0.8)
        axes.set(xlabel="Re (1/s)", ylabel="Im (rad/s)")
    else:
        angle = np.linspace(0, 2 * np.pi, 200)
        axes.plot(np.cos(angle), np.sin(angle), color=ink(), alpha=0.6, lw=0.8)
        axes.set(xlabel="Re", ylabel="Im", aspect="equal")
    _finish(axes, legend=axes)
    return figure


def _shapes(plt: Any, model: Any, i: list[int], o: list[int], w: np.ndarray) -> Any:
    """A panel a mode: the mechanism at rest in full colour, the ends of the swing behind it."""
    shown = model.modes[:MODES]
    if not shown:
        raise ArgumentError("the model has no states, and no modes to draw.")
    wide = min(3, len(shown))
    high = -(-len(shown) // wide)
    figure, grid = plt.subplots(high, wide, squeeze=False, figsize=(4.2 * wide, 3.6 * high), layout="constrained")
    op = model.operating
    for axes, mode in zip(grid.ravel(), shown):
        moving = swing(mode)
        ends = [moving.q[k] for k in (len(moving.q) // SWINGS // 2, 0)]
        draw_states(axes, op.system, [*ends, op.state.q], p=op.p, alphas=[0.25, 0.25, 1.0])
        z = mode.eigenvalue
        axes.set_title(f"{z.real:.3g} {'±' if z.imag else '+'} {abs(z.imag):.3g}j, {mode.frequency:.3g} Hz", fontsize=9)
    for axes in grid.ravel()[len(shown) :]:
        axes.axis("off")
    return figure


def _pair(model: Any, j: int, k: int) -> str:
    return f"{model.output_names[k]} / {model.input_names[j]}"


def _finish(*all_axes: Any, legend: Any) -> None:
    for axes in all_axes:
        axes.grid(alpha=0.3, which="both")
    if len(legend.get_legend_handles_labels()[0]) <= 12:
        legend.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small", frameon=False)


#: kind of a diagram: the function that draws it
KINDS = {"bode": _bode, "nyquist": _nyquist, "step": _step, "poles": _poles, "shapes": _shapes}
