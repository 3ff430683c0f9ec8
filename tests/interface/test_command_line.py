"""The command line: answers are those of the library, in every form; errors are sentences and exit codes."""

import csv
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import casadi as ca
import numpy as np
import pyarrow as pa
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.cli import app as application
from dalembert.cli import sweep as sweep_module
from dalembert.cli.answer import grid
from dalembert.cli.app import app, run

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "command_line.md"


@pytest.fixture
def dal(capsys):
    """Run a command line in this process: (exit code, stdout, stderr)."""

    def call(*arguments):
        code = run([str(a) for a in arguments])
        out = capsys.readouterr()
        return code, out.out, out.err

    return call


@pytest.fixture
def answer(dal):
    """The JSON of a command that must end well."""

    def call(*arguments):
        code, out, err = dal(*arguments, "--json")
        assert (code, err) == (0, ""), err
        return json.loads(out)

    return call


@pytest.fixture(scope="module")
def bar():
    system = zoo.four_bar().compile()
    return system, system.assemble({"A": 0.6}, v={"A": 2.0}, guess=zoo.four_bar_start()[0])


HELD = ("--at", "A=0.6", "--speed", "A=2")


def process(*arguments, **options):
    """Run a command line as a process."""
    return subprocess.run(
        [sys.executable, "-m", "dalembert", *map(str, arguments)], capture_output=True, text=True, **options
    )


# --- answers ----------------------------------------------------------------------------------------------------------


def test_check_counts_and_closes(answer, dal):
    found = answer("check", "four_bar")
    assert (found["bodies"], found["joints"], found["constraints"], found["velocities"]) == (3, 3, 1, 3)
    assert found["closes"]
    assert found["residual"] < 1e-12
    assert found["states"] == ["start"]
    code, out, err = dal("check", "four_bar", "--set", "coupler=0.2", "--set", "rocker=0.1")
    assert code == 1
    assert "closes:      no" in out
    assert "'C'" in err


def test_report_is_that_of_the_library(answer, dal, bar):
    system, x = bar
    report = system.report(x)
    found = answer("report", "four_bar", *HELD)
    assert (found["mobility"], found["rank"], found["singular"]) == (report.mobility, report.rank, False)
    np.testing.assert_allclose(found["singular_values"], report.singular_values, rtol=1e-12)
    assert dal("report", "four_bar", *HELD)[1].strip() == str(report)


def test_assemble_is_that_of_the_library(answer, bar):
    system, x = bar
    found = answer("assemble", "four_bar", *HELD)
    np.testing.assert_allclose(found["positions"]["value"], x.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found["velocities"]["value"], x.v, rtol=0, atol=1e-11)
    assert found["positions"]["name"] == list(system.q_names)
    two = answer("assemble", "four_bar", "--at", "A=0.6", "--branches", 2)
    assert two["branches"] == 2
    mirrored = np.abs(np.subtract(two["positions"]["branch 1"], two["positions"]["branch 2"]))
    assert mirrored.max() > 0.5


def test_angles_may_be_in_degrees(answer):
    found = answer("assemble", "four_bar", "--at", "A=30deg")
    assert found["positions"]["value"][0] == pytest.approx(np.pi / 6, abs=1e-12)


def test_a_sweep_through_a_turn_is_the_closed_form(answer):
    found = answer("sweep", "four_bar", "A", "-190deg", "190deg", "--steps", 152)["positions"]
    exact = [zoo.four_bar_start(a)[0] for a in found["A"]]
    for name in "BD":
        turns = (np.array(found[name]) - [x[name] for x in exact]) / (2 * np.pi)
        np.testing.assert_allclose(turns, np.round(turns), atol=1e-10)
    assert np.abs(np.diff(found["D"])).max() < 0.1  # one branch, without a jump
    far = answer("sweep", "four_bar", "A", 0.3, 3.9, "--steps", 1)["positions"]  # in parts, or it would change it
    assert np.sin(far["D"][1] - zoo.four_bar_start(3.9)[0]["D"]) == pytest.approx(0, abs=1e-9)
    assert len(found["A"]) == 153
    assert max(found["residual"]) < 1e-10


def test_a_sweep_ends_where_the_mechanism_does(dal):
    """a² + g² − 2 a g cos θ = (b + c)² stretches coupler and rocker."""
    a, g, b, c = 0.5, 0.55, 0.6, 0.4
    last = np.arccos((a**2 + g**2 - (b + c) ** 2) / (2 * a * g))
    code, out, err = dal("sweep", "four_bar", "A", 1, 3, "--steps", 200, "--set", "crank=0.5", "--csv")
    assert code == 1
    rows = list(csv.DictReader(io.StringIO(out)))
    assert last - 0.0101 < float(rows[-1]["A"]) < last
    assert f"the sweep ends after A = {float(rows[-1]['A']):.6g}" in err


def test_a_sweep_lists_frames_and_trees(answer):
    found = answer("sweep", "cart_pole", "cart", 0, 1, "--steps", 4, "--frame", "cart")["positions"]
    np.testing.assert_allclose(found["cart.x"], [0, 0.25, 0.5, 0.75, 1])


def test_an_interrupted_sweep_answers_with_what_it_has(dal, monkeypatch):
    def interrupt(self, done):
        if done > 0.4:
            raise KeyboardInterrupt

    monkeypatch.setattr(sweep_module.Progress, "__call__", interrupt)
    code, out, err = dal("sweep", "four_bar", "A", 0, 1, "--steps", 9, "--csv")
    assert code == 4
    found = len(out.splitlines()) - 1
    assert 1 < found < 10
    assert err == f"dalembert: interrupted after {found} of 10 positions.\n"


def test_simulate_is_that_of_the_library(answer, bar):
    system, x = bar
    expected = da.simulate(system, x, 1.0, u={"torque": 0.3}, t_eval=np.arange(11) / 10, rtol=1e-8)
    found = answer("simulate", "four_bar", 1, *HELD, "--input", "torque=0.3", "--every", 0.1, "--rtol", "1e-8")
    np.testing.assert_allclose(found["states"]["t"], expected.t, atol=1e-15)
    for k, name in enumerate(system.q_names):
        np.testing.assert_allclose(found["states"][f"q.{name}"], expected.q[:, k], atol=1e-9)
    assert found["states"]["u.torque"] == [0.3] * 11
    assert found["success"]
    assert found["largest residual"] < 1e-12


@pytest.mark.parametrize(
    "options",
    [
        ["--method", "rk4", "--step", "0.01"],
        ["--coordinates", "A"],
        ["--coordinates", "tangent", "--max-step", "0.1"],
        ["--stabilization", "energy", "--atol", "1e-9"],
        ["--formulation", "nullspace", "--on-singularity", "stop"],
    ],
)
def test_options_of_simulate_reach_the_library(answer, options):
    assert answer("simulate", "four_bar", 0.2, *HELD, *options)["success"]


def test_a_run_that_fails_answers_with_what_it_has(dal):
    code, out, err = dal("simulate", "four_bar", 5, *HELD, "--max-steps", 20, "--json")
    assert code == 1
    assert json.loads(out)["status"] == "STEPS"
    assert json.loads(out)["steps"] == 20
    assert "the largest number of steps was reached; raise max_steps" in err


def test_linear_models_are_those_of_the_library(answer, bar):
    system, _ = bar
    x = system.assemble({"A": 0.6}, guess=zoo.four_bar_start()[0])
    model = da.linearize(system, x, u={"torque": 0.2}, independent=["A"], outputs=["A", "position:coupler@x"])
    found = answer(
        "linearize", "four_bar", "--at", "A=0.6", "--speed", "A=0", "--input", "torque=0.2", "--independent", "A",
        "--outputs", "A,position:coupler@x",
    )  # fmt: skip
    for name in "ABCD":
        np.testing.assert_allclose(found[name], getattr(model, name), rtol=1e-9, atol=1e-12)
    assert found["dynamics"]["u.torque"] == [row[0] for row in found["B"]]
    every = answer("linearize", "four_bar", *HELD, "--sample", 0.01)
    assert every["step"] == 0.01
    found = answer("modes", "cart_pole")
    expected = da.linearize(zoo.cart_pole().compile(), {}).modes
    np.testing.assert_allclose(found["modes"]["frequency"], [m.frequency for m in expected], rtol=1e-9, atol=1e-12)


def test_equilibrium_is_that_of_the_library(answer, dal):
    found = answer("equilibrium", "loader", "--solve-for", "u")["state"]
    values = dict(zip(zip(found["kind"], found["name"]), found["value"]))
    expected = da.equilibrium(zoo.loader().compile(), zoo.loader_start()[0], solve_for="u")
    np.testing.assert_allclose([values["input", n] for n in ("lift", "tilt")], expected.u, rtol=1e-9)
    code, _, err = dal("equilibrium", "cartesian_pendulum", "--solve-for", "u")
    assert code == 2
    assert "has no inputs to solve for" in err


def test_singular_positions_have_no_linear_model(dal):
    code, out, err = dal("linearize", "parallelogram.json")
    assert (code, out) == (3, "")
    code, out, err = dal("linearize", "four_bar", "--set", "crank=0.2", "--set", "ground=0.6", "--set", "rocker=0.2",
                         "--set", "coupler=0.6", "--at", "A=0", "--speed", "A=0")  # fmt: skip
    assert (code, out) == (1, "")
    assert "is in a singular configuration" in err


def test_inputs_may_be_expressions_of_the_state(answer, dal, bar):
    system, x = bar
    law = da.expression(lambda t, s: {"torque": 0.5 * ca.sin(3 * t) - 0.2 * s.rate("A") + s["D"]})
    expected = da.simulate(system, x, 1.0, u=law, t_eval=[0.5, 1.0])
    text = "torque=0.5*sin(3*t) - 0.2*v(A) + q(D)"
    found = answer("simulate", "four_bar", 1, *HELD, "--input", text, "--every", 0.5)["states"]
    np.testing.assert_allclose(found["q.A"][1:], expected["A"], atol=1e-9)
    np.testing.assert_allclose(found["u.torque"][1:], expected.u[:, 0], atol=1e-9)
    code, _, err = dal("simulate", "four_bar", 1, "--input", "torque=sin(")
    assert code == 2
    assert "--input torque" in err
    code, _, err = dal("simulate", "four_bar", 1, "--input", "torque=q(AA)")
    assert code == 2
    assert "'AA'" in err
    assert dal("modes", "four_bar", "--input", "torque=t")[0] == 2


def test_view_writes_animations_and_pictures(dal, tmp_path):
    code, out, _ = dal("view", "four_bar", "--time", 0.5, "-o", tmp_path / "a.html", "--trace", "coupler")
    assert (code, out.strip()) == (0, str(tmp_path / "a.html"))
    assert "<html" in (tmp_path / "a.html").read_text()
    assert dal("view", "four_bar", "--at", "A=1", "-o", tmp_path / "a.png")[0] == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    dal("simulate", "four_bar", 0.5, "-o", tmp_path / "run.arrow")
    assert dal("view", "four_bar", "--run", tmp_path / "run.arrow", "-o", tmp_path / "b.html")[0] == 0
    assert (tmp_path / "b.html").exists()


def test_simulate_writes_pictures_and_recordings(dal, tmp_path):
    files = ["--animate", tmp_path / "a.html", "--plot", tmp_path / "a.png", "--record", tmp_path / "a.arrow"]
    assert dal("simulate", "four_bar", 0.5, *files)[0] == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.arrow", "a.html", "a.png"]
    system = zoo.four_bar().compile()
    assert da.load(tmp_path / "a.arrow", system).t[-1] == 0.5
    code, _, err = dal("simulate", "four_bar", 1, "--record", tmp_path / "a.arrow")
    assert code == 3
    assert "exists" in err
    assert dal("simulate", "four_bar", 1, "--record", tmp_path / "a.arrow", "--resume")[0] == 0
    assert da.load(tmp_path / "a.arrow", system).t[-1] == 1.0


def test_the_zoo_is_listed(answer, dal):
    found = answer("zoo", "list")["mechanisms"]
    assert found["name"] == list(zoo.CATALOG)
    assert all(found["description"])
    code, _, err = dal("zoo", "copy", "four_baar")
    assert code == 2
    assert "Did you mean 'four_bar'?" in err


def test_the_cache_is_measured_and_cleared(answer, monkeypatch, tmp_path):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))
    assert answer("cache", "size")["entries"] == 0
    answer("report", "slider_crank")
    found = answer("cache", "size")
    files = list((tmp_path / "cache").glob("*.bin"))
    assert (found["entries"], found["bytes"]) == (len(files), sum(f.stat().st_size for f in files))
    assert found["entries"] > 0
    assert answer("cache", "clear")["bytes"] == found["bytes"]
    assert answer("cache", "size")["entries"] == 0


# --- forms ------------------------------------------------------------------------------------------------------------


def test_forms_hold_the_same_numbers(dal, tmp_path):
    sweep = ("sweep", "four_bar", "A", 0, 1, "--steps", 3)
    data = json.loads(dal(*sweep, "--json")[1])["positions"]
    rows = list(csv.DictReader(io.StringIO(dal(*sweep, "--csv")[1])))
    for suffix in ("json", "csv", "arrow", "txt"):
        assert dal(*sweep, "-o", tmp_path / f"a.{suffix}") == (0, "", "")
    table = pa.ipc.open_stream(tmp_path / "a.arrow").read_all()
    for name in data:
        assert [float(row[name]) for row in rows] == data[name] == table[name].to_pylist()
    assert json.loads((tmp_path / "a.json").read_text())["positions"] == data
    assert (tmp_path / "a.csv").read_text() == dal(*sweep, "--csv")[1]
    assert (tmp_path / "a.txt").read_text() == dal(*sweep)[1]
    assert json.loads(table.schema.metadata[b"dalembert"])["joint"] == "A"
    assert json.loads(dal(*sweep, "--json", "-o", tmp_path / "b.csv")[1] or (tmp_path / "b.csv").read_text())


def test_a_run_as_arrow_is_a_run_file(dal, tmp_path):
    assert dal("simulate", "four_bar", 0.5, *HELD, "-o", tmp_path / "run.arrow")[0] == 0
    assert da.load(tmp_path / "run.arrow", zoo.four_bar().compile()).success


def test_every_command_has_every_form(dal):
    for command in ("check", "report", "assemble", "linearize", "modes"):
        for form in ("--json", "--csv"):
            code, out, err = dal(command, "four_bar", *HELD, form)
            assert (code, err) == (0, ""), command
            assert json.loads(out) if form == "--json" else list(csv.reader(io.StringIO(out)))


def test_infinities_are_null_in_json(answer):
    assert None in answer("modes", "cart_pole")["modes"]["time constant"]


def test_long_tables_are_thinned_for_people_only(dal):
    columns = {"t": np.arange(1000.0)}
    lines = grid(columns, most=5).splitlines()
    assert len(lines) == 6
    assert lines[-1].strip() == "999"
    assert len(dal("simulate", "four_bar", 3, "--csv")[1].splitlines()) > 50


# --- errors -----------------------------------------------------------------------------------------------------------

WRONG = [
    (2, ["chek", "four_bar"], "There is no command 'chek'. Did you mean 'check'?"),
    (2, ["report"], "Missing argument 'MODEL'"),
    (2, ["report", "four_bar", "--at", "A"], "'A' is not of the form name=value"),
    (2, ["report", "four_bar", "--at", "A=x"], "'x' of 'A=x' is no number"),
    (2, ["report", "four_bar", "--at", "AA=1"], "asks for joint or coordinate 'AA'"),
    (2, ["report", "four_bar", "--set", "crnk=1"], "Did you mean 'crank'?"),
    (2, ["report", "four_bar", "--state", "strt"], "there is no state 'strt'; known: start. Did you mean 'start'?"),
    (2, ["simulate", "four_bar", "1", "--input", "torq=1"], "Did you mean 'torque'?"),
    (2, ["simulate", "four_bar", "1", "--method", "dop85"], "Did you mean 'dop853'?"),
    (2, ["simulate", "four_bar", "-1"], "t is -1; needed: a number of at least 0"),
    (2, ["simulate", "four_bar", "1", "--rtl", "1"], "No such option"),
    (2, ["simulate", "four_bar", "1", "--every", "2"], "--every is 2; needed"),
    (2, ["sweep", "four_bar", "F", "0", "1"], "sweep asks for coordinate 'F'; known: A, B, D"),
    (2, ["assemble", "four_bar", "--json", "--csv"], "--json and --csv exclude each other"),
    (1, ["assemble", "four_bar", "--set", "crank=5"], "'C' is open by"),
    (3, ["report", "fourbar"], "'fourbar' is neither a file nor a mechanism of the zoo. Did you mean 'four_bar'?"),
    (3, ["report", "four_bar", "-o", "no/such/folder.json"], "cannot be written: No such file or directory"),
    (3, ["view", "four_bar", "--run", "no.arrow", "-o", "x.html"], "'no.arrow' cannot be read: No such file"),
    (3, ["run", "no.yaml"], "no.yaml"),
]


@pytest.mark.parametrize(("code", "arguments", "sentence"), WRONG, ids=lambda x: " ".join(x) if type(x) is list else "")
def test_errors_are_sentences_with_a_code(dal, tmp_path, monkeypatch, code, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    found, out, err = dal(*arguments)
    assert found == code, err
    assert sentence in err
    assert out == ""
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_debug_shows_tracebacks(dal):
    for arguments in (["--debug", "report", "fourbar"], ["report", "fourbar", "--debug"]):
        code, _, err = dal(*arguments)
        assert code == 3
        assert "Traceback (most recent call last)" in err


def test_faults_of_our_own_are_told_apart(dal, monkeypatch):
    def broken(self):
        raise TypeError("oh")

    monkeypatch.setattr(da.System, "report", broken)
    code, out, err = dal("report", "four_bar")
    assert (code, out) == (6, "")
    assert "a fault in dalembert itself (TypeError: " in err
    assert "--debug shows where" in err


def test_warnings_are_sentences(dal):
    code, _, err = dal("simulate", "equal_slider_crank", 2, "--on-singularity", "warn")
    assert code == 0
    assert err.startswith("dalembert: warning: 'slider-crank, equal links': at t = ")
    assert ".py" not in err


def test_every_file_is_one_of_the_commands(dal):
    code, out, _ = dal("--help")
    assert code == 0
    for command in application.COMMANDS:
        assert f"\n  {command.name} " in out
    assert dal("--version")[1].strip().endswith(da.__version__)


def test_every_command_and_option_is_documented():
    text = DOCS.read_text()
    for name, command in app.commands.items():
        parts = command.commands if hasattr(command, "commands") else {"": command}
        for sub, inner in parts.items():
            assert f"dalembert {name} {sub}".strip() in text
            for parameter in inner.params:
                word = max(parameter.opts, key=len)
                assert f"`{word}" in text or word.upper() in text, f"{name} {word}"
    for code in application.Exit:
        assert f"| {int(code)} |" in text


def test_the_command_lines_of_the_documentation_work(dal, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = DOCS.read_text()
    Path("study.yaml").write_text(text.split("```yaml\n")[1].split("```")[0])
    lines = [line.removeprefix("$ dalembert ") for line in text.splitlines() if line.startswith("$ dalembert ")]
    assert len(lines) > 9
    for line in lines:
        code, _, err = dal(*shlex.split(line))
        assert code == 0, f"{line}: {err}"
    made = {"run.csv", "run.html", "pushed.arrow", "curve.csv", "four_bar.json", "four_bar.html", "study.yaml"}
    assert {p.name for p in tmp_path.iterdir()} == made


def test_the_first_screen_of_the_readme_is_true(dal, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "README.md").read_text()
    start = text.index("$ dalembert ")
    assert text[:start].count("\n") < 20
    line, *shown = text[start : text.index("```", start)].splitlines()
    code, out, err = dal(*shlex.split(line.removeprefix("$ dalembert ")))
    assert (code, err) == (0, "")
    found = out.splitlines()
    assert shown[0] == found[0]
    assert [line.partition(":")[0] for line in shown[1:8]] == [line.partition(":")[0] for line in found[1:8]]
    assert shown[9].split() == found[9].split()  # the head of the table, and the start
    assert shown[10].split() == found[10].split()


# --- model files ------------------------------------------------------------------------------------------------------

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


# --- scenarios --------------------------------------------------------------------------------------------------------

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
    ],
)
def test_wrong_scenarios_are_refused_before_anything_is_run(dal, tmp_path, old, new, sentence):
    assert old in SCENARIO
    (tmp_path / "study.yaml").write_text(SCENARIO.replace(old, new, 1))
    code, out, err = dal("run", tmp_path / "study.yaml")
    assert (code, out) == (3, ""), err
    assert sentence in err
    assert [p.name for p in tmp_path.iterdir()] == ["study.yaml"]


def test_a_scenario_ends_with_the_first_command_that_fails(dal, tmp_path):
    text = "scenario: 1\nmodel: four_bar\nrun:\n  - simulate: {time: 5, max-steps: 3}\n  - report\n"
    (tmp_path / "study.yaml").write_text(text)
    code, out, err = dal("run", tmp_path / "study.yaml")
    assert code == 1
    assert "mobility" not in out
    assert "study.yaml:4: 'simulate' ended with 1" in err


# --- as a process -----------------------------------------------------------------------------------------------------


def test_help_needs_neither_numpy_nor_casadi():
    code = """
import sys
from dalembert.cli.app import run
assert run(["--help"]) == 0 and run(["simulate", "--help"]) == 0
heavy = {"numpy", "casadi", "scipy", "llvmlite", "numba", "pyarrow", "matplotlib", "ruamel"} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_without_click_one_sentence_says_what_to_install():
    code = "import sys; sys.modules['click'] = None; from dalembert.cli import main; main(['--help'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 5
    assert done.stderr == ("dalembert: the command line needs the library 'click': pip install \"dalembert[cli]\"\n")


def test_the_module_is_the_command():
    done = process("assemble", "four_bar", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["branches"] == 1
    assert process("assemble", "four_bar", "--at", "Q=1").returncode == 2


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_returns_what_was_computed(tmp_path):
    """Ctrl-C is for the process in the foreground; a shell may have had it ignored."""
    child = subprocess.Popen(
        [sys.executable, "-m", "dalembert", "simulate", "four_bar", "1e7", "--speed", "A=9", "-o", tmp_path / "a.csv",
         "--record", tmp_path / "run.arrow"],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not (tmp_path / "run.arrow").exists() or (tmp_path / "run.arrow").stat().st_size < 500_000:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=120)
    assert child.returncode == 4, err
    assert err.startswith("dalembert: at t = ")
    assert "the run was interrupted" in err
    assert len((tmp_path / "a.csv").read_text().splitlines()) > 500


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
@pytest.mark.parametrize("arguments", [["simulate", "four_bar", "60", "--csv"], ["--help"], ["zoo", "list", "--json"]])
def test_a_reader_that_had_enough_is_no_error(arguments):
    child = subprocess.Popen(
        [sys.executable, "-m", "dalembert", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    child.stdout.close()  # before it has said anything
    assert child.stderr.read() == ""
    child.stderr.close()
    assert child.wait(timeout=120) == 0


def test_terminals_without_greek_letters_get_an_answer():
    done = process("zoo", "list", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert "bennett" in done.stdout


def test_shells_complete_commands_and_names():
    def completed(words, at):
        env = {**os.environ, "_DALEMBERT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(at)}
        return process(env=env).stdout.split()

    assert completed("dalembert si", 1) == ["plain,simulate"]
    assert "plain,four_bar" in completed("dalembert report four", 2)
    assert "plain,--rtol" in completed("dalembert simulate four_bar 1 --rt", 4)
    for shell in ("bash", "zsh", "fish"):
        assert "_DALEMBERT_COMPLETE" in process("completion", shell).stdout
