"""Mechanisms as pages that are alive: their own kernels and the native loop as WebAssembly, in one HTML file."""

from dalembert.live.export import export_html

__all__ = ["export_html"]
