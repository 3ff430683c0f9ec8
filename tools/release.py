"""Release a version: the steps that `make release` runs.

python tools/release.py prepare 2026-11-17    dates the section of the changelog and the citation, to be committed
python tools/release.py check                 refuses a version that is not ready
python tools/release.py archives dist         refuses archives that lack something, then prints the release notes
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from datetime import date
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).parents[1]
IN_WHEEL = ("dalembert/py.typed", "dalembert/native/shipped/manifest.json", "dalembert/view/web/stage.js")
IN_SOURCE = ("setup.py", "pyproject.toml", "README.md", "LICENSE", "src/dalembert/__init__.py")


def version() -> str:
    """The version of the package, from its source."""
    text = (ROOT / "src/dalembert/__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"', text, re.M)
    if not found:
        raise SystemExit("src/dalembert/__init__.py has no __version__.")
    return found[1]


def section(changelog: str, wanted: str) -> tuple[str, str]:
    r"""Heading and text of the section of a version; both empty if it has none.

    >>> section("# Changes\n\n## Unreleased: 0.2.0\n\n- New.\n\n## 0.1.0 (2026-01-31)\n\n- Old.\n", "0.2.0")
    ('Unreleased: 0.2.0', '- New.')
    """
    for part in re.split(r"^## ", changelog, flags=re.M)[1:]:
        head, _, body = part.partition("\n")
        if re.search(rf"(?<![\w.]){re.escape(wanted)}(?![\w.])", head):
            return head.strip(), body.strip()
    return "", ""


def dated(changelog: str, citation: str, now: str, day: str) -> tuple[str, str]:
    r"""Changelog and citation of a version that is released on a day.

    >>> dated("## Unreleased: 0.2.0\n\n- New.\n", "version: 0.2.0\n", "0.2.0", "2026-11-17")
    ('## 0.2.0 (2026-11-17)\n\n- New.\n', 'version: 0.2.0\ndate-released: 2026-11-17\n')
    """
    day = date.fromisoformat(day).isoformat()
    head, _body = section(changelog, now)
    citation = re.sub(r"^date-released:.*\n", "", citation, flags=re.M)
    citation = re.sub(r"^(version:.*\n)", rf"\1date-released: {day}\n", citation, flags=re.M)
    return changelog.replace(f"## {head}\n", f"## {now} ({day})\n"), citation


def problems(changelog: str, citation: str, now: str) -> list[str]:
    """Reasons against releasing version `now`, a sentence each; empty if there are none."""
    found = []
    head, body = section(changelog, now)
    if not body:
        found.append(f"CHANGELOG.md has no notes for {now}; add a section '## Unreleased: {now}'.")
    elif not re.fullmatch(rf"{re.escape(now)} \(\d{{4}}-\d\d-\d\d\)", head):
        found.append(
            f"the section of {now} in CHANGELOG.md is headed '{head}', where a release has '{now} (year-month-day)'. "
            f"Run python tools/release.py prepare {date.today().isoformat()} and commit."
        )
    if not re.search(rf"^version: {re.escape(now)}$", citation, re.M):
        found.append(f"CITATION.cff does not give version {now}; change it there.")
    return found


def lacking(archives: list[Path], now: str) -> list[str]:
    """Faults of the built archives, a sentence each: which are missing, what is not in them, wrong metadata."""
    wheels = [p for p in archives if p.match(f"dalembert-{now}-*.whl")]
    sources = [p for p in archives if p.name == f"dalembert-{now}.tar.gz"]
    if len(wheels) != 1 or len(sources) != 1:
        return [f"one wheel and one source archive of {now} are needed; found {[p.name for p in archives]}."]
    found = []
    with zipfile.ZipFile(wheels[0]) as wheel:
        names = wheel.namelist()
        metadata = Parser().parsestr(wheel.read(f"dalembert-{now}.dist-info/METADATA").decode())
    with tarfile.open(sources[0]) as source:
        inside = {n.partition("/")[2] for n in source.getnames()}
    found += [f"{wheels[0].name} has no {n}." for n in IN_WHEEL if n not in names]
    if not any(n.endswith(".bc") for n in names):
        found.append(f"{wheels[0].name} has no bitcode.")
    found += [f"{sources[0].name} has no {n}." for n in IN_SOURCE if n not in inside]
    if metadata["Version"] != now:
        found.append(f"the wheel's metadata gives version {metadata['Version']} in place of {now}.")
    if not str(metadata.get_payload()).lstrip().startswith("# dalembert"):
        found.append("the wheel's description is not README.md.")
    return found


def main(arguments: list[str]) -> None:
    """Do what the command line names: prepare, check or archives."""
    changelog, citation, now = ROOT / "CHANGELOG.md", ROOT / "CITATION.cff", version()
    texts = changelog.read_text(encoding="utf-8"), citation.read_text(encoding="utf-8")
    match arguments:
        case ["prepare", day]:
            for path, text in zip((changelog, citation), dated(*texts, now, day)):
                path.write_text(text, encoding="utf-8")
            print(f"CHANGELOG.md and CITATION.cff say that {now} was released on {day}; look at them and commit.")
        case ["check"]:
            wrong = problems(*texts, now)
            git = ["git", "status", "--porcelain"]
            changed = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout
            if changed:
                wrong.append(f"there are changes that are not committed:\n{changed}")
            if wrong:
                sys.exit("\n".join(wrong))
        case ["archives", folder]:
            wrong = lacking(sorted(Path(folder).iterdir()), now)
            if wrong:
                sys.exit("\n".join(wrong))
            print(section(texts[0], now)[1])
            print(f"\nnext: git tag -a v{now}, and push the tag")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
