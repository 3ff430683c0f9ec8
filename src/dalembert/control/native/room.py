"""The memory of one control update: two blocks, and views of them that Python and Numba cut in the same way.

A kernel that is called from Python with sixty arrays spends ten times longer on looking at them than on its work. So
everything stands in one block of floats and one of integers, and `room_of` cuts it, natively at each call,
in Python once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.memory import matrix, vector
from dalembert.formulations.work import Work, factorization, factorization_size, jitable

NQ, NV, ROWS, ACTUATORS, TASKS, SELECTED = range(6)


class Room(NamedTuple):
    """Everything one update reads and writes; cut by `room_of`."""

    work: Work  # M, f, A, γ and the factorization of A
    B: np.ndarray  # (n, na)
    theta: np.ndarray  # (nt,)
    rate: np.ndarray  # (nt,) θ̇
    J: np.ndarray  # (nt, n)
    bias: np.ndarray  # (nt,) J̇ v
    v: np.ndarray  # (n,)
    wish: np.ndarray  # (3 nt,) θ_d, θ̇_d, θ̈_d
    gains: np.ndarray  # (2 nt, nt) G_P over G_D
    asked: np.ndarray  # (n,) v̇ wanted, for GIVEN
    on: np.ndarray  # (m,) 1.0 where a row counts
    cost: np.ndarray  # (na, na) upper factor of G
    weight: np.ndarray  # (n, n) upper factor of W, for WEIGHTED
    select: np.ndarray  # (ns,) rows of λ that are wanted
    wanted: np.ndarray  # (ns,) their values
    K: np.ndarray  # (n, n) rows
    motion: np.ndarray  # (n,) v̇, result
    need: np.ndarray  # (n,) M v̇ − f
    u: np.ndarray  # (na,) result
    info: np.ndarray  # [MOBILITY, TASK_RANK, REACH, STATUS, FORCE_RANK]
    floats: np.ndarray  # [damping of motions the task leaves free]
    T: np.ndarray  # flat: J K, then its factorization
    N: np.ndarray  # flat: KᵀB, whitened; then its factorization
    L: np.ndarray  # flat: the map from null forces to λ, then its factorization
    right: np.ndarray  # (3, n + na + nt + ns) right sides and solutions
    ints: np.ndarray  # (3, n + na + nt + ns) permutations
    marks: np.ndarray  # (3, 4) infos of the factorizations


@jitable
def work_of(y, flat, ints, n, m):
    """The workspace of a formulation, its M, f, A and γ at the beginning of the output y; and where all that ends."""
    M, a = matrix(y, 0, n, n)
    f, a = vector(y, a, n)
    A, a = matrix(y, a, m, n)
    gamma, out = vector(y, a, m)
    vdot, at = vector(flat, 0, n)
    force, at = vector(flat, at, n)
    multipliers, at = vector(flat, at, m)
    gauge, at = vector(flat, at, 2)
    metric, at = matrix(flat, at, n, n)
    upper, at = matrix(flat, at, n, n)
    white, at = matrix(flat, at, m, n)
    n1, at = vector(flat, at, n)
    n2, at = vector(flat, at, n)
    m1, at = vector(flat, at, m)
    info, i = vector(ints, 0, 2)
    choice, i = vector(ints, i, n)
    order, i = vector(ints, i, n + m)
    perm, i = vector(ints, i, m)
    marks, i = vector(ints, i, 4)
    factor = factorization(flat, at, m, n, perm, marks)
    at += factorization_size(m, n)
    empty, none = vector(flat, at, 0)[0], matrix(flat, at, 0, 0)[0]
    work = Work(
        M, f, A, gamma, vdot, force, multipliers, info, gauge, metric, choice, upper, white, factor, n1, n2, m1,
        empty, none, none, empty, order,
    )  # fmt: skip
    return work, out, at, i


@jitable
def room_of(x, y, flat, ints, dims):
    """All views, and how much is used of flat and ints; x and y are what the plant's kernel reads and writes."""
    n, m, na, nt, ns = dims[NV], dims[ROWS], dims[ACTUATORS], dims[TASKS], dims[SELECTED]
    most = n + na + nt + ns
    work, out, at, i = work_of(y, flat, ints, n, m)
    B, out = matrix(y, out, n, na)
    theta, out = vector(y, out, nt)
    rate, out = vector(y, out, nt)
    J, out = matrix(y, out, nt, n)
    bias, out = vector(y, out, nt)
    v, _ = vector(x, dims[NQ], n)
    wish, at = vector(flat, at, 3 * nt)
    gains, at = matrix(flat, at, 2 * nt, nt)
    asked, at = vector(flat, at, n)
    on, at = vector(flat, at, m)
    cost, at = matrix(flat, at, na, na)
    weight, at = matrix(flat, at, n, n)
    wanted, at = vector(flat, at, ns)
    K, at = matrix(flat, at, n, n)
    motion, at = vector(flat, at, n)
    need, at = vector(flat, at, n)
    u, at = vector(flat, at, na)
    floats, at = vector(flat, at, 1)
    T, at = vector(flat, at, nt * n + factorization_size(nt, n))
    N, at = vector(flat, at, 2 * n * na + na * na + factorization_size(n, na))
    tall = max(ns, nt)
    L, at = vector(flat, at, tall * na + na * na + factorization_size(tall, na))
    right, at = matrix(flat, at, 3, most)
    select, i = vector(ints, i, ns)
    info, i = vector(ints, i, 5)
    perms, i = matrix(ints, i, 3, most)
    marks, i = matrix(ints, i, 3, 4)
    room = Room(
        work, B, theta, rate, J, bias, v, wish, gains, asked, on, cost, weight, select, wanted, K, motion, need, u,
        info, floats, T, N, L, right, perms, marks,
    )  # fmt: skip
    return room, at, i


class Memory(NamedTuple):
    """What `law.update` is called with, beside the address of the plant's kernel."""

    flat: np.ndarray
    ints: np.ndarray
    dims: np.ndarray
    room: Room


def make_memory(plant: Any, select: Any, damping: float) -> Memory:
    """Memory for a plant and the rows of λ it is to set."""
    dims = np.array([plant.system.nq, plant.n, plant.m, plant.na, plant.nt, len(select)], dtype=np.int64)
    sizes = [int(d) for d in dims]
    ample = 50 * (sum(sizes) + 4) ** 2  # first cut from more than enough, then from what was used
    _, floats, ints = room_of(plant.x, plant.y, np.zeros(ample), np.zeros(ample, dtype=np.int64), sizes)
    memory = np.zeros(floats), np.zeros(ints, dtype=np.int64)
    room, _, _ = room_of(plant.x, plant.y, *memory, sizes)
    room.on[:], room.floats[0], room.select[:] = 1.0, damping, select
    for square in (room.cost, room.weight):
        np.fill_diagonal(square, 1.0)
    return Memory(*memory, dims, room)
