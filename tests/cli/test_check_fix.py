"""`dalembert check --fix` repairs what is surely meant otherwise, and nothing else."""

import json

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import repair
from dalembert.formats.model.repairing import repaired

TEXT = """# a pendulum with a spring
dalembert: 1
name: swing
parameters:
  k: 20.0
points: {top: [0, 0, 1], foot: [120mm, 0, 0]}
bodies:
  bob: {mass: 2, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.1]}
joints:
  pivot: {type: revolute, axis: y, between: [ground, bob], damping: 0.1}
forces:
  spring: {type: spring, between: [ground, bob], at: [top, foot], stiffness: 2*k, rest_length: 0.5}
  motor: {type: motor, joint: pivot}
states:
  up: {q: {pivot: 30deg}}
"""
WRONG = {  # what is written: what is meant
    "stiffness: 2*k": "stifness: 2*k",
    "type: revolute": "type: Revolute",
    "between: [ground, bob], damping": "between: [ground, Bob], damping",
    "joint: pivot": "joint: pivto",
    "120mm": "120 mm",
    "at: [top, foot]": "at: [top, fooot]",
    "30deg": "30 deg",
    "rest_length": "rest length",
    "k: 20.0": "k: 20,0",
}


@pytest.mark.parametrize("right", WRONG)
def test_one_fault_is_repaired_to_what_was_meant(right, dal, tmp_path):
    path = tmp_path / "swing.yaml"
    path.write_text(TEXT.replace(right, WRONG[right]))
    assert dal("check", path)[0] != 0
    code, out, err = dal("check", path, "--fix")
    assert (code, err) == (0, "")
    assert "is now" in out
    assert path.read_text() == TEXT


def test_all_faults_at_once_are_repaired_and_the_comments_stay(dal, tmp_path):
    path, text = tmp_path / "swing.yaml", TEXT
    for right, wrong in WRONG.items():
        text = text.replace(right, wrong)
    path.write_text(text)
    code, out, err = dal("check", path, "--fix", "--json")
    assert (code, err) == (0, "")
    assert len(json.loads(out)["repairs"]) == len(WRONG)
    assert path.read_text() == TEXT
    assert da.read(path).compile("casadi").state({"pivot": 0.0}).length("spring") == pytest.approx(np.hypot(0.12, 1))


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("stiffness: 2*k", "springiness: 2*k", "no key of a spring"),
        ("joint: pivot", "joint: elbow", "joint 'elbow'"),
        ("mass: 2", "mass: heavy", "heavy"),
    ],
)
def test_what_is_not_sure_is_left_and_told(right, wrong, told, dal, tmp_path):
    path = tmp_path / "swing.yaml"
    text = TEXT.replace(right, wrong)
    path.write_text(text.replace("type: revolute", "type: Revolute"))
    code, _, err = dal("check", path, "--fix")
    assert code != 0
    assert told in err
    assert "'Revolute' is now 'revolute'" in err
    assert path.read_text() == text  # what was sure is repaired, the rest as it was


def test_a_word_that_is_twice_in_its_line_or_has_two_meanings_is_left():
    text = TEXT.replace("stiffness: 2*k", "stifness: 2*k  # the stifness")
    assert repaired(text, "swing.yaml") == (text, [])
    assert repair("bod2", ["bod1", "bod3"]) is None
    assert repair("ab", ["ac"]) is None
    assert repair("shouldre", ["shoulder", "elbow"]) == ("shouldre", "shoulder")


def test_other_files_and_mechanisms_of_the_zoo_are_refused(dal, tmp_path):
    code, _, err = dal("check", "four_bar", "--fix")
    assert code != 0
    assert ".yaml" in err


def test_a_file_without_faults_is_not_touched(dal, tmp_path):
    path = tmp_path / "swing.yaml"
    path.write_text(TEXT)
    before = path.stat().st_mtime_ns
    code, out, _ = dal("check", path, "--fix")
    assert code == 0
    assert "is now" not in out
    assert path.stat().st_mtime_ns == before
