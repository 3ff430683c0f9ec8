"""The parts of an ensemble, made by threads of this process or by an executor: none lost, none made twice."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from dalembert.compiler.build import Progress
from dalembert.ensembles.lanes import Batch, Lanes
from dalembert.ensembles.parts import Part, Plan, laid_out, make_part
from dalembert.errors import DalembertError
from dalembert.simulation.layout import Layout

PARTS = 6  # for each worker: the last one does not keep the others waiting
LARGEST = 4096  # runs in a part: bounds its memory
SMALLEST = 8  # times the lanes: less leaves some of them idle
AHEAD = 2  # parts for each worker that wait in an executor: the rest waits here


def cut(rows: np.ndarray, workers: int, lanes: int) -> list[np.ndarray]:
    """Rows of runs, in parts."""
    size = max(SMALLEST * lanes, min(LARGEST, -(-len(rows) // (PARTS * workers))))
    return [rows[k : k + size] for k in range(0, len(rows), size)]


def in_threads(plan: Plan, batch: Batch, parts: list[np.ndarray], workers: int) -> Iterator[tuple[np.ndarray, Part]]:
    """Parts as they are ready. An interrupt ends what is under way, and what there is comes out."""
    stop, own = threading.Event(), threading.local()

    def make(rows: np.ndarray) -> Part:
        if plan.lanes > 1 and not hasattr(own, "lanes"):
            own.lanes = _lanes(plan, batch, rows)
        return make_part(plan, batch.part(rows), lambda: not stop.is_set(), getattr(own, "lanes", None))

    pool = ThreadPoolExecutor(workers)
    try:
        futures = {pool.submit(make, rows): rows for rows in parts}
        yield from _collected(futures, stop)
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _lanes(plan: Plan, batch: Batch, rows: np.ndarray) -> Lanes | None:
    """Lanes laid out for the first of these runs that can be laid out."""
    for k in rows:
        try:
            layout, span = laid_out(plan, batch, int(k))
            own = Layout(layout.setup) if layout is plan.layout else layout
            return Lanes(own, span, plan.lanes)
        except DalembertError:  # of this run's start or parameters, which the run itself tells of
            continue
    return None


def _collected(futures: dict[Future[Part], np.ndarray], stop: threading.Event) -> Iterator[tuple[np.ndarray, Part]]:
    while futures:
        try:
            done, _ = wait(futures, timeout=0.2, return_when=FIRST_COMPLETED)
        except KeyboardInterrupt:
            stop.set()
            done = {f for f in wait(futures).done if not f.cancelled()}
        for future in done:
            yield futures.pop(future), future.result()


def by_executor(
    plan: Plan, batch: Batch, parts: list[np.ndarray], executor: Any, workers: int
) -> Iterator[tuple[np.ndarray, Part]]:
    """Parts as an executor makes them. One that it loses is given to it again, and made here if it is lost again."""
    waiting, futures, lost = list(reversed(parts)), dict[Any, np.ndarray](), set[int]()
    try:
        while waiting or futures:
            while waiting and len(futures) < AHEAD * workers:
                rows = waiting.pop()
                try:
                    futures[executor.submit(elsewhere, plan, batch.part(rows))] = rows
                except Exception:  # it is gone
                    yield rows, elsewhere(plan, batch.part(rows))
            done = wait(futures, return_when=FIRST_COMPLETED).done if futures else set()
            for future in done:
                rows = futures.pop(future)
                try:
                    part = future.result()
                except DalembertError:
                    raise
                except Exception:  # its worker is gone
                    if int(rows[0]) not in lost:
                        lost.add(int(rows[0]))
                        waiting.append(rows)
                        continue
                    part = elsewhere(plan, batch.part(rows))
                yield rows, part
    except KeyboardInterrupt:
        for future in futures:
            future.cancel()


def elsewhere(plan: Plan, batch: Batch) -> Part:
    """Make a part in a worker of an executor."""
    lanes = _lanes(plan, batch, np.arange(len(batch))) if plan.lanes > 1 else None
    return make_part(plan, batch, lanes=lanes)


def usual_workers() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def shown(made: Iterator[tuple[np.ndarray, Part]], total: int) -> Iterator[tuple[np.ndarray, Part]]:
    """The same, with a line on a terminal."""
    ready = 0
    with Progress("runs", total) as step:
        for rows, part in made:
            ready += len(rows)
            step(ready)
            yield rows, part
