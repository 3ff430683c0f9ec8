"""The parts of an ensemble, made by threads of this process or by an executor: none lost, none made twice.

Parts are cut when a worker is about to need one. The first are small; what they take tells how many runs the next ones
hold: about SECONDS of work, less towards the end, so that no worker keeps the others waiting. A run does not depend on
its part.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np

from dalembert.compiler.build import CompileProgress
from dalembert.ensembles.lanes import Batch, Lanes
from dalembert.ensembles.parts import EnsemblePart, make_part
from dalembert.ensembles.plan import EnsemblePlan, laid_out
from dalembert.errors import CompileError, DalembertError
from dalembert.simulation.layout import RunLayout
from dalembert.simulation.run.context import lay_out
from dalembert.simulation.run.interrupt import Interrupt
from dalembert.simulation.run.segment import Segment

LARGEST = 4096  # runs in a part
NUMBERS = 8e6  # of paths in a part: bounds its memory
SMALLEST = 8  # times the lanes: less leaves some of them idle
SHARE = 3  # a part is at most this part of what is left, for each worker
SECONDS = 2.0  # of work in a part
GONE = "the executor has lost its scheduler"
AHEAD = 2  # parts for each worker that have been handed out: the rest waits here

Made = Generator[tuple[np.ndarray, EnsemblePart], None, None]
Timed = tuple[EnsemblePart, float]  # a part, and the seconds it took


class Queue:
    """Rows of runs that are to be made, cut into parts."""

    def __init__(self, rows: np.ndarray, workers: int, lanes: int, numbers: int) -> None:
        """numbers: of the path of a run that is kept until its part is made."""
        self.rows, self.workers = rows, workers
        self.most = max(lanes, min(LARGEST, int(NUMBERS / max(numbers, 1))))
        self.least = min(SMALLEST * lanes, self.most)
        self.taken, self.made, self.seconds = 0, 0, 0.0
        self.lost: list[np.ndarray] = []

    def __bool__(self) -> bool:
        return self.taken < len(self.rows) or bool(self.lost)

    def take(self) -> np.ndarray:
        """The next part."""
        if self.lost:
            return self.lost.pop()
        fair = -(-(len(self.rows) - self.taken) // (SHARE * self.workers if self.workers > 1 else 1))
        usual = self.made * SECONDS / self.seconds if self.seconds > 0.0 else 4 * self.least
        size = int(max(self.least, min(self.most, fair, usual)))
        rows = self.rows[self.taken : self.taken + size]
        self.taken += len(rows)
        return rows

    def note(self, count: int, seconds: float) -> None:
        """Record the time that a part of so many runs took."""
        self.made += count
        self.seconds += seconds


def in_threads(plan: EnsemblePlan, batch: Batch, queue: Queue) -> Made:
    """Parts as they are ready. An interrupt ends what is under way, and what there is comes out."""
    own = threading.local()
    with _interrupt() as interrupt, ThreadPoolExecutor(queue.workers) as pool:

        def make(rows: np.ndarray) -> Timed:
            began = perf_counter()
            if plan.lanes > 1 and not hasattr(own, "lanes"):
                own.lanes = _lanes(plan, batch, rows)
            part = make_part(plan, batch.part(rows), lambda: not interrupt.asked, getattr(own, "lanes", None))
            return part, perf_counter() - began

        try:
            yield from _made(queue, lambda rows: pool.submit(make, rows), make, interrupt)
        finally:
            interrupt.stop()  # also where the results are no longer wanted


def by_executor(plan: EnsemblePlan, batch: Batch, queue: Queue, executor: Any) -> Made:
    """Parts as an executor makes them. One that it loses is given to it again, and made here if it is lost again."""
    with _interrupt() as interrupt:
        yield from _made(
            queue,
            lambda rows: executor.submit(elsewhere, plan, batch.part(rows)),
            lambda rows: elsewhere(plan, batch.part(rows)),
            interrupt,
            lambda: _lives(executor),
        )


def _made(
    queue: Queue,
    submit: Callable[[np.ndarray], Any],
    here: Callable[[np.ndarray], Timed],
    interrupt: Interrupt,
    lives: Callable[[], bool] = lambda: True,
) -> Made:
    """Hand out parts, AHEAD of the workers, and yield them as they come."""
    futures, lost = dict[Any, np.ndarray](), set[int]()
    while (queue and not interrupt.asked) or futures:
        while queue and not interrupt.asked and len(futures) < AHEAD * queue.workers:
            rows = queue.take()
            try:
                if not lives():
                    raise RuntimeError(GONE)
                futures[submit(rows)] = rows
            except Exception as error:  # the executor is gone
                _warn(error)
                yield rows, _noted(queue, here(rows))
        done = _waited(futures, interrupt, lives)
        for future in done:
            rows = futures.pop(future)
            try:
                if not future.done():
                    raise RuntimeError(GONE)
                part = _noted(queue, future.result())
            except DalembertError:
                raise
            except Exception as error:  # its worker is gone
                if int(rows[0]) not in lost:
                    lost.add(int(rows[0]))
                    queue.lost.append(rows)
                    continue
                _warn(error)
                part = _noted(queue, here(rows))
            yield rows, part


def _lives(executor: Any) -> bool:
    """Whether an executor may still make something. Parts given to a Dask client without scheduler would never end."""
    return getattr(getattr(executor, "_client", None), "status", "running") == "running"


def _warn(error: Exception) -> None:
    """Tell that runs are made in this process, and why."""
    text = f"the executor does not make a part of the ensemble ({type(error).__name__}: {error}); it is made here."
    warnings.warn(text, stacklevel=2)


def _waited(futures: dict[Any, np.ndarray], interrupt: Interrupt, lives: Callable[[], bool]) -> list[Any]:
    """Futures that are ready, at least one, or all that are left by an executor that lives no more.

    After an interrupt those that have not begun are forgotten.
    """
    while futures:
        done = wait(futures, timeout=0.2, return_when=FIRST_COMPLETED).done
        if interrupt.asked:
            for future in [f for f in futures if f not in done and f.cancel()]:
                del futures[future]
        if done or not lives():
            return list(done or futures)
    return []


def _noted(queue: Queue, timed: Timed) -> EnsemblePart:
    part, seconds = timed
    queue.note(len(part.status), seconds)
    return part


@contextmanager
def _interrupt() -> Iterator[Interrupt]:
    """The first Ctrl-C ends what is under way; a second one interrupts as usual."""
    interrupt = Interrupt([])
    with interrupt:
        interrupt.watch()
        yield interrupt


def _lanes(plan: EnsemblePlan, batch: Batch, rows: np.ndarray) -> Lanes | None:
    """Lanes laid out for the first of these runs that can begin; None where none can, of which each run tells."""
    for k in rows:
        try:
            layout, span = laid_out(plan, batch, int(k))
            ctx = lay_out(Segment(RunLayout(layout.setup) if layout is plan.layout else layout, span))
        except CompileError:  # of all runs
            raise
        except DalembertError:  # of this run's start or parameters: it is made alone, and has the message
            continue
        return Lanes(ctx, plan.lanes)
    return None


def elsewhere(plan: EnsemblePlan, batch: Batch) -> Timed:
    """Make a part in a worker of an executor."""
    began = perf_counter()
    lanes = _lanes(plan, batch, np.arange(len(batch))) if plan.lanes > 1 else None
    return make_part(plan, batch, lanes=lanes), perf_counter() - began


def usual_workers() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def shown(made: Iterator[tuple[np.ndarray, EnsemblePart]], total: int) -> Made:
    """Yield the parts as they finish, with a progress line on a terminal."""
    ready = 0
    with CompileProgress("runs", total) as step:
        for rows, part in made:
            ready += len(rows)
            step(ready)
            yield rows, part
