"""Stores of ensembles: read by other programs while they are written, refused to another study, bounded in memory."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from concurrent.futures import Future

import numpy as np
import pandas
import pytest
import xarray
from pyarrow import dataset

import dalembert as da
from dalembert.ensembles import work
from dalembert.facts import digest


def pendulum() -> da.System:
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    length = m.add_parameter("length", 1.0)
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -length, 0)))
    m.add_motor("motor", "A")
    return m.compile()


class Watched:
    """An executor that reads the store with other programs before it makes a part."""

    def __init__(self, folder):
        self.folder, self.seen = folder, []

    def submit(self, f, *arguments):
        self.look()
        made = Future()
        made.set_result(f(*arguments))
        return made

    def look(self):
        there = dataset.dataset(self.folder, format="feather", exclude_invalid_files=True)
        table = there.to_table()
        frames = [pandas.read_feather(path) for path in sorted(self.folder.glob("part-*.arrow"))]
        assert table.num_rows == sum(map(len, frames))
        if frames:
            frame = pandas.concat(frames).set_index("run").sort_index()
            data = xarray.Dataset.from_dataframe(frame[["q.A", "t", "success"]])
            assert bool(data["success"].all())
            paths = np.stack(frame["output.height"].to_numpy())
            np.testing.assert_array_equal(paths[:, -1], np.stack(frame["states"].to_numpy())[:, -2])  # A at the end
        self.seen.append(table.num_rows)


def test_a_store_is_read_by_other_programs_while_it_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(work, "SECONDS", 1e-9)  # small parts
    executor, n = Watched(tmp_path / "runs"), 1500
    runs = da.ensemble(
        pendulum(), {"A": np.linspace(0.1, 1.0, n)}, 0.2, t_eval=[0.0, 0.1, 0.2],
        outputs={"height": lambda t, s: s["A"]}, store=tmp_path / "runs", executor=executor, workers=1, lanes=8,
    )  # fmt: skip
    executor.look()
    assert len(executor.seen) > 5
    assert executor.seen[0] == 0
    assert executor.seen[-1] == n
    assert sorted(executor.seen) == executor.seen
    table = dataset.dataset(tmp_path / "runs", format="feather", exclude_invalid_files=True).to_table().to_pandas()
    np.testing.assert_array_equal(table.sort_values("run")["q.A"], runs.q_end[:, 0])


def gains(k):
    """A law in Python with a gain."""
    return lambda t, s: {"motor": -k * s["A"]}


class Law:
    """The same, as an object."""

    def __init__(self, k):
        self.k = k

    def __call__(self, t, s):
        return {"motor": -self.k * s["A"]}


EVENT = da.Event(lambda t, s: s["A"], terminal=True)
STUDIES = [
    ({"outputs": {"y": lambda t, s: s["A"]}}, {"outputs": {"y": lambda t, s: 2 * s["A"]}}),
    ({"events": {"e": da.expression(lambda t, s: s["A"])}}, {"events": {"e": da.expression(lambda t, s: s["A"] - 1)}}),
    ({"events": {"e": lambda t, s: s["A"]}}, {"events": {"e": lambda t, s: s["A"] - 1}}),
    ({"events": {"e": EVENT}}, {"events": {"e": da.Event(EVENT.g)}}),
    ({"u": da.expression(gains(1.0))}, {"u": da.expression(gains(2.0))}),
    ({"u": gains(1.0)}, {"u": gains(2.0)}),
    ({"u": Law(1.0)}, {"u": Law(2.0)}),
    ({"controllers": lambda k, x: gains(1.0)}, {"controllers": lambda k, x: gains(2.0)}),
]


@pytest.mark.parametrize(("one", "other"), STUDIES)
def test_functions_that_differ_are_another_study(one, other, tmp_path):
    system, options = pendulum(), {"t_eval": [0.0, 0.1], "store": tmp_path / "runs"}
    runs = da.ensemble(system, {"A": [0.1, 0.2]}, 0.1, **options, **one)
    again = da.ensemble(pendulum(), {"A": [0.1, 0.2]}, 0.1, **options, **one)
    np.testing.assert_array_equal(runs.q, again.q)
    with pytest.raises(da.FileError, match="functions"):
        da.ensemble(system, {"A": [0.1, 0.2]}, 0.1, **options, **other)


def test_a_function_has_the_same_fingerprint_in_every_process():
    text = "from tests.interface.test_ensemble_stores import *; print(digest([gains(0.5), Law(3), {'b', 'a'}]))"
    found = {
        subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    }
    assert found == {digest([gains(0.5), Law(3), {"b", "a"}]) + "\n"}


def test_memory_of_a_summary_does_not_grow_with_the_paths(monkeypatch):
    """4000 runs take little more than 1000, where their paths would take 3000 × 201 × 3 numbers more."""
    monkeypatch.setattr(work, "NUMBERS", 2e4)  # of the paths of a part
    system, t = pendulum(), np.linspace(0.0, 0.02, 201)
    peaks = []
    for n in (1000, 1000, 4000):
        tracemalloc.start()
        runs = da.ensemble(
            system, {"A": np.linspace(0.1, 1.0, n)}, 0.02, t_eval=t, outputs={"A": lambda t, s: s["A"]}, keep="summary",
            workers=1, rtol=1e-6,
        )  # fmt: skip
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    np.testing.assert_allclose(runs.extremes("A").greatest, np.linspace(0.1, 1.0, 4000))
    assert peaks[2] - peaks[1] < 0.2 * 3000 * len(t) * 3 * 8
