"""A mechanism as differentiable functions of arrays, the same for every library of arrays."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np

from dalembert import checks
from dalembert.analysis.mobility import independent_rows
from dalembert.errors import ArgumentError
from dalembert.export.contents import refuse_one_sided
from dalembert.export.differentiable import functions
from dalembert.export.differentiable.function import DifferentiableFunction
from dalembert.protocols import Parameters, StateGiven, check_system
from dalembert.rank import rank_policy
from dalembert.system.kernels import frame_key
from dalembert.system.system import System


class Arrays(Protocol):
    """What a library of arrays has to know."""

    def array(self, x: Any, what: str) -> Any:
        """x as an array of doubles."""

    def apply(self, f: DifferentiableFunction, x: Any, c: Any) -> Any:
        """f(x; c) for arrays (…, nx) and (…, nc), with derivatives by x."""

    def concatenate(self, parts: list[Any]) -> Any:
        """Along the last axis."""

    def broadcast(self, x: Any, shape: tuple[int, ...]) -> Any:
        """x in a larger shape."""

    def norm(self, x: Any) -> Any:
        """(…, 1) along the last axis."""


class DifferentiableModel:
    """The functions of a mechanism, with derivatives by states, inputs and parameters.

    Positions q are (…, nq), velocities v (…, nv), inputs u (…, nu), parameters p (…, np), in the order of the system's
    `q_names`, `v_names`, `u_names` and `p_names`; leading axes are a batch, which runs in the lanes of the processor's
    vectors and in threads. u is zero and p the system's own where they are left out. Times t and step (s) are not
    differentiated. Quaternions are made of unit length first: derivatives by them lie in the tangent space.

    What cannot be trusted is NaN: steps next to singular configurations, projections that do not converge.
    """

    _arrays: Arrays

    def __init__(self, system: System, state: StateGiven | None = None, *, p: Parameters = None) -> None:
        """state: where redundant constraints are told from the others, and p its parameters; an assembled one if None.

        Raises ArgumentError where contacts, ropes, stops or dry friction change the structure.
        """
        check_system(system)
        refuse_one_sided(system)
        if system.backend != "native":
            raise ArgumentError(f"'{system.name}' was compiled with backend='{system.backend}'; needed: 'native'.")
        x, _, p = system.arguments.resolve(system.assemble(p=p) if state is None else state, None, p)
        rows = independent_rows(system, x, p) if system.rows.of else None
        self.system, self.p = system, np.array(system.arguments.parameter_vector(p), dtype=float)
        self._rules = functions.StepRules(rows, rank_policy(system, p), self.p)
        self._made: dict[Any, DifferentiableFunction] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.Model of '{self.system.name}': nq {self.nq}, nv {self.nv}, nu {self.nu}>"

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.system.nq

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return self.system.nv

    @property
    def nu(self) -> int:
        """Number of inputs."""
        return len(self.system.u_names)

    # --- motion -----------------------------------------------------------------------------------------------------

    def step(self, q: Any, v: Any, u: Any = None, p: Any = None, *, t: Any = 0.0, step: float) -> tuple[Any, Any]:
        """(q, v) after one step of RK4 of length step, projected on the constraints; u is held during it."""
        q, v = self.rollout(q, v, u, p, t=t, step=step, steps=1)
        return q[..., 0, :], v[..., 0, :]

    def rollout(
        self, q: Any, v: Any, u: Any = None, p: Any = None, *, t: Any = 0.0, step: float, steps: int | None = None
    ) -> tuple[Any, Any]:
        """q (…, N, nq) and v (…, N, nv) after each of N steps, as `simulate(method="rk4", step=h)` takes them.

        u: (…, N, nu), one row for each step; with `steps` (…, nu), held throughout.
        """
        step = checks.number(step, "step", above=0.0)
        if steps is not None:
            steps = checks.whole(steps, "steps", least=1)
            u = self._inputs(u)
            u = self._arrays.broadcast(u[..., None, :], (*u.shape[:-1], steps, self.nu))
        elif u is None:
            raise ArgumentError("rollout needs inputs u of shape (…, N, nu), one row for each step, or steps=N.")
        else:
            u = self._checked(u, "u", self.nu, 2)
            steps = u.shape[-2]
        f = self._function(("rollout", steps, step), lambda: functions.rollout(self.system, self._rules, steps, step))
        u = u.reshape((*u.shape[:-2], steps * self.nu))
        y = self._apply(f, t, self._position(q), self._checked(v, "v", self.nv), u, self._parameters(p))
        y = y.reshape((*y.shape[:-1], steps, self.nq + self.nv))
        return y[..., : self.nq], y[..., self.nq :]

    def acceleration(self, q: Any, v: Any, u: Any = None, p: Any = None, *, t: Any = 0.0) -> Any:
        """(…, nv) v̇ of the constrained mechanism."""
        rules = self._rules
        return self._straight(
            ("acceleration", rules.policy.near, rules.shortest), functions.acceleration(rules), ("q", "v", "u", "p"),
            t, self._position(q), self._checked(v, "v", self.nv), self._inputs(u), self._parameters(p),
        )  # fmt: skip

    def inverse_dynamics(self, q: Any, v: Any, vdot: Any, u: Any = None, p: Any = None, *, t: Any = 0.0) -> Any:
        """(…, nv) τ with M v̇ + h = τ + Q: of the tree, without the constraints; Q are the described forces."""
        return self._straight(
            ("inverse_dynamics",), functions.inverse_dynamics, ("q", "v", "a", "u", "p"), t, self._position(q),
            self._checked(v, "v", self.nv), self._checked(vdot, "vdot", self.nv), self._inputs(u), self._parameters(p),
        )  # fmt: skip

    def project(self, q: Any, v: Any = None, p: Any = None, *, t: Any = 0.0) -> tuple[Any, Any]:
        """(q, v) nearest to a state among those on the constraints, in the mass metric; v is zero if left out.

        Newton's method with steps of full length: from a state near the branch that is meant. With derivatives by p it
        closes a linkage whose lengths change.
        """
        q = self._position(q)
        v = self._arrays.array(np.zeros(self.nv), "v") if v is None else self._checked(v, "v", self.nv)
        f = self._function("projection", lambda: functions.projection(self.system, self._rules))
        y = self._apply(f, t, q, v, self._inputs(None), self._parameters(p))
        return y[..., : self.nq], y[..., self.nq :]

    # --- kinematics -------------------------------------------------------------------------------------------------

    def pose(self, frame: Any, q: Any, p: Any = None) -> Any:
        """(…, 4, 4) the pose of a frame (a name, a body, a frame) in the ground."""
        found = self.system.layout.frame(frame)
        key, value = ("pose", frame_key(found)), functions.pose_of(found)
        y = self._straight(key, value, ("q", "p"), 0.0, self._position(q), self._parameters(p))
        return y.reshape((*y.shape[:-1], 4, 4))

    def position(self, frame: Any, q: Any, p: Any = None) -> Any:
        """(…, 3) the place of a frame's origin."""
        return self.pose(frame, q, p)[..., :3, 3]

    def plus(self, q: Any, delta: Any) -> Any:
        """(…, nq) q ⊕ δ: q moved by a tangent vector (…, nv)."""
        return self._straight(
            ("plus",), functions.moved, ("q", "dq"), 0.0, self._position(q), self._checked(delta, "delta", self.nv)
        )

    def minus(self, q1: Any, q0: Any) -> Any:
        """(…, nv) q₁ ⊖ q₀: the tangent vector at q₀ that leads to q₁."""
        return self._straight(
            ("minus",), functions.difference, ("q1", "q"), 0.0, self._position(q1, "q1"), self._position(q0, "q0")
        )

    # --- arguments --------------------------------------------------------------------------------------------------

    def _function(self, key: Any, make: Any) -> DifferentiableFunction:
        found = self._made.get(key)
        return self._made.setdefault(key, make()) if found is None else found

    def _straight(self, key: Any, value: Any, names: tuple[str, ...], t: Any, *parts: Any) -> Any:
        rows = self._rules.rows if key[0] == "acceleration" else None
        make = lambda: functions.straight(self.system, key, value, names, rows)  # noqa: E731
        return self._apply(self._function(key, make), t, *parts)

    def _apply(self, f: DifferentiableFunction, t: Any, *parts: Any) -> Any:
        c = self._arrays.array(t, "t")[..., None]
        batch = np.broadcast_shapes(c.shape[:-1], *(x.shape[:-1] for x in parts))
        x = self._arrays.concatenate([self._arrays.broadcast(x, (*batch, x.shape[-1])) for x in parts])
        return self._arrays.apply(f, x, self._arrays.broadcast(c, (*batch, 1)))

    def _checked(self, x: Any, what: str, n: int, axes: int = 1) -> Any:
        x = self._arrays.array(x, what)
        if len(x.shape) < axes or x.shape[-1] != n:
            needed = f"(…, {n})" if axes == 1 else f"(…, steps, {n})"
            raise ArgumentError(f"{what} has shape {tuple(x.shape)}; needed for '{self.system.name}': {needed}.")
        return x

    def _position(self, q: Any, what: str = "q") -> Any:
        q = self._checked(q, what, self.nq)
        if not self._quaternions:
            return q
        ends, parts = [*(k for pair in self._quaternions for k in pair), self.nq], [q[..., : self._quaternions[0][0]]]
        for i, (start, stop) in enumerate(self._quaternions):
            part = q[..., start:stop]
            parts += [part / self._arrays.norm(part), q[..., stop : ends[2 * i + 2]]]
        return self._arrays.concatenate(parts)

    @cached_property
    def _quaternions(self) -> list[tuple[int, int]]:
        """Where quaternions begin and end in q."""
        layout = self.system.layout
        found = [layout.q_slice(name).start for name, a in layout.joints.items() if a.joint.nq != a.joint.nv]
        return [(start, start + 4) for start in sorted(found)]

    def _inputs(self, u: Any) -> Any:
        return self._checked(np.zeros(self.nu) if u is None else u, "u", self.nu)

    def _parameters(self, p: Any) -> Any:
        return self._checked(self.p if p is None else p, "p", len(self.p))
