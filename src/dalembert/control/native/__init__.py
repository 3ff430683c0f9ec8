"""Numba kernels of control."""
