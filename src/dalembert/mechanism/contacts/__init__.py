"""One-sided constraints and dry friction: what of a mechanism comes and goes while it moves."""

from dalembert.mechanism.contacts.contact import Contact
from dalembert.mechanism.contacts.friction import DryFriction, Friction
from dalembert.mechanism.contacts.one_sided import OneSided
from dalembert.mechanism.contacts.rope import Rope
from dalembert.mechanism.contacts.stop import CompliantStop, JointStop, Stops
from dalembert.mechanism.contacts.strut import Strut
from dalembert.mechanism.contacts.unilateral import Unilateral

__all__ = [
    "CompliantStop",
    "Contact",
    "DryFriction",
    "Friction",
    "JointStop",
    "OneSided",
    "Rope",
    "Stops",
    "Strut",
    "Unilateral",
]
