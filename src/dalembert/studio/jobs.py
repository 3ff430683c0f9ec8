"""Lanes: threads that work off jobs one after another, so that nothing the page asks for waits for something slow.

A job that waits is replaced by a newer one with its key. One that runs is cancelled: `Stopped` is raised in its thread,
as Ctrl-C does in a terminal. Machine code does not notice that before it returns, so the lane does not wait: another
thread takes the next job at once, and the old one ends with its job.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable

AGAIN = 2.0  # s until a thread that went on is asked to stop once more
SHORT = 2e-3  # s between looks of a thread that waits for another


class Stopped(BaseException):
    """Raised in the thread of a job that was cancelled."""


class Job:
    """A piece of work with a key; a job with a label is slow.

    progress: a function that returns the part that is done, 0 to 1, if it is known. on_cancel: stops machine code.
    """

    def __init__(self, key: str, work: Callable[[Job], None], label: str = ""):
        self.key, self.work, self.label = key, work, label
        self.on_cancel: Callable[[], None] = lambda: None
        self.progress: Callable[[], float] | None = None
        self._lock, self._cancelled, self._taken = threading.RLock(), False, False
        self.over = False  # its work is done
        self.released = False  # after it was cancelled: `Stopped` does not come any more

    @property
    def cancelled(self) -> bool:
        """Whether to stop."""
        return self._cancelled

    def cancel(self) -> bool:
        """Ask it to stop; False where its answer was taken already."""
        with self._lock:
            if self._taken:
                return False
            self._cancelled = True
        self.on_cancel()
        return True

    def take(self) -> bool:
        """Whether the answer still counts; from then on the job cannot be cancelled."""
        with self._lock:
            self._taken = not self._cancelled
            return self._taken

    def carry_out(self) -> BaseException | None:
        """Do the work; the error it ended with, if its answer still counts.

        `Stopped` comes at any place, also in a lock, which would then stay closed. So it ends in here: the thread takes
        no lock of others, and does not end, before `Stopped` cannot come any more.
        """
        begun, error = False, None
        while True:
            try:
                if not begun:
                    begun = True
                    self.work(self)
                if self.take():
                    return error
                self.over = True
                while not self.released:
                    time.sleep(SHORT)
                return None
            except Stopped:
                continue
            except BaseException as raised:
                error = raised


class Lane:
    """A thread for jobs. tell(lane, label) is called when one with a label begins, and with "" at its end."""

    def __init__(self, name: str, tell: Callable[[str, str], None], failed: Callable[[str, BaseException], None]):
        self.name, self._tell, self._failed = name, tell, failed
        self._waiting: dict[str, Job] = {}
        self._running: Job | None = None
        self._changed = threading.Condition()
        self._closed = False
        _expect_stopped()
        self._begin()

    @property
    def running(self) -> Job | None:
        """The job under way."""
        return self._running

    def submit(self, key: str, work: Callable[[Job], None], label: str = "") -> Job:
        """Do this next, in place of what waits or runs under the same key."""
        self.cancel(key)
        job = Job(key, work, label)
        with self._changed:
            self._waiting.pop(key, None)
            self._waiting[key] = job
            self._changed.notify_all()
        return job

    def cancel(self, key: str = "") -> list[str]:
        """Stop the jobs of a key, or all; returns the labels of those that were stopped."""
        with self._changed:
            found = [self._waiting.pop(name) for name in list(self._waiting) if key in ("", name)]
            running, thread = self._running, self._thread
        if running is not None and key in ("", running.key):
            found.append(running)
        stopped = [job for job in found if job.cancel()]
        if running in stopped and running is not None:
            if running.label:
                self._leave(running, thread)
            else:
                running.released = True  # soon over by itself
        return [job.label for job in stopped if job.label]

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

    def _begin(self) -> None:
        self._thread = threading.Thread(target=self._work, name=f"studio {self.name}", daemon=True)
        self._thread.start()

    def _leave(self, job: Job, thread: threading.Thread) -> None:
        """Leave a thread to its cancelled job, and go on in another one."""
        with self._changed:
            if self._running is not job:
                return  # left already
            self._ended(job)
            self._begin()
        threading.Thread(target=_interrupt, args=(thread, job), name=f"studio {self.name} ends", daemon=True).start()

    def _ended(self, job: Job) -> None:
        self._running = None
        if job.label:
            self._tell(self.name, "")
        self._changed.notify_all()

    def _work(self) -> None:
        while self._one_more():
            pass

    def _one_more(self) -> bool:
        """Work off a job; False where another thread goes on, or nobody."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting) or self._closed)
            if self._closed:
                return False
            job = self._running = self._waiting.pop(next(iter(self._waiting)))
            if job.label:
                self._tell(self.name, job.label)
        error = job.carry_out()
        if error is not None:
            self._failed(job.key, error)
        with self._changed:
            if self._running is not job:
                return False
            self._ended(job)
        return True


def _expect_stopped() -> None:
    """Let Python not print `Stopped` that comes inside of a destructor, where it is lost; it comes again."""
    before = sys.unraisablehook
    if getattr(before, "expects_stopped", False):
        return

    def hook(found: sys.UnraisableHookArgs) -> None:
        if found.exc_type is not Stopped:
            before(found)

    hook.expects_stopped = True  # type: ignore[attr-defined]
    sys.unraisablehook = hook


def _interrupt(thread: threading.Thread, job: Job) -> None:
    """Raise `Stopped` in the thread of a job; again after a while, as machine code that calls Python may swallow it."""
    while not job.over and thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Stopped))
        asked = time.perf_counter()
        while not job.over and time.perf_counter() < asked + AGAIN:
            time.sleep(SHORT)
    job.released = True
