"""glTF files: an independent reader finds the bodies where the run has them."""

import json
import struct

import numpy as np
import pytest

import dalembert as da
from dalembert import view, zoo
from dalembert.errors import ArgumentError
from dalembert.view.faces import faces, triangles
from dalembert.view.poses import positions_at
from dalembert.view.scene import motion, scene


@pytest.fixture(scope="module")
def run():
    system = zoo.constrained_double_pendulum().compile()
    return da.simulate(system, system.state(*zoo.constrained_double_pendulum_start()), 1.0)


def chunks(path):
    data = path.read_bytes()
    magic, version, length = struct.unpack_from("<4sII", data)
    assert (magic, version, length) == (b"glTF", 2, len(data))
    size, kind = struct.unpack_from("<I4s", data, 12)
    assert kind == b"JSON"
    assert size % 4 == 0
    return json.loads(data[20 : 20 + size]), data[28 + size :]


def values(doc, binary, k):
    a = doc["accessors"][k]
    v = doc["bufferViews"][a["bufferView"]]
    width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[a["type"]]
    assert v["byteOffset"] % 4 == 0
    out = np.frombuffer(binary, "<f4", a["count"] * width, v["byteOffset"]).reshape(-1, width)
    np.testing.assert_allclose(a["min"], out.min(axis=0), rtol=1e-6)
    np.testing.assert_allclose(a["max"], out.max(axis=0), rtol=1e-6)
    return out


def test_the_animation_is_the_motion(run, tmp_path):
    path = view.export_gltf(run, tmp_path / "run.glb", fps=40)
    doc, binary = chunks(path)
    (animation,) = doc["animations"]
    times = np.linspace(run.t[0], run.t[-1], 41)
    expected = motion(run.system, positions_at(run, times))
    names = list(run.system.layout.bodies)
    seen = set()
    for channel in animation["channels"]:
        sampler = animation["samplers"][channel["sampler"]]
        np.testing.assert_allclose(values(doc, binary, sampler["input"])[:, 0], times, atol=1e-6)
        node, what = doc["nodes"][channel["target"]["node"]]["name"], channel["target"]["path"]
        if node in names:
            part = expected[:, names.index(node)]
            part = part[:, :3] if what == "translation" else part[:, [4, 5, 6, 3]]
            np.testing.assert_allclose(values(doc, binary, sampler["output"]), part, atol=1e-6)
            seen.add((node, what))
    assert ("upper", "rotation") in seen
    assert ("lower", "translation") in seen
    rod = next(n for n in doc["nodes"] if "scale" in n)
    constraint = next(c for c in run.system.description.constraints if c.kind == "rod")
    assert rod["name"] == constraint.name
    assert rod["scale"][2] == pytest.approx(float(constraint.length), rel=1e-6)


def test_another_reader_finds_the_solids(run, tmp_path):
    """trimesh places every mesh where Python has it, with "up" along y."""
    trimesh = pytest.importorskip("trimesh")
    loaded = trimesh.load(view.export_gltf(run, tmp_path / "run.glb"))
    s = scene(run.system, run.q)
    poses = motion(run.system, run.q[:1])[0]
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for body, pose in zip(s.bodies, poses):
        T = run.system.pose(run.state(0), body.name)
        for solid in body.solids:
            x = triangles(faces(solid))[0] @ solid.T.R.astype(float).T + solid.T.p
            x = (x @ T[:3, :3].T + pose[:3]) @ s.axes
            low, high = np.minimum(low, x.min(axis=0)), np.maximum(high, x.max(axis=0))
    bodies = trimesh.Scene()
    for name in loaded.graph.nodes_geometry:
        T, geometry = loaded.graph[name]
        if name not in {link.name for link in s.links}:
            bodies.add_geometry(loaded.geometry[geometry], transform=T)
    np.testing.assert_allclose(bodies.bounds[0][:2], low[:2], atol=1e-5)
    np.testing.assert_allclose(bodies.bounds[1][:2], high[:2], atol=1e-5)
    np.testing.assert_allclose(bodies.bounds[:, 2], [low[2], high[2]], atol=1e-5)


@pytest.mark.parametrize("name", ["car", "cart_pole", "delta"])
def test_nothing_in_a_file_is_unused_or_unsaid(name, tmp_path):
    """Rules that the Khronos validator looks at: uses of buffers, empty nodes, unit quaternions, rising times."""
    entry = zoo.CATALOG[name]
    system = entry.build().compile()
    motion_ = da.simulate(system, system.state(*entry.start()), 0.5)
    doc, binary = chunks(view.export_gltf(motion_, tmp_path / "run.glb", fps=10))
    vertices = {k for m in doc["meshes"] for p in m["primitives"] for k in p["attributes"].values()}
    animations = doc.get("animations", [])
    samplers = [s for a in animations for s in a["samplers"]]
    used = vertices | {s[end] for s in samplers for end in ("input", "output")}
    assert used == set(range(len(doc["accessors"])))
    for k in used:
        target = doc["bufferViews"][doc["accessors"][k]["bufferView"]].get("target")
        assert target == (34962 if k in vertices else None)
        assert np.isfinite(values(doc, binary, k)).all()
    moved = {c["target"]["node"] for a in animations for c in a["channels"]}
    for k, node in enumerate(doc["nodes"]):
        assert {"mesh", "children"} & set(node) or k in moved
        np.testing.assert_allclose(np.linalg.norm(node.get("rotation", [1.0])), 1.0, atol=1e-6)
    for a in animations:
        for c in a["channels"]:
            sampler = a["samplers"][c["sampler"]]
            assert (np.diff(values(doc, binary, sampler["input"])[:, 0]) > 0).all()
            if c["target"]["path"] == "rotation":
                out = values(doc, binary, sampler["output"])
                np.testing.assert_allclose(np.linalg.norm(out, axis=1), 1.0, atol=1e-6)


def test_what_is_no_glb_is_refused(run, tmp_path):
    with pytest.raises(ArgumentError, match=r"needed: a name that ends in \.glb"):
        view.export_gltf(run, tmp_path / "run.gltf")
    with pytest.raises(ArgumentError, match="fps is 0"):
        view.export_gltf(run, tmp_path / "run.glb", fps=0)
