"""SDF: every file of the collection read or refused, its numbers by a second route, and the features one by one."""

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

    system = m.compile()
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
        moved = system.project(random_state(system, 2, 0.05))
        assert np.abs(system.residuals(moved)).max() < 1e-9
        assert same_rows(system.constraint_matrix(moved), Motion(peer, m, moved, prefix).rows(names))
