"""Forces: one file a kind, all answering the questions of `force.Force`."""

from dalembert.mechanism.forces.actuator import Actuator
from dalembert.mechanism.forces.along import Along, ElasticCoupling, SlippingCoupling, StickingCoupling
from dalembert.mechanism.forces.bushing import Bushing
from dalembert.mechanism.forces.cable import Cable, Spring
from dalembert.mechanism.forces.cut_joint import CutJointSpring
from dalembert.mechanism.forces.dc_motor import DCMotor
from dalembert.mechanism.forces.force import Force
from dalembert.mechanism.forces.joint import JointForce, JointSpringDamper
from dalembert.mechanism.forces.kinematic_input import KinematicInput
from dalembert.mechanism.forces.muscle import Muscle
from dalembert.mechanism.forces.potential import Potential
from dalembert.mechanism.forces.servo import Servo
from dalembert.mechanism.forces.tyre import Tyre
from dalembert.mechanism.forces.wrench import Wrench

__all__ = [
    "Actuator",
    "Along",
    "Bushing",
    "Cable",
    "CutJointSpring",
    "DCMotor",
    "ElasticCoupling",
    "Force",
    "JointForce",
    "JointSpringDamper",
    "KinematicInput",
    "Muscle",
    "Potential",
    "Servo",
    "SlippingCoupling",
    "Spring",
    "StickingCoupling",
    "Tyre",
    "Wrench",
]
