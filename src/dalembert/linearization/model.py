"""The linear model of a mechanism at a state, with its names and its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.charts.leaders import named_list
from dalembert.errors import ArgumentError, extra, unknown
from dalembert.hints import missing
from dalembert.lazy import cached_property
from dalembert.linearization.margins import Margins, margins
from dalembert.linearization.operating import Operating
from dalembert.linearization.reducing import Reduction
from dalembert.linearization.structure import Hidden, Mode, hidden, modes, motion_of, sizes_of, zeros_of
from dalembert.protocols import StateGiven
from dalembert.system.state import State
from dalembert.tables import Columns, Tabular

GROWTH = 600.0  # e to its power is a number
ROUND = np.linspace(-1.5, 1.5, 61)  # rad: half the angle of a resonance's circle, in steps that look round
LONGEST = 1e6  # time constants of a model whose exponential keeps its digits


@dataclass(frozen=True, eq=False)
class LinearModel(Tabular):
    """ẋ = rate + A x + B δu + time δt and y = output + C x + D δu + output_time δt, near a state.

    x are small changes of the named positions and velocities, δu of the inputs from `u`. The states are exact
    coordinates on the constraint manifold: A is the derivative of the minimal equations of motion (Spencer's Â), at
    rest or in motion. With `step` (s) the model is x₊ = rate + A x + B δu.
    """

    A: np.ndarray  # (n, n)
    B: np.ndarray  # (n, m)
    C: np.ndarray  # (k, n)
    D: np.ndarray  # (k, m)
    time: np.ndarray  # (n,) ∂ẋ/∂t
    output_time: np.ndarray  # (k,) ∂y/∂t
    rate: np.ndarray  # (n,) ẋ at the state itself; zero at an equilibrium
    output: np.ndarray  # (k,) outputs at the state itself
    state_names: tuple[str, ...]  # (n,)
    input_names: tuple[str, ...]  # (m,)
    output_names: tuple[str, ...]  # (k,)
    positions: tuple[str, ...]  # coordinates among the states
    velocities: tuple[str, ...]  # coordinates whose rates are states
    step: float | None  # s, of a discrete model
    operating: Operating  # the state it was made at
    reduction: Reduction | None = None  # of a reduced model: the states that its own stand for

    def __getattr__(self, name: str) -> Any:
        """What is not there yet: `linearize` leaves the operating point to whoever asks for it first."""
        late = vars(self).get("late")
        if name != "operating" or late is None:
            raise missing(self, name)
        make, at = late
        vars(self)["operating"] = made = make(*at)
        return made

    def __getstate__(self) -> dict[str, Any]:
        """With the operating point, as files and other processes take it."""
        return {name: x for name, x in {**vars(self), "operating": self.operating}.items() if name != "late"}

    @property
    def state(self) -> State:
        """The state of the mechanism at which the model was made."""
        return self.operating.state

    # --- dynamics -----------------------------------------------------------------------------------------------

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """(n,) of A, 1/s (or per step)."""
        return np.linalg.eigvals(self.A)

    @property
    def stable(self) -> bool:
        """Whether every disturbance dies out: eigenvalues left of the axis (per step, inside the unit circle).

        By more than rounding, 1e-9 of the largest: an oscillation without damping is not stable in this sense.
        """
        if self.step is not None:
            return bool((np.abs(self.eigenvalues) < 1 - 1e-9).all())
        return bool((self.eigenvalues.real < -1e-9 * np.abs(self.eigenvalues).max(initial=0.0)).all())

    @cached_property
    def modes(self) -> tuple[Mode, ...]:
        """Frequency, damping and shape of every mode; one for a pair of conjugates. `print(model.table())`."""
        return modes(self)

    def table(self) -> str:
        """The modes as a table: eigenvalue, frequency, damping, time constant and shape of each."""
        head = f"{'eigenvalue':>24}  {'f, Hz':>9}  {'damping':>8}  {'time, s':>9}  shape"
        return "\n".join([head, *map(str, self.modes)])

    def _columns(self) -> Columns:
        """One row a mode: its eigenvalue, frequency, damping and time constant."""
        found = self.modes
        values = {
            "real": np.array([m.eigenvalue.real for m in found]),
            "imag": np.array([m.eigenvalue.imag for m in found]),
            "frequency": np.array([m.frequency for m in found]),
            "damping": np.array([m.damping for m in found]),
            "time_constant": np.array([m.time_constant for m in found]),
        }
        units = {"real": "1/s", "imag": "rad/s", "frequency": "Hz", "damping": "1", "time_constant": "s"}
        return Columns(self.operating.system.name, "mode", np.arange(len(found)), values, units)

    def summary(self) -> str:
        """What the model is, whether it is stable, controllable and observable, and its modes, as text to print."""
        words = [
            "stable" if self.stable else "not asymptotically stable",
            "controllable" if self.controllable else f"{len(self.uncontrollable)} modes not controllable",
            "observable" if self.observable else f"{len(self.unobservable)} modes not observable",
        ]
        return "\n".join([repr(self)[1:-1], ", ".join(words), self.table()])

    # --- structure ----------------------------------------------------------------------------------------------

    @property
    def controllable(self) -> bool:
        """Whether the inputs reach every state."""
        return not self.uncontrollable

    @cached_property
    def uncontrollable(self) -> tuple[Hidden, ...]:
        """Modes no input reaches, with the combination of states that stays out of reach."""
        return hidden(self.A, self.B, self.state_names, sizes_of(self))

    @property
    def observable(self) -> bool:
        """Whether the outputs tell every state."""
        return not self.unobservable

    @cached_property
    def unobservable(self) -> tuple[Hidden, ...]:
        """Modes no output shows, with the combination of states that stays unseen."""
        return hidden(self.A.T, self.C.T, self.state_names, 1 / sizes_of(self))

    def zeros(self, inputs: Sequence[str] | None = None, outputs: Sequence[str] | None = None) -> np.ndarray:
        """Transmission zeros, 1/s, from some inputs to as many outputs, lists of names (default: all)."""
        i = self._where(inputs, self.input_names, "input")
        o = self._where(outputs, self.output_names, "output")
        return zeros_of(self.A, self.B[:, i], self.C[o], self.D[np.ix_(o, i)])

    def frequencies(self, decades: float = 1.5, points: int = 600) -> np.ndarray:
        """Rising angular frequencies (rad/s) around those of the poles, evenly in their logarithm, for diagrams.

        decades: beyond the slowest and the fastest pole. points: how many, and more beside each resonance, so that a
        Nyquist curve is round there. Those of a discrete model end at half the frequency of its samples.
        """
        decades = checks.number(decades, "decades", above=0.0)
        points = checks.whole(points, "points", least=2, most=10**7)
        poles = self.eigenvalues if self.step is None else np.log(self.eigenvalues + 0j) / self.step
        sizes = np.abs(poles)
        sizes = sizes[np.isfinite(sizes) & (sizes > 1e-9 * sizes.max(initial=0.0))]
        low, high = (sizes.min(), sizes.max()) if len(sizes) else (1.0, 1.0)
        ends = np.log10(low) - decades, np.log10(high) + decades
        seen = np.abs(poles.imag) > 10 ** ends[0]
        at, width = np.abs(poles.imag[seen]) * (1 + 1e-6), np.abs(poles.real[seen])  # not on a pole without damping
        beside = (at + np.outer(np.tan(ROUND), width)).ravel()  # evenly in the angle of 1 / (jω − pole)
        beside = beside[(beside > 10 ** ends[0]) & (beside < 10 ** ends[1])]
        w = np.union1d(np.logspace(*ends, points), beside)
        return w if self.step is None else w[w < np.pi / self.step]

    def frequency_response(self, omega: ArrayLike) -> np.ndarray:
        """G(jω), (len(ω), outputs, inputs), for angular frequencies ω = omega, rad/s."""
        w = checks.vector(np.atleast_1d(checks.array(omega, None, "omega")), None, "omega")
        points = 1j * w if self.step is None else np.exp(1j * w * self.step)
        one, out = np.eye(len(self.A)), []
        for frequency, s in zip(w, points):
            try:
                out.append(self.C @ np.linalg.solve(s * one - self.A, self.B) + self.D)
            except np.linalg.LinAlgError:
                raise ArgumentError(f"the response at ω = {frequency:g} rad/s is infinite: a pole is there.") from None
        return np.array(out).reshape(len(w), *self.D.shape)

    def margins(self, input: str | None = None, output: str | None = None) -> Margins:
        """Gain and phase margins of the loop closed from an output to an input with −1.

        input, output: names; not needed where there is only one.
        """
        i = self._where(None if input is None else [input], self.input_names, "input")
        o = self._where(None if output is None else [output], self.output_names, "output")
        if len(i) != 1 or len(o) != 1:
            raise ArgumentError(
                f"margins are those of one input and one output; name them: inputs {', '.join(self.input_names)}, "
                f"outputs {', '.join(self.output_names)}."
            )
        return margins(self, i[0], o[0])

    def plot(  # type: ignore[override]
        self,
        kind: str = "bode",
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        omega: ArrayLike | None = None,
        path: Any = None,
    ) -> Any:
        """A diagram as a Matplotlib figure (extra `view`).

        kind: "bode", "nyquist", "step" (responses to unit steps of the inputs), "poles" (and zeros, of as many outputs
        as inputs) or "shapes" (the mechanism at both ends of the swing of each mode). inputs, outputs: names, by
        default all. omega: angular frequencies, rad/s, by default those around the poles. path: a file to write to.
        """
        from dalembert.view.linear import plot_model

        return plot_model(self, kind, inputs, outputs, omega, path)

    def animate(self, path: Any, *, mode: int = 0, **options: Any) -> Any:
        """A mode, swinging, as one HTML file at path, which works offline; options of `dalembert.view.animate`.

        mode: its number in `modes`, slowest first.
        """
        from dalembert.view import animate

        return animate(
            self.modes[checks.whole(mode, "mode", least=-len(self.modes), most=len(self.modes) - 1)],  # type: ignore[arg-type]
            path,
            **options,
        )

    # --- other forms --------------------------------------------------------------------------------------------

    def discretize(self, step: float) -> LinearModel:
        """The model between samples `step` (s) apart with inputs held: exact (zero-order hold)."""
        if self.step is not None:
            raise ArgumentError(f"the model is discrete already, with a step of {self.step:g} s.")
        step = checks.number(step, "step", above=0.0)
        from scipy.linalg import expm, matrix_balance

        n, m = self.B.shape
        held = np.zeros((n + m + 2, n + m + 2))  # ẋ = A x + B u + rate · 1 + time · t
        held[:n, :n], held[:n, n : n + m], held[:n, -2], held[:n, -1] = self.A, self.B, self.rate, self.time
        held[-1, -2] = 1.0
        even, scale = matrix_balance(held)  # by powers of two, so that units do not count
        growth, length = step * np.linalg.eigvals(self.A).real.max(initial=0.0), step * np.abs(even).max()
        if growth > GROWTH:
            raise ArgumentError(f"in {step:g} s the model grows by exp({growth:.3g}); needed: at most exp({GROWTH:g}).")
        if length > LONGEST:
            raise ArgumentError(f"step is {step:g} s, {length:.2g} time constants of the model; at most {LONGEST:g}.")
        E = scale @ expm(even * step) @ np.linalg.inv(scale)
        return replace(self, A=E[:n, :n], B=E[:n, n : n + m], rate=E[:n, -2], time=E[:n, -1], step=float(step))

    def reduce(self, states: int) -> LinearModel:
        """The model with fewer states, by balanced truncation: those that inputs reach and outputs show least go.

        states: how many are left. What does not decay (unstable modes, oscillations without damping, drift) stays as it
        is. The new states "z0", "z1", … are combinations of the old ones; `deviation` and `motion` know them. The gain
        of the error is at most twice the sum of the Hankel singular values left out, `model.reduction.left_out`.
        """
        from dalembert.linearization.reducing import reduced

        return reduced(self, checks.whole(states, "states", least=0, most=len(self.A)))

    def without(self, names: Sequence[str] | str = "cyclic") -> LinearModel:
        """The model without some states, a name or a list of names, on which no rate and no output depends.

        By default ("cyclic") it is without all of these.
        """
        if isinstance(names, str):
            drop = self.cyclic if names == "cyclic" else (names,)
        else:
            drop = tuple(named_list(names, "names"))
        for name in drop:
            k = self._where([name], self.state_names, "state")[0]
            depends = [
                *(row for row, a in zip(self.state_names, self.A[:, k]) if abs(a) > 1e-12 and row not in drop),
                *(row for row, c in zip(self.output_names, self.C[:, k]) if abs(c) > 1e-12 and row not in drop),
            ]
            if depends:
                raise ArgumentError(f"state '{name}' cannot be left out: {', '.join(depends)} depend on it.")
        keep = [k for k, name in enumerate(self.state_names) if name not in drop]
        seen = [k for k, name in enumerate(self.output_names) if name not in drop]
        return replace(
            self,
            A=self.A[np.ix_(keep, keep)],
            B=self.B[keep],
            C=self.C[np.ix_(seen, keep)],
            D=self.D[seen],
            time=self.time[keep],
            output_time=self.output_time[seen],
            rate=self.rate[keep],
            output=self.output[seen],
            state_names=tuple(self.state_names[k] for k in keep),
            output_names=tuple(self.output_names[k] for k in seen),
        )

    @property
    def cyclic(self) -> tuple[str, ...]:
        """Positions nothing depends on, such as how far a car has come, or only such positions do."""
        out: list[str] = []
        scale = 1e-9 * max(1.0, float(np.abs(self.A).max(initial=0.0)))
        while True:
            rest = [k for k, name in enumerate(self.state_names) if name not in out]
            seen = [k for k, name in enumerate(self.output_names) if name not in self.state_names]
            found = [
                self.state_names[k]
                for k in rest
                if self.state_names[k] in self.positions
                and np.abs(self.A[rest, k]).max(initial=0.0) <= scale
                and np.abs(self.C[seen, k]).max(initial=0.0) == 0.0
            ]
            if not found:
                return tuple(out)
            out += found

    def to_scipy(self) -> Any:
        """A `scipy.signal.StateSpace` of (A, B, C, D); `rate` and `time` are left out."""
        from scipy.signal import StateSpace

        return StateSpace(self.A, self.B, self.C, self.D, **({} if self.step is None else {"dt": self.step}))

    def to_control(self) -> Any:
        """A `control.StateSpace` with named signals (python-control; pip install 'dalembert[control]').

        Dots of names become underscores, as python-control asks.
        """
        control = extra("control", "control", "to_control")
        names = {
            kind: [name.replace(".", "_") for name in given]
            for kind, given in (
                ("states", self.state_names),
                ("inputs", self.input_names),
                ("outputs", self.output_names),
            )
        }
        return control.ss(
            self.A, self.B, self.C, self.D, 0 if self.step is None else self.step, name="mechanism", **names
        )

    # --- the mechanism behind it --------------------------------------------------------------------------------

    def deviation(self, state: StateGiven) -> np.ndarray:
        """(n,) x of a state of the mechanism: differences of the named coordinates from those of the model's state."""
        full = self.operating.deviation(state)[self._places]
        return full if self.reduction is None else self.reduction.project @ full

    @cached_property
    def _places(self) -> list[int]:
        """Where the states, or those of the model before it was reduced, are among those of the operating point."""
        index = {name: k for k, name in enumerate(self.operating.names)}
        return [index[name] for name in (self.state_names if self.reduction is None else self.reduction.names)]

    def motion(self, x: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """(δ, δv), (nv,) each: the motion of every joint that goes with small changes x, (n,), of the states."""
        return motion_of(self, checks.vector(x, len(self.A), "x"))

    def _where(self, names: Sequence[str] | None, known: Sequence[str], kind: str) -> list[int]:
        if names is None:
            return list(range(len(known)))
        for name in named_list(names, f"{kind}s"):
            if not isinstance(name, str) or name not in known:
                raise unknown(kind, name, known)
        return [list(known).index(name) for name in names]

    def __repr__(self) -> str:
        every = "" if self.step is None else f", every {self.step:g} s"
        return (
            f"<linear model of '{self.operating.system.name}': {len(self.A)} states ({', '.join(self.state_names)}), "
            f"{len(self.input_names)} inputs, {len(self.output_names)} outputs{every}>"
        )


def check_model(model: LinearModel) -> None:
    """Refuse an argument `model` that is no linear model."""
    if not isinstance(model, LinearModel):
        raise ArgumentError(f"model is {checks.shown(model)}; needed: a LinearModel, as da.linearize returns it.")
