"""Links and joints as model files give them, for the tests of graphs."""

import numpy as np

import dalembert as da
from dalembert.formats.graph import WORLD, Edge, FileLink, Graph, build, pose
from dalembert.formats.notes import Notes
from dalembert.formats.xml import Element

HERE = Element("part", {"name": "x"}, "test.sdf", 7)


def random_pose(rng):
    return pose(rng.uniform(-1, 1, 3), rng.uniform(-3, 3, 3))


def random_link(name, rng):
    R = pose((0, 0, 0), rng.uniform(-3, 3, 3)).R
    J = R @ np.diag(np.array([1.0, 1.2, 1.5]) * rng.uniform(0.5, 1)) @ R.T
    return FileLink(name, HERE, rng.uniform(0.5, 2), rng.uniform(-0.3, 0.3, 3), (J + J.T) / 2, random_pose(rng))


def edge(name, joint, parent, child, *poses, **more):
    return Edge(name, HERE, joint, parent, child, *poses, **more)


def links(names):
    return [FileLink(n, HERE, 1.0, np.zeros(3), np.eye(3)) for n in names]


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


def loop_of(kinds, **more):
    """A loop of links a, b, c, … that begins and ends at the world."""
    names = [chr(ord("a") + i) for i in range(len(kinds) - 1)]
    ends = [WORLD, *names, WORLD]
    graph = Graph("loop", links(names))
    for i, joint in enumerate(kinds):
        at = pose((i, i * i, 0))
        graph.edges.append(edge(f"j{i}", joint, ends[i], ends[i + 1], at, at, **more.get(f"j{i}", {})))
    return graph


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
