"""Lanes: threads that work off jobs one after another, so that nothing the page asks for waits for something slow.

A job that waits is replaced by a newer one with its key; one that runs is told to stop.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class Job:
    """A piece of work with a key; `cancelled` tells it that nobody waits for its answer any more."""

    def __init__(self, key: str, work: Callable[[Job], None], label: str = ""):
        self.key, self.work, self.label = key, work, label
        self._cancelled, self.on_cancel = threading.Event(), lambda: None

    @property
    def cancelled(self) -> bool:
        """Whether to stop."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Ask it to stop."""
        self._cancelled.set()
        self.on_cancel()


class Lane:
    """A thread for jobs. tell(lane, label) is called when one with a label begins, and with "" at its end."""

    def __init__(self, name: str, tell: Callable[[str, str], None], failed: Callable[[str, BaseException], None]):
        self.name, self._tell, self._failed = name, tell, failed
        self._waiting: dict[str, Job] = {}
        self._running: Job | None = None
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name=f"studio {name}", daemon=True)
        self._thread.start()

    def submit(self, key: str, work: Callable[[Job], None], label: str = "") -> Job:
        """Do this next, in place of what waits or runs under the same key."""
        job = Job(key, work, label)
        with self._changed:
            self._waiting.pop(key, None)
            self._waiting[key] = job
            running = self._running
            self._changed.notify_all()
        if running is not None and running.key == key:
            running.cancel()
        return job

    def cancel(self, key: str = "") -> None:
        """Stop the jobs of a key, or all."""
        with self._changed:
            for name in [n for n in self._waiting if key in ("", n)]:
                self._waiting.pop(name).cancel()
            running = self._running
        if running is not None and key in ("", running.key):
            running.cancel()

    def idle(self, seconds: float = 60.0) -> bool:
        """Wait until there is nothing to do."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and self._running is None, seconds)

    def close(self) -> None:
        """Stop for good."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self.cancel()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting) or self._closed)
                if self._closed:
                    return
                key = next(iter(self._waiting))
                job = self._running = self._waiting.pop(key)
            try:
                if job.label:
                    self._tell(self.name, job.label)
                job.work(job)
            except BaseException as error:
                if not job.cancelled:
                    self._failed(job.key, error)
            finally:
                if job.label:
                    self._tell(self.name, "")
                with self._changed:
                    self._running = None
                    self._changed.notify_all()
