"""Every formulation as a right-hand side: the acceleration, laid out for integrators, with memory of its own."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dalembert.formulations import FORMULATIONS, make_field
from dalembert.outcome import Outcome
from dalembert.rank import rank_policy
from random_loops import random_closed

ALL = [(name, variant) for name, variants in FORMULATIONS.items() for variant in range(variants)]
REDUNDANT, INDEPENDENT = random_closed(3), random_closed(1, redundant=False)


def made(system, name, p=None, **more):
    return make_field(
        name,
        system.kernel("equations"),
        {"p": system.arguments.parameter_vector(p)},
        **{"nq": system.nq, "nv": system.nv, "rows": len(system.row_names), "driven": False, "options": {}, **more},
        powers=len([n for n in system.work_names if n != "drivers"]),
    )


@pytest.mark.parametrize(("name", "variant"), ALL)
def test_a_field_gives_the_acceleration_of_its_formulation(name, variant):
    system, x = INDEPENDENT if name in ("lagrange", "augmented") else REDUNDANT
    field = made(system, name, options={"variant": variant, "sizes": rank_policy(system).sizes.copy()})
    y = field.at(x.t, np.concatenate([x.q, x.v]))
    known = system.acceleration(x, formulation=name, variant=variant, floor=0.0)
    nq, nv = system.nq, system.nv
    np.testing.assert_array_equal(y[:nq], system.rates(x))
    np.testing.assert_allclose(y[nq : nq + nv], known.vdot, rtol=1e-12, atol=1e-12 * np.abs(known.vdot).max())
    margin, one, rank, largest, smallest, outcome = y[-6:]
    assert (rank, outcome) == (known.rank, Outcome.OK)
    assert one == 1.0
    assert margin == pytest.approx((smallest / largest) ** 2)
    assert largest / smallest == pytest.approx(known.condition)


def test_a_rank_below_the_usual_one_has_no_margin_and_a_refusal_a_negative_one():
    system, x = REDUNDANT
    state = np.concatenate([x.q, x.v])
    field = made(system, "nullspace", options={"usual_rank": system.acceleration(x).rank + 1})
    assert list(field.at(0.0, state)[-6:-4]) == [0.0, 0.0]
    refused = made(system, "lagrange").at(0.0, state)
    assert list(refused[-6:-4]) == [-1.0, -1.0]
    assert refused[-1] == Outcome.DEPENDENT


def test_baumgarte_asks_for_the_return_of_positions_and_velocities():
    """A v̇ + γ + 2α(A v + b) + β²Φ = 0 off the manifold (Spencer 3.8)."""
    system, x = INDEPENDENT
    off = system.state(system.plus(x, np.full(system.nv, 0.01)), x.v + 0.1)
    y = made(system, "nullspace", baumgarte=(3.0, 5.0)).at(0.0, np.concatenate([off.q, off.v]))
    vdot = y[system.nq : system.nq + system.nv]
    A, gamma = system.constraint_matrix(off), system.constraint_gamma(off)
    asked = gamma + 6.0 * system.speed_residuals(off) + 25.0 * system.residuals(off)
    np.testing.assert_allclose(A @ vdot, -asked, atol=1e-9 * np.abs(asked).max())


def test_a_copy_has_memory_of_its_own_and_threads_give_the_bits_of_one():
    system, x = REDUNDANT
    state = np.concatenate([x.q, x.v])
    field = made(system, "nullspace")
    alone = field.at(0.0, state).copy()
    other = field.copy()
    np.testing.assert_array_equal(other.at(0.0, 1.001 * state), made(system, "nullspace").at(0.0, 1.001 * state))
    np.testing.assert_array_equal(field.y, alone)
    assert np.abs(other.y - alone).max() > 0
    starts = [state * (1.0 + 1e-3 * k) for k in range(16)]
    known = [field.at(0.0, s).copy() for s in starts]

    def run(k):
        own = field.copy()
        return all((own.at(0.0, starts[k]) == known[k]).all() for _ in range(200))

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(run, range(16)))


def test_a_field_without_rows_is_that_of_the_tree():
    system, x = INDEPENDENT
    tree = system.without(*dict.fromkeys(system.rows.of))
    field = made(tree, "nullspace").copy()
    vdot = field.at(0.0, np.concatenate([x.q, x.v]))[tree.nq : tree.nq + tree.nv]
    np.testing.assert_allclose(vdot, tree.forward_dynamics(x), rtol=1e-9, atol=1e-9)
