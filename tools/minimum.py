"""Install the lowest versions that pyproject.toml allows, and run a part of the tests: python tools/minimum.py FOLDER.

The folder gets a virtual environment. Lowest versions are those of the dependencies and of the extras in EXTRAS; what
builds the package is not lowered. Use the oldest Python of the project (3.11): old versions have no wheels for newer
ones.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = ("files", "view", "yaml", "pandas")
TESTS = (
    "tests/closed_form/test_sweeps.py",
    "tests/closed_form/test_sweep_points.py",
    "tests/closed_form/test_sweep_frames.py",
    "tests/closed_form/test_zoo_linear.py",
    "tests/closed_form/test_forces_along.py",
    "tests/closed_form/test_design.py",
    "tests/interface/test_view.py",
    "README.md",
)


def lowest(requirement: str) -> str:
    """name==version from name>=version.

    >>> lowest("ruamel.yaml>=0.18"), lowest("numba>=0.63,<0.64")
    ('ruamel.yaml==0.18', 'numba==0.63')
    """
    found = re.fullmatch(r"([\w.\-]+(?:\[[\w,]+\])?)>=([\w.]+)(,.*)?", requirement.replace(" ", ""))
    if not found:
        raise SystemExit(f"'{requirement}' of pyproject.toml has no lower bound; give it one: name>=version")
    return f"{found[1]}=={found[2]}"


def pins() -> list[str]:
    """The lowest versions of all dependencies and of the extras tested here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    given = [*project["dependencies"], *(r for extra in EXTRAS for r in project["optional-dependencies"][extra])]
    return sorted({lowest(r) for r in given})


def main(folder: Path) -> int:
    """Make the environment in a folder and run a part of the tests in it; returns their exit code."""
    venv.create(folder, with_pip=True, clear=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    print("\n".join(pins()), flush=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "pytest>=8", *pins(), ROOT], check=True)
    options = ["-o", "addopts=--doctest-glob=*.md -q", "-o", "filterwarnings="]  # old versions warn about new ones
    return subprocess.run([python, "-m", "pytest", *options, *TESTS], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/minimum")))
