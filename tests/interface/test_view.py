"""Pictures: what is drawn is where the mechanism is, and files need nothing but a browser."""

import base64
import json
import re
import shutil
import subprocess
import sys

import matplotlib
import numpy as np
import pytest

import dalembert as da
from dalembert import view, zoo
from dalembert.errors import ArgumentError, MissingExtra, UnknownName
from dalembert.view import moving_picture, poses
from dalembert.view.animation import _good_speed
from dalembert.view.drawn import scene
from dalembert.view.poses import body_poses, positions_at
from dalembert.view.skeleton import _hull_edges
from random_loops import random_closed

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def no_figures_left():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.fixture(scope="module")
def five_bar():
    system = zoo.five_bar().compile()
    return da.simulate(system, system.state(*zoo.five_bar_start()), 4.0)


@pytest.fixture(scope="module")
def top():
    """A spatial run with a quaternion."""
    system = zoo.heavy_top().compile()
    return da.simulate(system, system.state(*zoo.heavy_top_start()), 1.0)


def crane():
    m = da.Mechanism("crane", gravity=(0, 0, -9.81))
    L = m.add_parameter("L", 2.0)
    base, boom = m.add_body("base", mass=9.0, inertia=(1, 1, 1)), m.add_body("boom", mass=2.0, com=(L / 2, 0, 0))
    load = m.add_body("load", mass=3.0, com=(0, 0, -1))
    m.add_joint("float", da.Free(), m.ground, base)
    m.add_joint("swing", da.Universal("z", "y"), base.at(0, 0, 1), boom)
    m.add_joint("rope", da.Revolute("y"), boom.at(L, 0, 0), load)
    m.add_spring("spring", m.ground, base, stiffness=1.0)
    m.add_frame("hook", load.at(0, 0, -1))
    return m.compile(backend="casadi")


def facts_of(path):
    """The data in an animation, and its points in metres."""
    facts = json.loads(re.search(r"^const RUN = (.*);$", path.read_text(encoding="utf-8"), re.M).group(1))
    raw = np.frombuffer(base64.b64decode(facts["points"]), "<u2").reshape(facts["count"], facts["size"], facts["axes"])
    return facts, facts["low"] + facts["step"] * raw


@pytest.mark.parametrize("seed", range(4))
def test_bodies_are_drawn_where_they_are(seed):
    """One kernel for all poses and all times agrees with the poses asked for one by one, whatever the joints."""
    system, _ = random_closed(seed)
    random = np.random.default_rng(seed)
    states = [system.state(system.plus({}, random.normal(size=system.nv))) for _ in range(3)]
    bodies = list(system.layout.bodies.values())
    poses = body_poses(system, bodies, np.array([x.q for x in states]))
    for body in bodies:
        for k, x in enumerate(states):
            np.testing.assert_allclose(poses[body.name][k], system.pose(x, body), atol=1e-13)


def test_points_follow_parameters():
    system = crane()
    q = system.state({"swing": [0.3, 0.2], "rope": 0.1}).q
    for L in (2.0, 5.0):
        s = scene(system, q, ["hook"], {"L": L})
        found = s.points[0, s.skeleton.traces[0]] @ s.sight.R.T
        np.testing.assert_allclose(found, system.pose(system.state(q), "hook", p={"L": L})[:3, 3], atol=1e-13)
        boom = next(line for line in s.skeleton.lines if line.body == "boom")
        length = np.linalg.norm(np.diff(s.points[0, list(boom.points)], axis=0))
        assert length == pytest.approx(L, rel=1e-12)


PLANAR = {
    "car", "cart_pole", "cartesian_pendulum", "chain", "chaplygin_sleigh", "constrained_double_pendulum",
    "equal_slider_crank", "five_bar", "four_bar", "ladder", "loader", "parallel_four_bar", "particle_on_circle",
    "planar_3rrr", "slider_crank", "two_arms",
}  # fmt: skip


@pytest.mark.parametrize("name", zoo.CATALOG)
def test_every_mechanism_is_drawn_whole_and_its_loops_closed(name):
    """Each body has a line, planar ones lie in their plane with gravity downwards, and cut joints show no gap."""
    entry = zoo.CATALOG[name]
    system = entry.build().compile(backend="casadi")
    x = system.state(*entry.start())
    s = scene(system, x.q)
    assert np.isfinite(s.points).all()
    assert {line.body for line in s.skeleton.lines if line.body} == set(system.layout.bodies) - {"ground"}
    assert s.sight.planar == (name in PLANAR)
    np.testing.assert_allclose(s.sight.R.T @ s.sight.R, np.eye(3), atol=1e-12)
    assert np.linalg.det(s.sight.R) == pytest.approx(1)
    g = np.array(system.description.gravity, dtype=float) @ s.sight.R
    assert abs(g[0]) < 1e-12 * max(1, abs(g).max())
    assert g[1] <= 0
    for line in s.skeleton.lines:
        if line.kind == "gap":
            assert np.linalg.norm(np.diff(s.points[0, list(line.points)], axis=0)) < 1e-8
    if s.sight.planar:  # what turns in the plane keeps its height
        moved = scene(system, system.plus(x.q, np.full(system.nv, 0.1)))
        bodies = np.array(s.skeleton.bodies) != "ground"
        np.testing.assert_allclose(moved.points[0, bodies, 2], s.points[0, bodies, 2], atol=1e-9)


IN_PLANE = [da.Revolute("z"), da.Revolute("-z"), da.Prismatic("x"), da.Fixed()]
OUT_OF_PLANE = [da.Prismatic("z"), da.Prismatic((1, 0, 1)), da.Revolute("x"), da.Spherical()]


@pytest.mark.parametrize("second", [*IN_PLANE, *OUT_OF_PLANE], ids=repr)
def test_a_joint_out_of_the_plane_makes_a_spatial_picture(second):
    m = da.Mechanism()
    arm, tip = m.add_body("arm", mass=1.0, com=(1, 0, 0)), m.add_body("tip", mass=1.0, inertia=(1, 1, 1))
    m.add_joint("A", da.Revolute("z"), m.ground, arm)
    m.add_joint("B", second, arm.at(1, 0, 0), tip)
    system = m.compile(backend="casadi")
    assert scene(system, system.state({"A": 0.3}).q).sight.planar == (second in IN_PLANE)


def test_wheels_touch_what_they_roll_on():
    system = zoo.rolling_disc().compile(backend="casadi")
    x = system.state(*zoo.rolling_disc_start())
    s = scene(system, x.q)
    rim = next(line for line in s.skeleton.lines if line.kind == "solid")
    heights = (s.points[0, list(rim.points)] @ s.sight.R.T)[:, 2]
    assert heights.min() == pytest.approx(0, abs=0.01 * heights.max())  # a circle by 32 points


def test_states_between_the_steps_are_cubic(five_bar, top):
    """At the recorded times they are the recorded ones; between them they agree with a run that stops there."""
    for run in (five_bar, top):
        np.testing.assert_allclose(positions_at(run, run.t), run.q, atol=1e-12)
        end = min(0.5, run.t[-1])
        times = np.linspace(0, end, 21)
        exact = da.simulate(run.system, run.state(0), times[[0, -1]], t_eval=times)
        assert np.abs(positions_at(run, times) - exact.q).max() < 2e-4
    four = positions_at(top, np.linspace(0, 1, 50))[:, :4]
    np.testing.assert_allclose(np.linalg.norm(four, axis=1), 1, atol=1e-14)


def test_an_animation_holds_the_motion(tmp_path, five_bar):
    path = view.animate(five_bar, tmp_path / "run.html", traces=["link 3"])
    facts, points = facts_of(path)
    times = np.linspace(0, 4, facts["count"])
    assert facts["count"] == 201
    q = positions_at(five_bar, times)
    pin = np.array([five_bar.system.pose(five_bar.system.state(x), "link 3")[:2, 3] for x in q])
    assert np.abs(points[:, facts["traces"][0]] - pin).max() <= 0.51 * facts["step"]
    assert [p[:2] for p in facts["passages"]] == [[p.start, p.end] for p in five_bar.passages]
    assert len(facts["passages"]) == 3


def test_an_animation_is_one_small_file_that_needs_no_network(tmp_path, five_bar):
    system = five_bar.system
    run = da.simulate(system, five_bar.state(0), 10.0)
    text = view.animate(run, tmp_path / "run.html").read_text(encoding="utf-8")
    assert len(text) < 100_000
    assert not re.search(r"https?:|//cdn|\bsrc\s*=|\bhref\s*=|@import|\bfetch\(|XMLHttp|\bimport\b", text)


def test_names_cannot_break_the_page(tmp_path):
    m = da.Mechanism("</script><b>'\"&")
    m.add_joint("A", da.Revolute("y"), m.ground, m.add_body("<i>bob", mass=1.0, com=(0, 0, -1)))
    path = view.animate(da.simulate(m.compile(), {"A": 0.1}, 1.0), tmp_path / "x.html")
    text = path.read_text(encoding="utf-8")
    assert text.count("</script>") == 1
    assert "<title>&lt;/script&gt;" in text
    assert facts_of(path)[0]["bodies"] == ["<i>bob"]


NODE = """
const fs = require("fs"), vm = require("vm"), page = process.argv[2];
const text = fs.readFileSync(page, "utf8");
const script = text.slice(text.indexOf("<script>") + 8, text.indexOf("</script>"));
const box = { module: { exports: {} }, atob: s => Buffer.from(s, "base64").toString("latin1"), Float32Array };
vm.runInNewContext(script, box);
const { RUN, Player, pointsAt, turned, passageAt, zigzag } = box.module.exports;
const calls = {};  // what is asked of the canvas; every number must be one
const called = k => (...a) => {
  calls[k] = (calls[k] || 0) + 1;
  for (const x of a) if (typeof x === "number" && !Number.isFinite(x)) throw Error(k + " " + a);
};
const g = new Proxy({}, { get: (o, k) => (k in o ? o[k] : called(k)) });
const player = new Player(RUN), times = [0, 0.123, 0.65, 1.0, RUN.end];
const points = times.map(t => pointsAt(RUN, player.data, t));
for (const t of times) { player.t = t; player.draw(g, 800, 600); }
const corners = pointsAt(RUN, player.data, 0.5).map(p => player.project(p, 800, 600));
player.t = RUN.end; player.advance(0.02);
console.log(JSON.stringify({
  times, points, calls, corners, wrapped: player.t, passage: passageAt(RUN, 0.6508) || null,
  none: passageAt(RUN, 0.3) || null, turned: turned([1, 2, 3], 0.4, 0.3), zigzag: zigzag([0, 0], [10, 0], 2, 1),
}));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node runs the player's script here; it is not installed")
@pytest.mark.parametrize("which", ["five_bar", "top"])
def test_the_player_draws_what_python_wrote(tmp_path, which, request):
    from dalembert.view.plane import turned

    run = request.getfixturevalue(which)
    path = view.animate(run, tmp_path / "run.html", traces=[list(run.system.layout.bodies)[1]])
    (tmp_path / "run.js").write_text(NODE)
    done = subprocess.run(["node", tmp_path / "run.js", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found, (facts, points) = json.loads(done.stdout), facts_of(path)
    for t, drawn in zip(found["times"], found["points"]):
        at = t / run.t[-1] * (facts["count"] - 1)
        k = min(int(at), facts["count"] - 2)
        expected = points[k] + (at - k) * (points[k + 1] - points[k])
        np.testing.assert_allclose(np.array(drawn)[:, : facts["axes"]], expected, atol=1e-6 * facts["step"] * 65535)
    assert found["calls"]["stroke"] > 5 * len(facts["lines"])
    assert np.all((np.array(found["corners"])[:, :2] >= 0) & (np.array(found["corners"])[:, :2] <= [800, 600]))
    assert found["wrapped"] == 0
    np.testing.assert_allclose(found["turned"], turned(np.array([1.0, 2.0, 3.0]), 0.4, 0.3), atol=1e-12)
    assert found["zigzag"] == [[0, 0], [2.5, 1], [5, -1], [7.5, 1], [10, 0]]
    assert found["none"] is None
    assert (found["passage"] is not None) == (which == "five_bar")


@pytest.mark.parametrize(("span", "speed"), [(10, 1), (80, 1), (0.1, 0.01), (1e-3, 1e-4), (600, 10), (3600, 100)])
def test_short_and_long_runs_are_watched_in_good_time(span, speed):
    assert _good_speed(span) == pytest.approx(speed)


def test_plots_show_the_run(five_bar, tmp_path):
    figure = view.plot(five_bar, path=tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 10_000
    assert [axes.get_ylabel() for axes in figure.axes] == ["q (rad, m)", "v (rad/s, m/s)", "energy (J)", "evidence"]
    np.testing.assert_array_equal(figure.axes[0].lines[1].get_ydata(), five_bar["B"])
    np.testing.assert_array_equal(figure.axes[1].lines[2].get_ydata(), five_bar.rate("C"))
    np.testing.assert_array_equal(figure.axes[2].lines[2].get_ydata(), five_bar.energy)
    for axes in figure.axes:
        assert len(axes.patches) == 3  # the singular passages
        for patch, p in zip(axes.patches, five_bar.passages):
            assert patch.get_x() + patch.get_width() / 2 == pytest.approx((p.start + p.end) / 2, abs=1e-9)
            assert patch.get_width() >= p.end - p.start


def test_the_plotted_energy_error_is_that_of_the_balance_and_not_the_energy_lost():
    """A damped pendulum loses energy, and its balance has no error (C12)."""
    m = da.Mechanism("damped", gravity=(0, -9.81, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("rod", mass=1.0, com=(0.5, 0, 0), inertia=da.rod(1, 1)))
    m.add_joint_force("loss", "A", lambda s: -0.5 * s.rate("A"))
    run = da.simulate(m.compile(), {"A": 0.3}, 3.0)
    line = view.plot(run, panels=["evidence"]).axes[0].lines[0].get_ydata()
    assert run.energy[0] - run.energy[-1] > 0.5
    assert np.nanmax(line) < 1e-6
    np.testing.assert_allclose(np.nan_to_num(line), np.abs(run.energy_error), atol=1e-12)


def test_plots_name_the_parts_of_a_joint(top):
    joint = next(iter(top.system.layout.joints))
    figure = view.plot(top, joint, panels=["positions", "velocities"])
    assert [line.get_label() for line in figure.axes[0].lines] == top.system.q_names
    assert [line.get_label() for line in figure.axes[1].lines] == top.system.v_names


def test_what_cannot_be_shown_is_refused(five_bar, tmp_path, monkeypatch):
    with pytest.raises(UnknownName, match="no joint or coordinate 'Q'; known: A, B, C, D"):
        view.plot(five_bar, "Q")
    with pytest.raises(UnknownName, match=r"no panel 'energies'.*Did you mean 'energy'"):
        view.plot(five_bar, panels=["energies"])
    with pytest.raises(ArgumentError, match="speed is 0"):
        view.animate(five_bar, tmp_path / "a.html", speed=0)
    with pytest.raises(UnknownName, match="no frame or body 'tip'"):
        view.animate(five_bar, tmp_path / "a.html", traces=["tip"])
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtra, match=r'pip install "dalembert\[view\]"'):
        view.plot(five_bar)


def test_a_snapshot_draws_into_a_file_or_given_axes(tmp_path):
    from matplotlib import pyplot

    system = zoo.four_bar().compile(backend="casadi")
    x = system.state(*zoo.four_bar_start())
    figure = view.snapshot(system, x, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 5_000
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert sorted(labels) == ["coupler", "crank", "rocker"]
    _, axes = pyplot.subplots()
    assert view.snapshot(system, {"A": 0.6, "B": 0.1, "D": 1.0}, axes=axes) is axes.figure


def test_an_animation_can_be_a_gif_or_show_a_sweep(tmp_path):
    image = pytest.importorskip("PIL.Image")
    system = zoo.four_bar().compile()
    start = system.state(*zoo.four_bar_start())
    turn = system.sweep({"A": np.linspace(0.6, 1.6, 11)}, start, speed=2.0)
    path = view.animate(turn, tmp_path / "turn.gif", traces=["coupler point"], speed=1.0)
    with image.open(path) as moving:
        assert moving.n_frames == 1 + int(np.ceil(moving_picture.RATE * 0.5))
    still = system.sweep({"A": [0.6, 1.6]}, start)  # at rest: no times
    np.testing.assert_allclose(positions_at(still, poses.clock(still)), still.q, atol=1e-12)
    page = view.animate(still, tmp_path / "still.html").read_text(encoding="utf-8")
    assert '"end":1.0' in page
    nowhere = system.sweep({"D": [0.0]}, start)
    with pytest.raises(ArgumentError, match="no positions to show"):
        view.animate(nowhere, tmp_path / "no.html")


def test_a_spatial_mechanism_stands_on_a_floor_and_a_planar_one_does_not():
    for name, floor in (("bricard", True), ("four_bar", False)):
        system = zoo.CATALOG[name].build().compile()
        s = scene(system, system.state(*zoo.CATALOG[name].start()).q)
        assert bool(s.floor) is floor
        assert all(a[1] == b[1] == s.box[0][1] for a, b in s.floor)  # below everything


def test_a_body_with_points_in_space_is_the_edges_of_their_hull():
    """A cube's eight corners and its centre: twelve edges, no diagonal, nothing at the centre."""
    cube = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)] + [[0.5, 0.5, 0.5]], dtype=float)
    edges = _hull_edges(cube)
    assert len(edges) == 12
    assert all(np.linalg.norm(cube[a] - cube[b]) == 1 for a, b in edges)
    assert _hull_edges(cube[:4]) == []  # in a plane


def test_tendons_do_not_shape_the_bodies_they_run_along():
    system = zoo.hand().compile(backend="casadi")
    s = scene(system, system.state(*zoo.hand_start()).q)
    segment = [line for line in s.skeleton.lines if line.body == "index middle"]
    assert [len(line.points) for line in segment] == [2]


def test_a_skate_is_drawn_as_a_blade():
    system = zoo.car().compile(backend="casadi")
    s = scene(system, system.state(*zoo.car_start()).q)
    blades = [line for line in s.skeleton.lines if line.kind == "blade"]
    front = np.diff(s.points[0][list(blades[1].points)], axis=0)[0]
    assert len(blades) == 2
    assert np.arctan2(front[1], front[0]) == pytest.approx(0.1)
