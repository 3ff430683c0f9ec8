"""Friction of a bearing as a small network, identified from motions of the whole mechanism.

Recorded are motions of the cart with friction in its rail. The network's force is the input of the model; its weights
follow from Adam on the differences of the velocities.
"""

import jax
import jax.numpy as jnp
import numpy as np
from machines import adam, cart_with_parallelogram

import dalembert.jax

jax.config.update("jax_enable_x64", True)


def friction(v):
    """What is to be found: Stribeck's curve, N."""
    return -(1.5 + 1.0 * jnp.exp(-((v / 0.4) ** 2))) * jnp.tanh(v / 0.1) - 0.4 * v


def network(w, v):
    """Eight hidden units, odd in v."""
    return w["out"] @ jnp.tanh(w["slope"] * v + w["at"]) - w["out"] @ jnp.tanh(-w["slope"] * v + w["at"])


def main(iterations=400):
    """Differences of velocities before and after, m/s and rad/s, and of the force over speeds up to 1.5 m/s, N."""
    system = cart_with_parallelogram()
    x = system.assemble({"x": 0.0, "left": np.pi - 0.1})  # hanging
    model = dalembert.jax.Model(system, x)
    rng = np.random.default_rng(1)
    pushes = jnp.array(6.0 * np.sin(np.outer(rng.uniform(2, 8, 6), np.arange(120) * 0.01)))

    def motion(force, push):
        def step(state, push):
            q, v = model.step(*state, jnp.array([push + force(state[1][0])]), step=0.01)
            return (q, v), v

        return jax.lax.scan(step, (jnp.array(x.q), jnp.array(x.v)), push)[1]

    recorded = jax.jit(jax.vmap(lambda push: motion(friction, push)))(pushes)

    def cost(w):
        made = jax.vmap(lambda push: motion(lambda v: network(w, v), push))(pushes)
        return ((made - recorded) ** 2).mean()

    slopes = jnp.array(rng.uniform(1.0, 8.0, 8))
    start = {"out": jnp.zeros(8) - 0.01, "slope": slopes, "at": jnp.array(rng.normal(size=8) * 0.3)}
    found, costs = adam(jax.value_and_grad(cost), start, iterations, 0.02)
    v = jnp.linspace(-1.5, 1.5, 61)
    wrong = jax.vmap(lambda v: network(found, v))(v) - friction(v)
    return {"before": jnp.sqrt(costs[0]), "after": jnp.sqrt(cost(found)), "force": jnp.sqrt((wrong**2).mean())}


if __name__ == "__main__":
    print(main())
