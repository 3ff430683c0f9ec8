"""SDF: versions, frames, nested models, includes, worlds and gravity."""

import numpy as np
import pytest
from sdf_peer import Motion, Peer

import dalembert as da
from sdf_texts import INERTIAL, joint, link, model, random_state, texts


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


def test_models_are_found_in_a_folder_further_up(tmp_path):
    (tmp_path / "worlds").mkdir()
    (tmp_path / "leg").mkdir()
    (tmp_path / "leg/model.sdf").write_text(f'<sdf version="1.9">{model(link("shin"), name="leg")}</sdf>')
    for uri in ("model://leg", "../leg"):
        path = tmp_path / "worlds/two.sdf"
        path.write_text(f'<sdf version="1.9">{model(link("a") + f"<include><uri>{uri}</uri></include>")}</sdf>')
        assert "leg::shin" in da.read(path, folder=tmp_path).bodies


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
