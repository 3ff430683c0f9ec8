"""RNEA, CRBA and ABA beside Pinocchio: called from Python, in a compiled loop, and eight states at once.

Pinocchio's CRBA and ABA work in local or in world axes; the faster one counts. Its time without Python is taken in
two ways. The overhead of a call from Python is that of the same function for a model without joints, which takes and
returns empty arrays (for CRBA, which returns an nv × nv matrix, copying a matrix of that size is added; that it also
mirrors the upper triangle is not). And where Pinocchio has a loop of its own (`rneaInParallel`, `abaInParallel`, on one
thread), that is timed too. The part `peer` measures the C++ alone.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from benchmarks import models
from benchmarks.description import Model
from benchmarks.timing import Table, interleaved, native, python_loop, room, versus
from dalembert.compiler.call import call_kernel

LANES = 8
TOLERANCE = 1e-10
BATCH = 64


@native
def _repeat(count, address, x, y, w):
    for _ in range(count):
        call_kernel(address, x, y, w)


def native_loop(kernel, states):
    """A compiled loop over one call of a kernel (`lanes` states); y is returned to look at the answer."""
    x, y, w = (room(size) for size in (kernel.x_size, kernel.y_size, kernel.work_size))
    x[:] = np.hstack(states)[: kernel.lanes].T.reshape(-1)
    return (lambda count: _repeat(count, kernel.address, x, y, w)), y


ALGORITHMS = {  # ours, theirs, how many of (q, v, a) they take
    "RNEA": ("inverse_dynamics", "rnea", 3),
    "CRBA": ("mass_matrix", "crba", 1),
    "ABA": ("forward_dynamics", "aba", 3),
}


def measure(model: Model, algorithm: str, rounds: int) -> dict[str, float]:
    """Seconds of each route and the largest relative difference of the answers."""
    ours, theirs, inputs = ALGORITHMS[algorithm]
    system = model.mechanism().compile()
    states = models.random_state(model, BATCH)[:inputs]
    peer, call = model.pinocchio(), getattr(pin, theirs)
    data, empty = peer.createData(), pin.Model()
    nothing = empty.createData()
    maps = [model.to_pinocchio_q, model.to_pinocchio_v, model.to_pinocchio_v][:inputs]
    batch = [np.array([f(row) for row in x]) for f, x in zip(maps, states)]
    arguments = dict(zip("qva", (x[0].copy() for x in states)))
    peers = dict(zip("qva", (x[0].copy() for x in batch)))
    nulls = {name: np.zeros(0) for name in arguments}
    given = ", ".join(arguments)
    scalar, lanes = system.kernel(ours), system.kernel(ours, lanes=LANES)
    loop, y = native_loop(scalar, states)
    wide, y8 = native_loop(lanes, states)
    routes = {
        "ours, Python": python_loop(f"f({given})", f=scalar, **arguments),
        "ours, native": loop,
        "ours, lanes": wide,
        "Pinocchio, Python": python_loop(f"f(model, data, {given})", f=call, model=peer, data=data, **peers),
        "overhead": python_loop(f"f(model, data, {given})", f=call, model=empty, data=nothing, **nulls),
    }
    if algorithm != "RNEA":
        world = {"model": peer, "data": peer.createData(), "c": pin.Convention.WORLD}
        routes["Pinocchio, world"] = python_loop(f"f(model, data, {given}, c)", f=call, **world, **peers)
    if algorithm == "CRBA":
        routes["copy"] = python_loop("M.copy()", M=np.asfortranarray(np.zeros((system.nv, system.nv))))
    if algorithm != "CRBA":
        pool, out = pin.ModelPool(peer, 1), np.zeros((peer.nv, BATCH), order="F")
        columns = [np.asfortranarray(x.T) for x in batch]
        many = getattr(pin, f"{theirs}InParallel")
        routes["Pinocchio, own loop"] = lambda count: [many(1, pool, *columns, out) for _ in range(count)]
    time = interleaved(routes, rounds)
    time["ours, lanes"] /= LANES
    if "Pinocchio, own loop" in time:
        time["Pinocchio, own loop"] /= BATCH
    time["overhead"] += time.pop("copy", 0.0)
    time["Pinocchio, default"] = time["Pinocchio, Python"]
    time["Pinocchio, Python"] = min(time["Pinocchio, Python"], time.pop("Pinocchio, world", np.inf))

    expected = np.array([np.array(call(peer, data, *row)) for row in zip(*batch)][:LANES])
    if algorithm == "CRBA":
        order = model.to_pinocchio_v(np.arange(system.nv)).astype(int)
        back = np.ix_(range(LANES), np.argsort(order), np.argsort(order))
        expected = expected[back].reshape(LANES, -1)
    else:
        expected = np.array([model.to_pinocchio_v(row) for row in expected])
    answers = [np.ravel(scalar(*arguments.values())), y, *y8.reshape(-1, LANES).T]
    scale = np.abs(expected).max()
    wanted = [expected[0], expected[0], *expected]
    time["difference"] = max(float(np.abs(a - b).max() / scale) for a, b in zip(answers, wanted))
    assert time["difference"] < TOLERANCE, (model.name, algorithm, time["difference"])
    return time


def run(quick: bool = False) -> list[Table]:
    """The tables of this part."""
    columns = [
        "µs per evaluation", "ours: Python", "native", "8 lanes", "Pinocchio: Python", "default axes",
        "its overhead", "its own loop",
        "Python/Python", "native ≥ 3", "net ≥ 1.5", "lanes ≥ 15", "difference",
    ]  # fmt: skip
    table = Table("Trees: RNEA, CRBA, ABA", columns)
    cases = [models.arm(), models.humanoid(), models.chain(100), models.arm_with_turned_frames()]
    worst: dict[str, float] = {}
    for k, model in enumerate(cases):
        for algorithm in ALGORITHMS:
            t = measure(model, algorithm, 20 if quick else 150)
            peer = t["Pinocchio, Python"]
            ratios = {
                "from Python, ours against Pinocchio's": peer / t["ours, Python"],
                "native against Pinocchio from Python": peer / t["ours, native"],
                "native against Pinocchio less its overhead": (peer - t["overhead"]) / t["ours, native"],
                "8 lanes against Pinocchio from Python": peer / t["ours, lanes"],
            }
            own = t.get("Pinocchio, own loop")
            micro = [1e6 * t[name] for name in ("ours, Python", "ours, native", "ours, lanes")]
            micro += [1e6 * peer, 1e6 * t["Pinocchio, default"], 1e6 * t["overhead"]]
            micro.append(None if own is None else 1e6 * own)
            table.add(f"{model.name}: {algorithm}", *micro, *ratios.values(), t["difference"])
            if k < 3:
                for name, ratio in ratios.items():
                    worst[name] = min(worst.get(name, np.inf), ratio)
    for (name, ratio), target in zip(worst.items(), (1.0, 3.0, 1.5, 15.0)):
        table.notes.append(f"- {name}, least of the first nine rows: {versus(ratio, target)}")
    return [table]
