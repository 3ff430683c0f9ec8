"""Pages of theory name the code that carries them out: every module and constant they name is there."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import dalembert as da

ROOT = Path(__file__).parents[2]
FOLDERS = {p.name for p in (ROOT / "src/dalembert").iterdir() if p.is_dir()} | {"rank", "ruler", "outcome", "spatial"}
PAGES = sorted((ROOT / "docs/theory").glob("*.md"))


def resolve(name):
    """The object of a dotted name below the package."""
    parts = name.split(".")
    if parts[0] == "system" and hasattr(da.System, parts[1]):  # a method of a compiled mechanism
        return getattr(da.System, parts[1])
    for k in range(len(parts), 0, -1):
        try:
            found = import_module("dalembert." + ".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        for part in parts[k:]:
            fields = getattr(found, "__dataclass_fields__", {})
            found = fields[part] if part in fields else getattr(found, part)
        return found
    raise AttributeError(name)


def named(page):
    """Dotted names of code on a page: `rank.RankPolicy.near`, and `.other` behind one of the same place."""
    for line in page.read_text(encoding="utf-8").splitlines():
        before = None
        for name in re.findall(r"`((?:[a-z_]+)?(?:\.\w+)+)`", line):
            if name.startswith("."):
                if before is not None:
                    yield before.rpartition(".")[0] + name
            elif name.split(".")[0] in FOLDERS and not name.endswith(".py"):
                before = name
                yield name


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_the_code_that_a_page_of_theory_names_exists(page):
    lost = []
    for name in named(page):
        try:
            resolve(name)
        except AttributeError:
            lost.append(name)
    assert not lost


def test_pages_of_theory_name_code():
    assert sum(len(list(named(page))) for page in PAGES) > 30
