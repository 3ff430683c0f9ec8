"""The command line: forms of answers; errors are sentences and exit codes; the documentation is true."""

import csv
import io
import json
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import dalembert as da
from command_lines import DOCS, HELD, ROOT
from dalembert import zoo
from dalembert.cli import app as application
from dalembert.cli.answer import grid
from dalembert.cli.app import app


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
    assert da.read_run(tmp_path / "run.arrow", zoo.four_bar().compile()).success


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
    monkeypatch.setattr("webbrowser.open", lambda url: True)
    monkeypatch.setattr("dalembert.studio.opening.Studio.wait", lambda studio: studio.close())
    text = DOCS.read_text()
    Path("study.yaml").write_text(text.split("```yaml\n")[1].split("```")[0])
    lines = [line.removeprefix("$ dalembert ") for line in text.splitlines() if line.startswith("$ dalembert ")]
    assert len(lines) > 9
    for line in lines:
        code, _, err = dal(*shlex.split(line))
        assert code == 0, f"{line}: {err}"
    made = {
        "run.csv",
        "run.html",
        "pushed.arrow",
        "curve.csv",
        "four_bar.json",
        "four_bar.html",
        "study.yaml",
        "five_bar_c",
    }
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
