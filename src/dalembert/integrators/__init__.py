"""Integrators: tables apart from logic, one file a family."""
