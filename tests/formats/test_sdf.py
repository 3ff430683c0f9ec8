"""SDF: every file of the collection read or refused, its numbers by a second route, and the features one by one."""

from pathlib import Path

import numpy as np
import pytest
from sdf_peer import Motion, Peer

import dalembert as da
from corpus import corpus, corpus_files, expected

REFUSED = {
    "cassie_sdf/cassie.sdf": r"cassie\.sdf:852: <pose> has '-junk0\.0001' in its text, which is no number; needed: 6",
    "drake/examples/multibody/four_bar/dev/four_bar_loop.sdf": r"loop\.sdf:25: is no well-formed XML.*Two hyphens",
    "drake/examples/multibody/four_bar/dev/four_bar_weld.sdf": r"weld\.sdf:25: is no well-formed XML.*Two hyphens",
    "drake/multibody/parsing/test/sdf_parser_test/joint_parsing_test.sdf": (
        r"test\.sdf:259: <drake:joint> 'curvilinear_joint_periodic' has the type 'curvilinear', which is not modelled"
    ),
    "sdformat/test/sdf/joint_complete.sdf": r"complete\.sdf:101: <joint> 'revolute2_joint' has two parallel axes",
}
ALL = corpus_files(".sdf", ".world")
READ = [name for name in ALL if name not in REFUSED]


def random_state(system, seed, size=1.0):
    rng = np.random.default_rng(seed)
    q = [
        np.array(a.joint.plus(a.joint.neutral(), rng.uniform(-size, size, a.joint.nv)), dtype=float)
        for a in system.layout.joints.values()
    ]
    return system.state(np.concatenate([np.zeros(0), *q]), rng.uniform(-1, 1, system.nv))


def prefix_of(peer, m):
    return f"{m.name}::" if m.name in peer.raw else ""


def same_rows(A, B):
    """Whether two matrices have the same row space."""
    rank = lambda X: np.linalg.matrix_rank(X, tol=1e-7) if X.size else 0  # noqa: E731
    return rank(A) == rank(B) == rank(np.concatenate([A, B]))


# --- the collection -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in ALL if n in REFUSED])
def test_files_that_are_refused_say_why(name):
    with pytest.raises(da.ModelFileError, match=REFUSED[name]):
        da.read_sdf(corpus(name))


@pytest.mark.parametrize("name", READ)
def test_every_file_against_the_second_route(name):
    """Counts and masses of expected/, poses, M and gravity at a random state, rows at closed positions."""
    m = da.read_sdf(corpus(name))
    peer = Peer(corpus(name))
    prefix = prefix_of(peer, m)
    graphs = expected("sdf_graph")[name]
    links = [n for n in peer.links if not peer.is_static(n)]
    assert len(peer.links) == sum(g["links"] for g in graphs)
    short = lambda n: n.removeprefix(prefix)  # noqa: E731
    for link in links:
        assert short(link) in m.bodies or short(link) in m.frames
    for joint in peer.joints:
        kind = peer.elements[joint].get("type")
        assert kind == "fixed" or short(joint) in m.joints or short(joint) in m.constraints
    given = sum(peer.inertia(n)[0] for n in links)
    assert sum(float(b.mass) for b in m.bodies.values()) == pytest.approx(given)
    loops = [n for g in graphs for n in g["loop_closing_joints_in_file_order"]]
    cut = [c for c in m.constraints.values() if c.kind == "loop"]
    gears = [n for n in peer.joints if peer.elements[n].get("type") == "gearbox"]
    extra = {"weld_constraint": 1}.get(next((c.name for c in cut if c.name == "weld_constraint"), ""), 0)
    if "world_joint" not in name:  # its two joints stand in the world, which the count leaves out
        assert len(cut) - extra + len(gears) == len(loops)

    system = m.compile("casadi")
    x = random_state(system, 1)
    motion = Motion(peer, m, x, prefix)
    np.testing.assert_allclose(system.mass_matrix(x), motion.mass_matrix(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(-system.gravity_vector(x), motion.weights(m.gravity.astype(float)), atol=1e-8)
    for n, e in peer.elements.items():
        if e.tag in ("link", "frame"):
            np.testing.assert_allclose(system.pose(x, short(n)), motion.pose(n), atol=1e-12)

    names = [n for n in m.constraints if n != "weld_constraint"]
    at = system.state()
    np.testing.assert_allclose(system.residuals(at), 0, atol=1e-9)
    if names and extra == 0:
        assert same_rows(system.constraint_matrix(at), Motion(peer, m, at, prefix).rows(names))
        moved = system.project(random_state(system, 2, 0.05), tolerance=1e-9)
        assert np.abs(system.residuals(moved)).max() < 1e-9
        assert same_rows(system.constraint_matrix(moved), Motion(peer, m, moved, prefix).rows(names))


def test_the_humanoid_has_the_mass_matrix_of_its_urdf_in_pinocchio():
    system = da.read_sdf(corpus("pinocchio/models/simple_humanoid.sdf"), base="fixed").compile("casadi")
    peer = expected("pinocchio")["pinocchio/models/simple_humanoid.urdf"]
    M = np.zeros((29, 29))
    M[np.tril_indices(29)] = peer["M_lower_rows"]
    M += np.tril(M, -1).T
    names = [j["name"] for j in peer["joints"] if j["name"] != "universe"]
    order = [system.v_names.index(n) for n in names]
    np.testing.assert_allclose(system.mass_matrix(system.state())[np.ix_(order, order)], M, rtol=1e-9, atol=1e-9)


def test_the_repaired_cassie_has_16_loops_of_which_10_are_gears(tmp_path):
    text = corpus("cassie_sdf/cassie.sdf").read_text().replace("-junk0.0001", "-0.0001")
    (tmp_path / "cassie.sdf").write_text(text)
    m = da.read_sdf(tmp_path / "cassie.sdf")
    kinds = [c.kind for c in m.constraints.values()]
    assert (kinds.count("coupling"), kinds.count("loop")) == (10, 6)
    cut = sorted(c.joint.kind for c in m.constraints.values() if c.kind == "loop")
    assert cut == ["prismatic"] * 2 + ["spherical"] * 4  # all balls; the slides have nothing that acts along them
    gear = m.constraints["left-roll-joint"].recipe[1][1]
    assert gear == {"left-roll-op": 1.0, "left-roll-ip": 0.04}


# --- texts of our own -----------------------------------------------------------------------------------------------

INERTIAL = "<inertial><mass>2</mass><inertia><ixx>0.3</ixx><iyy>0.4</iyy><izz>0.5</izz></inertia></inertial>"


@pytest.fixture
def read(tmp_path):
    def reading(body, version="1.9", name="file.sdf", **options):
        (tmp_path / name).write_text(f'<sdf version="{version}">{body}</sdf>')
        return da.read_sdf(tmp_path / name, **options)

    return reading


def model(inside, name="m", more=""):
    return f'<model name="{name}" {more}>{inside}</model>'


def link(name, pose="", inside=INERTIAL, relative_to=""):
    at = f'<pose relative_to="{relative_to}">{pose}</pose>' if pose or relative_to else ""
    return f'<link name="{name}">{at}{inside}</link>'


def joint(name, kind, parent, child, inside="", axis="0 0 1"):
    along = f"<axis><xyz>{axis}</xyz></axis>" if axis else ""
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{along}{inside}</joint>'


def texts(m):
    return [n.text for n in m.notes]


@pytest.mark.parametrize("version", ["1.3", "1.13", "2.0", "x", "1.9.1"])
def test_versions_that_are_not_known(read, version):
    with pytest.raises(da.ModelFileError, match=r"<sdf> has version '.*'; needed: 1\.4 to 1\.12"):
        read(model(link("a")), version)


@pytest.mark.parametrize(
    ("version", "flag", "expressed", "world"),
    [
        ("1.4", "", "", (1, 0, 0)),  # the model's axes
        ("1.5", "", "", (0, 0, -1)),  # the joint's
        ("1.6", "<use_parent_model_frame>true</use_parent_model_frame>", "", (1, 0, 0)),
        ("1.6", "<use_parent_model_frame>0</use_parent_model_frame>", "", (0, 0, -1)),
        ("1.7", "", "", (0, 0, -1)),
        ("1.11", "", 'expressed_in="__model__"', (1, 0, 0)),
        ("1.11", "", 'expressed_in="a"', (0, 1, 0)),
    ],
)
def test_the_axes_in_which_versions_express_joints(read, version, flag, expressed, world):
    """The model is not turned, link a by 90° about z, link b by 90° about y."""
    q = np.pi / 2
    axis = f"<axis><xyz {expressed}>1 0 0</xyz>{flag}</axis>"
    m = read(
        model(link("a", f"0 0 0 0 0 {q}") + link("b", f"0 0 0 0 {q} 0") + joint("j", "revolute", "a", "b", axis, "")),
        version,
    )
    system = m.compile("casadi")
    x = system.state(v={"j": 1.0})
    np.testing.assert_allclose(x.rotation("b") @ x.twist("b")[:3], world, atol=1e-12)


def test_poses_in_degrees_and_quaternions(read):
    m = read(
        model(
            '<link name="a"><pose degrees="true">1 2 3 0 0 90</pose></link>'
            '<link name="b"><pose rotation_format="quat_xyzw">1 2 3 0 0 0.7071067811865476 0.7071067811865476</pose>'
            "</link>"
        )
    )
    x = m.compile("casadi").state()
    np.testing.assert_allclose(x.rotation("a"), da.rotation("z", np.pi / 2), atol=1e-15)
    np.testing.assert_allclose(x.rotation("b"), x.rotation("a"), atol=1e-15)
    with pytest.raises(da.ModelFileError, match="a quaternion of length 0; needed: 1"):
        read(model('<link name="a"><pose rotation_format="quat_xyzw">1 2 3 0 0 0 0</pose></link>'))


FRAMES = (
    link("a", "1 0 0 0 0 0.3")
    + '<frame name="f" attached_to="g"><pose relative_to="j">0 0 1 0.1 0 0</pose></frame>'
    + '<frame name="g" attached_to="b"><pose>0 1 0 0 0.2 0</pose></frame>'
    + link("b", "0 0 2 0 0 0", relative_to="a")
    + joint("j", "revolute", "a", "b", '<pose relative_to="g">0.5 0 0 0 0 0</pose>', "0 1 0")
    + '<frame name="base"><pose>0 0 5 0 0 0</pose></frame>'
)


def test_frames_of_frames(read, tmp_path):
    m = read(model("<pose>1 2 3 0.4 0.5 0.6</pose>" + FRAMES))
    peer = Peer(tmp_path / "file.sdf")
    x = random_state(m.compile("casadi"), 3)
    motion = Motion(peer, m, x, "m::")
    for name in ("a", "b", "f", "g", "base"):
        np.testing.assert_allclose(x.position(name), motion.pose(f"m::{name}")[:3, 3], atol=1e-13)
    assert m.frames["base"].body.name == "a"  # the model's own frame is that of its first link
    assert m.frames["f"].body.name == "b"


def test_circles_of_frames_are_found(read):
    frame = '<frame name="{}" attached_to="{}"><pose relative_to="{}"/></frame>'
    for a, b in [(("f", "g", "a"), ("g", "f", "a")), (("f", "a", "g"), ("g", "a", "f"))]:
        with pytest.raises(da.ModelFileError, match="itself, by way of other frames"):
            read(model(link("a") + frame.format(*a) + frame.format(*b)))
    with pytest.raises(da.ModelFileError, match=r"asks for 'bb', which is not there; known: a, b. Did you mean 'b'"):
        read(model(link("a") + link("b", relative_to="bb")))


def test_long_chains_of_frames_do_not_recurse(read):
    n = 3000
    frames = "".join(
        f'<frame name="f{i}" attached_to="f{i + 1}"><pose relative_to="f{i + 1}">1 0 0 0 0 0</pose></frame>'
        for i in range(n)
    )
    m = read(model(link("a") + frames + f'<frame name="f{n}" attached_to="a"/>'))
    np.testing.assert_allclose(m.frames["f0"].T.p.astype(float), [n, 0, 0])


def test_nested_models_placement_and_canonical_links(read):
    inner = model(
        '<pose relative_to="mount">0 0 0 0 0 0</pose>' + link("tip", "0 0 1 0 0 0") + link("foot", "0 0 -1 0 0 0"),
        "arm",
        'placement_frame="foot" canonical_link="tip"',
    )
    m = read(
        model(
            link("base")
            + '<frame name="mount" attached_to="base"><pose>5 0 0 0 0 0</pose></frame>'
            + inner
            + joint("hold", "fixed", "base", "arm::foot", axis="")
            + joint("turn", "revolute", "arm", "arm::foot")
            + '<frame name="in arm" attached_to="arm"/>'
        )
    )
    x = m.compile("casadi").state()
    np.testing.assert_allclose(x.position("arm::foot"), [5, 0, 0])
    np.testing.assert_allclose(x.position("arm::tip"), [5, 0, 2])
    assert m.frames["in arm"].body.name == "arm::tip"  # "arm" as a frame is that of its canonical link
    assert m.joints["turn"].child.body.name == "arm::tip"


def test_includes_inside_the_folder(read, tmp_path):
    (tmp_path / "parts" / "leg").mkdir(parents=True)
    (tmp_path / "parts" / "leg" / "leg.sdf").write_text(
        f'<sdf version="1.4"><model name="leg">{link("thigh")}{link("shin", "0 0 -1 0 0 0")}'
        f"{joint('knee', 'revolute', 'thigh', 'shin', axis='0 1 0')}</model></sdf>"
    )
    (tmp_path / "parts" / "leg" / "model.config").write_text(
        '<model><name>leg</name><sdf version="1.4">leg.sdf</sdf></model>'
    )
    pose = "<pose>0 1 0 0 0 0</pose>"
    m = read(
        model(
            link("body")
            + f"<include><uri>model://parts/leg</uri><name>left</name>{pose}</include>"
            + "<include><uri>parts/leg/leg.sdf</uri><name>right</name>"
            + "<pose>0 -1 0 0 0 0</pose><placement_frame>shin</placement_frame></include>"
            + joint("hip", "revolute", "body", "left::thigh")
            + '<include merge="true"><uri>parts/leg/leg.sdf</uri><pose>0 0 9 0 0 0</pose></include>'
        )
    )
    x = m.compile("casadi").state()
    assert set(m.bodies) == {
        "ground",
        "body",
        "left::thigh",
        "left::shin",
        "right::thigh",
        "right::shin",
        "thigh",
        "shin",
    }
    np.testing.assert_allclose(x.position("left::shin"), [0, 1, -1])
    np.testing.assert_allclose(x.position("right::shin"), [0, -1, 0])
    np.testing.assert_allclose(x.position("shin"), [0, 0, 8])
    assert {"left::knee", "right::knee", "knee", "hip"} <= set(m.joints)


def test_includes_that_lead_out_or_in_circles_are_refused_and_missing_ones_noted(read, tmp_path):
    (tmp_path / "inner").mkdir()
    include = lambda uri: model(link("a") + f"<include><uri>{uri}</uri></include>")  # noqa: E731
    (tmp_path / "self.sdf").write_text(f'<sdf version="1.9">{include("self.sdf")}</sdf>')
    with pytest.raises(da.ModelFileError, match="includes itself"):
        da.read_sdf(tmp_path / "self.sdf")
    for uri in ("../file.sdf", "model://../../etc/passwd", "/etc/passwd", "file:///etc/passwd"):
        with pytest.raises(da.ModelFileError, match=r"needed: a (relative path|path that stays)"):
            read(include(uri))
    (tmp_path / "out.sdf").symlink_to("/etc/hostname")
    with pytest.raises(da.ModelFileError, match="symbolic link out of the folder"):
        read(include("out.sdf"))
    for uri, why in [("model://sun", "is not in the folder"), ("https://fuel.gazebosim.org/1.0/x", "is an address")]:
        m = read(include(uri))
        assert any(why in text for text in texts(m))
        with pytest.raises(da.ModelFileError, match=why):
            read(include(uri), strict=True)


def test_worlds_of_several_models(read):
    world = (
        '<world name="yard"><gravity>0 0 -1.62</gravity>'
        + model("<static>true</static>" + link("floor", "0 0 -1 0 0 0"), "ground_plane")
        + model(link("a") + link("b") + joint("j", "prismatic", "a", "b"), "one")
        + "{}"
        + '<frame name="tower" attached_to="world"><pose>0 0 7 0 0 0</pose></frame></world>'
    )
    m = read(world.format(""))
    assert (m.name, list(m.joints)) == ("one", ["a", "j"])
    assert set(m.frames) == {"ground_plane::floor", "tower"}
    assert m.frames["tower"].body is m.ground
    np.testing.assert_allclose(m.gravity.astype(float), [0, 0, -1.62])
    two = world.format(model(link("a", "3 0 0 0 0 0"), "two") + joint("tie", "ball", "one::b", "two::a", axis=""))
    m = read(two)
    assert m.name == "yard"
    assert set(m.joints) == {"one::a", "one::j", "tie"}
    assert list(read(two, model="two").bodies) == ["ground", "a"]
    with pytest.raises(
        da.ModelFileError, match=r"has no model 'tow'; known: ground_plane, one, two. Did you mean 'two'"
    ):
        read(two, model="tow")


def test_bases(read):
    free, held = link("a") + link("b") + joint("j", "revolute", "a", "b"), joint("w", "fixed", "world", "a", axis="")
    assert read(model(free)).joints["a"].joint.kind == "free"
    assert list(read(model(free), base="fixed").joints) == ["j"]
    assert list(read(model(free + held)).joints) == ["j"]
    m = read(model(free + held), base="free")
    assert list(m.joints) == ["a", "j"]
    assert any("base='free'" in text for text in texts(m))
    assert len(read(model(free + held), merge_fixed=False).bodies) == 3
    m = read(model("<static>1</static>" + free), base="free")
    assert list(m.bodies) == ["ground"]


def test_gravity_of_old_worlds_and_of_links(read):
    body = model(link("a", inside=INERTIAL + "<gravity>false</gravity>") + link("b"))
    m = read(f'<world name="w"><physics><gravity>0 0 -3</gravity></physics>{body}</world>', "1.5")
    system = m.compile("casadi")
    x = system.state()
    a = system.forward_dynamics(x)
    at = system.v_names.index
    np.testing.assert_allclose([a[at("a.vz")], a[at("b.vz")]], [0, -3], atol=1e-14)
    np.testing.assert_allclose(read(f'<world name="w">{body}</world>').gravity.astype(float), [0, 0, -9.8])
    np.testing.assert_allclose(read(body).gravity.astype(float), [0, 0, -9.81])


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
    assert sorted(texts(m)) == ["dry friction is not modelled", "limits of effort are not modelled"]
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


def test_damaged_files_give_clean_errors(tmp_path):
    """Texts of the collection with pieces cut out, doubled, exchanged: only errors of our own, or a mechanism."""
    rng = np.random.default_rng(20)
    sources = [corpus(n).read_text() for n in READ[:6]]
    path = tmp_path / "x.sdf"
    read = 0
    for _ in range(200):
        text = sources[rng.integers(len(sources))]
        for _ in range(rng.integers(1, 4)):
            i, j = sorted(rng.integers(0, len(text), 2))
            j = min(j, i + int(rng.integers(1, 40)))
            text = [
                lambda t, i, j: t[:i] + t[j:],
                lambda t, i, j: t[:j] + t[i:j] + t[j:],
                lambda t, i, j: t[:i] + str(rng.choice(["nan", "0", "-1", "1e308", "world", "<", "::", "é"])) + t[j:],
            ][rng.integers(3)](text, i, j)
        path.write_text(text)
        try:
            da.read_sdf(path)
            read += 1
        except da.ModelFileError:
            pass
    assert read > 15


# --- writing --------------------------------------------------------------------------------------------------------


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
    del m.carriers[a.child.body.name]
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
