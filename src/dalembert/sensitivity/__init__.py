"""Derivatives with respect to parameters: of states, equilibria, linear models and runs; what design needs of them."""
