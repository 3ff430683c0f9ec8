"""The release tool: which versions and archives it refuses, and the sentence it gives."""

import io
import subprocess
import sys
import tarfile
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READY = "# Changes\n\n## 0.2.0 (2026-11-17)\n\n- New.\n\n## 0.1.0 (2026-01-31)\n\n- Old.\n"
CITED = "cff-version: 1.2.0\nversion: 0.2.0\nlicense: BSD-3-Clause\n"


@pytest.fixture
def release(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    yield import_module("release")
    sys.modules.pop("release", None)


def test_dated_notes_and_a_citation_can_be_released(release):
    assert release.problems(READY, CITED, "0.2.0") == []


@pytest.mark.parametrize(
    ("changelog", "citation", "sentence"),
    [
        (READY.replace("0.2.0 (2026-11-17)", "Unreleased: 0.2.0"), CITED, "headed 'Unreleased: 0.2.0'"),
        (READY.replace("0.2.0 (2026-11-17)", "0.2.0"), CITED, "headed '0.2.0'"),
        (READY.replace("0.2.0 (", "0.2.0.1 ("), CITED, "has no notes for 0.2.0"),
        (READY.replace("- New.", ""), CITED, "has no notes for 0.2.0"),
        (READY, CITED.replace("0.2.0", "0.2.0rc1"), "CITATION.cff does not give version 0.2.0"),
        (READY, CITED.replace("version: 0.2.0", "version: 10.2.0"), "CITATION.cff does not give version 0.2.0"),
    ],
)
def test_a_version_that_is_not_ready_is_refused(release, changelog, citation, sentence):
    (found,) = release.problems(changelog, citation, "0.2.0")
    assert sentence in found


def test_preparing_dates_the_notes_and_nothing_else(release):
    begun = READY.replace("0.2.0 (2026-11-17)", "Unreleased: 0.2.0")
    changelog, citation = release.dated(begun, CITED, "0.2.0", "2026-11-17")
    assert changelog == READY
    assert citation == CITED.replace("version: 0.2.0\n", "version: 0.2.0\ndate-released: 2026-11-17\n")
    assert release.dated(changelog, citation, "0.2.0", "2026-11-18")[1].count("date-released") == 1
    with pytest.raises(ValueError, match="Invalid isoformat"):
        release.dated(begun, CITED, "0.2.0", "tomorrow")


def test_the_command_refuses_what_is_not_released_yet():
    """The checkout itself: its section is headed 'Unreleased', or it is dated and must pass but for open changes."""
    done = subprocess.run(
        [sys.executable, ROOT / "tools/release.py", "check"], check=False, capture_output=True, text=True
    )
    unreleased = "## Unreleased" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert ("is headed 'Unreleased" in done.stderr) == unreleased
    assert done.returncode == (1 if unreleased or "not committed" in done.stderr else 0)


def archives(folder, release, *, without=(), version="0.2.0", description="# dalembert\n"):
    """A wheel and a source archive with the files that a release needs."""
    metadata = f"Metadata-Version: 2.4\nName: dalembert\nVersion: {version}\n\n{description}"
    inside = {n: "" for n in (*release.IN_WHEEL, "dalembert/native/shipped/run.bc") if n not in without}
    with zipfile.ZipFile(folder / "dalembert-0.2.0-py3-none-any.whl", "w") as wheel:
        for name, text in {**inside, "dalembert-0.2.0.dist-info/METADATA": metadata}.items():
            wheel.writestr(name, text)
    with tarfile.open(folder / "dalembert-0.2.0.tar.gz", "w:gz") as source:
        for name in set(release.IN_SOURCE) - set(without):
            source.addfile(tarfile.TarInfo(f"dalembert-0.2.0/{name}"), io.BytesIO())
    return sorted(folder.iterdir())


def test_archives_with_everything_in_them_are_sound(release, tmp_path):
    assert release.lacking(archives(tmp_path, release), "0.2.0") == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"without": ["dalembert/py.typed"]}, "has no dalembert/py.typed"),
        ({"without": ["dalembert/native/shipped/run.bc"]}, "has no bitcode"),
        ({"without": ["LICENSE"]}, "dalembert-0.2.0.tar.gz has no LICENSE"),
        ({"version": "0.1.9"}, "gives version 0.1.9 in place of 0.2.0"),
        ({"description": "UNKNOWN"}, "is not README.md"),
    ],
)
def test_archives_that_lack_something_are_refused(release, tmp_path, changes, sentence):
    (found,) = release.lacking(archives(tmp_path, release, **changes), "0.2.0")
    assert sentence in found


def test_archives_of_another_version_are_refused(release, tmp_path):
    (found,) = release.lacking(archives(tmp_path, release), "0.2.1")
    assert "one wheel and one source archive of 0.2.1 are needed" in found
