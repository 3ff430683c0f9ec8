"""Model files on disk: examples, the door by suffix, comments, the schema, and what an error says."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from mini_schema import valid
from test_model_roundtrip import assert_same, everything

import dalembert as da
from dalembert import zoo
from dalembert.formats import yaml
from dalembert.formats.model import read_text, schema, text_of
from dalembert.formats.model.schema import made

MODELS = Path(__file__).parents[2] / "examples" / "models"
EXAMPLES = sorted(MODELS.glob("*.yaml"))


def test_the_four_bar_of_the_example_is_the_one_written_in_python():
    m = da.read(MODELS / "four_bar.yaml")
    other = da.Mechanism("four-bar", gravity=(0, -9.81, 0))
    p = {"crank": 0.2, "coupler": 0.6, "rocker": 0.4}
    bars = {
        n: other.add_body(n, mass=5.0 * l, com=(l / 2, 0, 0), inertia=da.rod_inertia(5.0 * l, l)) for n, l in p.items()
    }
    z = da.Revolute("z")
    other.add_joint("A", z, other.ground, bars["crank"])
    other.add_joint("B", z, bars["crank"].at(0.2, 0, 0), bars["coupler"])
    other.add_joint("D", z, other.ground.at(0.55, 0, 0), bars["rocker"], damping=0.02)
    other.close_loop("C", z, bars["coupler"].at(0.6, 0, 0), bars["rocker"].at(0.4, 0, 0))
    other.add_motor("drive", "A")
    one, two = m.compile("casadi"), other.compile("casadi")
    x = one.project(one.named_state("start"))
    y = two.state(x.q, x.v)
    assert np.abs(two.residuals(y)).max() < 1e-12
    a, b = one.acceleration(x, u={"drive": 0.3}).vdot, two.acceleration(y, u={"drive": 0.3}).vdot
    assert np.allclose(a, b, rtol=1e-12)


def test_the_forces_of_the_slider_crank_are_those_of_its_formulas():
    system = da.read(MODELS / "slider_crank.yaml").compile("casadi")
    x = system.state({"crank": 0.4, "rod": -0.5, "slide": 0.395}, v={"slide": -3.0})
    Q = dict(zip(system.v_names, system.applied_forces(x, u={"motor": 1.5})))
    length = 0.6 - 0.395
    spring = 800.0 * (length - 0.25) + 2.0 * 3.0  # pulls the slider to +x where it is stretched; it grows at 3 m/s
    buffer = -2e5 * (0.395 - 0.38) ** 1.5
    assert Q["crank"] == pytest.approx(1.5, rel=1e-14)
    assert Q["slide"] == pytest.approx(spring + buffer + 0.4 * 9.0, rel=1e-12)
    assert list(system.layout.joints["slide"].limits[0]) == [-np.inf, 0.42]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_come_back_bit_by_bit_and_follow_the_schema(path, tmp_path):
    m = da.read(path)
    for name in ("copy.yaml", "copy.json", "copy.yml"):
        assert m.save(tmp_path / name) == []
        assert_same(m, da.read(tmp_path / name), 1)
    assert valid(yaml.load(path), schema(), schema())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_saving_over_a_file_keeps_what_did_not_change_to_the_letter(path, tmp_path):
    copy = tmp_path / "copy.yaml"
    copy.write_text(path.read_text())
    da.read(copy).save(copy)
    assert copy.read_text() == path.read_text()


def test_saving_over_a_file_keeps_the_comments_of_what_changed(tmp_path):
    copy = tmp_path / "copy.yaml"
    copy.write_text((MODELS / "slider_crank.yaml").read_text())
    m = da.read(copy)
    m.parameters.values["k"][:] = 900.0
    del m.forces["drag"]
    m.add_joint_force("more", "slide", lambda s: -3.0 * s["slide"])
    m.save(copy)
    old, new = (MODELS / "slider_crank.yaml").read_text(), copy.read_text()
    assert "k: 900.0 # spring, N/m" in new
    assert "inertia: {box: {sides: [0.06, 0.04, 0.04]}}" in new
    gone = set(old.splitlines()) - set(new.splitlines())
    assert len(gone) == 5  # the old k, and four lines of the force that went
    assert_same(m, da.read(copy), 1)


def test_saving_never_trusts_what_was_there(tmp_path):
    """A body whose inertia the file computes from its mass gets numbers where the mass alone changes."""
    path = tmp_path / "m.yaml"
    path.write_text(
        "dalembert: 1\nname: m\nbodies:\n  # the rod\n  rod: {mass: 2, com: [1, 0, 0], inertia: {rod: {length: 1}}}\n"
        "joints:\n  A: {type: revolute, parent: ground, child: rod, damping: 1, friction: 2}\n"
    )
    m = da.read(path)
    other = da.Mechanism("m", gravity=m.gravity)
    other.add_body("rod", mass=3.0, com=(1, 0, 0), inertia=np.diag(np.diag(m.bodies["rod"].inertia).astype(float)))
    other.add_joint("A", da.Revolute("z"), other.ground, "rod", damping=4.0, friction=2.0)
    other.save(path)
    assert "# the rod" in path.read_text()
    assert_same(other, da.read(path), 1)
    for junk in ("not: a model", "\0\1", "a: [", "dalembert: 1\nname: another"):
        path.write_text(junk)
        other.save(path)
        assert_same(other, da.read(path), 1)


def test_a_failed_save_leaves_the_older_file(tmp_path):
    path = tmp_path / "m.yaml"
    m = zoo.four_bar()
    m.save(path)
    before = path.read_text()
    m.add_joint_force("bad", "A", lambda s: 1 / 0)
    with pytest.raises(da.DescriptionError, match="bad"):
        m.save(path)
    assert path.read_text() == before
    with pytest.raises(da.ModelFileError, match="could not be written"):
        zoo.four_bar().save(tmp_path / "no" / "such" / "folder.yaml")


# --- the door ----------------------------------------------------------------------------------------------------


def test_the_suffix_chooses_the_format(tmp_path):
    m = zoo.four_bar()
    for suffix in (".yaml", ".yml", ".json", ".YAML"):
        m.save(tmp_path / f"m{suffix}")
        assert da.read(tmp_path / f"m{suffix}").name == m.name
        assert da.read_model(tmp_path / f"m{suffix}", strict=True).name == m.name
    assert json.loads((tmp_path / "m.json").read_text())["dalembert"] == 1
    for name in ("m", "m.txt", "m.stl"):
        with pytest.raises(da.ModelFileError, match="belongs to no format"):
            da.read(tmp_path / name)
        with pytest.raises(da.ModelFileError, match="belongs to no format"):
            m.save(tmp_path / name)
    (tmp_path / "m.xml").write_text("<?xml version='1.0'?><!-- <robot> --><html></html>")
    with pytest.raises(da.ModelFileError, match="<html>; needed: <mujoco>, <robot>"):
        da.read(tmp_path / "m.xml")
    for bad in (3, "", None, "a\0b.yaml"):
        with pytest.raises(da.ModelFileError):
            da.read(bad)
    with pytest.raises(da.ModelFileError, match="could not be read"):
        da.read(tmp_path / "absent.yaml")
    with pytest.raises(da.ModelFileError, match="could not be read"):
        da.read(tmp_path / "absent.xml")
    with pytest.raises(da.ArgumentError, match="options of reading model files have no 'bogus'"):
        da.read(tmp_path / "m.yaml", bogus=1)


def test_json_needs_no_library_and_yaml_says_which_it_needs(monkeypatch, tmp_path):
    m = zoo.four_bar()
    for name in ("m.json", "m.yaml"):
        m.save(tmp_path / name)
    monkeypatch.setitem(sys.modules, "ruamel.yaml", None)
    assert da.read(tmp_path / "m.json").name == m.name
    with pytest.raises(da.MissingExtra, match=r"dalembert\[yaml\]"):
        da.read(tmp_path / "m.yaml")
    m.save(tmp_path / "m.yaml")
    m.save(tmp_path / "n.yaml")


# --- the schema --------------------------------------------------------------------------------------------------


def test_the_schema_that_is_shipped_is_made_of_the_words_the_reader_knows():
    assert schema() == made()


@pytest.mark.parametrize("name", ["everything", *zoo.CATALOG])
def test_what_is_saved_follows_the_schema(name):
    m = everything() if name == "everything" else zoo.CATALOG[name].build()
    rules = schema()
    data = json.loads(text_of(m, json=True))
    assert valid(data, rules, rules)
    assert valid(yaml.loads(text_of(m)), rules, rules)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("dalembert"),
        lambda d: d.update(dalembert=2),
        lambda d: d.update(bodys={}),
        lambda d: d["joints"]["A"].update(tipe="revolute"),
        lambda d: d["joints"]["A"].pop("parent"),
        lambda d: d["joints"]["A"].update(type="revolut"),
        lambda d: d["constraints"]["C"].update(pitch=1),
        lambda d: d["bodies"]["crank"].update(com=[1, 2]),
        lambda d: d["bodies"]["crank"].update(mass=[1]),
        lambda d: d.update(units="mm"),
    ],
)
def test_schema_and_reader_refuse_the_same(change):
    rules = schema()
    data = json.loads(text_of(zoo.four_bar(), json=True))
    assert valid(data, rules, rules)
    change(data)
    assert not valid(data, rules, rules)
    with pytest.raises(da.ModelFileError):
        read_text(json.dumps(data), json=True)


# --- what an error says ------------------------------------------------------------------------------------------

GOOD = """\
dalembert: 1
name: m
parameters: {L: 0.5, gain: [1, 2]}
inputs: {push: 1}
bodies:
  arm: {mass: 2, com: [L, 0, 0], inertia: [1, 1, 1]}
  hand: {mass: 1, inertia: [1, 1, 1]}
joints:
  A: {type: revolute, axis: y, parent: ground, child: arm}
  S: {type: spherical, parent: {body: arm, at: [L, 0, 0]}, child: hand}
forces:
  law: {type: joint force, joint: A, value: "-gain[0]*q(A) + push"}
constraints:
  pin: {type: rod, between: [{body: hand, at: [1, 0, 0]}, ground], length: 2*L}
states:
  home: {q: {A: 0.1}}
"""


def test_the_model_of_the_errors_is_good():
    read_text(GOOD).compile("casadi")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mass: 2", "mas: 2", "text:6: bodies.arm.mas: is no key of a body; known: mass, .*Did you mean 'mass'?"),
        ("mass: 2", "mass: heavy", "text:6: bodies.arm.mass: there is no parameter, input or definition 'heavy'"),
        ("mass: 2", "mass: [2]", "bodies.arm.mass: is a list of 1; needed: a number or an expression"),
        ("mass: 2", "mass: -2", "text:6: bodies.arm: the mass of body 'arm' is -2; it must be at least 0"),
        ("mass: 2", "mass: .nan", "bodies.arm.mass: is not a number"),
        ("mass: 2", "mass: .inf", "bodies.arm.mass: is infinite"),
        ("mass: 2", "mass: 1e999", "bodies.arm.mass: is infinite"),
        ("mass: 2", "mass: true", "bodies.arm.mass: is true; needed: a number or an expression"),
        ("mass: 2", "mass: 9**9**9**9", "bodies.arm.mass: a part of the expression is not finite"),
        ("mass: 2", "mass: push", "'push' is an input"),
        ("mass: 2", "mass: q(A)", r"uses q\(…\), which cannot stand here; it may depend on parameters alone"),
        ("mass: 2", "mass: gain", r"'gain' has 2 numbers; needed: one of them, such as gain\[0\]"),
        ("mass: 2", "mass: 'gain[2]'", r"'gain' has 2 number\(s\), counted from 0; there is no \[2\]"),
        ("com: [L, 0, 0]", "com: [L, 0]", "text:6: bodies.arm.com: is a list of 2; needed: a list of 3"),
        (
            "com: [L, 0, 0]",
            "com: [l, 0, 0]",
            r"text:6: bodies.arm.com\[0\]: there is no parameter.* 'l'; known: L, gain",
        ),
        ("inertia: [1, 1, 1]}\n  hand", "inertia: [1, 1, 3]}\n  hand", "bodies.arm: the inertia of body 'arm'"),
        ("type: revolute", "type: revolut", "text:9: joints.A.type: .*Did you mean 'revolute'"),
        ("type: revolute, ", "", "text:9: joints.A: has no 'type'"),
        ("axis: y", "axis: w", "joints.A.axis: is the text 'w'; needed: one of x, y, z"),
        ("axis: y", "axis: [0, 0, 0]", "joints.A: .* has no direction"),
        ("axis: y", "pitch: 1", "joints.A.pitch: is no key of a revolute joint"),
        ("child: arm", "child: arn", "text:9: joints.A.child: there is no frame or body 'arn'.*Did you mean 'arm'"),
        (", child: arm", "", "text:9: joints.A: has no 'child', which a joint needs"),
        ("child: arm", "child: 3", "joints.A.child: is 3; needed: the name of a body or frame"),
        ("child: hand", "child: arm", "joints.S: joint 'S' connects body 'arm' with itself"),
        ("joint: A,", "joint: AA,", "text:12: forces.law: .*Did you mean 'A'"),
        ("q(A)", "q(B)", "text:12: forces.law.value: there is no joint or coordinate 'B'; known: A, S"),
        ("q(A)", "q(S)", r"'q\(S\)' has 4 numbers; needed: one of them"),
        ("q(A)", "A", r"The coordinate of joint 'A' is q\(A\)"),
        ("q(A)", "sn(1)", "function 'sn', which is not known.*Did you mean 'sin'"),
        ("q(A)", "position(han).x", "there is no frame or body 'han'.*Did you mean 'hand'"),
        ("q(A)", "(1 + ", "forces.law.value: the expression ends; needed"),
        ("type: rod", "type: rods", "text:14: constraints.pin.type: .*Did you mean 'rod'"),
        ("length: 2*L", "length: push", "'push' is an input, which only a force"),
        ("length: 2*L", "length: -1", "constraints.pin: the length of rod 'pin' is -1"),
        (
            "between: [{body: hand, at: [1, 0, 0]}, ground]",
            "between: [hand]",
            "constraints.pin.between: is a list of 1",
        ),
        ("A: 0.1", "AA: 0.1", "text:16: states.home: .*Did you mean 'A'"),
        ("A: 0.1", "A: fast", "text:16: states.home.q.A: there is no parameter, input or definition 'fast'"),
        ("A: 0.1", "A: 2*L", "text:16: states.home.q.A: is the text '2.L', which depends on parameters; needed: a num"),
        ("A: 0.1", "A: '0,1'", r"states.home.q.A: .* A decimal point is a point: 0\.1\."),
        ("mass: 2", "mass: 2 kg", "Numbers are in SI units, without their names; they may end with deg"),
        ("mass: 2", "mass: 2^3", r"Powers are written \*\*\."),
        ("mass: 2", "mass: null", r"text:6: bodies\.arm\.mass: is empty; needed: a value"),
        ("gain: [1, 2]", "gain: '1,5'", r"parameters.gain: is the text '1,5'; needed: a number\. A decimal point"),
        ("{push: 1}", "{push: 0}", "text:4: inputs.push: is 0; needed: a whole number"),
        ("{push: 1}", "{L: 1}", "text:4: inputs.L: there is a parameter 'L' already"),
        ("dalembert: 1", "dalembert: 2", "text:1: dalembert: is 2; needed: 1"),
        ("dalembert: 1", "dalembert: true", "text:1: dalembert: is true; needed: 1"),
        ("dalembert: 1\n", "", "is no model: .*needed: 'dalembert: 1'"),
        ("name: m", "name: m\nunits: mm", "text:3: units: .*needed: SI"),
        ("name: m", "name: [m]", "text:2: name: is a list of 1; needed: a text"),
        ("name: m", "name: m\njoint: {}", "text:3: joint: is no key of a model; .*Did you mean 'joints'"),
        ("gain: [1, 2]", "gain: L", "parameters.gain: is the text 'L'; needed: a number"),
        ("  hand: {", "  arm: {", "text:7: has the key 'arm' twice, first on line 6"),
        ("  hand: {", '  "a\\tb": {', "is no name"),
        ("bodies:", "let: {L: 2}\nbodies:", "'L' cannot be defined: it is a name already"),
        ("bodies:", "let: {sin: 2}\nbodies:", "'sin' cannot be defined"),
        ("bodies:", "let: {a: b, b: 1}\nbodies:", "text:5: let.a: there is no parameter, input or definition 'b'"),
        ("bodies:", "- 1\nbodies:", "is no YAML"),
        ("mass: 2", "mass: gain[0]", "text:6: is no YAML: .*must stand in quotes"),
        ("bodies:", "gravity: 9.81\nbodies:", "text:5: gravity: is 9.81; needed: a list of 3"),
    ],
)
def test_what_is_wrong_is_told_with_file_line_key_and_repair(old, new, message):
    assert GOOD.count(old) == 1
    with pytest.raises(da.ModelFileError, match=message):
        read_text(GOOD.replace(old, new))


def test_a_motor_comes_before_those_who_use_its_input():
    text = GOOD.replace("+ push", "+ 2*drive").replace("forces:\n", "forces:\n  drive: {type: motor, joint: A}\n")
    assert list(read_text(text).inputs) == ["push", "drive"]
    late = GOOD.replace("+ push", "+ 2*drive").replace("constraints:", "  drive: {type: motor, joint: A}\nconstraints:")
    with pytest.raises(da.ModelFileError, match=r"forces.law.value: 'drive' is the input of a motor further down"):
        read_text(late)
    first = text.replace("{push: 1}", "{drive: 1, push: 1}")
    assert list(read_text(first).inputs) == ["drive", "push"]
    with pytest.raises(da.ModelFileError, match=r"inputs.drive: is 2; needed: 1"):
        read_text(text.replace("{push: 1}", "{drive: 2, push: 1}"))


def test_only_models_are_models():
    for text in ("", "3", "[1]", "name: a", "~"):
        with pytest.raises(da.ModelFileError, match="is no model"):
            read_text(text)


def test_holonomic_rows_and_motions_depend_on_what_they_may():
    base = GOOD.split("constraints:")[0]
    for row, message in [
        ("c: {type: expression, holonomic: {a: v(A)}}", r"uses v\(…\)"),
        (
            "c: {type: expression, let: {w: v(A)}, holonomic: {a: w}}",
            "c.holonomic.a: depends on v by a definition, which it cannot; it may depend on parameters and on t, q",
        ),
        ("c: {type: expression}", "has no rows"),
        ("c: {type: driver, coordinate: A, motion: q(A)}", "it may depend on parameters and on t"),
        ("c: {type: loop, joint: free, between: [hand, ground]}", "forbids no motion"),
        ("c: {type: coupling, coefficients: {}}", "names no coordinate"),
    ]:
        with pytest.raises(da.ModelFileError, match=message):
            read_text(base + "constraints:\n  " + row)


def test_forms_that_people_write_mean_what_they_say():
    m = read_text("""
dalembert: 1
parameters: {a: 0.3}
let: {half: a/2}
bodies:
  ground: {shapes: [{type: sphere, size: 0.1}]}
  b1: {mass: 2*a, inertia: {box: {sides: [a, 1, half]}}}
  b2: {mass: 2, inertia: {cylinder: {radius: a, length: 1, axis: x}}, inertia_axes: {axis: z, angle: pi/2}}
  b3: {mass: 2, inertia: {point: {}}, com: [1, 0, 0]}
  b4: {mass: 2, inertia: {sphere: {radius: 0.5}}}
  b5: {mass: 2, inertia: {disc: {radius: 0.5, axis: y}}}
frames:
  f: {body: b1, at: [half, 0, 0], rotation: [{axis: x, angle: a}, {axis: y, angle: -pi/2}]}
  g: {body: f, at: [0, 0, 1]}
  h: {body: b2, rotation: {quaternion: [1, 0, 0, 1]}}
joints:
  j1: {type: free, parent: ground, child: b1}
  j2: {type: planar, axis: [0, 0, 2], parent: f, child: b2, limits: [[-1, 1], [null, 2], [null, null]]}
  j3: {type: revolute, parent: h, child: b3}
  j4: {type: revolute, parent: g, child: b4, friction: 1, damping: 0.5}
  j5: {type: revolute, parent: b4, child: b5}
""")
    assert np.array_equal(m.bodies["b4"].inertia, da.sphere_inertia(2.0, 0.5))
    assert np.array_equal(m.bodies["b5"].inertia, da.disc_inertia(2.0, 0.5, "y"))
    J = m.parameters.number(m.bodies["b1"].inertia, "")
    assert np.allclose(J, da.box_inertia(0.6, (0.3, 1, 0.15)), rtol=1e-15)
    J = m.parameters.number(m.bodies["b2"].inertia, "")
    assert np.allclose(J, da.cylinder_inertia(2.0, 0.3, 1.0, "y"), rtol=1e-12, atol=1e-15)
    R = m.parameters.number(m.frames["f"].T.R, "")
    assert np.allclose(R, da.rotation("x", 0.3) @ da.rotation("y", -np.pi / 2), atol=1e-15)
    p = m.parameters.number(m.frames["g"].T.p, "")
    assert np.allclose(p, [0.15, 0, 0] + R @ [0, 0, 1], atol=1e-15)
    assert np.allclose(m.frames["h"].T.R.astype(float), da.rotation("z", np.pi / 2), atol=1e-15)
    assert m.joints["j4"].damping[0] == 0.5
    assert m.joints["j4"].friction == (da.Friction(1.0),)
    assert m.joints["j2"].limits.tolist() == [[-1, 1], [-np.inf, 2], [-np.inf, np.inf]]
    m.compile("casadi")


def test_angles_of_states_are_numbers_of_expressions():
    m = read_text(GOOD.replace("A: 0.1", "A: -30deg").replace("bodies:", "let: {half: pi/2}\nbodies:"))
    assert m.states["home"].q["A"][0] == pytest.approx(-np.pi / 6, rel=1e-15)
    text = GOOD.replace("A: 0.1", "A: half/3").replace("bodies:", "let: {half: pi/2}\nbodies:")
    assert read_text(text).states["home"].q["A"][0] == pytest.approx(np.pi / 6, rel=1e-15)


def test_every_fault_of_a_file_is_told_and_what_follows_from_one_is_not():
    """The hand has no body of that name; what is said of a body with a fault is no fault of its own."""
    text = (
        "dalembert: 1\nbodies:\n  arm: {mass: -1, com: [1, 0, 0], inertia: [1, 1, 1]}\n  hand: {mas: 1}\n"
        "  foot: {mass: 1, inertia: [1, 1, 1]}\njoints:\n  A: {type: revolut, parent: ground, child: foot}\n"
        "  B: {type: revolute, axis: z, parent: arm, child: hand}\nstates:\n  home: {q: {A: 1}}\n  up: {t: soon}\n"
    )
    with pytest.raises(da.ModelFileError) as caught:
        read_text(text)
    told = str(caught.value).splitlines()
    assert [line.split(": ")[0] for line in told] == ["text:3", "text:4", "text:7", "text:11"]
    assert caught.value.line == 3
    assert "Did you mean 'mass'?" in told[1]
    assert "Did you mean 'revolute'?" in told[2]


def test_many_faults_are_counted():
    bodies = "".join(f"  b{k}: {{mas: 1}}\n" for k in range(40))
    with pytest.raises(da.ModelFileError, match=r"and 19 more$") as caught:
        read_text(f"dalembert: 1\nbodies:\n{bodies}")
    assert len(str(caught.value).splitlines()) == 22


def test_all_faults_of_one_element_are_told_but_not_what_follows_from_them():
    text = (
        "dalembert: 1\nparameters: {r: 0.1}\npoints: {A: [0, 0, 0]}\nbodies:\n"
        "  rod: {mass: 0.8, com: [l/2, 0, 0], inertia: {rod: {lenght: r}},\n"
        "        shapes: [{type: box, size: [1, 1, wide]}]}\n"
        "  block: {mass: heavy, inertia: {box: {sides: [0.06, 0.04]}}}\n"
        "joints:\n  A: {type: revolute, axis: q, between: [ground, rod], at: C, dampin: 0.1}\n"
        "  B: {type: prismatic, axis: x, between: [rod, block], limits: [0.4, 0.1]}\n"
        "forces:\n  s: {type: spring, between: [block, ground], stiffness: 1, damping: 2*k, rest_length: soft}\n"
        "states:\n  up: {q: {A: 1}, v: {A: fast}}\n"
    )
    with pytest.raises(da.ModelFileError) as caught:
        read_text(text)
    told = [line.split(": ")[:2] for line in str(caught.value).splitlines()]
    assert told == [
        ["text:5", "bodies.rod.com[0]"],
        ["text:5", "bodies.rod.inertia.rod.lenght"],
        ["text:6", "bodies.rod.shapes[0].size[2]"],
        ["text:7", "bodies.block.mass"],
        ["text:7", "bodies.block.inertia.box.sides"],
        ["text:9", "joints.A.dampin"],
        ["text:9", "joints.A.axis"],
        ["text:9", "joints.A.at"],
        ["text:10", "joints.B"],
        ["text:12", "forces.s.damping"],
        ["text:12", "forces.s.rest_length"],
        ["text:14", "states.up.v.A"],
    ]
