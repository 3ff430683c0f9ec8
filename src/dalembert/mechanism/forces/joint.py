"""Forces along joint velocities: springs and dampers of joints, motors, and any expression."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.mechanism.forces.force import Force, Value, evaluate
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.traced import Load, TracedState
from dalembert.mechanism.values import is_exact_zero
from dalembert.symbols import Scalar, array, symbols, to_sx


class JointForce(Force):
    """Generalized force (nv,) on a joint: N m for angles, N for slides."""

    def __init__(self, name: str, joint: Attachment, value: Value, kind: str = "joint force"):
        self.name, self.joint, self.value, self.kind = name, joint, value, kind

    @property
    def input_units(self) -> list[str]:
        return ["N m" if turns else "N" for turns in self.joint.joint.angular] if self.kind == "motor" else []

    def given(self) -> list[tuple[str, Value, tuple[int, ...]]]:
        return [(f"the value of joint force '{self.name}'", self.value, (self.joint.joint.nv,))]

    def act(self, s: TracedState, load: Load) -> None:
        nv = self.joint.joint.nv
        load.joint(self.joint.name, evaluate(self.value, s, (nv,), f"the value of joint force '{self.name}'"))


class JointSpringDamper(Force):
    """τ = −∂E/∂δ − d v with E = ½ Σ k (q ⊖ q_rest)²: exact for quaternion joints too."""

    kind = "joint spring"

    def __init__(self, joint: Attachment):
        self.name, self.joint = joint.name, joint

    def act(self, s: TracedState, load: Load) -> None:
        load.joint(self.joint.name, -self.joint.damping * s.v(self.joint.name) - self._gradient(s.q(self.joint.name)))

    @property
    def conservative(self) -> bool:
        return all(is_exact_zero(d) for d in self.joint.damping)

    def energy(self, s: TracedState) -> Any:
        return self._energy(s.q(self.joint.name))

    def _energy(self, q: np.ndarray) -> Any:
        if all(is_exact_zero(k) for k in self.joint.stiffness):
            return 0.0
        stretch = self.joint.joint.minus(q, array(self.joint.rest))
        return 0.5 * (self.joint.stiffness * stretch) @ stretch

    def _gradient(self, q: np.ndarray) -> Any:
        """∂E(q ⊕ δ)/∂δ at δ = 0."""
        joint = self.joint.joint
        if joint.nq == joint.nv:
            return self.joint.stiffness * joint.minus(q, array(self.joint.rest))
        energy = self._energy(joint.plus(q, (delta := symbols("delta", joint.nv))[1]))
        if not isinstance(energy, Scalar):
            return 0.0
        gradient = ca.substitute(ca.gradient(to_sx([energy]), delta[0]), delta[0], ca.SX.zeros(joint.nv))
        return array(ca.densify(gradient))
