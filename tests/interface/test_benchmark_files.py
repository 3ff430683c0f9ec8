"""Two files of benchmark results, compared."""

import json

import pytest

pytest.importorskip("benchmarks.compare", reason="benchmarks are no part of the package")

from benchmarks.compare import compared


def file(path, rows, **versions):
    parts = {"calls": [{"title": "calls", "rows": rows, "notes": []}]}
    path.write_text(json.dumps({"date": "today", "machine": "this", "versions": versions, "parts": parts}))
    return path


def test_what_changed_is_shown_the_most_first_and_what_is_alone_named(tmp_path):
    one = [{"call": "a", "µs": 2.0, "error": 1e-15}, {"call": "b", "µs": 1.0}, {"call": "c", "µs": 10.0}]
    other = [{"call": "a", "µs": 2.2, "error": 9e-15}, {"call": "b", "µs": 3.0}, {"call": "c", "µs": 5.0}]
    other.append({"call": "a", "µs": 7.0})  # a second row of the name
    changed, lone = compared(file(tmp_path / "a", one, numpy="1"), file(tmp_path / "b", other, numpy="2"))
    assert [row[2:] for row in changed.rows] == [["b", "µs", 1.0, 3.0, 3.0], ["c", "µs", 10.0, 5.0, 0.5]]
    assert [row[2:] for row in lone.rows] == [["a (2)", "µs", "after"]]
    assert "- numpy: 1 → 2" in changed.notes
    assert len(compared(tmp_path / "a", tmp_path / "a")) == 1
    assert not compared(tmp_path / "a", tmp_path / "a")[0].rows
