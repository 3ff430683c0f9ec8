"""Functions of a mechanism with their derivatives, for libraries that differentiate programs (JAX, PyTorch).

A `Function` maps one vector to another, y = f(x; c), for many states at once, and has four pieces of machine code: f,
its tangent f′ δx, its adjoint wᵀf′, and the tangent of its adjoint. No Jacobian is formed.
"""
