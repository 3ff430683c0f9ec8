"""Control updates in machine code: their workspaces, and the Numba kernels."""
