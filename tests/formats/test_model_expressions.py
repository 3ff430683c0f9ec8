"""The grammar of model files: what expressions mean, against Python's own arithmetic, and what is refused."""

import math

import casadi as ca
import numpy as np
import pytest

from dalembert.formats.model.grammar import FUNCTIONS, MAX_LENGTH, GrammarError, is_plain, parse, quoted
from dalembert.formats.model.laws import LawText
from dalembert.formats.model.texts import texts


def value(text: str, **names: float) -> float:
    law = LawText([parse(text)], {}, {k: ca.SX(v) for k, v in names.items()}, {})
    return float(law.evaluated()[0])


@pytest.mark.parametrize(
    "text",
    [
        "1 + 2*3**2", "-2**2", "2**-1", "2**3**2", "(1 + 2)*3", "7 - 3 - 2", "8/4/2", "a*-b", "- -a", "a - -b", "+a",
        "-a**2", "(-a)**2", "2*-a**-b", "1e-3*2.5E2", ".5 + 1.", "a/b*c", "a - b + c", "a**b**c", "3*a < b + 1",
    "a >= b",
        "a == 2 and b != 3 or c > 1", "not a < b", "not (a < b and b < c)", "a < b or b < c and c < a",
    ],
)  # fmt: skip
def test_operators_bind_as_in_python(text):
    names = {"a": 2.0, "b": 3.0, "c": 1.5}
    assert value(text, **names) == float(eval(text, {}, names))


@pytest.mark.parametrize("seed", range(30))
def test_random_arithmetic_is_that_of_python_to_the_last_bit(seed):
    rng = np.random.default_rng([seed, 19])
    names = {"a": 1.7, "b": -0.3, "c_1": 12.25, "t1": 3e-5}

    def grow(depth):
        if depth == 0 or rng.random() < 0.15:
            return str(rng.choice([*names, "0.1", "7", "2.5e-3"]))
        kind = rng.integers(6)
        x, y = grow(depth - 1), grow(depth - 1)
        if kind < 4:
            return f"{x} {'+-*/'[kind]} {y}" if rng.random() < 0.5 else f"({x}){'+-*/'[kind]}({y})"
        return f"-{x}" if kind == 4 else f"({x} + 0.123)"

    text = grow(7)
    try:
        expected = eval(text, {}, names)
    except ZeroDivisionError:
        expected = math.nan
    if not math.isfinite(expected):
        with pytest.raises(GrammarError):
            value(text, **names)
    else:
        assert value(text, **names) == expected


REFERENCE = {
    "abs": abs, "min": min, "max": max, "mod": math.fmod, "sign": lambda x: float(np.sign(x)), "floor": math.floor,
    "ceil": math.ceil, "when": lambda c, x: x if c else 0.0, "if_else": lambda c, x, y: x if c else y,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_those_of_the_c_library(name):
    count = FUNCTIONS[name][1]
    arguments = {"acosh": [1.3]}.get(name, [0.3, -0.7, 0.45][:count])
    f = REFERENCE.get(name) or getattr(math, name)
    assert value(f"{name}({', '.join(map(str, arguments))})") == pytest.approx(f(*arguments), rel=1e-15)
    with pytest.raises(GrammarError, match=r"argument\(s\)|needed"):
        parse(f"{name}({', '.join(['1'] * (count + 1))})")


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "(", ")", "()", "1 +", "1 2", "a b", "1 < 2 < 3", "a[", "a[1.5]", "a[-1]", "a[b]", "q(", "q()", "q(A",
        "q(A).x", "q(1)", "position(tip)", "position(tip).w", "position(tip)[3]", "rotation(f)[0]", "rotation(f)[3, 0]",
        "twist(f)[6]", "a.b", "a.b()", "@", "x = 1", "x := 1", "'abc", '"abc', "sin", "sin()", "sin(1,)", "sin 1",
    "2**",
        "and", "a and", "[1]", "{1}", "a; b", "a if b else c", "lambda: 1", "__import__('os')", "().__class__", "a\0b",
        "a\nb", "1__0", "0x10", "1e", "1e999", "∞", "f'{a}'", "a % b", "a // b", "a ^ b", "a & b", "~a", "!a", "*a",
        "not", "- ", "--", "t(1)", "pi()", "a(1)", "'sin'(1)", "x" * (MAX_LENGTH + 1), "(" * 1000, "-" * 1000,
    "not " * 500,
        "2**" * 500 + "2", "sin(" * 500, "1 + " * 4000,
    ],
)  # fmt: skip
def test_what_is_no_expression_is_refused(text):
    if text in ("sin", "a\nb"):  # a name like any other, which is then not known; two words
        return
    with pytest.raises(GrammarError):
        parse(text)


@pytest.mark.parametrize("text", ["9**9**9**9", "1/0", "log(0)", "sqrt(-1)", "exp(1000)", "0**-1", "1e300*1e300"])
def test_numbers_that_are_not_finite_are_refused(text):
    with pytest.raises(GrammarError, match="not finite"):
        value(text)


@pytest.mark.parametrize("name", ["a", "a b", "t", "pi", "and", "it's", '"', "a.b", "α", "1", "", "sin", "é'é''"])
def test_any_name_can_be_quoted(name):
    assert parse(quoted(name))[0].text == name
    assert (quoted(name) == name) == is_plain(name)


def test_a_long_sum_is_no_deep_one():
    assert value("+".join(["1"] * 5000)) == 5000


OPS = [
    lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / (2 + y * y), lambda x, y: -x,
    lambda x, y: x**2, lambda x, y: ca.sin(x), lambda x, y: ca.if_else(x < y, x, y), lambda x, y: 2 * x, lambda x,
    y: 1 / (3 + x * x),
    lambda x, y: x**3, lambda x, y: (1 + x * x) ** 0.3, lambda x, y: (1 + x * x) ** y, lambda x, y: ca.fmax(x, 0.1 * y),
    lambda x, y: ca.atan2(x, 3 + y * y), lambda x, y: -0.1 * x - y * 1e-17, lambda x, y: x - (y - (x - (-1.5))),
    lambda x, y: x * 0.30000000000000004 - (y + 1 / 3) / 7.000000000000001,
    lambda x, y: x / 3 / (1 + x * x), lambda x, y: ca.fabs(x) + (x <= y) - (x == y) * (x != 1),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs_are_written_and_read_to_the_last_bit(seed):
    """Random graphs with shared parts: the text computes the same bits at random points."""
    rng = np.random.default_rng([seed, 23])
    names = ["a", "q(A)", "gain[1]", "velocity('the tip').x"]
    symbols = [ca.SX.sym(f"x{k}") for k in range(4)]
    pool = list(symbols)
    for _ in range(60):
        f = OPS[rng.integers(len(OPS))]
        pool.append(f(pool[rng.integers(len(pool))], pool[-1 - rng.integers(min(4, len(pool)))]))
    outputs = pool[-3:]
    leaves = {s.element_hash(): n for s, n in zip(symbols, names)}
    written, let = texts(outputs, leaves, taken=["_1"])
    assert "_1" not in let

    class At:
        t = ca.SX(0)

        def __getitem__(self, name):
            return symbols[1]

        def velocity(self, frame):
            return ca.vertcat(symbols[3], 0, 0)

    given = {"a": symbols[0], "gain": ca.vertcat(0, symbols[2])}
    law = LawText([parse(x) for x in written], {k: parse(x) for k, x in let.items()}, given, {"the tip": None})
    one, two = (ca.Function("f", symbols, list(y)) for y in (outputs, law.evaluated(At())))
    for _ in range(5):
        x = rng.normal(size=4)
        assert [float(y) for y in one(*x)] == [float(y) for y in two(*x)]
