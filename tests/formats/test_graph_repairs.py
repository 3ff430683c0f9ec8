"""Graphs of links and joints: what is repaired, left out and refused."""

import numpy as np
import pytest
from link_graphs import HERE, chain_by_hand, edge, links, loop_of, read

import dalembert as da
from dalembert.formats.graph import WORLD, Coupling, FileLink, Graph, pose


def test_massless_ends_are_frames_and_massless_middles_are_kept():
    rng = np.random.default_rng(16)
    graph, m = chain_by_hand(rng, [da.Revolute("x"), da.Revolute("y"), da.Revolute("z"), da.Revolute("x")])
    for i in (0, 2, 3):
        graph.links[i] = FileLink(f"link{i}", HERE)
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
    graph.links[1] = FileLink("b", HERE)
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
