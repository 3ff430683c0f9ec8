"""Mechanisms in JAX: steps, rollouts, dynamics and kinematics under jit, vmap, grad and jvp, in machine code.

    model = dalembert.jax.Model(system)
    q, v = model.rollout(q, v, u, p, step=1e-3)

Needs the extra `jax`, and 64-bit numbers: `jax.config.update("jax_enable_x64", True)`.
"""

from __future__ import annotations

from dalembert.errors import extra

extra("jax", "jax", "dalembert.jax")

from dalembert.jax.model import Model  # noqa: E402

__all__ = ["Model"]
