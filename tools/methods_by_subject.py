"""Methods that a class names in its body, `pose = frames.pose`, shown on the reference page as its own."""

import inspect
from pkgutil import resolve_name
from typing import Any

import griffe

CLASSES = ("system.system.System",)  # of the package


class MethodsBySubject(griffe.Extension):
    """Loaded by mkdocstrings; see mkdocs.yml."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Put a copy of each function in the place of the attribute that names it."""
        if pkg.name != "dalembert":
            return
        for path in CLASSES:
            module, _, name = path.rpartition(".")
            for attribute, function in vars(getattr(resolve_name(f"dalembert.{module}"), name)).items():
                if inspect.isfunction(function) and function.__qualname__ == attribute:
                    known = pkg[f"{function.__module__.partition('.')[2]}.{attribute}"]
                    _, *parameters = known.parameters
                    method = griffe.Function(
                        attribute,
                        parameters=griffe.Parameters(*parameters),
                        returns=known.returns,
                        docstring=known.docstring,
                        lineno=pkg[path].lineno,
                    )
                    pkg[path].set_member(attribute, method)
