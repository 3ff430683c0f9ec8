"""The checks at the door: what they take, what they refuse, and that they raise nothing but their own error."""

from fractions import Fraction

import numpy as np
import pytest

from dalembert import checks
from dalembert.errors import ArgumentError, DescriptionError


class Unhelpful:
    """An object that raises whatever is asked of it."""

    def __array__(self, *args, **kwargs):
        raise RuntimeError("no")

    def __float__(self):
        raise RuntimeError("no")

    def __repr__(self):
        raise RuntimeError("no")


NO_NUMBER = [
    True,
    np.bool_(True),
    "1",
    b"1",
    None,
    1j,
    np.complex128(1),
    np.longdouble(1),
    np.array([1.0], dtype=np.longdouble),
    [1.0, 2.0],
    {},
    np.datetime64("2020-01-01"),
    Unhelpful(),
    object(),
    10**400,
    np.zeros(0),
    float("nan"),
]


@pytest.mark.parametrize("x", NO_NUMBER, ids=lambda x: type(x).__name__)
def test_what_is_no_number_is_refused_with_the_argument_named(x):
    with pytest.raises(ArgumentError, match=r"^the mass is .*needed: a number"):
        checks.number(x, "the mass")
    with pytest.raises(ArgumentError, match="the mass"):
        checks.vector([0.0, x, 0.0], 3, "the mass")
    with pytest.raises(ArgumentError, match=r"^the mass is .*needed: a whole number"):
        checks.whole("no" if isinstance(x, int) and not isinstance(x, bool) else x, "the mass")


@pytest.mark.parametrize("x", [2, 2.0, np.float32(2), np.int8(2), Fraction(2), np.array(2), np.array([2.0])])
def test_real_numbers_of_every_kind_become_one_float(x):
    found = checks.number(x, "x")
    assert type(found) is float
    assert found == 2.0


def test_bounds_include_and_exclude_as_their_names_say():
    assert checks.number(0.0, "x", least=0.0, most=0.0) == 0.0
    assert checks.number(np.inf, "x", finite=False) == np.inf
    for bad in ({"least": 1.0}, {"above": 0.0}, {"most": -1.0}, {"below": 0.0}):
        with pytest.raises(ArgumentError, match="x is 0; needed"):
            checks.number(0.0, "x", **bad)
    with pytest.raises(ArgumentError, match="x is inf"):
        checks.number(np.inf, "x")
    with pytest.raises(ArgumentError, match="x is 2"):
        checks.whole(2.5, "x")
    assert type(checks.whole(np.int64(7), "x", least=7, most=7)) is int


@pytest.mark.parametrize(
    "x",
    [
        [1, 2, 3],
        (1.0, 2.0, 3.0),
        np.arange(1, 4, dtype=np.float32),
        np.arange(1, 4, dtype=np.uint8),
        np.arange(0.0, 8.0)[1:8:1][::1][:3],
        np.array([1, Fraction(2), 3.0], dtype=object),
        range(1, 4),
    ],
)
def test_vectors_of_every_kind_become_float64(x):
    found = checks.vector(x, 3, "x")
    assert found.dtype == np.float64
    assert np.array_equal(found, [1, 2, 3])


@pytest.mark.parametrize("x", [[1, [2, 3]], "abc", {"a": 1}, [[1, 2, 3]], [1, 2], 3.0, np.array(["a", "b", "c"]), None])
def test_vectors_of_another_shape_or_kind_are_refused(x):
    with pytest.raises(DescriptionError, match=r"^gravity .*needed: three numbers"):
        checks.vector(x, 3, "gravity", error=DescriptionError)


def test_a_float64_array_is_not_copied():
    x = np.ones(3)
    assert checks.vector(x, 3, "x") is x


def test_flags_names_functions_and_mappings():
    assert checks.flag(np.bool_(True), "x") is True
    for check, bad in (
        (checks.flag, 1),
        (checks.flag, "yes"),
        (checks.name, ""),
        (checks.name, 3),
        (checks.function, 0.5),
        (checks.mapping, [1]),
    ):
        with pytest.raises(ArgumentError, match=r"^x is .*; needed: "):
            check(bad, "x")


def test_choices_and_keywords_name_the_nearest():
    with pytest.raises(ArgumentError, match="Did you mean 'native'"):
        checks.choice("nativ", ("native", "casadi"), "backend")
    with pytest.raises(ArgumentError, match=r"backend is \[\]|backend is a list"):
        checks.choice([], ("native", "casadi"), "backend")
    with pytest.raises(ArgumentError, match="Did you mean 'rtol'"):
        checks.keywords({"rtoll": 1}, ["rtol", "atol"], "simulate's keywords")


def test_items_are_those_of_lists_and_of_arrays_with_axes():
    assert checks.items((1, 2), "x", "a list") == [1, 2]
    assert [a.tolist() for a in checks.items(np.eye(2), "x", "a list")] == [[1.0, 0.0], [0.0, 1.0]]
    for bad in ("abc", 3.0, {1}, np.array(3.0), np.ma.masked):
        with pytest.raises(ArgumentError, match=r"^x is .*; needed: a list\."):
            checks.items(bad, "x", "a list")
