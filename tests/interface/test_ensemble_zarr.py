"""Dense paths in Zarr: read by xarray while they are written, made whole after a crash and a full disk."""

from __future__ import annotations

import errno
import warnings
from concurrent.futures import Future

import numpy as np
import pytest
import xarray
import zarr

import dalembert as da
from dalembert.ensembles import work

TIMES = np.linspace(0.0, 0.3, 7)


def pendulum() -> da.System:
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    length = m.add_parameter("length", 1.0)
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -length, 0)))
    return m.compile()


def study(n: int = 900, **more) -> da.Ensemble:
    """Pendulums of several lengths; one has none."""
    lengths = np.linspace(0.5, 1.5, n)
    lengths[n // 3] = np.nan
    return da.ensemble(
        pendulum(), {"A": 0.5}, 0.3, p={"length": lengths}, t_eval=TIMES,
        outputs={"turned": lambda t, s: 2.0 * s["A"] + t}, workers=1, lanes=8, **more,
    )  # fmt: skip


class Reader:
    """An executor that opens the paths before it makes a part."""

    def __init__(self, folder):
        self.folder, self.seen = folder, []

    def submit(self, f, *arguments):
        data = xarray.open_zarr(self.folder / "paths.zarr", consolidated=False)
        angle = data["q"].sel(coordinate="A")
        known = np.isfinite(angle[:, -1].to_numpy())
        np.testing.assert_array_equal(data["turned"].to_numpy()[known], (2.0 * angle + data["t"]).to_numpy()[known])
        self.seen.append(int(known.sum()))
        made = Future()
        made.set_result(f(*arguments))
        return made


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(work, "SECONDS", 1e-9)


def same(a: da.Ensemble, b: da.Ensemble) -> None:
    for name in ("q", "v", "q_end", "status", "steps"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    np.testing.assert_array_equal(a.outputs["turned"], b.outputs["turned"])


def test_xarray_reads_paths_while_they_are_written(tmp_path, small_parts):
    whole, reader = study(), Reader(tmp_path / "runs")
    made = study(store=tmp_path / "runs", paths="zarr", executor=reader)
    same(whole, made)
    assert reader.seen[0] == 0
    assert len(reader.seen) > 3
    assert reader.seen == sorted(reader.seen)
    assert reader.seen[-1] > 0
    data = xarray.open_zarr(tmp_path / "runs" / "paths.zarr", consolidated=False)
    assert data["v"].dims == ("run", "t", "speed")
    np.testing.assert_array_equal(data["q"].to_numpy(), whole.q)
    assert float(data["q"].sel(run=7, t=TIMES[3], coordinate="A")) == whole.q[7, 3, 0]
    same(whole, study(store=tmp_path / "runs", paths="zarr"))  # read


def test_runs_whose_rows_are_lost_are_made_again_with_their_paths(tmp_path, small_parts):
    whole = study(store=tmp_path / "runs", paths="zarr")
    parts = sorted((tmp_path / "runs").glob("part-*.arrow"))
    assert len(parts) > 3
    lost = [int(path.stem.split("-")[1]) for path in parts[1::2]]
    group = zarr.open_group(str(tmp_path / "runs" / "paths.zarr"), mode="r+")
    for path, first in zip(parts[1::2], lost):
        path.unlink()
        group["q"][first : first + 5] = 7.0  # half written
    same(whole, study(store=tmp_path / "runs", paths="zarr"))
    with pytest.raises(da.FileError, match="another study"):
        study(store=tmp_path / "runs")  # paths elsewhere


@pytest.mark.parametrize("keep", ["outputs", "summary"])
def test_outputs_alone_and_summaries(keep, tmp_path):
    whole = study(50, keep=keep)
    for _ in range(2):
        made = study(50, keep=keep, store=tmp_path / "runs", paths="zarr")
        np.testing.assert_array_equal(made.quantiles("turned"), whole.quantiles("turned"))
        np.testing.assert_array_equal(made.extremes("turned").greatest, whole.extremes("turned").greatest)
    assert "q" not in xarray.open_zarr(tmp_path / "runs" / "paths.zarr", consolidated=False)


def test_derivatives_along_paths(tmp_path):
    whole = study(12, wrt=["length", "held:A"])
    for _ in range(2):
        made = study(12, wrt=["length", "held:A"], store=tmp_path / "runs", paths="zarr")
        np.testing.assert_array_equal(made.sensitivities.path.jacobian, whole.sensitivities.path.jacobian)
        np.testing.assert_array_equal(made.sensitivities.jacobian, whole.sensitivities.jacobian)
    data = xarray.open_zarr(tmp_path / "runs" / "paths.zarr", consolidated=False)
    found = data["d_path"].sel(quantity="turned", wrt="length").to_numpy()
    np.testing.assert_array_equal(found, whole.sensitivities.path.d("turned", "length"))


def test_a_full_disk_is_said_and_what_is_there_stays(tmp_path, small_parts, monkeypatch):
    """The disk is full in the middle of the third part: after four coordinates, 2 × 3 pieces (a run has none) and 3."""
    whole, real, left = study(), zarr.Array.__setitem__, iter(range(4 + 6 + 3 + 1))

    def write(array, where, value):
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(array, where, value)

    with monkeypatch.context() as m:
        m.setattr(zarr.Array, "__setitem__", write)
        with pytest.raises(da.FileError, match="No space left"):
            study(store=tmp_path / "runs", paths="zarr")
    assert len(list((tmp_path / "runs").glob("part-*.arrow"))) == 2
    same(whole, study(store=tmp_path / "runs", paths="zarr"))


def test_an_output_with_the_name_of_a_coordinate_axis_is_refused(tmp_path):
    with pytest.raises(da.FileError, match="another name"):
        da.ensemble(
            pendulum(), {"A": 0.5}, 0.3, n=2, t_eval=TIMES, outputs={"q": lambda t, s: s["A"]}, paths="zarr",
            store=tmp_path / "runs",
        )  # fmt: skip


DAMAGE = {
    "missing": lambda data: None,
    "empty": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "flipped": lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 16]) + data[len(data) // 2 + 1 :],
}


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("file", ["q/0.0.0", "turned/0.0", "q/.zarray", "t/0", ".zgroup", "part"])
def test_what_is_damaged_or_missing_is_made_again(file, how, tmp_path):
    whole, folder = study(40, store=tmp_path / "runs", paths="zarr"), tmp_path / "runs"
    path = next(folder.glob("part-*.arrow")) if file == "part" else folder / "paths.zarr" / file
    data = DAMAGE[how](path.read_bytes())
    path.unlink()
    if data is not None:
        path.write_bytes(data)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        same(whole, study(40, store=folder, paths="zarr"))
    if file not in ("t/0", "part") and (file, how) != ("q/.zarray", "flipped"):  # which may mean the same
        assert any("made again" in str(w.message) for w in told)
    same(whole, study(40, store=folder, paths="zarr"))  # and is whole
    np.testing.assert_array_equal(xarray.open_zarr(folder / "paths.zarr", consolidated=False)["q"], whole.q)


def test_an_array_that_lost_its_shape_is_made_again(tmp_path):
    """Zarr takes it for a group."""
    whole, folder = study(40, store=tmp_path / "runs", paths="zarr"), tmp_path / "runs"
    about = folder / "paths.zarr/turned/.zarray"
    about.write_text(about.read_text().replace("shape", "shaqe"))
    with pytest.warns(RuntimeWarning, match="made again"):
        same(whole, study(40, store=folder, paths="zarr"))


def test_a_store_whose_making_was_cut_off_is_made_anew(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / ".study.json.abc.part").write_text("{")
    half = folder / "paths.zarr"
    half.mkdir()
    (half / ".zgroup").write_text('{"zarr_format": 2}')
    with pytest.raises(da.FileError, match="holds other files"):
        study(8, store=folder, paths="zarr")
    half.rename(folder / ".paths.zarr.abc.part")  # as a process leaves it now
    same(study(8), study(8, store=folder, paths="zarr"))
    assert not list(folder.glob(".*.part"))


@pytest.mark.parametrize("trouble", [PermissionError("denied"), MemoryError("full")])
def test_trouble_of_the_disk_or_the_memory_is_no_damage(trouble):
    """Chunks that cannot be decoded are made again; those that could not be reached stay, and the error says so."""
    from dalembert.ensembles.zarr_paths import _read

    class Chunks:
        name = "/q"

        def __init__(self, error):
            self.error = error

        def __getitem__(self, where):
            raise self.error

    assert _read(Chunks(RuntimeError("not decoded"))) is None
    with pytest.raises(da.FileError, match=rf"'/q' of the store cannot be read: {type(trouble).__name__}"):
        _read(Chunks(trouble))
