"""Which robots are measured: files of a collection, and loops on a free base that are described here."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import process_time

import mujoco
import numpy as np

import dalembert as da
from benchmarks.robots.twin import Twin

ROBOTS = (
    "gepetto_parallel/5bar_linkage_iso3d",
    "gepetto_parallel/cassie_like",
    "gepetto_parallel/digit_like",
    "gepetto_parallel/digit_like_2legs_6D",
    "gepetto_parallel/wl16_like",
    "gepetto_parallel/disney_like",
    "gepetto_parallel/disney_robot",
    "gepetto_parallel/robot_delta",
)


def collection() -> Path:
    """The folder of the model files, which may not be there."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "corpus"
    return Path(os.environ.get("DALEMBERT_CORPUS", beside))


@dataclass
class Robot:
    """A mechanism with what closes it."""

    mechanism: da.Mechanism
    name: str
    held: dict = field(default_factory=dict)
    guess: dict = field(default_factory=dict)
    rates: dict = field(default_factory=dict)  # with which it sets out
    first: float = 0.0  # CPU s from the description to the first acceleration

    def __post_init__(self) -> None:
        start = process_time()
        self.system = self.mechanism.compile()
        self.start = self.system.state(self.system.assemble(self.held, guess=self.guess).q)
        self.found = self.system.acceleration(self.start)
        self.first = process_time() - start

    @cached_property
    def moving(self) -> da.State:
        """The state that motions begin with."""
        return self.system.assemble(self.held, self.rates, guess=self.start) if self.rates else self.start

    @cached_property
    def twin(self) -> Twin:
        """The same in Pinocchio."""
        return Twin(self.system, self.start)

    @cached_property
    def size(self) -> str:
        """Velocities, rows and their rank."""
        return f"{self.system.nv}, {len(self.system.row_names)} ({self.found.rank})"

    def mujoco(self) -> mujoco.MjModel | None:
        """The same in MuJoCo, from the file that `Mechanism.save` writes; None where it cannot be read."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.xml"
            try:
                self.mechanism.save(path)
                model = mujoco.MjModel.from_xml_path(str(path))
            except (da.DalembertError, ValueError):
                return None
        return model if model.nq == self.system.nq else None


def robots() -> list[Robot]:
    """Loops on a base, then every robot whose file is there."""
    out = [loops_on_a_base(20)]
    for name in ROBOTS:
        path = collection() / name / "robot.urdf"
        if path.exists():
            out.append(Robot(da.read(path), path.parent.name))
    return out


def loops_on_a_base(loops: int) -> Robot:
    """Four-bars around a free body, each in a plane of its own."""
    m = da.Mechanism(f"{loops} planar loops on a free base", gravity=(0, 0, -9.81))
    base = m.add_body("base", mass=10.0, inertia=(1.0, 1.2, 1.4))
    m.add_joint("float", da.Free(), m.ground, base)
    for k in range(loops):
        turn = 2 * np.pi * k / loops
        R = da.rotation("z", turn) @ da.rotation("x", 0.3)
        at = base.at(0.5 * np.cos(turn), 0.5 * np.sin(turn), 0.1, rotation=R)
        sizes = {"crank": (1.0, 0.2), "coupler": (1.5, 0.6), "rocker": (1.2, 0.4)}
        bars = [
            m.add_body(f"{n} {k}", mass=mass, com=(size / 2, 0, 0), inertia=da.rod_inertia(mass, size))
            for n, (mass, size) in sizes.items()
        ]
        m.add_joint(f"A{k}", da.Revolute("z"), at, bars[0])
        m.add_joint(f"B{k}", da.Revolute("z"), bars[0].at(0.2), bars[1])
        m.add_joint(f"D{k}", da.Revolute("z"), at.at(0.55), bars[2])
        m.close_loop(f"C{k}", da.Revolute("z"), bars[1].at(0.6), bars[2].at(0.4))
    held = {f"A{k}": 0.6 + 0.02 * k for k in range(loops)}
    guess = {f"B{k}": -0.3 for k in range(loops)} | {f"D{k}": 1.2 for k in range(loops)}
    rates = {f"A{k}": 3.0 + 0.1 * k for k in range(loops)} | {"float.wx": 0.5, "float.wz": 1.0}
    return Robot(m, m.name, held, guess, rates)
