"""Work against precision: settings of a tool from coarse to fine, judged, and timed in turns."""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time

import numpy as np

from benchmarks.motions import DURATION, LEVELS, NOWHERE, Outcome
from benchmarks.peers import Families, Setting


@dataclass
class Tried:
    """A setting that was run."""

    setting: Setting
    seconds: float
    outcome: Outcome


def spent(setting: Setting, duration: float = DURATION) -> tuple[float, Outcome]:
    """CPU time of a run, and how good it was."""
    with np.errstate(all="ignore"):  # coarse settings go astray, and their errors show it
        start = process_time()
        try:
            result = setting.solve(duration)
        except np.linalg.LinAlgError:  # a step of SciPy's led out of where the model is defined
            return process_time() - start, NOWHERE
        seconds = process_time() - start
        return seconds, setting.judge(result)


def search(families: Families, longest: float, level: str = "L3") -> list[Tried]:
    """Every setting from coarse to fine, until one reaches the level, takes too long, or cannot be the fastest."""
    tried: list[Tried] = []
    for family in families:
        spent(family[0], 0.1)  # compiles
        for setting in family:
            seconds, outcome = spent(setting)
            most = 10 if seconds < 2e-3 else 1 if seconds > 0.3 * longest else 0  # noise; or it was compiling
            for _ in range(most):
                seconds = min(seconds, spent(setting)[0])
            tried.append(Tried(setting, seconds, outcome))
            known = fastest(tried, level)
            if outcome.reaches(level) or seconds > 0.5 * longest:  # the next takes twice as long
                break
            if known is not None and seconds > 2.0 * known.seconds:
                break
    return tried


def finalists(tried: list[Tried]) -> dict[str, list[Tried]]:
    """For each level the two fastest that reach it."""
    return {
        level: sorted((t for t in tried if t.outcome.reaches(level)), key=lambda t: t.seconds)[:2] for level in LEVELS
    }


def take_turns(chosen: list[Tried], share: float) -> None:
    """Time them again, in turns, each for about `share` seconds; the least counts."""
    turns = [min(60, max(1, round(share / max(t.seconds, 1e-6)))) for t in chosen]
    for turn in range(max(turns, default=0)):
        for t, most in zip(chosen, turns):
            if turn < most:
                start = process_time()
                t.setting.solve(DURATION)
                t.seconds = min(t.seconds, process_time() - start)


def fastest(tried: list[Tried], level: str) -> Tried | None:
    """That counts."""
    return min((t for t in tried if t.outcome.reaches(level)), key=lambda t: t.seconds, default=None)
