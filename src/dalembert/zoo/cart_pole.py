"""A cart with one or more links on it."""

from __future__ import annotations

import numpy as np

from dalembert.mechanism.joints import Prismatic, Revolute
from dalembert.mechanism.mechanism import Mechanism
from dalembert.zoo.door import checked
from dalembert.zoo.planar import Start


@checked
def cart_pole(
    links: int = 1,
    *,
    cart_mass: float = 0.5,
    mass: float = 0.2,
    com: float = 0.3,
    length: float = 0.6,
    inertia: float = 0.006,
    damping: float = 0.1,
    gravity: float = 9.8,
) -> Mechanism:
    """A cart on x with a chain of equal links standing on it in the x-y plane, y up; input "push" (N) on the cart.

    Coordinates "cart" and phi1 … phin, turning from +x to +y, phi1 from upright, the others from the link below. Each
    link has its centre of mass at the distance `com` from its lower end, the next joint at `length`, and `inertia`
    about its centre. Defaults: the inverted pendulum of the Michigan control tutorials (there M, m, b, I, l, g; its
    rod's length matters only for more links and is chosen as 2 l).

    links is their number, cart_mass and mass (of a link) in kg, damping of the cart in N s/m, gravity in m/s².

    >>> from dalembert import zoo
    >>> system = zoo.cart_pole().compile()
    >>> system.forward_dynamics({}, u={"push": 1.0}).round(6)
    array([1.818182, 4.545455])
    """
    m = Mechanism("cart-pole" if links == 1 else f"cart with {links} links", gravity=(0, -gravity, 0))
    cart = m.add_body("cart", mass=cart_mass)
    m.add_joint("cart", Prismatic("x"), m.ground, cart, damping=damping)
    before = cart.at()
    for k in range(1, links + 1):
        link = m.add_body(f"link {k}", mass=mass, com=(0, com, 0), inertia=(inertia, 0, inertia))
        m.add_joint(f"phi{k}", Revolute("z"), before, link)
        before = link.at(0, length)
    m.add_frame("tip", before)
    m.add_motor("push", "cart")
    return m


@checked
def cart_pole_start(angle: float = 0.0, hanging: bool = False) -> Start:
    """At rest, all links in line, at `angle` from upright, or hanging."""
    return {"phi1": angle + (np.pi if hanging else 0.0)}, {}
