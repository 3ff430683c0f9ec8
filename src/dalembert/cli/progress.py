"""Progress of long work: a line on stderr, after a second, on a terminal only."""

from __future__ import annotations

import sys
import time
from types import TracebackType


class Progress:
    """`with Progress("sweeping") as progress: progress(0.3)`."""

    def __init__(self, what: str):
        self.what, self.shown, self.next = what, False, time.monotonic() + 1.0

    def __call__(self, done: float) -> None:
        """Show the part that is done, 0 to 1."""
        if time.monotonic() > self.next and sys.stderr.isatty():
            sys.stderr.write(f"\r{self.what}: {100 * done:.0f} %")
            sys.stderr.flush()
            self.shown, self.next = True, time.monotonic() + 0.1

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.shown:
            sys.stderr.write("\r" + " " * 60 + "\r")
