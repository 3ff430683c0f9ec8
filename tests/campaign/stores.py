"""`python -m tests.campaign.stores --kills 50 --flips 400 --seed S`: stores and recordings that are killed and damaged.

Kinds: results of ensembles as Arrow parts, their paths in Zarr, recordings of runs, and of runs with changes of
structure. A writer is killed (SIGKILL) at a random time, or at one of its operations on files, once to three times;
then the same call goes on, and must give what a call without a store gives, bit for bit. A finished store has bits
flipped, bytes zeroed, files cut, lengthened or removed: what comes back is the same, or refused with a sentence. Of
recordings also a part up to the damage, which says that it is one.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as da
from dalembert import zoo
from dalembert.ensembles import work, zarr_paths

OPERATIONS = ("open", "os.rename", "os.remove", "os.mkdir", "os.link", "os.truncate")  # that a writer dies at


def _bouncing() -> da.System:
    m = da.Mechanism("ball", gravity=(0, 0, -10.0))
    mass = m.add_parameter("mass", 1.0)
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=mass))
    m.add_contact("floor", "ball", radius=0.1, restitution=0.8)
    return m.compile()


class Ensembles:
    """An ensemble of four-bars in a folder."""

    def __init__(self, paths: str) -> None:
        self.paths, self.system = paths, zoo.four_bar().compile()
        self.states = [self.system.assemble({"A": 0.6}, v={"A": 2.0 + 0.01 * k}) for k in range(72)]

    def make(self, place: Path | None) -> da.Ensemble:
        more = {} if place is None else {"store": place, "paths": self.paths}
        times = np.linspace(0.0, 0.5, 5)
        outputs = {"turned": lambda t, s: s["A"] + s["B"]}
        return da.ensemble(self.system, self.states, 0.5, t_eval=times, outputs=outputs, workers=1, lanes=8, **more)

    again = make

    def same(self, one: da.Ensemble, other: da.Ensemble) -> bool:
        names = ("q", "v", "q_end", "status", "steps", "energy_error", "success")
        pairs = [(getattr(one, n), getattr(other, n)) for n in names]
        pairs.append((one.outputs["turned"], other.outputs["turned"]))
        return all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)

    def examine(self, place: Path, whole: da.Ensemble) -> str:
        """What a damaged store gives."""
        return "same" if self.same(self.again(place), whole) else "WRONG"


class Recordings:
    """A recorded run in a file."""

    def __init__(self, system: da.System, state: Any, duration: float) -> None:
        self.system, self.state, self.duration = system, state, duration

    def make(self, place: Path | None) -> da.Run:
        more = {} if place is None else {"record": place, "resume": True}
        return da.simulate(self.system, self.state, self.duration, **more)

    again = make

    def same(self, one: da.Run, other: da.Run) -> bool:
        pairs = [(getattr(one, n), getattr(other, n)) for n in ("t", "q", "v", "margin", "p", "energy_error")]
        told = [str(s) for s in one.switches] == [str(s) for s in other.switches]
        return told and one.status == other.status and all(np.array_equal(a, b) for a, b in pairs)

    def examine(self, place: Path, whole: da.Run) -> str:
        """What a damaged recording gives: read, then taken up again."""
        try:
            found = da.read_run(place, self.system)
        except da.DalembertError:
            read = "refused"
        else:
            n = len(found.t)
            pairs = [(getattr(found, x), getattr(whole, x)[:n]) for x in ("t", "q", "v")]
            if not all(np.array_equal(a, b) for a, b in pairs) or not np.array_equal(found.p, whole.p):
                return "WRONG"
            if n < len(whole.t) and found.success:
                return "SHORT WITH SUCCESS"
            read = "same" if n == len(whole.t) else "a part"
        try:
            return read if self.same(self.again(place), whole) else "WRONG WHEN RESUMED"
        except da.DalembertError:
            return read


def kinds() -> dict[str, Any]:
    """Everything that is written as it is made."""
    bar = zoo.four_bar().compile()
    return {
        "arrow": Ensembles("arrow"),
        "zarr": Ensembles("zarr"),
        "run": Recordings(bar, bar.assemble({"A": 0.6}, v={"A": 2.0}), 20.0),
        "phases": Recordings(_bouncing(), {"z": 5.1}, 6.0),
    }


# --- kills ----------------------------------------------------------------------------------------------------------


def killed(call: Callable[[], Any], place: Path, r: random.Random, seconds: float, operations: int) -> bool:
    """Make a call in a process that is killed, at a random time or at one of its operations on files; False: too late.

    place: of the store. seconds, operations: that a whole call takes.
    """
    at = r.randrange(1, operations + 1) if r.random() < 0.6 else 0
    process = os.fork()
    if not process:
        try:
            if at:
                sys.addaudithook(_at_operations(place, lambda k: k == at and os.kill(os.getpid(), signal.SIGKILL)))
            call()
        finally:
            os._exit(0)
    if not at:
        time.sleep(r.random() * seconds)
        os.kill(process, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(process, 0)[1])


def _at_operations(place: Path, do: Callable[[int], Any]) -> Callable[[str, Any], None]:
    """A hook that counts operations on the files of a store, and those beside it that are its own."""
    count = [0]

    def hook(event: str, arguments: Any) -> None:
        if event in OPERATIONS and any(place.name in str(x) for x in arguments[:2]):
            count[0] += 1
            do(count[0])

    return hook


def kills(kind: Any, count: int, r: random.Random, folder: Path) -> Counter[str]:
    """What became of stores whose writers were killed."""
    whole, found = kind.make(None), Counter[str]()
    place, seen = folder / "measured", [0]
    sys.addaudithook(_at_operations(place, lambda k: seen.insert(0, k)))
    kind.make(place)
    _remove(place)
    operations, start = seen[0], time.perf_counter()
    kind.make(place)
    seconds = time.perf_counter() - start
    place = folder / "killed"
    for _ in range(count):
        for _ in range(r.randint(1, 3)):
            died = killed(lambda: kind.make(place), place, r, seconds, operations)
            found["killed" if died else "ended before"] += 1
        found[_outcome(lambda: "same" if kind.same(kind.again(place), whole) else "WRONG")] += 1
        _remove(place)
    return found


# --- damage ---------------------------------------------------------------------------------------------------------


def damage(path: Path, r: random.Random) -> str:
    """Damage a file; what was done."""
    how = r.choice(["flip", "flip", "flip", "zero", "cut", "longer", "gone"])
    if how == "gone":
        path.unlink()
        return how
    data = bytearray(path.read_bytes())
    at = r.randrange(len(data)) if data else 0
    if how == "flip" and data:
        data[at] ^= 1 << r.randrange(8)
    elif how == "zero":
        data[at : at + 64] = bytes(len(data[at : at + 64]))
    elif how == "cut":
        data = data[:at]
    else:
        data[at:at] = r.randbytes(16)
    path.write_bytes(data)
    return how


def flips(kind: Any, count: int, r: random.Random, folder: Path) -> Counter[str]:
    """What damaged stores gave."""
    good, place, found = folder / "good", folder / "damaged", Counter[str]()
    whole = kind.make(good)
    files = [x for x in sorted(good.rglob("*")) if x.is_file()] if good.is_dir() else [good]
    for _ in range(count):
        if good.is_dir():
            shutil.copytree(good, place)
        else:
            shutil.copy(good, place)
        chosen = r.choice(files)
        how = damage(place / chosen.relative_to(good) if good.is_dir() else place, r)
        if place.exists():
            found[f"{how}: {_outcome(lambda: kind.examine(place, whole))}"] += 1
        _remove(place)
    return found


def _outcome(ask: Callable[[], str]) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            return ask()
        except da.DalembertError as error:
            return "refused" if len(str(error).split()) > 6 else f"NO SENTENCE {error!r}"
        except Exception as error:
            traceback.print_exc()
            return f"RAW {type(error).__name__}"


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def wrong(found: Counter[str]) -> list[str]:
    """Outcomes that must not be."""
    return [what for what in found if what.upper() != what.lower() and any(w.isupper() for w in what.split())]


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign; the number of kinds of wrong outcomes."""
    parser = argparse.ArgumentParser(prog="tests.campaign.stores")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--flips", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="*", default=["arrow", "zarr", "run", "phases"])
    asked = parser.parse_args(arguments)
    work.SECONDS, work.SMALLEST = 1e-9, 1  # small parts
    zarr_paths.CHUNK = 300  # several chunks, which parts share
    faults = 0
    for name, kind in kinds().items():
        if name not in asked.kinds:
            continue
        r = random.Random(f"{asked.seed} {name}")
        for what, count in (("kills", asked.kills), ("flips", asked.flips)):
            with tempfile.TemporaryDirectory() as folder:
                found = globals()[what](kind, count, r, Path(folder))
            print(name, what, dict(sorted(found.items())), flush=True)
            faults += len(wrong(found))
            for one in wrong(found):
                print("    FAULT:", one, flush=True)
    return faults


if __name__ == "__main__":
    sys.exit(main())
