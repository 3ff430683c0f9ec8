"""Mass from shapes: against integrals over random points and against trimesh."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

import dalembert as da

#: kind: size, half sizes of a box around it and its middle, whether a point (3, n) is inside
INSIDE = {
    "box": ((0.3, 0.2, 0.5), lambda p: (abs(p[0]) < 0.15) & (abs(p[1]) < 0.1) & (abs(p[2]) < 0.25)),
    "sphere": (0.3, lambda p: (p * p).sum(0) < 0.09),
    "ellipsoid": ((0.3, 0.2, 0.4), lambda p: (p[0] / 0.3) ** 2 + (p[1] / 0.2) ** 2 + (p[2] / 0.4) ** 2 < 1),
    "cylinder": ((0.2, 0.6), lambda p: (p[0] ** 2 + p[1] ** 2 < 0.04) & (abs(p[2]) < 0.3)),
    "tube": ((0.3, 0.2, 0.4), lambda p: (abs(p[0] ** 2 + p[1] ** 2 - 0.065) < 0.025) & (abs(p[2]) < 0.2)),
    "cone": ((0.3, 0.4), lambda p: (np.hypot(p[0], p[1]) < 0.3 * (1 - p[2] / 0.4)) & (p[2] > 0)),
    "capsule": ((0.2, 0.4), lambda p: p[0] ** 2 + p[1] ** 2 + np.maximum(abs(p[2]) - 0.2, 0) ** 2 < 0.04),
    "prism": (
        ([(0, 0), (0.4, 0), (0.4, 0.1), (0.1, 0.1), (0.1, 0.4), (0, 0.4)], 0.2),  # an L
        lambda p: (p[0] > 0) & (p[1] > 0) & (p[0] < 0.4) & (p[1] < 0.4) & (p.min(0) < 0.1)
        & ((p[0] < 0.1) | (p[1] < 0.1)) & (abs(p[2]) < 0.1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", INSIDE)
def test_mass_centre_and_inertia_are_the_integrals(kind):
    """The midpoint rule on a lattice of 160³ in a cube of 1 m: errors of about one layer of cells at the surface."""
    size, inside = INSIDE[kind]
    n = 160
    axis = (np.arange(n) + 0.5) / n - 0.5
    points = np.array(np.meshgrid(axis, axis, axis, indexing="ij")).reshape(3, -1)
    points = points[:, inside(points)]
    cell = 1000.0 / n**3
    mass, com = cell * points.shape[1], points.mean(axis=1)
    r = points - com[:, None]
    J = cell * (np.einsum("in,in->", r, r) * np.eye(3) - r @ r.T)
    found = da.solid(kind, size, density=1000.0)
    assert found.mass == pytest.approx(mass, rel=1.5e-2)
    np.testing.assert_allclose(found.com, com, atol=2e-3)
    np.testing.assert_allclose(found.inertia, J, atol=3e-2 * np.abs(J).max())


def meshes(rng):
    for _ in range(5):
        points = rng.normal(size=(30, 3)) * (0.3, 0.2, 0.1) + rng.normal(size=3)
        hull = ConvexHull(points)
        faces = hull.simplices.copy()
        inward = np.einsum("ni,ni->n", np.cross(points[faces[:, 1]] - points[faces[:, 0]],
                           points[faces[:, 2]] - points[faces[:, 0]]), hull.equations[:, :3]) < 0  # fmt: skip
        faces[inward] = faces[inward][:, ::-1]
        yield points, faces


def test_meshes_agree_with_trimesh():
    trimesh = pytest.importorskip("trimesh")
    for points, faces in meshes(np.random.default_rng(4)):
        found = da.solid("mesh", (points, faces), density=700.0)
        peer = trimesh.Trimesh(points, faces, process=False)
        peer.density = 700.0
        assert found.mass == pytest.approx(peer.mass, rel=1e-12)
        np.testing.assert_allclose(found.com, peer.center_mass, rtol=1e-11)
        np.testing.assert_allclose(found.inertia, peer.moment_inertia, atol=1e-11 * np.abs(peer.moment_inertia).max())
        assert da.solid("mesh", peer, density=700.0).mass == found.mass


def test_a_box_of_triangles_and_a_prism_are_a_box():
    corners = np.array([(x, y, z) for x in (0, 0.3) for y in (0, 0.2) for z in (0, 0.5)], dtype=float)
    faces = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
             (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)]  # fmt: skip
    box = da.solid("box", (0.3, 0.2, 0.5), density=10.0, at=(0.15, 0.1, 0.25))
    outline = [(0, 0), (0, 0.2), (0.3, 0.2), (0.3, 0)]  # clockwise
    for other in (
        da.solid("mesh", (corners, faces), density=10.0),
        da.solid("prism", (outline, 0.5), density=10.0, at=(0, 0, 0.25)),
    ):
        assert other.mass == pytest.approx(box.mass, rel=1e-14)
        np.testing.assert_allclose(other.com, box.com, atol=1e-15)
        np.testing.assert_allclose(other.inertia, box.inertia, atol=1e-15)


def test_solids_add_up_and_turn():
    """Two halves of a cylinder make it, in any direction; a bore taken out of a cylinder makes a tube."""
    R = Rotation.from_rotvec((0.3, -0.5, 0.9)).as_matrix()
    whole = da.solid("cylinder", (0.1, 0.6), density=5.0, rotation=R, at=(1, 2, 3))
    halves = [
        da.solid("cylinder", (0.1, 0.3), density=5.0, rotation=R, at=(1, 2, 3) + s * 0.15 * R[:, 2]) for s in (1, -1)
    ]
    both = halves[0] + halves[1]
    assert both.mass == pytest.approx(whole.mass, rel=1e-14)
    np.testing.assert_allclose(both.com, whole.com, rtol=1e-14)
    np.testing.assert_allclose(both.inertia, whole.inertia, rtol=1e-12)
    tube = da.solid("cylinder", (0.2, 0.4), density=5.0) + da.solid("cylinder", (0.1, 0.4), density=-5.0)
    np.testing.assert_allclose(tube.inertia, da.solid("tube", (0.2, 0.1, 0.4), density=5.0).inertia, rtol=1e-14)


def test_a_dimension_that_is_a_parameter_moves_mass_and_inertia():
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    L, r = m.add_parameter("L", 0.5), m.add_parameter("r", 0.1)
    rod = da.solid("box", (L, 0.02, 0.02), density=2700.0, at=(L / 2, 0, 0))
    bob = da.solid("cylinder", (r, 0.03), density=7850.0, at=(L, 0, 0))
    m.add_joint("pivot", "revolute", m.ground, m.add_body("pendulum", solid=rod + bob))
    system = m.compile("casadi")
    for length, radius in ((0.5, 0.1), (0.8, 0.05)):
        mass = 2700 * length * 4e-4, 7850 * np.pi * radius**2 * 0.03
        J = mass[0] * (length**2 / 3 + 0.02**2 / 12) + mass[1] * (length**2 + radius**2 / 2)
        other = system.with_parameters(L=length, r=radius)
        assert other.mass_matrix({}) == pytest.approx(J, rel=1e-13)
        wanted = -9.81 * (mass[0] * length / 2 + mass[1] * length) / J
        assert other.forward_dynamics({})[0] == pytest.approx(wanted, rel=1e-13)
    assert len(m.bodies["pendulum"].shapes) == 2


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: da.solid("pyramid", 1.0, density=1.0), "the kind of a solid is 'pyramid'"),
        (lambda: da.solid("box", (1.0, 2.0), density=1.0), "needed: 3 number(s)"),
        (lambda: da.solid("tube", (0.1, 0.2, 1.0), density=1.0), "needed: above 0"),
        (lambda: da.solid("prism", ([(0, 0), (1, 1)], 1.0), density=1.0), "three or more corners"),
        (lambda: da.solid("mesh", (np.eye(3), [(0, 1, 2)]), density=1.0), "a mesh is not closed: 3 of its 3 edges"),
        (lambda: da.Mechanism().add_body("x", solid=3.0), "needed: da.solid(...)"),
        (lambda: da.Mechanism().add_body("x", 1.0, solid=da.solid("sphere", 1.0, density=1.0)), "besides"),
    ],
)
def test_what_is_no_solid_is_refused(act, message):
    with pytest.raises(da.DescriptionError) as caught:
        act()
    assert message in str(caught.value)
