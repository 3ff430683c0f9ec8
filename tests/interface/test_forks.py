"""Processes forked while threads compute, and while they import and compile for the first time."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

COMPILING = """
    import os, random, signal, threading, time

    def churn(k):
        from dalembert import zoo
        while True:
            k += 1
            system = zoo.four_bar(rocker=0.4 + 1e-6 * k + 1e-3 * random.random()).compile()
            system.acceleration(system.assemble({"A": 0.6}))

    def child():
        signal.alarm(60)  # ends what hangs
        from dalembert import zoo
        system = zoo.slider_crank().compile()
        system.acceleration(system.state(*zoo.slider_crank_start(1.0)))
        os._exit(0)

    if WARM:
        from dalembert import zoo
        zoo.four_bar().compile().report()  # whatever is imported late is
    for k in range(3):
        threading.Thread(target=churn, args=(1000 * k,), daemon=True).start()
    ends = []
    for k in range(6):
        time.sleep(random.random() * 0.3)
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


TOO_LONG = """
    import os, threading, warnings
    from dalembert import forks

    def compiling():
        with forks.undisturbed():
            started.set()
            threading.Event().wait()

    forks.WAIT, started = 0.2, threading.Event()
    threading.Thread(target=compiling, daemon=True).start()
    started.wait()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        process = os.fork()
        if not process:
            with forks.undisturbed(), forks.undisturbed():
                os._exit(3)
    known = any("may wait for ever" in str(x.message) and "spawn" in str(x.message) for x in said)
    print(known, os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
    os._exit(0)
"""
INSIDE = """
    import os
    from dalembert import forks

    with forks.undisturbed():
        process = os.fork()
        if not process:
            os._exit(4)
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""
SCRIPTS = {
    "compiling": (f"WARM = True\n{textwrap.dedent(COMPILING)}", "[0, 0, 0, 0, 0, 0]"),
    "importing": (f"WARM = False\n{textwrap.dedent(COMPILING)}", "[0, 0, 0, 0, 0, 0]"),
    "one of many": (ONE_OF_MANY, "3"),
    "for too long": (TOO_LONG, "True 3"),
    "inside of its own": (INSIDE, "4"),
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this platform")
@pytest.mark.parametrize(("script", "answer"), SCRIPTS.values(), ids=SCRIPTS)
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
