"""Parts drawn where they are give the mechanism that frames and lengths computed by hand give."""

import copy

import casadi as ca
import numpy as np
import pytest

import dalembert as da

H = {
    "li": (0.12, 0.35, 0.20), "lr": (-0.12, 0.36, 0.21), "lo": (0.0, 0.70, 0.18), "ui": (0.10, 0.42, 0.44),
    "ur": (-0.10, 0.42, 0.45), "uo": (-0.02, 0.66, 0.46), "ti": (0.12, 0.34, 0.25), "to": (0.13, 0.68, 0.245),
}  # fmt: skip


def by_points(points=H, **options):
    m = da.Mechanism("corner", gravity=(0, 0, -9.81))
    m.add_points(points, **options)
    lower = m.add_body("lower", mass=4.0, com=(0, 0.52, 0.19), inertia=(0.05, 0.02, 0.05))
    upper = m.add_body("upper", mass=2.0, com=(0, 0.55, 0.45), inertia=(0.02, 0.01, 0.02))
    knuckle = m.add_body("knuckle", mass=30.0, com=(0, 0.75, 0.3), inertia=(0.6, 0.9, 0.6))
    m.add_joint("upper ball", "spherical", upper, knuckle, at="uo")
    m.add_joint("lower arm", "revolute", m.ground, lower, axis=("li", "lr"))
    m.add_joint("lower ball", "spherical", lower, knuckle, at="lo")
    m.add_joint("upper arm", "revolute", m.ground, upper, axis=("ui", "ur"))
    m.add_rod("tie", m.ground, knuckle, at=("ti", "to"))
    m.add_frame("origin", knuckle, at="lo")
    return m


def by_hand(h=H):
    """Frames at the joints, axes and the rod's length from NumPy, loops cut by hand."""
    h = {name: np.array(x) for name, x in h.items()}
    m = da.Mechanism("corner", gravity=(0, 0, -9.81))
    lower = m.add_body("lower", mass=4.0, com=(0, 0.52, 0.19) - h["lo"], inertia=(0.05, 0.02, 0.05))
    upper = m.add_body("upper", mass=2.0, com=(0, 0.55, 0.45) - h["uo"], inertia=(0.02, 0.01, 0.02))
    knuckle = m.add_body("knuckle", mass=30.0, com=(0, 0.75, 0.3) - h["lo"], inertia=(0.6, 0.9, 0.6))
    m.add_joint("lower arm", da.Revolute(h["lr"] - h["li"]), m.ground.at(h["li"]), lower.at(h["li"] - h["lo"]))
    m.add_joint("upper arm", da.Revolute(h["ur"] - h["ui"]), m.ground.at(h["ui"]), upper.at(h["ui"] - h["uo"]))
    m.add_joint("lower ball", da.Spherical(), lower, knuckle)
    m.close_loop("upper ball", da.Spherical(), upper, knuckle.at(h["uo"] - h["lo"]))
    length = float(np.linalg.norm(h["ti"] - h["to"]))
    m.add_rod("tie", m.ground.at(h["ti"]), knuckle.at(h["to"] - h["lo"]), length=length)
    m.add_frame("origin", knuckle)
    return m


def answers(system, q=0.0):
    x = system.assemble({"lower arm": q}, {"lower arm": 1.0})
    a = system.acceleration(x)
    forces = system.constraint_forces(x)
    moving = np.array([system.frame_acceleration(x, "origin", a.vdot)]).ravel()
    return np.concatenate([moving, forces.joints["lower arm"], forces.joints["upper ball"], [system.energy(x)]])


def test_a_suspension_by_points_is_that_of_frames_by_hand():
    one, other = by_points().compile("casadi"), by_hand().compile("casadi")
    assert one.state()["upper arm"] == 0.0
    assert one.report(one.state()).residual < 1e-15  # the drawing is the neutral position, all loops closed
    for q in (0.0, 0.2, -0.15):
        found, wanted = answers(one, q), answers(other, q)
        np.testing.assert_allclose(found[:6], wanted[:6], atol=1e-11 * np.abs(wanted[:6]).max())
        np.testing.assert_allclose(found[6:], wanted[6:], atol=1e-11 * np.abs(wanted).max())


def test_points_are_parameters_and_the_drawing_follows_them():
    system = by_points(parameters=True).compile("casadi")
    moved = H | {"uo": (-0.03, 0.64, 0.47), "to": (0.14, 0.69, 0.25), "lr": (-0.13, 0.35, 0.22)}
    other = system.with_parameters({name: moved[name] for name in ("uo", "to", "lr")})
    assert other.report(other.state()).residual < 1e-15  # the rod's length is that of the moved points
    np.testing.assert_allclose(answers(other, 0.1), answers(by_points(moved).compile("casadi"), 0.1), rtol=1e-10)
    some = by_points(parameters=["uo"])
    assert list(some.parameters.symbols) == ["uo"]


def test_tables_of_points_come_from_files_and_frames_of_data(tmp_path):
    path = tmp_path / "points.csv"
    rows = [f"{name}, {', '.join(str(1e3 * x) for x in p)}" for name, p in H.items()]
    for head in ("name, x, y, z\n", "", "# front left\n"):
        path.write_text(head + "\n".join(rows) + "\n")
        m = da.Mechanism()
        m.add_points(path, unit="mm")
        for name, p in H.items():
            np.testing.assert_allclose(m.points[name].astype(float), p, rtol=1e-14)
    pandas = pytest.importorskip("pandas")
    for data in (
        pandas.DataFrame([(n, *p) for n, p in H.items()], columns=["name", "x", "y", "z"]),
        pandas.DataFrame(H, index=["x", "y", "z"]).T,
    ):
        m = da.Mechanism()
        m.add_points(data)
        assert {name: tuple(p) for name, p in m.points.items()} == H


def test_bodies_may_be_placed_in_the_drawing():
    """A body's frame at a point and turned: its com is in that frame, the joints stay where they are drawn."""
    m = by_points()
    R = da.rotation("x", 0.7)
    arm = m.add_body("arm", mass=1.0, com=R.T @ (0.0, 0.1, 0.0), inertia=(0.1, 0.1, 0.1), at="uo", rotation=R)
    m.add_joint("wrist", "revolute", "upper", arm, at="uo", axis="x")
    m.add_frame("tip", arm, at=(0.0, 1.0, 1.0))
    x = m.compile("casadi").state()
    np.testing.assert_allclose(x.position("arm"), H["uo"], atol=1e-15)
    np.testing.assert_allclose(x.rotation("arm"), R, atol=1e-15)
    np.testing.assert_allclose(x.position("tip"), (0, 1, 1), atol=1e-15)
    assert arm.at("to").drawn.p.astype(float) == pytest.approx(H["to"], abs=1e-15)


def test_parts_keep_their_drawing_when_they_are_copied_and_merged():
    m = copy.deepcopy(by_points(parameters=True))
    assert list(m.points) == list(H)
    m.add_frame("late", m.bodies["lower"].at("lo"))
    whole = da.Mechanism("car")
    body = whole.add_body("body", mass=1.0, inertia=(1, 1, 1), at=(1.0, 0, 0))
    whole.add_joint("float", "free", whole.ground, body)
    parts = whole.merge(by_points(), "left_", at=body.at(0.5, 0, 0))
    np.testing.assert_allclose(parts["lower"].drawn.p.astype(float), (1.5, 0, 0))


REFUSED = {
    "no such point": (lambda m: m.add_joint("x", "spherical", "upper", "lower", at="ll"), "asks for point 'll'; known"),
    "a frame and at": (
        lambda m: m.add_joint("x", "spherical", m.ground.at(1, 0, 0), "lower", at="lo"),
        "has at= and, besides, a frame of body 'ground'",
    ),
    "axis of a ball": (lambda m: m.add_joint("x", "spherical", "upper", "lower", axis="x"), "joint has none"),
    "axis of a joint": (lambda m: m.add_joint("x", da.Revolute("x"), "upper", "lower", axis="x"), "needed: a word"),
    "points that coincide": (lambda m: m.add_joint("x", "revolute", "upper", "lower", axis=("lo", "lo")), "coincide"),
    "an unknown word": (lambda m: m.add_joint("x", "hinge", "upper", "lower"), "the type of joint 'x' is 'hinge'"),
    "one point of a rod": (lambda m: m.add_rod("x", "upper", "lower", at="lo"), "needed: two points"),
    "a point twice": (lambda m: m.add_points({"lo": (0, 0, 0)}), "there is a point 'lo' already"),
    "a number": (lambda m: m.add_points(3.0), "needed: {name: (x, y, z)}"),
    "a file that is not there": (lambda m: m.add_points("no such file.csv"), "could not be read"),
    "a unit": (lambda m: m.add_points({}, unit="furlong"), "the unit of points is 'furlong'"),
    "a parameter that is no point": (lambda m: m.add_points({"a": (0, 0)}, parameters=["b"]), "point 'b'"),
    "rod without length": (lambda m: m.add_rod("x", "upper", "lower"), "the length of rod 'x' is 0"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_drawn_wrong_is_refused_with_a_repair(case):
    act, message = REFUSED[case]
    with pytest.raises(da.DescriptionError) as caught:
        act(by_points())
    assert message in str(caught.value)


PLACED = {
    "spring": lambda m, a, b, at: m.add_spring("x", a, b, stiffness=1.0, **at("uo", "to")),
    "damper": lambda m, a, b, at: m.add_damper("x", a, b, damping=1.0, **at("uo", "to")),
    "actuator": lambda m, a, b, at: m.add_actuator("x", a, b, stroke=(0.1, None), **at("uo", "to")),
    "cable": lambda m, a, b, at: m.add_cable("x", [a, b], tension=1.0, **at("uo", "to")),
    "muscle": lambda m, a, b, at: m.add_muscle("x", [a, b], strength=1.0, optimal_length=0.1, **at("uo", "to")),
    "rope": lambda m, a, b, at: m.add_rope("x", [a, b], length=1.0, **at("uo", "to")),
    "strut": lambda m, a, b, at: m.add_strut("x", a, b, length=1.0, **at("uo", "to")),
    "rod": lambda m, a, b, at: m.add_rod("x", a, b, length=1.0, **at("uo", "to")),
    "discs": lambda m, a, b, at: m.add_rolling_discs("x", a, 0.1, b, 0.1, **at("uo", "to")),
    "pulleys": lambda m, a, b, at: m.add_pulley_rope("x", [a, da.Pulley(b, 0.1)], **at("uo", "to")),
    "bushing": lambda m, a, b, at: m.add_bushing("x", a, b, stiffness=(1.0,) * 6, **at("to")),
    "point on line": lambda m, a, b, at: m.add_point_on_line("x", a, b, ("uo", "to"), **at("to")),
    "point in plane": lambda m, a, b, at: m.add_point_in_plane("x", a, b, ("uo", "to"), **at("to")),
    "wrench": lambda m, a, b, at: m.add_wrench("x", b, force=(1, 0, 0), **at("to")),
    "contact": lambda m, a, b, at: m.add_contact("x", b, **at("to")),
    "tyre": lambda m, a, b, at: m.add_tyre("x", b, radius=0.3, stiffness=1e5, **at("to")),
    "point driver": lambda m, a, b, at: m.add_point_driver("x", b, (0, 0, 0), **at("to")),
    "rolling": lambda m, a, b, at: m.add_rolling("x", b, radius=0.3, **at("to")),
    "skate": lambda m, a, b, at: m.add_skate("x", b, **at("to")),
}  # fmt: skip


def frames_in(m, name="x"):
    """The places of an element's frames, in the drawing, by the body and its place alone."""
    out = []
    for part in (m.forces, m.constraints, m.contacts):
        for key in sorted(k for k in part if k.startswith(name)):
            values = [part[key].__dict__ | {"recipe": getattr(part[key], "recipe", None)}]
            while values:
                v = values.pop(0)
                if isinstance(v, da.Frame):
                    R, p = PLACE
                    own = (np.eye(3), np.zeros(3)) if v.body is m.ground else (R, p)
                    T = v.T.matrix().astype(float)
                    out.append((v.body.name, own[0] @ T[:3, :3], own[0] @ T[:3, 3] + own[1]))
                elif isinstance(v, (list, tuple)):
                    values += v
                elif isinstance(v, dict):
                    values += v.values()
    return out


PLACE = da.rotation((1, 2, 3), 0.7), np.array((0.3, 0.1, -0.2))


@pytest.mark.parametrize("kind", PLACED)
def test_what_has_a_place_takes_points_of_the_drawing(kind):
    """at= gives the frames that are found by hand from the points and the place of a body that is turned."""
    R, p = PLACE
    found = []
    for drawn in (True, False):
        m = da.Mechanism()
        m.add_points(H)
        body = m.add_body("body", mass=1.0, inertia=(1, 1, 1), at=p, rotation=R)
        m.add_joint("free", da.Free(), m.ground, body)
        a, b = m.ground, body
        if drawn:
            PLACED[kind](m, a, b, lambda *at: {"at": at if len(at) == 2 else at[0]})
        else:
            names = ("uo", "to") if kind in list(PLACED)[:10] else ("to", "to")
            a, b = m.ground.at(H[names[0]]), body.at(R.T @ (np.array(H[names[1]]) - p), rotation=R.T)
            PLACED[kind](m, a, b, lambda *at: {})
        found.append(frames_in(m))
    assert len(found[0]) == len(found[1]) > 0
    for (one, A, x), (other, B, y) in zip(*found):
        assert one == other
        np.testing.assert_allclose(A, B, atol=1e-15)
        np.testing.assert_allclose(x, y, atol=1e-15)


def test_lengths_are_those_of_the_drawing_unless_they_are_given():
    """A rope, a strut, a rod and a spring at rest as drawn; parameters of points move them along."""
    m = da.Mechanism("frame", gravity=(0, 0, 0))
    top = m.add_points({"top": (0.3, 0.4, 1.0), "foot": (0.3, 0.0, 0.7), "pin": (0.0, 0.0, 1.0)}, parameters=["top"])[
        "top"
    ]
    arm = m.add_body("arm", mass=1.0, com=(0.1, 0, 1.0), inertia=(1, 1, 1))
    m.add_joint("pivot", "revolute", m.ground, arm, at="pin", axis="x")
    m.add_spring("spring", m.ground, arm, at=("top", "foot"), stiffness=100.0, rest_length="drawn")
    m.add_cable("cable", [m.ground, arm], at=("top", "foot"), stiffness=10.0, rest_length="drawn")
    m.add_rope("rope", [m.ground, arm], at=("top", "foot"))
    m.add_strut("strut", m.ground, arm, at=("top", "foot"))
    system = m.compile("casadi")
    for p in ({}, {"top": (0.3, 0.1, 2.0)}):
        x = system.with_parameters(p).state()
        far = np.linalg.norm(np.subtract(p.get("top", (0.3, 0.4, 1.0)), (0.3, 0.0, 0.7)))
        assert x.length("spring") == pytest.approx(far, rel=1e-15)
        assert system.with_parameters(p).potential_energy(x) == pytest.approx(0.0, abs=1e-28)
        for name in ("rope", "strut"):
            length = ca.Function("length", [top], [m.contacts[name].length])
            assert float(length(p.get("top", (0.3, 0.4, 1.0)))) == pytest.approx(far, rel=1e-15)


def test_points_of_elements_that_are_refused_say_what_is_needed():
    m = by_points()
    with pytest.raises(
        da.DescriptionError, match=r"at of spring 'x' is 'uo' \(str\); needed: two points, one for each body"
    ):
        m.add_spring("x", "upper", "lower", at="uo", stiffness=1.0)
    with pytest.raises(da.DescriptionError, match=r"rope 'x' .*needed: 3 points"):
        m.add_rope("x", ["ground", "upper", "lower"], at=("uo", "lo"))
