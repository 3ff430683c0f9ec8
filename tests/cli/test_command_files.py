"""The command line on model files and scenarios."""

import json

import numpy as np
import pytest

from command_lines import ROOT
from dalembert import zoo

FILE = ROOT / "examples" / "models" / "four_bar.yaml"


def test_parameters_of_a_file_are_set(answer, dal):
    found = answer("assemble", FILE, "--at", "A=0.6", "--set", "coupler=0.65")
    expected = zoo.four_bar_start(0.6, coupler=0.65)[0]
    np.testing.assert_allclose(found["positions"]["value"], [expected[n] for n in "ABD"], atol=1e-10)
    code, _, err = dal("assemble", FILE, "--set", "copler=0.65")
    assert code == 2
    assert "--set: there is no parameter 'copler'; known: " in err
    assert "Did you mean 'coupler'?" in err
    code, _, err = dal("assemble", FILE, "--set", "coupler=nan")
    assert code == 2
    assert "finite" in err
    swept = answer("sweep", FILE, "A", 0.1, 0.7, "--steps", 2, "--frame", "coupler", "--set", "crank=0.21")["positions"]
    np.testing.assert_allclose(swept["coupler.x"], 0.21 * np.cos(swept["A"]), atol=1e-12)


@pytest.mark.parametrize("name", ["four_bar", "loader", "cart_pole"])
def test_zoo_mechanisms_are_copied_out_with_their_start(answer, dal, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert dal("zoo", "copy", name) == (0, f"{name}.yaml\n", "")
    assert answer("assemble", f"{name}.yaml")["state"] == answer("assemble", name)["state"]
    code, _, err = dal("zoo", "copy", name)
    assert code == 3
    assert "exists; add --force" in err
    assert dal("zoo", "copy", name, f"{name}.yaml", "--force")[0] == 0


@pytest.mark.parametrize("suffix", ["yaml", "json", "urdf", "sdf", "xml"])
def test_a_model_is_the_same_in_every_format(answer, dal, tmp_path, suffix):
    """Converted, read again, and asked for positions and a linear model."""
    if suffix == "xml":
        pytest.importorskip("mujoco")
    target = tmp_path / f"other.{suffix}"
    code, out, err = dal("convert", "four_bar", target)
    assert (code, err) == (0, ""), err
    assert out.startswith(f"four-bar → {target}\n")
    assert answer("check", target)["closes"]
    code, _, err = dal("convert", "four_bar", target)
    assert code == 3
    question = ("--at", "A=0.6")
    expected, found = (answer("assemble", m, *question)["positions"] for m in ("four_bar", target))
    names = dict(zip(expected["name"], expected["value"]))
    assert {n: pytest.approx(x, abs=1e-9) for n, x in names.items()} == dict(zip(found["name"], found["value"]))
    question += ("--speed", "A=0", "--independent", "A")
    expected, found = (answer("linearize", m, *question) for m in ("four_bar", target))
    lost = {"urdf": "A", "sdf": "B"}.get(suffix)  # URDF cannot say what gravity is, SDF what drives a joint
    for name in {"A", "B"} - {lost}:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-12)
    assert ("not written: " in out) == (lost is not None)


def test_notes_of_a_file_are_listed(answer, dal, tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(
        """<robot name="arm">
  <link name="base"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
  <link name="rod"><inertial><mass value="1"/><origin xyz="0.5 0 0"/>
    <inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="A" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint>
  <gazebo reference="rod"><selfCollide>true</selfCollide></gazebo>
</robot>
"""
    )
    code, out, err = dal("check", path)
    assert (code, err) == (0, "")
    assert f"\n  {path}:6: <gazebo>" in out or "arm.urdf:6: <gazebo>" in out
    assert answer("check", path)["notes"]["line"] == [6]
    code, out, err = dal("check", path, "--strict")
    assert (code, out) == (3, "")
    assert "<gazebo>" in err
    assert dal("convert", path, tmp_path / "a.json", "--strict")[0] == 1
    assert dal("convert", path, tmp_path / "b.json", "--base", "free")[0] == 0
    assert answer("check", tmp_path / "b.json")["velocities"] == 7
    assert dal("convert", tmp_path / "b.json", tmp_path / "c.json", "--base", "free")[0] == 2


def test_wrong_model_files_are_told_with_their_line(dal, tmp_path):
    path = tmp_path / "wrong.yaml"
    path.write_text(FILE.read_text().replace("type: revolute", "type: revolut", 1))
    assert path.read_text() != FILE.read_text()
    code, out, err = dal("report", path)
    assert (code, out) == (3, "")
    assert err.startswith(f"dalembert: {path}:")
    assert "revolut" in err


SCENARIO = """\
scenario: 1
title: a four-bar with a longer crank
model: four_bar
set: {crank: 0.21}
at: {A: 0.6}
speed: {A: 2}
tolerances: {rtol: 1.0e-8}
run:
  - report
  - simulate: {time: 1, every: 0.1, input: {torque: 0.5}, output: run.csv}
  - sweep: {joint: A, start: -0.5, end: 0.5, steps: 4, frame: [coupler, rocker], output: sweep.json}
  - linearize: {independent: [A], speed: {A: 0}, output: linear.json}
  - view: {time: 0.2, output: four_bar.html}
"""


def test_a_scenario_gives_the_answers_of_its_commands(dal, tmp_path):
    (tmp_path / "study.yaml").write_text(SCENARIO)
    code, out, err = dal("run", tmp_path / "study.yaml")
    assert (code, err) == (0, "")
    assert "mobility:             1" in out
    same = ("--set", "crank=0.21", "--at", "A=0.6")
    alone = dal("simulate", "four_bar", 1, *same, "--speed", "A=2", "--every", 0.1, "--input", "torque=0.5",
                "--rtol", "1e-8", "--csv")[1]  # fmt: skip
    assert (tmp_path / "run.csv").read_text() == alone
    alone = dal("linearize", "four_bar", *same, "--speed", "A=0", "--independent", "A", "--json")[1]
    assert (tmp_path / "linear.json").read_text() == alone
    swept = json.loads((tmp_path / "sweep.json").read_text())["positions"]
    assert swept["A"] == pytest.approx([-0.5, -0.25, 0, 0.25, 0.5])
    assert {"coupler.x", "rocker.z"} < set(swept)
    assert (tmp_path / "four_bar.html").exists()


def test_a_scenario_is_reproducible_and_may_be_json(dal, tmp_path):
    steps = [{"simulate": {"time": 0.5, "output": "run.csv"}}]
    (tmp_path / "study.json").write_text(json.dumps({"scenario": 1, "model": "four_bar", "run": steps}))
    for name in ("one", "two"):
        assert dal("run", tmp_path / "study.json", "--folder", tmp_path / name)[0] == 0
    assert (tmp_path / "one" / "run.csv").read_bytes() == (tmp_path / "two" / "run.csv").read_bytes()


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("scenario: 1", "scenario: 7", "needs the line 'scenario: 1'"),
        ("model: four_bar\n", "", "needs the key 'model'"),
        ("tolerances", "tolerance", "study.yaml:7: has the key 'tolerance'; known: "),
        ("rtol", "rtl", "study.yaml:7: 'tolerances' has 'rtl'; known: rtol, atol. Did you mean 'rtol'?"),
        ("  - report", "  - reprt", "study.yaml:9: has 'reprt' in 'run'; known: "),
        ("every:", "evry:", "study.yaml:10: 'simulate' has no option 'evry'; known: "),
        ("time: 1,", "time: one,", "study.yaml:10: 'simulate': Invalid value for 'TIME': 'one' is no number."),
        ("time: 1,", "", "study.yaml:10: 'simulate': Missing argument 'TIME'"),
        ("output: run.csv", "output: ../run.csv", "needed: a file inside the folder of the scenario"),
        ("output: run.csv", "output: /elsewhere/run.csv", "needed: a file inside the folder of the scenario"),
        ("output: run.csv", "resume: 3", "'resume' is 3; needed: true or false"),
        ("{A: 0.6}", "[0.6]", "study.yaml:5: 'at' is [0.6]; needed: names and values"),
        ("run:\n", "run: all\nmore:\n", "has the key 'more'"),
        ("{crank: 0.21}", "!!python/object {}", "study.yaml:4:"),
        ("steps: 4", "steps: 0", "study.yaml:11: 'sweep': Invalid value for '--steps'"),
        ("{crank: 0.21}", "{crnk: 0.21}", "study.yaml:9: 'report': --set asks for parameter 'crnk'; known: "),
        ("{A: 0.6}", "{Z: 0.6}", "study.yaml:9: 'report': --at asks for coordinate 'Z'; known: A, B, D."),
        ("  - report", "  - report: {state: up}", "study.yaml:9: 'report': "),
        ("  - report", "  - simulate: {time: 1, input: {push: 3}}", "study.yaml:9: 'simulate': --input asks for input"),
        ("  - report", "  - simulate: {time: 1, input: {torque: q(}}", "study.yaml:9: 'simulate': --input torque"),
        ("  - report", "  - sweep: {joint: Z, start: 0, end: 1}", "study.yaml:9: 'sweep': joint asks for coordinate"),
        ("  - report", "  - equilibrium: {steady: [Z]}", "study.yaml:9: 'equilibrium': --steady asks for velocity 'Z'"),
        ("  - report", "  - linearize: {independent: Z}", "study.yaml:9: 'linearize': --independent asks for"),
        ("output: run.csv", "output: run.foo", "study.yaml:10: 'simulate': '{folder}/run.foo' has the suffix '.foo'"),
    ],
)
def test_wrong_scenarios_are_refused_before_anything_is_run(dal, tmp_path, old, new, sentence):
    assert old in SCENARIO
    (tmp_path / "study.yaml").write_text(SCENARIO.replace(old, new, 1))
    code, out, err = dal("run", tmp_path / "study.yaml")
    assert (code, out) == (3, ""), err
    assert sentence.replace("{folder}", str(tmp_path)) in err
    assert [p.name for p in tmp_path.iterdir()] == ["study.yaml"]


def test_a_scenario_ends_with_the_first_command_that_fails(dal, tmp_path):
    text = "scenario: 1\nmodel: four_bar\nrun:\n  - simulate: {time: 5, max-steps: 3}\n  - report\n"
    (tmp_path / "study.yaml").write_text(text)
    code, out, err = dal("run", tmp_path / "study.yaml")
    assert code == 1
    assert "mobility" not in out
    assert "study.yaml:4: 'simulate' ended with 1" in err


def test_notes_that_are_alike_are_one_line(dal, tmp_path):
    """A file with forty sensors and forty meshes; JSON has them all."""
    links = "".join(
        f"""<link name="l{k}"><visual><geometry><mesh filename="part{k}.stl"/></geometry></visual></link>
<joint name="j{k}" type="fixed"><parent link="base"/><child link="l{k}"/></joint><sensor name="s{k}"/>
"""
        for k in range(40)
    )
    (tmp_path / "many.urdf").write_text(f'<robot name="many"><link name="base"/>{links}</robot>')
    code, out, _ = dal("check", tmp_path / "many.urdf")
    assert code == 0
    noted = [line for line in out.splitlines() if "many.urdf:" in line]
    assert len(noted) == 2
    assert any("<sensor> 's0': sensors are not modelled (and 39 more like it, on lines 4, 6, 8, 10, 12, 14, …)" in n
               for n in noted)  # fmt: skip
    _, out, _ = dal("convert", tmp_path / "many.urdf", tmp_path / "many.yaml")
    assert out.count("not read:") == 2
    _, out, _ = dal("check", tmp_path / "many.urdf", "--json")
    assert len(json.loads(out)["notes"]["line"]) == 80
    code, _, err = dal("check", tmp_path / "many.urdf", "--strict")
    assert code == 3
    assert len(err.splitlines()) == 3


def test_a_suffix_that_says_no_form_is_refused(dal, tmp_path):
    code, out, err = dal("report", "four_bar", "-o", tmp_path / "out.foo")
    assert (code, out) == (2, "")
    assert "has the suffix '.foo', which says no form; needed: .txt, .json, .csv, .arrow, or none." in err
    assert list(tmp_path.iterdir()) == []
    for name in ("out", "out.txt"):
        assert dal("report", "four_bar", "-o", tmp_path / name)[0] == 0
    assert dal("report", "four_bar", "--json", "-o", tmp_path / "out.foo")[0] == 0


def test_tables_keep_to_the_width_of_a_terminal(monkeypatch):
    from dalembert.cli import answer

    columns = {"t": [0.0, 0.5], **{f"q.joint{k}": [1.0 / (k + 3), -2.0] for k in range(6)}}
    wide = answer.grid(columns)
    assert len(wide.splitlines()) == 3
    monkeypatch.setattr(answer, "_room", lambda: 40)
    narrow = answer.grid(columns)
    assert max(map(len, narrow.splitlines())) <= 40
    blocks = narrow.split("\n\n")
    assert [block.split()[0] for block in blocks] == ["t"] * len(blocks)
    assert sorted(set(narrow.split())) == sorted(set(wide.split()))
    monkeypatch.setattr(answer, "_room", lambda: 3)  # one column a block at least
    assert len(answer.grid(columns).split("\n\n")) == 6
