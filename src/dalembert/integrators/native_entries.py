"""The functions behind `entries`, and their LLVM text by Numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import from_dtype

from dalembert.integrators import careful, explicit, implicit, loop, variational  # noqa: F401  (they register methods)
from dalembert.integrators.native import entry, integers, matrix, vector
from dalembert.integrators.numbers import COUNTS, NUMBERS, PASSAGE


@entry
def advance(record):
    """See `loop.advance`."""
    run = record.run
    run.outcome, run.t = loop.advance(
        record.method, run.parts, run.t, run.end, vector(run.x, (run.n,)), matrix(run.stages, (run.rows, run.n)),
        vector(run.numbers, (NUMBERS,)), integers(run.counts, (COUNTS,)), vector(run.times, (run.room,)),
        matrix(run.states, (run.room, run.width)), matrix(run.marks, (2, run.events)),
    )  # fmt: skip


@entry
def pass_singularity(record):
    """See `careful.pass_singularity`."""
    run = record.run
    run.outcome, run.t = careful.pass_singularity(
        record.method, run.parts, run.ordinary, run.t, run.end, vector(run.x, (run.n,)),
        matrix(run.stages, (run.rows, run.n)), vector(run.numbers, (NUMBERS,)), integers(run.counts, (COUNTS,)),
        vector(run.times, (run.room,)), matrix(run.states, (run.room, run.width)), matrix(run.marks, (2, run.events)),
        vector(run.passage, (PASSAGE,)),
    )  # fmt: skip


@entry
def fill(record):
    """See `loop.fill`."""
    run = record.run
    loop.fill(
        record.method, run.parts, vector(run.times, (run.room,)), matrix(run.states, (run.room, run.width)),
        vector(run.wanted, (run.asked,)), matrix(run.out, (run.asked, run.width)),
        matrix(run.stages, (run.rows, run.n)), vector(run.numbers, (NUMBERS,)), integers(run.counts, (COUNTS,)),
    )  # fmt: skip


ENTRIES: dict[str, Any] = {"advance": advance, "pass_singularity": pass_singularity, "fill": fill}


def llvm(name: str, record: np.dtype) -> tuple[str, str]:
    """LLVM text of a function for a kind of record, and its symbol there."""
    function, signature = ENTRIES[name], (from_dtype(record),)
    function.compile(signature)
    return function.inspect_llvm(signature), function.overloads[signature].fndesc.llvm_func_name
