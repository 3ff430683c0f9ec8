"""SDF that is written: round trips, and what it cannot say."""

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from sdf_texts import random_state


def written(m, path, **options):
    from dalembert.formats.sdf.writer import write

    notes = write(m, path)
    return da.read_sdf(path, **options), [f"{n.element}: {n.text}" for n in notes]


def by_name(a, b, x):
    """The state of system b with the numbers of a state of a, and the places of b's velocities in a's."""
    q = {n.removesuffix("_joint"): n for n in b.layout.joints}
    names = {n: q.get(n, a.layout.joints[n].child.body.name) for n in a.layout.joints}
    y = b.state({names[n]: x[n] for n in names}, {names[n]: x.rate(n) for n in names})
    order = [i for n in b.layout.joints for i in range(a.nv)[a.layout.v_slice({v: k for k, v in names.items()}[n])]]
    return y, order


def assert_same(m, n, seeds=(1, 2)):
    a, b = m.compile("casadi"), n.compile("casadi")
    for seed in seeds:
        x = random_state(a, seed)
        y, order = by_name(a, b, x)
        M, h = a.mass_matrix(x)[np.ix_(order, order)], a.bias(x)[order] - a.applied_forces(x)[order]
        np.testing.assert_allclose(b.mass_matrix(y), M, rtol=0, atol=1e-12 * np.abs(M).max())
        np.testing.assert_allclose(b.bias(y) - b.applied_forces(y), h, rtol=0, atol=1e-12 * max(1, np.abs(h).max()))
        A, B = a.constraint_matrix(x)[:, order], b.constraint_matrix(y)
        loops = [i for i, name in enumerate(a.row_names) if name.split(".")[0] in n.constraints]
        np.testing.assert_allclose(B[: len(loops)], A[loops], rtol=0, atol=1e-12 * max(1, np.abs(A).max(initial=0)))
        np.testing.assert_allclose(b.residuals(y)[: len(loops)], a.residuals(x)[loops], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "name",
    [
        "bennett",
        "bricard",
        "chain",
        "five_bar",
        "four_bar",
        "furuta",
        "ladder",
        "loader",
        "planar_3rrr",
        "sarrus",
        "slider_crank",
        "stewart",
        "two_arms",
    ],
)
def test_the_zoo_survives_a_round_trip(name, tmp_path):
    m = getattr(da.zoo, name)()
    for force in list(m.forces.values()):  # motors and wrenches, which SDF cannot say
        del m.forces[force.name]
    n, notes = written(m, tmp_path / "x.sdf", merge_fixed=False)
    assert [t for t in notes if not t.startswith("input")] == []
    assert list(n.constraints) == list(m.constraints)
    assert_same(m, n)


def test_couplings_springs_and_limits_of_what_is_drawn_assembled(tmp_path):
    """A five-bar is open at the neutral position: SDF's coordinates begin elsewhere, and are read back as they were."""
    m = da.zoo.five_bar()
    m.forces.clear()
    first, second, third, *_ = m.joints
    a = m.joints.pop(third)
    m.add_joint(third, a.joint, a.parent, a.child, stiffness=5.0, rest=0.3, damping=0.1, limits=(-1.0, 2.0))
    m.add_coupling(f"{second} mimic", {second: 1.0, first: -0.3}, 0.9)
    n, notes = written(m, tmp_path / "x.sdf")
    assert [t for t in notes if not t.startswith("input")] == []
    assert_same(m, n)
    j = n.joints[third]
    np.testing.assert_allclose([j.limits[0, 0], j.limits[0, 1], float(j.rest[0])], [-1.0, 2.0, 0.3], atol=1e-14)
    drawn = n.compile("casadi").named_state("drawn")
    np.testing.assert_allclose(n.compile("casadi").residuals(drawn), 0, atol=1e-10)
    assert abs(drawn[third]) > 0.1


def all_kinds():
    """A floating tree with every joint that SDF can say, springs, dampers, rotors, limits, couplings and a loop."""
    rng = np.random.default_rng(21)
    m = da.Mechanism("all kinds", gravity=(1.0, -2.0, 3.0))
    before = m.ground
    kinds = [
        da.Free(),
        da.Revolute((1, 2, 3)),
        da.Prismatic("-y"),
        da.Screw((0, 1, 1), pitch=0.2),
        da.Universal("z", "-x"),
        da.Spherical(),
        da.Fixed(),
        da.Planar((1, 1, 0)),
        da.Revolute("x"),
    ]
    for i, kind in enumerate(kinds):
        J = rng.uniform(0.5, 1, 3)
        body = m.add_body(f"b{i}", rng.uniform(1, 2), rng.uniform(-1, 1, 3).tolist(), J)
        R = [da.rotation(k, rng.uniform(-3, 3)) for k in "xyzx"]
        plain = kind.nv == kind.nq
        given = {"damping": rng.uniform(0, 1, kind.nv)} if plain and kind.nv else {}
        if kind.kind in ("revolute", "prismatic", "screw"):
            given |= {"stiffness": 3.0, "rest": 0.2, "armature": 0.3, "limits": (-1, 2.5)}
        if kind.kind == "universal":
            given |= {"stiffness": (3.0, 4.0), "rest": (0.2, 0.1), "limits": ((-1, 2.5), (-2, 1))}
        a = before.at(rng.uniform(-1, 1, 3), rotation=R[0] @ R[1]) if i else m.ground
        b = body.at(rng.uniform(-1, 1, 3), rotation=R[2] @ R[3]) if i else body
        m.add_joint(f"b{i}" if i == 0 else f"j{i}", kind, a, b, **given)
        body.add_shape("box", (1, 2, 3), at=(0, 0, 1), rotation=R[0], colour=(1, 0, 0, 1), name="v")
        before = body
    m.add_frame("tool", m.bodies["b8"].at(0.1, 0.2, 0.3, rotation=R[0]))
    m.add_frame("door", m.ground.at(3, 2, 1))
    m.add_coupling("j2 mimic", {"j2": 1.0, "j1": -3.0}, 0.25)
    m.add_coupling("j4 mimic", {"j4.second": 1.0, "j3": 2.0})
    return m


def test_every_joint_survives_a_round_trip(tmp_path):
    m = all_kinds()
    n, notes = written(m, tmp_path / "x.sdf", merge_fixed=False)
    assert notes == []
    assert n.notes == []
    assert_same(m, n)
    for name in ("j1", "j2", "j3", "j4", "j7"):
        for what in ("damping", "stiffness", "rest", "armature", "limits"):
            x, y = (getattr(k.joints[name], what).astype(float) for k in (m, n))
            np.testing.assert_allclose(x, y, atol=1e-14, err_msg=f"{what} of {name}")
    assert {k: len(b.shapes) for k, b in n.bodies.items()} == {k: len(b.shapes) for k, b in m.bodies.items()}
    a, b = m.compile("casadi"), n.compile("casadi")
    x = random_state(a, 3)
    y, _ = by_name(a, b, x)
    for frame in ("tool", "door"):
        np.testing.assert_allclose(b.pose(y, frame), a.pose(x, frame), atol=1e-13)


def test_weightless_bodies_and_ground_shapes_survive(tmp_path):
    m = da.Mechanism("light")
    body = m.add_body("b", 2.0, (0.1, 0, 0), (1, 1, 1))
    m.add_joint("j", da.Revolute("y"), m.ground, body)
    m.add_wrench("up", body.at(0.1, 0, 0), force=(0, 0, 2 * 9.81))
    m.ground.add_shape("plane", (2, 2))
    n, notes = written(m, tmp_path / "x.sdf")
    assert notes == []
    assert n.ground.shapes[0].kind == "plane"
    assert_same(m, n)


def test_springs_of_cut_joints_survive(tmp_path):
    m = da.zoo.four_bar()
    m.forces.clear()
    loop = next(iter(m.constraints))
    m.add_cut_joint_spring(loop, loop, stiffness=3.0, rest=0.4, damping=0.2)
    n, notes = written(m, tmp_path / "x.sdf")
    assert [t for t in notes if not t.startswith("input")] == []
    force = n.forces[loop]
    assert [float(x[0]) for x in (force.stiffness, force.damping)] == [3.0, 0.2]
    assert float(force.rest[0]) == pytest.approx(0.4, abs=1e-14)
    assert_same(m, n)


def test_cylindrical_joints_are_written_as_two(tmp_path):
    m = da.Mechanism("cylinder")
    body = m.add_body("b", 2.0, (0.1, 0.2, 0), (1, 1, 1))
    m.add_joint("j", da.Cylindrical((1, 2, 0)), m.ground.at(1, 2, 3, rotation=da.rotation("x", 0.3)), body.at(0, 0, 1))
    n, notes = written(m, tmp_path / "x.sdf")
    assert len(notes) == 1
    assert list(n.joints) == ["j_angle", "j_slide"]
    a, b = m.compile("casadi"), n.compile("casadi")
    x, y = a.state({"j": (0.4, 0.7)}), b.state({"j_angle": 0.4, "j_slide": 0.7})
    np.testing.assert_allclose(b.pose(y, "b"), a.pose(x, "b"), atol=1e-15)
    np.testing.assert_allclose(b.mass_matrix(y), a.mass_matrix(x), atol=1e-14)


def test_other_readers_find_loops_closed_as_drawn(tmp_path):
    """Without the elements of our own every loop of the file closes at zero, and the mechanism moves as before."""
    import re

    m = da.zoo.four_bar()
    written(m, tmp_path / "x.sdf")
    text = re.sub(r"<dalembert:(\w+)>.*?</dalembert:\1>", "", (tmp_path / "x.sdf").read_text())
    (tmp_path / "y.sdf").write_text(text)
    n = da.read_sdf(tmp_path / "y.sdf")
    assert n.notes == []
    system = n.compile("casadi")
    np.testing.assert_allclose(system.residuals(system.state()), 0, atol=1e-10)
    assert system.report().mobility == m.compile("casadi").report().mobility


def test_what_cannot_be_said_is_listed(tmp_path):
    m = da.Mechanism("odd")
    L = m.add_parameter("L", 0.5)
    a, b = (m.add_body(n, mass=1.0, com=(L, 0, 0), inertia=(1, 1, 1)) for n in ("a::b", "c"))
    m.add_joint("c", da.Revolute("z"), m.ground, a)
    m.add_joint("s", da.Spherical(), a, b, damping=1.0)
    m.add_rod("rod", m.ground.at(0, 0, 1), b, length=1.0)
    m.add_coupling("lock", {"c": 2.0}, 1.0)
    m.add_spring("spring", a, b, stiffness=3.0)
    m.add_motor("motor", "c")
    m.add_state("home", q={"c": 1.0})
    n, notes = written(m, tmp_path / "x.sdf")
    starts = [
        "body 'a::b'",
        "joint 'c'",
        "joint 's'",
        "rod 'rod'",
        "coupling 'lock'",
        "spring 'spring'",
        "motor 'motor'",
    ]
    starts += ["state 'home'", "parameter 'L'"]
    assert sorted(t.partition(":")[0] if "a::b" not in t else "body 'a::b'" for t in notes) == sorted(starts)
    assert list(n.joints) == ["c_joint", "s"]
    assert float(n.bodies["c"].com[0]) == 0.5


def test_the_door_reads_and_writes_sdf(tmp_path):
    m = da.zoo.four_bar()
    path = tmp_path / "four_bar.sdf"
    m.save(path)
    assert repr(da.read(path)) == repr(da.read_sdf(path))


def test_parameters_are_written_at_their_defaults_also_where_loops_are_drawn_assembled(tmp_path):
    """The four-bar of the examples is open at its neutral position, and all its lengths are parameters."""
    m = da.read(Path(__file__).parents[2] / "examples" / "models" / "four_bar.yaml")
    m.parameters.values["crank"] = np.array([0.25])  # another default
    for suffix in (".sdf", ".urdf", ".xml"):
        notes = m.save(tmp_path / f"out{suffix}")
        assert any("crank" in f"{n.element} {n.text}" and "default" in n.text for n in notes)
        one, two = m.compile("casadi"), da.read(tmp_path / f"out{suffix}").compile("casadi")
        x = one.state({"A": 0.3, "B": -0.7, "D": 1.9})
        at = [two.v_names.index(n) for n in one.v_names]
        M = two.mass_matrix({"A": 0.3, "B": -0.7, "D": 1.9})[np.ix_(at, at)]
        np.testing.assert_allclose(M, one.mass_matrix(x), rtol=0, atol=1e-13)
        assert np.abs(two.residuals(two.assemble({"A": 0.6}))).max() < 1e-10


def test_a_loop_of_a_screw_whose_pitch_is_a_parameter_is_written(tmp_path):
    m = da.Mechanism("screws", gravity=(0, 0, -9.81))
    h = m.add_parameter("pitch", 0.02)
    nut = m.add_body("nut", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.add_joint("A", da.Cylindrical("z"), m.ground, nut)
    m.close_loop("thread", da.Screw("z", pitch=h), m.ground, nut)
    m.save(tmp_path / "screws.sdf")
    (loop,) = da.read(tmp_path / "screws.sdf").constraints.values()
    assert loop.joint.pitch == pytest.approx(0.02, rel=1e-15)


def test_a_floating_body_that_a_loop_holds_is_drawn_where_it_closes(tmp_path):
    """Held at the origin it cannot reach the arm, and nothing else that is free moves the gap."""
    m = da.Mechanism("hanging")
    upper, lower = (m.add_body(name, mass=1.0, com=(0.2, 0.1, 0), inertia=(1, 1, 1)) for name in ("upper", "lower"))
    m.add_joint("ball", da.Spherical(), m.ground, upper)
    m.add_joint("lower", da.Free(), m.ground, lower)
    m.close_loop("tip", da.Spherical(), upper.at(0.5, 0.3, 0), lower)
    with pytest.raises(da.AssemblyError, match=r"'tip' is open by 0\.5831 m where it comes nearest"):
        m.compile("casadi").assemble({"lower": [1, 0, 0, 0, 0, 0, 0]})
    n, notes = written(m, tmp_path / "x.sdf")
    assert not any("does not close" in t for t in notes)
    system = n.compile("casadi")
    assert system.report(system.assemble()).mobility == 6
