"""Ten seconds of motion beside other tools: CPU time at three levels of accuracy, errors beside it.

Levels (largest energy and closure error over the run): L1 0.1 J, 1e-3 m; L2 1e-3 J, 1e-6 m; L3 1e-6 J, 1e-9 m. Every
tool tries its methods and tolerances or steps; the fastest that reaches a level counts. First each setting is run and
judged; the angle of the first link at the end is compared with the published one, or with that of our finest run. Then
those that may count take turns, and the fastest run of each is its time. Problems in `motions`, tools in `peers`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from time import process_time

import dalembert as da
from benchmarks import first_run, growth
from benchmarks.motions import DURATION, LEVELS, Motion, problems
from benchmarks.peers import Families
from benchmarks.peers.tools import GENERAL, OURS, WRITTEN
from benchmarks.timing import Table, versus
from benchmarks.work_precision import Tried, fastest, finalists, search, spent, take_turns

LONGEST = 3.0  # s of computing after which a tool gives up
AGREES = 2e-2  # rad: how near a tool's finest run comes to the published angle


def measure(motion: Motion, tools: Mapping[str, Callable[[Motion], Families]], quick: bool) -> dict[str, list[Tried]]:
    """All tools on one problem, timed: tried settings that are among the fastest of some level, by tool."""
    longest = 1.0 if quick else LONGEST
    tried = {name: search(families(motion), longest) for name, families in tools.items()}
    compare(motion, tried)
    best = {name: finalists(t) for name, t in tried.items()}
    chosen = {id(t): t for levels in best.values() for some in levels.values() for t in some}
    take_turns(list(chosen.values()), 0.1 if quick else 0.4)
    return tried


def compare(motion: Motion, tried: Mapping[str, list[Tried]]) -> None:
    """Every tool's finest run against the published angle of the first link, or against ours: no other is timed."""
    finest = {name: min(t, key=lambda x: x.outcome.energy + x.outcome.closure) for name, t in tried.items()}
    answers = {name: t.outcome for name, t in finest.items()}
    if motion.check < DURATION:
        answers = {name: spent(t.setting, motion.check)[1] for name, t in finest.items()}
    expected = answers[OURS].angle if motion.angle is None else motion.angle
    for name, outcome in answers.items():
        off = abs(math.remainder(outcome.angle - expected, 2 * math.pi))
        if "A02" in motion.name and name != OURS:  # after a singular position a tool may have taken another way
            continue
        assert off < AGREES or not outcome.reaches("L1"), (motion.name, name, outcome, expected)
    if motion.energy is not None:
        energy = motion.system.energy(motion.start)
        assert abs(energy - motion.energy) < 1e-4, (motion.name, energy)


def run(quick: bool = False) -> list[Table]:
    """The tables of this part."""
    names = [*GENERAL, *WRITTEN]
    times = Table(
        "Ten seconds of motion: CPU ms of the fastest setting that reaches the level; energy and closure error of ours",
        ["problem", "level", OURS, "energy, J", "closure, m", *names[1:], "general ≥ 5", "NumPy ≥ 50", "Numba ≥ 1",
         "by hand ≥ 1"],
    )  # fmt: skip
    details = Table(
        "The settings that count, with their errors",
        ["problem", "level", "tool", "setting", "ms", "energy, J", "closure, m", "first angle at 10 s"],
    )
    for motion in problems():
        tools = GENERAL | WRITTEN if motion.name[:2] in ("P1", "P2") else GENERAL
        print(f"{motion.name} …", file=sys.stderr, flush=True)
        tried = measure(motion, tools, quick)
        for level in LEVELS:
            best = {name: fastest(tried[name], level) for name in tools}
            ms = {name: 1e3 * t.seconds for name, t in best.items() if t is not None}
            mine = best[OURS]
            general = min((ms[n] for n in list(GENERAL)[1:] if n in ms), default=None)

            def ratio(other: float | None, ms=ms) -> float | None:
                return other / ms[OURS] if other is not None and OURS in ms else None

            times.add(
                motion.name, level, ms.get(OURS), mine and mine.outcome.energy, mine and mine.outcome.closure,
                *(ms.get(name) for name in names[1:]), ratio(general), *(ratio(ms.get(name)) for name in WRITTEN),
            )  # fmt: skip
            for name, t in best.items():
                if t is not None:
                    details.add(motion.name, level, name, t.setting.label, ms[name], *t.outcome)
    times.notes.append(f"–: not reached by any setting that takes less than about {1.0 if quick else LONGEST:g} s.")
    return [times, details, steps_per_second(quick), first_run.table(), growth.table(quick)]


def steps_per_second(quick: bool) -> Table:
    """Fixed-step RK4 on P1."""
    table = Table("P1, RK4 with a step of 1e-3 s: steps per second", ["stabilization", "steps/s", "energy", "closure"])
    motion = problems(())[0]
    for kind in ("projection", "none"):
        best = math.inf
        for _ in range(5 if quick else 30):
            start = process_time()
            done = da.simulate(motion.system, motion.start, DURATION, method="rk4", step=1e-3, stabilization=kind)
            best = min(best, process_time() - start)
        outcome = motion.judge(done.q, done.v)
        table.add(kind, round(done.steps / best), outcome.energy, outcome.closure)
        if kind == "projection":
            table.notes.append(f"- with projection: {versus(done.steps / best, 300_000)}")
    return table
