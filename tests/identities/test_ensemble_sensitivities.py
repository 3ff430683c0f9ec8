"""Derivatives of ensembles: against closed forms, and against differences of other ensembles, in four threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.stats import norm

import dalembert as da
from dalembert.ensembles import parts
from parameterized import FOUR_BAR, differences, four_bar, random_parameterized

TIGHT = {"rtol": 1e-11, "atol": 1e-12}
THREADS = {"workers": 4}


def cart() -> tuple[da.System, da.Parameter]:
    """A mass of 2 kg that a controller with a parameter for its gain pulls back: x = x0 cos wt, w² = gain/2."""
    m = da.Mechanism("cart")
    gain = m.add_parameter("gain", 2.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=2.0))
    m.add_motor("push", "x")
    return m.compile(), gain


def law(gain: da.Parameter) -> da.expression:
    """The controller of a cart."""
    return da.expression(lambda t, s: {"push": -gain * s["x"]})


@pytest.mark.parametrize("keep", ["states", "outputs", "summary"])
def test_carts_on_springs_have_the_derivatives_of_cosines(keep):
    system, gain = cart()
    times, x0 = np.linspace(0.0, 3.0, 13), np.linspace(0.5, 1.5, 40)
    runs = da.ensemble(
        system, {"x": x0}, 3.0, u=law(gain), p={"gain": norm(3.0, 0.4)}, sampling="latin", t_eval=times, keep=keep,
        outputs={"square": lambda t, s: t * s["x"] ** 2}, wrt=["gain", "held:x", "held:rate:x"],
        of={"x": "x", "speed": "rate:x", "square": "square", "sum": da.Integral("x")}, **THREADS, **TIGHT,
    )  # fmt: skip
    k, s = runs.varied["gain"], runs.sensitivities
    w = np.sqrt(k / 2.0)
    assert not s.messages
    assert s.of == ("x", "speed", "square", "sum")
    dw = 1 / (4 * w)

    def x(t):
        return x0 * np.cos(w * t), np.array([-x0 * t * np.sin(w * t) * dw, np.cos(w * t), np.sin(w * t) / w])

    value, slope = x(3.0)
    np.testing.assert_allclose(s["x"], value, atol=1e-9)
    np.testing.assert_allclose(s.gradient("x"), slope.T, atol=1e-9)
    np.testing.assert_allclose(s.gradient("square"), (6.0 * value * slope).T, atol=1e-8)
    np.testing.assert_allclose(s.d("speed", "held:x"), -w * np.sin(3 * w), atol=1e-9)
    np.testing.assert_allclose(s["sum"], x0 * np.sin(3 * w) / w, atol=1e-9)
    np.testing.assert_allclose(s.d("sum", "gain"), x0 * dw * (3 * np.cos(3 * w) / w - np.sin(3 * w) / w**2), atol=1e-8)
    along = np.array([x(t)[1].T for t in times])  # (T, n, 3)
    values = np.array([x(t)[0] for t in times])
    for extreme, pick in ((s.least, np.argmin), (s.greatest, np.argmax)):
        where = pick(values, axis=0)
        np.testing.assert_allclose(extreme.gradient("x"), along[where, np.arange(40)], atol=1e-8)
    assert (s.path is None) == (keep != "states")
    if s.path is not None:
        assert s.path.of == ("x", "speed", "square")
        np.testing.assert_allclose(s.path.gradient("x"), along.transpose(1, 0, 2), atol=1e-9)
    table = runs.to_pandas()
    np.testing.assert_array_equal(table["d.end.x.gain"], s.d("x", "gain"))
    data = runs.to_xarray()
    np.testing.assert_array_equal(data["d_end"].sel(quantity="sum", wrt="held:x"), s.d("sum", "held:x"))
    if s.path is not None:
        assert data["d_path"].dims == ("run", "t", "path_quantity", "wrt")
        np.testing.assert_array_equal(
            data["d_path"].sel(path_quantity="speed", wrt="gain", t=times[5]), s.path.d("speed", "gain")[:, 5]
        )


def test_the_time_of_a_terminal_event_moves_with_parameters():
    system, gain = cart()
    events = {"middle": da.Event(da.expression(lambda t, s: s["x"]), terminal=True)}
    runs = da.ensemble(
        system, {"x": 1.0}, 9.0, u=law(gain), p={"gain": np.linspace(2.0, 4.0, 9)}, events=events,
        wrt=["gain"], of=["time", "rate:x"], t_eval=[0.5, 8.0], **THREADS, **TIGHT,
    )  # fmt: skip
    w = np.sqrt(runs.varied["gain"] / 2.0)
    s = runs.sensitivities
    np.testing.assert_allclose(s["time"], np.pi / (2 * w), atol=1e-9)
    np.testing.assert_allclose(s.d("time", "gain"), -np.pi / (8 * w**3), atol=1e-9)
    np.testing.assert_allclose(s.d("rate:x", "gain"), -1 / (4 * w), atol=1e-9)
    assert np.isnan(s.path.jacobian[:, 1]).all()
    assert np.isfinite(s.path.jacobian[:, 0]).all()


def test_small_pendulums_swing_as_their_length_says():
    m = da.Mechanism("pendulum", gravity=(0, -10.0, 0))
    L = m.add_parameter("L", 1.0)
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -L, 0)))
    angle, lengths = 1e-6, np.linspace(0.5, 2.0, 12)
    runs = da.ensemble(
        m.compile(), {"A": angle}, 2.0, p={"L": lengths}, wrt=["L", "held:A"], rtol=1e-11, atol=1e-18, **THREADS
    )
    w, s = np.sqrt(10.0 / lengths), runs.sensitivities
    assert s.method == "forward"
    np.testing.assert_allclose(s.d("A", "held:A"), np.cos(2 * w), atol=1e-10)
    np.testing.assert_allclose(s.d("A", "L"), angle * w / lengths * np.sin(2 * w), atol=1e-16)


def test_closed_chains_follow_differences_of_ensembles():
    bars = four_bar()
    wrt = ["l1", "l3", "m2", "d", "held:A", "held:rate:A"]
    angles, times = np.linspace(0.7, 1.1, 6), np.array([0.25, 0.5])

    def runs(name=None, step=0.0, **more):
        p = {n: FOUR_BAR[n] + step * (n == name) for n in FOUR_BAR if n != "g"} | {"g": np.linspace(9.0, 10.0, 6)}
        return da.ensemble(
            bars, {"A": angles + step * (name == "held:A")}, 0.6, v={"A": 2.0 + step * (name == "held:rate:A")}, p=p,
            t_eval=times, outputs={"height": lambda t, s: s.position("point")[1]}, **TIGHT, **more,
        )  # fmt: skip

    def found(e):
        """(n, T + 1, 7) coordinates, velocities and the output, at the times and (but for it) at the end."""
        path = np.concatenate([e.q, e.v, e.outputs["height"][:, :, None]], axis=2)
        end = np.hstack([e.q_end, e.v_end, np.zeros((len(e), 1))])
        return np.concatenate([path, end[:, None]], axis=1)

    of = [*bars.v_names, *(f"rate:{n}" for n in bars.v_names), "height"]
    s = runs(wrt=wrt, of=of, **THREADS).sensitivities
    assert not s.messages
    np.testing.assert_allclose(s.path["B"], runs()["B"], atol=1e-9)
    for k, name in enumerate(wrt):
        d = differences(lambda h, name=name: found(runs(name, h)), 2e-3)
        np.testing.assert_allclose(s.path.jacobian[..., k], d[:, :2], rtol=1e-6, atol=1e-6, err_msg=name)
        np.testing.assert_allclose(s.jacobian[:, :6, k], d[:, 2, :6], rtol=1e-6, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("seed", [0, 3])
def test_spatial_chains_follow_differences_of_ensembles(seed):
    """Random closed chains with quaternions, one loop said twice; derivatives of one number are taken backward."""
    system, x = random_parameterized(seed)
    base, h = {"k": 30.0, "c": 0.7, "m": 0.4}, 1e-3
    moved = {n: np.array([b + s * h * (n == m) for m in base for s in (1, -1)]) for n, b in base.items()}
    given = {"outputs": {"height": lambda t, s: s.position("load")[2]}, "t_eval": [0.1], **TIGHT}
    beside = da.ensemble(system, x, 0.1, p=moved, **given).outputs["height"][:, 0]
    for of in (["height"], None):
        more = given if of is None else {**given, "t_eval": None, "outputs": None}
        asked = of if of is None else {"height": lambda s: s.position("load")[2]}
        s = da.ensemble(system, x, 0.1, n=3, of=asked, wrt=list(base), **more, **THREADS).sensitivities
        assert s.method == ("adjoint" if of else "forward")
        assert not s.messages
        d = (beside[::2] - beside[1::2]) / (2 * h)
        for k in range(3):
            np.testing.assert_allclose(s.gradient("height")[k], d, rtol=1e-5, atol=1e-8)


def same(a: da.Ensemble, b: da.Ensemble) -> None:
    """Two ensembles have equal derivatives, bit for bit."""
    x, y = a.sensitivities, b.sensitivities
    for u, v in ((x, y), (x.path, y.path), (x.least, y.least), (x.greatest, y.greatest)):
        assert (u is None) == (v is None)
        if u is not None:
            np.testing.assert_array_equal(u.value, v.value)
            np.testing.assert_array_equal(u.jacobian, v.jacobian)
    assert x.messages == y.messages


def study(n: int, **more) -> da.Ensemble:
    """Carts with drawn gains and their derivatives."""
    system, gain = cart()
    return da.ensemble(
        system, {"x": 1.0}, 1.0, u=law(gain), p=lambda k, rng: {"gain": 2.0 + rng.uniform()}, n=n,
        t_eval=[0.5, 1.0], wrt=["gain"], **more,
    )  # fmt: skip


def test_derivatives_do_not_depend_on_threads_company_executors_or_a_store(tmp_path):
    whole = study(30, workers=1)
    same(whole, study(30, workers=4))
    np.testing.assert_array_equal(whole.sensitivities.jacobian[:11], study(11).sensitivities.jacobian)
    with ThreadPoolExecutor(2) as pool:
        same(whole, study(30, executor=pool))
    same(whole, study(30, store=tmp_path / "runs"))
    same(whole, study(30, store=tmp_path / "runs"))  # read
    with pytest.raises(da.FileError, match="another study"):
        study(30, store=tmp_path / "runs", of=["x"])
    without = da.ensemble(whole.system, {"x": 1.0}, 1.0, u=whole._plan.setup.controller, p=whole.p, t_eval=[0.5, 1.0])
    np.testing.assert_array_equal(whole.q, without.q)  # the runs are those without wrt
    assert without.sensitivities is None


def test_an_interrupted_study_is_differentiated_when_it_goes_on(tmp_path, monkeypatch):
    whole, real = study(200, workers=1), parts.differentiated
    monkeypatch.setattr(parts, "differentiated", lambda *given: _stopped(real, *given))
    cut = study(200, workers=1, store=tmp_path / "runs")
    assert (cut.status == da.Status.INTERRUPTED).sum() > 100
    assert np.isnan(cut.q_end[cut.status == da.Status.INTERRUPTED]).all()
    known = cut.status == da.Status.DONE
    np.testing.assert_array_equal(cut.sensitivities.jacobian[known], whole.sensitivities.jacobian[known])
    monkeypatch.undo()
    same(whole, study(200, workers=1, store=tmp_path / "runs"))


def _stopped(real, plan, batch, done, go_on):
    """Differentiate five runs of a part."""
    left = iter(range(5))
    return real(plan, batch, done, lambda: next(left, None) is not None)


def test_a_run_without_derivatives_keeps_its_results_and_ends_no_other():
    """The second passes a singular position; the third cannot be assembled; the fourth has no parameter."""
    m = da.Mechanism("parallelogram", gravity=(0, 0, 0))
    size = m.add_parameter("size", 1.0)
    before = m.ground.at()
    for joint, length in zip("ABC", (1.0, 2.0, size)):
        link = m.add_body(joint, mass=1.0, com=(length / 2, 0, 0), inertia=(0.1, 0.1, 0.1))
        m.add_joint(joint, da.Revolute("z"), before, link)
        before = link.at(length, 0, 0)
    m.close_loop("D", da.Revolute("z"), before, m.ground.at(2.0, 0, 0))
    system = m.compile()
    sizes = np.array([1.0, 1.0, 9.0, np.nan, 1.01])
    runs = da.ensemble(
        system, {"A": 1.0}, 0.3, v={"A": [1.0, -5.0, 1.0, 1.0, 1.0]}, p={"size": sizes}, wrt=["size"],
        guess={"B": -1.0, "C": -2.1}, **THREADS,
    )  # fmt: skip
    s = runs.sensitivities
    assert runs.success.tolist() == [True, True, False, False, True]
    assert runs.passages.tolist() == [0, 1, 0, 0, 0]
    assert s.messages == {1: s.messages[1], 2: runs.messages[2], 3: runs.messages[3]}
    assert "singular position" in s.messages[1]
    assert np.isfinite(s.jacobian).all(axis=(1, 2)).tolist() == [True, False, False, False, True]
    alone = da.ensemble(
        system, {"A": 1.0}, 0.3, v={"A": [1.0, 1.0]}, p={"size": sizes[[0, 4]]}, wrt=["size"],
        guess={"B": -1.0, "C": -2.1},
    )  # fmt: skip
    np.testing.assert_array_equal(s.jacobian[[0, 4]], alone.sensitivities.jacobian)


def test_what_no_run_can_be_differentiated_with_is_refused_at_once():
    system, gain = cart()
    given = {"n": 2, "wrt": ["gain"]}
    for more, told in (
        ({"wrt": ["gaim"]}, "Did you mean 'gain'"),
        ({"of": ["y"]}, "quantity 'y'"),
        ({"of": {"y": lambda s: s["z"]}}, "'z'"),
        ({"held": "x"}, "list of coordinates"),
        ({"held": ["y"]}, "coordinate 'y'"),
        ({"u": lambda t, s: [0.0]}, "da.expression"),
        ({"u": law(gain), "period": 0.1}, "sampled"),
        ({"wrt": None, "held": ["x"]}, "give wrt"),
    ):
        with pytest.raises(da.DalembertError, match=told):
            da.ensemble(system, {"x": 1.0}, 1.0, **{**given, **more})
    bars = four_bar()
    x = bars.assemble({"A": 0.9})
    with pytest.raises(da.ArgumentError, match=r"held=\['A'\]"):
        da.ensemble(bars, x, 0.1, n=2, wrt=["l1"])
    with pytest.raises(da.ArgumentError, match="structure"):
        da.ensemble(bars, x, 0.1, n=2, wrt=["l1"], held=["A"], switches=da.Switch(open="C", at=0.2))
