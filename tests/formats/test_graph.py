"""Graphs of links and joints: the tree, what is merged and left out, against mechanisms built by hand."""

import numpy as np
import pytest

import dalembert as da
from dalembert.formats.graph import WORLD, Coupling, Edge, Graph, Link, build, pose
from dalembert.formats.notes import Notes
from dalembert.formats.plan import Plan
from dalembert.formats.spanning import clusters, spanning_tree
from dalembert.formats.xml import Element
from dalembert.spatial import Transform

HERE = Element("part", {"name": "x"}, "test.sdf", 7)


def random_pose(rng):
    return pose(rng.uniform(-1, 1, 3), rng.uniform(-3, 3, 3))


def random_link(name, rng):
    R = pose((0, 0, 0), rng.uniform(-3, 3, 3)).R
    J = R @ np.diag(np.array([1.0, 1.2, 1.5]) * rng.uniform(0.5, 1)) @ R.T
    return Link(name, HERE, rng.uniform(0.5, 2), rng.uniform(-0.3, 0.3, 3), (J + J.T) / 2, random_pose(rng))


def edge(name, joint, parent, child, *poses, **more):
    return Edge(name, HERE, joint, parent, child, *poses, **more)


def links(names):
    return [Link(n, HERE, 1.0, np.zeros(3), np.eye(3)) for n in names]


def read(graph, **options):
    notes = Notes()
    return build(graph, notes, **options), [n.text for n in notes.all]


def random_state(system, seed):
    rng = np.random.default_rng(seed)
    q = np.concatenate(
        [
            np.array(a.joint.plus(a.joint.neutral(), rng.uniform(-1, 1, a.joint.nv)), dtype=float)
            for a in system.layout.joints.values()
        ]
    )
    return system.state(q, rng.uniform(-1, 1, system.nv))


# --- the tree -------------------------------------------------------------------------------------------------------


def test_clusters_agree_with_scipy():
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rng = np.random.default_rng(1)
    for n in (1, 5, 40, 300):
        pairs = [tuple(map(int, rng.integers(0, n, 2))) for _ in range(n // 2)]
        a, b = zip(*pairs) if pairs else ((), ())
        _, label = connected_components(coo_array((np.ones(len(pairs)), (a, b)), (n, n)), directed=False)
        found = clusters(n, pairs)
        assert [found[i] for i in range(n)] == [int(np.flatnonzero(label == label[i])[0]) for i in range(n)]


def test_the_tree_has_least_cost_and_with_equal_costs_shortest_paths():
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree, shortest_path

    rng = np.random.default_rng(2)
    for n in (2, 7, 30):
        pairs = [(int(rng.integers(0, i)), i) for i in range(1, n)]
        pairs += [tuple(map(int, rng.choice(n, 2, replace=False))) for _ in range(n)]
        costs = [int(c) for c in rng.integers(1, 5, len(pairs))]
        least = {}
        for (a, b), c in zip(pairs, costs):
            key = min(a, b), max(a, b)
            least[key] = min(c, least.get(key, 99))
        rows, columns = zip(*least)
        peer = minimum_spanning_tree(csr_array((list(least.values()), (rows, columns)), (n, n))).sum()
        assert sum(costs[k] for k, _ in spanning_tree(n, pairs, costs)) == peer

        depth = {0: 0}
        for k, node in spanning_tree(n, pairs, [1] * len(pairs)):
            a, b = pairs[k]
            depth[node] = depth[b if a == node else a] + 1
        steps = shortest_path(csr_array((np.ones(len(rows)), (rows, columns)), (n, n)), directed=False, indices=0)
        assert [depth[i] for i in range(n)] == steps.astype(int).tolist()


def loop_of(kinds, **more):
    """A loop of links a, b, c, … that begins and ends at the world."""
    names = [chr(ord("a") + i) for i in range(len(kinds) - 1)]
    ends = [WORLD, *names, WORLD]
    graph = Graph("loop", links(names))
    for i, joint in enumerate(kinds):
        at = pose((i, i * i, 0))
        graph.edges.append(edge(f"j{i}", joint, ends[i], ends[i + 1], at, at, **more.get(f"j{i}", {})))
    return graph


@pytest.mark.parametrize(
    ("kinds", "more", "cut"),
    [
        ([da.Revolute("z")] * 4, {}, "j2"),  # in the middle: paths are short
        ([da.Revolute("z"), da.Spherical(), da.Revolute("z"), da.Revolute("z")], {}, "j1"),
        ([da.Universal(), da.Revolute("z"), da.Spherical(), da.Revolute("z")], {}, "j2"),
        ([da.Universal(), da.Revolute("z"), da.Revolute("z"), da.Revolute("z")], {}, "j0"),
        ([da.Revolute("z")] * 4, {"j2": {"damping": 0.1}}, "j2"),  # a damper can act along a cut joint, a rotor not
        ([da.Revolute("z")] * 4, {"j2": {"armature": 0.1}, "j1": {"stiffness": 3.0}}, "j1"),
        ([da.Spherical(), *[da.Revolute("z")] * 3], {"j0": {"damping": 0.1}}, "j2"),
        ([da.Spherical(), *[da.Revolute("z")] * 3], {"j0": {"driven": True}}, "j2"),
        ([da.Revolute("z")] * 4, {"j1": {"driven": True}, "j2": {"driven": True}}, "j3"),
        ([da.Revolute("z")] * 4, {"j0": {"cut": True}}, "j0"),
    ],
)
def test_the_joint_that_is_cut(kinds, more, cut):
    m, _ = read(loop_of(kinds, **more))
    assert list(m.constraints) == [cut]
    assert len(m.joints) == len(kinds) - 1


@pytest.mark.parametrize("kind", ["Revolute", "Prismatic", "Screw", "Universal", "Cylindrical", "Planar"])
def test_springs_and_dampers_act_along_cut_joints_as_in_the_tree(kind):
    """The same loop cut at another joint moves in the same way from the same start."""
    rng = np.random.default_rng(22)
    joint = {"Screw": lambda: da.Screw("x", pitch=0.4)}.get(kind, getattr(da, kind))()
    n = joint.nv
    acts = {"stiffness": rng.uniform(20, 40, n), "damping": rng.uniform(1, 3, n), "rest": rng.uniform(0.2, 0.5, n)}
    P = [pose(rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 3)) for _ in range(5)]
    parts = [random_link(name, rng) for name in "abcd"]
    ends, twists = [], None
    for cut in ("ball", "soft"):
        g = Graph("loop", parts)
        g.edges = [
            edge("r1", da.Revolute("z"), WORLD, "a", P[0], P[0]),
            edge("soft", joint, "a", "b", P[1], P[1], cut=cut == "soft", **acts),
            edge("u", da.Universal("y", "z"), "b", "c", P[2], P[2]),
            edge("ball", da.Spherical(), "c", "d", P[3], P[3], cut=cut == "ball"),
            edge("r2", da.Universal("x", "y"), WORLD, "d", P[4], P[4]),
        ]
        m, _ = read(g)
        assert list(m.constraints) == [cut]
        system = m.compile()
        J = np.concatenate([system.jacobian(system.state(), body) for body in "abcd"])
        if twists is None:
            x = system.project(system.state(v=np.ones(system.nv)))
            twists = J @ x.v
        x = system.state(v=np.linalg.lstsq(J, twists)[0])
        np.testing.assert_allclose(J @ x.v, twists, atol=1e-10)
        end = da.simulate(system, x, 0.4, rtol=1e-10, atol=1e-10).state()
        ends.append([*(end.position(body) for body in "abcd"), [system.energy(end)] * 3])
    np.testing.assert_allclose(*ends, atol=1e-7)
    assert max(np.abs(p - part.pose.p).max() for p, part in zip(ends[0], parts)) > 0.02


def test_coupled_joints_stay_in_the_tree():
    graph = loop_of([da.Revolute("z")] * 4)
    graph.couplings.append(Coupling("gear", HERE, {"j1": 1.0, "j2": -2.0}))
    m, _ = read(graph)
    assert sorted(m.constraints) == ["gear", "j3"]
    assert {"j1", "j2"} <= set(m.joints)


def test_joints_beside_massless_links_are_not_cut():
    graph = loop_of([da.Revolute("z")] * 5)
    graph.links[1].mass, graph.links[1].inertia = 0.0, np.zeros((3, 3))  # b, between j1 and j2: the middle
    graph.links[2].inertia = np.eye(3) * 2
    m, notes = read(graph)
    assert list(m.constraints) in (["j3"], ["j4"], ["j0"])
    assert notes == []
    m.compile("casadi")


# --- the numbers ----------------------------------------------------------------------------------------------------


def chain_by_hand(rng, joints):
    """The same open chain as a graph and as a mechanism: random links, random frames, the last three turned round."""
    graph, m = Graph("chain"), da.Mechanism("chain")
    graph.gravity = m.gravity = rng.uniform(-9, 9, 3)
    before, body = WORLD, m.ground
    for i, joint in enumerate(joints):
        link = random_link(f"link{i}", rng)
        graph.links.append(link)
        A, B = random_pose(rng), random_pose(rng)
        new = m.add_body(link.name, link.mass, link.com, link.inertia)
        m.add_joint(f"j{i}", joint, body.at(A.p, rotation=A.R), new.at(B.p, rotation=B.R))
        graph.edges.append(edge(f"j{i}", joint, before, link.name, A, B))
        before, body = link.name, new
    return graph, m


def test_a_chain_is_the_one_built_by_hand():
    rng = np.random.default_rng(3)
    joints = [da.Free(), da.Revolute((1, 2, 3)), da.Prismatic("y"), da.Screw("x", pitch=0.3), da.Universal("z", "x")]
    graph, m = chain_by_hand(rng, joints)
    ours, theirs = read(graph)[0].compile("casadi"), m.compile("casadi")
    x = random_state(theirs, 4)
    y = ours.state(x.q, x.v)
    np.testing.assert_allclose(ours.mass_matrix(y), theirs.mass_matrix(x), rtol=1e-13)
    np.testing.assert_allclose(ours.bias(y), theirs.bias(x), rtol=1e-12, atol=1e-12)


def test_turned_joints_keep_name_sign_and_zero():
    """Every joint is described from its child to its parent: the coordinates must not notice."""
    rng = np.random.default_rng(5)
    joints = [da.Revolute((1, 2, 3)), da.Prismatic("y"), da.Screw("x", pitch=0.3), da.Cylindrical((0, 1, 1))]
    graph, m = chain_by_hand(rng, joints)
    theirs = m.compile("casadi")
    x = random_state(theirs, 6)
    for e in graph.edges:
        e.parent, e.child, e.at_parent, e.at_child = e.child, e.parent, e.at_child, e.at_parent
        e.joint = da.Screw(-e.joint.axis, pitch=0.3) if isinstance(e.joint, da.Screw) else type(e.joint)(-e.joint.axis)
    built, notes = read(graph)
    assert notes == []
    ours = built.compile("casadi")
    assert ours.layout.q_names == theirs.layout.q_names
    y = ours.state(x.q, x.v)
    np.testing.assert_allclose(ours.mass_matrix(y), theirs.mass_matrix(x), rtol=1e-13)
    np.testing.assert_allclose(ours.bias(y), theirs.bias(x), rtol=1e-12, atol=1e-12)


def test_a_turned_universal_joint_exchanges_its_coordinates():
    rng = np.random.default_rng(7)
    graph, m = chain_by_hand(rng, [da.Universal("x", "y")])
    theirs = m.compile("casadi")
    e = graph.edges[0]
    e.parent, e.child, e.at_parent, e.at_child = e.child, e.parent, e.at_child, e.at_parent
    e.joint, e.damping, e.limits = da.Universal("-y", "-x"), [2.0, 1.0], [[-2, 2], [-1, 1]]
    graph.edges.append(edge("slide", da.Prismatic("z"), "link0", "more"))
    graph.links.append(random_link("more", rng))
    graph.couplings.append(Coupling("gear", HERE, {"j0.first": 3.0, "slide": 1.0}))
    built, notes = read(graph)
    assert any("exchanged" in text for text in notes)
    assert built.joints["j0"].damping.tolist() == [1.0, 2.0]
    assert built.joints["j0"].limits.tolist() == [[-1, 1], [-2, 2]]
    ours = built.compile("casadi")
    x = random_state(theirs, 8)
    y = ours.state([*x.q, 0.5], [*x.v, 0.0])
    np.testing.assert_allclose(y.position("link0"), x.position("link0"), atol=1e-14)
    np.testing.assert_allclose(ours.residuals(y), [3 * x.q[1] + 0.5])


def test_fixed_links_are_merged_and_keep_their_frames_and_inertia():
    rng = np.random.default_rng(9)
    joints = [da.Revolute("z"), da.Fixed(), da.Fixed(), da.Revolute((1, 2, 3)), da.Fixed(), da.Prismatic("x")]
    graph, m = chain_by_hand(rng, joints)
    graph.links[2].frames["camera"] = C = random_pose(rng)
    theirs = m.compile("casadi")
    ours = read(graph)[0]
    assert list(ours.bodies) == ["ground", "link0", "link3", "link5"]
    assert sorted(ours.frames) == ["camera", "link1", "link2", "link4"]
    apart = read(graph, merge_fixed=False)[0]
    assert len(apart.bodies) == 7
    x = random_state(theirs, 10)
    for other in (ours.compile("casadi"), apart.compile("casadi")):
        y = other.state(x.q, x.v)
        np.testing.assert_allclose(other.mass_matrix(y), theirs.mass_matrix(x), rtol=1e-12)
        np.testing.assert_allclose(other.bias(y), theirs.bias(x), rtol=1e-11, atol=1e-11)
        for name in ("link0", "link1", "link2", "link4", "link5"):
            np.testing.assert_allclose(y.position(name), x.position(name), atol=1e-13)
            np.testing.assert_allclose(y.rotation(name), x.rotation(name), atol=1e-13)
        place = Transform(x.rotation("link2"), x.position("link2")) @ C
        np.testing.assert_allclose(y.position("camera"), place.p, atol=1e-13)


def test_links_fixed_to_the_world_are_frames_of_the_ground():
    rng = np.random.default_rng(11)
    graph, _ = chain_by_hand(rng, [da.Fixed(), da.Fixed(), da.Revolute("z")])
    m, _ = read(graph)
    assert list(m.bodies) == ["ground", "link2"]
    assert m.frames["link1"].body is m.ground


def test_closed_loops_against_a_mechanism_built_by_hand():
    """Two loops that share a body, their joints in any order and direction."""
    rng = np.random.default_rng(12)
    g = Graph("double", [random_link(n, rng) for n in "abcde"], gravity=(0, -9.81, 0))
    at = {"A": (0, 0, 0), "B": (0, 1, 0), "C": (1, 1, 0), "D": (1, 0, 0), "E": (2, 1, 0), "F": (2, 0, 0)}
    ends = {"A": (WORLD, "a"), "B": ("b", "a"), "C": ("b", "c"), "D": ("c", WORLD), "E": ("d", "b"), "F": (WORLD, "d")}
    for name, (p, c) in ends.items():
        g.edges.append(edge(name, da.Revolute("z"), p, c, pose(at[name]), pose(at[name])))
    g.edges.append(edge("tail", da.Spherical(), "d", "e", pose(at["F"]), pose(at["F"])))
    m, notes = read(g)
    assert notes == []
    assert len(m.constraints) == 2
    assert len(m.joints) == 5
    system = m.compile("casadi")
    x = system.assemble({"A": 0.3, "tail": (1, 0, 0, 0)})
    by_hand = da.Mechanism("double", gravity=(0, -9.81, 0))
    for link in g.links:
        by_hand.add_body(link.name, link.mass, link.com, link.inertia)
    z = da.Revolute("z")
    place = lambda name, joint: by_hand.bodies[name].at(at[joint])  # noqa: E731
    by_hand.add_joint("A", z, by_hand.ground.at(at["A"]), place("a", "A"))
    by_hand.add_joint("B", da.Revolute("-z"), place("a", "B"), place("b", "B"))
    by_hand.add_joint("C", z, place("b", "C"), place("c", "C"))
    by_hand.add_joint("E", da.Revolute("-z"), place("b", "E"), place("d", "E"))
    by_hand.add_joint("tail", da.Spherical(), place("d", "F"), place("e", "F"))
    by_hand.close_loop("D", z, place("c", "D"), by_hand.ground.at(at["D"]))
    by_hand.close_loop("F", z, by_hand.ground.at(at["F"]), place("d", "F"))
    other = by_hand.compile("casadi")
    y = other.assemble({"A": 0.3, "tail": (1, 0, 0, 0)})
    for name in "abcde":
        np.testing.assert_allclose(x.position(name), y.position(name), atol=1e-9)
    a, b = system.acceleration(x), other.acceleration(y)
    both = [n for n in system.layout.v_names if n in other.layout.v_names]
    assert len(both) >= 5
    for name in both:
        i, j = system.layout.v_names.index(name), other.layout.v_names.index(name)
        np.testing.assert_allclose(a.vdot[i], b.vdot[j], rtol=1e-8, atol=1e-8)


def test_roots_that_float_stand_where_they_are_drawn():
    rng = np.random.default_rng(13)
    graph, _ = chain_by_hand(rng, [da.Revolute("z"), da.Revolute("x")])
    first = graph.edges.pop(0)
    m, _ = read(graph)
    assert list(m.joints) == ["link0", "j1"]
    assert m.joints["link0"].joint.kind == "free"
    system = m.compile("casadi")
    np.testing.assert_allclose(system.state().position("link0"), graph.links[0].pose.p)
    np.testing.assert_allclose(system.state().rotation("link0"), graph.links[0].pose.R, atol=1e-14)
    fixed, _ = read(graph, base="fixed")
    assert fixed.frames["link0"].body is fixed.ground
    graph.roots = ["link1"]
    graph.edges.append(edge("link1", da.Prismatic("x"), "link1", "more"))
    graph.links.append(random_link("more", rng))
    m, _ = read(graph)
    assert m.joints["link1_2"].child.body.name == "link1"  # 'link1' is a joint of the file
    assert first.name not in m.joints


def test_weightless_links_do_not_fall():
    rng = np.random.default_rng(14)
    graph, _ = chain_by_hand(rng, [da.Revolute("z"), da.Fixed(), da.Spherical()])
    for link in graph.links:
        link.weightless = True
    system = read(graph)[0].compile("casadi")
    x = system.state(random_state(system, 15).q)
    np.testing.assert_allclose(system.forward_dynamics(x), 0, atol=1e-12)


# --- what is repaired, left out, refused ----------------------------------------------------------------------------


def test_massless_ends_are_frames_and_massless_middles_are_kept():
    rng = np.random.default_rng(16)
    graph, m = chain_by_hand(rng, [da.Revolute("x"), da.Revolute("y"), da.Revolute("z"), da.Revolute("x")])
    for i in (0, 2, 3):
        graph.links[i] = Link(f"link{i}", HERE)
    built, notes = read(graph)
    assert list(built.joints) == ["j0", "j1"]
    assert len(notes) == 2
    assert all("has no mass and carries none" in text for text in notes)
    theirs, ours = m.compile("casadi"), built.compile("casadi")
    q = [0.4, -0.7, 0, 0]
    for name in ("link2", "link3"):
        np.testing.assert_allclose(ours.state(q[:2]).position(name), theirs.state(q).position(name), atol=1e-13)
    graph.edges[3].armature = 0.1  # a rotor makes the end move something
    assert list(read(graph)[0].joints) == ["j0", "j1", "j2", "j3"]


def test_massless_links_in_a_loop_are_kept_and_named():
    graph = Graph("idle", links("ab"))
    graph.links[1] = Link("b", HERE)
    graph.edges = [
        edge("j0", da.Revolute("z"), WORLD, "a"),
        edge("j1", da.Revolute("z"), "a", "b"),
        edge("j2", da.Revolute("z"), WORLD, "b", cut=True),
    ]
    m, notes = read(graph)
    assert list(m.joints) == ["j0", "j1"]
    assert any("moves no mass" in text for text in notes)


def test_inertias_that_no_solid_has():
    graph = Graph("odd", links("a"))
    graph.links[0].inertia = np.diag([1.0, 1.0, 3.0])
    m, notes = read(graph)
    assert len(notes) == 1
    assert "no solid has this inertia" in notes[0]
    assert m.bodies["a"].inertia[2, 2] == 3.0
    for mass, J, text in [
        (-1.0, np.eye(3), "the mass -1 kg"),
        (1.0, np.diag([1.0, 1.0, -1.0]), "a principal moment of -1 kg m²"),
        (1.0, np.array([[1.0, 0.5, 0], [0, 1, 0], [0, 0, 1]]), "not symmetric"),
    ]:
        graph.links[0].mass, graph.links[0].inertia = mass, J
        with pytest.raises(da.ModelFileError, match=r"test\.sdf:7: <part> 'x' has .*" + text):
            read(graph)


def test_names_that_clash_or_hold_a_dot():
    graph = Graph("names", links(["ground", "arm", "hand"]))
    graph.links[1].frames = {"hand": pose(), "tip": pose()}
    graph.edges = [
        edge("a.b", da.Revolute("z"), "ground", "arm"),
        edge("a_b", da.Revolute("z"), "arm", "hand"),
    ]
    graph.couplings.append(Coupling("a.b", HERE, {"a.b": 1.0, "a_b": 2.0}, 0.5))
    m, notes = read(graph)
    assert sorted(m.bodies) == ["arm", "ground", "ground_2", "hand"]
    assert sorted(m.frames) == ["hand_2", "tip"]
    assert list(m.joints) == ["ground", "a_b", "a_b_2"]
    assert list(m.constraints) == ["a_b_3"]
    assert len(notes) == 5
    system = m.compile("casadi")
    np.testing.assert_allclose(system.residuals(system.state({"a_b": 0.3, "a_b_2": 0.2})), [0.3 + 0.4 - 0.5])


def test_many_clashes_are_not_quadratic():
    graph = Graph("many", links([f"l{i}" for i in range(50)]))
    graph.edges = [edge(f"f{i}", da.Fixed(), WORLD, f"l{i}") for i in range(50)]
    for i, link in enumerate(graph.links):
        link.frames = {"tip": pose((i, 0, 0))}
    m, _ = read(graph)
    assert {f"tip_{k}" for k in range(2, 51)} | {"tip"} <= set(m.frames)


def test_joints_that_cannot_move_or_say_nothing_new():
    graph = Graph("double", links("abc"))
    step = pose((1, 2, 3), (0.1, 0.2, 0.3))
    graph.edges = [
        edge("f1", da.Fixed(), "a", "b", step),
        edge("f2", da.Fixed(), "b", "a", pose(), step),
        edge("r", da.Revolute("z"), "a", "b"),
        edge("s", da.Revolute("z"), "a", "c"),
    ]
    m, notes = read(graph)
    assert list(m.joints) == ["a", "s"]
    assert [n for n in notes if "says nothing new" in n]
    assert [n for n in notes if "cannot move" in n]
    graph.edges[1] = edge("f2", da.Fixed(), "b", "a", pose(), pose())
    with pytest.raises(da.ModelFileError, match="hold 3 m and"):
        read(graph)


def test_loops_that_are_open_are_noted_with_their_gap():
    graph = loop_of([da.Revolute("z")] * 4)
    graph.edges[2].at_child = graph.edges[2].at_child @ pose((0.25, 0, 0), (0.1, 0, 0))
    _, notes = read(graph)
    assert len(notes) == 1
    assert "open at the neutral position, by 0.25 m and 0.1 rad" in notes[0]


def test_names_that_are_not_there_and_joints_to_themselves():
    graph = Graph("wrong", links("a"))
    graph.edges = [edge("j", da.Revolute("z"), "a", "b")]
    with pytest.raises(da.ModelFileError, match="asks for link 'b', which is not there"):
        read(graph)
    graph.edges = [edge("j", da.Revolute("z"), "a", "a")]
    with pytest.raises(da.ModelFileError, match="connects link 'a' with itself"):
        read(graph)


# --- size -----------------------------------------------------------------------------------------------------------


def test_a_chain_of_100000_links_is_planned_and_one_of_fixed_links_built():
    n = 10**5
    names = [f"l{i}" for i in range(n)]
    graph = Graph("long", links(names))
    z = da.Revolute("z")
    graph.edges = [edge(f"j{i}", z, a, b) for i, (a, b) in enumerate(zip([WORLD, *names], names))]
    graph.edges.append(edge("close", z, WORLD, names[-1]))
    plan = Plan(graph, Notes(), "free", True)
    assert len(plan.tree) == n
    assert [graph.edges[k].name for k in plan.loops] == [f"j{n // 2}"]
    n //= 20
    rigid = Graph("rigid", graph.links[:n])
    rigid.edges = [Edge(e.name, HERE, da.Fixed(), e.parent, e.child) for e in graph.edges[1:n]]
    m, _ = read(rigid)
    assert list(m.bodies) == ["ground", "l0"]
    assert len(m.frames) == n - 1
    np.testing.assert_allclose(m.bodies["l0"].mass, n)
