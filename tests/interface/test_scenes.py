"""Scenes: solids are closed, stand where the mechanism is, and look the same at every size."""

import json

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.errors import FileError
from dalembert.spatial import Transform
from dalembert.view.automatic import round_hull
from dalembert.view.faces import faces, triangles
from dalembert.view.outlines import hull, rounded
from dalembert.view.scene import DrawnSolid, motion, scene

SQUARE = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]])
CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)] + [[0.5, 0.5, 0.5]], dtype=float)
VOLUMES = {
    "box": (DrawnSolid("box", (1.0, 2.0, 3.0)), 6.0),
    "sphere": (DrawnSolid("sphere", (2.0,)), 32 / 3 * np.pi),
    "ellipsoid": (DrawnSolid("ellipsoid", (1.0, 2.0, 3.0)), 8 * np.pi),
    "cylinder": (DrawnSolid("cylinder", (1.0, 3.0)), 3 * np.pi),
    "capsule": (DrawnSolid("capsule", (1.0, 3.0)), (3 + 4 / 3) * np.pi),
    "rod": (DrawnSolid("rod", (1.0, 3.0)), (3 + 4 / 3) * np.pi),
    "plate": (DrawnSolid("plate", (0.5,), outline=rounded(SQUARE, 0.25)), 0.5 * (2 + 6 * 0.25 + np.pi / 16)),
    "arrow": (DrawnSolid("arrow", (0.1, 2.0)), np.pi * (0.01 * 1.5 + 0.24**2 * 0.5 / 3)),
    "mesh": (
        DrawnSolid("mesh", vertices=(h := round_hull(CUBE, 0.5))[0], faces=h[1]),
        1 + 3 + 0.75 * np.pi + np.pi / 6,
    ),
}


def volume(found):
    corners = triangles(found)[0].reshape(-1, 3, 3)
    return float(np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6)


def edges(found, size):
    """Edges of faces as pairs of points in whole numbers, those without length left out."""
    out = {}
    for f in found:
        whole = np.round(f / (1e-9 * size)).astype(int)
        for a, b in zip(whole.reshape(-1, 3), np.roll(whole, -1, axis=1).reshape(-1, 3)):
            if tuple(a) != tuple(b):
                out[tuple(a), tuple(b)] = out.get((tuple(a), tuple(b)), 0) + 1
    return out


@pytest.mark.parametrize("kind", VOLUMES)
def test_solids_are_closed_and_have_their_volume(kind):
    """Every edge is met once each way, and the divergence theorem gives the volume, a little less for round ones."""
    solid, exact = VOLUMES[kind]
    found = edges(faces(solid, 48), 3.0)
    assert all(n == 1 and found.get(edge[::-1]) == 1 for edge, n in found.items())
    assert volume(faces(solid, 48)) == pytest.approx(exact, rel=1e-12 if kind == "box" else 0.04)
    assert volume(faces(solid, 48)) <= exact * (1 + 1e-12)
    vertices, normals = triangles(faces(solid, 24))
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, atol=1e-12)
    assert len(vertices) == len(normals)


def test_a_wheel_reaches_its_radius_and_width():
    vertices, _ = triangles(faces(DrawnSolid("wheel", (0.5, 0.1)), 32))
    assert np.linalg.norm(vertices[:, :2], axis=1).max() == pytest.approx(0.5)
    assert np.abs(vertices[:, 2]).max() == pytest.approx(0.065)  # of the hub


def test_outlines_do_not_cross_themselves():
    """The hull of random points holds them all and turns one way; round corners keep their distance."""
    random = np.random.default_rng(3)
    for n in (1, 2, 3, 5, 12):
        points = random.normal(size=(n, 2))
        corners = hull(points)
        line = rounded(points, 0.3)
        steps = np.roll(line, -1, axis=0) - line
        steps = steps[np.linalg.norm(steps, axis=1) > 1e-12]
        turns = np.cross(np.pad(steps, ((0, 0), (0, 1))), np.pad(np.roll(steps, -1, axis=0), ((0, 0), (0, 1))))[:, 2]
        assert (turns > -1e-12).all()
        assert np.arctan2(turns, np.sum(steps * np.roll(steps, -1, axis=0), axis=1)).sum() == pytest.approx(2 * np.pi)
        inward = np.column_stack([-steps[:, 1], steps[:, 0]]) / np.linalg.norm(steps, axis=1)[:, None]
        starts = line[np.linalg.norm(np.roll(line, -1, axis=0) - line, axis=1) > 1e-12]
        least = min(float(((p - starts) * inward).sum(axis=1).min()) for p in points)
        assert 0.28 < least <= 0.3 + 1e-12
        assert {tuple(c) for c in corners} <= {tuple(p) for p in points}
    assert len(hull(np.array([[0, 0], [1, 0], [2, 0], [0.5, 0]]))) == 2


def four_bar(scale):
    m = da.Mechanism("four-bar", gravity=(0, -9.81, 0))
    sizes = {"crank": 0.2, "coupler": 0.6, "rocker": 0.4}
    crank, coupler, rocker = (m.add_body(n, mass=1.0, com=(scale * x / 2, 0, 0)) for n, x in sizes.items())
    m.add_joint("A", da.Revolute("z"), m.ground, crank)
    m.add_joint("B", da.Revolute("z"), crank.at(0.2 * scale), coupler)
    m.add_joint("D", da.Revolute("z"), m.ground.at(0.55 * scale), rocker)
    m.close_loop("C", da.Revolute("z"), coupler.at(0.6 * scale), rocker.at(0.4 * scale))
    return m.compile(backend="casadi")


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_a_mechanism_looks_the_same_at_every_size(scale):
    q = [0.6, -0.1, 1.2]
    small, large = (scene(four_bar(x), q).to_dict() for x in (1.0, scale))
    assert large["length"] == pytest.approx(scale * small["length"])
    for a, b in zip(small["bodies"], large["bodies"]):
        assert [s["kind"] for s in a["shapes"]] == [s["kind"] for s in b["shapes"]]
        for s, t in zip(a["shapes"], b["shapes"]):
            np.testing.assert_allclose(np.array(t["size"]) / scale, s["size"], rtol=1e-6)
            np.testing.assert_allclose(np.array(t["position"]) / scale, s["position"], atol=1e-6)
            np.testing.assert_allclose(np.array(t.get("outline", [])) / scale, s.get("outline", []), atol=1e-6)


@pytest.mark.parametrize("name", ["four_bar", "stewart", "hand", "rolling_disc", "loader"])
def test_a_scene_is_plain_data_and_its_motion_that_of_the_system(name):
    entry = zoo.CATALOG[name]
    system = entry.build().compile(backend="casadi")
    x = system.state(*entry.start())
    data = json.loads(json.dumps(scene(system, x.q).to_dict(), allow_nan=False))
    assert data["version"] == 1
    assert [b["name"] for b in data["bodies"]] == list(system.layout.bodies)
    poses = motion(system, x.q)
    for k, body in enumerate(data["bodies"]):
        T = system.pose(x, body["name"])
        np.testing.assert_allclose(poses[0, k, :3], T[:3, 3], atol=1e-12)
        assert all(abs(np.linalg.norm(s["quaternion"]) - 1) < 1e-7 for s in body["shapes"])
    assert {j["name"] for j in data["joints"]} >= set(system.layout.joints)


def test_quaternions_of_a_motion_do_not_jump():
    m = da.Mechanism("rotor")
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("rotor", mass=1.0, com=(1, 0, 0)))
    turn = np.linspace(0, 12 * np.pi, 400)[:, None]
    q = motion(m.compile(backend="casadi"), turn)[:, 1, 3:]
    np.testing.assert_allclose(q[:, 0], np.cos(turn[:, 0] / 2), atol=1e-9)
    np.testing.assert_allclose(q[:, 3], np.sin(turn[:, 0] / 2), atol=1e-9)


def piston(lengths):
    """A cylinder between two pins, in positions of some lengths."""
    m = da.Mechanism("piston", gravity=(0, -9.81, 0))
    barrel, rod = m.add_body("barrel", mass=1.0, com=(0.3, 0, 0)), m.add_body("rod", mass=1.0)
    lever = m.add_body("lever", mass=1.0, com=(0, 0.2, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, barrel)
    m.add_joint("stroke", da.Prismatic("x"), barrel, rod)
    m.add_joint("B", da.Revolute("z"), rod, lever)
    return m.compile(backend="casadi"), np.array([[0.3, x, 0.1] for x in lengths])


def test_a_sliding_joint_between_bodies_is_a_cylinder_whose_rod_stays_in_it():
    system, q = piston(np.linspace(0.6, 0.9, 7))
    s = scene(system, q)
    (barrel,) = (x for x in s.bodies[s.index("barrel")].solids if not x.joint)
    (rod,) = (x for x in s.bodies[s.index("rod")].solids if not x.joint)
    assert barrel.kind == rod.kind == "cylinder"
    ends = [(x.T.p[0] - x.size[1] / 2, x.T.p[0] + x.size[1] / 2) for x in (barrel, rod)]
    assert ends[0][0] == pytest.approx(0.0)
    assert ends[1][1] == pytest.approx(0.0, abs=1e-12)
    for length in q[:, 1]:
        assert 0 <= length + ends[1][0] <= ends[0][1]  # the inner end of the rod is in the barrel
    assert barrel.size[0] > rod.size[0]


def test_rails_reach_as_far_as_what_slides_on_them():
    m = da.Mechanism("cart")
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=1.0, inertia=(1, 1, 1)))
    system = m.compile(backend="casadi")
    s = scene(system, [[-2.0], [3.0]])
    (rail,) = s.bodies[0].solids
    assert rail.T.p[0] - rail.size[1] / 2 < -2
    assert rail.T.p[0] + rail.size[1] / 2 > 3


def test_given_shapes_are_used_as_they_are():
    m = da.Mechanism("given")
    arm = m.add_body("arm", mass=1.0, com=(0.5, 0, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, arm)
    arm.add_shape("box", (1.0, 0.1, 0.2), at=(0.5, 0, 0), colour=(1.0, 0.5, 0.0, 0.5))
    (solid,) = (x for x in scene(m.compile(backend="casadi")).bodies[1].solids if not x.joint)
    assert (solid.kind, solid.size, solid.color, solid.opacity, solid.origin) == (
        "box", (1.0, 0.1, 0.2), "#ff8000", 0.5, "given",
    )  # fmt: skip
    np.testing.assert_array_equal(solid.T.p, Transform(np.eye(3), np.array([0.5, 0, 0])).p)


def test_every_kind_of_shape_can_be_given():
    m = da.Mechanism("kinds")
    body = m.add_body("body", mass=1.0, inertia=(1, 1, 1))
    m.add_joint("A", da.Free(), m.ground, body)
    sizes = {
        "rod": (0.1, 2.0),
        "wheel": (1.0, 0.2),
        "plate": (2.0, 1.0, 0.1, 0.2),
        "arrow": (0.05, 1.0),
        "box": (1, 2, 3),
    }
    for kind, size in sizes.items():
        body.add_shape(kind, size)
    solids = scene(m.compile(backend="casadi")).bodies[1].solids
    assert [s.kind for s in solids] == list(sizes)
    low, high = (f(triangles(faces(solids[2]))[0], axis=0) for f in (np.min, np.max))
    np.testing.assert_allclose([low, high], [[-1, -0.5, -0.05], [1, 0.5, 0.05]], atol=1e-12)
    rod = body.shapes[0].simpler()
    assert (rod.kind, rod.size, rod.pose.p[2]) == ("capsule", (0.1, 2.0), 1.0)
    assert [shape.simpler().kind for shape in body.shapes[1:]] == ["cylinder", "box", "cylinder", "box"]


def test_meshes_are_read_below_their_folder_only(tmp_path):
    """A tetrahedron by trimesh's own writer comes back with its volume; paths beyond the folder are not opened."""
    trimesh = pytest.importorskip("trimesh")
    inside = tmp_path / "robot" / "meshes"
    inside.mkdir(parents=True)
    tetrahedron = trimesh.Trimesh(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    )
    for suffix in ("stl", "obj", "glb"):
        tetrahedron.export(inside / f"t.{suffix}")
        tetrahedron.export(tmp_path / f"secret.{suffix}")
    (inside / "broken.stl").write_bytes(b"solid nothing")
    (inside / "link.stl").symlink_to(tmp_path / "secret.stl")

    def solids(file, **how):
        m = da.Mechanism("mesh")
        body = m.add_body("body", mass=1.0, inertia=(1, 1, 1))
        m.add_joint("A", da.Free(), m.ground, body)
        body.add_shape("mesh", file=file, **how)
        return scene(m.compile(backend="casadi"), meshes=tmp_path / "robot").bodies[1].solids

    for file in ("meshes/t.stl", "package://robot_description/meshes/t.obj", "file:///home/x/robot/meshes/t.glb"):
        (solid,) = solids(file, scale=(2.0, 1.0, -1.0))
        assert solid.kind == "mesh"
        assert volume(faces(solid)) == pytest.approx(2 / 6, rel=1e-6)
    for file in ("../secret.stl", str(tmp_path / "secret.stl"), "meshes/link.stl", "meshes/none.stl", "meshes/t.txt"):
        assert [s.origin for s in solids(file)] == ["automatic"]
    with pytest.raises(FileError, match=r"'broken\.stl' (cannot be read|holds no)"):
        solids("meshes/broken.stl")


def drawn(system, body, p=None):
    """(size, position) of the solids that a description gives a body."""
    (found,) = [b for b in scene(system, p=p).bodies if b.name == body]
    return [(solid.size, solid.T.p.tolist()) for solid in found.solids if solid.origin == "given"]


def test_shapes_follow_the_parameters_they_are_made_of():
    """Drawn at the values asked for: defaults, those of a call, those of a system with other defaults."""
    m = da.Mechanism("arm")
    L, r = m.add_parameter("L", 0.5), m.add_parameter("r", [0.1, 0.2])
    arm = m.add_body("arm", mass=1.0, inertia=(1, 1, 1))
    m.add_joint("A", da.Revolute("z"), m.ground, arm)
    assert repr(arm.add_shape("cylinder", (r[1], L), at=(0, 0, L / 2))) == "<cylinder (r_1, L)>"
    m.ground.add_shape("sphere", r[0])
    system = m.compile("casadi")
    assert drawn(system, "arm") == [((0.2, 0.5), [0.0, 0.0, 0.25])]
    given = {"L": 0.8, "r": [0.3, 0.4]}
    assert drawn(system, "arm", given) == [((0.4, 0.8), [0.0, 0.0, 0.4])]
    assert drawn(system, "ground", given) == [((0.3,), [0.0, 0.0, 0.0])]
    assert drawn(system.with_parameters(given), "arm") == [((0.4, 0.8), [0.0, 0.0, 0.4])]


def test_shapes_of_unknown_symbols_or_negative_lengths_are_refused():
    m = da.Mechanism("arm")
    L = m.add_parameter("L", -0.5)
    with pytest.raises(da.DescriptionError, match="no length may be negative"):
        m.ground.add_shape("sphere", L)
    with pytest.raises(da.DescriptionError, match="the symbol k, which is no parameter"):
        m.ground.add_shape("sphere", ca.SX.sym("k"))
    assert m.ground.shapes == []


def test_machine_elements_are_drawn_by_what_they_look_like():
    """A damper is a cylinder, a muscle a line through its points; tyres and pulleys are wheels of their radius."""
    m = da.Mechanism("parts", gravity=(0, 0, 0))
    rim = m.add_body("rim", mass=1.0, inertia=(1, 1, 1))
    m.add_joint("spin", da.Revolute("y"), m.ground.at(0, 0, 0.3), rim)
    drum = m.add_body("drum", mass=1.0, inertia=(1, 1, 1))
    m.add_joint("turn", da.Revolute("z"), m.ground.at(1, 0, 0), drum)
    slide = m.add_body("slide", mass=1.0)
    m.add_joint("x", da.Prismatic("y"), m.ground.at(1.2, -1.0, 0), slide)
    m.add_tyre("tyre", rim, radius=0.3, stiffness=1e4)
    m.add_pulley_rope("rope", [m.ground.at(0.8, -1, 0), da.Pulley(drum, 0.2, turn=-1), slide])
    m.add_damper("oil", m.ground.at(0, 0, 1), slide, damping=1.0)
    m.add_muscle("calf", [m.ground, rim, slide], strength=1.0, optimal_length=1.0)
    system = m.compile("casadi")
    drawn = scene(system)
    assert {link.name: (link.kind, len(link.points)) for link in drawn.links} == {
        "oil": ("actuator", 2),
        "calf": ("muscle", 3),
        "rope": ("cable", 2),
    }
    sizes = {b.name: {s.size[0] for s in b.solids if s.kind == "wheel"} for b in drawn.bodies}
    assert sizes["rim"] == {0.3}
    assert sizes["drum"] == {0.2}


def wheels_in(system):
    """{body: radii of its wheels}, and the ends of lines, in the ground."""
    drawn = scene(system, system.state().q[None])
    radii = {b.name: [s.size[0] for s in b.solids if s.kind == "wheel"] for b in drawn.bodies}
    lines = [np.array([place.T.p for place in link.points]) for link in drawn.links if link.kind == "cable"]
    return {name: r for name, r in radii.items() if r}, lines


def turning(*places):
    m = da.Mechanism("shafts", gravity=(0, 0, 0))
    for k, x in enumerate(places):
        m.add_joint(f"q{k}", da.Revolute("z"), m.ground.at(x), m.add_body(f"wheel {k}", mass=1.0, inertia=(1, 1, 1)))
    return m


@pytest.mark.parametrize("stiff", [{}, {"stiffness": 10.0}])
def test_gears_are_drawn_as_wheels_that_touch(stiff, tmp_path):
    """Radii as the teeth, their sum or difference the distance of the axes; kept in files, copies and merged parts."""
    m = turning(0.0, 0.3, 0.0)
    m.add_gear("outer", "q0", "q1", teeth=(20, 40), **stiff)
    m.add_gear("inner", "q1", "q2", teeth=(40, 100), inside=True, **stiff)
    wanted = {"wheel 0": [pytest.approx(0.1)], "wheel 1": [pytest.approx(0.2)], "wheel 2": [pytest.approx(0.5)]}
    m.save(tmp_path / "gears.yaml")
    whole = da.Mechanism("whole")
    whole.merge(m, at=whole.ground.at(1, 2, 3))
    for one in (m, da.read(tmp_path / "gears.yaml"), whole, m.copy()):
        found = wheels_in(one.compile("casadi"))[0]
        assert found == wanted


def test_belts_and_ropes_are_drawn_from_where_they_touch(tmp_path):
    """Tangents of circles: r₁ = 3, r₂ = 1 at a distance of 4 lean by asin(2/4) when open, by asin(4/4) when crossed."""
    for crossed in (False, True):
        m = turning(0.0, 5.0)
        m.add_belt("belt", "q0", "q1", radii=(3.0, 1.0), crossed=crossed)
        m.save(tmp_path / "belt.yaml")
        for one in (m, da.read(tmp_path / "belt.yaml")):
            radii, lines = wheels_in(one.compile("casadi"))
            assert radii == {"wheel 0": [3.0], "wheel 1": [1.0]}
            lean = (3.0 + 1.0 if crossed else 3.0 - 1.0) / 5.0
            for a, b in lines:
                assert np.linalg.norm(a[:2]) in (pytest.approx(3.0), pytest.approx(1.0)) or np.linalg.norm(
                    a[:2] - (5, 0)
                ) == pytest.approx(1.0)
                assert np.linalg.norm(b - a) == pytest.approx(5.0 * np.sqrt(1 - lean**2))
            assert len(lines) == 2
    m = da.Mechanism("hoist", gravity=(0, -9.81, 0))
    sheave = m.add_body("sheave", mass=2.0, inertia=da.disc_inertia(2.0, 0.1))
    m.add_joint("turn", da.Revolute("z"), m.ground, sheave)
    for n, x in (("load", -0.1), ("weight", 0.1)):
        m.add_joint(n, da.Prismatic("y"), m.ground.at(x, -1.0), m.add_body(n, mass=1.0))
    m.add_pulley_rope("rope", ["load", da.Pulley(sheave, 0.1, turn=-1), "weight"])
    (up, down) = wheels_in(m.compile("casadi"))[1]
    np.testing.assert_allclose(up, [(0, 0, 0), (-0.1, 0, 0)], atol=1e-12)  # of the load, and of the ground
    np.testing.assert_allclose(down, [(0.1, 0, 0), (0, 0, 0)], atol=1e-12)
