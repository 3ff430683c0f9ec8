"""Esc stops whatever is computed, says so and leaves the lane free to begin again; nothing else waits meanwhile."""

import threading
import time

import pytest

from dalembert import zoo
from dalembert.studio import running
from dalembert.studio.jobs import Lane
from studio_desk import Desk


@pytest.fixture
def desk():
    entry = zoo.CATALOG["five_bar"]
    system = entry.build().compile()
    made = Desk(system, system.state(*entry.start()))
    assert made.session.idle(60)
    yield made
    made.session.close()


def endless(*given, **more):
    """Something in Python that does not end by itself."""
    while True:
        sum(range(100))


#: command, its lane, what it calls that is made endless, what is said, and what it is asked with
WORK = {
    "equilibrium": ("study", "dalembert.studio.hand.equilibrium", "an equilibrium", {}),
    "hold": ("study", "dalembert.studio.hand.equilibrium", "inputs", {}),
    "branch": ("study", "dalembert.system.system.System.assemble", "other branches", {}),
    "linearize": ("study", "dalembert.studio.studies.linearize", "linearizing", {}),
    "map": ("study", "dalembert.studio.studies.workspace", "mapping", {
        "axes": [{"name": "A", "low": 0.5, "high": 1.5, "count": 9}]}),
    "load": ("study", "dalembert.formats.read", "reading", {"name": "m.json", "data": b"{}"}),
    "simulate": ("run", "", "simulating", {"time": 1e5}),
}  # fmt: skip


def wait(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.mark.parametrize("name", WORK)
def test_esc_stops_it_and_says_so(desk, monkeypatch, name):
    """The mechanism is dragged meanwhile, nothing is shown of what was stopped, and the lane does its next work."""
    lane, target, word, given = WORK[name]
    thread = desk.session.lanes[lane]._thread
    with monkeypatch.context() as patch:
        if target:
            patch.setattr(target, endless)
        patch.setattr(running, "LONGEST", 1e7)
        desk.session.do({"do": name, **given}, 1)
        wait(lambda: desk.session.lanes[lane].running is not None)
        time.sleep(0.05)
        desk.session.do({"do": "slide", "name": "A", "to": desk.session.bench.x["A"] + 0.05}, 1)
        wait(lambda: [h for h, _ in desk.events("pose") if h["source"] == "slide"])
        told = len(desk.told)
        desk.session.do({"do": "stop"}, 1)
        assert desk.session.lanes[lane].idle()  # its work would never end by itself
    assert word in desk.last("note")[0]["text"]
    assert desk.last("status")[0] == {"event": "status", "lane": lane, "text": ""}
    wait(lambda: not thread.is_alive(), 10)  # nothing goes on in secret
    assert {h["event"] for h, _ in desk.told[told:]} <= {"note", "status", "report", "forces", "pose"}
    assert not desk.errors()
    desk.do("linearize")
    desk.do("simulate", time=0.1)
    assert desk.last("linear")[0]["modes"]
    assert desk.last("run")[0]["success"]


def test_nothing_is_said_where_nothing_is_stopped(desk):
    desk.do("stop")
    assert not desk.events("note")


def test_machine_code_that_does_not_return_is_left_behind():
    """A job that cannot be interrupted leaves its lane free at once, and what it finds later does not count."""
    release, ended, order, told = threading.Event(), threading.Event(), [], []

    def deaf(job):
        try:
            while not release.is_set():
                try:
                    release.wait(0.01)
                except BaseException:
                    order.append("swallowed")
            order.append(job.take())
        finally:
            ended.set()

    lane = Lane("test", lambda name, label: told.append(label), lambda key, error: order.append(error))
    lane.submit("deaf", deaf, "listening")
    wait(lambda: lane.running is not None)
    assert lane.cancel() == ["listening"]
    lane.submit("next", lambda job: order.append("next"), "next")
    assert lane.idle(5)
    assert "next" in order
    release.set()
    assert ended.wait(5)
    assert True not in order
    assert not [x for x in order if isinstance(x, BaseException)]
    assert told == ["listening", "", "next", ""]
    lane.close()


def test_a_stop_that_a_destructor_swallows_is_not_printed_and_comes_again(monkeypatch):
    """Exceptions in destructors are printed by Python and lost; others than `Stopped` still are."""
    printed, inside, order = [], threading.Event(), []
    monkeypatch.setattr("dalembert.studio.jobs.AGAIN", 0.05)
    monkeypatch.setattr("sys.unraisablehook", lambda found: printed.append(found.exc_type))

    class Slow:
        def __del__(self):
            inside.set()
            while True:  # until `Stopped` comes
                sum(range(100))

    class Broken:
        def __del__(self):
            raise ValueError

    def work(job):
        Broken()
        Slow()
        order.append("swallowed")
        endless()

    lane = Lane("test", lambda name, label: None, lambda key, error: order.append(error))
    lane.submit("work", work, "working")
    thread = lane._thread
    assert inside.wait(30)
    assert lane.cancel() == ["working"]
    thread.join(30)
    assert not thread.is_alive()
    assert order == ["swallowed"]
    assert printed == [ValueError]
    lane.close()


def test_an_answer_that_was_taken_is_not_stopped_half_way():
    """From `take` on a job runs to its end, and is not called stopped."""
    taken, go_on, done = threading.Event(), threading.Event(), []

    def work(job):
        assert job.take()
        taken.set()
        go_on.wait(5)
        done.append("all of it")

    lane = Lane("test", lambda name, label: None, lambda key, error: done.append(error))
    lane.submit("work", work, "working")
    assert taken.wait(5)
    assert lane.cancel() == []
    go_on.set()
    assert lane.idle(5)
    assert done == ["all of it"]
    lane.close()
