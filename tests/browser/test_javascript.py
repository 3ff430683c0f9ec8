"""The pages' JavaScript: TypeScript's checker finds nothing in it, and catches a name that is not there."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TSC = os.environ.get("TSC") or shutil.which("tsc") or str(ROOT / "build/node_modules/.bin/tsc")

pytestmark = pytest.mark.skipif(
    not Path(TSC).exists(),
    reason="TypeScript is not installed; `npm install --no-save --prefix build typescript`, or name tsc in TSC",
)


def checked(folder):
    return subprocess.run([TSC, "-p", str(folder)], capture_output=True, text=True, check=False, timeout=300)


def test_the_pages_scripts_have_no_errors_of_types_and_no_unused_names():
    found = checked(ROOT / "tools")
    assert found.returncode == 0, found.stdout


def test_a_misspelt_name_is_found(tmp_path):
    """The settings check what they are to check: one letter changed in one call of a copy."""
    for part in ("tools", "src/dalembert/studio/web", "src/dalembert/view/web", "src/dalembert/live"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("*.png", "*.py", "three.js"))
    app = tmp_path / "src/dalembert/studio/web/app.js"
    app.write_text(app.read_text(encoding="utf-8").replace("timeline.pause()", "timeline.pauze()", 1), encoding="utf-8")
    assert "pauze" in checked(tmp_path / "tools").stdout
