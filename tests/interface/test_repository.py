"""What stands beside the code: versions, lower bounds, pictures, pages, release notes."""

import ast
import doctest
import re
import sys
import tomllib
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LARGEST = 300_000  # bytes of a picture that is kept with the source


@pytest.fixture
def tool(monkeypatch):
    """A module of tools/ by name."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    found = []

    def load(name):
        found.append(name)
        return import_module(name)

    yield load
    for name in found:
        sys.modules.pop(name, None)


def test_every_dependency_has_a_lower_bound(tool):
    pins = tool("minimum").pins()
    assert {"numpy==1.26", "scipy==1.11.1"} <= set(pins)
    assert all(re.fullmatch(r"[\w.\-]+==[\w.]+", pin) for pin in pins)
    assert all((ROOT / test).exists() for test in tool("minimum").TESTS)


def test_the_version_has_notes_and_a_citation(tool):
    """Ready to be released once its section has a date."""
    release = tool("release")
    now = release.version()
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("CHANGELOG.md", "CITATION.cff")]
    assert release.section(texts[0], now)[1]
    assert release.problems(*release.dated(*texts, now, "2030-01-31"), now) == []


@pytest.mark.parametrize("name", ["minimum", "release"])
def test_examples_of_the_tools(tool, name):
    result = doctest.testmod(tool(name))
    assert result.attempted
    assert not result.failed


def test_every_script_of_the_gallery_is_a_case_and_no_page_counts_them_by_hand(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "gallery"))
    cases = import_module("cases").CASES
    assert {p.stem for p in (ROOT / "examples" / "gallery").glob("*.py")} >= set(cases)
    for page in ("README.md", "docs/index.md", "docs/gallery.md", "CHANGELOG.md"):
        assert not re.findall(r"(?i)(?:\d+|thirty\S*|forty\S*) (?:machines|cases)", (ROOT / page).read_text("utf-8"))


def test_the_workflow_runs_commands_that_exist():
    from dalembert.formats import yaml

    flow = yaml.load(ROOT / ".github" / "workflows" / "tests.yml")
    steps = [step for job in flow["jobs"].values() for step in job["steps"]]
    assert all(set(step) <= {"uses", "with", "run", "if"} and len({"uses", "run"} & set(step)) == 1 for step in steps)
    commands = " && ".join(step["run"] for step in steps if "run" in step)
    assert all((ROOT / script).exists() for script in re.findall(r"python (\S+\.py)", commands))
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert set(re.findall(r"make (\w+)", commands)) <= set(targets)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert {"ruff", "mypy", "lint-imports", "pytest"} <= set(re.findall(r"[\w-]+", commands))
    assert 'requires-python = ">=3.11"' in project
    assert flow["jobs"]["tests"]["strategy"]["matrix"]["python"][0] == "3.11"


def test_pictures_kept_with_the_source_are_small():
    pictures = list((ROOT / "docs" / "pictures").iterdir())
    assert {"five-bar.gif", "jansen.gif", "press.png", "zoo.png"} <= {p.name for p in pictures}
    assert all(p.stat().st_size < LARGEST for p in pictures)


def test_the_page_of_the_zoo_lists_all_of_it():
    from dalembert import zoo

    listed = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "zoo.md").read_text(encoding="utf-8"), re.M)
    assert sorted(listed) == sorted(zoo.CATALOG)


def test_files_that_the_table_of_papers_names_exist():
    text = (ROOT / "docs" / "theory" / "papers.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_0-9]+)*(?:\.py|/))`", text))
    assert len(named) > 30
    assert not [n for n in named if not (ROOT / "src/dalembert" / n).exists() and not (ROOT / "tests" / n).exists()]


def test_links_between_pages_lead_somewhere():
    """Relative links of README, CONTRIBUTING and docs; anchors are checked when the site is built."""
    broken = []
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []


def test_the_layers_of_the_guide_are_those_of_the_contract():
    """CONTRIBUTING draws what import-linter checks, and both know every module and folder of the package."""
    (contract,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [layer.replace("dalembert.", "") for layer in contract["layers"]]
    picture = re.search(r"```\n(cli →.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.S)
    assert picture is not None
    assert [" ".join(layer.split()) for layer in picture[1].split("→")] == layers
    package = ROOT / "src" / "dalembert"
    there = {p.stem for p in package.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert {name for layer in layers for name in layer.split(" | ")} == there - {"__init__", "__main__"}


def test_private_names_stay_in_their_package():
    """`x._name` is used where the package itself defines it, and no module imports a private name of another."""
    package = ROOT / "src" / "dalembert"
    trees = {p.relative_to(package): ast.parse(p.read_text(encoding="utf-8")) for p in package.rglob("*.py")}
    own: dict[str, set[str]] = {}
    for place, tree in trees.items():
        own.setdefault(place.parts[0], set()).update(name for node in ast.walk(tree) for name in _defined(node))
    used = []
    for place, tree in trees.items():
        known = own[place.parts[0]] | FOREIGN
        handed_down = set().union(*own.values())  # by base classes, to be used through self
        used += [
            f"{place}: {name}"
            for node in ast.walk(tree)
            for name in _private(node)
            if name not in (known | handed_down if _of_self(node) else known)
        ]
    assert used == []


#: private by name only: of named tuples and of Numba's and LLVM's code generators
FOREIGN = {"_replace", "_getvalue", "_codegen", "_data_layout", "_linking_libraries", "_final_module", "_asdict"}


def _defined(node: ast.AST) -> list[str]:
    """Names that a node defines."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return [node.attr]
    return [node.id] if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else []


def _of_self(node: ast.AST) -> bool:
    """Whether a node is an attribute of `self`."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _private(node: ast.AST) -> list[str]:
    """Private names that a node uses: attributes, and what it imports from the package."""
    if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
        return [node.attr]
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dalembert"):
        return [f"{a.name} of {node.module}" for a in node.names if a.name.startswith("_") and a.name != "__version__"]
    return []


def test_no_two_classes_have_one_name():
    """Readers search by name. `Model` of dalembert.jax and of dalembert.torch is one thing in two libraries."""
    places = defaultdict(list)
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.relative_to(ROOT / "src" / "dalembert").as_posix())
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert twice == {"Model": ["jax/model.py", "torch/model.py"]}


def test_contributing_names_what_is_there():
    """Files, targets of make, and classes that CONTRIBUTING.md names in code."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)  # examples invent files
    named = re.findall(r"`([\w./]+)`", prose)
    paths = [p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*.*") if ".venv" not in p.parts]
    files = {n for n in named if re.search(r"\.(py|md|txt|js|toml)$", n)} - {"helix.py"}  # the example of a new joint
    assert len(files) > 40
    assert [n for n in sorted(files) if not any(f"/{p}".endswith(f"/{n}") for p in paths)] == []
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    asked = set(re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE))
    assert {"test", "docs", "bench"} <= asked <= targets
    source = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "src").rglob("*.py"))
    classes = {n for n in named if re.fullmatch(r"(?:[A-Z][a-z]+){2,}", n)}
    assert len(classes) > 5
    assert [n for n in sorted(classes) if not re.search(rf"\b(?:class|def) {n}\b|^{n}\b", source, re.MULTILINE)] == []
