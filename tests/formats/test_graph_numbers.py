"""Graphs of links and joints: their numbers against mechanisms built by hand."""

import numpy as np
from link_graphs import HERE, chain_by_hand, edge, random_link, random_pose, random_state, read

import dalembert as da
from dalembert.formats.graph import WORLD, Coupling, Graph, pose
from dalembert.spatial import Transform


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
