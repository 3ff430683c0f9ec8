"""WebAssembly: its library of functions, its binary format, and what it refuses."""

import base64
import shutil
import subprocess

import casadi as ca
import numpy as np
import pytest

from dalembert.compiler import Kernel
from dalembert.compiler.wasm import IMPORTS, Memory, kernel_ir, wasm_module
from dalembert.compiler.wasm_binary import Reader, Wasm, leb, sections, signed
from dalembert.errors import CompileError
from live_in_node import ask

ONE = ("exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
       "atanh", "log1p", "expm1", "floor", "ceil", "fabs", "sign")  # fmt: skip
TWO = ("fmin", "fmax", "atan2", "hypot", "fmod", "remainder", "copysign")
CALL = """
const bytes = Buffer.from(given.code, "base64")
let memory = null
const { instance } = await WebAssembly.instantiate(bytes, { env: library(() => memory) })
memory = instance.exports.memory
const numbers = new Float64Array(memory.buffer)
return given.x.map(x => {
  numbers.set(x, 1024)
  instance.exports.f(8192, 16384, 32768)
  return Array.from(numbers.slice(2048, 2048 + given.n)).map(String)
})
"""


def in_node(function, x):
    code = wasm_module({"f": function}, Memory(end=1 << 17))
    found = ask(None, CALL, code=base64.b64encode(code).decode(), x=x.tolist(), n=function.numel_out(0))
    return np.array(found, dtype=float)


def test_every_operation_gives_the_numbers_of_the_machine_code():
    """Functions of the C library too, of small, large and negative arguments: 1e-12, or both are no number."""
    x = ca.SX.sym("x", 2)
    values = [getattr(ca, name)(x[0]) for name in ONE] + [getattr(ca, name)(x[0], x[1]) for name in TWO]
    values += [ca.power(x[0], x[1]), ca.if_else(x[0] < x[1], x[0], 2.0), 1.0 / x[0], x[0] * x[1] + x[0]]
    function = ca.Function("f", [x], [ca.vertcat(*values)], ["x"], ["y"])
    rng = np.random.default_rng(5)
    points = np.vstack(
        [rng.uniform(-1, 1, (20, 2)), rng.uniform(-30, 30, (20, 2)), [[1e6, 2.0], [0.5, 0.25], [3.0, 2.0]]]
    )
    expected = np.array([Kernel(function)(p) for p in points])
    found = in_node(function, points)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_long_kernels_are_cut_and_linked():
    """Four thousand operations are several functions in several modules, and still one."""
    x = ca.SX.sym("x", 3)
    y = x
    for k in range(700):
        y = ca.vertcat(ca.sin(y[1]) + 0.1 * y[0], y[2] * ca.cos(y[0]), y[0] - 0.3 * y[1] + 1e-3 * k)
    function = ca.Function("f", [x], [y], ["x"], ["y"])
    assert len(kernel_ir(function, "f")) > 1
    points = np.random.default_rng(1).normal(size=(4, 3))
    np.testing.assert_allclose(in_node(function, points), [Kernel(function)(p) for p in points], rtol=1e-9)


def test_what_browsers_do_not_have_is_said():
    x = ca.SX.sym("x")
    with pytest.raises(CompileError, match="call erf, which browsers do not have"):
        wasm_module({"f": ca.Function("f", [x], [ca.erf(x)])}, Memory())


def test_memory_holds_what_it_is_given():
    """Blocks with long runs of zeros arrive whole, and the stack is beyond them."""
    x = ca.SX.sym("x")
    block = bytes(40) + b"\x01\x02" + bytes(5000) + b"\x03" + bytes(7) + b"\x04" + bytes(300)
    code = wasm_module({"f": ca.Function("f", [x], [x + 1])}, Memory([(4096, block)], 4096 + len(block)))
    body = (
        "const { instance } = await WebAssembly.instantiate(Buffer.from(given.code, 'base64'), { env: {} });"
        "return Array.from(new Uint8Array(instance.exports.memory.buffer, 4096, given.n))"
    )
    found = ask(None, body, code=base64.b64encode(code).decode(), n=len(block))
    assert bytes(found) == block
    assert len(code) < 1000


@pytest.mark.parametrize("n", [0, 1, 63, 64, 127, 128, 300, 624485, 2**31 - 1])
def test_numbers_are_written_as_they_are_read(n):
    assert Reader(leb(n)).number() == n
    for x in (n, -n):
        data = signed(x)
        value = sum((b & 0x7F) << 7 * k for k, b in enumerate(data))
        assert value - (1 << 7 * len(data) if data[-1] & 0x40 else 0) == x


def test_the_module_is_what_a_linker_makes(tmp_path):
    """The code section is wasm-ld's but for the padding of numbers: both give the same answers."""
    linker = shutil.which("wasm-ld")
    if linker is None:
        pytest.skip("wasm-ld is not installed, the linker to compare with")
    from dalembert.compiler.wasm import _object

    x = ca.SX.sym("x", 2)
    function = ca.Function("f", [x], [ca.vertcat(ca.sin(x[0]) * x[1], ca.fmin(x[0], x[1]))], ["x"], ["y"])
    code = _object({"f": function})
    (tmp_path / "f.o").write_bytes(code)
    command = [linker, "--no-entry", "--export=f", "--export-table", "--allow-undefined", "f.o", "-o", "f.wasm"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    linked = base64.b64encode((tmp_path / "f.wasm").read_bytes()).decode()
    points = np.random.default_rng(2).normal(size=(5, 2))
    found = np.array(ask(None, CALL, code=linked, x=points.tolist(), n=2), dtype=float)
    np.testing.assert_array_equal(found, in_node(function, points))
    assert set(Wasm.read(code).functions) >= {"f"}


def test_other_bytes_are_refused():
    with pytest.raises(ValueError, match="not WebAssembly"):
        list(sections(b"\x7fELF" + bytes(20)))


def test_javascript_has_every_function_that_code_may_call():
    missing = set(IMPORTS) - set(ask(None, "return Object.keys(library(() => null))"))
    assert not missing
