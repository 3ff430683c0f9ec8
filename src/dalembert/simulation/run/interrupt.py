"""Ctrl-C during a run: it ends where it is, with everything computed so far."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable
from typing import Any


class Interrupt:
    """From `watch` on, the first Ctrl-C asks the run and its callbacks to end; a second one interrupts as usual.

    A signal that raised wherever it is seen would come between the native loop and its history, and lose records. Runs
    that end within the first call of the native loop do not watch: setting a handler would take longer. A run of many
    segments has one, entered for each of them and for the whole: it also watches while the structure changes.
    """

    def __init__(self, callbacks: Iterable[Any] = ()):
        self.callbacks, self._signalled, self._depth = list(callbacks), False, 0  # those that act now
        self._old: Any = None

    @property
    def asked(self) -> bool:
        """Whether the run is to end: by a signal, or by a callback that raised KeyboardInterrupt."""
        return self._signalled or (bool(self.callbacks) and any(c.interrupted for c in self.callbacks))

    def stop(self) -> None:
        """Ask the run to end, from another thread."""
        self._signalled = True

    def watch(self) -> None:
        """Take over Ctrl-C, in the main thread, unless somebody else has."""
        ours = self._old is None and threading.current_thread() is threading.main_thread()
        if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._old = signal.signal(signal.SIGINT, self._ask)

    def _ask(self, *_: Any) -> None:
        self._signalled = True
        for callback in self.callbacks:
            callback.interrupted = True
        signal.signal(signal.SIGINT, self._old)

    def __enter__(self) -> None:
        self._depth += 1
        if self.callbacks:  # their calls take longer
            self.watch()

    def __exit__(self, *_: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and self._old is not None:
            signal.signal(signal.SIGINT, self._old)
