"""Datasets of Adams: closed forms, units, refusals with the line; the samples of Chrono; changed files."""

import random
from contextlib import suppress

import numpy as np
import pytest

import dalembert as da
from corpus import corpus

UNITS = "UNITS/FORCE = NEWTON, MASS = KILOGRAM, LENGTH = METER, TIME = SECOND\n"
GROUND = "PART/1, GROUND\nMARKER/1, PART=1\n"
DOWN = "ACCGRAV/KGRAV=-9.81\n"
ALONG_Y = ", REULER=0, -90D, 0"  # z of the marker along y
ROD = "PART/2, MASS=2, CM=21, IP=0.1, 0.2, 0.3\nMARKER/21, PART=2, QP=0.5, 0, 0\nMARKER/22, PART=2" + ALONG_Y + "\n"
PIN = "MARKER/11, PART=1" + ALONG_Y + "\nJOINT/5, REVOLUTE, I=22, J=11\n"


def read(folder, *lines, **options):
    path = folder / "a.adm"
    path.write_text("title\n" + "".join(lines) + "END\n")
    return da.read(path, **options)


def test_a_rod_on_a_pin_falls_as_a_pendulum(tmp_path):
    s = read(tmp_path, UNITS, GROUND, ROD, PIN, DOWN).compile(backend="casadi")
    assert s.acceleration(s.state()).vdot[0] == pytest.approx(2 * 9.81 * 0.5 / (0.2 + 2 * 0.25), rel=1e-12)
    assert list(s.v_names) == ["joint_5"]


def test_units_are_those_of_the_file(tmp_path):
    """Millimetres, grams and milliseconds: the same pendulum in SI."""
    units = "UNITS/FORCE=NEWTON, MASS=GRAM,\n, LENGTH=MILLIMETER ! a comment, with comma\n, TIME=MILLISECOND\n"
    rod = (
        "PART/2, MASS=2000, CM=21\n, IP=1e8, 2e8, 3e8\nMARKER/21, PART=2, QP=500, 0, 0\nMARKER/22, PART=2"
        + ALONG_Y
        + "\n"
    )
    m = read(tmp_path, units.replace("GRAM,\n", "GRAM\n"), GROUND, rod, PIN, "ACCGRAV/KGRAV=-9.81E-3\n")
    s = m.compile(backend="casadi")
    assert s.acceleration(s.state()).vdot[0] == pytest.approx(2 * 9.81 * 0.5 / (0.2 + 2 * 0.25), rel=1e-12)
    np.testing.assert_allclose(np.array(m.gravity, dtype=float), [0, 0, -9.81])


def test_parts_are_placed_and_joints_measured_from_where_markers_agree(tmp_path):
    """The rod is drawn 30° on: its coordinate there is that of the I marker seen from the J marker."""
    rod = ROD.replace("PART/2,", "PART/2, QG=1, 2, 3, REULER=30D, 0, 0,")
    pin = "MARKER/11, PART=1, QP=1, 2, 3\nMARKER/23, PART=2\nJOINT/5, REVOLUTE, I=23, J=11\n"
    s = read(tmp_path, UNITS, GROUND, rod, pin).compile(backend="casadi")
    x = s.named_state("drawn")
    assert abs(x["joint_5"]) == pytest.approx(np.pi / 6)
    np.testing.assert_allclose(s.pose(x, "part_2")[:3, 3], [1, 2, 3], atol=1e-12)
    np.testing.assert_allclose(s.pose(x, "marker_21")[:3, 3], [1 + 0.5 * np.cos(np.pi / 6), 2.25, 3], atol=1e-12)


def test_inertia_is_that_of_its_own_marker(tmp_path):
    """IP about IM, turned and away from the centre: Huygens and Steiner."""
    rod = "PART/2, MASS=2, CM=21, IM=24, IP=0.9, 0.8, 0.3\nMARKER/21, PART=2, QP=0.5, 0, 0\n"
    rod += "MARKER/24, PART=2, QP=0.5, 0.3, 0, REULER=90D, 0, 0\n"
    body = read(tmp_path, UNITS, GROUND, rod).bodies["part_2"]
    wanted = np.diag([0.8 - 2 * 0.09, 0.9, 0.3 - 2 * 0.09])
    np.testing.assert_allclose(np.array(body.inertia, dtype=float), wanted, atol=1e-14)


@pytest.mark.parametrize(
    ("kind", "joint", "nv"),
    [
        ("REVOLUTE", da.Revolute, 1), ("TRANSLATIONAL", da.Prismatic, 1), ("CYLINDRICAL", da.Cylindrical, 2),
        ("SPHERICAL", da.Spherical, 3), ("PLANAR", da.Planar, 3), ("HOOKE", da.Universal, 2),
        ("SCREW, PITCH=0.1", da.Screw, 1),
    ],
)  # fmt: skip
def test_joints_are_those_of_their_names(kind, joint, nv, tmp_path):
    m = read(tmp_path, UNITS, GROUND, ROD, f"JOINT/5, {kind}, I=22, J=1\n")
    (found,) = [a for a in m.joints.values() if a.name == "joint_5"]
    assert isinstance(found.joint, joint)
    assert m.compile(backend="casadi").nv == nv


@pytest.mark.parametrize("a", [0.3, -0.7])
def test_cross_axes_of_hooke_and_universal_stay_across(a, tmp_path):
    """HOOKE: x of I across y of J; UNIVERSAL: z of I across z of J; origins together."""
    m = read(tmp_path, UNITS, GROUND, ROD, "MARKER/31, PART=2\nJOINT/5, HOOKE, I=31, J=1\n")
    s = m.compile(backend="casadi")
    x = s.state([a, 0.4])
    assert s.pose(x, "marker_31")[:3, 0] @ s.pose(x, "marker_1")[:3, 1] == pytest.approx(0.0, abs=1e-14)
    lines = "MARKER/31, PART=2, REULER=90D, 90D, 0\nMARKER/32, PART=1\nJOINT/5, UNIVERSAL, I=31, J=32\n"
    s = read(tmp_path, UNITS, GROUND, ROD, lines).compile(backend="casadi")
    x = s.state([a, 0.4])
    assert s.pose(x, "marker_31")[:3, 2] @ s.pose(x, "marker_32")[:3, 2] == pytest.approx(0.0, abs=1e-14)


def test_a_screw_moves_by_its_pitch_in_one_turn(tmp_path):
    s = read(tmp_path, UNITS, GROUND, ROD, "MARKER/31, PART=2\nJOINT/5, SCREW, PITCH=0.25, I=31, J=1\n")
    s = s.compile(backend="casadi")
    a, b = (s.pose(s.state([q]), "marker_31")[2, 3] for q in (0.0, 2 * np.pi))
    assert abs(b - a) == pytest.approx(0.25)


def test_a_motion_drives_a_joint_by_its_function(tmp_path):
    text = "MOTION/7, JOINT=5, ROTATION, FUNCTION = 30D*SIN(2*TIME)**2 - (1-TIME)/4\n"
    s = read(tmp_path, UNITS, GROUND, ROD, PIN, text).compile(backend="casadi")
    for t in (0.0, 0.3, 1.7):
        q = np.pi / 6 * np.sin(2 * t) ** 2 - (1 - t) / 4
        assert s.evaluate("residuals", s.state({"joint_5": q}, t=t))[0][0] == pytest.approx(0.0, abs=1e-12)


def test_a_spring_acts_in_its_line(tmp_path):
    """m a = k (l₀ − l) + F₀ − c v, along the line between the markers."""
    lines = "MARKER/31, PART=2\nMARKER/32, PART=1\nMARKER/33, PART=1\nJOINT/5, TRANSLATIONAL, I=31, J=32\n"
    lines += "SPRINGDAMPER/9, TRANSLATION, I=31, J=33, K=100, C=3, LENGTH=0.4, FORCE=5\n"
    s = read(tmp_path, UNITS, GROUND, ROD, lines).compile(backend="casadi")
    x = s.state([0.7], [0.2])
    assert s.acceleration(x).vdot[0] == pytest.approx((100 * (0.4 - 0.7) + 5 - 3 * 0.2) / 2, rel=1e-9)


def test_a_force_acts_along_z_of_its_marker(tmp_path):
    lines = "SFORCE/9, TRANSLATIONAL, ACTIONONLY, I=21, J=11, FUNCTION=4*TIME\n"
    lines = "MARKER/11, PART=1, REULER=90D, 90D, 0\n" + lines
    s = read(tmp_path, UNITS, GROUND, ROD, lines).compile(backend="casadi")
    a = s.acceleration(s.state(t=2.0)).vdot
    np.testing.assert_allclose(a[-3:], [4.0, 0, 0], atol=1e-12)  # z of the marker along x, through the centre


def test_a_constraint_of_a_distance_is_a_rod(tmp_path):
    lines = "MARKER/31, PART=2, QP=0, 0, 2\nGCON/1, I=1, FUNCTION=DM(31, 1)-2\n"
    m = read(tmp_path, UNITS, GROUND, ROD, lines)
    s = m.compile(backend="casadi")
    assert np.abs(s.evaluate("residuals", s.state())[0]).max() < 1e-14
    assert len(s.rows.of) == 1


@pytest.mark.parametrize(
    ("lines", "line", "said"),
    [
        ("BUSHING/3, I=1, J=2\n", 10, "BUSHING/3 is a statement that is not read"),
        ("JOINT/5, RACKPIN, I=22, J=1, PD=1\n", 10, "JOINT/5 is of the kind RACKPIN"),
        ("JOINT/5, REVOLUTE, I=22, J=99\n", 10, "MARKER/99"),
        ("MARKER/40, PART=2, FLOATING\n", 10, "FLOATING"),
        ("MARKER/40, PART=2, QP=1, x, 3\n", 10, "MARKER/40"),
        ("MARKER/21, PART=2\n", 10, "on line 7"),
        ("\n! nothing\nPART/7, MASS=1, CM=1, VX=2\n", 12, "VX"),
        ("what is this\n", 10, "needed: a statement"),
        (PIN + "MOTION/1, JOINT=5, FUNCTION=TIME*FOO(2)\n", 12, "'FOO'"),
        (PIN + "MOTION/1, JOINT=5, FUNCTION=(1+2\n", 12, "bracket"),
        (PIN + "MOTION/1, JOINT=5, FUNCTION=1/0\n", 12, "zero"),
        ("SFORCE/1, ROTATION, I=22, J=1, FUNCTION=1\n", 10, "ROTATION"),
        ("GCON/1, FUNCTION=DX(1,2)\n", 10, "GCON/1"),
    ],
)
def test_what_is_not_known_is_refused_with_statement_and_line(lines, line, said, tmp_path):
    with pytest.raises(da.ModelFileError) as found:
        read(tmp_path, UNITS, "\n", GROUND, ROD, DOWN, lines)
    assert said in str(found.value)
    assert found.value.line == line


@pytest.mark.parametrize("text", ["", "title\nEND\n", "title\nPART/1, GROUND\n", "title\n" + UNITS + GROUND + "END\n"])
def test_a_dataset_without_a_model_is_refused(text, tmp_path):
    (tmp_path / "a.adm").write_text(text)
    with pytest.raises(da.ModelFileError):
        da.read(tmp_path / "a.adm")


def test_changed_files_are_read_or_refused(tmp_path):
    rng, text = random.Random(11), "title\n" + UNITS + GROUND + ROD + PIN + DOWN + "END\n"
    for _ in range(400):
        data = bytearray(text.encode())
        for _ in range(rng.randint(1, 4)):
            k = rng.randrange(len(data))
            data[k : k + rng.choice([0, 1, 8])] = rng.choice(
                [b"", b",", b"=", b"D", b"/", b"-", b"9e999", b"\xff", b"&\n"]
            )
        (tmp_path / "a.adm").write_bytes(bytes(data))
        with suppress(da.DalembertError):
            da.read(tmp_path / "a.adm")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("Revolute_Case02", None), ("Universal_Case02", 9.80665 * 2 / (0.1 + 4.0)), ("Distance_Case02", 9.80665)],
)
def test_samples_of_chrono_fall_as_they_should(name, wanted):
    """The universal pendulum hangs 2 m beside its joint; the one on a rod begins to fall freely."""
    s = da.read(corpus(f"chrono/testing/joints/adams_models/test_{name}.adm")).compile(backend="casadi")
    vdot = s.acceleration(s.state()).vdot
    if wanted is not None:
        assert np.abs(vdot).max() == pytest.approx(wanted, rel=1e-12)
    assert np.isfinite(vdot).all()
