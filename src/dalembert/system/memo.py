"""What other packages make of a system, kept with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MOST = 32  # things that are kept


class Memo:
    """Values by hashable keys; the oldest are dropped.

    >>> memo = Memo()
    >>> memo("answer", lambda: 42), memo("answer", lambda: 43)
    (42, 42)
    """

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self._known)

    def __call__(self, key: Any, make: Callable[[], Any]) -> Any:
        """The value of a key; make: the function that makes it when it is first asked for."""
        found = self._known.get(key)
        if found is None:
            oldest, *others = (*self._known, None)  # a copy: other threads may add to it
            if len(others) >= MOST:
                self._known.pop(oldest, None)
            found = self._known[key] = make()
        return found
