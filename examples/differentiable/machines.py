"""The mechanisms of these examples, and Adam (Kingma & Ba, 2015) in a few lines."""

import jax
import jax.numpy as jnp

import dalembert as da


def cart_with_parallelogram():
    """A cart with a pole of four bars: two parallel arms, hinged to the cart, carry a beam that stays level."""
    m = da.Mechanism("cart with parallelogram", gravity=(0, -9.81, 0))
    cart = m.add_body("cart", mass=1.0)
    arms = [
        m.add_body(name, mass=0.1, com=(0, 0.25, 0), inertia=da.rod_inertia(0.1, 0.5, "y"))
        for name in ("left", "right")
    ]
    beam = m.add_body("beam", mass=0.3, com=(0.1, 0, 0), inertia=da.rod_inertia(0.3, 0.2))
    m.add_joint("x", da.Prismatic("x"), m.ground, cart)
    m.add_joint("left", da.Revolute("z"), cart, arms[0])
    m.add_joint("right", da.Revolute("z"), cart.at(0.2, 0, 0), arms[1])
    m.add_joint("top", da.Revolute("z"), arms[0].at(0, 0.5, 0), beam)
    m.close_loop("loop", da.Revolute("z"), beam.at(0.2, 0, 0), arms[1].at(0, 0.5, 0))
    m.add_motor("force", "x")
    return m.compile()


def driven_four_bar(lengths=(0.2, 0.6, 0.4, 0.55), point=(0.3, 0.2)):
    """A four-bar whose crank is at the angle t; crank, coupler, rocker, span and the coupler's point are parameters."""
    m = da.Mechanism("four-bar")
    a, b, c, d = (m.add_parameter(name, value) for name, value in zip("abcd", lengths))
    x, y = (m.add_parameter(name, value) for name, value in zip("xy", point))
    crank, coupler, rocker = (m.add_body(name, mass=1.0, inertia=(1, 1, 1)) for name in ("crank", "coupler", "rocker"))
    m.add_joint("A", da.Revolute("z"), m.ground, crank)
    m.add_joint("B", da.Revolute("z"), crank.at(a, 0, 0), coupler)
    m.add_joint("D", da.Revolute("z"), m.ground.at(d, 0, 0), rocker)
    m.close_loop("C", da.Revolute("z"), coupler.at(b, 0, 0), rocker.at(c, 0, 0))
    m.add_frame("point", coupler.at(x, y, 0))
    m.add_driver("turn", "A", lambda t: t)
    return m.compile()


def adam(gradient, x, steps, rate):
    """x after steps of Adam; gradient(x) gives the value and its gradient. Also the values on the way, (steps,)."""

    def one(state, k):
        x, m, s = state
        value, g = gradient(x)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        s = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, s, g)
        way = jax.tree.map(lambda m, s: m / (1 - 0.9**k) / (jnp.sqrt(s / (1 - 0.999**k)) + 1e-12), m, s)
        return (jax.tree.map(lambda x, w: x - rate * w, x, way), m, s), value

    zero = jax.tree.map(jnp.zeros_like, x)
    (x, _, _), values = jax.jit(lambda x: jax.lax.scan(one, (x, zero, zero), jnp.arange(1.0, steps + 1)))(x)
    return x, values
