"""Pictures: what is drawn is where the mechanism is, and files need nothing but a browser."""

import base64
import gzip
import json
import re
import sys

import matplotlib
import numpy as np
import pytest

import dalembert as da
from dalembert import view, zoo
from dalembert.errors import ArgumentError, MissingExtra, UnknownName
from dalembert.spatial import quaternion_matrix
from dalembert.view import moving_picture, painting
from dalembert.view.animation import _good_speed
from dalembert.view.poses import body_poses, clock, positions_at
from dalembert.view.scene import motion, scene
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
    """The data in an animation, and its poses (N, bodies, 7)."""
    packed = re.search(r'type="text/plain">(.*?)</script>', path.read_text(encoding="utf-8")).group(1)
    facts = json.loads(gzip.decompress(base64.b64decode(packed)))["data"]
    motion = facts["motion"]
    columns = []
    for column, step in zip(motion["columns"], motion["steps"]):
        steps = np.cumsum(column[1:]) if len(column) > 1 else np.zeros(facts["count"] - 1)
        columns.append(step * (column[0] + np.concatenate([[0], np.cumsum(steps)])))
    poses = np.zeros((facts["count"], len(facts["scene"]["bodies"]), 7))
    poses[:, 0, 3] = 1
    poses[:, 1:] = np.array(columns).T.reshape(facts["count"], -1, 7)
    return facts, poses


@pytest.mark.parametrize("seed", range(4))
def test_bodies_are_drawn_where_they_are(seed):
    """One kernel for all poses and all times agrees with the poses asked for one by one, whatever the joints."""
    system, _ = random_closed(seed)
    random = np.random.default_rng(seed)
    states = [system.state(system.plus({}, random.normal(size=system.nv))) for _ in range(9)]
    bodies = list(system.layout.bodies.values())
    poses = body_poses(system, np.array([x.q for x in states]))
    for body in bodies:
        for k, x in enumerate(states):
            np.testing.assert_allclose(poses[body.name][k], system.pose(x, body), atol=1e-13)


def test_points_follow_parameters():
    system = crane()
    x = system.state({"swing": [0.3, 0.2], "rope": 0.1})
    for L in (2.0, 5.0):
        s = scene(system, x.q, ["hook"], {"L": L})
        found = painting.path_of(motion(system, x.q, {"L": L}), s.traces[0])[0]
        np.testing.assert_allclose(found, system.pose(x, "hook", p={"L": L})[:3, 3], atol=1e-13)
        (boom,) = (solid for solid in s.bodies[s.index("boom")].solids if solid.kind == "capsule")
        assert boom.size[1] == pytest.approx(L, rel=1e-12)


PLANAR = {
    "car", "cart_pole", "cartesian_pendulum", "chain", "chaplygin_sleigh", "constrained_double_pendulum",
    "equal_slider_crank", "five_bar", "four_bar", "ladder", "loader", "marionette", "parallel_four_bar",
    "particle_on_circle", "planar_3rrr", "planar_human", "slider_crank", "two_arms",
}  # fmt: skip


@pytest.mark.parametrize("name", zoo.CATALOG)
def test_every_mechanism_is_drawn_whole_and_its_loops_closed(name):
    """Each body has a solid, planar ones lie in their plane with gravity downwards, and cut joints show no gap."""
    entry = zoo.CATALOG[name]
    system = entry.build().compile(backend="casadi")
    x = system.state(*entry.start())
    s = scene(system, x.q)
    poses = motion(system, x.q)
    assert all(body.solids for body in s.bodies[1:])
    assert s.planar == (name in PLANAR)
    np.testing.assert_allclose(s.axes.T @ s.axes, np.eye(3), atol=1e-12)
    assert np.linalg.det(s.axes) == pytest.approx(1)
    g = s.gravity @ s.axes
    assert abs(g[0]) < 1e-12 * max(1, abs(g).max())
    assert g[1] <= 0
    for j in s.joints:
        if j.closes:
            gap = painting.path_of(poses, j.a) - painting.path_of(poses, j.b)
            assert np.linalg.norm(gap) < 1e-8 or j.kind in ("prismatic", "cylindrical")
    if s.planar:  # what turns in the plane keeps its height
        moved = motion(system, system.plus(x.q, np.full(system.nv, 0.1)))
        np.testing.assert_allclose(moved[0, :, :3] @ s.axes[:, 2], poses[0, :, :3] @ s.axes[:, 2], atol=1e-9)


IN_PLANE = [da.Revolute("z"), da.Revolute("-z"), da.Prismatic("x"), da.Fixed()]
OUT_OF_PLANE = [da.Prismatic("z"), da.Prismatic((1, 0, 1)), da.Revolute("x"), da.Spherical()]


@pytest.mark.parametrize("second", [*IN_PLANE, *OUT_OF_PLANE], ids=repr)
def test_a_joint_out_of_the_plane_makes_a_spatial_picture(second):
    m = da.Mechanism()
    arm, tip = m.add_body("arm", mass=1.0, com=(1, 0, 0)), m.add_body("tip", mass=1.0, inertia=(1, 1, 1))
    m.add_joint("A", da.Revolute("z"), m.ground, arm)
    m.add_joint("B", second, arm.at(1, 0, 0), tip)
    system = m.compile(backend="casadi")
    assert scene(system, system.state({"A": 0.3}).q).planar == (second in IN_PLANE)


def test_wheels_touch_what_they_roll_on():
    system = zoo.rolling_disc().compile(backend="casadi")
    x = system.state(*zoo.rolling_disc_start())
    s = scene(system, x.q)
    heights = np.concatenate(
        [f.reshape(-1, 3)[:, 2] for f, *_ in painting.Painting(s).polygons(motion(system, x.q)[0])]
    )
    assert heights.min() == pytest.approx(0, abs=0.04 * heights.max())  # the rim has a width


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
    facts, poses = facts_of(path)
    times = np.linspace(0, 4, facts["count"])
    assert facts["count"] == 201
    system = five_bar.system
    for k in (0, 7, 100, 200):
        x = system.state(positions_at(five_bar, times[k : k + 1])[0])
        for b, body in enumerate(facts["scene"]["bodies"]):
            T = system.pose(x, body["name"])
            np.testing.assert_allclose(poses[k, b, :3], T[:3, 3], atol=1e-4)
            np.testing.assert_allclose(quaternion_matrix(poses[k, b, 3:]), T[:3, :3], atol=2e-4)
    assert [p[:2] for p in facts["passages"]] == [[p.start, p.end] for p in five_bar.passages]
    assert len(facts["passages"]) == 3


def test_an_animation_is_one_small_file_that_needs_no_network(tmp_path, five_bar):
    system = five_bar.system
    run = da.simulate(system, five_bar.state(0), 10.0)
    text = view.animate(run, tmp_path / "run.html").read_text(encoding="utf-8")
    assert len(text) < 300_000
    assert not re.search(r"https?:|//cdn|\bsrc\s*=|\bhref\s*=|@import|\bfetch\(|XMLHttp", text)


def test_names_cannot_break_the_page(tmp_path):
    m = da.Mechanism("</script><b>'\"&")
    m.add_joint("A", da.Revolute("y"), m.ground, m.add_body("<i>bob", mass=1.0, com=(0, 0, -1)))
    path = view.animate(da.simulate(m.compile(), {"A": 0.1}, 1.0), tmp_path / "x.html")
    text = path.read_text(encoding="utf-8")
    assert text.count("</script>") == 2
    assert "<title>&lt;/script&gt;" in text
    assert facts_of(path)[0]["scene"]["bodies"][1]["name"] == "<i>bob"


@pytest.mark.parametrize(("span", "speed"), [(10, 1), (80, 1), (0.1, 0.01), (1e-3, 1e-4), (600, 10), (3600, 100)])
def test_short_and_long_runs_are_watched_in_good_time(span, speed):
    assert _good_speed(span) == pytest.approx(speed)


def test_plots_show_the_run(five_bar, tmp_path):
    figure = view.plot(five_bar, path=tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 10_000
    assert [axes.get_ylabel() for axes in figure.axes] == ["q (rad, m)", "v (rad/s, m/s)", "energy (J)", "evidence"]
    shown = np.isin(figure.axes[0].lines[0].get_xdata(), five_bar.t)  # at its records, and more between them
    np.testing.assert_allclose(figure.axes[0].lines[1].get_ydata()[shown], five_bar["B"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(figure.axes[1].lines[2].get_ydata()[shown], five_bar.rate("C"), rtol=0, atol=1e-9)
    np.testing.assert_allclose(figure.axes[2].lines[2].get_ydata()[shown], five_bar.energy, rtol=0, atol=1e-8)
    for axes in figure.axes:
        assert len(axes.patches) == 3  # the singular passages
        for patch, p in zip(axes.patches, five_bar.passages):
            corners = patch.get_patch_transform().transform(
                patch.get_path().vertices
            )  # a rectangle, before 3.9 a polygon
            left, right = corners[:, 0].min(), corners[:, 0].max()
            assert (left + right) / 2 == pytest.approx((p.start + p.end) / 2, abs=1e-9)
            assert right - left >= p.end - p.start


def test_the_plotted_energy_error_is_that_of_the_balance_and_not_the_energy_lost():
    """A damped pendulum loses energy, and its balance has no error (C12)."""
    m = da.Mechanism("damped", gravity=(0, -9.81, 0))
    m.add_joint(
        "A", da.Revolute("z"), m.ground, m.add_body("rod", mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1, 1))
    )
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
    assert view.snapshot(system, {"A": 0.6, "B": 0.1, "D": 1.0}, ax=axes) is axes.figure


def test_an_animation_can_be_a_gif_or_show_a_sweep(tmp_path):
    image = pytest.importorskip("PIL.Image")
    system = zoo.four_bar().compile()
    start = system.state(*zoo.four_bar_start())
    turn = system.sweep({"A": np.linspace(0.6, 1.6, 11)}, start, speed=2.0)
    path = view.animate(turn, tmp_path / "turn.gif", traces=["coupler point"], speed=1.0)
    with image.open(path) as moving:
        assert moving.n_frames == 1 + int(np.ceil(moving_picture.RATE * 0.5))
    still = system.sweep({"A": [0.6, 1.6]}, start)  # at rest: no times
    np.testing.assert_allclose(positions_at(still, clock(still)), still.q, atol=1e-12)
    page = view.animate(still, tmp_path / "still.html").read_text(encoding="utf-8")
    assert "<title>four-bar</title>" in page
    nowhere = system.sweep({"D": [0.0]}, start)
    with pytest.raises(ArgumentError, match="no positions to show"):
        view.animate(nowhere, tmp_path / "no.html")


def test_pictures_are_painted_from_behind_to_the_front(tmp_path):
    """The colour seen where two bars cross is that of the nearer one, whichever comes first in the mechanism."""
    from matplotlib import pyplot

    for heights in ((0.0, 0.5), (0.5, 0.0)):
        m = da.Mechanism("crossing", gravity=(0, 0, -9.81))
        for name, h in zip("ab", heights):
            bar = m.add_body(name, mass=1.0, inertia=(1, 1, 1))
            bar.add_shape("box", (2.0, 0.3, 0.1) if name == "a" else (0.3, 2.0, 0.1), at=(0, 0, h))
            m.add_joint(name, da.Free(), m.ground, bar)
        figure, axes = pyplot.subplots(figsize=(4, 4), dpi=100)
        system = m.compile(backend="casadi")
        view.snapshot(system, {}, ax=axes, names=False)
        s = scene(system)
        figure.canvas.draw()
        top = painting.Painting(s).seen(np.array([0.0, 0.0, max(heights) + 0.05]))[:2]
        x, y = axes.transData.transform(top)
        pixel = np.asarray(figure.canvas.buffer_rgba())[int(figure.bbox.height - y), int(x), :3] / 255
        nearer = matplotlib.colors.to_rgb(s.bodies[1 + int(np.argmax(heights))].color)
        further = matplotlib.colors.to_rgb(s.bodies[1 + int(np.argmin(heights))].color)
        assert np.linalg.norm(pixel - nearer) < 0.5 * np.linalg.norm(pixel - further)


def test_the_whole_machine_is_in_the_picture():
    for name in ("bricard", "four_bar", "rolling_disc"):
        entry = zoo.CATALOG[name]
        system = entry.build().compile(backend="casadi")
        x = system.state(*entry.start())
        figure = view.snapshot(system, x, names=False)
        axes = figure.axes[0]
        figure.canvas.draw()
        p = painting.Painting(scene(system, x.q))
        corners = np.concatenate([p.seen(f).reshape(-1, 3) for f, *_ in p.polygons(motion(system, x.q)[0])])
        for limits, values in ((axes.get_xlim(), corners[:, 0]), (axes.get_ylim(), corners[:, 1])):
            assert limits[0] < values.min() < values.max() < limits[1]
        spans = np.ptp(corners[:, :2], axis=0) / [np.ptp(axes.get_xlim()), np.ptp(axes.get_ylim())]
        assert spans.max() > 0.7  # no speck


def test_tendons_do_not_shape_the_bodies_they_run_along():
    system = zoo.hand().compile(backend="casadi")
    s = scene(system, system.state(*zoo.hand_start()).q)
    segment = [solid.kind for solid in s.bodies[s.index("index middle")].solids if not solid.joint]
    assert segment == ["capsule"]


def test_a_skate_is_drawn_as_a_blade():
    system = zoo.car().compile(backend="casadi")
    x = system.state(*zoo.car_start())
    s = scene(system, x.q)
    (blade,) = (solid for solid in s.bodies[s.index("fork")].solids if solid.kind == "box")
    forward = system.pose(x, "fork")[:3, :3] @ blade.T.R[:, 0]
    assert np.arctan2(forward[1], forward[0]) == pytest.approx(0.1)


def test_positions_between_records_keep_the_corner_of_an_impact():
    """A ball is on its parabolas at every time, and never in the floor: each side of a hit has its own velocity."""
    m = da.Mechanism("ball", gravity=(0, 0, -10.0))
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=1.0))
    m.add_contact("floor", "ball", radius=0.1, restitution=0.5)
    run = da.simulate(m.compile(), {"z": 5.1}, 1.9)  # hits at 1 s, with 10 m/s
    t = np.linspace(0, 1.9, 381)
    exact = np.where(t < 1.0, 5.1 - 5 * t**2, 0.1 + 5 * (t - 1) - 5 * (t - 1) ** 2)
    np.testing.assert_allclose(positions_at(run, t)[:, 0], exact, atol=1e-9)


def test_contacts_have_floors_and_ropes_are_lines():
    """A ball has its radius, its floor lies below the plane and under all positions; a rope joins its points."""
    m = da.Mechanism("tied ball", gravity=(0, 0, -10.0))
    m.add_joint("ball", da.Free(), m.ground, m.add_body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    m.add_contact("floor", "ball", radius=0.2)
    m.add_rope("leash", [m.ground.at(0, 0, 1), "ball"], length=4.0)
    system = m.compile()
    x = system.state()
    q = np.stack([x.q, x.q])
    place = [k for k, n in enumerate(system.q_names) if n in ("ball.x", "ball.y", "ball.z")]
    q[0, place], q[1, place] = (-1.0, 0.0, 0.2), (3.0, 0.5, 1.0)
    s = scene(system, q)
    (floor,) = [solid for solid in s.bodies[0].solids if solid.origin == "floor"]
    low, high = (floor.T.p + sign * np.array(floor.size) / 2 for sign in (-1, 1))
    assert abs(high[2]) < 1e-12
    assert low[0] < -1.2
    assert high[0] > 3.2
    assert ("sphere", (0.2,)) in [(solid.kind, solid.size) for solid in s.bodies[1].solids]
    assert [(link.name, len(link.points)) for link in s.links] == [("leash", 2)]
