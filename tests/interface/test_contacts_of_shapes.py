"""`add_contacts`: which contacts the shapes of bodies make, what is left out and said, what is refused."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import dalembert as da
from dalembert.mechanism.shapes import Collider

SIZES = {
    "box": (0.3, 0.2, 0.1), "sphere": 0.1, "capsule": (0.05, 0.3), "cylinder": (0.1, 0.3), "ellipsoid": (0.1, 0.2, 0.3),
}  # fmt: skip


def scene(*kinds):
    """Free bodies called after their shapes."""
    m = da.Mechanism("scene")
    for kind in kinds:
        body = m.add_body(kind, mass=1.0, inertia=(1, 1, 1))
        m.add_joint(f"{kind} joint", da.Free(), m.ground, body)
        body.add_shape(kind, SIZES[kind], at=(0.1, 0, 0), rotation=da.rotation("x", 0.3))
    return m


def test_each_shape_touches_the_floor_where_it_can_rest():
    m = scene(*SIZES)
    assert m.add_contacts(friction=0.5) == []
    counts = {kind: sum(name.startswith(kind) for name in m.contacts) for kind in SIZES}
    assert counts == {"box": 8, "sphere": 1, "capsule": 2, "cylinder": 10, "ellipsoid": 1}
    assert {c.friction for c in m.contacts.values()} == {0.5}
    assert {"box corner 8", "sphere on floor", "capsule end 2", "cylinder rim 1", "cylinder rim 2 point 4"} <= {
        *m.contacts
    }


def test_pairs_have_contacts_or_a_note_each():
    m = scene(*SIZES)
    notes = m.add_contacts(floor=False, between="all", friction=0.1)
    made = {frozenset(name.split(" end ")[0].split(" on ")) for name in m.contacts}
    left = {frozenset(note.element.replace("'", "").split(" on ")) for note in notes}
    assert made == {frozenset(("sphere", kind)) for kind in ("box", "capsule", "cylinder")}
    assert left | made == {frozenset((a, b)) for a in SIZES for b in SIZES if a != b}
    assert not left & made
    assert m.notes == notes
    assert any(
        "no contact of box and capsule: a box touches a sphere; for others there is no formula" in str(n) for n in notes
    )


def test_pairs_are_chosen_by_name_and_by_exclusion_and_neighbours_do_not_touch():
    m = da.Mechanism("chain")
    bodies = ["ground", "a", "b", "c"]
    for before, name in pairwise(bodies):
        body = m.add_body(name, mass=1.0)
        body.add_shape("sphere", 0.1)
        m.add_joint(f"{name} joint", da.Revolute("y"), m.bodies[before].at(0.3, 0, 0), body)
    for given, expected in (
        ({"between": "all"}, ["c on a"]),
        ({"between": "all", "exclude": [("a", "c")]}, []),
        ({"between": [("a", "b")]}, ["a on b"]),
    ):
        other = m.copy()
        other.add_contacts(floor=False, friction=0.0, **given)
        assert [sorted(n.split(" on ")) for n in other.contacts] == [sorted(n.split(" on ")) for n in expected]
    other = m.copy()
    other.add_contacts(friction=0.0, exclude=[("a", "b")], floor=other.bodies["a"])
    assert list(other.contacts) == ["c on floor"]
    m.add_contacts(bodies=["b", m.bodies["c"]], friction=0.0, floor=m.ground.at(0, 0, -1))
    assert list(m.contacts) == ["b on floor", "c on floor"]


def test_colliders_of_files_count_before_pictures_and_bring_their_own_laws():
    m = scene("sphere", "box")
    ball, box = m.bodies["sphere"], m.bodies["box"]
    ball.add_collider(da.Shape("sphere", 0.2), friction=0.7, restitution=0.4)
    box.add_collider(da.Shape("sphere", 0.3), friction=0.3, group=2, against=2)
    m.ground.add_collider(da.Shape("plane", (), (np.eye(3), (0, 0, -0.5))), friction=0.5, against=3)
    m.add_contacts(between="all")
    found = {n: (c.friction, c.restitution, float(c.radius), float(c.on.T.p[2])) for n, c in m.contacts.items()}
    expected = {"sphere on floor": (0.5, 0.4, 0.2, -0.5), "box on floor": (0.3, 0.0, 0.3, -0.5)}  # not each other
    assert found == expected
    other = scene("sphere", "box")
    for body in (other.bodies["sphere"], other.bodies["box"]):
        body.add_collider(da.Shape("sphere", 0.2), friction=0.1 * len(body.name), combine="greatest")
    other.add_contacts(between="all", floor=False)
    assert [c.friction for c in other.contacts.values()] == [pytest.approx(0.6)]
    drawn = m.copy()
    drawn.contacts.clear()
    drawn.add_contacts(shapes="drawn", friction=0.2)
    assert len(drawn.contacts) == 9


def test_labels_keep_apart_and_bring_together_also_in_merged_copies():
    m = da.Mechanism("pair")
    for name in "ab":
        body = m.add_body(name, mass=1.0)
        m.add_joint(f"{name} joint", da.Free(), m.ground, body)
        body.add_collider(da.Shape("sphere", 0.1), friction=0.0, apart=["pair"])
    both = da.Mechanism("both")
    for side in ("left ", "right "):
        both.merge(m, side)
    both.add_contacts(floor=False, between="all")
    assert {frozenset(n.split(" on ")) for n in both.contacts} == {
        frozenset((f"left {x}", f"right {y}")) for x in "ab" for y in "ab"
    }
    for body in m.bodies.values():
        body.colliders[:] = [Collider(c.shape, 0.0, group=0, against=0, together=("x",)) for c in body.colliders]
    m.add_contacts(between="all")
    assert [sorted(n.split(" on ")) for n in m.contacts] == [["a", "b"]]


def test_shapes_without_extent_are_points_or_left_out():
    m = da.Mechanism("dots")
    body = m.add_body("b", mass=1.0)
    m.add_joint("f", da.Free(), m.ground, body)
    body.add_shape("sphere", 0.0, name="toe")
    body.add_shape("cylinder", (0.1, 0.0), name="lid")
    (note,) = m.add_contacts(friction=0.0)
    assert "'b lid' on the floor: no contact of cylinder" in str(note)
    assert list(m.contacts) == ["b toe on floor"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "contact 'box corner 1' has no friction: its shapes say none"),
        ({"friction": -1.0}, "the friction of add_contacts is -1"),
        ({"restitution": 2.0, "friction": 0.0}, "the restitution of add_contacts is 2"),
        ({"between": "any", "friction": 0.0}, "between of add_contacts is 'any'"),
        ({"between": [("box", "bx")], "friction": 0.0}, "'bx'"),
        ({"between": [("box", "box")], "friction": 0.0}, "pairs body 'box' with itself"),
        ({"exclude": [("box",)], "friction": 0.0}, "needed: pairs of bodies"),
        ({"bodies": ["ground"], "friction": 0.0}, "finds no drawn shapes on ground; give bodies some by add_shape"),
        ({"shapes": "visual", "friction": 0.0}, "'visual'"),
        ({"floor": "flor", "friction": 0.0}, "'flor'"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_added(options, text):
    m = scene("box", "sphere")
    with pytest.raises(da.DescriptionError, match=text):
        m.add_contacts(**options)
    assert not m.contacts


def test_one_contact_refuses_what_touches_at_several_points_or_has_no_formula():
    m = scene("box", "sphere")
    for options, text in (
        ({"shape": ("box", (1, 2, 3))}, "a box rests on a plane at several points; m.add_contacts makes"),
        (
            {"shape": ("box", (1, 2, 3)), "on_shape": ("box", (1, 2, 3))},
            "between a box and a box: a box touches a sphere",
        ),
        ({"shape": ("ellipsoid", (1, 2, 3)), "on_radius": 0.2}, "an ellipsoid touches planes alone"),
        ({"on_shape": ("box", (1, 1, 1))}, "between a point and a box; needed: a radius above 0"),
        ({"shape": ("capsule", (0.1, 0.2)), "radius": 1.0}, "has shape= and radius="),
        ({"shape": "box"}, r"needed: a da\.Shape, or \(kind, size\)"),
        ({"shape": ("cube", 1.0)}, "'cube'"),
        ({"shape": ("disc", 0.0)}, "needed: lengths above 0"),
    ):
        with pytest.raises(da.DescriptionError, match=text):
            m.add_contact("x", "box", **options)
    m.add_contact("x", "box", on="sphere", on_radius=0.1, shape=da.Shape("rod", (0.1, 0.5), (np.eye(3), (0, 0, 1.0))))
    assert m.contacts["x"].frame.T.p[2] == 1.25


def test_meshes_touch_planes_with_corners_of_their_hulls_where_their_files_are(tmp_path):
    """A wedge has its six corners; a ball of many corners some of them, and the note bounds what is left out."""
    trimesh = pytest.importorskip("trimesh")
    wedge = trimesh.convex.convex_hull(np.array([[x, y, z] for x in (0, 1.0) for y, z in ((0, 0), (2.0, 0), (0, 3.0))]))
    (tmp_path / "meshes").mkdir()
    wedge.export(tmp_path / "meshes" / "wedge.stl")
    ball = trimesh.creation.icosphere(subdivisions=3, radius=1.0)
    ball.export(tmp_path / "meshes" / "ball.stl")
    m = da.Mechanism("meshes")
    for name in ("wedge", "ball", "gone"):
        body = m.add_body(name, mass=1.0)
        m.add_joint(f"{name} joint", da.Free(), m.ground, body)
        shape = da.Shape(
            "mesh", (), (da.rotation("x", 0.5), (0, 0, 0.2)), file=f"package://r/meshes/{name}.stl", scale=(0.1,) * 3
        )
        body.add_collider(shape, friction=0.3)
    few, none = m.add_contacts(meshes=tmp_path)
    assert "'gone' on the floor: no contact of mesh" in str(none)
    found = {n: np.array([float(x) for x in c.frame.T.p]) for n, c in m.contacts.items()}
    corners = np.array([x for n, x in found.items() if n.startswith("wedge")])
    expected = 0.1 * wedge.vertices @ da.rotation("x", 0.5).T + [0, 0, 0.2]
    assert sorted(map(tuple, corners.round(6))) == sorted(map(tuple, expected.round(6)))
    kept = np.array([x for n, x in found.items() if n.startswith("ball")]) - [0, 0, 0.2]
    assert 20 <= len(kept) <= 24
    np.testing.assert_allclose(np.linalg.norm(kept, axis=1), 0.1, atol=1e-6)
    exceeds = float(few.text.split("by ")[-1].split(" m")[0])
    rng = np.random.default_rng(1)
    ways = rng.normal(size=(500, 3))
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    assert (0.1 - (kept @ ways.T).max(axis=0)).max() <= 1.5 * exceeds
    assert 0.0 < exceeds < 0.04
