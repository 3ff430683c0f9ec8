"""Motions that meet singular positions, or pass them by 1e-2 … 1e-9 rad, against forty digits (planar_truth.py)."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import planar_motions as truth
import pytest
from planar_truth import exact
from test_singular_passages import flat_times

import dalembert as da
from dalembert import zoo
from dalembert.rank import rank_policy

CASES = json.loads(Path(__file__).with_name("near_misses.json").read_text())


@cache
def built(mechanism, x):
    """The mechanism of a case, compiled, and the names of its coordinates in the order of the table."""
    if mechanism == "five-bar":
        return zoo.five_bar().compile(), list("ABCD")
    if mechanism == "driven five-bar":
        m = zoo.five_bar()
        m.add_driver("crank", "A", lambda t: x + truth.RATE * t)
        return m.compile(), list("ABCD")
    if mechanism == "six-bar":
        return six_bar().compile(), list("ABCDE")
    if mechanism == "five-bar on a slide":
        return sliding_five_bar().compile(), ["slide", *"ABCD"]
    if mechanism == "3-RRR":
        return zoo.planar_3rrr(proximal=0.325, distal=0.325).compile(), ["A1", "B1", "C1", "A2", "B2", "A3", "B3"]
    if mechanism.startswith("ladder"):
        loops = int(mechanism.split()[1])
        names = ["A0", *(f"{letter}{k}" for k in range(1, loops + 1) for letter in "BA")]
        return ladder(truth.rungs(loops, x)).compile(), names
    if mechanism == "four-bar":
        lengths = {**truth.CHANGE_POINT, "coupler": truth.CHANGE_POINT["coupler"] + x}
        return zoo.four_bar(**lengths).compile(), list("ABD")
    if mechanism == "slider-crank":
        return slider_crank(1.0 + x).compile(), ["q1", "q2"]
    return zoo.sarrus().compile(), ["A1", "B1"]


def sliding_five_bar():
    m = da.Mechanism("five-bar on a slide", gravity=(0, -9.81, 0))
    base = m.add_body("base", mass=truth.BASE)
    m.add_joint("slide", da.Prismatic("x"), m.ground, base)
    _close_bars(m, base, truth.FIVE_BAR)
    return m


def six_bar():
    m = da.Mechanism("six-bar", gravity=(0, -9.81, 0))
    _close_bars(m, m.ground, truth.SIX_BAR)
    return m


def _close_bars(m, base, bars):
    before = base.at()
    for joint, length, mass, inertia in zip("ABCDE", bars["lengths"], bars["masses"], bars["inertias"]):
        link = m.add_body(f"link {joint}", mass=mass, com=(length / 2, 0, 0), inertia=(0, inertia, inertia))
        m.add_joint(joint, da.Revolute("z"), before, link)
        before = link.at(length)
    m.close_loop("end", da.Revolute("z"), before, base.at(bars["span"]))


def ladder(couplers):
    """zoo.ladder with couplers of any length."""
    m = da.Mechanism("ladder", gravity=(0, -9.81, 0))
    bar = lambda name, length: m.add_body(  # noqa: E731
        name, mass=1.0, com=(length / 2, 0, 0), inertia=(0, length**2 / 12, length**2 / 12)
    )
    before = bar("crank 0", 1.0)
    m.add_joint("A0", da.Revolute("z"), m.ground, before)
    for k, length in enumerate(couplers, start=1):
        coupler, crank = bar(f"coupler {k}", length), bar(f"crank {k}", 1.0)
        m.add_joint(f"B{k}", da.Revolute("z"), before.at(1.0), coupler)
        m.add_joint(f"A{k}", da.Revolute("z"), m.ground.at(float(k)), crank)
        m.close_loop(f"C{k}", da.Revolute("z"), coupler.at(length), crank.at(1.0))
        before = crank
    return m


def slider_crank(rod):
    m = da.Mechanism("slider-crank", gravity=(0, -9.81, 0))
    one, two = m.add_body("crank", mass=1.0, com=(1, 0, 0)), m.add_body("rod", mass=1.0, com=(rod, 0, 0))
    m.add_joint("q1", da.Revolute("z"), m.ground, one)
    m.add_joint("q2", da.Revolute("z"), one.at(1.0), two)
    m.add_point_on_line("C", m.add_frame("tip", two.at(rod)), m.ground.at(), "x")
    return m


def start(case):
    system, names = built(case["mechanism"], case["x"])
    if case["mechanism"] == "sarrus":
        return system.state(*zoo.sarrus_start(case["q"][0], case["v"][0]))
    return system.state(dict(zip(names, case["q"])), dict(zip(names, case["v"])))


def ran(case, rtol=1e-9, **options):
    """A run, and its error at the end: of positions, and of velocities over the largest of them."""
    system, names = built(case["mechanism"], case["x"])
    run = da.simulate(system, start(case), case["duration"], rtol=rtol, atol=0.1 * rtol, **options)
    assert run.success, (case["mechanism"], case["miss"], rtol, options, run.message)
    q = np.array([run[name][-1] for name in names]) - case["end_q"]
    v = np.array([run.v[-1][system.v_names.index(name)] for name in names]) - case["end_v"]
    return run, max(np.abs(q).max(), np.abs(v).max() / np.abs(case["end_v"]).max())


OPTIONS = {
    "nullspace": {"formulation": "nullspace"},
    "projection": {"formulation": "projection"},
    "lagrange": {"formulation": "lagrange"},
    "partition": {"formulation": "partition"},
    "tangent": {"coordinates": "tangent"},
    "energy": {"stabilization": "energy"},
}
TIMES = 300.0  # rtol: error at the end that is allowed where every passage is determined
NAMES = [f"{case['mechanism']} {case['miss']:.0e} {k}" for k, case in enumerate(CASES)]


def loops(case):
    """Powers of σ² in the table's measure of nearness."""
    return int(case["mechanism"].split()[1]) if case["mechanism"].startswith("ladder") else 1


def check(case, rtol, **options):
    """The claim of a run: near the truth, or not determined by the start; and every singular position is found once."""
    run, error = ran(case, rtol, **options)
    near = [t for t, least in case["passages"] if least ** (1 / loops(case)) < 1e-6]
    for t in near:
        assert sum(abs(p.nearest - t) < 2e-3 * case["duration"] for p in run.passages) == 1, (near, run.passages)
    if case["mechanism"] != "sarrus":  # stretched legs are singular in space only
        assert len(run.passages) <= len(case["passages"])
    if all(p.determined for p in run.passages):
        assert error <= TIMES * rtol
    else:
        assert case["miss"] != 0.0  # two branches that cross are told apart
        if max(p.growth for p in run.passages) > 3e3:  # neighbours part
            return run, error
        assert min(least for _, least in case["passages"]) ** (0.5 / loops(case)) < 300 * max(1e-7, 10 * rtol)
    return run, error


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_the_motion_is_the_true_one_or_not_determined(case):
    check(case, 1e-9)


@pytest.mark.parametrize(
    ("name", "rtol"), [*((name, 1e-7) for name in OPTIONS), ("lagrange", 1e-11), ("tangent", 1e-11), ("energy", 1e-9)]
)
def test_so_it_is_with_every_formulation(name, rtol):
    chosen = [*CASES[:48:7], *(c for c in CASES[48:] if c["x"] in (0.0, -1e-9))]
    if (name, rtol) == ("energy", 1e-9):  # restored up to where careful steps begin
        chosen = [c for c in CASES[48:] if c["x"] in (0.0, -1e-7, -1e-9)]
    if (name, rtol) == ("tangent", 1e-11):  # steps end where charts are left, not far below
        chosen += [c for c in CASES[48:] if c["x"] == -1e-11]
    for case in chosen:
        if not (name == "tangent" and case["mechanism"] == "sarrus"):
            check(case, rtol, **OPTIONS[name])


@pytest.mark.parametrize("case", [c for c in CASES if c["mechanism"].startswith("ladder")], ids=str)
def test_loops_that_become_singular_almost_at_once_lead_on_at_any_tolerance(case):
    """At 1e-7 a step ended where five singular values, of σ 1e-7 to 7e-6, were taken for three that vanish."""
    for rtol in (1e-6, 1e-7):
        check(case, rtol)


CONVERGING = [k for k, c in enumerate(CASES) if c["miss"] == 0.0 or abs(c["miss"]) >= 1e-6][::3]


@pytest.mark.parametrize("k", CONVERGING, ids=lambda k: NAMES[k])
def test_a_smaller_tolerance_makes_a_smaller_error_through_passages(k):
    """A thousandth of the tolerance, a hundredth of the error at most; or what rounding leaves."""
    (one, first), (two, last) = ran(CASES[k], 1e-7), ran(CASES[k], 1e-10)
    if all(p.determined for p in (*one.passages, *two.passages)):
        assert last < max(1e-2 * first, 3e-9 if CASES[k]["mechanism"] == "3-RRR" else 1e-10)


@pytest.mark.parametrize("case", CASES[::4], ids=NAMES[::4])
def test_times_of_passages(case):
    """To 1e-8 s where the position is met.

    Where it is missed, the table and a run measure the distance by two norms; their least values are apart by a few
    percent of the time that it takes to pass.
    """
    run, _ = ran(case, 1e-11)
    for t, least in case["passages"]:
        sigma2 = least ** (1 / loops(case))
        if sigma2 < 1e-6 and loops(case) == 1:
            (found,) = [p for p in run.passages if abs(p.nearest - t) < 2e-3 * case["duration"]]
            if found.determined:
                assert abs(found.nearest - t) < 1e-8 + 0.05 * sigma2**0.5


def least_sigma(run, t):
    """The least singular value of the scaled rows in the mass metric, by NumPy."""
    system, x = run.system, run(t)
    rows = np.linalg.solve(np.linalg.cholesky(system.mass_matrix(x)), system.constraint_matrix(x).T)
    return np.linalg.svd(rows / rank_policy(system).sizes, compute_uv=False)[-1]


MISSED = [
    next(k for k, c in enumerate(CASES) if c["mechanism"] == name and abs(c["miss"]) == miss)
    for name, miss in [
        ("five-bar", 1e-2),
        ("five-bar", 1e-4),
        ("3-RRR", 1e-3),
        ("3-RRR", 1e-5),
        ("driven five-bar", 1e-4),
        ("four-bar", 1e-5),
        ("ladder 2", 1e-5),
    ]
]


@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
@pytest.mark.parametrize("k", MISSED, ids=lambda k: NAMES[k])
def test_a_missed_position_is_nearest_where_the_least_singular_value_is_least(k, rtol):
    run, _ = ran(CASES[k], rtol)
    missed = [p for p in run.passages if not p.met]
    assert missed or abs(CASES[k]["miss"]) < 100 * rtol
    for p in missed:
        a, b = max(p.nearest - 0.3 * (p.end - p.start), run.t[0]), min(p.nearest + 0.3 * (p.end - p.start), run.t[-1])
        for _ in range(60):
            one, two = a + 0.382 * (b - a), a + 0.618 * (b - a)
            a, b = (a, two) if least_sigma(run, one) < least_sigma(run, two) else (one, b)
        assert p.nearest == pytest.approx(0.5 * (a + b), rel=1e-6)
        assert p.distance == pytest.approx(least_sigma(run, 0.5 * (a + b)), rel=1e-5)


@pytest.mark.parametrize("miss", [1e-3, 1e-4, 1e-5])
def test_careful_steps_are_taken_where_the_least_singular_value_asks_for_them(miss):
    """In a 3-RRR no two rows have so small an angle: elimination goes on, and is off by 120 rtol at 1e-4."""
    case = next(c for c in CASES if c["mechanism"] == "3-RRR" and abs(c["miss"]) == miss)
    run, error = ran(case, 1e-9)
    assert sum(p.steps for p in run.passages) > 0
    assert error < 1e-8


@pytest.mark.parametrize("case", [c for c in CASES if "neighbour" in c], ids=lambda c: c["mechanism"])
def test_what_is_not_determined_is_not(case):
    """Starts 1e-7 apart, to forty digits: their ends are more than 1e5 times as far from each other."""
    apart = np.abs(np.array(case["neighbour"]) - case["end_q"]).max()
    assert apart > 1e5 * truth.NEIGHBOUR
    run, _ = ran(case, 1e-9)
    assert not all(p.determined for p in run.passages)


STEEP = [k for k, c in enumerate(CASES) if c["mechanism"] == "3-RRR" and 1e-6 <= abs(c["miss"]) <= 1e-3]


@pytest.mark.parametrize("k", STEEP, ids=lambda k: NAMES[k])
def test_neighbours_part_as_much_as_a_passage_says(k):
    """Starts 1e-10 apart in four seeded directions, at rtol 1e-11: 1 / miss is at most thirty times too much."""
    run, _ = ran(CASES[k], 1e-11)
    (passage,) = run.passages
    system, x, rng = run.system, start(CASES[k]), np.random.default_rng(k)
    t, apart = np.array([passage.nearest - 1e-2, CASES[k]["duration"]]), 0.0
    for _ in range(4):
        beside = system.project(x.replace(q=system.plus(x, 1e-10 * rng.standard_normal(system.nv))))
        twin = da.simulate(system, beside, CASES[k]["duration"], rtol=1e-11, atol=1e-12, t_eval=t)
        before, after = (np.abs(q - run(when).q).max() for q, when in zip(twin.q, t))
        apart = max(apart, after / before)
    assert 0.03 * passage.growth < apart < 3 * passage.growth
    assert passage.determined == (passage.growth <= 3e3)


def test_cones_that_can_be_rolled_out_keep_neighbours_together():
    for name in ("five-bar", "five-bar on a slide", "four-bar", "slider-crank"):
        for case in [c for c in CASES if c["mechanism"] == name][::3]:
            assert all(p.growth == 1.0 for p in ran(case, 1e-9)[0].passages)


def test_the_table_is_made_as_it_is_said_to_be():
    case = next(c for c in CASES if c["mechanism"] == "slider-crank" and c["x"] == 1e-3)
    again = truth.finished("slider-crank", case["x"], case["miss"], case["q"], case["v"], case["duration"])
    np.testing.assert_allclose(again["end_q"] + again["end_v"], case["end_q"] + case["end_v"], rtol=1e-14)
    model, S = truth.made("slider-crank")
    q, v = exact(S) @ exact([0.5, -1.0]), exact(S) @ exact([5.0, -10.0])
    end_q, end_v, _ = model.integrate(q, v, 0.5)  # the branch q₂ = −2 q₁ through its singular position, and energy
    assert abs(end_q[0] + end_q[1]) < 1e-20
    assert abs(model.energy(end_q, end_v) - model.energy(q, v)) < 1e-20


def test_forty_loops_become_singular_at_once_and_stay_one_ladder():
    system = zoo.ladder(40).compile()
    run = da.simulate(system, system.state(*zoo.ladder_start(40)), 1.3, rtol=1e-11, atol=1e-12)
    assert run.success
    assert all(p.determined and p.met for p in run.passages)
    np.testing.assert_allclose([p.nearest for p in run.passages], flat_times(40, 1.3), rtol=0, atol=1e-8)
    assert max(np.abs(run[f"A{k}"] - run["A0"]).max() for k in range(1, 41)) < 1e-10
