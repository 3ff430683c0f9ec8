"""The studio: a mechanism in the browser that is dragged, simulated, studied and saved; a server on this computer."""

from dalembert.studio.opening import Studio, studio

__all__ = ["Studio", "studio"]
