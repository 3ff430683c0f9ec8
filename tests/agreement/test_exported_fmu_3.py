"""FMUs of version 3.0 for co-simulation in FMPy: valid, exact, rolled back, differentiated, called wrongly."""

import shutil
import subprocess
import zipfile
from itertools import pairwise

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from exported_c import WARNINGS, compiler

fmpy = pytest.importorskip("fmpy", reason="FMPy is not installed (extra test)")
from fmpy.validation import validate_fmu  # noqa: E402

from exported_fmu import Instance, exported  # noqa: E402

if shutil.which("gcc") is None and shutil.which("cc") is None:
    pytest.skip("no C compiler (gcc, cc) on the PATH", allow_module_level=True)
ERROR = fmpy.fmi1.FMICallException


@pytest.mark.parametrize(
    ("name", "span"), [("four_bar", 10.0), ("equal_slider_crank", 10.0), ("heavy_top", 1.0), ("car", 1.0)]
)
def test_a_valid_fmu_follows_the_run_of_the_library(name, span, tmp_path):
    """Loops, singular positions, quaternions, rolling; communication steps of unequal length."""
    system, state, path = exported(name, tmp_path, version="3.0", rtol=1e-10, atol=1e-11)
    assert validate_fmu(str(path)) == []
    run = da.simulate(system, state, span, rtol=1e-11, atol=1e-12, u=np.zeros(len(system.u_names)))
    times = np.sort(np.concatenate([[0.0, span], np.random.default_rng(1).uniform(0, span, 40)]))
    with Instance(path, "3.0") as one:
        for t, after in pairwise(times):
            _, _, _, reached = one.fmu.doStep(t, after - t)
            assert reached == after
        q = one.get(*(f"q.{n}" for n in system.q_names))
        v = one.get(*(f"v.{n}" for n in system.v_names))
        assert one.get("time")[0] == span
    np.testing.assert_allclose(q, run.q[-1], rtol=0, atol=1e-8 * max(1.0, np.abs(run.q[-1]).max()))
    if system.rows.holonomic.any():
        assert np.abs(system.evaluate("residuals", system.state(q, v, span))[0]).max() < 1e-12


def test_fmpy_simulates_it_with_inputs_and_units(tmp_path):
    system, state, path = exported("five_bar", tmp_path, version="3.0", outputs=["energy"])
    signals = np.array(
        [(0.0, 0.4, -0.3), (1.0, 0.4, -0.3)], dtype=[("time", float), ("u.left", float), ("u.right", float)]
    )
    result = fmpy.simulate_fmu(str(path), stop_time=0.2, output_interval=0.05, input=signals)
    run = da.simulate(system, state, 0.2, rtol=1e-11, atol=1e-12, u=[0.4, -0.3])
    assert result["q.A"][-1] == pytest.approx(run.q[-1, 0], abs=1e-8)
    assert result["y.energy"][-1] == pytest.approx(system.energy(run.state(-1)), abs=1e-8)
    units = {v.name: v.unit for v in fmpy.read_model_description(str(path)).modelVariables}
    assert (units["q.A"], units["v.A"], units["a.A"], units["u.left"]) == ("rad", "rad/s", "rad/s2", "N.m")


def test_an_fmu_is_rolled_back_and_its_state_travels_as_bytes(tmp_path):
    system, _, path = exported("five_bar", tmp_path, version="3.0")
    names = [f"q.{n}" for n in system.q_names]
    with Instance(path, "3.0") as one, Instance(path, "3.0") as other:
        one.fmu.doStep(0.0, 0.1)
        saved = one.fmu.getFMUState()
        data = one.fmu.serializeFMUState(saved)
        one.fmu.doStep(0.1, 0.1)
        there = one.get(*names)
        one.fmu.setFMUState(saved)
        one.set(u__left=5.0)
        one.fmu.doStep(0.1, 0.1)
        assert np.abs(one.get(*names) - there).max() > 1e-6
        other.fmu.setFMUState(other.fmu.deserializeFMUState(data))
        other.fmu.doStep(0.1, 0.1)
        np.testing.assert_array_equal(other.get(*names), there)
        one.fmu.freeFMUState(saved)


@pytest.mark.parametrize("name", ["four_bar", "stewart"])
def test_adjoints_are_transposed_directional_derivatives(name, tmp_path):
    """Of coordinates, velocities, accelerations and outputs, column by column against row by row, and differences."""
    system, _, path = exported(name, tmp_path, version="3.0", outputs=["energy"])
    unknown = [f"{k}.{n}" for k in "qva" for n in (system.q_names if k == "q" else system.v_names)] + ["y.energy"]
    known = [
        f"{k}.{n}" for k, names in (("q", system.q_names), ("v", system.v_names), ("u", system.u_names)) for n in names
    ]
    rng = np.random.default_rng(5)
    with Instance(path, "3.0", begun=False) as one:
        one.begin(**{f"v.{n}": x for n, x in zip(system.v_names, rng.normal(size=system.nv))})  # at rest ∂v̇/∂v is zero
        rows, columns = [one.references[n] for n in unknown], [one.references[n] for n in known]
        along = rng.normal(size=len(known))
        weights = rng.normal(size=len(unknown))
        forward = np.array(one.fmu.getDirectionalDerivative(rows, columns, along.tolist()))
        backward = np.array(one.fmu.getAdjointDerivative(rows, columns, weights.tolist(), len(columns)))
        at = one.get(*known)
    size = np.abs(weights) @ np.abs(forward)
    assert weights @ forward == pytest.approx(backward @ along, abs=1e-12 * size)
    kernel, q, n = system.kernel("ode"), system.nq, system.nv

    def shifted(s):
        y = at + s * along
        values = {"q": y[:q], "v": y[q : q + n], "u": y[q + n :], "p": system.arguments.defaults}
        return kernel(*[values[k] for k in kernel.names_in])[1]

    difference = (shifted(1e-6) - shifted(-1e-6)) / 2e-6
    np.testing.assert_allclose(forward[q + n : q + 2 * n], difference, rtol=0, atol=1e-6 * np.abs(difference).max())


def test_calls_in_wrong_states_return_errors(tmp_path):
    _, _, path = exported("five_bar", tmp_path, version="3.0")
    with Instance(path, "3.0", begun=False) as one:
        for call in (
            lambda: one.fmu.doStep(0.0, 0.1), one.fmu.exitInitializationMode, one.fmu.terminate,
            lambda: one.fmu.getFloat64([10**6]), lambda: one.fmu.setFloat64([10**6], [1.0]),
            lambda: one.set(q__A=float("nan")), lambda: one.set(margin=1.0), lambda: one.fmu.getInt32([0]),
            lambda: one.fmu.setString([0], ["x"]), one.fmu.enterConfigurationMode,
            lambda: one.fmu.enterInitializationMode(tolerance=-1.0), lambda: one.fmu.setFloat64([0], [1.0, 2.0]),
        ):  # fmt: skip
            with pytest.raises(ERROR):
                call()
        one.begin()
        for call in (
            lambda: one.fmu.doStep(0.5, 0.1), lambda: one.fmu.doStep(0.0, -0.1),
            lambda: one.fmu.doStep(0.0, float("inf")), lambda: one.set(q__A=1.0), one.fmu.enterEventMode,
            one.fmu.updateDiscreteStates, lambda: one.fmu.deserializeFMUState(b"no state"),
            lambda: one.fmu.getAdjointDerivative([10**6], [0], [1.0], 1),
        ):  # fmt: skip
            with pytest.raises(ERROR):
                call()
        one.fmu.doStep(0.0, 0.1)
        one.fmu.terminate()
        with pytest.raises(ERROR):
            one.fmu.doStep(0.1, 0.1)
        one.fmu.reset()
        one.begin()
        one.fmu.doStep(0.0, 0.1)


def test_sources_are_inside_and_compile_without_a_warning(tmp_path):
    _, _, path = exported("five_bar", tmp_path, version="3.0")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "x")
    names = sorted(p.name for p in (tmp_path / "x" / "sources").iterdir())
    assert names == ["buildDescription.xml", "five_bar.c", "five_bar.h", "fmi3.c"]
    for source in ("five_bar.c", "fmi3.c"):
        command = [compiler(), *WARNINGS, "-O1", "-c", tmp_path / "x" / "sources" / source, "-o", tmp_path / "o.o"]
        subprocess.run([str(x) for x in command], check=True)


# dear: zig makes the C library of a platform when it is first wanted
@pytest.mark.parametrize(
    "wanted",
    [
        ["aarch64-linux", "aarch64-darwin"],
        pytest.param([f"{m}-{s}" for m in ("x86_64", "aarch64") for s in ("linux", "windows", "darwin")],
                     marks=pytest.mark.dear),
    ],
    ids=len,
)  # fmt: skip
def test_one_file_holds_the_libraries_of_several_platforms(tmp_path, wanted):
    pytest.importorskip("ziglang", reason="ziglang is not installed (extra export)")
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -1.0, 0)))
    path = m.compile().export_fmu(tmp_path / "a.fmu", {"A": 0.1}, version="3.0", platforms=wanted)
    starts = {"linux": b"\x7fELF", "windows": b"MZ", "darwin": b"\xcf\xfa\xed\xfe"}
    with zipfile.ZipFile(path) as archive:
        for each in wanted:
            (name,) = [n for n in archive.namelist() if n.startswith(f"binaries/{each}/")]
            assert archive.read(name).startswith(starts[each.split("-")[1]])


def test_words_of_the_versions_are_explained(tmp_path):
    system = zoo.five_bar().compile()
    state = system.state(*zoo.five_bar_start())
    with pytest.raises(da.ArgumentError, match="version"):
        system.export_fmu(tmp_path / "a.fmu", state, version="3")
    with pytest.raises(da.ArgumentError, match="kind"):
        system.export_fmu(tmp_path / "a.fmu", state, kind="me")
    with pytest.raises(da.ArgumentError, match="x86_64-linux"):
        system.export_fmu(tmp_path / "a.fmu", state, version="3.0", platforms=["linux64"])
