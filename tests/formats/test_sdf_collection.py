"""SDF: every file of the collection read or refused, its numbers by a second route."""

import numpy as np
import pytest
from sdf_peer import Motion, Peer

import dalembert as da
from corpus import corpus, corpus_files, expected
from sdf_texts import prefix_of, random_state, same_rows

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


def test_damaged_files_give_clean_errors(tmp_path):
    """Texts of the collection with pieces cut out, doubled, exchanged: only errors of our own, or a mechanism."""
    rng = np.random.default_rng(20)
    sources = [corpus(n).read_text() for n in READ[:6] or [""]]
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
