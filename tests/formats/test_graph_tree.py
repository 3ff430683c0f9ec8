"""Graphs of links and joints: which joints the tree keeps and which are cut, up to 100,000 links."""

import numpy as np
import pytest
from link_graphs import HERE, edge, links, loop_of, random_link, read

import dalembert as da
from dalembert.formats.graph import WORLD, Coupling, Edge, Graph, pose
from dalembert.formats.notes import Notes
from dalembert.formats.plan import GraphPlan
from dalembert.mechanism.spanning import clusters, spanning_tree
from dalembert.mechanism.topology import with_tree


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


@pytest.mark.parametrize(
    ("kinds", "more", "cut"),
    [
        ([da.Revolute("z")] * 4, {}, "j2"),  # in the middle: paths are short
        ([da.Revolute("z"), da.Spherical(), da.Revolute("z"), da.Revolute("z")], {}, "j1"),
        ([da.Universal(), da.Revolute("z"), da.Spherical(), da.Revolute("z")], {}, "j2"),
        ([da.Universal(), da.Revolute("z"), da.Revolute("z"), da.Revolute("z")], {}, "j0"),
        ([da.Revolute("z")] * 4, {"j2": {"damping": 0.1}}, "j1"),
        ([da.Revolute("z")] * 4, {"j2": {"limits": (-1, 1)}, "j1": {"stiffness": 3.0}}, "j3"),
        ([da.Revolute("z")] * 4, {f"j{k}": {"damping": 1.0} for k in (0, 1, 3)} | {"j2": {"friction": 0.1}}, "j1"),
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


KINDS = (da.Revolute("z"), da.Prismatic("x"), da.Universal(), da.Spherical(), da.Cylindrical("y"), da.Planar("z"))
ACTS = ({}, {}, {"damping": 0.3}, {"stiffness": 2.0}, {"limits": (-1, 1)}, {"armature": 0.1}, {"friction": 0.2})


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_files_and_mechanisms_choose_the_same_tree(first):
    """Random graphs, read as a file's and described by add_joint in another order: the same joints close loops."""
    for seed in range(first, first + 50):
        rng = np.random.default_rng([seed, 40])
        names = [f"l{i}" for i in rng.permutation(int(rng.integers(3, 9)))]
        ends = [(([WORLD, *names])[int(rng.integers(0, i + 1))], name) for i, name in enumerate(names)]
        ends += [(str(a), str(b)) for a, b in (rng.choice([WORLD, *names], 2, replace=False) for _ in range(3))]
        edges, acted = [], set()
        for k, (a, b) in zip(rng.permutation(len(ends)), ends):
            joint = KINDS[rng.integers(len(KINDS))]
            acts = ACTS[rng.integers(len(ACTS))] if joint.nv == 1 and len(acted) < 3 else {}
            acted |= {k} if {"armature", "friction"} & set(acts) else set()
            edges.append(edge(f"j{k}", joint, a, b, **acts))
        graph = Graph("graph", links(names), edges)
        light = graph.links[int(rng.integers(len(names)))]
        if seed % 2 and sum(light.name in pair for pair in ends) > 1:
            light.mass, light.inertia = 0.0, np.zeros((3, 3))
        m = da.Mechanism("by hand")
        for name in rng.permutation(names):
            body = next(link for link in graph.links if link.name == name)
            m.add_body(name, mass=body.mass, inertia=body.inertia)
        for k in rng.permutation(len(edges)):
            e = edges[k]
            acts = {n: getattr(e, n) for n in (*e.acted, *(["limits"] if e.limits else []))}
            m.add_joint(e.name, e.joint, *("ground" if n == WORLD else n for n in (e.parent, e.child)), **acts)
        try:
            wanted = set(with_tree(m).joints)
        except da.DescriptionError as error:
            if "needs its coordinate too" in str(error):  # a file notes what is lost
                continue
            raise
        assert set(read(graph)[0].joints) == wanted, seed


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


def test_a_chain_of_100000_links_is_planned_and_one_of_fixed_links_built():
    n = 10**5
    names = [f"l{i}" for i in range(n)]
    graph = Graph("long", links(names))
    z = da.Revolute("z")
    graph.edges = [edge(f"j{i}", z, a, b) for i, (a, b) in enumerate(zip([WORLD, *names], names))]
    graph.edges.append(edge("close", z, WORLD, names[-1]))
    plan = GraphPlan(graph, Notes(), "free", True)
    assert len(plan.tree) == n
    assert [graph.edges[k].name for k in plan.loops] == [f"j{n // 2}"]
    n //= 20
    rigid = Graph("rigid", graph.links[:n])
    rigid.edges = [Edge(e.name, HERE, da.Fixed(), e.parent, e.child) for e in graph.edges[1:n]]
    m, _ = read(rigid)
    assert list(m.bodies) == ["ground", "l0"]
    assert len(m.frames) == n - 1
    np.testing.assert_allclose(m.bodies["l0"].mass, n)
