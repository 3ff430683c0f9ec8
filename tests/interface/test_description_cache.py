"""A mechanism that was compiled before is not traced again: by its description, and never by a stale one."""

import pickle

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import rank, zoo
from dalembert.compiler import build, cache
from dalembert.mechanism.digest import description_digest
from dalembert.system import system as systems
from dalembert.system import trace, trace_cache
from random_loops import random_closed


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """A cache of its own, and what stands for the start of another process."""
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))

    def forget():
        build._loaded.clear()
        cache._prepared.cache_clear()

    forget()
    return forget


@pytest.fixture
def traced(monkeypatch):
    """Names of what was traced."""
    names, original = [], trace.Trace.__init__

    def counting(self, *arguments):
        names.append("trace")
        original(self, *arguments)

    monkeypatch.setattr(trace.Trace, "__init__", counting)
    monkeypatch.setattr(trace, "_kept", type("Nothing", (), {})())
    return names


def answers(m, start):
    system = m.compile()
    x = system.state(*start)
    run = da.simulate(system, x, 0.05)
    model = da.linearize(system, x)
    return [system.acceleration(x).vdot, system.residuals(x), run.q, run.v, model.A], system


@pytest.mark.parametrize("name", ["four_bar", "delta", "stewart", "rolling_disc", "loader"])
def test_another_process_traces_nothing_and_gives_the_same_bits(name, fresh, traced):
    entry = zoo.CATALOG[name]
    first, _ = answers(entry.build(), entry.start())
    assert traced
    traced.clear()
    fresh()
    second, system = answers(entry.build(), entry.start())
    assert not traced
    for a, b in zip(first, second):
        np.testing.assert_array_equal(a, b)
    assert system.rows.names == system.row_names


def test_rows_have_the_names_and_kinds_that_tracing_gives(fresh):
    for seed in range(3):
        system, _ = random_closed(seed, 5, 2, redundant=True)
        found, again = system.rows, pickle.loads(pickle.dumps(system)).rows
        expected = trace.Trace(system.description).rows.head
        assert found == again == expected


def test_a_kernel_from_the_disk_can_be_traced_and_pickled(fresh):
    x = zoo.four_bar_start(0.6)
    first = zoo.four_bar().compile().acceleration(x[0]).vdot
    fresh()
    system = zoo.four_bar().compile()
    kernel = system.kernel("answer")
    assert not isinstance(kernel._function, ca.Function)
    assert kernel.function.name() == "answer"
    copy = pickle.loads(pickle.dumps(kernel))
    given = [system.state(*x).q, np.zeros(3), np.zeros(3), np.zeros(len(system.u_names))][: len(kernel.n_in)]
    np.testing.assert_array_equal(copy(*given)[0], kernel(*given)[0])
    np.testing.assert_array_equal(kernel(*given)[0], first)


def pendulum(mass=1.0, length=1.0, damping=0.0, law=None, gravity=-9.81, parameter=None):
    m = da.Mechanism("pendulum", gravity=(0, 0, gravity))
    if parameter is not None:
        mass = m.add_parameter("m", parameter)
    rod = m.add_body("rod", mass=mass, com=(length, 0, 0))
    m.add_joint("A", da.Revolute("y"), m.ground, rod, damping=damping)
    if law is not None:
        m.add_joint_force("law", "A", law)
    return m


def test_whatever_changes_the_equations_changes_the_digest():
    plain = description_digest(pendulum())
    assert plain is not None
    assert plain == description_digest(pendulum())
    others = [
        pendulum(mass=2.0),
        pendulum(length=1.0 + 1e-15),
        pendulum(damping=0.1),
        pendulum(gravity=-9.8),
        pendulum(parameter=1.0),
        pendulum(parameter=2.0),
    ]
    digests = [plain, *map(description_digest, others)]
    assert None not in digests
    assert len(set(digests)) == len(digests)


def test_functions_of_the_user_are_never_taken_for_others_of_their_name(fresh):
    """The same description with another function under the same name: its own equations, not those of the first."""
    found = []
    for stiffness in (3.0, 5.0):

        def law(s, stiffness=stiffness):
            return -stiffness * s["A"]

        m = pendulum(law=law, gravity=0.0)
        assert description_digest(m) is None
        found.append(float(m.compile().acceleration({"A": 0.5}).vdot[0]))
        fresh()
    np.testing.assert_allclose(found, [-1.5, -2.5], rtol=1e-14)


def test_systems_without_some_constraints_are_kept_apart(fresh):
    system = zoo.four_bar().compile()
    x = system.state(*zoo.four_bar_start(0.6))
    closed, opened = system.acceleration(x).rank, system.without("C").acceleration(x).rank
    fresh()
    again = zoo.four_bar().compile()
    assert (again.acceleration(x.q).rank, again.without("C").acceleration(x.q).rank) == (closed, opened) == (2, 0)


def linked(length=1.0, size=0.3):
    """Two cranks and a rod that holds at a parameter's length from one of their axes."""
    m = da.Mechanism("linked", gravity=(0, -9.81, 0))
    reach = m.add_parameter("reach", length)
    a, b = (m.add_body(n, mass=1.0, com=(size, 0, 0), inertia=(0.01, 0.01, 0.01)) for n in "ab")
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), m.ground.at(2, 0, 0), b)
    m.add_rod("rod", a.at(reach, 0, 0), b.at(size, 0, 0), length=2.0)
    return m.compile()


def test_sizes_of_rows_are_kept_by_description_and_parameters(fresh, monkeypatch):
    """From the disk they are the same to the last bit; they are measured for whatever they depend on."""
    measured, original = [], rank.usual_sizes
    monkeypatch.setattr(rank, "usual_sizes", lambda system, p: (measured.append(1), original(system, p))[1])

    def policies():
        fresh()
        plain, before = linked(), len(measured)
        asked = [
            (plain, None), (plain, {"reach": 1.0}), (plain, {"reach": 2.5}), (plain.with_parameters(reach=3.0), None),
            (linked(2.0), None), (linked(size=0.4), None), (plain.without("rod"), None),
        ]  # fmt: skip
        found = [rank.rank_policy(system, p) for system, p in asked]
        return found, len(measured) - before

    (first, anew), (second, again) = policies(), policies()
    assert (anew, again) == (6, 2)  # other parameters than the description's are measured each time
    for one, other in zip(first, second):
        np.testing.assert_array_equal(one.sizes, other.sizes)
        np.testing.assert_array_equal(one.units, other.units)
        assert one.length == other.length
    assert first[0] is first[1]
    assert len({p.sizes.tobytes() for p in first}) == 6  # "" for no row at all


def test_changed_sources_are_not_mixed_with_kept_kernels(fresh, traced, monkeypatch):
    zoo.four_bar().compile().acceleration(zoo.four_bar_start(0.6)[0])
    fresh()
    traced.clear()
    monkeypatch.setattr(trace_cache, "package_stamp", lambda: "another version")
    zoo.four_bar().compile().acceleration(zoo.four_bar_start(0.6)[0])
    assert traced


def test_code_that_is_gone_from_the_disk_is_compiled_again(fresh, tmp_path):
    first = zoo.four_bar().compile().acceleration(zoo.four_bar_start(0.6)[0]).vdot
    fresh()
    sizes = sorted((tmp_path / "cache").glob("*.bin"), key=lambda f: f.stat().st_size)
    for file in sizes[len(sizes) // 2 :]:  # the larger ones hold the machine code
        file.unlink()
    again = zoo.four_bar().compile().acceleration(zoo.four_bar_start(0.6)[0]).vdot
    np.testing.assert_array_equal(first, again)


def test_a_description_is_checked_once_and_a_wrong_one_refused_each_time(fresh, monkeypatch):
    checked, original = [], systems.check_masses
    monkeypatch.setattr(systems, "check_masses", lambda *given: (checked.append(1), original(*given)))
    for _ in range(3):
        pendulum().compile()
    assert len(checked) == 1
    for n in range(3):
        with pytest.raises(da.DescriptionError, match="mass matrix is singular"):
            pendulum(mass=0.0).compile()
        assert len(checked) == 2 + n
