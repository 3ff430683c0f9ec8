"""Processes forked while threads compute; not while they import, which Python itself does not support."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

COMPILING = """
    import os, random, signal, threading, time
    from dalembert import zoo

    def churn(k):
        while True:
            k += 1
            system = zoo.four_bar(rocker=0.4 + 1e-6 * k + 1e-3 * random.random()).compile()
            system.acceleration(system.assemble({"A": 0.6}))

    def child():
        signal.alarm(20)  # ends what hangs
        system = zoo.slider_crank().compile()
        system.acceleration(system.state(*zoo.slider_crank_start(1.0)))
        os._exit(0)

    warm = zoo.four_bar().compile()  # imports what is imported late: Python's locks of modules are not ours to hold
    warm.acceleration(warm.assemble({"A": 0.6}))
    for k in range(3):
        threading.Thread(target=churn, args=(1000 * k,), daemon=True).start()
    ends = []
    for k in range(6):
        time.sleep(0.15)
        process = os.fork()
        if not process:
            child()
        ends.append(os.waitpid(process, 0)[1])
    print(ends, flush=True)
    os._exit(0)
"""
ONE_OF_MANY = """
    import os, signal, threading
    from dalembert.lazy import cached_property

    class Slow:
        @cached_property
        def value(self):
            if self.waits:
                started.set()
                threading.Event().wait()
            return 3

    started, one, other = threading.Event(), Slow(), Slow()
    one.waits, other.waits = True, False
    threading.Thread(target=lambda: one.value, daemon=True).start()
    started.wait()
    process = os.fork()
    if not process:
        signal.alarm(20)
        os._exit(other.value)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
    os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this platform")
@pytest.mark.parametrize(("script", "answer"), [(COMPILING, "[0, 0, 0, 0, 0, 0]"), (ONE_OF_MANY, "3")])
def test_a_process_forked_while_threads_compute_does_not_hang(script, answer):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=200)
    assert done.stdout.strip() == answer, done.stderr[-2000:]


def test_threads_that_ask_at_the_same_time_get_one_value():
    """The barrier makes both compute it; the first to be done decides."""
    import threading

    from dalembert.lazy import cached_property

    class Shared:
        meet = threading.Barrier(2, timeout=20)

        @cached_property
        def value(self):
            self.meet.wait()
            return object()

    shared, got = Shared(), []
    threads = [threading.Thread(target=lambda: got.append(shared.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got[0] is got[1] is shared.value
