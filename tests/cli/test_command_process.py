"""The command line as a process."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from command_lines import process


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
        [sys.executable, "-m", "dalembert", "simulate", "four_bar", "1e5", "--speed", "A=9", "-o", tmp_path / "a.csv",
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
