"""`python -m tests.campaign.files N --seed S`: changed files to every reader, `da.read` and `da.read_run`.

Each is read, or refused by an error of this library with a sentence, within seconds and bounded memory. Good files are
small and made here, so that nothing but this folder is needed. A crash is seen by whoever started the process; the case
at work is in FOLDER/case, where --folder gives one. A million take about an hour; --minutes ends earlier.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

import dalembert as da  # noqa: E402
import forged_runs  # noqa: E402
from dalembert.formats.model import read_text, text_of  # noqa: E402
from file_changes import CHANGES  # noqa: E402
from file_samples import families  # noqa: E402

LIMIT = 20  # seconds that a file may take
#: how often each reader has its turn, out of a hundred; a run in "resume" is also taken up again
SHARES = {"urdf": 28, "sdf": 28, "json": 20, "mjcf": 9, "lua": 7, "adm": 3, "run": 4, "yaml": 0.8, "resume": 0.2}


class TooSlow(BaseException):
    """Not an Exception, so that no one catches it on the way."""


def _alarm(*_: object) -> None:
    raise TooSlow(f"took more than {LIMIT} s")


def examine(path: Path, r: random.Random) -> str:
    """Read a file; what came of it. Some that are read are written to our format and read again."""
    try:
        m = da.read(path, **({"strict": True} if r.random() < 0.05 else {}))
    except da.DalembertError as error:
        if len(str(error).split()) < 4:
            raise AssertionError(f"{error!r} is no sentence") from error
        return "refused"
    if r.random() < 0.02:
        try:
            text = text_of(m)
        except da.DescriptionError:  # names that a file cannot hold
            return "read"
        assert text_of(read_text(text)) == text
    return "read"


def main(count: int, seed: int, folder: Path, first: int = 0, minutes: float = 1e9) -> int:
    """Returns how many files did something else than they may."""
    began, outcome, failed = time.time(), Counter[str](), 0
    for name in ("models", "runs", "changed"):
        (folder / name).mkdir()
    files = families(folder / "models")
    changed, forged = folder / "changed", folder / "changed" / "run"
    at_work = os.open(folder / "case", os.O_WRONLY | os.O_CREAT)
    for family in (f for of in files.values() for f in of):
        for file, data in family.items():
            (changed / file).write_bytes(data)
        da.read(changed / next(iter(family)))  # the good ones are
        for file in family:
            (changed / file).unlink()
    forged_runs.make(folder / "runs")
    runs = forged_runs.models()
    forged_runs.bounded()
    gc.freeze()  # what is there stays
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _alarm)
    kinds, shares = list(SHARES), list(SHARES.values())
    for case in range(first, first + count):
        if time.time() - began > 60 * minutes:
            break
        r = random.Random(f"files {seed} {case}")
        kind = r.choices(kinds, shares)[0]
        family = None if kind in ("run", "resume") else r.choice(files[kind])
        which = r.choice(list(runs)) if family is None else r.choice(list(family))
        change = r.choice(forged_runs.CHANGES if family is None else CHANGES)
        what = f"{seed} {case}: {kind} {which}, {change.__name__}"
        os.pwrite(at_work, what.ljust(100).encode(), 0)
        if family is None:
            change(folder / "runs" / which, forged, r)
        else:
            for file, data in family.items():
                with open(f"{changed}/{file}", "wb") as place:
                    place.write(change(data, r) if file == which else data)
        signal.alarm(LIMIT)
        try:
            if family is not None:
                said = examine(changed / next(iter(family)), r)
            else:
                known = forged_runs.examine(which if kind == "resume" else "saved", forged, runs[which])
                said = "read" if known else "refused"
            outcome[f"{kind} {said}"] += 1
        except (Exception, TooSlow):
            failed += 1
            outcome["wrong"] += 1
            print(f"case {what}", flush=True)
            traceback.print_exc(limit=-6, file=sys.stdout)
        finally:
            signal.alarm(0)
            for file in [forged.name] if family is None else family:
                os.unlink(f"{changed}/{file}")
        if sum(outcome.values()) % 10_000 == 0:
            print(f"{sum(outcome.values())} files, {failed} wrong, {time.time() - began:.0f} s", flush=True)
    words = ", ".join(f"{n} {what}" for what, n in sorted(outcome.items()))
    print(f"{sum(outcome.values())} files, {words}; {failed} wrong, {time.time() - began:.0f} s")
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=10_000, help="files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the case to begin with")
    parser.add_argument("--minutes", type=float, default=1e9, help="the longest that it may take")
    parser.add_argument("--folder", type=Path, help="an empty folder to work in")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        raise SystemExit(min(1, main(given.count, given.seed, folder, given.first, given.minutes)))
