"""Lanes of the studio: cancelled jobs lose no lock and stop no other thread."""

import threading
import time

import pytest

from dalembert.studio.jobs import Lane


@pytest.fixture
def lane(monkeypatch):
    failures = []
    monkeypatch.setattr(threading, "excepthook", lambda given: failures.append(given))
    lane = Lane("test", lambda name, label: None, lambda key, error: failures.append(error))
    yield lane
    lane.close()
    assert failures == []


def test_jobs_that_end_as_they_are_cancelled_lose_no_lock(lane):
    for _ in range(100):
        go = threading.Event()
        lane.submit("run", lambda job, go=go: go.wait() and None, "slow")
        while lane.running is None:
            time.sleep(0)
        go.set()
        lane.cancel()
        assert lane._changed.acquire(timeout=5)
        lane._changed.release()
    assert lane.idle(5)


def test_a_quick_job_that_is_cancelled_lets_the_next_one_begin(lane):
    begun, go, done = threading.Event(), threading.Event(), threading.Event()

    def work(job):
        begun.set()
        go.wait()

    lane.submit("look", work)
    assert begun.wait(5)
    lane.cancel()
    go.set()
    lane.submit("look", lambda job: done.set())
    assert done.wait(5)


def test_the_error_of_a_cancelled_job_is_not_told(lane):
    begun, go = threading.Event(), threading.Event()

    def work(job):
        begun.set()
        go.wait()
        raise ValueError("too late")

    lane.submit("run", work, "slow")
    assert begun.wait(5)
    lane.cancel()
    go.set()
    assert lane.idle(5)
