"""FMUs in FMPy: valid, and as exact as the library; rolled back, differentiated, and called wrongly."""

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
from fmpy.fmi2 import FMU2Slave  # noqa: E402
from fmpy.validation import validate_fmu  # noqa: E402

if shutil.which("gcc") is None and shutil.which("cc") is None:
    pytest.skip("no C compiler (gcc, cc) on the PATH", allow_module_level=True)


def exported(name, folder, **options):
    entry = zoo.CATALOG[name]
    system = entry.build().compile()
    state = system.state(*entry.start())
    return system, state, system.export_fmu(folder / f"{name}.fmu", state, **options)


class Slave:
    """An instance of an FMU, with values by name."""

    def __init__(self, path, begun=True):
        self.description = fmpy.read_model_description(str(path))
        self.folder = fmpy.extract(str(path))
        self.references = {v.name: v.valueReference for v in self.description.modelVariables}
        self.fmu = FMU2Slave(
            guid=self.description.guid, unzipDirectory=self.folder, instanceName="one",
            modelIdentifier=self.description.coSimulation.modelIdentifier,
        )  # fmt: skip
        self.messages = []
        self.fmu.instantiate()
        if begun:
            self.begin()

    def begin(self, **values):
        self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()
        self.set(**values)
        self.fmu.exitInitializationMode()

    def set(self, **values):
        names = [name.replace("__", ".") for name in values]
        self.fmu.setReal([self.references[n] for n in names], list(values.values()))

    def get(self, *names):
        return np.array(self.fmu.getReal([self.references[n] for n in names]))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.fmu.freeInstance()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.mark.parametrize(
    ("name", "span", "most"),
    [("four_bar", 10.0, 3e-8), ("delta", 0.6, 1e-7), ("heavy_top", 1.0, 1e-8), ("equal_slider_crank", 10.0, 1e-8)],
)
def test_a_valid_fmu_follows_the_run_of_the_library(name, span, most, tmp_path):
    """Loops, singular positions, quaternions; communication steps of unequal length.

    A communication point of the delta robot lies beside its singular position, where velocities are known to 1e-7.
    """
    system, state, path = exported(name, tmp_path, rtol=1e-10, atol=1e-11)
    assert validate_fmu(str(path)) == []
    run = da.simulate(system, state, span, rtol=1e-11, atol=1e-12, u=np.zeros(len(system.u_names)))
    rng = np.random.default_rng(1)
    times = np.sort(np.concatenate([[0.0, span], rng.uniform(0, span, 40)]))
    q_names = [f"q.{n}" for n in system.q_names]
    with Slave(path) as slave:
        for t, after in pairwise(times):
            slave.fmu.doStep(t, after - t)
        q, v = slave.get(*q_names), slave.get(*(f"v.{n}" for n in system.v_names))
        passages = slave.get("careful")[0]
    size = max(1.0, np.abs(run.q[-1]).max())
    np.testing.assert_allclose(q, run.q[-1], rtol=0, atol=most * size)
    if name == "delta":
        assert len(run.passages) > 0
        assert passages > 0
    if system.rows.of:
        phi = system.evaluate("residuals", system.state(q, v, span))[0]
        assert np.abs(phi).max() < 1e-12
    assert np.isfinite(v).all()


def test_an_fmu_is_rolled_back_and_its_state_travels_as_bytes(tmp_path):
    system, _, path = exported("five_bar", tmp_path)
    names = [f"q.{n}" for n in system.q_names]
    with Slave(path) as slave:
        slave.fmu.doStep(0.0, 0.1)
        saved = slave.fmu.getFMUstate()
        data = slave.fmu.serializeFMUstate(saved)
        slave.fmu.doStep(0.1, 0.1)
        there = slave.get(*names)
        slave.fmu.setFMUstate(saved)
        slave.set(u__left=5.0)
        slave.fmu.doStep(0.1, 0.1)
        assert np.abs(slave.get(*names) - there).max() > 1e-6
        slave.fmu.setFMUstate(saved)
        slave.fmu.doStep(0.1, 0.1)
        np.testing.assert_array_equal(slave.get(*names), there)
        slave.fmu.freeFMUstate(saved)
        with Slave(path) as other:
            state = other.fmu.deSerializeFMUstate(data)
            other.fmu.setFMUstate(state)
            other.fmu.doStep(0.1, 0.1)
            np.testing.assert_array_equal(other.get(*names), there)


def test_directional_derivatives_are_those_of_differences(tmp_path):
    """Of accelerations and outputs, by coordinates, velocities, inputs and parameters."""
    m = zoo.four_bar()
    system = m.compile()
    state = system.state(*zoo.four_bar_start(0.6, speed=2.0))
    path = system.export_fmu(tmp_path / "a.fmu", state, outputs=["energy", "rate:D"])
    unknown = [*(f"a.{n}" for n in system.v_names), "y.energy"]
    rng = np.random.default_rng(2)
    with Slave(path) as slave:
        knowns = {"q": system.q_names, "v": system.v_names, "u": system.u_names}
        known = [f"{k}.{n}" for k, names in knowns.items() for n in names]
        seed = rng.normal(size=len(known))
        values = slave.fmu.getDirectionalDerivative(
            [slave.references[n] for n in unknown], [slave.references[n] for n in known], seed.tolist()
        )
        at = slave.get(*known)
    kernel = system.kernel("ode")
    n, h = system.nv, 1e-6
    q = system.nq

    def at_shift(s):
        x, u = (at + s * seed)[: q + n], (at + s * seed)[q + n :]
        out = kernel(*[{"q": x[:q], "v": x[q:], "u": u, "p": system.arguments.defaults}[k] for k in kernel.names_in])[1]
        energy = system.energy(system.state(x[:q], x[q:]))
        return np.concatenate([out, [energy]])

    difference = (at_shift(h) - at_shift(-h)) / (2 * h)
    np.testing.assert_allclose(values, difference, rtol=1e-6, atol=1e-6 * np.abs(difference).max())


def test_parameters_and_starts_are_set_before_the_run(tmp_path):
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    length = m.add_parameter("length", 1.0)
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -1.0 * length, 0)))
    system = m.compile()
    path = system.export_fmu(tmp_path / "pendulum.fmu", {"A": 0.1})
    run = da.simulate(system, {"A": 0.3}, 1.0, p={"length": 0.5}, rtol=1e-11, atol=1e-12)
    with Slave(path, begun=False) as slave:
        slave.begin(q__A=0.3, p__length=0.5)
        slave.fmu.doStep(0.0, 1.0)
        assert slave.get("q.A")[0] == pytest.approx(run.q[-1, 0], abs=1e-8)


def test_crank_and_load_as_two_fmus_follow_the_whole(tmp_path):
    """A spring between two pendulums, one in each FMU: the error falls with the communication step."""

    def half(name, mass):
        m = da.Mechanism(name, gravity=(0, -9.81, 0))
        m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=mass, com=(0, -1.0, 0)))
        m.add_motor("torque", "A")
        return m.compile()

    k, paths = 20.0, []
    for name, mass, at in (("crank", 1.0, 0.4), ("load", 2.0, -0.2)):
        paths.append(half(name, mass).export_fmu(tmp_path / f"{name}.fmu", {"A": at}))
    whole = da.Mechanism("both", gravity=(0, -9.81, 0))
    for name, mass in (("crank", 1.0), ("load", 2.0)):
        whole.add_joint(
            name, da.Revolute("z"), whole.ground, whole.add_body(f"{name} bob", mass=mass, com=(0, -1.0, 0))
        )
        whole.add_motor(f"{name} torque", name)
    law = da.expression(
        lambda t, s: {"crank torque": k * (s["load"] - s["crank"]), "load torque": k * (s["crank"] - s["load"])}
    )
    run = da.simulate(whole.compile(), {"crank": 0.4, "load": -0.2}, 1.0, u=law, rtol=1e-11, atol=1e-12)
    errors = []
    for step in (2e-3, 1e-3):
        with Slave(paths[0]) as a, Slave(paths[1]) as b:
            for i in range(round(1.0 / step)):
                pull = k * (b.get("q.A")[0] - a.get("q.A")[0])
                a.set(u__torque=pull)
                b.set(u__torque=-pull)
                a.fmu.doStep(i * step, step)
                b.fmu.doStep(i * step, step)
            errors.append(abs(a.get("q.A")[0] - run.q[-1, 0]))
    assert errors[1] < 0.02
    assert 1.7 < errors[0] / errors[1] < 2.3


def test_calls_in_wrong_states_return_errors(tmp_path):
    _, _, path = exported("five_bar", tmp_path)
    error = fmpy.fmi1.FMICallException
    with Slave(path, begun=False) as slave:
        for call in (
            lambda: slave.fmu.doStep(0.0, 0.1),
            slave.fmu.exitInitializationMode,
            slave.fmu.terminate,
            lambda: slave.fmu.getReal([10**6]),
            lambda: slave.fmu.setReal([10**6], [1.0]),
            lambda: slave.set(q__A=float("nan")),
            lambda: slave.set(margin=1.0),
        ):
            with pytest.raises(error):
                call()
        slave.begin()
        for call in (
            lambda: slave.fmu.doStep(0.5, 0.1),
            lambda: slave.fmu.doStep(0.0, -0.1),
            lambda: slave.fmu.doStep(0.0, float("inf")),
            lambda: slave.set(q__A=1.0),
            slave.fmu.enterInitializationMode,
            lambda: slave.fmu.deSerializeFMUstate(b"no state"),
        ):
            with pytest.raises(error):
                call()
        slave.fmu.doStep(0.0, 0.1)
        slave.fmu.terminate()
        with pytest.raises(error):
            slave.fmu.doStep(0.1, 0.1)
        slave.fmu.reset()
        slave.begin()
        slave.fmu.doStep(0.0, 0.1)


def test_a_start_that_closes_no_loop_is_refused(tmp_path):
    _, _, path = exported("four_bar", tmp_path)
    with Slave(path, begun=False) as slave, pytest.raises(fmpy.fmi1.FMICallException):
        slave.begin(q__A=1e300)


def test_sources_are_inside_and_compile_without_a_warning(tmp_path):
    _, _, path = exported("five_bar", tmp_path)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "x")
    names = sorted(p.name for p in (tmp_path / "x" / "sources").iterdir())
    assert names == ["five_bar.c", "five_bar.h", "fmi2.c"]
    for source in ("five_bar.c", "fmi2.c"):
        command = [compiler(), *WARNINGS, "-O1", "-c", tmp_path / "x" / "sources" / source, "-o", tmp_path / "o.o"]
        subprocess.run([str(x) for x in command], check=True)


def test_a_missing_compiler_is_a_sentence_with_a_command(tmp_path, monkeypatch):
    system = zoo.five_bar().compile()
    state = system.state(*zoo.five_bar_start())
    monkeypatch.setattr("dalembert.export.compilers.shutil.which", lambda name: None)
    monkeypatch.setattr("dalembert.export.compilers.importlib.util.find_spec", lambda name: None)
    with pytest.raises(da.MissingExtra, match=r'pip install "dalembert\[export\]"'):
        system.export_fmu(tmp_path / "a.fmu", state)
    assert not (tmp_path / "a.fmu").exists()
