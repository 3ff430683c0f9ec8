"""`Model` for arrays of JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from dalembert.errors import ArgumentError
from dalembert.export.differentiable import model
from dalembert.export.differentiable.function import DifferentiableFunction
from dalembert.jax.primitives import evaluate

_config: Any = jax.config


class JaxArrays:
    """Arrays of JAX."""

    def array(self, x: Any, what: str) -> jax.Array:
        """x as float64."""
        if not _config.jax_enable_x64:
            raise ArgumentError(
                "mechanisms are computed in float64, which JAX has switched off: loops that are closed to 1e-12 would "
                'not stay so in float32. Begin the program with jax.config.update("jax_enable_x64", True).'
            )
        try:
            found = jnp.asarray(x)
        except (TypeError, ValueError, OverflowError) as error:
            raise ArgumentError(f"{what} is a {type(x).__name__}; needed: an array of numbers ({error}).") from None
        if found.dtype == jnp.float32:
            raise ArgumentError(f"{what} is float32; needed: float64, as in {what}.astype('float64').")
        if not jnp.issubdtype(found.dtype, jnp.floating) and not jnp.issubdtype(found.dtype, jnp.integer):
            raise ArgumentError(f"{what} is {found.dtype}; needed: float64.")
        return found.astype(jnp.float64)

    def apply(self, f: DifferentiableFunction, x: jax.Array, c: jax.Array) -> jax.Array:
        """f(x; c)."""
        return evaluate(f, x, jax.lax.stop_gradient(c))

    def concatenate(self, parts: list[jax.Array]) -> jax.Array:
        """Along the last axis."""
        return jnp.concatenate(parts, axis=-1)

    def broadcast(self, x: jax.Array, shape: tuple[int, ...]) -> jax.Array:
        """x in a larger shape."""
        return jnp.broadcast_to(x, shape)

    def norm(self, x: jax.Array) -> jax.Array:
        """Along the last axis."""
        return jnp.sqrt((x * x).sum(axis=-1, keepdims=True))


class Model(model.DifferentiableModel):
    __doc__ = model.DifferentiableModel.__doc__
    _arrays = JaxArrays()
