"""Locks that a forked process finds free.

A process is forked with the thread that forks alone. A lock that another thread held at that time stays locked in it,
for good, and what the lock protects may be half changed. So the forking thread takes these locks first, and both
processes give them back.
"""

from __future__ import annotations

import os
from typing import Any, TypeVar

Lock = TypeVar("Lock", bound=Any)


def held_over_forks(lock: Lock) -> Lock:
    """The lock, which is held while a process is forked.

    Locks made later are taken first: one that is held while another is taken has to be made after it, as modules that
    import others are. Forking inside of the lock would wait for ever.
    """
    if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock
