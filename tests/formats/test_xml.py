"""The door for XML: what is refused, and with which words; folders; notes."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest

from dalembert.errors import DalembertError, ModelFileError
from dalembert.formats import xml
from dalembert.formats.folder import Folder
from dalembert.formats.notes import Notes


def test_elements_have_lines_text_and_children_in_order():
    root = xml.parse('<a>\n <b name="x" n=" 1 2\n3 "/>\n <c>\n  4.5 </c><b/>\n</a>', file="m.xml")
    assert [(e.tag, e.line) for e in root.iter()] == [("a", 1), ("b", 2), ("c", 4), ("b", 5)]
    assert root.find("b").numbers("n", 3).tolist() == [1, 2, 3]
    assert root.find("c").number(None) == 4.5
    assert len(root.findall("b")) == 2
    assert [e.line for e in root.iter("b")] == [2, 5]
    assert root.find("nothing") is None
    assert str(root.find("b")) == "<b> 'x'"


def test_prefixes_are_kept_whether_declared_or_not():
    root = xml.parse('<robot xmlns:drake="http://x"><drake:joint/><other:thing a:b="1"/></robot>')
    assert [c.tag for c in root.children] == ["drake:joint", "other:thing"]
    assert root.children[1].attrib == {"a:b": "1"}


LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<robot>&b;</robot>"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LAUGHS, "t.xml:2: .*DOCTYPE.*Remove"),
        ('<!DOCTYPE r SYSTEM "file:///etc/passwd"><r/>', "DOCTYPE"),
        ('<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><r>&x;</r>', "DOCTYPE"),
        ('<!DOCTYPE r [<!ENTITY % x SYSTEM "http://localhost/x">%x;]><r/>', "DOCTYPE"),
        ("<r>&nbsp;</r>", "undefined entity.*&lt;"),
        ("<r>\n<s></r>", "t.xml:2: is no well-formed XML: mismatched tag in column"),
        ("<r/><r/>", "junk after document element"),
        ('<r a="1" a="2"/>', "duplicate attribute"),
        ("<!-- a -- b --><r/>", "Two hyphens"),
        ("<a>" * 250 + "</a>" * 250, "more than 200 levels"),
        (b"", "is empty"),
        (b"   \n", "is empty"),
        (b"\x7fELF\x02\x01\x01\0\0\0", "does not begin with '<'"),
        (b"PK\x03\x04rest of a zip", "is it XML"),
        (b"<r>\xff\xfe\xfa</r>", "not well-formed"),
        (b'<?xml version="1.0" encoding="klingon"?><r/>', "unknown encoding"),
        (b'<?xml version="1.0" encoding="utf-7"?><r/>', "encoding|well-formed"),
        (b'<?xml version="1.0" encoding="shift_jis"?><r>\x83\x5c</r>', "encoding"),
        (b'<?xml version="1.0" encoding="utf-16"?><r/>', "encoding"),
        ("<r>\0</r>", "well-formed"),
    ],
)
def test_hostile_and_broken_texts_are_refused(text, words):
    with pytest.raises(ModelFileError, match=words) as caught:
        xml.parse(text, file="t.xml")
    assert str(caught.value).startswith("t.xml:")


def test_a_lone_surrogate_is_refused():
    with pytest.raises(ModelFileError, match="UTF-8"):
        xml.parse("<r a='\ud800'/>")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_declared_encodings_that_python_and_expat_share_are_read(encoding):
    name = "utf-8" if encoding == "utf-8-sig" else encoding
    text = f'<?xml version="1.0" encoding="{name}"?><r name="Gelenk ä"/>'
    assert xml.parse(text.encode(encoding)).name == "Gelenk ä"


def test_size_and_counts_are_bounded(monkeypatch, tmp_path):
    monkeypatch.setattr(xml, "MAX_ELEMENTS", 100)
    monkeypatch.setattr(xml, "MAX_ATTRIBUTES", 100)
    assert len(xml.parse("<r>" + "<a/>" * 99 + "</r>").children) == 99
    with pytest.raises(ModelFileError, match="more than 100 elements"):
        xml.parse("<r>" + "<a/>" * 100 + "</r>")
    with pytest.raises(ModelFileError, match="more than 100 attributes"):
        xml.parse("<r " + " ".join(f'a{i}="1"' for i in range(101)) + "/>")
    monkeypatch.setattr(xml, "MAX_BYTES", 1000)
    with pytest.raises(ModelFileError, match="at most 0 MB"):
        xml.parse("<r>" + " " * 1000 + "</r>")
    big = tmp_path / "big.urdf"
    with open(big, "wb") as f:
        f.truncate(80 * 2**20)
    with pytest.raises(ModelFileError, match="has 80 MB; needed: at most 64 MB"):
        xml.parse(big)


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(ModelFileError, match=r"no\.urdf: could not be read: No such file"):
        xml.parse(tmp_path / "no.urdf")
    with pytest.raises(ModelFileError, match="no regular file"):
        xml.parse(tmp_path)
    with pytest.raises(ModelFileError, match="no regular file"):
        xml.parse("/dev/zero")
    with pytest.raises(ModelFileError, match="could not be read"):
        xml.parse("a\0b")
    with pytest.raises(ModelFileError, match="neither the path of a file nor a text"):
        xml.parse("robot\n<link/>")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("1 2", "has 2 numbers in its attribute 'xyz', '1 2'; needed: 3 numbers"),
        ("1 2 3 4", "has 4 numbers"),
        ("1 2 x", "'x' in its attribute 'xyz', which is no number"),
        ("-junk0.0001 0 0", "'-junk0.0001'"),
        ("nan 0 0", "'nan' .* not finite"),
        ("0 -inf 0", "'-inf' .* not finite"),
        ("1e999 0 0", "beyond"),
        ("1_0 0 0", "no number"),
        ("٣ 0 0", "no number"),
        ("1,2,3", "no number"),
        ("0x10 0 0", "no number"),
        ("1" * 500 + " 0 0", "no number"),
        ("", "an empty attribute 'xyz'"),
    ],
)
def test_numbers_are_finite_and_counted(value, words):
    e = xml.parse(f'<robot>\n<origin xyz="{value}"/></robot>', file="arm.urdf").find("origin")
    with pytest.raises(ModelFileError, match=words) as caught:
        e.numbers("xyz", 3)
    assert str(caught.value).startswith("arm.urdf:2: <origin>")
    assert (caught.value.file, caught.value.line) == ("arm.urdf", 2)


def test_defaults_stand_for_absent_attributes_only():
    e = xml.parse('<limit lower="-inf" upper="2"/>')
    assert e.number("effort", 7.0) == 7.0
    assert e.number("effort", None) is None
    assert e.numbers("xyz", 3, (0, 0, 1)).tolist() == [0, 0, 1]
    assert e.number("lower", finite=False) == -np.inf
    with pytest.raises(ModelFileError, match="not finite"):
        e.number("lower", 0.0)
    with pytest.raises(ModelFileError, match="has no attribute 'velocity'"):
        e.number("velocity")
    with pytest.raises(ModelFileError, match="not finite"):
        xml.parse('<limit lower="nan"/>').number("lower", finite=False)


def test_children_that_must_be_one_are_one():
    root = xml.parse('<joint name="j">\n<axis/>\n<axis/>\n</joint>', file="f")
    with pytest.raises(ModelFileError, match="f:3: <axis> is the second <axis> of <joint> 'j'"):
        root.only("axis")
    with pytest.raises(ModelFileError, match="f:1: <joint> 'j' has no <parent>"):
        root.child("parent")
    with pytest.raises(ModelFileError, match="needed: one of a, b"):
        xml.parse('<joint type="c"/>').choice("type", ["a", "b"])


def test_control_characters_of_a_file_do_not_reach_the_message():
    e = xml.parse('<j name="a&#10;b&#x200b;&#9;c"/>')
    assert "\n" not in str(e)
    assert "\u200b" not in str(e)
    assert len(str(xml.parse(f'<j name="{"x" * 10000}"/>'))) < 100


def test_errors_are_pickled_with_their_place():
    error = pickle.loads(pickle.dumps(ModelFileError("is wrong.", "a.urdf", 3)))
    assert (str(error), error.file, error.line) == ("a.urdf:3: is wrong.", "a.urdf", 3)


def test_mutated_texts_give_trees_or_clean_errors():
    """Bytes flipped, cut and doubled: only ModelFileError is ever raised."""
    rng = random.Random(19)
    good = b'<?xml version="1.0"?>\n<robot name="r"><link name="a"><mass value="1"/></link></robot>'
    refused = 0
    for _ in range(3000):
        data = bytearray(good)
        for _ in range(rng.randint(1, 5)):
            k = rng.randrange(len(data))
            kind = rng.randrange(3)
            if kind == 0:
                data[k] = rng.randrange(256)
            elif kind == 1:
                del data[k : k + rng.randint(1, 9)]
            else:
                data[k:k] = data[: rng.randint(1, 30)]
            if not data:
                data = bytearray(b" ")
        try:
            xml.parse(bytes(data), file="x")
        except ModelFileError:
            refused += 1
    assert 1000 < refused < 3000


# --- folders ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "model"
    (root / "parts").mkdir(parents=True)
    (root / "parts" / "leg.xml").write_text("<leg/>")
    (tmp_path / "secret.xml").write_text("<secret/>")
    (root / "out.xml").symlink_to(tmp_path / "secret.xml")
    (root / "outside").symlink_to(tmp_path)
    (root / "in.xml").symlink_to(root / "parts" / "leg.xml")
    (root / "round.xml").symlink_to(root / "round.xml")
    return Folder(root)


def test_files_inside_the_folder_are_read(folder):
    assert folder.read("parts/leg.xml").tag == "leg"
    assert folder.read("./parts/leg.xml").file == "parts/leg.xml"
    assert folder.read("in.xml").tag == "leg"
    assert folder.read("leg.xml", near=folder.root / "parts").tag == "leg"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../secret.xml", r"leaves the folder by '\.\.'"),
        ("parts/../../secret.xml", r"'\.\.'"),
        ("/etc/passwd", "relative path"),
        ("~/x.xml", "relative path"),
        ("C:\\x.xml", "relative path"),
        ("parts\\leg.xml", "forward slashes"),
        ("http://localhost/x.xml", "an address"),
        ("file:///etc/passwd", "an address"),
        ("file:secret.xml", "an address"),
        ("out.xml", "symbolic link out"),
        ("outside/secret.xml", "symbolic link out"),
        ("round.xml", "round.xml"),
        ("parts", "no such file"),
        ("none.xml", "no such file"),
        ("", "relative path"),
        ("a\0b", "relative path"),
        ("x" * 5000, "cannot be found|no such file"),
    ],
)
def test_nothing_outside_the_folder_is_read(folder, name, words):
    e = xml.Element("include", {}, "m.xml", 7)
    with pytest.raises(ModelFileError, match=words) as caught:
        folder.resolve(name, e)
    assert str(caught.value).startswith("m.xml:7: <include> asks for")


def test_includes_end(folder, monkeypatch):
    leg = folder.resolve("parts/leg.xml")
    with folder.inside(leg), pytest.raises(ModelFileError, match=r"includes itself: leg\.xml → leg\.xml"):
        folder.inside(folder.resolve("in.xml")).__enter__()
    with folder.inside(leg):  # once left it may be read again
        pass
    monkeypatch.setattr("dalembert.formats.folder.MAX_FILES", 3)
    for _ in range(3):
        folder.read("parts/leg.xml")
    with pytest.raises(ModelFileError, match="more than 3 files"):
        folder.read("parts/leg.xml")


def test_notes_come_in_the_order_of_lines_and_strict_refuses_them():
    a, b = xml.Element("sensor", {"name": "imu"}, "m.urdf", 12), xml.Element("gazebo", {}, "m.urdf", 3)
    notes = Notes()
    notes.add(a, "sensors are not modelled")
    notes.add(b, "is left out")
    assert [str(n) for n in notes.done()] == [
        "m.urdf:3: <gazebo>: is left out",
        "m.urdf:12: <sensor> 'imu': sensors are not modelled",
    ]
    strict = Notes(strict=True)
    assert strict.done() == []
    strict.add(a, "sensors are not modelled")
    with pytest.raises(DalembertError, match=r"1 element.*strict=True.*\n.*m\.urdf:12: <sensor>"):
        strict.done()
