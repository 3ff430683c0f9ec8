"""Models to start from are written, and run as their first lines say."""

import re
import shlex

import pytest

import dalembert as da
from dalembert.cli.new import STARTERS


@pytest.mark.parametrize("kind", STARTERS)
def test_a_new_model_does_what_its_comments_say(kind, dal, tmp_path):
    path = tmp_path / "my model.yaml"
    assert dal("new", kind, path)[0] == 0
    text = path.read_text()
    told = [re.split(r"\s{3,}", line)[0] for line in re.findall(r"^#   dalembert (.*)$", text, re.MULTILINE)]
    assert len(told) >= 3
    for line in told:
        words = shlex.split(line.replace(str(path), "MODEL"))
        code, _, err = dal(*[str(path) if w == "MODEL" else w for w in words])
        assert code == 0, (line, err)
    system = da.read(path).compile()
    assert system.report(system.state()).closed
    code, _, err = dal("new", kind, path)
    assert code != 0
    assert "add --force to replace it" in err
    assert dal("new", kind, path, "--force")[0] == 0


def test_an_unknown_kind_is_refused(dal, tmp_path):
    code, _, err = dal("new", "spaceship", tmp_path / "x.yaml")
    assert code == 2
    assert "four-bar" in err
