"""Functions that Numba compiles, kept as machine code: found again, made anew when sources change, free of Numba."""

import ctypes
import math
import subprocess
import sys

import numba
import numpy as np
import pytest

from dalembert.compiler import cache, loops
from dalembert.compiler.memory import array_at, floats, integers, jump, matrix, vector

OPTIONS = {"error_model": "numpy", "_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def mean_and_exponent(x, y, w):
    """y[0] = mean of the vector that x[0] tells the length of; y[1] = exponent of 2 in it; y[2] = pow."""
    n = int(floats(x)[0])
    values, out = array_at(x, (n + 1,)), floats(y)
    total = 0.0
    for i in range(n):
        total += values[1 + i]
    out[0] = total / n
    out[1] = math.frexp(out[0])[1]
    out[2] = total**0.3


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))
    cache._prepared.cache_clear()
    yield tmp_path
    cache._prepared.cache_clear()


def made():
    return numba.njit(**OPTIONS)(mean_and_exponent), (numba.int64,) * 3


def never():
    raise AssertionError("compiled again")


def ask(address, values):
    x, y = np.array([len(values), *values], dtype=float), np.zeros(3)
    status = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3)(address)(x.ctypes.data, y.ctypes.data, 0)
    assert status == 0
    return y


def test_a_function_gives_its_numbers_and_is_found_again(folder):
    values = [3.0, 4.0, 11.0]
    expected = [6.0, 3.0, 18.0**0.3]
    np.testing.assert_allclose(ask(loops.machine_code("mean", [folder], made), values), expected, rtol=1e-15)
    np.testing.assert_allclose(ask(loops.machine_code("mean", [folder], never), values), expected, rtol=1e-15)
    loops._loaded.popitem()
    np.testing.assert_allclose(ask(loops.machine_code("mean", [folder], never), values), expected, rtol=1e-15)


def test_it_is_made_anew_when_a_source_or_the_name_changes_or_the_file_is_damaged(folder):
    source = folder / "source.py"
    source.write_text("a = 1")
    loops.machine_code("mean", [folder], made)
    with pytest.raises(AssertionError, match="compiled again"):
        loops.machine_code("another", [folder], never)
    source.write_text("a = 2")
    with pytest.raises(AssertionError, match="compiled again"):
        loops.machine_code("mean", [folder], never)
    source.write_text("a = 1")
    loops.machine_code("mean", [folder], never)
    loops._loaded.popitem()
    (kept,) = (folder / "cache").glob("*.bin")
    kept.write_bytes(kept.read_bytes()[:-1])
    with pytest.raises(AssertionError, match="compiled again"):
        loops.machine_code("mean", [folder], never)


def test_blocks_are_cut_alike_in_python_and_natively():
    def cut(block, m, n):
        a, at = vector(block, 1, n)
        b, at = matrix(block, at, m, n)
        c, at = integers(block, at, m)
        a[0] += 1.0
        b[m - 1, n - 1] += 2.0
        c[m - 1] += 3
        return at

    ours, theirs = np.arange(40.0), np.arange(40.0)
    assert cut(ours, 2, 3) == numba.njit(cut)(theirs, 2, 3) == 1 + 3 + 6 + 2
    np.testing.assert_array_equal(ours.view(np.int64), theirs.view(np.int64))
    assert ours[1] == 2.0
    assert ours[9] == 11.0


def test_a_jump_calls_what_stands_at_an_address(folder):
    address = loops.machine_code("mean", [folder], made)
    x, y = np.array([2.0, 1.0, 3.0]), np.zeros(3)

    @numba.njit
    def through(address, x, y):
        jump(address, x, y, 0)

    through(address, x.ctypes.data, y.ctypes.data)
    assert y[0] == 2.0


PROGRAM = """
import sys
import dalembert as da
from dalembert import zoo
system = zoo.five_bar().compile()
state = system.state(*zoo.five_bar_start())
low = da.expression(lambda t, s: s["A"])
run = da.simulate(system, state, 1.0, events={"low": low})
assert run.success and run.passages, run
assert len(run(0.5).q) == 4
for method, options in (("rk4", {"step": 1e-2}), ("sdirk4", {}), ("variational", {"step": 1e-2})):
    assert da.simulate(system, state, 0.1, method=method, **options).success
assert da.simulate(system, state, 0.1, formulation="nullspace").success
print("numba" in sys.modules)
"""


def test_a_later_process_simulates_without_numba():
    """Through a singular position, with events, dense output and every method, once all of it has been compiled."""
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", PROGRAM], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "False"
