"""The session without a browser: commands go in, events come out."""

import json
import time

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.errors import ArgumentError
from dalembert.studio import running
from dalembert.studio.messages import arrays_of, packed, parsed, unpacked
from studio_desk import Desk


@pytest.fixture
def desk():
    desks = []

    def make(name="four_bar", **how):
        entry = zoo.CATALOG[name]
        system = entry.build(**how).compile()
        desks.append(Desk(system, system.state(*entry.start(**how))))
        assert desks[-1].session.idle(60)
        return desks[-1]

    yield make
    for d in desks:
        d.session.close()


def test_messages_carry_arrays_and_refuse_nonsense():
    header, arrays = arrays_of(packed({"a": float("nan"), "b": np.arange(2)}, {"x": np.eye(3)}))
    assert header["a"] is None
    assert header["b"] == [0, 1]
    np.testing.assert_array_equal(arrays["x"], np.eye(3))
    for bad in (b"", b"\xff\xff\xff\xff{}", b"\x02\x00\x00\x00[]", b"\x01\x00\x00\x00{"):
        with pytest.raises(ArgumentError):
            unpacked(bad)
    with pytest.raises(ArgumentError):
        parsed("[" * 100_000)


def test_a_page_that_comes_later_is_told_what_there_is(desk):
    d = desk()
    d.do("slide", name="A", to=1.0)
    heard = []
    d.session.listen(2, heard.append)
    kinds = [json.loads(m)["event"] if isinstance(m, str) else arrays_of(m)[0]["event"] for m in heard]
    assert {"model", "pose", "report", "forces", "values"} <= set(kinds)
    pose = next(arrays_of(m)[0] for m in heard if isinstance(m, bytes) and arrays_of(m)[0]["event"] == "pose")
    assert abs(pose["q"][0] - 1.0) < 1e-7


def test_sliders_and_drags_show_closed_poses(desk):
    """The poses that pages get close the loop: the ends of coupler and rocker meet, to the accuracy of their floats."""
    d = desk()
    d.do("slide", name="A", to=1.2).do("drag", body="coupler", point=[0.3, 0, 0], to=[0.2, 0.5, 0])
    for header, arrays in d.events("pose"):
        assert header["residual"] < 1e-9
        _, _, coupler, rocker = arrays["poses"][0].astype(float)
        ends = [_point(coupler, [0.6, 0, 0]), _point(rocker, [0.4, 0, 0])]
        np.testing.assert_allclose(*ends, atol=3e-7)


def _point(pose, place):
    from scipy.spatial.transform import Rotation

    return pose[:3] + Rotation.from_quat(pose[[4, 5, 6, 3]]).apply(place)


def test_the_report_is_that_of_the_system(desk):
    d = desk("bennett")
    d.do("look")
    told, truth = d.last("report")[0], d.session.bench.system.report(d.session.bench.x)
    assert (told["mobility"], told["rank"], told["rows"]) == (truth.mobility, truth.rank, truth.rows)
    assert [r["row"] for r in told["redundant"]] == list(truth.redundant)
    np.testing.assert_allclose(told["singular_values"], truth.singular_values)


def test_forces_at_rest_carry_the_weight(desk):
    """Under a motor that holds it, the forces of the ground on a four-bar add up to its weight."""
    d = desk()
    d.do("hold")
    arrows, _ = d.last("forces")
    system = d.session.bench.system
    by_name = {a["name"]: a for a in arrows["arrows"]}
    total = np.array(by_name["A"]["force"]) + np.array(by_name["D"]["force"])
    mass = sum(float(b.mass) for b in system.layout.bodies.values() if b.name != "ground")
    np.testing.assert_allclose(total, [0, 9.81 * mass, 0], atol=1e-6)
    assert all(a["determinate"] for a in arrows["arrows"])
    assert "Fz" in by_name["C"]["free"]


def test_a_run_comes_with_pictures_curves_and_evidence(desk):
    d = desk()
    d.do("simulate", time=0.5)
    header, arrays = d.last("run")
    truth = da.simulate(d.session.bench.system, d.session.bench.start, 0.5)
    assert header["success"]
    assert arrays["poses"].shape == (len(arrays["times"]), 4, 7)
    names = [c[1] for c in header["channels"] if c[0] == "positions"]
    np.testing.assert_allclose(arrays["values"][names.index("B")][-1], truth["B"][-1], rtol=1e-5)
    more, curves = d.last("more")
    groups = {c[0] for c in more["channels"]}
    assert groups == {"multipliers", "evidence"}
    place = [c[1] for c in more["channels"]].index("C.x")
    np.testing.assert_allclose(curves["values"][place][-1], truth.multiplier("C.x")[-1], rtol=1e-4)
    d.do("seek", t=0.25)
    np.testing.assert_allclose(d.last("pose")[0]["q"], truth(0.25).q, atol=1e-6)


@pytest.fixture
def busy(desk, monkeypatch):
    """A session that simulates a five-bar for very long: an hour of it takes a fraction of a second."""
    monkeypatch.setattr(running, "LONGEST", 1e7)
    d = desk("five_bar")
    d.session.do({"do": "simulate", "time": 1e5}, 1)
    return d


def test_a_newer_simulation_cancels_the_older(busy):
    """The older one, of 1e5 s, would outlast the desk's patience."""
    d = busy
    while not d.events("status"):
        time.sleep(0.01)
    d.do("simulate", time=0.2)
    assert len(d.events("run")) == 1
    assert abs(d.last("run")[0]["duration"] - 0.2) < 1e-6


def test_a_drag_does_not_wait_for_a_simulation(busy):
    d = busy
    while not d.events("status"):
        time.sleep(0.01)
    for k in range(5):
        d.session.do({"do": "slide", "name": "A", "to": d.session.bench.x["A"] + 0.02}, 1)
        assert d.session.lanes["hand"].idle(30)
        assert len([h for h, _ in d.events("pose") if h["source"] == "slide"]) == k + 1
    assert not d.events("run")
    d.session.do({"do": "stop"}, 1)
    assert d.session.lanes["run"].idle(30)
    assert not d.events("run")


def test_runs_are_compared(desk):
    d = desk()
    d.do("simulate", time=0.3).do("keep").do("inputs", values={"torque": 2.0})
    slots = [h["slot"] for h, _ in d.events("run")]
    assert slots == ["A", "B", "A"]
    a, b = (d.session.runs.kept[s].run for s in "AB")
    assert abs(a.q[-1, 0] - b.q[-1, 0]) > 1e-3
    d.do("forget")
    assert d.last("gone")[0]["slot"] == "B"


def test_the_linear_model_its_modes_and_bode(desk):
    d = desk("cart_pole")
    d.do("equilibrium").do("linearize").do("mode", number=0, amplitude=0.2)
    told, bench = d.last("linear")[0], d.session.bench
    model = da.linearize(bench.system, bench.x)
    np.testing.assert_allclose(sorted(z[0] for z in told["poles"]), sorted(model.eigenvalues.real), atol=1e-9)
    assert d.last("mode")[1]["poses"].shape[0] == 48
    i, o = model.input_names[0], model.output_names[0]
    d.do("bode", input=i, output=o)
    curves = d.last("bode")[1]
    w = float(curves["omega"][100])
    G = model.frequency_response([w])[0, 0, 0]
    np.testing.assert_allclose(curves["gain"][100], abs(G), rtol=1e-3)
    assert not d.errors()


@pytest.mark.parametrize(
    "output", ["position:coupler@y", "rate:D", "acceleration:B", "multiplier:C.x", "energy", "tip"]
)
def test_bode_plots_of_every_kind_of_output(output):
    """Gain and phase are those of (D + C (jω − A)⁻¹ B) of the library's model with this one output."""
    system, tip = zoo.four_bar().compile(), ("tip", lambda s: s.position("coupler")[0] ** 2)
    x = system.state(*zoo.four_bar_start(0.6))
    with da.view.studio(system, state=x, open=False, outputs=[tip]) as studio:
        d, heard = studio.session, []
        d.listen(7, heard.append)
        for command in ({"do": "linearize"}, {"do": "bode", "input": "torque", "output": output}):
            d.do(command, 7)
            assert d.idle(60)
        curves = next(a for h, a in (arrays_of(m) for m in heard if isinstance(m, bytes)) if h["event"] == "bode")
    m = da.linearize(system, studio.state, outputs=[tip if output == "tip" else output])
    w = curves["omega"].astype(float)
    G = [(m.D + m.C @ np.linalg.solve(1j * x * np.eye(len(m.A)) - m.A, m.B))[0, 0] for x in w]
    np.testing.assert_allclose(curves["gain"], np.abs(G), rtol=2e-5)
    np.testing.assert_allclose(np.exp(1j * np.radians(curves["phase"])), G / np.abs(G), atol=1e-3)


def test_modes_of_what_is_driven_are_refused_with_a_reason(desk):
    m = zoo.four_bar()
    m.add_driver("turning", "A", lambda t: 0.5 + 2 * t)
    system = m.compile()
    d = Desk(system, system.assemble(guess={"A": 0.5, "B": -0.1, "D": 1.4}))
    d.do("linearize").do("mode", number=0)
    assert d.errors() == ["'four-bar' has no modes here: nothing of it moves by itself."]
    d.session.close()


def test_a_map_is_clicked(desk):
    d = desk("five_bar")
    names = d.session.bench.leaders()[:2]
    at = d.session.bench.x
    axes = [{"name": n, "low": at[n] - 0.3, "high": at[n] + 0.3, "count": 5} for n in names]
    d.do("map", axes=axes)
    assert d.last("map")[1]["margin"].shape == (5, 5)
    d.do("go", place=[3, 1])
    x = d.session.bench.x
    np.testing.assert_allclose([x[n] for n in names], [at[names[0]] + 0.15, at[names[1]] - 0.15], atol=1e-9)
    assert not d.errors()


def test_other_branches_of_a_four_bar_are_mirror_images(desk):
    """With the crank where it is, coupler and rocker have two positions, mirrored in the line from B to D's pin."""
    d = desk()
    x = d.session.bench.x
    d.do("branch")
    y = d.session.bench.x
    assert abs(y["A"] - x["A"]) < 1e-9
    crank = 0.2 * np.array([np.cos(x["A"]), np.sin(x["A"])])
    pin = np.array([0.55, 0.0])
    tips = [pin + 0.4 * np.array([np.cos(s["D"]), np.sin(s["D"])]) for s in (x, y)]
    along = (pin - crank) / np.linalg.norm(pin - crank)
    mirrored = crank + 2 * along * (along @ (tips[0] - crank)) - (tips[0] - crank)
    np.testing.assert_allclose(tips[1], mirrored, atol=1e-8)
    d.do("branch")
    np.testing.assert_allclose(d.session.bench.x.q, x.q, atol=1e-9)


def test_live_simulation_moves_and_pauses(desk):
    d = desk("cart_pole")
    d.session.do({"do": "live"}, 1)
    for _ in range(200):
        time.sleep(0.05)
        if len([h for h, _ in d.events("pose") if h["source"] == "live"]) > 3:
            break
    d.session.do({"do": "pause"}, 1)
    assert d.session.lanes["live"].idle(10)
    shown = [h for h, _ in d.events("pose") if h["source"] == "live"]
    assert shown[2]["t"] - shown[0]["t"] == pytest.approx(2 / 60, abs=1e-9)
    assert [h["on"] for h, _ in d.events("live")] == [True, False]


def test_a_dropped_model_takes_the_bench(desk, tmp_path):
    d = desk()
    zoo.slider_crank().save(tmp_path / "m.json")
    d.do("load", name="C:\\models\\m.json", data=(tmp_path / "m.json").read_bytes())
    assert not d.errors()
    assert d.last("model")[0]["name"] == zoo.slider_crank().name
    assert 'da.read("m.json")' in d.session.script.text
    d.do("save", what="state")
    header, data = d.last("file")
    assert header["name"].endswith(".state.json")
    q = d.session.bench.x.q
    d.do("slide", name="A", to=d.session.bench.x["A"] + 0.4).do("load", name="s.json", data=data)
    np.testing.assert_allclose(d.session.bench.x.q, q, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("m.yaml", b"bodies: [1, 2"),
        ("m.exe", b"MZ"),
        ("m.urdf", b"<robot name='x'><link name='a'/><xacro:include filename='/etc/passwd'/></robot>"),
        ("m.xml", b"<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><robot>&a;</robot>"),
        ("../../x.json", b"{}"),
        ("m.json", b'{"kind": "dalembert state", "q": "no"}'),
        (None, b"{}"),
    ],
)
def test_bad_files_are_refused_with_a_reason_and_change_nothing(desk, name, data):
    d = desk()
    before = d.session.bench
    d.do("load", name=name, data=data)
    assert len(d.errors()) == 1
    assert "/tmp" not in d.errors()[0]
    assert "Traceback" not in d.errors()[0]
    assert d.session.bench is before


def test_a_file_that_is_too_large_is_refused(desk):
    d = desk()
    d.do("load", name="m.json", data=bytes((8 << 20) + 1))
    assert "the most that is read" in d.errors()[0]


@pytest.mark.parametrize(
    "command",
    [
        {"do": "drag", "body": "nobody", "point": [0, 0, 0], "to": [0, 0, 0]},
        {"do": "drag", "body": "crank", "point": [0, 0], "to": [0, 0, 0]},
        {"do": "drag", "body": "crank", "point": [0, 0, 0], "to": [0, 0, None]},
        {"do": "slide", "name": "nobody", "to": 1.0},
        {"do": "slide", "name": ["A"], "to": 1.0},
        {"do": "slide", "name": "A", "to": 1e400},
        {"do": "simulate", "time": -1},
        {"do": "seek", "slot": "C", "t": 0},
        {"do": "parameters", "values": {"nothing": 1}},
        {"do": "inputs", "values": [1, 2]},
        {"do": "mode", "number": 0},
        {"do": "map", "axes": [{"name": "A", "low": 0, "high": 1, "count": 10**9}]},
        {"do": "go", "place": [0]},
        {"do": "save", "what": "everything"},
    ],
)
def test_nonsense_is_answered_and_harms_nothing(desk, command):
    d = desk()
    d.session.do(command, 1)
    assert d.session.idle(30)
    assert len(d.errors()) == 1
    d.do("slide", name="A", to=0.7)
    assert abs(d.session.bench.x["A"] - 0.7) < 1e-7
    with pytest.raises(ArgumentError):
        d.session.do({"do": "__init__"}, 1)


def test_the_script_does_what_was_clicked(desk):
    """The Python that is shown, run, ends where the session is."""
    d = desk()
    d.do("slide", name="A", to=0.9).do("simulate", time=0.2).do("seek", t=0.1)
    names = {}
    exec(d.session.script.text, names)
    np.testing.assert_allclose(names["x"].q, d.session.bench.x.q, atol=1e-7)


def test_the_python_runs_and_does_what_was_clicked(desk):
    """The script of some clicks, run by itself, comes to the state, the run and the linear model of the session."""
    d = desk("four_bar")
    d.do("slide", name="A", to=0.9).do("inputs", values={"torque": 0.4}).do("simulate", time=0.4)
    d.do("seek", slot="A", t=0.3).do("linearize").do("bode", input="torque", output="B").do("mode", number=0)
    d.do("map", axes=[{"name": "A", "low": 0.2, "high": 1.4, "count": 5}]).do("script")
    assert not d.errors()
    done = {}
    exec(d.last("script")[0]["text"], done)
    session = d.session
    np.testing.assert_allclose(done["x"].q, session.bench.x.q, atol=1e-9)
    np.testing.assert_allclose(done["run"].q[-1], session.runs.kept["A"].run.q[-1], atol=1e-7)
    np.testing.assert_allclose(done["model"].eigenvalues, session.studies.model.eigenvalues, rtol=1e-7)
    np.testing.assert_allclose(np.abs(done["G"]), d.last("bode")[1]["gain"], rtol=1e-5)
    np.testing.assert_array_equal(done["reach"].reachable, session.studies.map.reachable)


def test_the_python_of_other_parameters_has_them():
    m = da.Mechanism("swing", gravity=(0, -9.81, 0))
    length = m.add_parameter("length", 1.0)
    bob = m.add_body("bob", mass=1.0, com=(0, -length, 0), inertia=(0.1, 0.1, 0.1))
    m.add_joint("A", da.Revolute("z"), m.ground, bob)
    system = m.compile()
    with da.view.studio(system, state={"A": 0.3}, p={"length": 2.0}, open=False, duration=0.5) as studio:
        studio.session.do({"do": "simulate"}, 1)
        assert studio.session.idle(60)
        done = {"given": system}
        exec(studio.session.script.text.replace("system = ...", "system = given  #"), done)
        np.testing.assert_allclose(done["run"].q[-1], studio.run.q[-1], atol=1e-8)


def test_a_model_in_which_nothing_moves_is_refused_and_the_old_one_stays(desk, tmp_path):
    m = da.Mechanism("stone")
    m.save(tmp_path / "stone.json")
    d = desk("four_bar").do("load", (tmp_path / "stone.json").read_bytes(), name="stone.json")
    assert "nothing moves" in d.errors()[-1]
    assert d.session.bench.system.name == "four-bar"
    with pytest.raises(ArgumentError, match="nothing moves"):
        da.view.studio(m.compile(), open=False)


def test_the_direction_that_a_singular_position_opens_is_told_near_it_and_nowhere_else():
    """A parallelogram is brought to where it is nearly flat: there its bars begin to move across their line."""
    pins = {"A": (0, 0), "C": (0.3, 0.2), "D": (0.9, 0.2), "B": (0.6, 0)}
    bodies = {"crank": "A C", "coupler": "C D", "rocker": "D B"}
    system = da.Linkage("parallelogram", pins, ground="A B", bodies=bodies).compile()
    d = Desk(system, system.state())
    assert d.session.idle(60)
    assert d.last("report")[0]["opening"] == []
    d.do("slide", name="A", to=0.01 - np.arctan2(0.2, 0.3))
    told = d.last("report")[0]["opening"]
    d.session.close()
    assert [a["body"] for a in told] == ["crank", "coupler", "rocker"]
    moves = np.array([a["vector"] for a in told])
    across = np.abs(moves[:, 1])
    assert across.max() > 0
    assert np.abs(moves[:, [0, 2]]).max() < 0.05 * across.max()
    half = np.abs([moves[0, 1], moves[2, 1]])
    assert half[0] == pytest.approx(half[1], rel=0.1)  # both rockers turn as fast, one way or the other
