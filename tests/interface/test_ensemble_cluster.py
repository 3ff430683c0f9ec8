"""Ensembles on a cluster of processes whose workers and scheduler are lost: the same bits, every run made once."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from pyarrow import dataset

import dalembert as da

distributed = pytest.importorskip("distributed")
N = 600
OPTIONS = {"rtol": 1e-10, "atol": 1e-11, "lanes": 8, "t_eval": [1.0, 2.0]}


def pendulums() -> da.System:
    """Three links that swing."""
    m = da.Mechanism("links", gravity=(0, -9.81, 0))
    before = m.ground.at()
    for k in range(3):
        link = m.add_body(f"link {k}", mass=1.0, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1))
        m.add_joint(f"A{k}", da.Revolute("z"), before, link)
        before = link.at(1.0, 0, 0)
    return m.compile()


@pytest.fixture
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


def ensemble(system: da.System, duration: float = 2.0, **more) -> da.Ensemble:
    """The study of these tests, of runs of so many seconds."""
    angles = np.linspace(0.0, 1.0, N)
    return da.ensemble(system, {"A0": angles}, duration, workers=2, **OPTIONS, **more)


def test_workers_that_are_killed_lose_no_run(client):
    system = pendulums()
    here = ensemble(system)
    rng, killed = np.random.default_rng(0), []

    def kill():
        for _ in range(2):
            time.sleep(1.0)
            pids = [nanny.pid for nanny in client.cluster.workers.values() if nanny.pid]
            if pids:
                killed.append(int(rng.choice(pids)))
                os.kill(killed[-1], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    there = ensemble(system, executor=client.get_executor(retries=0))
    killer.join()
    assert killed
    assert there.success.all()
    np.testing.assert_array_equal(here.q, there.q)
    np.testing.assert_array_equal(here.steps, there.steps)


def test_a_scheduler_that_is_lost_leaves_a_store_that_is_made_whole(tmp_path):
    system, store, long = pendulums(), tmp_path / "runs", 40.0  # s, so that it is lost on the way
    here = ensemble(system, long)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1", silence_logs=50
    )
    client = distributed.Client(cluster, timeout=5)

    def lose():
        while not list(store.glob("part-*.arrow")):
            time.sleep(0.02)
        cluster.close(timeout=5)

    loser = threading.Thread(target=lose)
    loser.start()
    with pytest.warns(UserWarning, match="made here"):
        there = ensemble(system, long, executor=client.get_executor(retries=0), store=store)
    loser.join()
    client.close(timeout=2)
    assert there.success.all()
    np.testing.assert_array_equal(here.q, there.q)
    table = dataset.dataset(store, format="feather", exclude_invalid_files=True).to_table()
    assert sorted(table["run"].to_pylist()) == list(range(N))  # each once
    np.testing.assert_array_equal(ensemble(system, long, store=store).q, here.q)
