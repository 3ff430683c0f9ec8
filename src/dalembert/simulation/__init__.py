"""Simulation: stay on the manifold, pass through singularities, lose nothing."""
