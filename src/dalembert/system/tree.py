"""Questions about a mechanism as a tree of bodies: frames, dynamics, energy, momentum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import AssemblyError
from dalembert.lazy import cached_property
from dalembert.mechanism.checks import has_numbers, solid
from dalembert.protocols import Inputs, Parameters, StateGiven
from dalembert.rank import massless
from dalembert.spatial import AdInverse, Transform
from dalembert.system.evaluating import Evaluating
from dalembert.system.second_order import FrameDerivatives, Lagrangian, frame_derivatives
from dalembert.system.tree_slopes import products_of_columns

LONG_MASS = 100  # velocities from where M is made of its columns: its closed form takes seconds to compile
LONG = 40  # velocities of a chain whose derivatives are no longer one piece of straight-line code


class TreeQuestions(Evaluating):
    """The part of `System` that knows no constraints: M v̇ + h = τ + Q."""

    # --- motion of frames ---------------------------------------------------------------------------------------

    def pose(self, state: StateGiven, frame: Any, *, p: Parameters = None) -> np.ndarray:
        """(4, 4) pose of a frame (or body, or name) in the ground."""
        return self._frame_value(frame, "pose", "world", state, p=p)

    def twist(self, state: StateGiven, frame: Any, *, axes: str = "body", p: Parameters = None) -> np.ndarray:
        """(ω; v) of a frame's origin, in the frame's own ("body") or the ground's ("world") axes, (6,)."""
        return self._frame_value(frame, "twist", axes, state, p=p)

    def jacobian(self, state: StateGiven, frame: Any, *, axes: str = "body", p: Parameters = None) -> np.ndarray:
        """J, (6, nv), with twist = J v in the same axes."""
        return self._frame_value(frame, "jacobian", axes, state, p=p)

    def jacobian_rate(self, state: StateGiven, frame: Any, *, axes: str = "body", p: Parameters = None) -> np.ndarray:
        """J̇ v, (6,): the rate of the twist when v̇ = 0."""
        return self._frame_value(frame, "jacobian_rate", axes, state, p=p)

    def jacobian_derivatives(
        self, state: StateGiven, frame: Any, vdot: Any = None, *, p: Parameters = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """∂J/∂q (6, nv, nv), J̇ (6, nv) and J̈ (6, nv) of `jacobian` in the frame's own axes, with accelerations vdot.

        [:, c, k] of the first is the derivative of column c along velocity k (δ at q ⊕ δ).
        """
        given = np.zeros(self.nv) if vdot is None else self.velocity_vector(vdot, "vdot")
        if self.nv <= LONG:
            by_q, rate, second = self._frame_value(frame, "jacobian_derivatives", "body", state, a=given, p=p)
            return by_q.reshape(6, self.nv, self.nv), rate, second
        rate, second = self._frame_value(frame, "jacobian_rates", "body", state, a=given, p=p)
        body = self.layout.frame(frame).body  # whose kernel serves all its frames
        by_q, offset = self._along_each("jacobian_along", state, p, body), self._offset(state, frame, p)
        carried = AdInverse(Transform(offset[:3, :3], offset[:3, 3])) @ np.moveaxis(by_q, 0, -1).reshape(6, -1)
        return carried.reshape(6, self.nv, self.nv), rate, second

    def _offset(self, state: StateGiven, frame: Any, p: Parameters) -> np.ndarray:
        """(4, 4) the pose of a frame in its body."""
        return np.linalg.solve(self.pose(state, self.layout.frame(frame).body, p=p), self.pose(state, frame, p=p))

    def frame_derivatives(self, state: StateGiven, frame: Any, *, p: Parameters = None) -> FrameDerivatives:
        """The pose of a frame with its first and second derivatives by q, as arrays and by the names of coordinates.

        Quaternion joints are varied along their three velocities (δ at q ⊕ δ).

        >>> import dalembert as da
        >>> m = da.Mechanism("arm")
        >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bar", mass=1.0, com=(1.0, 0, 0)))
        >>> bar = m.compile().frame_derivatives({"A": 0.0}, m.bodies["bar"].at(2.0, 0, 0))
        >>> bar.d("A")[:3, 3], bar.d("A", "A")[:3, 3]    # of the position, m
        (array([0., 2., 0.]), array([-2.,  0.,  0.]))
        """
        body = self.layout.frame(frame).body  # whose kernels serve all its frames
        J, g = self.jacobian(state, body, p=p), self.pose(state, body, p=p)
        J_dq = self._along_each("jacobian_along", state, p, body) if self.nv else np.zeros((0, 6, 0))
        offset = self._offset(state, frame, p)
        return frame_derivatives(g, J, np.moveaxis(J_dq, 0, -1), offset, tuple(self.v_names))

    def frame_acceleration(
        self, state: StateGiven, frame: Any, vdot: Any, *, axes: str = "body", p: Parameters = None
    ) -> np.ndarray:
        """d/dt of the twist, J v̇ + J̇ v, (6,): in world axes, angular acceleration and acceleration of the point.

        vdot: accelerations v̇, (nv,) or by name.
        """
        return self._frame_value(frame, "frame_acceleration", axes, state, a=self.velocity_vector(vdot, "vdot"), p=p)

    # --- dynamics -----------------------------------------------------------------------------------------------

    def mass_matrix(self, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
        """M(q), (nv, nv)."""
        if self.nv <= LONG_MASS:
            return self.evaluate("mass_matrix", state, p=p)
        return self._along_each("mass_times", state, p)

    def _along_each(self, name: str, state: StateGiven, p: Parameters, frame: Any = None) -> Any:
        """The outputs of a function of a direction dq, along every velocity: the direction first."""
        x, _, p = self.resolve(state, None, p)
        kernel = self.kernel(name, frame=frame, lanes=4 if self.backend == "native" else 1)
        given = {"q": x.q, "v": x.v, "dq": np.eye(self.nv), "p": self.parameter_vector(p)}
        return kernel.batch(*(given[argument] for argument in kernel.names_in))

    def bias(self, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
        """h(q, v), (nv,): Coriolis, centrifugal and gravity terms."""
        return self.evaluate("bias", state, p=p)

    def gravity_vector(self, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
        """g(q), (nv,): the gravity terms of h."""
        return self.evaluate("gravity_vector", state, p=p)

    def coriolis_vector(self, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
        """h(q, v) − g(q), (nv,)."""
        return self.evaluate("coriolis_vector", state, p=p)

    def applied_forces(self, state: StateGiven, *, u: Inputs = None, p: Parameters = None) -> np.ndarray:
        """Q(q, v, u, p, t), (nv,): what springs, dampers, motors and other described forces exert."""
        return self.evaluate("applied_forces", state, u=u, p=p)

    def input_matrix(self, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
        """B = ∂Q/∂u, (nv, nu): what a unit of each input adds to the applied forces."""
        return self.evaluate("input_matrix", state, p=p)

    def inverse_dynamics(
        self,
        state: StateGiven,
        vdot: Any,
        *,
        u: Inputs = None,
        p: Parameters = None,
        wrenches: Mapping[Any, Any] | None = None,
    ) -> np.ndarray:
        """τ = M v̇ + h − Q − Σ Jᵀ W, (nv,): the forces that, beside the described ones, give the acceleration v̇.

        vdot: accelerations, (nv,) or by name. wrenches: {frame: (moment; force)} at the frame's origin in its own axes.
        """
        tau = self.evaluate("inverse_dynamics", state, a=self.velocity_vector(vdot, "vdot"), u=u, p=p)
        return tau - self._carried(state, wrenches, p)

    def inverse_dynamics_derivatives(
        self, state: StateGiven, vdot: Any, *, u: Inputs = None, p: Parameters = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """∂τ/∂q (as δ at q ⊕ δ), ∂τ/∂v and ∂τ/∂v̇ = M of `inverse_dynamics`, (nv, nv) each.

        vdot: accelerations, (nv,) or by name. Closed forms, compiled; beyond 40 velocities columns by recursion and
        pairs by matrix products.
        """
        given = self.velocity_vector(vdot, "vdot")
        if self.nv <= LONG:
            return self.evaluate("inverse_dynamics_derivatives", state, a=given, u=u, p=p)
        x, u, p = self.resolve(state, u, p)
        return products_of_columns(self, x, given, u, p)

    def forward_dynamics(
        self,
        state: StateGiven,
        tau: Any = None,
        *,
        u: Inputs = None,
        p: Parameters = None,
        wrenches: Mapping[Any, Any] | None = None,
    ) -> np.ndarray:
        """v̇ = M⁻¹ (τ + Q + Σ Jᵀ W − h), (nv,), in O(N); τ defaults to zero."""
        given = np.zeros(self.nv) if tau is None else self.velocity_vector(tau, "tau")
        self.check_mass(state, p)
        return self.evaluate("forward_dynamics", state, tau=given + self._carried(state, wrenches, p), u=u, p=p)

    def _massless(self, state: StateGiven, p: Parameters = None) -> str | None:
        """A velocity, by name, that moves no mass at a state; None where there is none."""
        if self._solid and not self._inertia_has_parameters:
            return None
        x, _, p = self.resolve(state, None, p)
        if self._solid and p is None:
            return None
        return massless(self, x, p)  # type: ignore[arg-type]

    def varies_inertia(self, p: Parameters) -> bool:
        """Whether parameters p are given that masses or inertias depend on."""
        return p is not None and self._inertia_has_parameters

    @cached_property
    def _inertia_has_parameters(self) -> bool:
        return not all(has_numbers(link.inertia) for link in self.layout.tree.links)

    def check_mass(self, state: StateGiven, p: Parameters = None) -> None:
        """Raise `AssemblyError` for a state in which some velocity moves no mass, naming it."""
        still = self._massless(state, p)
        if still is not None:
            raise AssemblyError(
                f"the mass matrix is singular at this configuration: '{still}' moves no mass there, or negative mass. "
                "Give the bodies it moves mass and inertia (by their parameters too), or its joint an armature, or "
                "take another configuration."
            )

    @cached_property
    def _solid(self) -> bool:
        return solid(self.layout, self.layout.mechanism.parameters)

    def kinetic_energy(self, state: StateGiven, *, p: Parameters = None) -> float:
        """½ vᵀ M v, J."""
        return float(self.evaluate("kinetic_energy", state, p=p))

    def potential_energy(self, state: StateGiven, *, p: Parameters = None) -> float:
        """Potential energy of gravity (zero at the ground's origin) and of springs, J."""
        return float(self.evaluate("potential_energy", state, p=p))

    def energy(self, state: StateGiven, *, p: Parameters = None) -> float:
        """Kinetic and potential energy together, J."""
        return self.kinetic_energy(state, p=p) + self.potential_energy(state, p=p)

    def lagrangian(self, state: StateGiven, *, p: Parameters = None) -> Lagrangian:
        """L = T − V of the tree, J, with its first and second derivatives by q and v under trep's names.

        Quaternion joints are varied along their three velocities (δ at q ⊕ δ), v being the numbers of the state.

        >>> import dalembert as da
        >>> m = da.Mechanism("pendulum", gravity=(0, -10.0, 0))
        >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(2.0, 0, 0)))
        >>> system = m.compile()
        >>> x = system.lagrangian(system.state({"A": 0.0}, v={"A": 3.0}))    # L = 2 v² − 20 sin A
        >>> x.L, x.L_dq, x.L_ddq, x.L_ddqddq
        (18.0, array([-20.]), array([12.]), array([[4.]]))
        """
        M = self.mass_matrix(state, p=p)
        if not self.nv:
            return Lagrangian(-self.potential_energy(state, p=p), M.ravel(), M.ravel(), M, M, M, ())
        L, by_q, by_v, along_q, along_v = self._along_each("lagrangian_along", state, p)
        return Lagrangian(float(L[0]), by_q[0], by_v[0], along_q.T, along_v.T, M, tuple(self.v_names))

    def momentum(self, state: StateGiven, *, about: str = "origin", p: Parameters = None) -> np.ndarray:
        """(angular; linear), (6,), in the ground's axes, about the ground's "origin" or the "center" of mass."""
        L = self.evaluate("momentum", state, p=p)
        if checks.choice(about, ("origin", "center"), "about") == "origin":
            return L
        return np.concatenate([L[:3] - np.cross(self.center_of_mass(state, p=p), L[3:]), L[3:]])

    def center_of_mass(self, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
        """(3,) of everything that moves, in the ground."""
        return self.evaluate("center_of_mass", state, p=p)

    def _carried(self, state: StateGiven, wrenches: Mapping[Any, Any] | None, p: Parameters) -> np.ndarray:
        """Σ Jᵀ W."""
        total = np.zeros(self.nv)
        for frame, W in ({} if wrenches is None else checks.mapping(wrenches, "wrenches")).items():
            W = checks.vector(W, 6, f"the wrench (moment; force) on {frame!r}")
            total += self.jacobian(state, frame, p=p).T @ W
        return total
