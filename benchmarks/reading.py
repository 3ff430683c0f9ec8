"""How long files take to be read: the ten of the collection with the most velocities, beside MuJoCo and Pinocchio.

The collection is looked for in $DALEMBERT_CORPUS, or in ../shared/corpus; without it there is no table.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import mujoco
import pinocchio

import dalembert as da
from benchmarks.timing import Table

FILES = (
    "grbda_urdf_plus/variable_four_bar_urdf/four_bar_branch_6_10.urdf",
    "menagerie/iit_softfoot/softfoot.nomesh.xml",
    "grbda_urdf_plus/parallel_chains/Implicit/depth40/loop_size41.urdf",
    "drake/examples/multibody/strandbeest/StrandbeestConstraints.expanded.urdf",
    "gepetto_parallel/kangaroo_like_2legs/robot.urdf",
    "gepetto_parallel/kangaroo_like/robot.urdf",
    "grbda_urdf_plus/jvrc1_humanoid.urdf",
    "menagerie/pal_talos/talos.nomesh.xml",
    "gepetto_parallel/disney_robot/robot.urdf",
    "gepetto_parallel/digit_like_2legs_6D/robot.urdf",
)


def run(quick: bool = False) -> list[Table]:
    """Milliseconds of one reading, and the velocities and constraints that come out of it."""
    folder = Path(os.environ.get("DALEMBERT_CORPUS", Path(__file__).resolve().parents[2] / "shared" / "corpus"))
    if not folder.is_dir():
        print(f"reading: no collection of model files in '{folder}'; set DALEMBERT_CORPUS")
        return []
    table = Table(
        "Reading: milliseconds of CPU (velocities + constraints that are read)",
        ["file", "kB", "ours", "our format, JSON", "MuJoCo", "Pinocchio"],
    )
    rounds = 2 if quick else 5
    for name in FILES:
        path = folder / name
        with tempfile.TemporaryDirectory() as place:
            own = Path(place) / "model.json"
            da.read(path).save(own)
            routes = [lambda: da.read(path), lambda: da.read(own), lambda: _mujoco(path), lambda: _pinocchio(path)]  # noqa: B023
            cells = [_timed(route, rounds) for route in routes]
        table.add("/".join(path.parts[-2:]), path.stat().st_size / 1e3, *cells)
    return [table]


def _timed(read: Callable[[], Any], rounds: int) -> str:
    """The fastest of some readings, with what was read; the first words of the refusal where there is one."""
    best = float("inf")
    for _ in range(rounds):
        start = process_time()
        try:
            model = read()
        except (ValueError, RuntimeError):
            return "refused"
        best = min(best, process_time() - start)
    return f"{best * 1e3:.3g} ({_size(model)})"


def _size(model: Any) -> str:
    if isinstance(model, da.Mechanism):
        return f"{sum(a.joint.nv for a in model.joints.values())} + {len(model.constraints)}"
    if isinstance(model, mujoco.MjModel):
        return f"{model.nv} + {model.neq}"
    return f"{model[0].nv} + {sum(len(loops) for loops in model[1:])}"


def _mujoco(path: Path) -> Any:
    return mujoco.MjModel.from_xml_path(str(path))


def _pinocchio(path: Path) -> Any:
    if path.suffix == ".xml":
        return pinocchio.buildModelAndConstraintsFromMJCF(str(path))
    return (pinocchio.buildModelFromUrdf(str(path)),)  # URDF has no loops, and its files beside it are not read
