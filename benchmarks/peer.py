"""Pinocchio as C++ alone, beside our native loops: not run by default, since the C++ takes minutes to build.

`pinocchio_loop.cpp` is built with g++ against the headers and the library of the installed Python package and the Eigen
headers CasADi ships, and kept until it or the package changes. It runs before and after our loops; minima count.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

import casadi
import numpy as np
import pinocchio as pin

from benchmarks import models
from benchmarks.constrained import DENSE, Ours, problems
from benchmarks.description import Model
from benchmarks.timing import Table, interleaved
from benchmarks.tree import ALGORITHMS, native_loop

SOURCE = Path(__file__).parent / "pinocchio_loop.cpp"
DEFINES = (
    "NDEBUG",
    "BOOST_MPL_LIMIT_LIST_SIZE=30",
    "BOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "PINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION",  # use the library's machine code, compile nothing anew
)


def build() -> Path:
    """The program, made if need be."""
    prefix = next(p for p in Path(pin.__file__).parents if (p / "include" / "pinocchio").is_dir())
    eigen = Path(casadi.__file__).parent / "include" / "eigen3"
    name = hashlib.sha256(SOURCE.read_bytes() + pin.__version__.encode()).hexdigest()[:16]
    program = SOURCE.parent / "__pycache__" / f"pinocchio_loop-{name}"
    if not program.exists():
        compiler = shutil.which("g++")
        if compiler is None:
            raise SystemExit("peer: g++ is needed to build benchmarks/pinocchio_loop.cpp; none was found.")
        print("building pinocchio_loop.cpp (some minutes) …", flush=True)
        program.parent.mkdir(exist_ok=True)
        libraries = [
            f"-L{prefix / 'lib'}",
            f"-Wl,-rpath,{prefix / 'lib'}",
            "-lpinocchio_default",
            "-lboost_serialization",
            "-lboost_filesystem",
        ]
        command = [compiler, "-std=c++17", "-O3", "-w", *(f"-D{d}" for d in DEFINES), f"-I{prefix / 'include'}"]
        subprocess.run([*command, f"-I{eigen}", str(SOURCE), "-o", str(program), *libraries], check=True)
    return program


def alone(program: Path, model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> dict[str, float]:
    """Seconds of each algorithm in C++."""
    lines = [str(len(model.closures)), *(_text(x) for x in (q, v, a))]
    for c in model.closures:
        ends = f"{c.a + 1} {_text(c.rotation_a)} {_text(c.at_a)} {c.b + 1} {_text(np.eye(3))} {_text(c.at_b)}"
        lines.append(f"{6 if c.kind == 'fixed' else 3} {ends}")
    with tempfile.TemporaryDirectory() as folder:
        archive, state = Path(folder) / "model", Path(folder) / "state"
        model.pinocchio().saveToText(str(archive))
        state.write_text("\n".join(lines))
        out = subprocess.run([program, archive, state], check=True, capture_output=True, text=True).stdout
    return {name: 1e-9 * float(number) for name, number in (line.rsplit(" ", 1) for line in out.splitlines())}


def _text(x) -> str:
    return " ".join(repr(float(value)) for value in np.ravel(x))


def _beside(program: Path, model: Model, state, routes) -> tuple[dict[str, float], dict[str, float]]:
    before = alone(program, model, *state)
    ours = interleaved(routes)
    after = alone(program, model, *state)
    return {name: min(before[name], after[name]) for name in before}, ours


def trees(program: Path) -> Table:
    """RNEA, CRBA, ABA; Pinocchio's in local and in world axes where there is the choice."""
    table = Table(
        "Trees, Pinocchio as C++ alone: µs per evaluation",
        ["", "ours, native", "Pinocchio, local axes", "world axes", "faster than its best"],
    )
    for model in (models.arm(), models.humanoid(), models.chain(100)):
        system, states = model.mechanism().compile(), models.random_state(model, 1)
        q, v, a = (x[0] for x in states)
        routes = {}
        for name, (ours, _, inputs) in ALGORITHMS.items():
            routes[name] = native_loop(system.kernel(ours), states[:inputs])[0]
        state = model.to_pinocchio_q(q), model.to_pinocchio_v(v), model.to_pinocchio_v(a)
        peer, ours = _beside(program, model, state, routes)
        for name, mine in ours.items():
            world = peer.get(f"{name}, world")
            best = min(peer[name], world or np.inf)
            micro = None if world is None else 1e6 * world
            table.add(f"{model.name}: {name}", 1e6 * mine, 1e6 * peer[name], micro, best / mine)
    return table


def loops(program: Path) -> Table:
    """Constrained acceleration."""
    routes = ("elimination", *DENSE)
    table = Table(
        "Constrained acceleration, Pinocchio as C++ alone: µs per evaluation, and times faster than constraintDynamics",
        ["problem", *routes, "constraintDynamics", "lcaba", *(f"{name}, ratio" for name in routes)],
    )
    for model in problems():
        problem = Ours(model)
        found = {name: problem.native(name) for name in routes if name in DENSE or problem.eliminable}
        usable = {name: loop for name, (loop, answer) in found.items() if answer is not None}
        peer, ours = _beside(program, model, (problem.q, problem.v, problem.tau), usable)
        micro = [1e6 * ours[name] if name in ours else None for name in routes]
        theirs = peer["constraintDynamics"]
        ratios = [theirs / ours[name] if name in ours else None for name in routes]
        table.add(model.name, *micro, 1e6 * theirs, 1e6 * peer["lcaba"], *ratios)
    return table


def run(quick: bool = False) -> list[Table]:
    """The tables of this part."""
    program = build()
    return [trees(program), loops(program)]
