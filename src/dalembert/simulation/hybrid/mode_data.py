"""A mode as data for native code: the rows that hold, what slides, contacts that share, guards. See `mode_rows`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.formulations import mode_rows as native
from dalembert.formulations.mode_rows import ModeRows, make_mode_rows, mode_guards
from dalembert.native.bound import NOTHING, Bound
from dalembert.rank import rank_policy
from dalembert.simulation.hybrid.phase_system import PhaseSystem
from dalembert.simulation.hybrid.state import Numbers
from dalembert.simulation.stabilization import Baumgarte
from dalembert.system.formulation_options import formulation_options

Rows = tuple[int, ...] | None  # of those that hold in the mode; None: all


class ModeData:
    """A mode of a system with all rows; p: parameters of the system in the mode, numbers: of the mode."""

    def __init__(
        self, system: PhaseSystem, p: np.ndarray, numbers: Numbers, baumgarte: Baumgarte | None = None
    ) -> None:
        assert system.kernels.selected_from is not None, "friction that depends on reactions is traced"
        self.system, self.numbers, self.baumgarte, self.p_of_mode = system, numbers, baumgarte, p
        self.whole, self.chosen = system.kernels.selected_from
        self.changeable, self.mode = system.changeable, system.mode
        self.p = p[: len(self.whole.p_names)]
        self.known: dict[tuple[Rows, bool], dict[str, Any]] = {}  # fields

    def forces(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> dict[str, np.ndarray]:
        """(N,) multipliers of every row that bears, by name, at states."""
        data = self.rows()
        at, guards = mode_guards(data), np.zeros((len(t), data.m + data.shared))
        for k in range(len(t)):
            if "u" in at.slices:
                at["u"][:] = u[k]
            at.at(float(t[k]), np.concatenate([q[k], v[k]]))
            guards[k] = data.forces
        names = self.whole.rows.names
        return {names[row]: guards[:, k] for row, k in self._places(self.chosen).items()}

    def options(self, rows: Rows) -> dict[str, Any]:
        """Fields of the problem of these rows."""
        found = formulation_options(self.system, "nullspace", self.p_of_mode, rows=rows)
        return {**found, "usual_rank": self.rank(rows)}

    def places(self, rows: Rows) -> Sequence[int]:
        """The places of rows of the mode among all there are."""
        return self.chosen if rows is None else [self.chosen[k] for k in rows]

    def sizes(self, rows: Rows) -> np.ndarray:
        """Usual lengths of rows of the mode."""
        return rank_policy(self.whole, self.p).sizes[list(self.places(rows))]

    def rank(self, rows: Rows) -> int:
        """How many rows these are."""
        return len(self.chosen if rows is None else rows)

    def rows(self, rows: Rows = None, bare: bool = False, users: Bound = NOTHING, events: int = 0) -> ModeRows:
        """The mode with memory of its own, with its guards; bare: rows alone. users: events of the user."""
        program = self.program()
        fields = {k: x.copy() if isinstance(x, np.ndarray) else x for k, x in self.fields(rows, bare).items()}
        if events:
            fields |= self.events(program, users, events)
        return make_mode_rows(program, self.options(rows), users, **fields)

    def room(self, users: Bound = NOTHING, events: int = 0) -> ModeRows:
        """Memory for any mode; see `mode_rows.hold`."""
        program, c, n = self.program(), self.changeable, len(self.whole.rows.of)
        contacts, joints = len(c.contacts), len(c.frictions)
        most = {
            "m": n, "rows": np.zeros(n, dtype=np.int64), "joints": joints, "sliders": contacts, "soft": n, "shared": n,
            "waiting": contacts, "guards": 2 * contacts + joints + 1,
        }  # fmt: skip
        fields = {**self.fields((), bare=True), **most}
        if events:
            fields |= self.events(program, users, events)
        options = {**self.options(()), "sizes": np.ones(n)}
        return make_mode_rows(program, options, users, **fields)

    def program(self) -> Bound:
        """The program with memory of its own."""
        return Bound.of(self.changeable.program, {"p": self.p})

    def fields(self, rows: Rows, bare: bool = False) -> dict[str, Any]:
        """Numbers and arrays of `ModeRows` by name; bare: of rows alone."""
        found = self.known.get((rows, bare))
        if found is None:
            found = self.known[rows, bare] = self._fields(rows, bare)
        return found

    def _fields(self, rows: Rows, bare: bool) -> dict[str, Any]:
        whole, system = self.whole, self.system
        chosen = self.places(rows)
        powers = len([n for n in whole.work_names if n != "drivers"])
        own = len([n for n in system.work_names if n != "drivers"])
        fields: dict[str, Any] = {
            "nq": system.nq, "n": system.nv, "nu": len(system.u_names), "powers": powers, "own_powers": own, "lost": -1,
            "driven": int("drivers" in system.work_names), "all": len(whole.rows.of), "m": len(chosen),
            "rows": np.array(chosen, dtype=np.int64),
        }  # fmt: skip
        if not bare:
            if self.baumgarte is not None:
                fields |= {"alpha": self.baumgarte.alpha, "beta": self.baumgarte.beta}
            fields |= self._sliding(chosen) | self._guards(chosen)
            if self.system.loses:
                fields["lost"] = own - 1
        return fields

    def _places(self, chosen: Sequence[int]) -> dict[int, int]:
        """The place among the forces of the mode of every row that bears."""
        shared = [self.changeable.row_index[name] for name in self.mode.shared]
        return {row: k for k, row in enumerate([*chosen, *shared])}

    def _sliding(self, chosen: Sequence[int]) -> dict[str, Any]:
        """Friction of what slides, and contacts that share."""
        c, mode, at, numbers = self.changeable, self.mode, self._places(chosen), self.numbers
        moving = [(name, f) for name, f in c.frictions.items() if name not in mode.sticking]
        laws = [
            [*numbers["sign", n], f.law.coulomb, f.law.breakaway, f.law.stribeck, f.law.exponent] for n, f in moving
        ]
        laws += [[-1.0, _first(numbers["force", n]), 0.0, 0.0, 1.0] for n in mode.given]
        sliders = [n for n, how in mode.touching if how == "slides" and c.gap_row[n] in at]
        rows = np.array([[at[c.gap_row[n]], *self._slips(n)] for n in sliders], dtype=np.int64).reshape(-1, 3)
        numbered = [
            [c.contacts[n].friction, *_two(numbers["aim", n]), _first(numbers.get(("start", n), 0.0))] for n in sliders
        ]
        soft: list[tuple[int, float]] = []
        if mode.shared or mode.waiting:
            of = self.whole.rows.of
            soft = [(k, c.compliance[of[row]]) for k, row in enumerate(chosen) if of[row] in mode.touched]
        shared = [(c.row_index[name], c.compliance[name.rpartition(".")[0]]) for name in mode.shared]
        return {
            "joints": len(laws), "joint_rows": _ints([c.friction_row(n) for n in (*dict(moving), *mode.given)]),
            "joint_laws": np.array(laws, dtype=float).reshape(-1, 5),
            "sliders": len(sliders), "slider_rows": rows, "slider_laws": np.array(numbered, dtype=float).reshape(-1, 4),
            "soft": len(soft), "soft_at": _ints([k for k, _ in soft]),
            "soft_compliance": np.array([x for _, x in soft], float),
            "shared": len(shared), "shared_rows": _ints([k for k, _ in shared]),
            "shared_compliance": np.array([x for _, x in shared], float),
            "waiting": len(mode.waiting), "waiting_rows": _ints([c.gap_row[n] for n in mode.waiting]),
        }  # fmt: skip

    def _slips(self, name: str) -> tuple[int, int]:
        """Rows of the two slips of a contact; −1 for one that always vanishes."""
        known, names = self.changeable.row_index, self.changeable.contacts[name].slip_names
        found = [known.get(f"{name}.{slip}", -1) for slip in names]
        return (*found, -1, -1)[:2]  # type: ignore[return-value]

    def _guards(self, chosen: Sequence[int]) -> dict[str, Any]:
        """The guards of the mode, in the order of `watched`."""
        at = self._places(chosen)
        found = [self._guard(kind, name, at) for kind, name in self.system.watched]
        return {
            "guards": len(found),
            "guard": _ints([[*x, -1, -1, -1][:4] for x, _ in found]).reshape(-1, 4),
            "guard_numbers": np.array([[*x, 0.0, 0.0, 0.0, 0.0][:4] for _, x in found], dtype=float).reshape(-1, 4),
        }

    def _guard(self, kind: str, name: str, at: dict[int, int]) -> tuple[list[int], list[float]]:
        """Kind and places, and numbers, of a guard; see `mode_rows`."""
        c, n = self.changeable, self.numbers
        contact = c.contacts.get(name)
        offset = _first(n.get(("offset", name), 0.0))
        if contact is None:
            row = c.friction_row(name)
            if kind == "stops":
                return [native.STOPS, row], [offset, _first(n["sign", name])]
            return [native.SLIPS_JOINT, at.get(row, -1)], [c.frictions[name].law.breakaway]
        gap, slips = c.gap_row[name], self._slips(name)
        if kind in ("closes", "turns"):
            return [native.CLOSES if kind == "closes" else native.TURNS, gap], [offset]
        if kind == "opens":
            return [native.OPENS, at[gap]] if gap in at else [native.NEVER], []
        if kind == "loads":
            return [native.LOADS, self.mode.waiting.index(name)], []
        if kind == "jams":
            return [native.JAMS], []
        if kind == "slips":
            return [native.SLIPS, at.get(gap, -1), *(at.get(row, -1) for row in slips)], [contact.static]
        aim = _two(n["aim", name])
        if min(slips) >= 0:
            return [native.STOPS_TURNING, *slips], [offset, *aim, _first(n.get(("begins", name), 0.0))]
        return [native.STOPS, max(slips)], [offset, aim[0] if slips[0] >= 0 else aim[1]]

    def events(self, program: Bound, users: Bound, events: int) -> dict[str, Any]:
        """Events of the user, and where their inputs are among those of the program."""
        places, time = np.zeros(users.nx, dtype=np.int64), program.time_index
        time = time if time >= 0 else program.nx
        for name, place in users.slices.items():
            places[place] = time if name == "t" else np.arange(program.nx)[program.slices[name]]
        return {"events": events, "given": users.nx, "places": places}


def _first(x: Any) -> float:
    return float(np.ravel(x)[0])


def _two(aim: Any) -> list[float]:
    return [*np.ravel(aim).tolist(), 0.0, 0.0][:2]


def _ints(values: Any) -> np.ndarray:
    return np.array(values, dtype=np.int64)
