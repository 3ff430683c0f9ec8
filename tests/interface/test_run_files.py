"""Runs on disk: what was written whole is read whole, whatever happens to the rest."""

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.errors import ArgumentError, FileError, MissingExtra
from dalembert.simulation.files import Header, Recorder, check_system, header_of_run, read, recorder, replacing, write

HEADER = Header(
    "crane",
    ["A", "ball.qw"],
    ["A", "ball.wx"],
    ["motor"],
    {"L": 2.0},
    {"force A": 0.1},
    {"rtol": 1e-9, "method": "rk4"},
    ["energy"],
)


def batch(k, n=4, seed=0):
    """Numbers of batch k: t, q, v, extra, resume."""
    random = np.random.default_rng([seed, k])
    resume = {
        "numbers": random.normal(size=5) * 10.0 ** random.integers(-300, 300, 5),
        "counts": np.array([k, -(2**62)]),
    }
    return np.arange(n) + 10.0 * k, *random.normal(size=(2, n, 2)), {"energy": random.normal(size=n)}, resume


def record(path, batches=3, header=HEADER, close=True):
    """A recording of some batches, and where each one ends."""
    recording = Recorder(path, header)
    ends = [os.path.getsize(path)]
    for k in range(batches):
        t, q, v, more, resume = batch(k)
        recording.append(t, q, v, more, resume=resume, notes={"steps": k})
        ends.append(os.path.getsize(path))
    recording.close() if close else recording.leave()
    return ends


def assert_holds(found, batches):
    """The recording is exactly the first batches, to the last bit."""
    parts = [batch(k) for k in range(batches)]
    assert found.batches == batches
    for name, column in (("t", 0), ("q", 1), ("v", 2)):
        expected = np.concatenate([p[column] for p in parts]) if parts else np.zeros((0, 2)[: 1 + (column > 0)])
        np.testing.assert_array_equal(getattr(found, name), expected)
    if parts:
        np.testing.assert_array_equal(found.extra["energy"], np.concatenate([p[3]["energy"] for p in parts]))
        assert found.notes == {"steps": batches - 1}
        for name, x in parts[-1][4].items():
            assert found.resume[name].dtype == x.dtype
            assert found.resume[name].tobytes() == x.tobytes()
    else:
        assert found.resume == {}
        assert found.notes is None


def test_a_recording_comes_back_bit_for_bit(tmp_path):
    record(tmp_path / "run.arrow")
    found = read(tmp_path / "run.arrow")
    assert_holds(found, 3)
    assert found.complete
    assert found.damaged == 0
    assert found.header == HEADER


def test_numbers_that_are_no_numbers_survive(tmp_path):
    x = np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324])
    write(
        tmp_path / "a", Header("s", ["A"], ["A"]), x, x[:, None], x[:, None], resume={"x": x}, notes={"health": np.nan}
    )
    found = read(tmp_path / "a")
    assert found.q.tobytes() == found.t.tobytes() == found.resume["x"].tobytes() == x.tobytes()


def test_batches_and_mechanisms_may_be_empty(tmp_path):
    with Recorder(tmp_path / "a", Header("ground", [], [])) as recording:
        recording.append([], [], [])
        recording.append([1.0, 2.0], [], [], notes="end")
    found = read(tmp_path / "a")
    assert found.q.shape == (2, 0)
    assert (found.t.tolist(), found.notes, found.batches) == ([1, 2], "end", 2)


@pytest.mark.parametrize("where", ["every byte of the last batch", "anywhere"])
def test_a_file_cut_anywhere_is_read_up_to_its_last_whole_batch(tmp_path, where):
    path, cut = tmp_path / "run.arrow", tmp_path / "cut.arrow"
    ends = record(path, 4)
    data = path.read_bytes()
    if where == "anywhere":
        offsets = np.random.default_rng(4).integers(ends[0], len(data), 150)
    else:
        offsets = range(ends[-2], len(data))
    for n in offsets:
        cut.write_bytes(data[:n])
        found = read(cut)
        whole = sum(e <= n for e in ends) - 1
        assert_holds(found, whole)
        assert not found.complete
        assert (found.size, found.damaged) == (ends[whole], n - ends[whole])


def test_a_file_cut_within_its_head_is_refused(tmp_path):
    path, cut = tmp_path / "run.arrow", tmp_path / "cut.arrow"
    head = record(path)[0]
    for n in range(0, head, 7):
        cut.write_bytes(path.read_bytes()[:n])
        with pytest.raises(FileError, match=r"empty|not begin as an Arrow stream"):
            read(cut)


@pytest.mark.parametrize("seed", range(20))
def test_a_batch_with_wrong_bytes_ends_the_reading(tmp_path, seed):
    """As after a power cut, when the file is long enough but some pages were never written."""
    path = tmp_path / "run.arrow"
    ends = record(path, 4)
    random = np.random.default_rng(seed)
    data = bytearray(path.read_bytes())
    start = int(random.integers(ends[2], ends[3] - 16))
    was = bytes(data[start : start + 16])
    data[start : start + 16] = bytes(16) if seed % 2 else random.bytes(16)
    path.write_bytes(data)
    found = read(path)
    if was == bytes(data[start : start + 16]):  # padding
        assert_holds(found, 4)
    else:
        assert found.batches in (2, 4)  # 4: only padding was hit
        assert_holds(found, found.batches)


@pytest.mark.parametrize("cut", [0, 1, 100, None])
def test_a_broken_recording_goes_on_as_if_nothing_had_happened(tmp_path, cut):
    """Cut it (None: close it properly), go on after the last whole batch: the file is the same, byte for byte."""
    whole, path = tmp_path / "whole", tmp_path / "broken"
    record(whole, 4)
    ends = record(path, 3, close=cut is None)
    if cut is not None:
        os.truncate(path, ends[3] - cut)
    recording, found = Recorder.resumed(path)
    assert_holds(found, 2 if cut else 3)
    assert recording.header == HEADER
    for k in range(found.batches, 4):
        t, q, v, more, resume = batch(k)
        recording.append(t, q, v, more, resume=resume, notes={"steps": k})
    recording.close()
    assert path.read_bytes() == whole.read_bytes()


def test_other_readers_of_arrow_see_the_columns(tmp_path):
    record(tmp_path / "run.arrow")
    table = pa.ipc.open_stream(tmp_path / "run.arrow").read_all()
    assert table.column_names == ["t", "q.A", "q.ball.qw", "v.A", "v.ball.wx", "energy"]
    assert json.loads(table.schema.metadata[b"dalembert"])["system"] == "crane"
    np.testing.assert_array_equal(table["v.A"].to_numpy()[:4], batch(0)[2][:, 0])


def test_a_process_that_dies_leaves_all_it_appended(tmp_path):
    path = tmp_path / "run.arrow"
    code = f"""
import os
from dalembert.simulation.files import Header, Recorder
r = Recorder({str(path)!r}, Header("s", ["A"], ["A"]))
for k in range(5):
    r.append([float(k)], [[1.0]], [[2.0]])
os._exit(9)
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == 9
    found = read(path)
    assert found.t.tolist() == [0, 1, 2, 3, 4]
    assert not found.complete


def test_an_interrupted_save_leaves_the_older_file(tmp_path, monkeypatch):
    path = tmp_path / "run.arrow"
    write(path, HEADER, *batch(0)[:4])
    before = path.read_bytes()

    def fail(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(recorder.Recorder, "_message", fail)
        with pytest.raises(KeyboardInterrupt):
            write(path, HEADER, *batch(1)[:4])
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(KeyboardInterrupt):
            write(path, HEADER, *batch(1)[:4])
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run.arrow"]
    write(path, HEADER, *batch(1)[:4])
    np.testing.assert_array_equal(read(path).t, batch(1)[0])


def test_a_batch_the_disk_had_no_room_for_leaves_no_trace(tmp_path, monkeypatch):
    path = tmp_path / "run.arrow"
    recording = Recorder(path, HEADER)
    recording.append(*batch(0)[:4], resume=batch(0)[4], notes={"steps": 0})
    real, size = recording._file, os.path.getsize(path)

    class Full:
        closed, fileno, truncate = False, real.fileno, real.truncate

        def write(self, data):
            if real.tell() > size:
                raise OSError(28, "No space left on device")
            return real.write(data[:100])

    recording._file = Full()
    with pytest.raises(OSError, match="No space"):
        recording.append(*batch(1)[:4], resume=batch(1)[4])
    assert os.path.getsize(path) == size
    recording._file = real
    recording.append(*batch(1)[:4], resume=batch(1)[4], notes={"steps": 1})
    recording.close()
    assert_holds(read(path), 2)


def test_replacing_keeps_the_permissions_of_the_older_file(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o640)
    with replacing(path) as new:
        new.write_text("new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_what_is_no_run_is_refused_with_a_reason(tmp_path):
    path = tmp_path / "x"
    path.write_text("t,q\n0,1\n")
    with pytest.raises(FileError, match=r"is not a run: .* run\.save\(path\)"):
        read(path)
    with pa.ipc.new_stream(path, pa.schema([("t", pa.float64())])):
        pass
    with pytest.raises(FileError, match="lacks the key 'dalembert'"):
        read(path)
    with pa.ipc.new_stream(path, pa.schema([], metadata={"dalembert": '{"format": 99}'})):
        pass
    with pytest.raises(FileError, match=r"has format 99; .* reads 3. Install a newer one"):
        read(path)
    with pa.ipc.new_stream(path, pa.schema([], metadata={"dalembert": '{"format": 2}'})):
        pass
    with pytest.raises(FileError, match=r"has format 2; .* record it anew"):
        read(path)
    with pa.ipc.new_stream(path, pa.schema([], metadata={"dalembert": '{"format": 3}'})):
        pass
    with pytest.raises(FileError, match="has a head that makes no sense"):
        read(path)
    with pytest.raises(FileError, match="absent' cannot be read: No such file"):
        read(tmp_path / "absent")


def test_columns_that_do_not_fit_are_refused(tmp_path):
    recording = Recorder(tmp_path / "a", HEADER)
    t, q, v, more, _ = batch(0)
    with pytest.raises(ArgumentError, match=r"q has shape \(4, 1\); needed: \(4, 2\)"):
        recording.append(t, q[:, :1], v, more)
    with pytest.raises(ArgumentError, match="extra columns are none; the file has energy"):
        recording.append(t, q, v)
    with pytest.raises(ArgumentError, match=r"resume vector 'n' is float32"):
        recording.append(t, q, v, more, resume={"n": np.zeros(2, dtype=np.float32)})
    with pytest.raises(ArgumentError, match="columns t would be in the file twice"):
        Recorder(tmp_path / "b", Header("s", ["A"], ["A"], extra=["t"]))
    with pytest.raises(FileError, match="exists; a new recording would take its place"):
        Recorder(tmp_path / "a", HEADER)
    recording.close()
    with pytest.raises(ArgumentError, match="is closed"):
        recording.append(t, q, v, more)


def test_a_missing_library_is_named_with_its_repair(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r'needs .pyarrow.*pip install "dalembert\[files\]"'):
        Recorder(tmp_path / "a", HEADER)


@pytest.mark.parametrize("name", ["four_bar", "rolling_disc", "heavy_top", "ssrms", "car", "cart_pole"])
def test_a_file_knows_its_system(name):
    header = header_of_run(zoo.CATALOG[name].build().compile(backend="casadi"))
    check_system(header, zoo.CATALOG[name].build().compile(backend="casadi"), "run.arrow")
    assert np.isfinite(list(header.fingerprint.values())).all()


def test_a_file_of_another_system_is_refused():
    header = header_of_run(zoo.four_bar().compile(backend="casadi"), {"rtol": 1e-9})
    for change in (
        {"coupler": 0.6 + 1e-6},
        {"masses": (1.0, 1.5, 1.2 + 1e-6)},
        {"ground": 0.5500001},
        {"gravity": 9.8},
    ):
        with pytest.raises(FileError, match=r"but another description: (body|joint|gravity).* was .* and is"):
            check_system(header, zoo.four_bar(**change).compile(backend="casadi"), "run.arrow")
    with pytest.raises(FileError, match="is a run of 'four-bar' with the coordinates A, B, D; system 'five-bar'"):
        check_system(header, zoo.five_bar().compile(backend="casadi"), "run.arrow")


def test_other_values_of_parameters_are_the_same_system():
    def pendulum(length):
        m = da.Mechanism("pendulum")
        L = m.add_parameter("L", length)
        m.add_joint("A", da.Revolute("y"), m.ground, m.add_body("bob", mass=1.0, com=(0, 0, -L)))
        return m.compile(backend="casadi")

    header = header_of_run(pendulum(1.0))
    check_system(header, pendulum(2.0), "run.arrow")
    assert header.parameters == {"L": 1.0}
