"""A file written in other ways is the same mechanism: encodings, line ends, comments, orders, forms of numbers."""

import random
import re
from xml.etree import ElementTree

import numpy as np
import pytest

import dalembert as da
from dalembert.formats.model import text_of
from file_samples import MJCF, SDF, URDF

pytest.importorskip("mujoco", reason="MJCF files are read through MuJoCo's compiler, which is not installed")
SAMPLES = {
    **{f"{name}.urdf": text for name, text in URDF.items()},
    **{f"{name}.sdf": text for name, text in SDF.items() if name != "include"},
    **{f"{name}.xml": text for name, text in MJCF.items()},
}


def between(text, what):
    """Something between every two elements."""
    return re.sub(r">\s*<", f">{what}<", text)


def other_numbers(text):
    """0.1 as 1.0000000000000001e-01, with blanks and line ends around."""
    number = r"-?\d+\.\d+"
    forms = lambda m: " ".join(f"{float(w):.17e}" if re.fullmatch(number, w) else w for w in m[2].split())  # noqa: E731
    return re.sub(rf'(?<!version=)([">])((?:{number}|\d|\s)+)(?=["<])', lambda m: f"{m[1]} \n\t{forms(m)} ", text)


def other_order(text, r):
    root = ElementTree.fromstring(text.replace("drake:", "drake."))
    for e in root.iter():
        items = list(e.attrib.items())
        r.shuffle(items)
        e.attrib.clear()
        e.attrib.update(items)
    return ElementTree.tostring(root, "unicode").replace("drake.", "drake:")


WAYS = {
    "DOS line ends": lambda text, r: text.replace("\n", "\r\n").encode(),
    "byte order mark": lambda text, r: text.encode("utf-8-sig"),
    "UTF-16": lambda text, r: ('<?xml version="1.0" encoding="UTF-16"?>' + text).encode("utf-16"),
    "Latin-1": lambda text, r: ('<?xml version="1.0" encoding="ISO-8859-1"?><!-- é -->' + text).encode("latin-1"),
    "comments": lambda text, r: between(text, "<!-- a > b & <c/> -->\n<?editor x?>").encode(),
    "name spaces": lambda text, r: re.sub(
        r"<(robot|sdf|mujoco)\b", r'<\1 xmlns:x="http://x/y#z"', text, count=1
    ).encode(),
    "attributes in another order": lambda text, r: other_order(text, r).encode(),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sample", SAMPLES)
def test_the_same_file_in_another_form_is_the_same_mechanism(sample, way, tmp_path):
    """To the last bit, by our own format."""
    path = tmp_path / sample
    path.write_text(SAMPLES[sample])
    plain = text_of(da.read(path))
    if way == "name spaces" and "xmlns" in SAMPLES[sample]:
        return
    path.write_bytes(WAYS[way](SAMPLES[sample], random.Random(1)))
    assert text_of(da.read(path)) == plain


@pytest.mark.parametrize("sample", SAMPLES)
def test_numbers_in_other_forms_are_the_same_numbers(sample, tmp_path):
    path = tmp_path / sample
    path.write_text(SAMPLES[sample])
    plain = text_of(da.read(path))
    changed = other_numbers(SAMPLES[sample])
    assert "e-01" in changed or sample == "weld.xml"
    path.write_text(changed)
    assert text_of(da.read(path)) == plain


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sample", URDF)
def test_elements_of_a_urdf_come_in_any_order_and_names_may_be_anything(sample, seed):
    """M and the rows of constraints, by the names of the velocities."""
    r = random.Random(seed)
    root = ElementTree.fromstring(URDF[sample].replace("drake:", "drake."))
    for e in [root, *root.findall("link"), *root.findall("joint")]:
        e[:] = r.sample(list(e), len(e))
    names = {e.get("name") for e in root if e.tag in ("link", "joint", "drake.joint")} - {"world"}
    for e in root.iter():
        for key in ("name", "link", "joint"):
            if e.get(key) in names:
                e.set(key, f"robot/é {e.get(key)}")
    changed = ElementTree.tostring(root, "unicode").replace("drake.", "drake:")
    one, two = (da.read_urdf(text).compile("casadi") for text in (URDF[sample], changed))
    other = [name.replace("robot/é ", "") for name in two.v_names]
    assert sorted(other) == sorted(one.v_names)
    at = [other.index(name) for name in one.v_names]
    x, y = one.state(), two.state()
    np.testing.assert_allclose(two.mass_matrix(y)[np.ix_(at, at)], one.mass_matrix(x), rtol=0, atol=1e-14)
    A, B = one.constraint_matrix(x), two.constraint_matrix(y)[:, at]
    assert np.linalg.matrix_rank(A) == np.linalg.matrix_rank(B) == np.linalg.matrix_rank(np.vstack([A, B]))


def test_a_chain_of_mimicking_joints_follows_its_first():
    """C follows B, which follows A, in whatever order they stand."""
    mass = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    links = "".join(f'<link name="{n}">{mass}</link>' for n in "gabc")
    joint = '<joint name="{}" type="continuous"><parent link="g"/><child link="{}"/>{}</joint>'
    tie = '<mimic joint="{}" multiplier="{}" offset="{}"/>'
    parts = [
        joint.format("C", "c", tie.format("B", 3, 0.1)),
        joint.format("B", "b", tie.format("A", -2, 0.5)),
        joint.format("A", "a", ""),
    ]
    system = da.read_urdf(f'<robot name="r">{links}{"".join(parts)}</robot>').compile("casadi")
    x = system.assemble({"A": 0.7})
    assert x["B"] == pytest.approx(-2 * 0.7 + 0.5, abs=1e-12)
    assert x["C"] == pytest.approx(3 * x["B"] + 0.1, abs=1e-12)
