"""Warnings of a run: sentences with times, from its closure, energy balance and passages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.rank import angular_velocities, rank_policy

if TYPE_CHECKING:
    from dalembert.simulation.results.run import Run
    from dalembert.system.state import State
    from dalembert.system.system import System

SAMPLES = 12  # states that are looked at
OPEN = 1e-5  # rad, or of the mechanism's length: a loop open by more is no rounding and no drift of a short run
LOST = 0.02  # of the energy that moves: a balance that is wrong by more is no error of a tolerance
ACROSS = 1e-3  # of the energy that moves: what crossing singular positions may cost
HELD = 1e-14  # of lengths and radians: how well positions are known at best
STILL = 1e-12  # 1/s, of the same: speeds that are rounding, as of feedback that closes loops to HELD
ROUNDING = 1e-12  # of energies: how well their sums are known
PER_TOLERANCE = 1e5  # times rtol: of the energy that moves, what error control may lose in a run


class Warnings:
    """Sentences about a run, and whether it can be called a success in spite of them."""

    def __init__(self, run: Run, closure: bool = True, balance: bool = True) -> None:
        """closure, balance: whether that of its constraints, and that of its energy, is looked at."""
        self.run, self.sound = run, True
        self.sentences: list[str] = []
        if not len(run.t) or not run.system.nq:
            return
        finite = np.isfinite(run.q).all(axis=1) & np.isfinite(run.v).all(axis=1)
        known = np.flatnonzero(finite)
        if not len(known):
            self._serious("no state is finite")
            return
        if not finite.all():
            self._serious(f"the state at t = {run.t[~finite][0]:.6g} s is not finite")
        places = np.linspace(0, len(known) - 1, SAMPLES).astype(int)
        looked_at = known[places[np.diff(places, prepend=-1) > 0]]  # each once; `np.unique` imports masked arrays
        if closure:
            self._closure(looked_at)
        if balance:
            self._energy(looked_at)

    def _serious(self, sentence: str) -> None:
        self.sound = False
        self.sentences.append(sentence)

    def _at(self, looked_at: np.ndarray, name: str) -> Any:
        """A function of the system at some of the records."""
        run, kernel = self.run, self.run.system.kernel(name)
        known = {"q": run.q[looked_at], "v": run.v[looked_at], "p": run.p, "t": run.t[looked_at, None]}
        return kernel.batch(*(known[n] for n in kernel.names_in))

    def _closure(self, looked_at: np.ndarray) -> None:
        run, system = self.run, self.run.system
        if not system.rows.of:
            return
        units = rank_policy(system, run.p).units
        if system.kernels.selected_from is not None:  # no kernel of its own
            gaps = np.array([system.evaluate("residuals", run.state(int(k)), p=run.p)[0] for k in looked_at])
        else:
            gaps = self._at(looked_at, "residuals")[0]
        relative = np.abs(gaps) / units
        k, row = np.unravel_index(int(np.argmax(relative)), relative.shape)
        if not relative[k, row] <= OPEN:
            unit = "rad" if system.rows.angular[row] else "m"
            self._serious(
                f"constraint row '{system.row_names[row]}' is open by {abs(gaps[k, row]):.2g} {unit} at "
                f"t = {run.t[looked_at[k]]:.6g} s"
            )

    def _energy(self, looked_at: np.ndarray) -> None:
        run = self.run
        kinetic, potential = (self._at(looked_at, name) for name in ("kinetic_energy", "potential_energy"))
        work = [w[looked_at] - w[looked_at[0]] for w in run.work.values()]
        error = kinetic + potential - kinetic[0] - potential[0] - sum(work, np.zeros(len(looked_at)))
        moved = kinetic.max() + np.ptp(potential) + sum(np.abs(w).max() for w in work)
        stored = max(np.abs(potential).max(), np.abs(kinetic).max())
        k = int(np.argmax(np.abs(error)))
        at, crossed = int(looked_at[k]), any(met.sigma <= met.hit for met in run._met)

        def held(_: int) -> float:
            return held_energy(run.system, run.state(at), run.u[at], run.p, run.rtol)

        if is_wrong(error[k], moved, stored, run.rtol, crossed, held)[0]:
            self._serious(
                f"the energy balance is wrong by {error[k]:.2g} J at t = {run.t[looked_at[k]]:.6g} s, of "
                f"{moved:.3g} J that move"
            )


def is_wrong(
    error: Any,
    moved: Any,
    stored: Any,
    rtol: float | None,
    crossed: Any,
    held: Callable[[int], float],
    share: float = 1.0,
) -> np.ndarray:
    """(N,) whether balances that miss `error` are wrong: the one verdict on energy, of runs, phases and ensembles.

    moved, stored: J, energy that moves and the largest that there is; (N,), or one number each. crossed: whether
    singular positions were. share: of what an error may be. held: J of number k, how well the energy of what hardly
    moves is known, an absolute scale; asked for where the others do not do.
    """
    error = np.atleast_1d(error)
    limit = np.where(crossed, *(energy_limit(rtol, met) for met in (True, False)))
    wrong = ~(np.abs(error) <= share * limit * moved + ROUNDING * stored)
    for k in map(int, np.flatnonzero(wrong & np.isfinite(error))):
        wrong[k] = abs(error[k]) > held(k)
    return wrong


def held_energy(system: System, state: State, u: np.ndarray, p: np.ndarray, rtol: float | None) -> float:
    """J: how well the energy of what hardly moves is known, by what could move: weights, other forces, inputs, masses.

    Positions are as exact as their tolerances, so that forces act through so much of a length or radian. rtol None:
    steps were fixed. Speeds of masses are known to STILL, or as tolerances have it.
    """
    units = np.where(angular_velocities(system), 1.0, rank_policy(system, p).length)
    M, f, *_ = system.evaluate("constrained", state, u=u, p=p)
    weight = system.gravity_vector(state, p=p)
    known = 0.0 if rtol is None else 0.1 * rtol
    loads, masses = (np.abs(weight) + np.abs(f + weight)) @ units, np.diag(M) @ units**2
    return float(loads * max(HELD, known) + 0.5 * masses * max(STILL, known) ** 2)


def energy_limit(rtol: float | None, crossed: bool) -> float:
    """The part of the energy that moves by which a balance may be wrong; rtol None: steps were fixed.

    crossed: whether a singular position was, where the motion is known to the resolution of the crossing only.
    """
    limit = LOST if rtol is None else min(LOST, max(PER_TOLERANCE * rtol, 1e-6))
    return max(limit, ACROSS) if crossed else limit
