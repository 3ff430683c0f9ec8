"""Runs pickle: arrays, evidence and, where no controller is needed, dense output; and they end when asked to."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo


@pytest.mark.parametrize("options", [{}, {"coordinates": "tangent"}, {"formulation": "nullspace"}], ids=str)
def test_a_run_comes_back_with_its_evidence_and_its_dense_output(options):
    system = zoo.five_bar().compile()
    run = da.simulate(system, system.state(*zoo.five_bar_start()), 1.0, **options)
    there = pickle.loads(pickle.dumps(run))
    for name in ("t", "q", "v", "u", "margin", "multipliers", "energy", "residuals"):
        np.testing.assert_array_equal(getattr(there, name), getattr(run, name), err_msg=name)
    assert (there.status, there.message, there.passages) == (run.status, run.message, run.passages)
    times = np.linspace(0, 1, 33)
    np.testing.assert_array_equal(there(times)[0], run(times)[0])
    assert there.state()["A"] == run.state()["A"]


def test_a_run_with_a_controller_comes_back_without_dense_output():
    m = da.Mechanism("cart")
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=2.0))
    m.add_motor("push", "x")
    run = da.simulate(m.compile(), {"x": 1.0}, 1.0, u=lambda t, s: [-s["x"]])
    there = pickle.loads(pickle.dumps(run))
    np.testing.assert_array_equal(there.q, run.q)
    with pytest.raises(da.ArgumentError, match="from another process with a controller"):
        there(0.5)


@pytest.mark.skipif(os.name == "nt", reason="signals of other processes are POSIX")
@pytest.mark.parametrize(
    "call",
    [
        "da.simulate(system, x, 1e9, method='rk4', step=1e-3, t_eval=[0.0, 1e9], max_steps=10**15)",
        "da.simulate(system, x, 1e9, t_eval=[0.0, 1e9], max_steps=10**15)",
        "da.simulate(system, x, 1e9, u=lambda t, s: [0.0], period=0.01, t_eval=[0.0, 1e9], max_steps=10**15)",
    ],
)
def test_ctrl_c_ends_a_run_and_returns_what_there_is(call):
    """The process answers a signal that comes while machine code runs; it would take hours otherwise."""
    code = f"""
        import signal
        import dalembert as da
        from dalembert import zoo
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a shell
        system = zoo.four_bar().compile()
        x = system.assemble({{"A": 0.6}}, v={{"A": 2.0}})
        da.simulate(system, x, 0.1)
        print("ready", flush=True)
        run = {call}
        print(run.status.name, run.steps > 0, flush=True)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().strip() == "ready"
        time.sleep(1.0)  # the run is under way
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[0].strip() == "INTERRUPTED True"
    finally:
        process.kill()
        process.communicate()
