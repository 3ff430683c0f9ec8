"""Workspace maps against the closed forms of arms and parallel robots."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo


def planar_arm(first=1.0, second=0.6, limits=None, scale=1.0):
    m = da.Mechanism("2R")
    bodies = [
        m.add_body(n, mass=1.0, com=(L * scale / 2, 0, 0), inertia=da.rod_inertia(1.0, L * scale))
        for n, L in (("a", first), ("b", second))
    ]
    m.add_joint("A", da.Revolute("z"), m.ground, bodies[0])
    m.add_joint("B", da.Revolute("z"), bodies[0].at(first * scale, 0, 0), bodies[1], limits=limits)
    m.add_frame("tool", bodies[1].at(second * scale, 0, 0))
    m.add_motor("MA", "A")
    m.add_motor("MB", "B")
    return m.compile()


def wrapped(x):
    return (x + np.pi) % (2 * np.pi) - np.pi


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e3])
def test_a_2r_arm_reaches_a_ring_with_the_elbow_on_either_side(scale):
    """|L1 − L2| ≤ r ≤ L1 + L2, cos B = (r² − L1² − L2²) / 2 L1 L2, manipulability L1 L2 |sin B|, at any size."""
    system = planar_arm(scale=scale)
    g = np.linspace(-1.77, 1.83, 17) * scale
    found = da.workspace(system, {"tool.x": g, "tool.y": g}, system.state({"B": 1.0}), branches=2)
    r = np.hypot(*np.meshgrid(g, g, indexing="ij")) / scale
    assert np.array_equal(found.reachable, (r >= 0.4) & (r <= 1.6))
    assert found.branches == 2
    here = found.reachable
    B = np.arccos(((r**2 - 1.36) / 1.2)[here])
    up, down = (wrapped(found.on(k)["B"][here]) for k in (0, 1))
    assert np.abs(up - B).max() < 1e-8
    assert np.abs(down + B).max() < 1e-8
    assert np.array_equal(found.count, 2 * here)
    assert np.abs(found.manipulability[here] / scale**2 - 0.6 * np.sin(B)).max() < 1e-8
    assert not np.isfinite(found.manipulability[~here]).any()
    assert (found.branch[~here] == -1).all()
    x, (i, j) = found.state(*np.argwhere(here)[7]), np.argwhere(here)[7]
    assert np.abs(system.pose(x, "tool")[:2, 3] - [g[i], g[j]]).max() < 1e-11 * scale


def test_singular_values_of_a_2r_arm_are_those_of_its_jacobian():
    system = planar_arm()
    g = np.linspace(0.3, 1.5, 7)
    found = da.workspace(system, {"tool.x": g, "tool.y": g}, system.state({"B": 1.0}))
    for i, j in np.argwhere(found.reachable):
        A, B = found["A"][i, j], found["B"][i, j]
        J = np.array([
            [-np.sin(A) - 0.6 * np.sin(A + B), -0.6 * np.sin(A + B)],
            [np.cos(A) + 0.6 * np.cos(A + B), 0.6 * np.cos(A + B)],
        ])  # fmt: skip
        sigma = np.linalg.svd(J, compute_uv=False)
        assert abs(found.serial[i, j] * system.layout.length - sigma[1]) < 1e-9
        assert abs(found.dexterity[i, j] - sigma[1] / sigma[0]) < 1e-9
        assert found.parallel[i, j] == pytest.approx(1.0)  # every joint has a motor


def test_limits_of_joints_bound_the_map_and_are_told():
    """With 0.5 ≤ B ≤ 2 the tool stays in a narrower ring; `room` is the distance to the nearer limit."""
    system = planar_arm(limits=(0.5, 2.0))
    g = np.linspace(-1.75, 1.75, 18)
    r = np.hypot(*np.meshgrid(g, g, indexing="ij"))
    B = np.arccos(np.clip((r**2 - 1.36) / 1.2, -1, 1))
    inside = (r > 0.4) & (r < 1.6) & (B >= 0.5) & (B <= 2.0)
    found = da.workspace(system, {"tool.x": g, "tool.y": g}, system.state({"B": 1.0}))
    assert np.array_equal(found.reachable, inside)
    assert np.abs(found.room[inside] - np.minimum(B - 0.5, 2.0 - B)[inside]).max() < 1e-9
    freely = da.workspace(system, {"tool.x": g, "tool.y": g}, system.state({"B": 1.0}), limits=False)
    assert np.array_equal(freely.reachable, (r > 0.4) & (r < 1.6))
    assert np.array_equal(freely.room >= 0, inside)


def delta_by_hand(x, y, z):
    """Angles of the arms with the elbows outward, and the volume of the parallelograms' normals; None out of reach."""
    angles, normals = [], []
    for leg in -np.pi / 2 + 2 * np.pi / 3 * np.arange(3):
        out = np.array([np.cos(leg), np.sin(leg), 0.0])
        to = np.array([x, y, z]) + (0.076 / np.sqrt(3) - 0.567 / (2 * np.sqrt(3))) * out  # from the arm's axis
        across = np.array([-out[1], out[0], 0.0])
        along, sideways = to @ out, to @ across
        c = (along**2 + sideways**2 + z**2 + 0.524**2 - 1.244**2) / (2 * 0.524 * np.hypot(along, z))
        if abs(c) > 1:
            return None
        A = np.arctan2(-z, along) - np.arccos(c)
        angles.append(A)
        forearm = (to - 0.524 * (np.cos(A) * out - np.sin(A) * np.array([0, 0, 1.0]))) / 1.244
        normals.append(np.cross(across, forearm))
    return np.array(angles), np.linalg.det(normals)


def test_the_delta_robot_reaches_what_its_closed_form_reaches():
    """Every point by the closed form of each arm, elbows outward.

    Where the normals of the three parallelograms lie in a plane the platform may turn: the map does not pass there.
    """
    system = zoo.delta().compile()
    g, depth = np.linspace(-1.35, 1.3, 13), (-1.1, -0.7)
    start = system.state(zoo.delta_start((0, 0, -0.9))[0])
    found = da.workspace(system, {"platform.x": g, "platform.y": g, "platform.z": depth}, start)
    side = np.sign(delta_by_hand(0, 0, -0.9)[1])
    for i, j, k in np.ndindex(found.shape):
        hand = delta_by_hand(g[i], g[j], depth[k])
        assert found.reachable[i, j, k] == (hand is not None and hand[1] * side > 0)
        if found.reachable[i, j, k]:
            off = [wrapped(found[f"A{n}"][i, j, k] - hand[0][n - 1]) for n in (1, 2, 3)]
            assert np.abs(off).max() < 1e-9
            assert abs(abs(found["platform.qw"][i, j, k]) - 1) < 1e-12
    assert 0.3 < found.share < 0.9
    assert found.cost[~found.reachable].mean() < 10 * found.cost[found.reachable].mean()


def test_the_delta_robot_takes_the_published_angles():
    """Williams (2016): {0.3, 0.5, −1.1} m asks for 47.5°, −11.6°, 21.4°, and {0, 0, −0.9} for −20.5° each."""
    system = zoo.delta().compile()
    start = system.state(zoo.delta_start((0, 0, -0.9))[0])
    assert np.degrees([start[f"A{k}"] for k in (1, 2, 3)]).round(1) == pytest.approx(-20.5, abs=0.051)
    axes = {"platform.x": [0.0, 0.3], "platform.y": [0.0, 0.5], "platform.z": [-0.9, -1.1]}
    there = da.workspace(system, axes, start).state(1, 1, 1)
    assert np.degrees([there[f"A{k}"] for k in (1, 2, 3)]).round(1).tolist() == [47.5, -11.6, 21.4]


def test_the_3rrr_robot_reaches_where_its_three_rings_overlap():
    """With the platform held at an angle each leg is a 2R arm about its support: the rings' intersection."""
    system, angle = zoo.planar_3rrr().compile(), 0.25
    start = system.state(*zoo.planar_3rrr_start(0.0, 0.0, angle))
    g = np.linspace(-0.33, 0.31, 17)
    found = da.workspace(
        system, {"platform.x": g, "platform.y": g}, start, frames={"platform": da.rotation("z", angle)}
    )
    x = np.stack(np.meshgrid(g, g, indexing="ij"), axis=-1)
    legs, both = np.pi / 2 + 2 * np.pi / 3 * np.arange(3), np.ones(x.shape[:2], dtype=bool)
    for leg in legs:
        pin = x + 0.15 * np.array([np.cos(leg + angle), np.sin(leg + angle)])
        both &= np.linalg.norm(pin - 0.5 * np.array([np.cos(leg), np.sin(leg)]), axis=-1) <= 0.6
    assert np.array_equal(found.reachable, both)
    # the actuators lose hold where the lines of the distal links meet in a point
    for i, j in np.argwhere(both)[::17]:
        s = found.state(i, j)
        B = [system.pose(s, f"distal {k}")[:2, 3] for k in (1, 2, 3)]
        lines = []
        for k, leg in enumerate(legs):
            pin = np.array([g[i], g[j]]) + 0.15 * np.array([np.cos(leg + angle), np.sin(leg + angle)])
            d = (pin - B[k]) / np.linalg.norm(pin - B[k])
            lines.append([*d, (pin[0] * d[1] - pin[1] * d[0]) / 0.3])
        spread = np.linalg.svd(np.array(lines), compute_uv=False)[-1]
        assert (found.parallel[i, j] < 1e-3) == (spread < 1e-3)


def test_a_five_bar_has_parallel_singularities_where_its_distal_links_are_in_line():
    """Over angles of both cranks: parallel = 0 just where the two couplers are in line, which bounds the map."""
    m = da.Mechanism("five-bar")
    L = (1.0, 1.5, 1.5, 1.0)
    parts = [m.add_body(f"l{k}", mass=1.0, com=(x / 2, 0, 0), inertia=da.rod_inertia(1.0, x)) for k, x in enumerate(L)]
    m.add_joint("A", da.Revolute("z"), m.ground, parts[0])
    m.add_joint("B", da.Revolute("z"), parts[0].at(L[0]), parts[1])
    m.add_joint("E", da.Revolute("z"), m.ground.at(2.0), parts[3])
    m.add_joint("D", da.Revolute("z"), parts[3].at(L[3]), parts[2])
    m.close_loop("C", da.Revolute("z"), parts[1].at(L[1]), parts[2].at(L[2]))
    system = m.compile()
    a = np.linspace(-3.0, 3.1, 21)
    start = system.assemble({"A": 1.6, "E": 1.4}, guess={"B": -0.8, "D": 0.8})
    found = da.workspace(system, {"A": a, "E": a}, start)
    A, E = np.meshgrid(a, a, indexing="ij")
    d = np.hypot(2 + np.cos(E) - np.cos(A), np.sin(E) - np.sin(A))
    assert np.array_equal(found.reachable, d <= 3.0)  # the couplers are 1.5 m long each
    assert np.array_equal(found.serial[found.reachable], found.parallel[found.reachable])
    sine = np.abs(np.sin(2 * np.arcsin(np.clip(d / 3.0, 0, 1))))[found.reachable]  # of the angle between the couplers
    ratio = found.parallel[found.reachable] / sine
    assert ratio.min() > 0.03
    assert ratio.max() < 1.0


def test_manipulability_in_the_mass_metric_is_that_of_the_operational_inertia():
    """With J M⁻¹ Jᵀ the mobility tensor of the tool: manipulability is the root of its determinant."""
    system = planar_arm()
    found = da.workspace(system, {"A": [0.1, 0.4], "B": [-1.0, 0.7, 2.0]}, of="tool", metric="mass")
    for i, j in np.ndindex(found.shape):
        x = found.state(i, j)
        J = system.jacobian(x, "tool", axes="world")[3:5]
        inertia = J @ np.linalg.solve(system.mass_matrix(x), J.T)
        assert found.manipulability[i, j] == pytest.approx(np.sqrt(np.linalg.det(inertia)), rel=1e-9)


def test_regions_that_are_not_connected_are_found():
    """A slider behind a gap: a rod of 1 m on a crank of 0.4 m reaches 0.6 … 1.4 m on both sides of the crank."""
    system = zoo.slider_crank(crank=0.4, rod=1.0).compile()
    x = np.linspace(-1.55, 1.55, 32)
    start = system.assemble({"A": 1.0})
    front = da.workspace(system, {"guide": x}, start)
    assert np.array_equal(front.reachable, (x >= 0.6) & (x <= 1.4))
    both = da.workspace(system, {"guide": x}, start, branches=4)
    assert np.array_equal(both.reachable, (np.abs(x) >= 0.6) & (np.abs(x) <= 1.4))
    assert both.branches == 4
    assert (both.count[both.reachable] == 2).all()


def test_a_branch_ends_where_branches_cross():
    """A parallelogram over the angle of its crank: flat at 0 and π, where two branches cross and none is passed."""
    system = zoo.four_bar(ground=1.0, crank=0.4, coupler=1.0, rocker=0.4).compile()
    angles = np.linspace(-0.9, 0.95, 20)
    start = system.state({"A": 0.5, "B": -0.5, "D": 0.5})
    found = da.workspace(system, {"A": angles}, start)
    assert np.array_equal(found.reachable, angles > 0)
    assert np.abs(found["D"] - angles)[found.reachable].max() < 1e-9
    assert found.margin[found.reachable].argmin() == 0  # next to the flat position


def test_a_redundant_arm_reaches_its_disc_and_a_driven_mechanism_keeps_its_time():
    m = da.Mechanism("3R")
    at = m.ground.at()
    for k in range(3):
        link = m.add_body(f"link {k}", mass=1.0, com=(0.25, 0, 0), inertia=da.rod_inertia(1.0, 0.5))
        m.add_joint(f"J{k}", da.Revolute("z"), at, link)
        at = link.at(0.5)
    m.add_frame("tool", at)
    g = np.linspace(-1.65, 1.65, 12)
    arm = m.compile()
    found = da.workspace(arm, {"tool.x": g, "tool.y": g}, {"J1": 0.7, "J2": 0.7})
    assert np.array_equal(found.reachable, np.hypot(*np.meshgrid(g, g, indexing="ij")) <= 1.5)
    i, j = np.argwhere(found.reachable)[11]
    J = arm.jacobian(found.state(i, j), "tool", axes="world")[3:5]
    assert found.manipulability[i, j] == pytest.approx(np.sqrt(np.linalg.det(J @ J.T)), rel=1e-9)
    m.add_driver("clock", "J0", lambda t: 0.3 * t)
    driven = m.compile()
    later = da.workspace(
        driven, {"J1": [0.1, 0.2], "J2": [0.4]}, driven.state({"J0": 0.6, "J1": 0.1, "J2": 0.4}, t=2.0)
    )
    assert later["J0"] == pytest.approx(0.6, abs=1e-12)
    assert later.state(1, 0).t == 2.0
    with pytest.raises(da.ArgumentError, match="cannot move along"):
        da.workspace(arm, {"tool.z": [0.0, 0.1]})


def three_links(motors):
    """Three links of 1 m in a plane."""
    m = da.Mechanism("3R")
    at = m.ground.at()
    for k in range(3):
        link = m.add_body(f"l{k}", mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0))
        m.add_joint(f"J{k}", da.Revolute("z"), at, link)
        at = link.at(1.0)
    m.add_frame("tool", at)
    for k in motors:
        m.add_motor(f"M{k}", f"J{k}")
    return m.compile()


@pytest.mark.parametrize(
    ("motors", "actuated"), [((), None), ((), ["J0", "J1"]), ((0, 1), None), ((0, 1, 2), None), ((0, 1), ["M0", "M1"])]
)
def test_a_joint_that_is_held_does_not_move_whether_or_not_it_has_a_motor(motors, actuated):
    """With J2 locked the arm is a 2R arm of other lengths: parallel is 1 and the margin that of its 2 x 2 Jacobian."""
    system = three_links(motors)
    grid = {"tool.x": [1.2, 1.5], "tool.y": [0.8, 1.2]}
    found = da.workspace(system, grid, {"J0": 0.1, "J1": 1.0, "J2": 0.6}, held={"J2": 0.6}, actuated=actuated)
    assert found.reachable.all()
    assert found.parallel == pytest.approx(np.ones((2, 2)), abs=1e-12)
    assert np.array_equal(found.margin, np.minimum(found.serial, 1.0))
    assert found.margin.min() > 0.4
    if len(motors) == 2 or actuated:  # Yoshikawa: |det J| of the two joints that move
        for i, j in np.ndindex(2, 2):
            J = system.jacobian(found.state(i, j), "tool", axes="world")[3:5, :2]
            assert found.manipulability[i, j] == pytest.approx(abs(np.linalg.det(J)), rel=1e-9)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_boom_on_a_cylinder_is_out_of_control_where_the_cylinder_passes_its_pivot(scale):
    """dL/dA = a b sin(A + π/2)/L of the triangle of pivot, foot and eye; 0 where the three are in line."""
    m = da.Mechanism("hoist")
    boom = m.add_body("boom", mass=20.0, com=(scale, 0, 0), inertia=da.rod_inertia(20.0, 2 * scale))
    m.add_joint("A", da.Revolute("z"), m.ground, boom)
    m.add_actuator("cylinder", m.ground.at(0, -0.8 * scale), boom.at(1.2 * scale))
    system = m.compile()
    A = np.linspace(-np.pi / 2, 1.2, 9)
    for actuated in (None, ["cylinder"]):
        found = da.workspace(system, {"A": A}, {"A": 0.3}, actuated=actuated)
        length = np.sqrt(0.8**2 + 1.2**2 + 2 * 0.8 * 1.2 * np.sin(A))
        lever = 0.8 * 1.2 * np.cos(A) / length * scale
        assert found.parallel == pytest.approx(np.abs(lever) / system.layout.length, abs=1e-12)


def test_what_is_actuated_is_unknown_where_nothing_says_it():
    """A five-bar without motors, led by its tool or by one of its two cranks: parallel is None, not 0."""
    m = da.Mechanism("five-bar")
    b = [m.add_body(n, mass=1.0, com=(0.4, 0, 0), inertia=da.rod_inertia(1.0, 0.8)) for n in "abcd"]
    m.add_joint("A", da.Revolute("z"), m.ground, b[0])
    m.add_joint("B", da.Revolute("z"), b[0].at(0.8), b[1])
    m.add_joint("E", da.Revolute("z"), m.ground.at(0.5), b[2])
    m.add_joint("D", da.Revolute("z"), b[2].at(0.8), b[3])
    m.close_loop("C", da.Revolute("z"), b[1].at(0.8), b[3].at(0.8))
    m.add_frame("tool", b[1].at(0.8))
    system = m.compile()
    x = system.assemble({"A": 2.2, "E": 0.9}, guess={"B": -1.2, "D": 1.2})
    axis = np.linspace(1.9, 2.2, 3)
    assert da.workspace(system, {"A": axis}, x, limits=False).parallel is None
    assert da.workspace(system, {"tool.x": [0.2, 0.3]}, x, held={"A": 2.2}).parallel is None
    both = da.workspace(system, {"A": axis}, x, held={"E": 0.9})
    assert (both.parallel > 0.01).all()
    assert np.array_equal(both.parallel, da.workspace(system, {"A": axis}, x, held={"E": 0.9}, actuated=["A"]).parallel)


def test_a_grid_that_is_reached_nowhere_is_refused_in_a_sentence():
    """Rows with a branch, and no position near any place of the grid."""
    system = zoo.four_bar().compile()
    with pytest.raises(da.DalembertError, match="not brought to any"):
        da.workspace(system, {"D": np.linspace(-0.5, 1.0, 5)}, system.state(*zoo.four_bar_start()))
