"""Run files from strangers, and disks and processes that fail: a sentence each, no crash, nothing computed is lost."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.simulation.files import Header, Recorder, read
from dalembert.simulation.files.format import KEY, check_sum, schema
from dalembert.simulation.run import context
from forged_runs import Taken

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def bar():
    system = zoo.four_bar().compile()
    return system, system.assemble({"A": 0.6}, v={"A": 12.0})


def python(code, **options):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, **options)


@pytest.mark.parametrize("seed", [8, 12])
def test_forged_files_are_refused_and_nothing_else_happens(tmp_path, seed):
    """In a process of its own, whose end would be seen."""
    done = subprocess.run(
        [sys.executable, TESTS / "forged_runs.py", tmp_path, str(seed), "1000"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, f"{(tmp_path / 'case').read_text()}\n{done.stdout}\n{done.stderr}"
    read = int(done.stdout.split()[2])
    assert 200 < read < 800  # the changes hit, and not only the head


@pytest.mark.parametrize("told", [10**400, [10**400], "a text", None, [[1.0], [2.0, 3.0]], {}])
def test_a_description_that_holds_no_numbers_is_another_description(tmp_path, bar, told):
    """Whole numbers that no float holds among them."""
    system, x = bar
    path = tmp_path / "run.arrow"
    da.simulate(system, x, 0.1).save(path)
    file = Taken.apart(path.read_bytes())
    where = next(key for key, value in file.facts["description"].items() if isinstance(value, list | float))
    file.facts["description"][where] = told
    file.write(path)
    with pytest.raises(da.FileError, match="another description"):
        da.read_run(path, system)


@pytest.mark.parametrize("count", [10**6, -5, 10**12, 2**62])
def test_a_batch_that_lies_about_its_rows_is_not_read(tmp_path, bar, count):
    system, x = bar
    path = tmp_path / "run.arrow"
    run = da.simulate(system, x, 0.1)
    run.save(path)
    data, rows = path.read_bytes(), len(run.t).to_bytes(8, "little")
    assert data.count(rows) > 2
    path.write_bytes(data.replace(rows, count.to_bytes(8, "little", signed=True)))
    with pytest.raises(da.FileError, match="holds no states"):
        da.read_run(path, system)


def test_a_batch_that_unpacks_to_gigabytes_is_not_unpacked(tmp_path):
    header = Header("bomb", ["A"], ["A"])
    columns = np.zeros((3, 10**6))
    texts = {"resume": "{}", "notes": "null"}
    texts["crc32"] = str(check_sum(columns, texts))
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(tmp_path / "bomb", schema(header), options=options) as writer:
        writer.write_batch(pa.record_batch(list(columns), schema=schema(header)), custom_metadata=texts)
    assert os.path.getsize(tmp_path / "bomb") < 20_000
    before = pa.default_memory_pool().bytes_allocated()
    found = read(tmp_path / "bomb")
    assert found.batches == 0
    assert pa.default_memory_pool().bytes_allocated() - before < 10**6


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda f: f.facts.update(q_names=["A", "B"]), "columns are not those it names"),
        (lambda f: f.facts.update(parameters={"g": 1.0}), "parameters are not those"),
        (lambda f: f.facts["fingerprint"].update({"force A": "1"}), "no number"),
        (lambda f: f.batches[0][0][0].__setitem__(1, -1.0), "go back"),
        (lambda f: f.batches[0][0][1].__setitem__(3, np.inf), "is not finite"),
        (lambda f: f.batches[0][2].update(status="FINE"), "no status 'FINE'"),
        (lambda f: f.batches[0][2].update(events={"e": [[0.1, [1.0]]]}), "is not 6 numbers"),
        (lambda f: f.batches[0][2].update(met={"from": 7, "items": []}), "where it ended"),
        (lambda f: f.batches[0][2]["facts"].update(steps=-1), "steps is -1"),
        (lambda f: f.batches[0][1].update(x=["<U9", "00"]), "float64 and int64"),
    ],
)
def test_what_no_run_says_is_named(tmp_path, bar, change, sentence):
    system, x = bar
    da.simulate(system, x, 0.1).save(tmp_path / "a")
    file = Taken.apart(tmp_path / "a")
    names = schema(read(tmp_path / "a").header).names
    change(file)
    file.write(tmp_path / "a", names)
    with pytest.raises(da.FileError, match=sentence):
        da.read_run(tmp_path / "a", system)


def test_names_that_are_no_text_are_refused(tmp_path):
    with Recorder(tmp_path / "a", Header("s", ["crank"], ["crank"])):
        pass
    data = (tmp_path / "a").read_bytes()
    at = data.rindex(b"q.crank")  # in the schema; the first is in its text
    (tmp_path / "a").write_bytes(data[:at] + b"q.\xa6rank" + data[at + 7 :])
    with pytest.raises(da.FileError, match="columns are not those it names"):
        read(tmp_path / "a")


def test_deep_texts_are_refused(tmp_path):
    with pa.ipc.new_stream(tmp_path / "deep", pa.schema([], metadata={KEY: b"[" * 200_000})):
        pass
    with pytest.raises(da.FileError, match="makes no sense"):
        read(tmp_path / "deep")


def test_a_file_that_is_cut_after_it_was_read_stays_read(tmp_path):
    with Recorder(tmp_path / "a", Header("s", ["A"], ["A"])) as recorder:
        recorder.append(np.arange(1000.0), np.ones((1000, 1)), np.ones((1000, 1)))
    found = read(tmp_path / "a")
    os.truncate(tmp_path / "a", 0)
    assert found.t.sum() == 499500.0
    assert found.q.sum() == 1000.0


def test_devices_and_folders_are_no_runs(tmp_path, bar):
    system, x = bar
    os.mkfifo(tmp_path / "pipe")
    run = da.simulate(system, x, 0.1)
    for path in (tmp_path, tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(da.FileError, match="is a folder, pipe or device"):
            da.read_run(path, system)
        with pytest.raises(da.FileError, match="is a folder, pipe or device"):
            run.save(path)
    with pytest.raises(da.FileError, match=r"cannot be written: No such file or directory\."):
        run.save(tmp_path / "no" / "such")
    with pytest.raises(da.FileError, match=r"cannot be written: No such file or directory\."):
        da.simulate(system, x, 0.1, record=tmp_path / "no" / "such")


def test_a_run_saved_through_a_link_is_where_the_link_leads(tmp_path, bar):
    system, x = bar
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "run.arrow")
    da.simulate(system, x, 0.1).save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert da.read_run(tmp_path / "there" / "run.arrow", system).success


# --- two writers ------------------------------------------------------------------------------------------------------


def test_two_recordings_of_one_file_are_refused(tmp_path, bar):
    system, x = bar
    path = tmp_path / "run.arrow"
    seen = []

    def second(t, s):
        if not seen:
            for call in (
                lambda: da.simulate(system, x, 1.0, record=path, resume=True),
                lambda: da.simulate(system, x, 0.1).save(path),
            ):
                with pytest.raises(da.FileError, match="is being written by another recording") as caught:
                    call()
                seen.append(str(caught.value))
            with pytest.raises(da.FileError, match="exists; a new recording"):
                da.simulate(system, x, 1.0, record=path)
        return 1.0

    run = da.simulate(system, x, 1.0, record=path, events={"never": second})
    assert len(seen) == 2
    assert run.success, run.message
    assert da.read_run(path, system).success


def test_another_process_cannot_write_a_recording_meanwhile(tmp_path):
    path = tmp_path / "run.arrow"
    with Recorder(path, Header("s", ["A"], ["A"])) as recorder:
        recorder.append([0.0], [[1.0]], [[2.0]])
        code = f"""
        from dalembert.simulation.files import Recorder
        Recorder.resumed({str(path)!r})
        """
        other = python(code)
        assert other.returncode == 1
        assert "is being written by another recording" in other.stderr
        recorder.append([1.0], [[1.0]], [[2.0]])
    assert read(path).t.tolist() == [0.0, 1.0]
    again, found = Recorder.resumed(path)  # and it is free again
    again.leave()
    assert found.complete
    assert read(path).complete  # nothing was appended: nothing was cut


# --- processes and disks that fail ------------------------------------------------------------------------------------


def test_a_process_killed_before_the_first_batch_leaves_a_file_that_says_so(tmp_path, bar):
    system, x = bar
    code = f"""
    import os
    import dalembert as da
    from dalembert import zoo
    from dalembert.simulation.files import saving

    saving.Record.append = lambda *_: os._exit(9)
    system = zoo.four_bar().compile()
    da.simulate(system, system.assemble({{"A": 0.6}}, v={{"A": 12.0}}), 1.0, record={str(tmp_path / "a")!r})
    """
    assert python(code).returncode == 9
    with pytest.raises(da.FileError, match=r"holds no states: .* resume=True\) begins it anew"):
        da.read_run(tmp_path / "a", system)
    again, whole = da.simulate(system, x, 1.0, record=tmp_path / "a", resume=True), da.simulate(system, x, 1.0)
    np.testing.assert_array_equal(again.q, whole.q)
    assert da.read_run(tmp_path / "a", system).success


def test_a_full_disk_costs_the_file_and_not_the_run(tmp_path, bar):
    """The limit on the size of files makes a disk full for this process alone."""
    system, x = bar
    path = tmp_path / "run.arrow"
    code = f"""
    import resource, warnings
    import numpy as np
    import dalembert as da
    from dalembert import zoo
    from dalembert.simulation.run import context

    context.RECORDED = 50
    system = zoo.four_bar().compile()
    x = system.assemble({{"A": 0.6}}, v={{"A": 12.0}})
    whole = da.simulate(system, x, 3.0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        run = da.simulate(system, x, 3.0, record={str(path)!r})
    assert [w.category for w in said] == [RuntimeWarning], said
    assert "keep it with run.save(path)" in str(said[0].message)
    assert np.array_equal(run.q, whole.q) and run.success
    assert "could not be written further (File too large)" in run.message, run.message
    try:
        run.save({str(tmp_path / "saved")!r})
    except da.FileError as error:
        assert "cannot be written: File too large" in str(error)
    else:
        raise AssertionError
    """
    done = python(code)
    assert done.returncode == 0, done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["run.arrow"]
    left, whole = da.read_run(path, system), da.simulate(system, x, 3.0)
    assert 50 < len(left.t) < len(whole.t)
    again = da.simulate(system, x, 3.0, record=path, resume=True)  # there is room again
    np.testing.assert_array_equal(again.q, whole.q)
    np.testing.assert_array_equal(da.read_run(path, system).q, whole.q)


# --- going on ---------------------------------------------------------------------------------------------------------


def test_options_are_compared_by_value_not_by_type(tmp_path, bar):
    system, x = bar
    plain = {"rtol": 1e-8, "stabilization": da.Projection(every=3), "options": {"tolerance": 1e-9}}
    numpy = {
        "rtol": np.float64(1e-8),
        "stabilization": da.Projection(every=np.int64(3)),
        "options": {"tolerance": np.float64(1e-9)},
    }
    da.simulate(system, x, 0.5, record=tmp_path / "a", **plain)
    assert da.simulate(system, x, 1.0, record=tmp_path / "a", resume=True, **numpy).success
    with pytest.raises(da.ArgumentError, match="was recorded with rtol=1e-08"):
        da.simulate(system, x, 1.0, record=tmp_path / "a", resume=True, **{**numpy, "rtol": np.float64(1e-7)})


def test_a_recording_with_more_steps_than_are_allowed_does_not_go_on(tmp_path, bar):
    system, x = bar
    da.simulate(system, x, 1.0, record=tmp_path / "a", max_steps=40)
    with pytest.raises(da.ArgumentError, match="has 40 steps already and max_steps is 30"):
        da.simulate(system, x, 1.0, record=tmp_path / "a", resume=True, max_steps=30)
    assert da.simulate(system, x, 1.0, record=tmp_path / "a", resume=True, max_steps=40).status.name == "STEPS"
    assert da.simulate(system, x, 1.0, record=tmp_path / "a", resume=True).success


def test_events_are_written_once(tmp_path, bar, monkeypatch):
    monkeypatch.setattr(context, "RECORDED", 10)
    system, x = bar
    options = {"events": {"beat": lambda t, s: np.sin(40 * t)}}
    whole = da.simulate(system, x, 3.0, **options)
    da.simulate(system, x, 3.0, record=tmp_path / "a", max_steps=whole.steps // 2, **options)
    da.simulate(system, x, 3.0, record=tmp_path / "a", resume=True, **options)
    found = read(tmp_path / "a")
    assert found.batches > 20
    items = [len(notes["events"]["beat"]["items"]) for notes in found.all_notes]
    assert sum(items) == len(whole.t_events["beat"]) > 30
    np.testing.assert_array_equal(da.read_run(tmp_path / "a", system).x_events["beat"], whole.x_events["beat"])


@pytest.mark.parametrize("version", [1, 2])
def test_files_of_older_formats_are_refused_with_what_to_do(tmp_path, bar, version):
    """They say too little of their system: nothing of contacts, ropes or friction."""
    system, x = bar
    da.simulate(system, x, 0.1).save(tmp_path / "a")
    file = Taken.apart(tmp_path / "a")
    file.facts["format"] = version
    file.write(tmp_path / "a")
    with pytest.raises(da.FileError, match=rf"has format {version}; .* reads 3\. Older files .* record it anew"):
        da.read_run(tmp_path / "a", system)
