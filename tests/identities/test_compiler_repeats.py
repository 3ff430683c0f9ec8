"""Programs whose equal parts share code give the bits of straight lines, and the numbers of CasADi's machine."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.compiler import Kernel, repeats
from dalembert.compiler.program import program_from_casadi
from dalembert.compiler.schedule import DEEP, Chunk, RepeatedBlocks, schedule


def unequal_chain(links: int) -> da.Mechanism:
    """Links of one kind with masses and lengths of their own."""
    rng = np.random.default_rng(0)
    m = da.Mechanism("unequal chain", gravity=(0, 0, -9.81))
    before = m.ground.at()
    for k in range(links):
        size, mass = rng.uniform(0.5, 1.0), rng.uniform(1.0, 2.0)
        link = m.add_body(f"b{k}", mass=mass, com=(0, 0, -size / 2), inertia=da.cylinder_inertia(mass, 0.05, size))
        m.add_joint(f"J{k}", da.Revolute("y" if k % 2 else "x"), before, link)
        before = link.at(0, 0, -size)
    return m


CASES = {
    "chain": (lambda: zoo.chain(24, axes=("y", "x"), bobs=False), "ode"),
    "unequal": (lambda: unequal_chain(24), "forward_dynamics"),
    "ladder": (lambda: zoo.ladder(40), "answer"),
}


@pytest.mark.parametrize("case", CASES)
def test_equal_parts_in_a_loop_give_the_bits_of_a_straight_line(case, monkeypatch):
    monkeypatch.setattr(repeats, "LONG", 100)
    make, name = CASES[case]
    f = make().compile(backend="casadi").function(name)
    plan = schedule(program_from_casadi(f), 1000, 8)
    looped = sum(
        len(step.blocks) * len(step.blocks[0].nodes) for step in plan.steps if isinstance(step, RepeatedBlocks)
    )
    assert looped > 0.5 * f.n_instructions() / 2  # most of what is computed: CasADi counts inputs and copies too
    rng = np.random.default_rng(1)
    x = [rng.normal(size=(5, f.numel_in(i))) for i in range(f.n_in())]
    expected = [[np.array(y).ravel() for y in f.call([ca.DM(a[k]) for a in x])] for k in range(5)]
    given = f.sx_in()
    same = ca.Function("straight", given, f.call(given, True, False), f.name_in(), f.name_out())
    for lanes in (1, 4) if case == "chain" else (1,):
        monkeypatch.setattr(repeats, "LONG", 100)
        looped = _outputs(Kernel(f, lanes=lanes), x)
        monkeypatch.setattr(repeats, "LONG", 10**9)
        straight = _outputs(Kernel(same, lanes=lanes), x)
        for i, (y, z) in enumerate(zip(looped, straight)):
            np.testing.assert_array_equal(y, z)
            e = np.array([one[i] for one in expected])
            np.testing.assert_allclose(y.reshape(e.shape), e, rtol=0, atol=1e-8 * max(1.0, np.abs(e).max(initial=0.0)))


def _outputs(kernel: Kernel, x: list[np.ndarray]) -> tuple[np.ndarray, ...]:
    found = kernel.batch(*x)
    return found if isinstance(found, tuple) else (found,)


def test_long_sums_of_large_programs_are_cut(monkeypatch):
    """LLVM takes 30 times as long for a function with sums of hundreds of terms as for its parts."""
    monkeypatch.setattr(repeats, "LONG", 100)
    x, part = ca.SX.sym("x", 600), ca.SX.sym("y", 8)
    steps = ca.SX(part)
    for _ in range(400):  # what repeats
        steps = ca.vertcat(steps[1:], steps[0] * steps[3] + steps[5])
    f = ca.Function("sums", [x, part], [ca.dot(x, ca.sqrt(x)), steps])
    program = program_from_casadi(f)
    plan = schedule(program, 1000, 8)
    assert any(isinstance(step, RepeatedBlocks) for step in plan.steps)
    for step in plan.steps:
        if isinstance(step, Chunk):
            depth = {}
            for k in step.nodes:
                depth[k] = 1 + max(depth.get(a, 0) for a in program.args[k])
            assert max(depth.values(), default=0) <= DEEP
    given = [np.linspace(0.1, 1.0, 600), np.linspace(0.1, 0.9, 8)]
    for mine, theirs in zip(Kernel(f)(*given), f(*given)):
        np.testing.assert_allclose(mine, np.array(theirs).ravel(), rtol=1e-13)


def test_stretches_are_found_where_a_list_repeats_and_nowhere_else(monkeypatch):
    monkeypatch.setattr(repeats, "LONG", 100)
    rng = np.random.default_rng(2)
    some = [str(x) for x in rng.integers(6, size=300)]
    part = [str(x) for x in rng.integers(6, size=250)]
    assert repeats.stretches(some) == []
    (found,) = repeats.stretches(some + part * 9 + some)
    assert found[1:] == (250, 9)
    assert 290 <= found[0] <= 300  # some of what stands before may agree by chance


def test_short_programs_stay_straight_lines():
    f = zoo.chain(7).compile(backend="casadi").function("ode")
    assert not any(isinstance(step, RepeatedBlocks) for step in schedule(program_from_casadi(f), 1000, 8).steps)
