"""Copies of parts: turned around an axis, and mirrored."""

import numpy as np
import pytest

import dalembert as da


def corner(points_are_parameters=False):
    m = da.Mechanism("corner", gravity=(0, 0, -9.81))
    m.add_points(
        {"li": (0.12, 0.35, 0.20), "lr": (-0.12, 0.36, 0.21), "lo": (0.0, 0.70, 0.18), "ui": (0.10, 0.42, 0.44),
         "ur": (-0.10, 0.42, 0.45), "uo": (-0.02, 0.66, 0.46), "ti": (0.12, 0.34, 0.25), "to": (0.13, 0.68, 0.245)},
        parameters=["uo"] if points_are_parameters else False,
    )  # fmt: skip
    J = [[0.05, 0.01, 0.005], [0.01, 0.04, 0.0], [0.005, 0.0, 0.06]]
    lower = m.add_body("lower", mass=4.0, com=(0.01, 0.52, 0.19), inertia=J)
    upper = m.add_body("upper", mass=2.0, com=(0, 0.55, 0.45), inertia=(0.02, 0.01, 0.02))
    knuckle = m.add_body("knuckle", mass=30.0, com=(0.02, 0.75, 0.3), inertia=(0.6, 0.9, 0.6))
    m.add_joint("lower arm", "revolute", m.ground, lower, axis=("li", "lr"), stiffness=5.0, rest=0.1)
    m.add_joint("upper arm", "revolute", m.ground, upper, axis=("ui", "ur"))
    m.add_joint("lower ball", "spherical", lower, knuckle, at="lo")
    m.add_joint("upper ball", "spherical", upper, knuckle, at="uo")
    m.add_rod("tie", m.ground, knuckle, at=("ti", "to"))
    m.add_spring("spring", m.ground.at(0, 0.5, 0.62), lower.at("lo"), stiffness=3e4, damping=100.0, rest_length=0.5)
    m.add_motor("motor", "lower arm")
    m.add_frame("wheel", knuckle, at=(0, 0.75, 0.3))
    return m


@pytest.mark.parametrize("axis", "xyz")
def test_a_mirrored_part_moves_as_the_image_in_the_mirror(axis):
    """Positions, velocities and accelerations of the image are mirrored, gravity being mirrored for it too."""
    S = np.diag([-1.0 if k == axis else 1.0 for k in "xyz"])
    one = corner()
    image = da.Mechanism("image", gravity=S @ (0.3, -0.4, -9.81))
    image.merge(corner(), mirror=axis)
    one.gravity = (0.3, -0.4, -9.81)
    a, b = one.compile("casadi"), image.compile("casadi")
    for q, v in ((0.1, 1.0), (-0.15, -2.0)):
        x, y = (s.assemble({"lower arm": q}, {"lower arm": v}) for s in (a, b))
        np.testing.assert_allclose(y.position("wheel"), S @ x.position("wheel"), atol=1e-12)
        np.testing.assert_allclose(y.rotation("wheel"), S @ x.rotation("wheel") @ S, atol=1e-11)
        assert b.energy(y) == pytest.approx(a.energy(x), rel=1e-11)
        ax, ay = (
            s.frame_acceleration(z, "wheel", s.acceleration(z, u={"motor": 3.0}).vdot, axes="world")
            for s, z in ((a, x), (b, y))
        )
        np.testing.assert_allclose(ay[3:], S @ ax[3:], atol=1e-9 * np.abs(ax).max())
        np.testing.assert_allclose(ay[:3], -S @ ax[:3], atol=1e-9 * np.abs(ax).max())


def test_left_and_right_share_their_hard_points():
    car = da.Mechanism("axle", gravity=(0, 0, -9.81))
    uo = car.add_parameter("uo", (-0.02, 0.66, 0.46))
    for side, mirror in (("left ", None), ("right ", "y")):
        car.merge(corner(points_are_parameters=True), side, mirror=mirror, parameters={"uo": uo})
    system = car.compile("casadi").with_parameters(uo=(-0.03, 0.65, 0.47))
    assert system.report(system.state()).residual < 1e-15
    x = system.assemble({"left lower arm": 0.1, "right lower arm": 0.1})
    np.testing.assert_allclose(x.position("right wheel"), x.position("left wheel") * (1, -1, 1), atol=1e-12)


def test_legs_around_an_axis_are_turned_copies():
    leg = da.Mechanism("leg")
    L = leg.add_parameter("L", 0.4)
    thigh = leg.add_body("thigh", mass=1.0, com=(0.1, 0, -L / 2), inertia=(0.01, 0.01, 0.002))
    leg.add_joint("hip", "revolute", leg.ground, thigh, at=(0.3, 0, 0), axis="y")
    m = da.Mechanism("platform", gravity=(0, 0, -9.81))
    top = m.add_body("top", mass=5.0, inertia=(1, 1, 1))
    m.add_joint("float", "free", m.ground, top)
    shared = m.add_parameter("L", 0.5)
    legs = m.merge_around(leg, 3, "leg {} ", at=top, parameters={"L": shared})
    assert [list(one) for one in legs] == [["thigh"]] * 3
    assert list(m.parameters.symbols) == ["L"]
    system = m.compile("casadi")
    x = system.state({f"leg {k} hip": 0.3 for k in (1, 2, 3)})
    tips = [x.position(one["thigh"].at(0.3, 0, -0.5)) for one in legs]
    for k, tip in enumerate(tips):
        np.testing.assert_allclose(tip, da.rotation("z", 2 * np.pi * k / 3) @ tips[0], atol=1e-14)
    own = da.Mechanism("own")
    own.merge_around(leg, 2, "{} ")
    assert list(own.parameters.symbols) == ["1 L", "2 L"]


def test_what_has_no_image_is_refused():
    part = da.Mechanism("part")
    body = part.add_body("b", mass=1.0, inertia=(1, 1, 1))
    part.add_joint("j", "revolute", part.ground, body)
    part.add_wrench("push", body, force=(1, 0, 0))
    with pytest.raises(da.DescriptionError, match="wrench 'push' cannot be mirrored; add it after merging"):
        da.Mechanism().merge(part, mirror="x")
    loose = da.Mechanism("loose")
    loose.add_joint("j", "planar", loose.ground, loose.add_body("b", mass=1.0, inertia=(1, 1, 1)))
    with pytest.raises(da.DescriptionError, match="cannot be mirrored: needed: fixed, revolute"):
        da.Mechanism().merge(loose, mirror="x")
    with pytest.raises(da.DescriptionError, match=r"needed: a text with one \{\}"):
        da.Mechanism().merge_around(loose, 3, "leg ")
