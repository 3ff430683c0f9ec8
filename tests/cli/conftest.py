"""Running command lines."""

import json

import pytest

from dalembert import zoo
from dalembert.cli.app import run


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
