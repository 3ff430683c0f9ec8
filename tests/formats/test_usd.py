"""USD Physics: what stages mean, in closed form or against a mechanism built by hand; round trips; hostile files."""

import random
from contextlib import suppress

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo

pytest.importorskip("pxr", reason="usd-core is not installed (extra usd)")
from usd_texts import body, four_bar, joint, locks, stage


def read(folder, text, name="stage.usda", **options):
    path = folder / name
    path.write_text(text)
    return da.read(path, **options)


def by_hand():
    m = da.Mechanism("four-bar", gravity=(0, 0, -9.81))
    crank = m.add_body("crank", 1.0, (0.1, 0, 0), np.diag([0.001, 0.0133, 0.0133]))
    coupler = m.add_body("coupler", 1.5, (0.3, 0, 0), np.diag([0.001, 0.06, 0.06]))
    rocker = m.add_body("rocker", 1.2, (0.2, 0, 0), np.diag([0.001, 0.03, 0.03]))
    m.add_joint("A", da.Revolute("z"), m.ground, crank)
    m.add_joint("B", da.Revolute("z"), crank.at(0.2, 0, 0), coupler)
    m.add_joint("D", da.Revolute("z"), m.ground.at(0.55, 0, 0), rocker)
    m.close_loop("C", da.Revolute("z"), coupler.at(0.6, 0, 0), rocker.at(0.4, 0, 0))
    return m.compile(backend="casadi")


@pytest.mark.parametrize(("length", "mass"), [(1.0, 1.0), (0.01, 1.0), (0.001, 0.001)])
def test_a_four_bar_with_an_excluded_joint_is_that_built_by_hand(length, mass, tmp_path):
    """In metres, centimetres and millimetres, kilograms and grams: the same mechanism."""
    text = stage(four_bar(1 / length), length)
    for given in ("1.0", "1.5", "1.2"):
        text = text.replace(f"physics:mass = {given}", f"physics:mass = {float(given) / mass:g}")
    if mass != 1.0:
        text = text.replace("kilogramsPerUnit = 1.0", f"kilogramsPerUnit = {mass}")
        scaled = [(f"({0.001 / length**2}", f"({0.001 / length**2 / mass}")]
        for a in (0.0133, 0.06, 0.03):
            scaled.append((f" {a * (1 / length) ** 2}", f" {a * (1 / length) ** 2 / mass}"))
        for a, b in scaled:
            text = text.replace(a, b)
    m = read(tmp_path, text)
    assert list(m.constraints) == ["C"]
    found, wanted = m.compile(backend="casadi"), by_hand()
    x = wanted.assemble({"A": 0.7}, v={"A": 1.3})
    y = found.state(x.q, x.v)
    assert np.abs(found.evaluate("residuals", y)[0]).max() < 1e-7
    np.testing.assert_allclose(found.mass_matrix(y), wanted.mass_matrix(x), rtol=1e-6)
    np.testing.assert_allclose(found.acceleration(y).vdot, wanted.acceleration(x).vdot, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("up", "wanted"), [("Y", (0, -9.81, 0)), ("Z", (0, 0, -9.81))])
def test_gravity_points_against_the_up_axis(up, wanted, tmp_path):
    assert tuple(read(tmp_path, stage(body("a", 1.0, (1, 1, 1)), up=up)).gravity) == wanted


def test_gravity_of_a_scene_is_in_units_of_the_stage(tmp_path):
    scene = (
        'def PhysicsScene "s"\n{\nvector3f physics:gravityDirection = (0, 3, 4)\n'
        "float physics:gravityMagnitude = 500\n}\n"
    )
    m = read(tmp_path, stage(scene + body("a", 1.0, (1, 1, 1)), length=0.01))
    np.testing.assert_allclose(np.array(m.gravity, dtype=float), [0, 3.0, 4.0])


def collision(kind, *attributes):
    """A collision shape."""
    return f'def {kind} "c" (\nprepend apiSchemas = ["PhysicsCollisionAPI"]\n)\n{{\n' + "\n".join(attributes) + "\n}"


ROUND = ("double radius = 0.5", "double height = 2", 'uniform token axis = "X"')
SHAPES = [
    (collision("Cube", "double size = 2"), 8.0, [2 / 3] * 3),
    (collision("Sphere", "double radius = 0.5"), np.pi / 6, [0.1] * 3),
    (collision("Cylinder", *ROUND), np.pi / 2, [0.125, 0.0625 + 1 / 3, 0.0625 + 1 / 3]),
]


@pytest.mark.parametrize(("text", "volume", "moments"), SHAPES)
@pytest.mark.parametrize("density", [None, 500.0])
def test_a_body_without_mass_has_that_of_its_shapes(text, volume, moments, density, tmp_path):
    """Closed forms; 1000 kg/m³ where nothing is said."""
    more = "" if density is None else f"float physics:density = {density}"
    m = read(tmp_path, stage(body("a", inside=text, more=more)))
    a, mass = m.bodies["a"], volume * (density or 1000.0)
    assert a.mass == pytest.approx(mass, rel=1e-6)
    np.testing.assert_allclose(np.array(a.inertia, dtype=float), mass * np.diag(moments), rtol=1e-6, atol=1e-9 * mass)
    assert len(a.shapes) == 1


def test_moments_of_a_capsule_are_those_of_an_integral(tmp_path):
    text = collision("Capsule", "double radius = 0.3", "double height = 0.8")
    z = np.linspace(-0.7, 0.7, 400_001)
    r2 = 0.3**2 - np.maximum(np.abs(z) - 0.4, 0.0) ** 2
    dz = z[1] - z[0]
    volume, along = np.pi * r2.sum() * dz, np.pi * (r2**2 / 2).sum() * dz
    across = np.pi * (r2**2 / 4 + r2 * z**2).sum() * dz
    J = np.array(read(tmp_path, stage(body("a", inside=text))).bodies["a"].inertia, dtype=float)
    np.testing.assert_allclose(np.diag(J), [1000 * across, 1000 * across, 1000 * along], rtol=1e-4)
    assert np.array(read(tmp_path, stage(body("a", 2.0, inside=text))).bodies["a"].inertia, dtype=float)[
        0, 0
    ] == pytest.approx(2 * across / volume, rel=1e-4)


def test_a_drive_is_a_spring_by_degrees_and_an_input(tmp_path):
    more = (
        "float drive:angular:physics:stiffness = 2\nfloat drive:angular:physics:damping = 0.5\n"
        "float drive:angular:physics:targetPosition = 90\n"
        "float physics:lowerLimit = -45\nfloat physics:upperLimit = 120\n"
        "custom float physxJoint:armature = 0.25"
    )
    text = body("a", 1.0, (1, 1, 1)) + joint(
        "Revolute", "A", None, "/World/a", more=more, schemas=["PhysicsDriveAPI:angular"]
    )
    m = read(tmp_path, stage(text))
    s = m.compile(backend="casadi")
    assert list(s.u_names) == ["A"]
    x = s.state({"A": 0.3}, {"A": 0.7})
    torque = 2 * 180 / np.pi * (np.pi / 2 - 0.3) - 0.5 * 180 / np.pi * 0.7 + 4.0
    assert s.acceleration(x, u=[4.0]).vdot[0] == pytest.approx(torque / (1.0 + 0.25), rel=1e-6)
    np.testing.assert_allclose(m.joints["A"].limits, np.deg2rad([[-45, 120]]), rtol=1e-6)


@pytest.mark.parametrize(
    ("locked", "kind", "nv"),
    [
        (["transX", "transY", "transZ", "rotX", "rotY"], da.Revolute, 1),
        (["transX", "transY", "rotX", "rotY", "rotZ"], da.Prismatic, 1),
        (["transX", "transY", "rotX", "rotY"], da.Cylindrical, 2),
        (["transZ", "rotX", "rotY"], da.Planar, 3),
        (["transX", "transY", "transZ"], da.Spherical, 3),
        (["transX", "transY", "transZ", "rotZ"], da.Universal, 2),
    ],
)
def test_locked_axes_make_the_joint_that_is_left(locked, kind, nv, tmp_path):
    m = read(tmp_path, stage(body("a", 1.0, (1, 1, 1)) + joint("", "A", None, "/World/a", **locks(*locked))))
    assert isinstance(m.joints["A"].joint, kind)
    assert m.compile(backend="casadi").nv == nv


def test_axes_that_no_joint_leaves_free_are_refused(tmp_path):
    text = body("a", 1.0, (1, 1, 1)) + joint("", "A", None, "/World/a", **locks("transX", "rotX"))
    with pytest.raises(da.ModelFileError, match="/World/A leaves the translations"):
        read(tmp_path, stage(text))


def test_joints_are_placed_in_scaled_and_turned_bodies(tmp_path):
    """localPos is in the body's own lengths; bodies as drawn give the state 'drawn'."""
    text = body("a", 1.0, (1, 1, 1), (1, 0, 0), at=(1, 0, 0), turn=30, scale=(2, 2, 2)) + joint(
        "Revolute", "A", None, "/World/a", at=(1, 0, 0), there=(0, 0, 0)
    )
    text += body("b", 1.0, (1, 1, 1)) + joint("Fixed", "F", "/World/a", "/World/b", at=(0.5, 0, 0))
    m = read(tmp_path, stage(text), merge_fixed=False)
    s = m.compile(backend="casadi")
    x = s.named_state("drawn")
    assert x["A"] == pytest.approx(np.pi / 6, rel=1e-6)
    np.testing.assert_allclose(np.array(m.bodies["a"].com, dtype=float), [2, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(s.pose(x, "b")[:3, 3], [1 + np.cos(np.pi / 6), np.sin(np.pi / 6), 0], atol=1e-6)


def test_instances_and_references_are_bodies_of_their_own(tmp_path):
    """A pendulum in a file of its own, twice as an instance, beside a nested articulation root."""
    (tmp_path / "parts").mkdir()
    inner = body("rod", 1.0, (0.1, 0.1, 0.1), (0.5, 0, 0)) + joint("Revolute", "pivot", None, "/Part/rod")
    (tmp_path / "parts" / "pendulum.usda").write_text(stage(inner, name="Part").replace('"World"', '"Part"'))
    text = "".join(
        f'def Xform "p{k}" (\ninstanceable = true\nprepend references = @./parts/pendulum.usda@\n'
        f'prepend apiSchemas = ["PhysicsArticulationRootAPI"]\n)\n'
        f'{{\ndouble3 xformOp:translate = ({k}, 0, 0)\nuniform token[] xformOpOrder = ["xformOp:translate"]\n}}\n'
        for k in (1, 2)
    )
    m = read(tmp_path, stage(text))
    assert list(m.bodies)[1:] == ["rod", "rod_2"]
    assert m.compile(backend="casadi").nv == 2


@pytest.mark.parametrize("asked", ["../outside.usda", "/etc/passwd", "https://example.org/a.usda", "missing.usda"])
def test_layers_outside_the_folder_are_not_opened(asked, tmp_path):
    (tmp_path / "outside.usda").write_text(stage(body("a", 1.0, (1, 1, 1))))
    (tmp_path / "in").mkdir()
    text = stage(f'def Xform "p" (\nprepend references = @{asked}@\n)\n{{\n}}')
    with pytest.raises(da.ModelFileError, match="asks for"):
        read(tmp_path / "in", text)
    if asked.startswith(".."):
        path = tmp_path / "in" / "stage.usda"
        assert len(da.read(path, folder=tmp_path).bodies) == 2


def test_what_is_not_read_is_noted_and_refused_where_asked(tmp_path):
    text = body("a", 1.0, (1, 1, 1), more="bool physics:kinematicEnabled = 1") + body("b", 1.0, (1, 1, 1))
    text += joint("Revolute", "A", "/World/a", "/World/b", more="bool physics:jointEnabled = 0")
    m = read(tmp_path, stage(text))
    assert [n.element for n in m.notes] == ["/World/a", "/World/A"]
    with pytest.raises(da.ModelFileError, match="strict"):
        read(tmp_path, stage(text), strict=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#usda 1.0\n(\n", "line|layer"),
        (stage(""), "no rigid body"),
        (stage(body("a")), "neither a mass"),
        (stage(body("a", -1.0)), "negative"),
        (stage(body("a", 1.0, (1, 1, 1), scale=(0, 1, 1))), "flattens"),
        (stage(body("a", 1.0, (1, 1, 1)) + joint("Distance", "A", None, "/World/a")), "type PhysicsDistanceJoint"),
        (stage(body("a", 1.0, (1, 1, 1)) + joint("Revolute", "A", "/World/x", "/World/a")), "not there"),
        (stage(body("a", 1.0, (1, 1, 1)), length=0), "metersPerUnit"),
    ],
)
def test_faults_of_a_stage_are_named(text, said, tmp_path):
    with pytest.raises(da.ModelFileError, match=said):
        read(tmp_path, text)


def test_changed_files_are_read_or_refused(tmp_path):
    """Bytes changed, deleted, doubled: a mechanism, or an error of this library."""
    rng, text = random.Random(7), stage(four_bar())
    for _ in range(150):
        data = bytearray(text.encode())
        for _ in range(rng.randint(1, 4)):
            k = rng.randrange(len(data))
            data[k : k + rng.choice([0, 1, 8])] = rng.choice([b"", b"(", b"nan", b"-", b"1e308", b"\x00", b"</World>"])
        (tmp_path / "a.usda").write_bytes(bytes(data))
        with suppress(da.DalembertError):
            da.read(tmp_path / "a.usda")


@pytest.mark.parametrize("name", ["four_bar", "stewart", "planar_3rrr", "heavy_top"])
def test_a_mechanism_that_is_written_is_read_again(name, tmp_path):
    """Names, mobility, and accelerations to the single precision of the format."""
    entry = zoo.CATALOG[name]
    m = entry.build()
    m.save(tmp_path / "a.usda")
    again = da.read(tmp_path / "a.usda")
    assert (again.name, list(again.bodies)) == (m.name, list(m.bodies))
    a, b = m.compile(backend="casadi"), again.compile(backend="casadi")
    assert (b.nv, set(b.u_names), len(b.rows.of)) == (a.nv, set(a.u_names), len(a.rows.of))
    assert set(b.q_names) == set(a.q_names)
    x = a.state(*entry.start())
    x = a.project(a.state(x.q, np.random.default_rng(1).normal(size=a.nv)))
    y = b.state([x.q[a.q_names.index(n)] for n in b.q_names], [x.v[a.v_names.index(n)] for n in b.v_names])
    wanted = dict(zip(a.v_names, a.acceleration(x).vdot))
    found = dict(zip(b.v_names, b.acceleration(y).vdot))
    size = max(abs(v) for v in wanted.values())
    assert max(abs(found[n] - wanted[n]) for n in wanted) < 1e-4 * size


def test_a_body_without_mass_that_carries_another_is_read_again(tmp_path):
    m = da.Mechanism("carriage", gravity=(0, 0, -9.81))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("slide"))
    m.add_joint("A", da.Revolute("y"), m.bodies["slide"], m.add_body("rod", 2.0, (0, 0, -1.0)))
    notes = m.save(tmp_path / "a.usda")
    assert [n.element for n in notes] == ["body 'slide'"]
    again = da.read(tmp_path / "a.usda")
    assert float(again.bodies["slide"].mass) == 0.0
    assert again.compile(backend="casadi").nv == 2


def test_what_usd_cannot_say_is_listed_when_it_is_written(tmp_path):
    notes = zoo.rolling_disc().save(tmp_path / "a.usda")
    assert any("rolling" in str(n) for n in notes)
