"""Attributes that are computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")
Self = TypeVar("Self", bound="cached_property[Any]")


class cached_property(Generic[T]):
    """An attribute that is computed once for each instance and kept in its `__dict__`, under its own name.

    As that of `functools`, without a lock: Python 3.11 has one for all instances of a class, which a process forked
    while another thread computes inherits locked, for good. Threads that ask at the same time may all compute it; the
    first to be done decides what everyone gets.

    >>> class Circle:
    ...     radius = 2.0
    ...     @cached_property
    ...     def area(self):
    ...         return 3.0 * self.radius**2
    >>> circle = Circle()
    >>> circle.area, vars(circle)
    (12.0, {'area': 12.0})
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function, self.name = function, function.__name__
        self.__doc__, self.__module__ = function.__doc__, function.__module__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self: Self, instance: None, owner: type | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return instance.__dict__.setdefault(self.name, self.function(instance))
