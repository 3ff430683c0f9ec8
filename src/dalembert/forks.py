"""Forked processes: locks that they find free, and work that is not cut in two.

A process is forked with the thread that forks alone. A lock that another thread held at that time stays locked in it,
for good, and what the lock protects may be half changed. So the forking thread takes our locks first, and both
processes give them back. Locks inside of CasADi, and those of modules that Python is importing, are not ours: a fork
waits until threads have left the parts that use them (`undisturbed`), for WAIT seconds at most.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Lock = TypeVar("Lock", bound=Any)

WAIT = 30.0  # s: longer than tracing and compiling all but the largest mechanisms takes
_locks: list[Any] = []
_own = threading.local()  # depth: of this thread's undisturbed parts


class _Gate:
    """How many threads are in undisturbed parts, and whether a fork waits for them."""

    def __init__(self) -> None:
        self.changed, self.inside, self.forking = threading.Condition(), 0, 0


_gate = _Gate()


def held_over_forks(lock: Lock) -> Lock:
    """The lock, which is held while a process is forked.

    Locks made later are taken first: one that is held while another is taken has to be made after it, as modules that
    import others are. Forking inside of the lock would wait for ever.
    """
    _locks.append(lock)
    return lock


@contextmanager
def undisturbed() -> Iterator[None]:
    """A part in which threads trace, compile or import: no process is forked by others meanwhile."""
    depth = getattr(_own, "depth", 0)
    _own.depth = depth + 1
    gate = _gate
    if not depth:
        with gate.changed:
            gate.changed.wait_for(lambda: not gate.forking, WAIT)
            gate.inside += 1
    try:
        yield
    finally:
        _own.depth = depth
        if not depth:
            with gate.changed:
                gate.inside -= 1
                gate.changed.notify_all()


def _before() -> None:
    gate, own = _gate, int(getattr(_own, "depth", 0) > 0)
    with gate.changed:
        gate.forking += 1
        free = gate.changed.wait_for(lambda: gate.inside <= own, WAIT)
    if not free:
        warnings.warn(
            f"a process is forked while another thread has been compiling a mechanism for {WAIT:g} s: the new process "
            "may wait for ever for what that thread holds. Start processes before threads, or by "
            "multiprocessing.get_context('spawn').",
            RuntimeWarning,
            stacklevel=2,
        )
    for lock in reversed(_locks):
        lock.acquire()


def _in_parent() -> None:
    for lock in _locks:
        lock.release()
    with _gate.changed:
        _gate.forking -= 1
        _gate.changed.notify_all()


def _in_child() -> None:
    global _gate
    for lock in _locks:
        lock.release()
    _gate = _Gate()  # threads of the other process are not here
    _gate.inside = int(getattr(_own, "depth", 0) > 0)


if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
