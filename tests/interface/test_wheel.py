"""The wheel, in an environment of its own without Numba: everything it needs comes with it, from an empty cache."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UNREACHED = ("No matching distribution", "Could not find a version", "Connection", "Temporary failure", "timed out")
USUAL = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
MISSING = "follow"  # is translated when the wheel is built
START = """
import importlib.util, sys
from time import process_time as now
start = now()
import dalembert as da
imported = now()
assert importlib.util.find_spec("numba") is None
"""
#: runs the examples of a page as the suite does
README = """
import doctest, runpy, sys
runpy.run_path(sys.argv[1])
flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
sys.exit(bool(doctest.testfile(sys.argv[2], module_relative=False, optionflags=flags).failed))
"""
#: what is timed: a program that ends with the first answer
PROGRAMS = {
    "import": "",
    "simulate": """
system = da.zoo.four_bar().compile()
run = da.simulate(system, system.state(*da.zoo.four_bar_start()), 10.0)
assert run.success and abs(run.energy_error).max() < 1e-5
""",
    "a singular passage": """
system = da.zoo.five_bar().compile()
run = da.simulate(system, system.state(*da.zoo.five_bar_start()), 1.0)
assert run.success and len(run.passages) == 1
""",
    "linearize": """
system = da.zoo.four_bar().compile()
assert da.linearize(system, system.state(*da.zoo.four_bar_start())).A.shape == (2, 2)
""",
    "a control update": """
system = da.zoo.planar_3rrr().compile()
x = system.state(*da.zoo.planar_3rrr_start(0.04, 0.0))
law = da.control.motion_control(system, da.control.position("platform", "xy"), [0.04, 0.0], rate=30.0)
assert len(law(0.0, x)) == 3
""",
}


def pip(python, *arguments):
    """Run pip; skip where the packages it needs are out of reach."""
    command = [python, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, env=USUAL, check=False, capture_output=True, text=True)
    if done.returncode and any(sign in done.stderr for sign in UNREACHED):
        pytest.skip(f"packages are out of reach: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr[-4000:]


def test_bitcode_is_built_without_the_packages_of_a_run():
    """Where a wheel is built there are Numba and NumPy: no module with native functions may import more."""
    program = """
import sys
sys.modules |= dict.fromkeys(("casadi", "scipy", "pyarrow"))
from dalembert.native.numba_bitcode import ENTRIES, load
for module, _ in ENTRIES.values():
    load(module)
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_wheel_simulates_linearizes_and_controls_without_numba(tmp_path, capsys):
    """CPU seconds of each first use are printed, with an empty cache, from a new process and with no compiler about."""
    copy, bare = tmp_path / "copy", tmp_path / "environment"
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    manifest = copy / "src/dalembert/native/shipped/manifest.json"
    if manifest.exists():  # bitcode that is there stays; one function has none and is translated
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), MISSING: ""}))
        (manifest.parent / f"{MISSING}.bc").unlink()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    pip(sys.executable, "wheel", "--no-deps", "--wheel-dir", str(tmp_path), str(copy))
    (wheel,) = tmp_path.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", bare], check=True)
    python = str(bare / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    pip(python, "install", str(wheel))
    shutil.rmtree(copy)

    def run(number, *command):
        given = {**USUAL, "DALEMBERT_CACHE": str(tmp_path / f"cache{number}"), "PATH": str(Path(python).parent)}
        assert not any(shutil.which(c, path=given["PATH"]) for c in ("cc", "gcc", "clang", "ld"))
        done = subprocess.run([python, *command], env=given, cwd=tmp_path, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    seconds = {}
    for number, (name, program) in enumerate(PROGRAMS.items()):
        end = "imported" if name == "import" else "now()"
        seconds[name] = float(run(number, "-c", f"{START}{program}\nprint({end} - start)"))
    run("readme", "-c", README, str(ROOT / "conftest.py"), str(ROOT / "README.md"))
    with capsys.disabled():
        print("\nfirst use from a wheel, CPU s:", ", ".join(f"{name} {s:.2f}" for name, s in seconds.items()))
