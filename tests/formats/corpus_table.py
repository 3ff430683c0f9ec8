"""The table of the collection in docs/formats/index.md, which `python tests/formats/corpus_table.py` writes.

Reading and counting are checked by test_corpus.py. Whether a model closes is found here by assembling it, which takes
seconds for some; `--keep` takes these words from the table that is there.
"""

import contextlib
import re
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np

import dalembert as da
from corpus import folder
from dalembert.mechanism.constraints import LoopJoint

PAGE = Path(__file__).resolve().parents[2] / "docs" / "formats" / "index.md"
SUFFIXES = (".urdf", ".xacro", ".sdf", ".world", ".xml", ".lua", ".mo", ".adm", ".smurf")
HEAD = "| file | velocities | joints | loops | other constraints | notes | closes |\n|---|---|---|---|---|---|---|\n"
BEGIN, END = "<!-- the collection: begin -->\n", "<!-- the collection: end -->\n"


def files() -> list[str]:
    """Names of all model files of the collection."""
    found = (p for p in sorted(folder().rglob("*")) if p.suffix in SUFFIXES and p.is_file())
    return [p.relative_to(folder()).as_posix() for p in found]


@cache
def read(name: str) -> da.Mechanism | str:
    """The mechanism of a file, or the sentence that refuses it, without the path."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return da.read(folder() / name)
    except da.DalembertError as error:
        return str(error).replace(f"{folder() / name}", Path(name).name)


def cells(found: da.Mechanism | str) -> list[str]:
    """Columns of the table but the first and the last."""
    if isinstance(found, str):
        text = found.replace("|", "\\|").replace("<", "&lt;")
        return [f"refused: {text}", "", "", "", ""]
    loops = [c for c in found.constraints.values() if isinstance(c, LoopJoint)]
    others = len(found.constraints) - len(loops)
    nv = sum(a.joint.nv for a in found.joints.values())
    return [str(n) for n in (nv, len(found.joints), len(loops), others, len(found.notes))]


def closes(m: da.Mechanism) -> str:
    """Whether the constraints hold as drawn, or in a position that assembly finds."""
    if not m.constraints:
        return ""
    system = m.compile("casadi")
    if np.abs(system.residuals(system.state())).max() < 1e-9:
        return "as drawn"
    with contextlib.suppress(da.AssemblyError):
        system.assemble()
        return "assembled"
    return "no"


def rows(page: str) -> dict[str, list[str]]:
    """The cells of the table in a page, by file."""
    table = page.partition(BEGIN)[2].partition(END)[0]
    lines = [re.split(r"(?<!\\) ?\| ?", line)[1:-1] for line in table.splitlines()[2:]]
    return {line[0].strip("`"): line[1:] for line in lines if line}


def main(keep: bool) -> None:
    """Write the table into the page."""
    page = PAGE.read_text(encoding="utf-8")
    old, lines = rows(page), []
    for name in files():
        found = read(name)
        known = isinstance(found, str) or (keep and name in old)
        last = (old[name][-1] if name in old and not isinstance(found, str) else "") if known else closes(found)
        lines.append("| " + " | ".join([f"`{name}`", *cells(found), last]) + " |")
        print(lines[-1], flush=True)
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(before + BEGIN + HEAD + "\n".join(lines) + "\n" + END + after, encoding="utf-8")


if __name__ == "__main__":
    main("--keep" in sys.argv)
