"""One-sided constraints and dry friction: what of a mechanism comes and goes while it moves."""

from dalembert.mechanism.contacts.friction import DryFriction, Friction
from dalembert.mechanism.contacts.one_sided import OneSided
from dalembert.mechanism.contacts.rope import Rope
from dalembert.mechanism.contacts.sphere import SphereOnPlane, SphereOnSphere
from dalembert.mechanism.contacts.stop import CompliantStop, JointStop, Stops
from dalembert.mechanism.contacts.strut import Strut
from dalembert.mechanism.contacts.unilateral import Unilateral

__all__ = [
    "CompliantStop",
    "DryFriction",
    "Friction",
    "JointStop",
    "OneSided",
    "Rope",
    "SphereOnPlane",
    "SphereOnSphere",
    "Stops",
    "Strut",
    "Unilateral",
]
