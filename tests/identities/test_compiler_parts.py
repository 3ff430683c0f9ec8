"""Functions that are compiled together give what each gives alone."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.compiler import Kernel, repeats
from dalembert.compiler.build import compile_parts
from dalembert.compiler.kernel import Interface, restored
from dalembert.compiler.parts import ProgramPart
from dalembert.system import kernels as systems
from random_loops import random_closed


def unequal_ladder(loops: int, seed: int) -> da.Mechanism:
    """Cells of one kind whose bars have masses of their own, one of them also a length."""
    rng = np.random.default_rng(seed)
    m = da.Mechanism("unequal ladder", gravity=(0, -9.81, 0))

    def bar(name: str, length: float) -> da.Body:
        mass = rng.uniform(1.0, 2.0)
        return m.add_body(name, mass=mass, com=(length / 2, 0, 0), inertia=da.rod_inertia(mass, length))

    before = bar("crank 0", 1.0)
    m.add_joint("A0", da.Revolute("z"), m.ground, before)
    for k in range(1, loops + 1):
        length = 1.01 if k == loops // 2 else 1.0
        coupler, crank = bar(f"coupler {k}", length), bar(f"crank {k}", 1.0)
        m.add_joint(f"B{k}", da.Revolute("z"), before.at(1.0), coupler)
        m.add_joint(f"A{k}", da.Revolute("z"), m.ground.at(k), crank)
        m.close_loop(f"C{k}", da.Revolute("z"), coupler.at(length), crank.at(1.0))
        before = crank
    m.add_motor("torque", "A0")
    return m


def compare(system: da.System, seed: int, spread: float = 1.0, **known: np.ndarray) -> None:
    """Each kernel of a system against CasADi's machine, at random arguments."""
    rng = np.random.default_rng(seed)
    for name in (n for names in systems.TOGETHER for n in names):
        kernel = system.kernel(name)
        alone = system.function(name)
        assert kernel.names_in == tuple(alone.name_in())
        x = [known.get(k, 1.0 + spread * rng.uniform(size=n)) for k, n in zip(kernel.names_in, kernel.n_in)]
        found, expected = kernel(*x), alone.call([ca.DM(a) for a in x])
        for y, e in zip(found if isinstance(found, tuple) else (found,), expected):
            e = np.array(e).reshape(np.shape(y))
            np.testing.assert_allclose(y, e, rtol=0, atol=1e-10 * max(1.0, np.abs(e).max(initial=0.0)), err_msg=name)


@pytest.mark.parametrize("seed", range(4))
def test_kernels_of_random_mechanisms_that_are_compiled_together(seed, monkeypatch, tmp_path):
    monkeypatch.setattr(systems, "LARGE", 0)
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    system, x = random_closed(seed, redundant=False)
    again = system.layout.mechanism.compile()
    compare(again, seed, q=x.q, v=x.v)
    assert len({again.kernel(n).code_name for n in systems.TOGETHER[0]}) == 1  # one code for all of them


@pytest.mark.parametrize("case", ["driven", "led"])
def test_time_inputs_and_parameters_reach_every_part(case, monkeypatch, tmp_path):
    """Parts take different arguments of the whole: time, inputs, parameters, usual lengths of rows."""
    monkeypatch.setattr(systems, "LARGE", 0)
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    m = zoo.five_bar()
    k = m.add_parameter("k", 2.0)
    m.add_spring("spring", m.ground.at(0.1, 0.2), next(iter(m.bodies.values())), stiffness=k)
    if case == "driven":
        m.add_driver("turn", "A", lambda t: 0.3 * k * ca.sin(t))
    else:
        m.add_kinematic_input("lead", "A")
    compare(m.compile(), 5)


def test_a_large_ladder_in_loops(monkeypatch, tmp_path):
    """Ladders of unequal cells, in loops over tables, from the compiler and from the disk."""
    monkeypatch.setattr(repeats, "LONG", 1000)
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    for seed in (6, 7):
        compare(unequal_ladder(70, seed=0).compile(), seed, spread=0.01)


def test_outputs_that_are_inputs_constants_sines_and_zeros():
    x, y = ca.SX.sym("x", 3), ca.SX.sym("y", 2)
    first = [ca.vertcat(x[1], x[2], x[0], 3.0, 0.0, 0.0, 4.0), ca.sin(x)]
    second = [ca.vertcat(y, 0.0, ca.sin(x[0]), x[0] * y[1])]
    whole = ca.Function("whole", [x, y], [ca.densify(e) for e in (*first, *second)], ["x", "y"], ["a", "b", "c"])
    code = compile_parts(whole, [ProgramPart("one", (0,), 0, 2), ProgramPart("two", (1, 0), 2, 3)])
    one = restored(Interface("one", ("x",), (3,), ((7,), (3,)), (7, 3)), code["one"], 1, lambda: whole)
    two = restored(Interface("two", ("y", "x"), (2, 3), ((5,),), (5,)), code["two"], 1, lambda: whole)
    a, b = np.array([0.1, 0.2, 0.3]), np.array([5.0, 6.0])
    np.testing.assert_array_equal(one(a)[0], [0.2, 0.3, 0.1, 3.0, 0.0, 0.0, 4.0])
    np.testing.assert_allclose(one(a)[1], np.sin(a), rtol=1e-15)
    np.testing.assert_allclose(two(b, a), [5.0, 6.0, 0.0, np.sin(0.1), 0.1 * 6.0], rtol=1e-15)
    assert isinstance(one, Kernel)
