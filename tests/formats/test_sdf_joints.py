"""SDF: joints and what acts along them, inertias, shapes, notes, and what is refused."""

import numpy as np
import pytest
from sdf_peer import Motion, Peer

import dalembert as da
from sdf_texts import INERTIAL, joint, link, model, random_state, same_rows, texts


@pytest.mark.parametrize(
    ("inside", "pitch"),
    [
        ("", 1 / (2 * np.pi)),
        ("<screw_thread_pitch>0.5</screw_thread_pitch>", 0.5 / (2 * np.pi)),
        ("<thread_pitch>20</thread_pitch>", -1 / 20),
        ("<thread_pitch>20</thread_pitch><screw_thread_pitch>0.5</screw_thread_pitch>", 0.5 / (2 * np.pi)),
    ],
)
def test_both_conventions_of_screws(read, inside, pitch):
    m = read(model(link("a") + joint("j", "screw", "world", "a", inside)))
    np.testing.assert_allclose(m.compile("casadi").state({"j": 2.0}).position("a"), [0, 0, 2 * pitch], atol=1e-15)


def test_axes_that_are_not_perpendicular_become_two_joints(read, tmp_path):
    axis2 = "<axis2><xyz>0 0.3 1</xyz><dynamics><damping>2</damping></dynamics></axis2><pose>0 0 1 0.1 0.2 0.3</pose>"
    m = read(model(link("a") + link("b", "1 1 1 0 0 0") + joint("u", "revolute2", "a", "b", axis2, "1 0 1")))
    assert list(m.joints) == ["a", "u_first", "u_second"]
    assert float(m.joints["u_second"].damping[0]) == 2.0
    assert any("not perpendicular" in text for text in texts(m))
    system = m.compile("casadi")
    x = system.state({"u_first": 0.4, "u_second": -0.7})
    peer = Peer(tmp_path / "file.sdf")
    first, second = peer.screws("m::u").T
    from sdf_peer import exponential

    G = exponential(0.4 * first) @ exponential(-0.7 * second)
    np.testing.assert_allclose(system.pose(x, "b"), G @ peer.X["m::b"], atol=1e-14)


def test_mimicking_joints(read):
    numbers = "<multiplier>-3</multiplier><offset>0.4</offset><reference>0.1</reference>"
    mimic = f"<mimic joint='lead' axis='axis2'>{numbers}</mimic>"
    m = read(
        model(
            link("a")
            + link("b")
            + link("c")
            + joint("lead", "universal", "world", "a", "<axis2><xyz>0 1 0</xyz></axis2>", "1 0 0")
            + joint("follow", "revolute", "a", "b", f"<axis><xyz>0 0 1</xyz>{mimic}</axis>", "")
            + joint("loose", "revolute", "b", "c")
        ),
        "1.11",
    )
    system = m.compile("casadi")
    q = {"lead": (0.3, 0.7), "follow": -3 * (0.7 - 0.1) + 0.4}
    np.testing.assert_allclose(system.residuals(system.state(q)), 0, atol=1e-15)
    np.testing.assert_allclose(system.residuals(system.state({**q, "follow": 0.0})), 1.4)
    wrong = joint("follow", "revolute", "world", "a", f"<axis><xyz>0 0 1</xyz>{mimic}</axis>", "")
    with pytest.raises(da.ModelFileError, match="<mimic> follows axis2 of 'lead', which is no axis"):
        read(model(link("a") + link("b") + joint("lead", "revolute", "world", "b") + wrong), "1.11")


GEAR = (
    "<gearbox_ratio>2.5</gearbox_ratio><gearbox_reference_body>{}</gearbox_reference_body>"
    "<axis2><xyz>0 0 {}</xyz></axis2>"
)


@pytest.mark.parametrize(("turned", "sign"), [(False, 1), (True, 1), (False, -1)])
def test_gearboxes_tie_angles_in_the_reference_body(read, tmp_path, turned, sign):
    ends = ("in", "box") if turned else ("box", "in")
    m = read(
        model(
            link("frame")
            + link("box")
            + link("in", "1 0 0 0 0 0")
            + link("out", "2 0 0 0 0 0")
            + joint("weld", "fixed", "frame", "box", axis="")
            + joint("first", "revolute", *ends)
            + joint("second", "revolute", "frame", "out")
            + joint("gear", "gearbox", "in", "out", GEAR.format("frame", sign))
        )
    )
    c = m.constraints["gear"].recipe[1][1]
    assert c == {"second": sign * 1.0, "first": -2.5 if turned else 2.5}
    peer = Peer(tmp_path / "file.sdf")
    system = m.compile("casadi")
    x = random_state(system, 4)
    assert same_rows(system.constraint_matrix(x), Motion(peer, m, x, "m::").rows(["gear"]))


def test_what_acts_along_axes_and_where_joints_begin(read):
    inside = (
        "<axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1e16</upper><effort>5</effort></limit><dynamics>"
        "<damping>0.1</damping><friction>0.2</friction><spring_reference>0.3</spring_reference>"
        "<spring_stiffness>40</spring_stiffness></dynamics><initial_position>0.5</initial_position></axis>"
    )
    m = read(model(link("a") + joint("j", "revolute", "world", "a", inside, "")), "1.6")
    j = m.joints["j"]
    assert j.limits.tolist() == [[-1, np.inf]]
    assert [float(x[0]) for x in (j.damping, j.rest, j.stiffness)] == [0.1, 0.3, 40]
    assert m.compile("casadi").named_state("initial")["j"] == 0.5
    assert j.friction == (da.Friction(0.2),)
    assert texts(m) == ["limits of effort are not modelled"]
    swapped = "<axis><xyz>0 0 1</xyz><limit><lower>1</lower><upper>-1</upper></limit></axis>"
    m = read(model(link("a") + joint("j", "revolute", "world", "a", swapped, "")))
    assert texts(m) == ["the lower limit, 1, exceeds the upper one, -1; both are left out"]


def test_inertias_in_turned_axes_and_by_default(read):
    turned = (
        "<inertial><pose>0.1 0.2 0.3 0.4 0.5 0.6</pose><mass>3</mass><inertia><ixx>1</ixx><iyy>1.5</iyy>"
        "<izz>2</izz><ixy>0.1</ixy></inertia></inertial>"
    )
    m = read(model(link("a", inside=turned) + link("b", inside="")))
    R = da.rotation("z", 0.6) @ da.rotation("y", 0.5) @ da.rotation("x", 0.4)
    J = R @ np.array([[1, 0.1, 0], [0.1, 1.5, 0], [0, 0, 2]]) @ R.T
    np.testing.assert_allclose(m.bodies["a"].inertia.astype(float), J, atol=1e-15)
    np.testing.assert_allclose(m.bodies["a"].com.astype(float), [0.1, 0.2, 0.3])
    assert float(m.bodies["b"].mass) == 1.0
    np.testing.assert_array_equal(m.bodies["b"].inertia.astype(float), np.eye(3))
    assert "SDF means 1 kg" in texts(m)[0]


def test_inertias_of_shapes(read):
    """Against sums over a fine grid of points."""
    shapes = {
        "<box><size>0.4 0.6 1</size></box>": lambda p: (np.abs(p) <= [0.2, 0.3, 0.5]).all(axis=1),
        "<sphere><radius>0.5</radius></sphere>": lambda p: (p**2).sum(axis=1) <= 0.25,
        "<cylinder><radius>0.3</radius><length>0.8</length></cylinder>": lambda p: (
            ((p[:, :2] ** 2).sum(axis=1) <= 0.09) & (np.abs(p[:, 2]) <= 0.4)
        ),
        "<capsule><radius>0.2</radius><length>0.5</length></capsule>": lambda p: (
            (p[:, :2] ** 2).sum(axis=1) + np.maximum(np.abs(p[:, 2]) - 0.25, 0) ** 2 <= 0.04
        ),
        "<ellipsoid><radii>0.2 0.3 0.5</radii></ellipsoid>": lambda p: ((p / [0.2, 0.3, 0.5]) ** 2).sum(axis=1) <= 1,
    }
    axis = (np.arange(60) + 0.5) / 60 - 0.5
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    for text, inside in shapes.items():
        m = read(
            model(
                f'<link name="a"><inertial auto="true"><density>700</density></inertial><collision name="c">'
                f"<pose>1 2 3 0 0 0.5</pose><geometry>{text}</geometry></collision></link>"
            ),
            "1.11",
        )
        points = grid[inside(grid)]
        mass = 700 * len(points) / 60**3
        J = mass * ((points**2).sum(axis=1).mean() * np.eye(3) - points.T @ points / len(points))
        R = da.rotation("z", 0.5)
        body = m.bodies["a"]
        assert float(body.mass) == pytest.approx(mass, rel=0.01)
        np.testing.assert_allclose(body.inertia.astype(float), R @ J @ R.T, rtol=0.02, atol=0.02 * J.max())
        np.testing.assert_allclose(body.com.astype(float), [1, 2, 3])
    two = "".join(
        f'<collision name="{n}"><pose>{x} 0 0 0 0 0</pose><geometry><box><size>1 1 1</size></box></geometry>'
        "</collision>"
        for n, x in (("c", -1), ("d", 1))
    )
    m = read(model(f'<link name="a"><inertial auto="true"><mass>6</mass></inertial>{two}</link>'), "1.11")
    np.testing.assert_allclose(np.diag(m.bodies["a"].inertia.astype(float)), [1, 7, 7])
    with pytest.raises(da.ModelFileError, match="none of them has a volume"):
        read(model('<link name="a"><inertial auto="true"/></link>'), "1.11")


def test_shapes_are_kept_where_they_are(read):
    visual = (
        '<visual name="v"><pose relative_to="f">0 0 1 0 0 0</pose><geometry><cylinder><radius>0.1</radius>'
        "<length>2</length></cylinder></geometry><material><diffuse>1 0.5 0 1</diffuse></material></visual>"
        '<visual name="w"><geometry><mesh><uri>model://x/y.dae</uri><scale>1 2 3</scale></mesh></geometry></visual>'
    )
    frame = '<frame name="f" attached_to="a"><pose>5 0 0 0 0 0</pose></frame>'
    fixed = joint("j", "fixed", "b", "a", axis="")
    m = read(model(link("b") + frame + link("a", "0 3 0 0 0 0", INERTIAL + visual) + fixed))
    v, w = m.bodies["b"].shapes
    assert (v.kind, v.size, v.colour, v.name) == ("cylinder", (0.1, 2.0), (1, 0.5, 0, 1), "v")
    np.testing.assert_allclose(v.pose.p, [5, 3, 1])
    assert (w.file, w.scale) == ("model://x/y.dae", (1, 2, 3))


def test_notes_name_file_line_and_element_and_strict_refuses(read):
    body = model(f'\n{link("a")}\n<plugin name="p" filename="x.so"/>\n<wheel/>')
    m = read(body)
    assert [str(n) for n in m.notes] == [
        "file.sdf:3: <plugin> 'p': plugins are not run",
        "file.sdf:4: <wheel>: is not known here and is left out",
    ]
    with pytest.raises(da.ModelFileError, match="2 element\\(s\\) are not read exactly as written"):
        read(body, strict=True)


@pytest.mark.parametrize(
    ("inside", "match"),
    [
        (link("a") + link("a"), r"<link> 'a' has the name of <link> 'a' on line 1 of file\.sdf"),
        (link("a") + joint("a", "fixed", "world", "a"), "has the name of <link> 'a'"),
        (link("world"), "has the name 'world', which SDF keeps for itself"),
        (link("__model__"), "which SDF keeps for itself"),
        (link("a::b"), "which SDF keeps for itself"),
        ('<link name=""/>', "has an empty attribute 'name'"),
        (link("a") + joint("j", "hinge", "world", "a"), "has type 'hinge'; needed: one of revolute, continuous"),
        (link("a") + joint("j", "revolute", "world", "b"), "asks for 'b', which is not there"),
        (link("a") + joint("j", "revolute", "a", "a"), "connects link 'a' with itself"),
        (link("a") + joint("j", "revolute", "world", "a", axis="0 0 0"), "a vector of length 0; needed: a direction"),
        (link("a") + joint("j", "revolute", "world", "a", axis="0 0 nan"), "'nan' in its text, which is not finite"),
        (link("a") + joint("j", "gearbox", "world", "a"), "a gearbox without <gearbox_reference_body>"),
        (link("a") + link("b") + joint("j", "gearbox", "a", "b", GEAR.format("world", 1)), "needs a revolute joint"),
        (link("a") + joint("j", "screw", "world", "a", "<thread_pitch>0</thread_pitch>"), "is 0 radians per metre"),
        (link("a", "1 2 3"), "<pose> has 3 numbers in its text, '1 2 3'; needed: 6 numbers"),
        (link("a", inside="<inertial><mass>-1</mass></inertial>"), "<link> 'a' has the mass -1 kg"),
        (link("a", inside="<inertial/><inertial/>"), "is the second <inertial>"),
        ('<joint name="j" type="ball"><parent>world</parent></joint>', "has no <child>, which it needs"),
        (link("a", inside="<gravity>maybe</gravity>"), "is 'maybe'; needed: true or false"),
        (
            link("a", inside='<visual name="v"><geometry><sphere><radius>-1</radius></sphere></geometry></visual>'),
            "<sphere> is no shape: .*no length may be negative",
        ),
    ],
)
def test_wrong_models_are_refused_where_they_are_wrong(read, inside, match):
    with pytest.raises(da.ModelFileError, match=r"^file\.sdf:1: .*" + match):
        read(model(inside))


def test_before_version_17_joints_might_have_the_names_of_links(read):
    m = read(model(link("a") + joint("a", "revolute", "world", "a")), "1.6")
    assert list(m.joints) == ["a"]


def test_texts_are_read_without_a_folder():
    text = f'<sdf version="1.9">{model(link("a") + "<include><uri>model://b</uri></include>")}</sdf>'
    m = da.read_sdf(text)
    assert list(m.bodies) == ["ground", "a"]
    assert str(m.notes[0]).startswith("text:1: <include>: 'model://b' would be in the folder of a file")


def test_files_that_are_no_models(read, tmp_path):
    with pytest.raises(da.ModelFileError, match="has neither a <world> nor a <model>"):
        read("")
    (tmp_path / "x.sdf").write_text("<robot/>")
    with pytest.raises(da.ModelFileError, match="<robot> is the first element; needed: <sdf"):
        da.read_sdf(tmp_path / "x.sdf")
    with pytest.raises(da.ModelFileError, match="could not be read"):
        da.read_sdf(tmp_path / "nothing.sdf")
    with pytest.raises(da.ArgumentError, match="base is 'float'"):
        read(model(link("a")), base="float")
    deep = "".join(f'<model name="m{i}">' for i in range(120)) + link("a") + "</model>" * 120
    with pytest.raises(da.ModelFileError, match="nested more than 100 models deep"):
        read(deep)
