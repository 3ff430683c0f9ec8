"""Many contacts: steps of method 'moreau' beside MuJoCo's, for a box that tumbles to rest and robots on their feet.

MuJoCo's models are its own: the box as a geometry of eight corners, the quadruped with one `connect` a loop and
position actuators, Cassie's file with a floor; its default solver and integrator, its usual step. Cassie's feet are
capsules, of which both see the two ends. Cassie is left out where its file is not there: DALEMBERT_CORPUS, as in the
tests.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from time import process_time

import mujoco
import numpy as np

import dalembert as da
from benchmarks.timing import Table

SIDES = (0.2, 0.15, 0.1)
CASSIE = "menagerie/agility_cassie/cassie.nomesh.xml"
HEADER = [
    "", "ours, µs a step", "MuJoCo", "MuJoCo / ours", "loops open, ours, m", "MuJoCo, m",
    "overlap, ours, m", "MuJoCo, m ",
]  # fmt: skip


def box():
    """A free box with a contact at each corner."""
    m = da.Mechanism("box", gravity=(0, 0, -9.81))
    a = np.array(SIDES)
    body = m.add_body("box", mass=2.0, inertia=2.0 / 3 * (np.sum(a**2) - a**2))
    m.add_joint("free", da.Free(), m.ground, body)
    for k in range(8):
        m.add_contact(f"corner {k}", body.at(*(a * [2 * (k >> i & 1) - 1 for i in range(3)])), friction=0.5)
    return m.compile()


def fastest(run, rounds: int = 15) -> float:
    """Processor time of the fastest round, s."""
    best = np.inf
    for _ in range(rounds):
        began = process_time()
        run()
        best = min(best, process_time() - began)
    return best


def mujoco_run(model, data, start, steps, control=()):
    """Steps of MuJoCo from a start, called one by one; its largest overlap and open loop are noted."""
    worst = {"overlap": 0.0, "open": 0.0}

    def go(note=False):
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:], data.ctrl[: len(control)] = *start, control
        for _ in range(steps):
            mujoco.mj_step(model, data)
            if note:
                depth = -data.contact.dist.min() if data.ncon else 0.0
                equal = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
                worst["overlap"] = max(worst["overlap"], float(depth))
                worst["open"] = max(worst["open"], float(np.abs(data.efc_pos[equal]).max(initial=0.0)))

    go(note=True)
    return go, worst


def row(name, system, x, model, start, seconds, step, control=(), same=None):
    """One line of the table. same: (name of a coordinate, its place in MuJoCo's qpos, how far they may end apart)."""
    steps = round(seconds / step)
    model.opt.timestep, data = step, mujoco.MjData(model)
    theirs, worst = mujoco_run(model, data, start, steps, control)
    ours = lambda: da.simulate(system, x, seconds, method="moreau", step=step)  # noqa: E731
    run = ours()
    assert run.success, run.message
    if same is not None:
        assert abs(run[same[0]][-1] - data.qpos[same[1]] + data.contact.dist.min()) < same[2]
    times = [(fastest(ours, 3), fastest(theirs, 3)) for _ in range(5)]
    mine, other = (min(t[k] for t in times) / steps * 1e6 for k in range(2))
    loops = (float(run.residuals.max()), worst["open"]) if system.rows.of else ("", "")
    return name, mine, other, other / mine, *loops, float(run.penetration.max()), worst["overlap"]


def tumbling():
    """The box: thrown, it tumbles and comes to rest in two seconds."""
    system = box()
    q = np.array([0.7, 0.3, 0.5, 0.4])
    q /= np.linalg.norm(q)
    turn, fly = np.array([2.0, -3.0, 1.0]), np.array([1.0, 0.5, 0.0])
    x = system.state({"free": np.concatenate([q, [0, 0, 0.6]])})
    x = x.replace(v=np.concatenate([turn, fly]))
    text = f"""<mujoco><worldbody><geom type="plane" size="0 0 1" friction="0.5"/><body pos="0 0 0.6"><freejoint/>
        <geom type="box" size="{" ".join(map(str, SIDES))}" mass="2" friction="0.5"/></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, q)
    start = np.concatenate([[0, 0, 0.6], q]), np.concatenate([R.reshape(3, 3) @ fly, turn])
    return row("box, 8 corners, 2 s", system, x, model, start, 2.0, 1e-3)


def quadruped():
    """The quadruped of the examples, dropped by 5 cm, holds its stance; both stand at the same height in the end."""
    m = da.read(Path(__file__).resolve().parents[1] / "examples" / "models" / "quadruped.yaml")
    system = m.compile()
    with tempfile.TemporaryDirectory() as folder:
        m.save(Path(folder) / "quadruped.xml")  # bodies, joints and loops; the rest is put in below
        spec = mujoco.MjSpec.from_file(str(Path(folder) / "quadruped.xml"))
    for equality in list(spec.equalities):
        if equality.name.endswith("_axis"):  # the legs are planar without
            spec.delete(equality)
    floor = spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], friction=[0.7, 0.005, 0.0001])
    floor.condim = 3
    for leg in ("FL", "FR", "HL", "HR"):
        lower = spec.body(f"{leg} lower a")
        friction = [0.7, 0.005, 0.0001]
        lower.add_geom(
            type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.02, 0, 0], pos=[0, 0, -0.2], mass=0, friction=friction
        )
        for side in "ab":
            motor = spec.add_actuator(name=f"{leg} {side}", target=f"{leg} hip {side}")
            motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
            motor.set_to_position(kp=60.0, kv=1.5)
            motor.forcelimited, motor.forcerange = 1, [-12, 12]
    model = spec.compile()
    x = system.named_state("stance")
    q = x.q.copy()
    q[system.q_names.index("trunk.z")] += 0.05
    start, angles = model.key_qpos[0].copy(), dict(zip(system.u_names, x.u))
    start[2] += 0.05
    control = np.array([angles[model.actuator(k).name] for k in range(model.nu)])
    start = start, np.zeros(model.nv)
    same = "trunk.z", 2, 1e-3  # MuJoCo's contacts and loops yield
    return row("quadruped, 4 feet, 1 s", system, x.replace(q=q), model, start, 1.0, 1e-3, control, same)


def cassie(path: Path):
    """Cassie falls on its feet from a millimetre and sinks down, its motors off."""
    m, model = da.read(path), mujoco.MjModel.from_xml_path(str(path))
    for g in range(model.ngeom):
        name = model.body(model.geom_bodyid[g]).name
        if model.geom_contype[g] and name.endswith("foot"):
            R = np.zeros(9)
            mujoco.mju_quat2Mat(R, model.geom_quat[g])
            for side in (-1, 1):
                end = model.geom_pos[g] + side * model.geom_size[g, 1] * R.reshape(3, 3)[:, 2]
                radius = float(model.geom_size[g, 0])
                m.add_contact(f"{name} {side}", m.bodies[name].at(*end), radius=radius, friction=0.8)
    system = m.compile()
    x = system.project(system.named_state("home"))
    q = x.q.copy()
    q[system.q_names.index("cassie-pelvis.z")] += 1e-3
    spec = mujoco.MjSpec.from_file(str(path))
    floor = spec.worldbody.add_geom()
    floor.type, floor.size, floor.friction = mujoco.mjtGeom.mjGEOM_PLANE, [0, 0, 1], [0.8, 0.005, 0.0001]
    floor.condim, floor.contype, floor.conaffinity = 3, 15, 15
    model = spec.compile()
    start = model.key_qpos[0].copy()
    start[2] += 1e-3
    return row("Cassie, 4 contacts, 0.3 s", system, x.replace(q=q), model, (start, np.zeros(model.nv)), 0.3, 5e-4)


def run(quick: bool = False) -> list[Table]:
    """Microseconds of CPU a step, how far loops are open, and the deepest overlap."""
    table = Table("Many contacts: time stepping beside MuJoCo", HEADER)
    table.add(*tumbling())
    table.add(*quadruped())
    beside = Path(__file__).resolve().parents[1].parent / "shared" / "corpus"
    path = Path(os.environ.get("DALEMBERT_CORPUS", beside)) / CASSIE
    if path.exists() and not quick:
        table.add(*cassie(path))
    return [table]
