"""The answers of the command line are those of the library."""

import csv
import io
import json

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from command_lines import HELD
from dalembert import zoo
from dalembert.cli import sweep as sweep_module


def test_check_counts_and_closes(answer, dal):
    found = answer("check", "four_bar")
    assert (found["bodies"], found["joints"], found["constraints"], found["velocities"]) == (3, 3, 1, 3)
    assert found["closes"]
    assert found["residual"] < 1e-12
    assert found["states"] == ["start"]
    code, out, err = dal("check", "four_bar", "--set", "coupler=0.2", "--set", "rocker=0.1")
    assert code == 1
    assert "closes:      no" in out
    assert "'C'" in err


def test_report_is_that_of_the_library(answer, dal, bar):
    system, x = bar
    report = system.report(x)
    found = answer("report", "four_bar", *HELD)
    assert (found["mobility"], found["rank"], found["singular"]) == (report.mobility, report.rank, False)
    np.testing.assert_allclose(found["singular_values"], report.singular_values, rtol=1e-12)
    assert dal("report", "four_bar", *HELD)[1].strip() == str(report)


def test_assemble_is_that_of_the_library(answer, bar):
    system, x = bar
    found = answer("assemble", "four_bar", *HELD)
    np.testing.assert_allclose(found["positions"]["value"], x.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found["velocities"]["value"], x.v, rtol=0, atol=1e-11)
    assert found["positions"]["name"] == list(system.q_names)
    two = answer("assemble", "four_bar", "--at", "A=0.6", "--branches", 2)
    assert two["branches"] == 2
    mirrored = np.abs(np.subtract(two["positions"]["branch 1"], two["positions"]["branch 2"]))
    assert mirrored.max() > 0.5


def test_angles_may_be_in_degrees(answer):
    found = answer("assemble", "four_bar", "--at", "A=30deg")
    assert found["positions"]["value"][0] == pytest.approx(np.pi / 6, abs=1e-12)


def test_a_sweep_through_a_turn_is_the_closed_form(answer):
    found = answer("sweep", "four_bar", "A", "-190deg", "190deg", "--steps", 152)["positions"]
    exact = [zoo.four_bar_start(a)[0] for a in found["A"]]
    for name in "BD":
        turns = (np.array(found[name]) - [x[name] for x in exact]) / (2 * np.pi)
        np.testing.assert_allclose(turns, np.round(turns), atol=1e-10)
    assert np.abs(np.diff(found["D"])).max() < 0.1  # one branch, without a jump
    far = answer("sweep", "four_bar", "A", 0.3, 3.9, "--steps", 1)["positions"]  # in parts, or it would change it
    assert np.sin(far["D"][1] - zoo.four_bar_start(3.9)[0]["D"]) == pytest.approx(0, abs=1e-9)
    assert len(found["A"]) == 153
    assert max(found["residual"]) < 1e-10


def test_a_sweep_ends_where_the_mechanism_does(dal):
    """a² + g² − 2 a g cos θ = (b + c)² stretches coupler and rocker."""
    a, g, b, c = 0.5, 0.55, 0.6, 0.4
    last = np.arccos((a**2 + g**2 - (b + c) ** 2) / (2 * a * g))
    code, out, err = dal("sweep", "four_bar", "A", 1, 3, "--steps", 200, "--set", "crank=0.5", "--csv")
    assert code == 1
    rows = list(csv.DictReader(io.StringIO(out)))
    assert last - 0.0101 < float(rows[-1]["A"]) < last
    assert f"the sweep ends after A = {float(rows[-1]['A']):.6g}" in err


def test_a_sweep_lists_frames_and_trees(answer):
    found = answer("sweep", "cart_pole", "cart", 0, 1, "--steps", 4, "--frame", "cart")["positions"]
    np.testing.assert_allclose(found["cart.x"], [0, 0.25, 0.5, 0.75, 1])


def test_an_interrupted_sweep_answers_with_what_it_has(dal, monkeypatch):
    def interrupt(self, done):
        if done > 0.4:
            raise KeyboardInterrupt

    monkeypatch.setattr(sweep_module.Progress, "__call__", interrupt)
    code, out, err = dal("sweep", "four_bar", "A", 0, 1, "--steps", 9, "--csv")
    assert code == 4
    found = len(out.splitlines()) - 1
    assert 1 < found < 10
    assert err == f"dalembert: interrupted after {found} of 10 positions.\n"


def test_simulate_is_that_of_the_library(answer, bar):
    system, x = bar
    expected = da.simulate(system, x, 1.0, u={"torque": 0.3}, t_eval=np.arange(11) / 10, rtol=1e-8)
    found = answer("simulate", "four_bar", 1, *HELD, "--input", "torque=0.3", "--every", 0.1, "--rtol", "1e-8")
    np.testing.assert_allclose(found["states"]["t"], expected.t, atol=1e-15)
    for k, name in enumerate(system.q_names):
        np.testing.assert_allclose(found["states"][f"q.{name}"], expected.q[:, k], atol=1e-9)
    assert found["states"]["u.torque"] == [0.3] * 11
    assert found["success"]
    assert found["largest residual"] < 1e-12


@pytest.mark.parametrize(
    "options",
    [
        ["--method", "rk4", "--step", "0.01"],
        ["--coordinates", "A"],
        ["--coordinates", "tangent", "--max-step", "0.1"],
        ["--stabilization", "energy", "--atol", "1e-9"],
        ["--formulation", "nullspace", "--on-singularity", "stop"],
    ],
)
def test_options_of_simulate_reach_the_library(answer, options):
    assert answer("simulate", "four_bar", 0.2, *HELD, *options)["success"]


def test_a_run_that_fails_answers_with_what_it_has(dal):
    code, out, err = dal("simulate", "four_bar", 5, *HELD, "--max-steps", 20, "--json")
    assert code == 1
    assert json.loads(out)["status"] == "STEPS"
    assert json.loads(out)["steps"] == 20
    assert "the largest number of steps was reached; raise max_steps" in err


def test_linear_models_are_those_of_the_library(answer, bar):
    system, _ = bar
    x = system.assemble({"A": 0.6}, guess=zoo.four_bar_start()[0])
    model = da.linearize(system, x, u={"torque": 0.2}, independent=["A"], outputs=["A", "position:coupler@x"])
    found = answer(
        "linearize", "four_bar", "--at", "A=0.6", "--speed", "A=0", "--input", "torque=0.2", "--independent", "A",
        "--outputs", "A,position:coupler@x",
    )  # fmt: skip
    for name in "ABCD":
        np.testing.assert_allclose(found[name], getattr(model, name), rtol=1e-9, atol=1e-12)
    assert found["dynamics"]["u.torque"] == [row[0] for row in found["B"]]
    every = answer("linearize", "four_bar", *HELD, "--sample", 0.01)
    assert every["step"] == 0.01
    found = answer("modes", "cart_pole")
    expected = da.linearize(zoo.cart_pole().compile(), {}).modes
    np.testing.assert_allclose(found["modes"]["frequency"], [m.frequency for m in expected], rtol=1e-9, atol=1e-12)


def test_equilibrium_is_that_of_the_library(answer, dal):
    found = answer("equilibrium", "loader", "--solve-for", "u")["state"]
    values = dict(zip(zip(found["kind"], found["name"]), found["value"]))
    expected = da.equilibrium(zoo.loader().compile(), zoo.loader_start()[0], solve_for="u")
    np.testing.assert_allclose([values["input", n] for n in ("lift", "tilt")], expected.u, rtol=1e-9)
    code, _, err = dal("equilibrium", "cartesian_pendulum", "--solve-for", "u")
    assert code == 2
    assert "has no inputs to solve for" in err


def test_equilibria_have_bounds_stops_and_steady_turns(answer, dal, tmp_path):
    """A cylinder that cannot pull, a pendulum on its stop, and a governor whose speed follows from its lean."""
    assert answer("equilibrium", "loader", "--solve-for", "u", "--bound", "lift=0,inf")["state"]
    assert dal("equilibrium", "loader", "--solve-for", "u", "--bound", "lift=-inf,0")[0] == 1
    found = answer("equilibrium", "furuta", "--bound", "theta=-1,1", "--bound", "alpha=10deg,90deg")
    assert found["state"]["value"][found["state"]["name"].index("alpha")] == pytest.approx(np.radians(90))
    assert found["stops"]["name"] == ["alpha"]
    m = da.Mechanism("governor", gravity=(0, 0, -10.0))
    post = m.add_body("post", inertia=(1.0, 1.0, 1.0))
    m.add_joint("turn", da.Revolute("z"), m.ground, post)
    m.add_joint("lean", da.Revolute("y"), post, m.add_body("bob", mass=1.0, com=(0, 0, -2.0)))
    m.add_state("start", {"lean": 0.5}, {"turn": 2.0})
    m.save(tmp_path / "governor.json")
    turning = ("--at", "lean=0.5", "--find-speed", "turn", "--steady", "turn", "--steady", "lean")
    found = answer("equilibrium", tmp_path / "governor.json", *turning)["state"]
    speeds = {n: x for kind, n, x in zip(found["kind"], found["name"], found["value"]) if kind == "velocity"}
    assert speeds["turn"] == pytest.approx(np.sqrt(10 / (2 * np.cos(0.5))), rel=1e-9)


def test_singular_positions_have_no_linear_model(dal):
    code, out, err = dal("linearize", "parallelogram.json")
    assert (code, out) == (3, "")
    code, out, err = dal("linearize", "four_bar", "--set", "crank=0.2", "--set", "ground=0.6", "--set", "rocker=0.2",
                         "--set", "coupler=0.6", "--at", "A=0", "--speed", "A=0")  # fmt: skip
    assert (code, out) == (1, "")
    assert "is in a singular configuration" in err


def test_inputs_may_be_expressions_of_the_state(answer, dal, bar):
    system, x = bar
    law = da.expression(lambda t, s: {"torque": 0.5 * ca.sin(3 * t) - 0.2 * s.rate("A") + s["D"]})
    expected = da.simulate(system, x, 1.0, u=law, t_eval=[0.5, 1.0])
    text = "torque=0.5*sin(3*t) - 0.2*v(A) + q(D)"
    found = answer("simulate", "four_bar", 1, *HELD, "--input", text, "--every", 0.5)["states"]
    np.testing.assert_allclose(found["q.A"][1:], expected["A"], atol=1e-9)
    np.testing.assert_allclose(found["u.torque"][1:], expected.u[:, 0], atol=1e-9)
    code, _, err = dal("simulate", "four_bar", 1, "--input", "torque=sin(")
    assert code == 2
    assert "--input torque" in err
    code, _, err = dal("simulate", "four_bar", 1, "--input", "torque=q(AA)")
    assert code == 2
    assert "'AA'" in err
    assert dal("modes", "four_bar", "--input", "torque=t")[0] == 2


def test_view_writes_animations_and_pictures(dal, tmp_path):
    code, out, _ = dal("view", "four_bar", "--time", 0.5, "-o", tmp_path / "a.html", "--trace", "coupler")
    assert (code, out.strip()) == (0, str(tmp_path / "a.html"))
    assert "<html" in (tmp_path / "a.html").read_text()
    assert dal("view", "four_bar", "--at", "A=1", "-o", tmp_path / "a.png")[0] == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    dal("simulate", "four_bar", 0.5, "-o", tmp_path / "run.arrow")
    assert dal("view", "four_bar", "--run", tmp_path / "run.arrow", "-o", tmp_path / "b.html")[0] == 0
    assert dal("view", "cart_pole", "--live", "-o", tmp_path / "c.html")[0] == 0
    assert "dalembert/live/page.js" in (tmp_path / "c.html").read_text(encoding="utf-8")
    assert (tmp_path / "b.html").exists()


def test_simulate_writes_pictures_and_recordings(dal, tmp_path):
    files = ["--animate", tmp_path / "a.html", "--plot", tmp_path / "a.png", "--record", tmp_path / "a.arrow"]
    assert dal("simulate", "four_bar", 0.5, *files)[0] == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.arrow", "a.html", "a.png"]
    system = zoo.four_bar().compile()
    assert da.read_run(tmp_path / "a.arrow", system).t[-1] == 0.5
    code, _, err = dal("simulate", "four_bar", 1, "--record", tmp_path / "a.arrow")
    assert code == 3
    assert "exists" in err
    assert dal("simulate", "four_bar", 1, "--record", tmp_path / "a.arrow", "--resume")[0] == 0
    assert da.read_run(tmp_path / "a.arrow", system).t[-1] == 1.0


def test_the_zoo_is_listed(answer, dal):
    found = answer("zoo", "list")["mechanisms"]
    assert found["name"] == list(zoo.CATALOG)
    assert all(found["description"])
    code, _, err = dal("zoo", "copy", "four_baar")
    assert code == 2
    assert "Did you mean 'four_bar'?" in err


def test_the_cache_is_measured_and_cleared(answer, monkeypatch, tmp_path):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))
    assert answer("cache", "size")["entries"] == 0
    answer("report", "slider_crank")
    found = answer("cache", "size")
    files = list((tmp_path / "cache").glob("*.bin"))
    assert (found["entries"], found["bytes"]) == (len(files), sum(f.stat().st_size for f in files))
    assert found["entries"] > 0
    assert answer("cache", "clear")["bytes"] == found["bytes"]
    assert answer("cache", "size")["entries"] == 0


def named(tmp_path, **state):
    m = zoo.four_bar()
    m.add_state("moving", **state)
    m.save(tmp_path / "m.yaml")
    return tmp_path / "m.yaml"


def at(found, *columns):
    return [found["states"][name][0] for name in columns]


@pytest.mark.parametrize("named_q", [{"A": 0.6}, dict(zoo.four_bar_start(0.6)[0])])
def test_a_run_starts_with_the_velocities_that_its_state_names(answer, tmp_path, named_q):
    path = named(tmp_path, q=named_q, v={"A": 2.0})
    found = answer("simulate", path, 0.1, "--state", "moving")
    assert at(found, "q.A", "v.A") == pytest.approx([0.6, 2.0], abs=1e-12)
    found = answer("simulate", path, 0.1, "--state", "moving", "--speed", "B=1.0")
    assert at(found, "v.B") == pytest.approx([1.0], abs=1e-12)
    found = answer("simulate", path, 0.1, "--state", "moving", "--at", "A=0.8")
    assert at(found, "q.A", "v.A") == pytest.approx([0.8, 2.0], abs=1e-12)


def test_a_state_that_cannot_be_as_it_is_named_is_told(dal, tmp_path):
    path = named(tmp_path, q={"A": 0.6, "B": 0.9, "D": 1.0}, v={"A": 2.0, "D": -3.0})
    code, _, err = dal("simulate", path, 0.1, "--state", "moving", "--json")
    assert code == 0
    assert "warning: state 'moving' does not satisfy the constraints; the nearest that does has A = " in err
    assert "the velocity of D = " in err
    rounded = {name: round(value, 4) for name, value in zoo.four_bar_start(0.6)[0].items()}
    (tmp_path / "other").mkdir()
    code, _, err = dal("simulate", named(tmp_path / "other", q=rounded), 0.1, "--state", "moving")
    assert (code, err) == (0, "")  # rounded numbers close after a small motion
