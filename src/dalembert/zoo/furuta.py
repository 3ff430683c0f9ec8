"""Furuta's rotary pendulum."""

from __future__ import annotations

from functools import partial

import casadi as ca

from dalembert.mechanism.inertia import rod_inertia
from dalembert.mechanism.joints import Revolute
from dalembert.mechanism.mechanism import Mechanism
from dalembert.mechanism.traced import UserState
from dalembert.zoo.door import checked
from dalembert.zoo.planar import Start


@checked
def furuta(
    *,
    arm_mass: float = 0.095,
    arm_length: float = 0.085,
    arm_inertia: float | None = None,
    pendulum_mass: float = 0.024,
    pendulum_length: float = 0.129,
    torque_constant: float = 0.042,
    resistance: float = 8.4,
    back_emf: bool = True,
    gravity: float = 9.81,
) -> Mechanism:
    """The rotary pendulum with the parameters of the Quanser QUBE-Servo 2, driven by a voltage.

    theta turns the arm about z (up), alpha the pendulum about the arm; alpha = 0 is upright. Input "voltage": the
    motor's torque is k (V − k θ̇)/R. arm_inertia is about the pivot; by default a uniform bar's, m l²/3. The state
    matrices widely published for the QUBE use m l²/12 there (a bar's about its middle) and have a wrong back-EMF term:
    give arm_inertia = arm_mass · arm_length²/12 for their A and B, but expect −2.0886 and −2.0643 in place of −0.0104
    and −0.0103.

    arm_mass and pendulum_mass in kg, arm_length and pendulum_length in m; torque_constant k in N m/A, resistance R in
    Ω; back_emf=False leaves out the term k θ̇. gravity in m/s².

    >>> from dalembert import zoo
    >>> system = zoo.furuta(back_emf=False).compile()
    >>> system.forward_dynamics({}, u={"voltage": 1.0}).round(4)
    array([18.3728, 18.1591])
    """
    m = Mechanism("Furuta pendulum", gravity=(0, 0, -gravity))
    J = arm_mass * arm_length**2 / 3 if arm_inertia is None else arm_inertia
    arm = m.add_body("arm", mass=arm_mass, inertia=(0, J, J))
    com = (0, 0, pendulum_length / 2)
    pendulum = m.add_body(
        "pendulum", mass=pendulum_mass, com=com, inertia=rod_inertia(pendulum_mass, pendulum_length, "z")
    )
    m.add_joint("theta", Revolute("z"), m.ground, arm)
    m.add_joint("alpha", Revolute("x"), arm.at(arm_length), pendulum)
    k = torque_constant
    emf = k if back_emf else 0.0
    V = m.add_input("voltage")
    m.add_joint_force("motor", "theta", partial(_torque, voltage=V, k=k, emf=emf, resistance=resistance))
    return m


def _torque(s: UserState, *, voltage: ca.SX, k: float, emf: float, resistance: float) -> ca.SX:
    return k * (voltage - emf * s.rate("theta")) / resistance


@checked
def furuta_start(alpha: float = 0.0, theta: float = 0.0) -> Start:
    """At rest; alpha = 0 upright, π hanging.

    theta is the arm's angle (rad).
    """
    return {"theta": theta, "alpha": alpha}, {}
