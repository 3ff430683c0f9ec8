"""Questions by name about records of any shape: what maps, plans, ensembles and linear models along a motion answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any, NamedTuple, cast

import numpy as np

from dalembert.analysis.by_name import ByName
from dalembert.errors import ArgumentError
from dalembert.lazy import cached_property

FEW = 8  # records that are not worth a kernel of several lanes
SHOWN = 4  # positions of a picture in a notebook


class StateRows(NamedTuple):
    """States of a mechanism, with inputs and parameters, along any axes; NaN where there is none."""

    q: np.ndarray  # (…, nq)
    v: np.ndarray  # (…, nv)
    u: np.ndarray  # (…, nu)
    p: np.ndarray  # (…, np)
    t: np.ndarray  # (…)

    @property
    def shape(self) -> tuple[int, ...]:
        """The axes."""
        return self.q.shape[:-1]

    def flat(self) -> dict[str, np.ndarray]:
        """All records along one axis, by the names that functions of a system have for them."""
        n = prod(self.shape)
        return {name: x.reshape(n, x.shape[-1]) for name, x in {**self._asdict(), "t": self.t[..., None]}.items()}


def state_rows(
    system: Any, q: np.ndarray, v: np.ndarray | None = None, u: Any = None, p: Any = None, t: Any = 0.0
) -> StateRows:
    """Records of positions (…, nq): at rest, without inputs, with the system's parameters where none are given."""
    shape = q.shape[:-1]

    def wide(x: Any, n: int) -> np.ndarray:
        return np.broadcast_to(x, (*shape, n))

    p = system.arguments.parameter_vector(p) if p is None or isinstance(p, Mapping) else np.asarray(p)
    u = np.zeros(len(system.u_names)) if u is None else u
    return StateRows(
        q, wide(0.0 if v is None else v, system.nv), wide(u, len(system.u_names)), wide(p, len(system.p_names)),
        np.broadcast_to(t, shape),
    )  # fmt: skip


def animated(system: Any, r: StateRows, title: str, path: Any, options: Mapping[str, Any]) -> Any:
    """The states along one axis as a motion in an HTML file; those without times follow each other evenly."""
    from dalembert.view import animate
    from dalembert.view.swings import Swing

    r = StateRows(*(x[None] for x in r)) if not r.shape else r  # a single position stands still
    known = np.isfinite(r.q).all(axis=-1)
    if len(r.shape) != 1 or not known.any():
        raise ArgumentError(f"{title}: there is no motion to show; needed: positions along one axis.")
    t, q = r.t[known], r.q[known]
    if not (np.diff(t) > 0).all():
        t = np.arange(len(q)) * max(0.04, 2.0 / len(q))
    return animate(cast(Any, Swing(system, r.p[known][0], t, q, title)), path, **options)


class AtStates(ByName):
    """What a result with states of a mechanism answers about frames, energies and forces; a class adds `_records`."""

    def _records(self) -> StateRows:
        """The states."""
        raise NotImplementedError(type(self).__name__)

    def animate(self, path: Any, **options: Any) -> Any:
        """The motion as one HTML file at path, which works offline; options of `dalembert.view.animate`."""
        return animated(self.system, self._records(), repr(self)[1:-1], path, options)

    def _repr_html_(self) -> str:
        """A picture of some positions above the first and last rows, for notebooks."""
        from dalembert.tables import html_table
        from dalembert.view.notebook import html_of

        r = self._records()
        flat = r.flat()
        q, p = flat["q"], flat["p"]
        known = np.flatnonzero(np.isfinite(q).all(axis=1))
        some = known[np.linspace(0, len(known) - 1, min(SHOWN, len(known))).astype(int)] if len(known) else known
        drawn = html_of(self.system, q[some], repr(self), p[some[-1]]) if len(some) else ""
        return drawn + html_table(self._columns(), "" if drawn else repr(self))

    # --- inside -------------------------------------------------------------------------------------------------

    def _row_forces(self) -> np.ndarray:
        return self._dynamics[1]

    def _accelerations(self) -> np.ndarray:
        return self._dynamics[0]

    def _coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        r = self._records()
        return r.q, r.v

    @cached_property
    def _dynamics(self) -> tuple[np.ndarray, np.ndarray]:
        """v̇ and λ of each record, as `System.acceleration` has them."""
        r, system = self._records(), self.system
        rows, n = r.flat(), prod(r.shape)
        vdot, lam = np.full((n, system.nv), np.nan), np.full((n, len(system.row_names)), np.nan)
        for k in np.flatnonzero(np.isfinite(np.hstack([rows["q"], rows["v"], rows["u"]])).all(axis=1)):
            x = system.state(rows["q"][k], rows["v"][k], float(rows["t"][k, 0]))
            a = system.acceleration(x, u=rows["u"][k], p=rows["p"][k])
            vdot[k], lam[k] = a.vdot, a.multipliers
        return vdot.reshape(*r.shape, system.nv), lam.reshape(*r.shape, lam.shape[1])

    def _batch(self, name: str, *, frame: Any = None, axes: str = "body", **more: Any) -> Any:
        return self._through(lambda lanes: self.system.kernel(name, frame=frame, axes=axes, lanes=lanes), **more)

    def _through(self, make: Callable[[int], Any], **more: np.ndarray) -> Any:
        """Values of a kernel, made for a number of lanes, at every record; more: its further arguments, (…, n)."""
        r = self._records()
        n = prod(r.shape)
        known = {**r.flat(), **{name: np.reshape(x, (n, np.shape(x)[-1])) for name, x in more.items()}}
        kernel = make(8 if n > FEW and self.system.backend == "native" else 1)
        found = kernel.batch(*(known[name] for name in kernel.names_in)) if kernel.names_in else kernel()
        values = found if isinstance(found, tuple) else (found,)
        out = tuple(np.broadcast_to(x, (n, *s)).reshape((*r.shape, *s)) for x, s in zip(values, kernel.shapes_out))
        return out if isinstance(found, tuple) else out[0]
