"""The hand: tendons that only pull, lever arms that keep their signs, a ball of its size, and dynamics that matter."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import dalembert as da
from dalembert import control, zoo

DIGITS = ("thumb", "index", "middle", "ring", "little")
#: designed signs of lever arms: abduction, and flexion of the three joints; None: none is meant
FINGER = {"FDP": (None, 1, 1, 1), "FDS": (None, 1, 1, None), "ED": (-1, -1, -1, -1), "IO": (1, 1, None, None)}
THUMB = {
    "FPL": (None, 1, 1, 1), "FPB": (None, 1, 1, None), "OP": (None, 1, None, None), "EPL": (None, -1, -1, -1),
    "EPB": (None, -1, -1, None), "APL": (1, -1, None, None), "AP": (-1, 1, 1, None),
}  # fmt: skip
CONES = [control.Cone(f"{d} contact.z", [f"{d} contact.x", f"{d} contact.y"], 0.6) for d in DIGITS]


@pytest.fixture(scope="module")
def free():
    return zoo.hand(holding=False).compile(backend="casadi")


@pytest.fixture(scope="module")
def grasp():
    system = zoo.hand().compile()
    return system, system.state(*zoo.hand_start())


def positive_margin(N: np.ndarray) -> float:
    """The largest t with N u = 0 for some t ≤ u ≤ 1: above 0 (and N of full rank) N u with u ≥ 0 is everything."""
    n = N.shape[1]
    least = np.hstack([-np.eye(n), np.ones((n, 1))])
    zero = np.hstack([N / np.abs(N).max(), np.zeros((len(N), 1))])
    bounds = [(0, 1)] * n + [(None, 1)]
    found = linprog([*np.zeros(n), -1], A_ub=least, b_ub=np.zeros(n), A_eq=zero, b_eq=np.zeros(len(N)), bounds=bounds)
    assert found.status == 0
    return -found.fun


def test_lever_arms_keep_their_signs_through_the_range_of_motion(free):
    """Forces of a unit of tension at corners of the range and in random postures: the designed signs, no others."""
    rng = np.random.default_rng(0)
    bounds = np.vstack([np.atleast_2d(a.limits) for a in free.layout.joints.values()])
    corners = [np.where(rng.integers(0, 2, 20), bounds[:, 1], bounds[:, 0]) for _ in range(20)]
    for q in [*corners, *rng.uniform(bounds[:, 0], bounds[:, 1], (20, 20))]:
        B = free.input_matrix(free.state(q))
        for j, tendon in enumerate(free.u_names):
            digit, kind = tendon.split()
            own = [k for k, n in enumerate(free.v_names) if n.startswith(f"{digit} ")]
            signs = [sign or 0 for sign in (THUMB if digit == "thumb" else FINGER)[kind]]
            assert np.sign(B[own, j]).tolist() == signs
            assert np.count_nonzero(B[:, j]) == np.count_nonzero(signs)


def test_tendons_that_only_pull_move_the_ball_every_way_but_no_finger_alone(free, grasp):
    """Positive spanning by linear programs: of the grasp and the thumb, not of a finger with four tendons."""
    system, x = grasp
    N = system.subspaces(x).K.T @ system.input_matrix(x)
    assert np.linalg.matrix_rank(N) == 11
    assert positive_margin(N) > 0.05
    B = free.input_matrix(zoo.hand_start()[0])
    for digit in DIGITS:
        rows = [k for k, n in enumerate(free.v_names) if n.startswith(digit)]
        own = B[np.ix_(rows, [k for k, n in enumerate(free.u_names) if n.startswith(digit)])]
        assert np.linalg.matrix_rank(own) == 4
        if digit == "thumb":
            assert positive_margin(own) > 0.1
        else:  # Gordan: a motion against which every tendon works, w with ownᵀ w > 0
            against = linprog(np.zeros(4), A_ub=-own.T, b_ub=-np.ones(4), bounds=(None, None))
            assert positive_margin(own) == pytest.approx(0.0, abs=1e-9)
            assert against.status == 0


@pytest.mark.parametrize("size", [0.03, 0.035, 0.042])
def test_tips_touch_a_ball_of_its_size(size):
    """The centre of each tip is one radius of both from the centre; ball joints are on the ball's surface."""
    system = zoo.hand(object_radius=size).compile(backend="casadi")
    x = system.state(*zoo.hand_start(size))
    assert np.abs(system.residuals(x)).max() < 1e-12
    for digit in DIGITS:
        pin = system.layout.mechanism.constraints[f"{digit} contact"]
        assert np.linalg.norm(x.position(f"{digit} pad") - x.position("object")) == pytest.approx(
            size + 0.008, rel=1e-9
        )
        assert np.linalg.norm(np.array(pin.a.T.p, dtype=float)) == pytest.approx(size, rel=1e-12)
    with pytest.raises(da.ArgumentError, match="does not close on such a ball"):
        zoo.hand_start(0.2)


def test_the_ball_is_held_by_friction():
    """Tensions found within cones of 0.6 hold it by contacts of friction 0.9: nothing slips, opens or accelerates."""
    pinned = zoo.hand().compile(backend="casadi")
    x = pinned.state(*zoo.hand_start())
    hold = control.actuator_forces(pinned, x, limits=dict.fromkeys(pinned.u_names, (0.2, 60.0)), cones=CONES)
    assert hold.success
    assert hold.u.min() > 0.2 - 1e-9
    run = da.simulate(zoo.hand(friction=0.9).compile(backend="casadi"), x.q, 2e-3, u=hold.u)
    assert run.success
    assert not run.switches
    assert np.abs(run.v[-1]).max() < 1e-6
    for digit in DIGITS:
        push = run.multiplier(f"{digit} contact")[-1]
        assert push[0] > 0.05
        assert np.linalg.norm(push[1:]) < 0.61 * push[0]


def test_two_digits_reach_every_state_only_through_the_dynamics(grasp):
    """Thumb and index: fewer independent forces than freedoms, but all 22 states by Popov, Belevitch and Hautus."""
    system, x = grasp
    hold = control.actuator_forces(system, x, limits=dict.fromkeys(system.u_names, (0.2, 60.0)), cones=CONES)
    model = da.linearize(system, x, u=hold.u)
    some = [k for k, n in enumerate(system.u_names) if n.startswith(("thumb", "index"))]
    N = system.subspaces(x).K.T @ system.input_matrix(x)[:, some]
    assert np.linalg.matrix_rank(N, tol=1e-6 * np.linalg.norm(N)) < 11
    scale = np.abs(model.A).max()
    T = np.diag([1.0] * 11 + [1 / np.sqrt(scale)] * 11)  # rates in their own unit of time
    A, B = T @ model.A @ np.linalg.inv(T) / np.sqrt(scale), T @ model.B[:, some]
    B = B / np.linalg.norm(B)
    for value in np.linalg.eigvals(A):
        pencil = np.hstack([A - value * np.eye(22), B])
        assert np.linalg.svd(pencil)[1][-1] > 1e-10
    still = np.vstack([np.hstack([np.zeros((11, 11)), np.eye(11)]), np.zeros((11, 22))])  # the same B without dynamics
    pencil = np.hstack([still, B])
    assert np.linalg.svd(pencil)[1][-1] < 1e-12


def test_the_grasp_is_unstable_and_a_regulator_that_only_pulls_stabilizes_it(grasp):
    system, x = grasp
    pull = dict.fromkeys(system.u_names, (0.2, 60.0))
    hold = control.actuator_forces(system, x, limits=pull, cones=CONES)
    model = da.linearize(system, x, u=hold.u)
    assert model.eigenvalues.real.max() > 10.0
    keep = da.lqr(model, dict.fromkeys(model.state_names[:11], 10.0), 1.0, limits=pull)
    K = system.subspaces(x).K
    pushed = system.project(x.replace(v=K @ (5e-5 * np.random.default_rng(0).normal(size=11))))
    open_loop = da.simulate(system, pushed, 0.1, u=hold.u)
    run = da.simulate(system, pushed, 0.1, u=keep, period=0.001)
    ends = [np.abs(system.minus(r.q[-1], x.q)).max() for r in (open_loop, run)]
    assert run.success
    assert run.u.min() >= 0.2
    assert ends[1] < 0.25 * ends[0]
    assert np.abs(run.v[-1]).max() < 0.1 * np.abs(pushed.v).max()
