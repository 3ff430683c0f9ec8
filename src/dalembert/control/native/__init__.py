"""Numba kernels of control; `linalg.freshness` watches this folder."""
