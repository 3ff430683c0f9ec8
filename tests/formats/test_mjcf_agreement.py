"""MJCF files against MuJoCo itself: mass matrices, forces, equalities, and what is refused."""

import numpy as np
import pytest

import dalembert as da
from corpus import corpus, corpus_files, expected

mujoco = pytest.importorskip("mujoco", reason="MJCF files are read through MuJoCo's compiler, which is not installed")

from mjcf_texts import DATA, NAMES, close, peer  # noqa: E402

REFUSED = {
    "menagerie/robotiq_2f85/2f85.xml": "2f85.xml:141: <geom> gives body 'left_silicone_pad' its inertia by the "
    "mesh file 'assets/silicone_pad.stl', which is not read: ",
    "menagerie/stanford_tidybot/tidybot.xml": "tidybot.xml:251: <geom> gives body 'left_silicone_pad' its inertia by",
    "menagerie/hello_robot_stretch_3/stretch.xml": "stretch.xml:230: <geom> gives body 'base_link' its inertia by the",
    "pinocchio/unittest/models/test_mjcf.xml": "test_mjcf.xml:34: <connect> is refused by MuJoCo's compiler: Schema",
}


def assert_same(p, u):
    """M, and all forces with these controls."""
    p.drive(u)
    theirs, ours = p.mass()
    close(ours, theirs, 1e-13)
    theirs, ours = p.total(u if len(u) else None)
    close(ours, theirs, 1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_mass_matrix_and_all_forces_of_the_features_are_mujocos(name):
    """M, and bias − passive − actuator forces at random states, velocities and controls."""
    path = DATA / f"{name}.xml"
    system = da.read_mjcf(path).compile("casadi")
    p = peer(path, system, seed=4)
    for _ in range(4):
        p.random()
        assert_same(p, p.rng.normal(size=p.model.nu))


@pytest.mark.parametrize("name", corpus_files(".xml"))
def test_every_file_is_read_as_mujoco_reads_it_or_refused_with_a_sentence(name):
    """M, and all forces at a random state, velocity and control."""
    path = corpus(name)
    if name in REFUSED:
        with pytest.raises(da.ModelFileError) as error:
            da.read_mjcf(path)
        assert str(error.value).startswith(REFUSED[name])
        return
    m = da.read_mjcf(path)
    if not m.joints:
        return
    system = m.compile("casadi")
    p = peer(path, system, seed=7)
    p.random()
    assert_same(p, 0.3 * p.rng.normal(size=p.model.nu))


@pytest.mark.parametrize("name", corpus_files(".xml"))
def test_stored_numbers_of_mujoco_come_out(name):
    """M, bias and passive forces at the reference position; closed: gaps, rank, mobility, rows, acceleration."""
    e = expected("mujoco").get(name, {"error": "none"})
    if "error" in e:
        return
    path = corpus(name)
    if name in REFUSED:
        path = path.with_name(path.name.replace(".xml", ".nomesh.xml"))
        if not path.is_file():
            return
    m = da.read_mjcf(path, actuators="none")
    system = m.compile("casadi")
    p = peer(path, system)
    assert sum(a.joint.nv for a in m.joints.values()) >= e["nv"]
    p.at(np.array(e["qpos0"]), np.zeros(e["nv"]))
    ours = p.mass()[1]
    if e.get("M_lower_rows"):
        lower = np.array([x for k in range(e["nv"]) for x in ours[k, : k + 1]])
        close(lower, np.array(e["M_lower_rows"]), 1e-12)
    lift = p.data.qfrc_gravcomp * p.model.jnt_actgravcomp[p.model.dof_jntid]  # not among the passive forces there
    close(p.total()[1], np.array(e["qfrc_bias"]) - np.array(e["qfrc_passive"]) - lift, 1e-10)
    closed = e.get("closed")
    if closed is None:
        return
    q, v = p.at(np.array(closed["qpos"]), np.zeros(e["nv"]))
    x = system.state(q, v)
    assert np.abs(system.residuals(x)).max(initial=0.0) < 1e-12 + 2 * closed["residual"]
    report = system.report(x)
    extra = system.nv - e["nv"]  # sliders that carry the inertia of tendons, each tied by a row
    assert (report.rank - extra, report.mobility) == (closed["rank"], closed["mobility"])
    rows, A = p.equality()[0], system.constraint_matrix(x) @ p.T
    together = np.linalg.matrix_rank(np.vstack([rows, A]), 1e-7 * np.linalg.norm(rows))
    assert together == closed["rank"]  # the same motions are forbidden
    acceleration = np.linalg.lstsq(p.T, system.acceleration(x).vdot - p.rate, rcond=None)[0]
    close(acceleration, np.array(closed["acceleration_at_rest_rigid"]), 1e-11, least=1.0)


def test_gaps_of_equalities_are_mujocos():
    """Off the manifold: the length of a gap between points, and the gap of coordinates and tendons."""
    path = DATA / "equalities.xml"
    m = da.read_mjcf(path)
    system = m.compile("casadi")
    p = peer(path, system, seed=2, spread=0.1)
    for _ in range(3):
        q, v = p.random()
        _, gaps, of = p.equality()
        names, ours = [n.split(".")[0] for n in system.row_names], system.residuals(system.state(q, v))
        for name in m.constraints:
            k = mujoco.mj_name2id(p.model, mujoco.mjtObj.mjOBJ_EQUALITY, name)
            n = 3 if name in ("ball", "glue", "soft") else 1
            mine = np.array([x for x, row in zip(ours, names) if row == name])[:n]
            assert np.linalg.norm(mine) == pytest.approx(np.linalg.norm(gaps[of == k][:n]), abs=1e-14)


def test_constraints_hold_along_the_motion_that_rows_allow():
    """Φ of a curved tie (a cam, tendons) at q ⊕ h v, v in the null space of A, is of second order with rate γ."""
    system = da.read_mjcf(DATA / "equalities.xml").compile("casadi")
    q = system.state().q
    rng = np.random.default_rng(5)
    v = rng.normal(size=system.nv)
    h = 1e-4
    x = [system.plus(q, k * h * v) for k in (-1, 0, 1)]
    phi = [system.residuals(system.state(y, v)) for y in x]
    at = system.state(q, v)
    A, gamma = system.constraint_matrix(at), system.constraint_gamma(at)
    assert (phi[2] - phi[0]) / (2 * h) == pytest.approx(A @ v, abs=1e-6)
    assert (phi[2] - 2 * phi[1] + phi[0]) / h**2 == pytest.approx(gamma, abs=1e-5)


def test_inertia_of_a_tendon_couples_trees_though_mujoco_leaves_that_out(tmp_path):
    """½ a L̇² of a tendon between two trees: here it is all there; MuJoCo's M has no entries between trees."""
    body = "".join(
        f'<body pos="{k} 0 0"><joint name="j{k}" axis="0 1 0"/><geom size="0.1" pos="0.3 0 0"/></body>' for k in (0, 1)
    )
    path = tmp_path / "two.xml"
    path.write_text(
        f'<mujoco><worldbody>{body}</worldbody><tendon><fixed name="t" armature="0.7"><joint joint="j0" coef="2"/>'
        '<joint joint="j1" coef="-3"/></fixed></tendon></mujoco>'
    )
    system = da.read_mjcf(path).compile("casadi")
    v = np.array([0.4, 1.3])
    speed = 2 * v[0] - 3 * v[1]
    M = system.mass_matrix(system.state())
    energy = 0.5 * np.array([*v, speed]) @ M @ np.array([*v, speed])
    p = peer(path, system)
    p.at(np.zeros(2), v)
    theirs = p.mass()[0]
    inertia = np.diag(theirs) - 0.7 * np.array([4.0, 9.0])
    assert energy == pytest.approx(0.5 * inertia @ v**2 + 0.35 * speed**2, rel=1e-12)
    assert theirs[0, 1] == 0.0  # 0.7 · 2 · (−3) is missing
    assert p.mass()[1][0, 1] == pytest.approx(-4.2)
