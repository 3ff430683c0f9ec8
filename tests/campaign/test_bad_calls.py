"""A seeded campaign of bad calls: every public function refuses what is wrong with a sentence, or gives a result.

A thousand calls by default; `pytest tests/campaign --bad-calls 30000 --bad-seed 7` makes more, with other values each.
"""

import signal
import warnings
import zlib

import numpy as np
import pytest

import dalembert as da
from bad_values import BAD, near
from targets import TARGETS
from targets.models import made

LIMIT = 10.0  # seconds a call may take


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """Bad paths such as "1" are good names of files: they are written to a folder that goes."""
    monkeypatch.chdir(tmp_path)


class TooSlow(BaseException):
    """Not an Exception, so that no one catches it on the way."""


def _alarm(*_):
    raise TooSlow


def outcome(call, arguments):
    """What is wrong with the way a call ended, or None."""
    before = signal.signal(signal.SIGALRM, _alarm)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            call(**arguments)
    except da.DalembertError as error:
        return None if str(error).strip() else f"{type(error).__name__} without a sentence"
    except TooSlow:
        return f"took more than {LIMIT:g} s"
    except Exception as error:
        if isinstance(error, TypeError) and " keyword " in str(error) and "unknown_keyword" in arguments:
            return None
        return f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return "took an unknown keyword" if "unknown_keyword" in arguments else None


def bad_call(good, rng):
    """Arguments with one or two replaced, and the words for it."""
    arguments = made(good)
    if rng.random() < 0.02:
        return {**arguments, "unknown_keyword": 1}, ["unknown_keyword"]
    changed = rng.choice(list(good), size=min(len(good), 1 + int(rng.random() < 0.3)), replace=False)
    words = []
    for name in changed:
        close = near(arguments[name])
        choices = close if close and rng.random() < 0.4 else BAD
        which = str(rng.choice(list(choices)))
        arguments[name] = choices[which]()
        words.append(f"{name} = {which}")
    return arguments, words


@pytest.mark.parametrize("name", TARGETS)
def test_bad_calls_are_refused_with_a_sentence(name, request):
    total = request.config.getoption("--bad-calls")
    call, good = TARGETS[name]
    rng = np.random.default_rng([request.config.getoption("--bad-seed"), zlib.crc32(name.encode())])
    wrong = {}
    for k in range(-(-total // len(TARGETS))):
        arguments, words = bad_call(good, rng)
        found = outcome(call, arguments)
        if found:
            wrong.setdefault(f"{', '.join(words)}: {found}", k)
    assert not wrong, f"{name}\n  " + "\n  ".join(wrong)


@pytest.mark.parametrize("name", TARGETS)
def test_the_good_call_is_good(name):
    """Where every argument is right the call gives a result: otherwise the campaign tests nothing."""
    call, good = TARGETS[name]
    call(**made(good))
