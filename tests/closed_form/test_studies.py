"""Studies against closed forms: stack-ups, Sobol's indices of Ishigami's function, moments of a linear map."""

import numpy as np
import pytest
from scipy.stats import norm, uniform

import dalembert as da


def slider():
    """A rod on a rail with parameters that nothing of its motion depends on, but for its mass and spring."""
    m = da.Mechanism("slider")
    for name, value in (("a", 1.0), ("b", 2.0), ("c", 3.0)):
        m.add_parameter(name, value)
    mass, k = m.add_parameter("mass", 2.0), m.add_parameter("k", 8.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("rod", mass=mass), stiffness=k)
    return m.compile()


def column(runs, name):
    return runs.p[:, runs.system.p_names.index(name)]


def linear(runs):
    return 2.0 * column(runs, "a") - 3.0 * column(runs, "b") + 0.5 * column(runs, "c") + 7.0


STILL = {"along": {"x": [0.0]}}


def test_a_linear_stack_up_is_the_root_of_the_sum_of_squares():
    t = {"a": 0.1, "b": 0.02, "c": 0.4}
    found = da.study(slider(), t, {"gap": linear}, method="tolerance", **STILL)
    each = {"a": 0.2, "b": -0.06, "c": 0.2}
    assert found.effects("gap") == pytest.approx(each, rel=1e-12)
    assert found.worst_case("gap") == pytest.approx(0.46, rel=1e-12)
    assert found.root_sum_square("gap") == pytest.approx(np.sqrt(0.2**2 + 0.06**2 + 0.2**2), rel=1e-12)
    assert found.contributions("gap")["b"] == pytest.approx(0.06**2 / 0.0836, rel=1e-12)
    assert found["gap"][0] == pytest.approx(2.0 - 6.0 + 1.5 + 7.0)


def test_the_stack_up_of_a_crank_is_its_exact_derivative():
    """x = r cos A + √(l² − r² sin² A): ∂x/∂r, ∂x/∂l at one position, tolerances so small that the rest is not seen."""
    m = da.Mechanism("crank and slider")
    r, l = m.add_parameter("r", 0.2), m.add_parameter("l", 0.7)
    crank, rod, slide = (m.add_body(n, mass=1.0, inertia=(1, 1, 1)) for n in ("crank", "rod", "slide"))
    m.add_joint("A", da.Revolute("z"), m.ground, crank)
    m.add_joint("B", da.Revolute("z"), crank.at(r, 0, 0), rod)
    m.add_joint("guide", da.Prismatic("x"), m.ground, slide)
    m.close_loop("C", da.Revolute("z"), rod.at(l, 0, 0), slide)
    found = da.study(
        m.compile(), {"r": 1e-5, "l": 1e-5}, {"end": lambda s: s["guide"][:, -1]}, along={"A": [0.0, 0.5, 1.0]},
        method="tolerance", guess={"guide": 0.9},
    )  # fmt: skip
    s, c = np.sin(1.0), np.cos(1.0)
    root = np.sqrt(0.49 - 0.04 * s * s)
    slopes = {"r": 1e-5 * (c - 0.2 * s * s / root), "l": 1e-5 * 0.7 / root}
    assert found.effects("end") == pytest.approx(slopes, rel=1e-6)


N = 512
ERROR = 4.0 / np.sqrt(N)  # four standard errors of a mean, in standard deviations


@pytest.mark.parametrize(
    ("method", "of_mean", "of_variance"),
    [
        ("random", ERROR, np.sqrt(2.0) * ERROR),  # the second moment of samples that are not peaked
        ("latin", 0.01, np.sqrt(0.1) * 2 * ERROR),  # each column is even; a correlation of two is random
        ("sobol", 0.02, 0.02),
        ("halton", 0.02, 0.02),
    ],
)
def test_moments_of_a_linear_map(method, of_mean, of_variance):
    """Mean and variance of 2a − 3b + c/2 for independent a, b, c, and the share of each, by any way of drawing."""
    given = {"a": norm(1.0, 0.1), "b": uniform(1.5, 1.0), "c": (2.0, 4.0)}
    found = da.study(slider(), given, {"y": linear}, method=method, n=N, seed=3, **STILL)
    parts = {"a": 4 * 0.01, "b": 9 / 12, "c": 0.25 * 4 / 12}
    variance = sum(parts.values())
    assert found.mean("y") == pytest.approx(2.0 - 6.0 + 1.5 + 7.0, abs=of_mean * np.sqrt(variance))
    assert found.standard_deviation("y") ** 2 == pytest.approx(variance, rel=of_variance)
    shares = found.contributions("y")
    for name, part in parts.items():
        assert shares[name] == pytest.approx(part / variance, abs=of_variance)
    x = np.column_stack([found[n] for n in "abc"])
    sizes = np.array([2.0, -3.0, 0.5]) * x.std(axis=0)
    assert list(shares.values()) == pytest.approx(sizes**2 / found["y"].var(), rel=1e-9)  # of these samples, exactly


def test_sobols_indices_of_ishigamis_function():
    """sin a + 7 sin² b + 0.1 c⁴ sin a on (−π, π)³: S = 0.3139, 0.4424, 0; T = 0.5576, 0.4424, 0.2437."""

    def ishigami(runs):
        a, b, c = (column(runs, n) for n in "abc")
        return np.sin(a) + 7.0 * np.sin(b) ** 2 + 0.1 * c**4 * np.sin(a)

    sides = dict.fromkeys("abc", (-np.pi, np.pi))
    found = da.study(slider(), sides, {"y": ishigami}, method="sensitivity", n=2048, **STILL)
    assert list(found.contributions("y").values()) == pytest.approx([0.3139, 0.4424, 0.0], abs=0.02)
    assert list(found.total_indices("y").values()) == pytest.approx([0.5576, 0.4424, 0.2437], abs=0.02)


def test_a_grid_has_every_combination_and_motions_are_those_of_an_ensemble():
    """Half a period of an oscillator from 1 m: x = cos(t √(k/m)) for every pair."""
    found = da.study(
        slider(), {"mass": [1.0, 2.0], "k": [4.0, 9.0, 16.0]}, {"end": lambda runs: runs["x"]},
        states={"x": 1.0}, t=0.7, method="grid",
    )  # fmt: skip
    mass, k = np.array([(a, b) for a in (1.0, 2.0) for b in (4.0, 9.0, 16.0)]).T
    np.testing.assert_array_equal(found["mass"], mass)
    np.testing.assert_array_equal(found["k"], k)
    np.testing.assert_allclose(found["end"], np.cos(0.7 * np.sqrt(k / mass)), atol=1e-8)
    assert found.state(0).t == pytest.approx(0.7)


def test_variants_that_cannot_be_assembled_do_not_count():
    m = da.Mechanism("crank and slider")
    r, l = m.add_parameter("r", 0.2), m.add_parameter("l", 0.7)
    crank, rod, slide = (m.add_body(n, mass=1.0, inertia=(1, 1, 1)) for n in ("crank", "rod", "slide"))
    m.add_joint("A", da.Revolute("z"), m.ground, crank)
    m.add_joint("B", da.Revolute("z"), crank.at(r, 0, 0), rod)
    m.add_joint("guide", da.Prismatic("x"), m.ground, slide)
    m.close_loop("C", da.Revolute("z"), rod.at(l, 0, 0), slide)
    found = da.study(
        m.compile(), {"l": [0.1, 0.5, 0.7]}, {"end": lambda s: s["guide"][:, 0]}, along={"A": [1.57]}, method="grid",
        guess={"guide": 0.6},
    )  # fmt: skip
    assert np.isnan(found["end"]).tolist() == [True, False, False]
    assert "2 of 3" in repr(found)


def test_what_a_study_is_not_is_said():
    system = slider()
    with pytest.raises(da.ArgumentError, match="one of the two"):
        da.study(system, {"a": (0, 1)}, {"y": linear})
    with pytest.raises(da.ArgumentError, match="least, greatest"):
        da.study(system, {"a": (1, 0)}, {"y": linear}, **STILL)
    with pytest.raises(da.ArgumentError, match="one for each variant"):
        da.study(system, {"a": (0, 1)}, {"y": lambda runs: 1.0}, n=3, **STILL)
    with pytest.raises(da.ArgumentError, match="tolerance"):
        da.study(system, {"a": (0, 1)}, {"y": linear}, n=3, **STILL).worst_case("y")


def test_the_page_has_the_numbers(tmp_path):
    given = {"a": norm(1.0, 0.1), "b": (1.5, 2.5)}
    found = da.study(slider(), given, {"y <1>": linear}, n=64, **STILL)
    text = found.report(tmp_path / "study.html").read_text(encoding="utf-8")
    assert f"{found.mean('y <1>'):.6g}" in text
    assert "y &lt;1&gt;" in text
    assert "<1>" not in text
    assert "prefers-color-scheme: dark" in text
    assert text.count("<svg") == 4
