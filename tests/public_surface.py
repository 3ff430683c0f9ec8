"""Every public callable: the names of `dalembert`, of its four packages, and the public methods of their classes."""

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import dalembert as da

PACKAGES: tuple[ModuleType, ...] = (da, da.analysis, da.control, da.view, da.zoo, da.zoo.exact)


def names_of(package: ModuleType) -> list[str]:
    """Its public names."""
    named = getattr(package, "__all__", None)
    return [n for n in (named or vars(package)) if not n.startswith("_") and not _foreign(package, n)]


def _foreign(package: ModuleType, name: str) -> bool:
    """Whether a name of a module without `__all__` was imported from elsewhere."""
    value = getattr(package, name)
    if inspect.ismodule(value):
        return True
    return not hasattr(package, "__all__") and getattr(value, "__module__", "") != package.__name__


def public_objects() -> dict[str, Any]:
    """{dotted name: function or class}, each object once."""
    found: dict[int, tuple[str, Any]] = {}
    for package in PACKAGES:
        for name in names_of(package):
            value = getattr(package, name)
            if callable(value):
                found.setdefault(id(value), (f"{package.__name__}.{name}", value))
    return dict(found.values())


def public_callables() -> Iterator[tuple[str, Any, Any]]:
    """(dotted name, callable, the class whose docstring may also document its parameters)."""
    for name, value in public_objects().items():
        yield name, value, None
        if inspect.isclass(value):
            for method in sorted(dir(value)):
                raw = inspect.getattr_static(value, method)
                if isinstance(raw, (staticmethod, classmethod)):
                    raw = raw.__func__
                if not inspect.isfunction(raw) or not raw.__module__.startswith("dalembert"):
                    continue
                if method == "__call__" or not method.startswith("_"):
                    yield f"{name}.{method}", raw, value
