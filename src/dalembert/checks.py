"""Checks of single arguments, made once where a user's value enters the library.

Each function takes the value and `what`, the words that name it in the sentence of the error ("the mass of body
'rod'", "rtol"), and returns the value in the one type the rest of the library computes with. Numbers are Python
floats and float64 arrays: integers, float32 and `Fraction` are converted; booleans, complex numbers, strings, dates
and extended precision (`np.longdouble`, which CasADi cannot take) are refused. Nothing else is ever raised than
`error`, by default `ArgumentError`.

    number(x, what)            float           finite; bounds by least=, above=, most=, below=; finite=False allows ±∞
    whole(x, what)             int             an integer, not a float that happens to be one
    vector(x, n, what)         (n,) float64    n None: any length
    array(x, shape, what)      float64         of the shape; None in the shape: any extent; finite=False as above
    reals(x, what)             float64         of any shape, NaN and infinities included
    flag(x, what)              bool
    choice(x, options, what)   one of options  names the nearest
    name(x, what)              str             not empty
    function(x, what)          callable
    mapping(x, what)           Mapping
    path(x, what)              Path            not empty
    items(x, what, needed)     list            of a sequence or an array with axes, not of a string
    keywords(given, known, what)               refuses keywords that are not known, naming the nearest
"""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from math import isfinite, isnan
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, DalembertError
from dalembert.hints import KEYWORDS

Error = type[DalembertError]
_DOUBLE = np.dtype(float)
_COUNTS = {1: "one number", 2: "two numbers", 3: "three numbers"}


def same_period(period: float, wanted: object) -> bool:
    """Whether a sampling period is the one that a law is made for, within rounding; a law may be for none."""
    return not isinstance(wanted, float) or abs(period - wanted) <= 1e-9 * wanted


def number(
    x: Any,
    what: str,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
    finite: bool = True,
    error: Error = ArgumentError,
) -> float:
    """One real number as a float: least ≤ x ≤ most, above < x < below; finite unless finite=False, never NaN.

    >>> number(np.float32(0.5), "rtol", above=0.0)
    0.5
    >>> number("1", "the mass of body 'rod'")
    Traceback (most recent call last):
    dalembert.errors.ArgumentError: the mass of body 'rod' is '1' (str); needed: a number.
    >>> number(-1.0, "rtol", above=0.0)
    Traceback (most recent call last):
    dalembert.errors.ArgumentError: rtol is -1; needed: a number above 0.
    """
    value = x if x.__class__ is float else _real(x, what, _needed("number", least, above, most, below), error)
    if (
        isnan(value)
        or (finite and not isfinite(value))
        or (least is not None and value < least)
        or (above is not None and value <= above)
        or (most is not None and value > most)
        or (below is not None and value >= below)
    ):
        raise error(f"{what} is {value:g}; needed: {_needed('number', least, above, most, below)}.")
    return value


def whole(x: Any, what: str, *, least: int | None = None, most: int | None = None, error: Error = ArgumentError) -> int:
    """One integer; a float is refused even where it is whole.

    >>> whole(2.0, "max_steps", least=1)
    Traceback (most recent call last):
    dalembert.errors.ArgumentError: max_steps is 2.0 (float); needed: a whole number of at least 1.
    """
    if isinstance(x, np.ndarray) and x.ndim == 0:
        x = x[()]
    if isinstance(x, numbers.Integral) and not isinstance(x, (bool, np.bool_)):
        value = int(x)
        if (least is None or value >= least) and (most is None or value <= most):
            return value
    raise error(f"{what} is {shown(x)}; needed: {_needed('whole number', least, None, most, None)}.")


def vector(x: Any, n: int | None, what: str, *, finite: bool = True, error: Error = ArgumentError) -> np.ndarray:
    """n numbers as a float64 array of shape (n,); n = None takes any length.

    >>> vector([1, 2], 3, "gravity")
    Traceback (most recent call last):
    dalembert.errors.ArgumentError: gravity has shape (2,); needed: three numbers.
    """
    return array(x, (n,), what, finite=finite, error=error)


def increasing(x: Any, what: str) -> np.ndarray:
    """One or more times, each later than the one before, as a float64 array of shape (N,).

    >>> increasing([0.0, 0.2, 0.1], "times")
    Traceback (most recent call last):
    dalembert.errors.ArgumentError: times do not increase: 0.1 comes after 0.2; needed: increasing times, s.
    """
    t = vector(x, None, what)
    if not len(t):
        raise ArgumentError(f"{what} is empty; needed: increasing times, s.")
    back = np.flatnonzero(np.diff(t) <= 0)
    if len(back):
        k = int(back[0])
        raise ArgumentError(f"{what} do not increase: {_after(t[k + 1], t[k])}; needed: increasing times, s.")
    return t


def _after(second: float, first: float) -> str:
    """What is wrong with two times that follow each other, in as many digits as tell them apart."""
    digits = next((n for n in (6, 12, 17) if f"{second:.{n}g}" != f"{first:.{n}g}"), 6)
    return f"{first:g} is there twice" if second == first else f"{second:.{digits}g} comes after {first:.{digits}g}"


def array(
    x: Any,
    shape: Sequence[int | None] | None,
    what: str,
    *,
    finite: bool = True,
    error: Error = ArgumentError,
) -> np.ndarray:
    """Numbers as a float64 array of the shape; None in the shape takes any extent, shape None any shape.

    finite=False allows infinities, but not NaN. The result is x itself where it is a float64 array already: copy it to
    keep it.

    >>> array([[1.0, float("nan")]], (None, 2), "limits")
    Traceback (most recent call last):
    dalembert.errors.ArgumentError: limits[0, 1] is nan; needed: finite numbers.
    """
    if x.__class__ is np.ndarray and x.dtype is _DOUBLE:
        values = x
    else:
        values = reals(x, what, "numbers" if shape is None else words(shape), error=error)
    if shape is not None and (
        values.ndim != len(shape) or any(n is not None and n != k for n, k in zip(shape, values.shape))
    ):
        raise error(f"{what} has shape {values.shape}; needed: {words(shape)}.")
    if np.isfinite(values).all():
        return values
    bad = ~np.isfinite(values) if finite else np.isnan(values)
    if bad.any():
        first = tuple(int(k) for k in np.argwhere(bad)[0])
        place = f"[{', '.join(map(str, first))}]" if first else ""
        raise error(f"{what}{place} is {values[first]:g}; needed: {'finite numbers' if finite else 'no NaN'}.")
    return values


def reals(x: Any, what: str, needed: str = "numbers", *, error: Error = ArgumentError) -> np.ndarray:
    """Anything array-like of real numbers as float64, of any shape, NaN and infinities included.

    np.asarray(x, dtype=float) would also take strings, booleans and complex numbers.
    """
    if x.__class__ is np.ndarray and x.dtype is _DOUBLE:
        return x
    if x.__class__ in (list, tuple) and set(map(type, x)) == {float}:
        return np.array(x, dtype=float)
    if hasattr(x, "full") and _is_casadi(x):  # casadi.DM: a column is a vector
        x = x.full()[:, 0] if x.shape[1] == 1 else x.full()
    if isinstance(x, (str, bytes, Mapping)) or x is None or _is_casadi(x):
        raise error(f"{what} is {shown(x)}; needed: {needed}.")
    if isinstance(x, (list, tuple)) and any(isinstance(e, (bool, np.bool_)) or _is_casadi(e) for e in x):
        raise error(f"{what} is {shown(x)} with something in it that is no number; needed: {needed}.")
    try:
        values = np.asarray(x)
    except Exception as cause:  # ragged lists, and objects whose __array__ or __len__ fails
        raise error(f"{what} is {shown(x)}; needed: {needed}.") from cause
    if values.dtype.kind == "O":
        if not all(is_real(e) for e in values.ravel()):
            raise error(f"{what} is {shown(x)} with something in it that is no number; needed: {needed}.")
    elif values.size and (values.dtype.kind not in "fiu" or values.dtype.itemsize > 8):
        raise error(f"{what} is {shown(x)}, holding {values.dtype}; needed: {needed}.")
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError) as cause:
        raise error(f"{what} is {shown(x)} with a number no float can hold; needed: {needed}.") from cause


def flag(x: Any, what: str, *, error: Error = ArgumentError) -> bool:
    """True or False.

    >>> flag(1, "resume")
    Traceback (most recent call last):
    dalembert.errors.ArgumentError: resume is 1 (int); needed: True or False.
    """
    if not isinstance(x, (bool, np.bool_)):
        raise error(f"{what} is {shown(x)}; needed: True or False.")
    return bool(x)


def choice(x: Any, options: Iterable[str], what: str, *, error: Error = ArgumentError) -> str:
    """One of some names.

    >>> choice("projecton", ["projection", "baumgarte"], "stabilization")
    Traceback (most recent call last):
    dalembert.errors.ArgumentError: stabilization is 'projecton'; needed: 'projection' or 'baumgarte'. Did you mean
    'projection'?
    """
    known = list(options)
    if isinstance(x, str) and x in known:
        return x
    if not known:
        raise error(f"{what} is {shown(x)}, but there is nothing to choose from here.")
    *rest, last = [repr(o) for o in known]
    needed = f"{', '.join(rest)} or {last}" if rest else last
    near = get_close_matches(x, known, n=1) if isinstance(x, str) else []
    hint = f" Did you mean '{near[0]}'?" if near else ""
    raise error(f"{what} is {repr(x) if isinstance(x, str) else shown(x)}; needed: {needed}.{hint}")


def name(x: Any, what: str, *, error: Error = ArgumentError) -> str:
    """A string that is not empty."""
    if not isinstance(x, str) or not x:
        raise error(f"{what} is {shown(x)}; needed: a non-empty string.")
    return x


def function(x: Any, what: str, *, error: Error = ArgumentError) -> Callable[..., Any]:
    """Something that can be called."""
    if not callable(x):
        raise error(f"{what} is {shown(x)}; needed: a function.")
    return x


def path(x: Any, what: str, *, error: Error = ArgumentError) -> Path:
    """The name of a file: a string that is not empty, or a path."""
    if not isinstance(x, (str, os.PathLike)) or not str(x) or "\0" in str(x):
        raise error(f"{what} is {shown(x)}; needed: the name of a file.")
    return Path(x)


def mapping(x: Any, what: str, *, error: Error = ArgumentError) -> Mapping[Any, Any]:
    """A mapping, such as a dict."""
    if not isinstance(x, Mapping):
        raise error(f"{what} is {shown(x)}; needed: a mapping of names to values.")
    return x


def items(x: Any, what: str, needed: str, *, error: Error = ArgumentError) -> list[Any]:
    """The items of a sequence or of an array with at least one axis."""
    if not has_items(x):
        raise error(f"{what} is {shown(x)}; needed: {needed}.")
    return list(x)


def has_items(x: Any) -> bool:
    """Whether `items` takes it."""
    return bool(x.ndim) if isinstance(x, np.ndarray) else isinstance(x, Sequence) and not isinstance(x, str)


def keywords(
    given: Iterable[str], known: Iterable[str], what: str, *, of: str = "", error: Error = ArgumentError
) -> None:
    """Refuse keywords that are not known; of: the function they go to, whose words `hints` knows.

    >>> keywords({"tolerence": 1e-9}, ["tolerance", "floor"], "options of formulation 'nullspace'")
    Traceback (most recent call last):
    dalembert.errors.ArgumentError: options of formulation 'nullspace' have no 'tolerence'; known: tolerance, floor. Did
    you mean 'tolerance'?
    """
    names = list(known)
    for key in given:
        if not isinstance(key, str) or key not in names:
            near = get_close_matches(str(key), names, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            if (meant := KEYWORDS.get(of, {}).get(str(key))) is not None:
                hint = f" Here it is {meant}."
            raise error(f"{what} have no {key!r}; known: {', '.join(names) or 'none'}.{hint}")


def shown(x: Any) -> str:
    """A short text of a value with its type: what an error found.

    >>> shown([1.0] * 1000)
    'a list of 1000'
    """
    kind = type(x).__name__
    if x is None:
        return "None"
    if isinstance(x, np.ndarray):
        return f"an array of {x.dtype} of shape {x.shape}"
    if isinstance(x, (list, tuple, dict, set, bytes)):
        return f"a {kind} of {len(x)}"
    try:
        text = repr(x)
    except Exception:  # an object whose repr fails is still named
        text = ""
    return f"{text} ({kind})" if 0 < len(text) <= 60 else f"a {kind}"


def words(shape: Sequence[int | None]) -> str:
    """A shape in words.

    >>> words((3,)), words((None, 2))
    ('three numbers', 'numbers of shape (any, 2)')
    """
    if len(shape) == 0:
        return "one number"
    if len(shape) == 1:
        n = shape[0]
        return "a list of numbers" if n is None else _COUNTS.get(n, f"{n} numbers")
    return f"numbers of shape ({', '.join('any' if n is None else str(n) for n in shape)})"


def _is_casadi(x: Any) -> bool:
    """Whether a value is CasADi's: NumPy would make arrays of it, with warnings."""
    return type(x).__module__.startswith("casadi")


def is_real(x: Any) -> bool:
    """Whether a single value is a real number that a float can hold: no bool, no complex, no extended precision."""
    if isinstance(x, (bool, np.bool_, np.longdouble)):
        return False
    return isinstance(x, (numbers.Real, np.floating, np.integer))


def _real(x: Any, what: str, needed: str, error: Error) -> float:
    if isinstance(x, np.ndarray) and x.size == 1 and x.dtype.kind in "fiuO":
        x = x.reshape(())[()]
    if not is_real(x):
        raise error(f"{what} is {shown(x)}; needed: {needed}.")
    try:
        return float(x)
    except (OverflowError, ValueError, TypeError) as cause:
        raise error(f"{what} is {shown(x)}, which is no float; needed: {needed}.") from cause


def _needed(noun: str, least: float | None, above: float | None, most: float | None, below: float | None) -> str:
    low = f"at least {least:g}" if least is not None else f"above {above:g}" if above is not None else ""
    high = f"at most {most:g}" if most is not None else f"below {below:g}" if below is not None else ""
    bounds = " and ".join(filter(None, [low, high]))
    of = "of " if least is not None or (not low and most is not None) else ""
    return f"a {noun} {of}{bounds}" if bounds else f"a {noun}"
