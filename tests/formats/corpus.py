"""The collection of model files that readers are tested with: $DALEMBERT_CORPUS, or ../shared/corpus."""

import json
import os
from functools import cache
from pathlib import Path

import pytest

MISSING = "no collection of model files"


def folder() -> Path:
    """The folder of the collection, which may not be there."""
    beside = Path(__file__).resolve().parents[2].parent / "shared" / "corpus"
    return Path(os.environ.get("DALEMBERT_CORPUS", beside))


def corpus(name: str) -> Path:
    """The path of a file or folder of the collection; skips the test where it is not there."""
    path = folder() / name
    if not path.exists():
        pytest.skip(MISSING if not folder().is_dir() else f"the collection has no '{name}'")
    return path


def corpus_files(*suffixes: str) -> list[str]:
    """Names of all files with these suffixes, to parametrize a test with; pytest skips it where there are none."""
    found = [p for p in sorted(folder().rglob("*")) if p.suffix in suffixes and p.is_file()]
    return [p.relative_to(folder()).as_posix() for p in found if "expected" not in p.parts]


@cache
def expected(name: str) -> dict:
    """Numbers that other programs give for the files: expected/<name>.json."""
    return json.loads(corpus(f"expected/{name}.json").read_text())
