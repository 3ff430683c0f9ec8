"""Predictive control in one jitted function: Newton steps on the inputs of the next 15 steps, with exact Hessians.

The five-bar of the zoo is led from rest to another position of its first two joints. Each period the inputs of the last
one, moved on by a step, are improved by two Newton steps: gradient by the adjoint, Hessian forward over reverse.
"""

import jax
import jax.numpy as jnp

import dalembert.jax
from dalembert import zoo

jax.config.update("jax_enable_x64", True)
DT, AHEAD = 0.02, 15


def main(periods=60):
    """The distance of the two joints from where they are wanted, rad, at the beginning and at the end."""
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start(0.5))
    model = dalembert.jax.Model(system, x)
    wanted = jnp.array(x.q)[:2] + jnp.array([0.4, -0.3])

    def cost(u, q, v):
        qs, vs = model.rollout(q, v, u.reshape(AHEAD, 2), step=DT)
        return 50.0 * ((qs[:, :2] - wanted) ** 2).sum() + (vs[:, :2] ** 2).sum() + 1e-4 * (u**2).sum()

    @jax.jit
    def period(q, v, u):
        u = jnp.concatenate([u[2:], u[-2:]])
        for _ in range(2):
            H = jax.hessian(cost)(u, q, v)
            least = jnp.linalg.eigvalsh(H)[0]
            H = H + jnp.maximum(0.0, 1e-2 - least) * jnp.eye(len(u))
            u = u - jnp.linalg.solve(H, jax.grad(cost)(u, q, v))
        return *model.step(q, v, u[:2], step=DT), u

    q, v, u = jnp.array(x.q), jnp.array(x.v), jnp.zeros(2 * AHEAD)
    before = jnp.abs(q[:2] - wanted).max()
    for _ in range(periods):
        q, v, u = period(q, v, u)
    return {"before": before, "after": jnp.abs(q[:2] - wanted).max(), "speed": jnp.abs(v).max()}


if __name__ == "__main__":
    print(main())
