"""Check that a version can be released, and print its notes: python tools/release.py.

The version of the package has a section in CHANGELOG.md and stands in CITATION.cff; nothing is uncommitted. The notes
are that section.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def version() -> str:
    """The version that the package states."""
    text = (ROOT / "src/dalembert/__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"', text, re.M)
    assert found, "src/dalembert/__init__.py states no __version__"
    return found[1]


def notes(changelog: str, wanted: str) -> str:
    r"""The section of a version.

    >>> notes("# Changes\n\n## Unreleased: 0.2.0\n\n- New.\n\n## 0.1.0\n\n- Old.\n", "0.2.0")
    '- New.'
    """
    for section in re.split(r"^## ", changelog, flags=re.M)[1:]:
        head, _, body = section.partition("\n")
        if re.search(rf"(^|\W){re.escape(wanted)}($|\W)", head):
            return body.strip()
    return ""


def problems() -> list[str]:
    """What stands against a release; empty if nothing does."""
    now = version()
    found = []
    if not notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), now):
        found.append(f"CHANGELOG.md has no notes of {now}; add a section '## {now}'.")
    if f"version: {now}" not in (ROOT / "CITATION.cff").read_text(encoding="utf-8"):
        found.append(f"CITATION.cff has another version than {now}; change it there.")
    return found


if __name__ == "__main__":
    wrong = problems()
    changed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    if changed:
        wrong.append(f"there are changes that are not committed:\n{changed}")
    if wrong:
        sys.exit("\n".join(wrong))
    print(notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version()))
    print(f"\nnext: git tag -a v{version()} and push the tag")
