"""The lengths of a four-bar whose coupler point draws a given curve, by Adam: loops closed at 36 crank angles at once.

The curve is that of a four-bar with other lengths, which are found again. `project` closes the loops for the lengths of
each iteration; its derivatives by them are exact.
"""

import jax
import jax.numpy as jnp
import numpy as np
from machines import adam, driven_four_bar

import dalembert.jax

jax.config.update("jax_enable_x64", True)


def main(iterations=800):
    """The largest distance from the curve before and after, m, and the lengths that were found and are meant."""
    system = driven_four_bar()
    angles = jnp.linspace(0.0, 2 * np.pi, 36, endpoint=False)
    closed, guess = [], {"B": 0.5, "D": 1.5}
    for t in np.array(angles):
        closed.append(system.assemble({"A": float(t)}, guess=guess, t=float(t)))
        guess = {name: closed[-1][name] for name in ("B", "D")}
    model = dalembert.jax.Model(system, closed[0])
    q = jnp.array([x.q for x in closed])
    meant = jnp.array(model.p) * jnp.array([1.08, 0.95, 1.06, 1.03, 0.9, 1.1])

    def curve(p):
        return model.position("point", model.project(q, None, p, t=angles)[0], p)[:, :2]

    target = curve(meant)

    def cost(p):
        return ((curve(p) - target) ** 2).sum(axis=-1).mean()

    def distance(p):
        return jnp.sqrt(((curve(p) - target) ** 2).sum(axis=-1)).max()

    found, _ = adam(jax.value_and_grad(cost), jnp.array(model.p), iterations, 2e-3)
    return {"before": distance(jnp.array(model.p)), "after": distance(found), "found": found, "meant": meant}


if __name__ == "__main__":
    print(main())
