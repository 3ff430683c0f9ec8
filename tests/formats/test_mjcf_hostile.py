"""MJCF files that are wrong or hostile."""

import os
import random
import re
import sys

import pytest

import dalembert as da
from dalembert.formats.mjcf import trial

mujoco = pytest.importorskip("mujoco", reason="MJCF files are read through MuJoCo's compiler, which is not installed")

from mjcf_texts import DATA  # noqa: E402

HOSTILE = {
    "entities": ('<!DOCTYPE m [<!ENTITY a "b">]><mujoco/>', "document type"),
    "not MJCF": ("<robot/>", "is not the root of an MJCF file"),
    "junk": ("\x00\x01\x02", "XML"),
    "nan": ('<mujoco><worldbody><body pos="nan 0 0"/></worldbody></mujoco>', "'nan' in its attribute 'pos'"),
    "huge number": ('<mujoco><worldbody><body pos="1e300 0 0"/></worldbody></mujoco>', "at most 1e"),
    "replicas": (
        '<mujoco><worldbody><replicate count="100000"><replicate count="100000"><body/></replicate></replicate>'
        "</worldbody></mujoco>",
        "replicas and attached models counted",
    ),
    "deep": ("<mujoco><worldbody>" + "<body>" * 300 + "</body>" * 300 + "</worldbody></mujoco>", "levels of elements"),
    "keyframes": (
        "<mujoco><worldbody>" + '<body><joint/><geom size="1"/></body>' * 100 + "</worldbody><keyframe>"
        "" + "<key/>" * 600 + "</keyframe></mujoco>",
        "has 600 keyframes of 200 numbers each; needed: at most 100000",
    ),
    "many": ("<mujoco><worldbody>" + "<body/>" * 3000 + "</worldbody></mujoco>", "at most 2000"),
    "memory": (
        '<mujoco><asset>\n<mesh name="b" builtin="supertorus" params="100000 0.5 1 1"/></asset></mujoco>',
        "model.xml:2: <mesh> 'b' has '100000' in its attribute 'params'; needed: finite numbers of at most 100",
    ),
    "outside": ('<mujoco><include file="../secret.xml"/></mujoco>', "leaves the folder"),
    "absolute": ('<mujoco><include file="/etc/passwd"/></mujoco>', "needed: a relative path"),
    "network": ('<mujoco><include file="http://x/y.xml"/></mujoco>', "an address"),
    "circle": ('<mujoco>\n<include file="model.xml"/></mujoco>', "includes itself"),
    "link": ('<mujoco><include file="link.xml"/></mujoco>', "a symbolic link out of the folder"),
    "attached outside": (
        '<mujoco><asset><model file="../x.xml"/></asset><worldbody/></mujoco>',
        "leaves the folder",
    ),
    "mesh outside": (
        '<mujoco><asset><mesh name="m" file="../m.stl"/></asset><worldbody><body><joint/><geom type="mesh" mesh="m"/>'
        "</body></worldbody></mujoco>",
        "leaves the folder",
    ),
    "same names": (
        '<mujoco><worldbody><body name="a"/>\n<body name="a"/></worldbody></mujoco>',
        r"model.xml:2: <body> 'a' is refused by MuJoCo's compiler: repeated name 'a' in body",
    ),
    "no mass": (
        '<mujoco><worldbody>\n<body name="a"><joint/></body></worldbody></mujoco>',
        "model.xml:2: <body> 'a' is refused.*mass and inertia of moving bodies",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_with_a_sentence(name, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.xml").write_text("<mujoco/>")
    os.symlink(tmp_path / "secret.xml", folder / "link.xml")
    text, said = HOSTILE[name]
    path = folder / "model.xml"
    path.write_text(text)
    with pytest.raises(da.ModelFileError, match=said):
        da.read_mjcf(path)


@pytest.mark.parametrize("isolated", [False, True])
def test_a_folder_further_up_is_read_where_the_user_trusts_it(tmp_path, isolated):
    """objects/peg.xml includes ../scene/floor.xml, which stands on a mesh in ../scene; /secret stays out."""
    for name in ("assets/objects", "assets/scene"):
        (tmp_path / name).mkdir(parents=True)
    path = tmp_path / "assets/objects/peg.xml"
    peg = '<body name="peg"><joint name="slide" type="slide"/><geom size="0.1"/></body>'
    path.write_text(f'<mujoco><include file="../scene/../scene/floor.xml"/><worldbody>{peg}</worldbody></mujoco>')
    (tmp_path / "assets/scene/floor.xml").write_text('<mujoco><option gravity="0 0 -3"/></mujoco>')
    with pytest.raises(da.ModelFileError, match=r"leaves the folder by '\.\.'.*read\(path, folder=…\)"):
        da.read(path)
    m = da.read(path, folder=tmp_path / "assets", isolated=isolated)
    assert m.gravity.tolist() == [0, 0, -3]
    with pytest.raises(da.ArgumentError, match=r"'peg.xml' is not inside it"):
        da.read(path, folder=tmp_path / "assets/scene")
    (tmp_path / "secret.xml").write_text("<mujoco/>")
    path.write_text('<mujoco><include file="../../secret.xml"/></mujoco>')
    with pytest.raises(da.ModelFileError, match="leaves the folder"):
        da.read(path, folder=tmp_path / "assets")
    (tmp_path / "assets/scene/link.xml").symlink_to(tmp_path / "secret.xml")
    path.write_text('<mujoco><include file="../scene/link.xml"/></mujoco>')
    with pytest.raises(da.ModelFileError, match="a symbolic link out of the folder"):
        da.read(path, folder=tmp_path / "assets")


def test_broken_files_give_only_clean_errors(tmp_path):
    """Seeded changes of words, numbers and elements; a longer campaign is this with more rounds."""
    rng = random.Random(20040601)
    texts = [p.read_text() for p in sorted(DATA.glob("*.xml"))]
    words = ["nan", "-1", "0", "1e29", "-1e29", "1e-308", "", "x", "1 2", "ball", "free", "mesh", "99999999"]
    path = tmp_path / "model.xml"
    outcomes = {"read": 0, "refused": 0}
    for _ in range(250):
        text = rng.choice(texts)
        for _ in range(rng.randint(1, 3)):
            what = rng.choice([r'"[^"]*"', r"<[a-z]+[^<>]*/>", r' [a-z]+="[^"]*"', r"-?\d+\.?\d*"])
            found = list(re.finditer(what, text))
            a, b = rng.choice(found), rng.choice(found)
            new = f'"{rng.choice(words)}"' if what[0] == '"' else rng.choice(words) if what[0] == "-" else b.group()
            text = text[: a.start()] + new + text[a.end() :]
        path.write_text(text)
        said = "model.xml"
        try:
            da.read_mjcf(path)
            outcomes["read"] += 1
        except da.ModelFileError as error:
            outcomes["refused"] += 1
            said = str(error)
        assert said.startswith("model.xml")
    assert min(outcomes.values()) > 20


def test_without_mujoco_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(da.MissingExtra, match=r"reading MJCF files needs 'mujoco'.*dalembert\[mjcf\]"):
        da.read_mjcf(DATA / "joints.xml")


BODY = '<body name="b"><joint/><geom size="0.1"/>'


def attaching(k, times, depth=1):
    """A model whose body holds `depth` bodies in each other and, `times`, that of the next model."""
    more = "".join(f'<frame><attach model="m{k + 1}" body="b" prefix="p{j}_"/></frame>' for j in range(times))
    inner = BODY.replace(' name="b"', "") * (depth - 1) + more + "</body>" * (depth - 1)
    asset = f'<asset><model name="m{k + 1}" file="m{k + 1}.xml"/></asset>' if times else ""
    return f'<mujoco model="m{k}">{asset}<worldbody>{BODY}{inner}</body></worldbody></mujoco>'


@pytest.mark.parametrize(("times", "depth", "said"), [(20, 1, "elements, replicas and attached"), (1, 60, "levels")])
def test_models_that_attach_one_another_are_counted_before_mujoco_sees_them(tmp_path, times, depth, said):
    """6 files of 20 attachments each are 64 million bodies; 6 of one in 60 bodies are 360 levels."""
    for k in range(7):
        (tmp_path / f"m{k}.xml").write_text(attaching(k, times if k < 6 else 0, depth))
    with pytest.raises(da.ModelFileError, match=said):
        da.read_mjcf(tmp_path / "m0.xml")
    small = da.read_mjcf(tmp_path / "m6.xml")
    assert len(small.joints) == depth


def test_long_chains_of_includes_are_refused(tmp_path):
    for k in range(200):
        (tmp_path / f"i{k}.xml").write_text(
            f'<mujocoinclude><body><include file="i{k + 1}.xml"/></body></mujocoinclude>'
        )
    (tmp_path / "i200.xml").write_text("<mujocoinclude/>")
    (tmp_path / "a.xml").write_text('<mujoco><worldbody><include file="i0.xml"/></worldbody></mujoco>')
    with pytest.raises(da.ModelFileError, match="inside of more than 300 elements and includes"):
        da.read_mjcf(tmp_path / "a.xml")


ENDS = {
    "crash": ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "compiler fail .* signal 11"),
    "memory": ("x = [0] * 10**12", "compiler fail .* MemoryError"),
    "time": ("import time; time.sleep(60)", "busy without end"),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_crash_in_a_process_of_its_own_is_an_error(tmp_path, monkeypatch, end):
    """MuJoCo is not known to crash, so that the process is made to, after MuJoCo compiled the model."""
    path = tmp_path / "a.xml"
    path.write_text(f"<mujoco><worldbody>{BODY}</body></worldbody></mujoco>")
    script, said = ENDS[end]
    monkeypatch.setattr(trial, "SCRIPT", trial.SCRIPT + script)
    monkeypatch.setattr(trial, "SECONDS", 3 if end == "time" else 60)
    with pytest.raises(da.ModelFileError, match=said):
        da.read(path, isolated=True)


def test_isolated_reading_is_the_same_reading(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text(f"<mujoco><worldbody>{BODY}</body></worldbody></mujoco>")
    assert list(da.read(path, isolated=True).joints) == list(da.read(path).joints)
    path.write_text("<mujoco><worldbody><body pos='nan 0 0'/></worldbody></mujoco>")
    with pytest.raises(da.ModelFileError, match="'nan' in its attribute 'pos'"):
        da.read(path, isolated=True)
