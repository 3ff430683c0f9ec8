"""Calling kernels: results, conversions, messages, pickling."""

import pickle
import subprocess
import sys
import threading

import casadi as ca
import numpy as np
import pytest

from dalembert.compiler import Kernel
from dalembert.errors import ArgumentError, CompileError


def arm():
    """Two vectors and a number in; a vector, a matrix and a number out."""
    q, v, t = ca.SX.sym("q", 3), ca.SX.sym("v", 2), ca.SX.sym("t")
    f = ca.Function("arm", [q, v, t], [ca.sin(q) * t, q @ v.T, ca.dot(q, q) + t], ["q", "v", "t"], ["a", "b", "c"])
    return f


def expected(q, v, t):
    return np.sin(q) * t, np.outer(q, v), q @ q + t


Q, V, T = np.array([0.1, -0.2, 0.3]), np.array([2.0, 3.0]), 0.5


@pytest.fixture(params=["native", "casadi"], scope="module")
def kernel(request):
    return Kernel(arm(), backend=request.param)


def agree(found, needed=None):
    for a, b in zip(found, expected(Q, V, T) if needed is None else needed, strict=True):
        assert np.allclose(a, b, rtol=1e-15)
        assert np.shape(a) == np.shape(b)


def test_a_kernel_says_what_it_is(kernel):
    assert (kernel.name, kernel.n_in, kernel.names_in) == ("arm", (3, 2, 1), ("q", "v", "t"))
    assert kernel.shapes_out == ((3,), (3, 2), ())
    assert (kernel.x_size, kernel.y_size, kernel.lanes) == (6, 10, 1)
    assert kernel.address > 0
    assert kernel.instructions > 0
    assert "arm(q[3], v[2], t[1])" in repr(kernel)


def test_outputs_are_new_arrays_and_1x1_outputs_are_numpy_floats(kernel):
    a, b, c = kernel(Q, V, np.array([T]))
    agree((a, b, c))
    assert type(a) is type(b) is np.ndarray
    assert type(c) is np.float64
    again = kernel(Q + 1, V, T)
    agree((a, b, c))
    assert not np.shares_memory(a, again[0])
    assert a.flags.owndata
    assert a.flags.writeable


class Sub(np.ndarray):
    pass


@pytest.mark.parametrize(
    "convert",
    [
        list,
        tuple,
        lambda a: np.repeat(a, 2)[::2],
        lambda a: np.array(a, ">f8"),
        lambda a: np.array(a)[::-1].copy()[::-1],
        lambda a: np.array(a).view(Sub),
        lambda a: np.frombuffer(b"\0" + np.array(a).tobytes(), np.uint8)[1:].view("f8"),  # not aligned
        lambda a: np.array(a, object).astype(float).copy(),
    ],
    ids=["list", "tuple", "strided", "big-endian", "reversed", "subclass", "unaligned", "copied"],
)
def test_inputs_of_other_kinds_are_converted(kernel, convert):
    agree(kernel(convert(Q), convert(V), T))
    agree(kernel(Q, V, convert(np.array([T]))))


def test_integers_booleans_and_single_precision_are_converted(kernel):
    agree(kernel([1, 2, 3], np.array([True, False]), 2), expected(np.array([1, 2, 3]), np.array([1.0, 0.0]), 2))
    agree(kernel(Q.astype(np.float32).astype(float), V.astype(np.float32), np.float32(T)),
          expected(Q.astype(np.float32).astype(float), V, T))  # fmt: skip
    for number in (T, np.float64(T), np.array(T), [T], np.array([T])):
        agree(kernel(Q, V, number))


def test_results_go_into_out_and_out_comes_back(kernel):
    out = (np.empty(3), np.empty((3, 2)), np.empty(()))
    assert kernel(Q, V, T, out=out) is out
    agree(out)
    listed = [np.zeros(3), np.zeros((3, 2)), np.zeros(())]
    assert kernel(Q, V, T, out=listed) is listed
    agree(listed)
    strided = (np.zeros(6)[::2], np.zeros((2, 3)).T, np.zeros((2, 2))[1, 1, ...])
    kernel(Q, V, T, out=strided)
    agree(strided)
    agree(kernel(Q, V, T, out=None))


def test_out_may_be_an_input():
    x = ca.SX.sym("x", 4)
    kernel = Kernel(ca.Function("reverse", [x], [ca.vertcat(x[3], x[2], x[1], x[0])]))
    a = np.arange(4.0)
    assert kernel(a, out=a) is a
    assert np.array_equal(a, [3, 2, 1, 0])
    many = np.arange(12.0).reshape(3, 4)
    kernel.batch(many, out=many)
    assert np.array_equal(many, np.arange(12.0).reshape(3, 4)[:, ::-1])
    table = np.arange(8.0)
    kernel.batch(table[:4].reshape(1, 4), out=table[2:6].reshape(1, 4))
    assert np.array_equal(table, [0, 1, 3, 2, 1, 0, 6, 7])


def frozen(*shape):
    array = np.zeros(shape)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((Q, V), ["'arm' got 2 inputs", "needs 3", "'t' of length 1"]),
        ((Q, V, T, T), ["got 4 inputs"]),
        ((), ["got 0 inputs"]),
        ((V, V, T), ["input 0 ('q') of kernel 'arm'", "(2,)", "length 3"]),
        ((Q, Q, T), ["input 1 ('v')", "(3,)", "length 2"]),
        ((Q.reshape(3, 1), V, T), ["(3, 1)", "length 3"]),
        ((Q, V, [T, T]), ["input 2 ('t')", "(2,)", "length 1"]),
        ((T, V, T), ["input 0 ('q')", "()", "length 3"]),
        ((None, V, T), ["input 0 ('q')", "NoneType", "real numbers"]),
        (("abc", V, T), ["input 0 ('q')", "str", "real numbers"]),
        ((Q * 1j, V, T), ["complex128", "real numbers"]),
        (([[1], [2, 3], 4], V, T), ["input 0 ('q')"]),
        (({"a": 1}, V, T), ["dict"]),
        ((Q, V, np.array(["x"])), ["input 2 ('t')", "<U1"]),
    ],
)
def test_wrong_inputs_are_named_with_what_was_found_and_needed(kernel, arguments, words):
    with pytest.raises(ArgumentError) as error:
        kernel(*arguments)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("out", "words"),
    [
        (np.empty(3), ["sequence of 3 arrays"]),
        ((np.empty(3), np.empty((3, 2))), ["sequence of 3 arrays"]),
        ((np.empty(3), np.empty((2, 3)), np.empty(())), ["out[1]", "(2, 3)", "(3, 2)"]),
        ((np.empty(3, np.float32), np.empty((3, 2)), np.empty(())), ["out[0]", "float32", "float64"]),
        ((np.empty(3), frozen(3, 2), np.empty(())), ["out[1]", "read-only", "writable"]),
        ((np.empty(3), np.empty((3, 2)), 0.0), ["out[2]", "float"]),
        ("abc", ["sequence of 3 arrays"]),
        (5, ["sequence of 3 arrays"]),
    ],
)
def test_wrong_out_is_named_with_what_was_found_and_needed(kernel, out, words):
    with pytest.raises(ArgumentError) as error:
        kernel(Q, V, T, out=out)
    for word in words:
        assert word in str(error.value)


def test_unknown_keywords_are_refused(kernel):
    with pytest.raises(TypeError, match="into"):
        kernel(Q, V, T, into=None)
    with pytest.raises(TypeError, match="q"):
        kernel(q=Q, v=V, t=T)


def test_the_compiled_call_leaks_no_references():
    """Thousands of calls leave the reference counts of arguments, results' dtype and kernel as they were."""
    kernel = Kernel(arm())
    t, out = np.array([T]), (np.empty(3), np.empty((3, 2)), np.empty(()))
    objects = (Q, V, t, out, *out, np.dtype(np.float64), kernel)
    before = [sys.getrefcount(o) for o in objects]
    for _ in range(3000):
        kernel(Q, V, t)
        kernel(Q, V, T, out=out)
        kernel(Q, V, 1.5)
    after = [sys.getrefcount(o) for o in objects]
    assert np.abs(np.subtract(after, before)).max() < 10


def test_threads_may_share_a_kernel():
    x = ca.SX.sym("x", 5)
    kernel = Kernel(ca.Function("f", [x], [ca.sin(x), x * x, ca.sum1(x)]), lanes=1)
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(300):
            given = rng.normal(size=5)
            a, b, c = kernel(given)
            if not (np.allclose(a, np.sin(given)) and np.allclose(b, given**2) and np.isclose(c, given.sum())):
                wrong.append(given)
            many = rng.normal(size=(7, 5))
            if not np.allclose(kernel.batch(many)[1], many**2):
                wrong.append(many)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
@pytest.mark.parametrize("n", [0, 1, 5, 8, 19])
def test_batches_of_any_size_agree_with_single_calls(lanes, n):
    one, many = Kernel(arm()), Kernel(arm(), lanes=lanes)
    rng = np.random.default_rng(n)
    q, v, t = rng.normal(size=(n, 3)), rng.normal(size=(n, 2)), rng.normal(size=(n, 1))
    found = many.batch(q, v, t)
    assert [a.shape for a in found] == [(n, 3), (n, 3, 2), (n,)]
    for i in range(n):
        for a, b in zip(found, one(q[i], v[i], t[i])):
            assert np.array_equal(a[i], b)
    out = tuple(np.empty_like(a) for a in found)
    assert many.batch(q, v, t, out=out) is out
    strided = (np.zeros((n, 6))[:, ::2], np.zeros((n, 2, 3)).transpose(0, 2, 1), np.zeros((n, 2))[:, 1])
    wide = np.zeros((n, 7))
    wide[:, 2:5] = q
    many.batch(wide[:, 2:5], np.asfortranarray(v), t[:, 0], out=strided)
    for a, b, c in zip(found, out, strided):
        assert np.array_equal(a, b)
        assert np.array_equal(a, c)


def test_batches_work_where_the_layout_of_arrays_is_unknown(monkeypatch):
    from dalembert.compiler import batch

    kernel = Kernel(arm(), lanes=4)
    q = np.random.default_rng(2).normal(size=(11, 3))
    known = kernel.batch(q, V, T)
    call, _, library = batch._compiled()
    monkeypatch.setattr(batch, "_compiled", lambda: (call, batch._by_address, library))
    for a, b in zip(known, kernel.batch(q, V, T)):
        assert np.array_equal(a, b)


def test_an_unfinished_kernel_raises_instead_of_crashing():
    Kernel(arm())  # the compiled call is in place
    with pytest.raises(AttributeError):
        object.__new__(Kernel)(Q)


def test_vectors_serve_all_states_of_a_batch(kernel):
    q = np.random.default_rng(0).normal(size=(5, 3))
    for found, i in ((kernel.batch(q, V, T), 3), (kernel.batch(q, [V] * 5, [T]), 3)):
        agree([a[i] for a in found], expected(q[i], V, T))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.zeros((4, 2)), np.zeros((4, 2)), 1.0), ["input 0 ('q')", "(4, 2)", "(N, 3)"]),
        ((np.zeros((4, 3)), np.zeros((5, 2)), 1.0), ["input 1 ('v')", "5 states", "input 0 ('q')", "4"]),
        ((Q, V, T), ["no input", "(N, n)"]),
        ((np.zeros((4, 3)), V), ["got 2 inputs"]),
        ((np.zeros((4, 3, 1)), V, T), ["(4, 3, 1)"]),
        ((np.zeros((4, 3)) * 1j, V, T), ["complex128"]),
    ],
)
def test_wrong_batches_are_named(kernel, arguments, words):
    with pytest.raises(ArgumentError) as error:
        kernel.batch(*arguments)
    for word in words:
        assert word in str(error.value)


def test_a_kernel_of_several_lanes_points_to_batch():
    with pytest.raises(ArgumentError, match=r"4 lanes.*batch"):
        Kernel(arm(), lanes=4)(Q, V, T)


def test_wrong_options_are_named():
    with pytest.raises(ArgumentError, match=r"'arm'.*3 lanes.*1, 2, 4, 8"):
        Kernel(arm(), lanes=3)
    with pytest.raises(ArgumentError, match=r"'gcc'.*'native' or 'casadi'"):
        Kernel(arm(), backend="gcc")


def test_constructs_without_native_code_are_named_with_the_way_out():
    x, p = ca.SX.sym("x", 2), ca.SX.sym("stiffness")
    with pytest.raises(CompileError, match=r"'f'.*ERFINV.*backend=\"casadi\""):
        Kernel(ca.Function("f", [x], [ca.erfinv(x)]))
    slow = Kernel(ca.Function("f", [x], [ca.erfinv(x)]), backend="casadi")
    assert np.allclose(slow([0.1, 0.5]), [0.088856, 0.476936])
    free = ca.Function("g", [x], [x * p], {"allow_free": True})
    with pytest.raises(CompileError, match=r"'g'.*stiffness.*none of its inputs"):
        Kernel(free)
    matrix = ca.SX.sym("m", 2, 2)
    with pytest.raises(CompileError, match=r"input 0 \('i0'\).*'h'.*dense column vectors"):
        Kernel(ca.Function("h", [matrix], [matrix[0, 1]]))
    sparse = ca.SX.sym("s", ca.Sparsity.lower(2))
    with pytest.raises(CompileError, match="dense column vectors"):
        Kernel(ca.Function("s", [sparse], [ca.sum1(sparse)]))
    y = ca.MX.sym("y", 2)
    mx = ca.Function("mx", [y], [ca.sin(y)])
    with pytest.raises(CompileError, match=r"'mx'.*SX functions only.*expand"):
        Kernel(mx)
    assert np.allclose(Kernel(mx, backend="casadi")([0.1, 0.2]), np.sin([0.1, 0.2]))


def test_a_function_of_nothing_and_a_function_to_nothing_work():
    constant = Kernel(ca.Function("c", [], [ca.SX([1.0, 2.0])]))
    assert np.array_equal(constant(), [1, 2])
    x = ca.SX.sym("x", 2)
    assert Kernel(ca.Function("n", [x], []))(Q[:2]) == ()
    assert Kernel(ca.Function("e", [ca.SX(0, 1), x], [x]))([], [1, 2]).tolist() == [1, 2]


@pytest.mark.parametrize("options", [{}, {"lanes": 4}, {"backend": "casadi"}, {"chunk": 3}])
def test_a_pickled_kernel_computes_the_same_in_another_process(options):
    kernel = Kernel(arm(), **options)
    q = np.random.default_rng(1).normal(size=(5, 3))
    code = (
        "import pickle, sys\n"
        "kernel, arguments = pickle.load(sys.stdin.buffer)\n"
        "sys.stdout.buffer.write(pickle.dumps((repr(kernel), kernel.batch(*arguments))))\n"
    )
    sent = pickle.dumps((kernel, (q, V, T)))
    answer = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, check=True).stdout
    text, found = pickle.loads(answer)
    assert text == repr(kernel)
    for a, b in zip(found, kernel.batch(q, V, T)):
        assert np.array_equal(a, b)


def test_equal_functions_share_machine_code_while_one_lives():
    a, b = Kernel(arm()), Kernel(arm())
    assert a.address == b.address


def test_importing_the_compiler_imports_neither_numba_nor_llvmlite():
    code = "import sys, dalembert.compiler; print('numba' in sys.modules, 'llvmlite' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.split() == ["False", "False"]


def test_the_call_in_python_agrees_with_the_compiled_one():
    native = Kernel(arm())
    for a, b in zip(native(Q, V, T), native._call_checked(Q, V, T)):
        assert np.array_equal(a, b)
        assert type(a) is type(b)
