"""Linear models agree with a symbolic derivation (SymPy), with Pinocchio, python-control and SciPy."""

import numpy as np
import pinocchio as pin
import pytest
import sympy as sp

import dalembert as da
from dalembert import zoo
from dalembert.spatial import Transform
from pinocchio_peer import Peer, se3
from random_mechanisms import random_state, random_tree

# --- SymPy: Lagrange's equations of the linkage in all coordinates, constraints eliminated, differentiated ----------


def symbolic_minimal(q, T, V, tau, phi, lead, values):
    """Â₂₁, Â₂₂, B̂ of one degree of freedom from energies and closure alone, by symbolic differentiation.

    q: symbols; T of (q, v) and V of q; tau: {coordinate: input symbol}; phi: closure; lead: the leading coordinate.
    """
    n = len(q)
    v = sp.symbols(f"v0:{n}")
    T = T(v)
    M = sp.hessian(T, v)
    p = sp.Matrix([T]).jacobian(v)
    h = p.jacobian(q) * sp.Matrix(v) - sp.Matrix([T]).jacobian(q).T + sp.Matrix([V]).jacobian(q).T
    A = sp.Matrix(phi).jacobian(q)
    gamma = (A * sp.Matrix(v)).jacobian(q) * sp.Matrix(v)
    Q = sp.Matrix([tau.get(x, 0) for x in q])
    numbers = dict(values)
    at = {**{x: numbers[x] for x in q}, **dict(zip(v, numbers["v"])), **{u: numbers[u] for u in tau.values()}}
    m = len(phi)

    def number(expression):
        return np.array(sp.N(sp.Matrix(expression).subs(at), 30).tolist(), dtype=float)

    KKT = np.block([[number(M), -number(A).T], [number(A), np.zeros((m, m))]])
    solution = np.linalg.solve(KKT, np.concatenate([number(Q - h), -number(gamma)]))
    vdot, lam = sp.Matrix(solution[:n]), sp.Matrix(solution[n:])
    e1 = M * vdot + h - Q - A.T * lam
    e2 = A * vdot + gamma
    e3 = A * sp.Matrix(v)
    slope = {k: (number(e1.jacobian(x)), number(e2.jacobian(x))) for k, x in (("q", q), ("v", v))}
    k = list(q).index(lead)
    C = np.eye(n)[[k]]
    stack = np.vstack([C, number(A)])
    K = np.linalg.solve(stack, np.eye(n)[:, :1])
    D = np.linalg.solve(stack, np.vstack([np.zeros((1, 1)), -number(e3.jacobian(q)) @ K]))

    def rate(dq, dv):
        right = [-(slope["q"][i] @ dq + slope["v"][i] @ dv) for i in (0, 1)]
        return np.linalg.solve(KKT, np.vstack(right))[k, 0]

    pushes = [np.concatenate([number(Q.jacobian([u]))[:, 0], np.zeros(m)]) for u in tau.values()]
    inputs = [np.linalg.solve(KKT, push)[k] for push in pushes]
    return rate(K, D), rate(0 * K, K), inputs


def test_four_bar_against_sympy():
    L = {"ground": 0.55, "crank": 0.20, "coupler": 0.60, "rocker": 0.40}
    masses, g = (1.0, 1.5, 1.2), 9.81
    system = zoo.four_bar().compile(backend="casadi")
    x = system.state(*zoo.four_bar_start(0.7, speed=3.0))
    model = da.linearize(system, x, u=[0.8], independent=["A"])
    A, B, D, u = sp.symbols("A B D u")
    crank, coupler, rocker = (sp.Rational(str(L[k])) for k in ("crank", "coupler", "rocker"))
    tip = crank * sp.Matrix([sp.cos(A), sp.sin(A)])
    centers = [
        (crank / 2) * sp.Matrix([sp.cos(A), sp.sin(A)]),
        tip + (coupler / 2) * sp.Matrix([sp.cos(A + B), sp.sin(A + B)]),
        sp.Matrix([L["ground"], 0]) + (rocker / 2) * sp.Matrix([sp.cos(D), sp.sin(D)]),
    ]
    q, lengths, angles = (A, B, D), (crank, coupler, rocker), (A, A + B, D)

    def kinetic(v):
        out = 0
        for m, c, length, angle in zip(masses, centers, lengths, angles):
            speed = c.jacobian(q) * sp.Matrix(v)
            spin = (sp.Matrix([angle]).jacobian(q) * sp.Matrix(v))[0]
            out += m * speed.dot(speed) / 2 + m * length**2 / 12 * spin**2 / 2
        return out

    V = sum(m * g * c[1] for m, c in zip(masses, centers))
    end = tip + coupler * sp.Matrix([sp.cos(A + B), sp.sin(A + B)])
    closure = end - sp.Matrix([L["ground"], 0]) - rocker * sp.Matrix([sp.cos(D), sp.sin(D)])
    values = {A: x["A"], B: x["B"], D: x["D"], "v": x.v, u: 0.8}
    a21, a22, b = symbolic_minimal(q, kinetic, V, {A: u}, list(closure), A, values)
    np.testing.assert_allclose(model.A, [[0, 1], [a21, a22]], rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(model.B[1], b, rtol=1e-11)


def test_slider_crank_against_sympy():
    system = zoo.slider_crank(offset=0.05).compile(backend="casadi")
    x = system.state(*zoo.slider_crank_start(0.7, speed=5.0, offset=0.05))
    model = da.linearize(system, x, u=[0.8, -20.0], independent=["A"])
    A, B, s, torque, gas = sp.symbols("A B s torque gas")
    crank, rod, g = 0.15, 0.45, 9.81
    bodies = {b: (float(k.mass), float(k.inertia[2, 2])) for b, k in zoo.slider_crank().bodies.items()}
    tip = crank * sp.Matrix([sp.cos(A), sp.sin(A)])
    along = sp.Matrix([sp.cos(A + B), sp.sin(A + B)])
    q = (A, B, s)
    parts = [
        (*bodies["crank"], tip / 2, A),
        (*bodies["rod"], tip + rod / 2 * along, A + B),
        (bodies["slider"][0], 0.0, sp.Matrix([s, 0.05]), sp.Integer(0)),
    ]

    def kinetic(v):
        out = 0
        for m, J, c, angle in parts:
            speed = c.jacobian(q) * sp.Matrix(v)
            out += m * speed.dot(speed) / 2 + J * (sp.Matrix([angle]).jacobian(q) * sp.Matrix(v))[0] ** 2 / 2
        return out

    V = sum(m * g * c[1] for m, _, c, _ in parts)
    closure = tip + rod * along - sp.Matrix([s, 0.05])
    values = {A: x["A"], B: x["B"], s: x["guide"], "v": x.v, torque: 0.8, gas: -20.0}
    a21, a22, b = symbolic_minimal(q, kinetic, V, {A: torque, s: gas}, list(closure), A, values)
    np.testing.assert_allclose(model.A, [[0, 1], [a21, a22]], rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(model.B[1], b, rtol=1e-11)


# --- Pinocchio ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_welded_loops_agree_with_pinocchio_in_full_coordinates(seed):
    """CONTACT_6D to the ground, where its constrained derivatives are right."""
    m = random_tree(700 + seed, 9, (da.Revolute, da.Prismatic, da.Spherical), serial=1.0)
    tree = m.compile(backend="casadi")
    x = random_state(tree, seed)
    a = m.bodies["body8"].at(0.1, 0.2, -0.1)
    T = tree.pose(x, a)
    pose = Transform(T[:3, :3], T[:3, 3])
    c = m.ground.at(*pose.p, rotation=pose.R)
    m.close_loop("loop", da.Fixed(), c, a)
    system = m.compile(backend="casadi")
    y = system.project(system.state(x.q, x.v))
    full = da.linearize_full(system, y)
    peer = Peer(m, system)
    joint, place = peer.place["body8"]
    weld, here = pin.ContactType.CONTACT_6D, place * se3(a.T)
    model = pin.RigidConstraintModel(weld, peer.model, joint, here, 0, se3(c.T), pin.LOCAL)
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(model)
    datas.append(model.createData())
    pin.initConstraintDynamics(peer.model, peer.data, models, datas)
    o, settings = peer.v_order, pin.ProximalSettings(1e-14, 1e-12, 20)
    given = peer.q(y.q), y.v[o], np.zeros(system.nv)
    theirs = pin.constraintDynamics(peer.model, peer.data, *given, models, datas, settings)
    np.testing.assert_allclose(full.vdot[o], theirs, atol=1e-6 * max(1.0, np.abs(theirs).max()))
    pin.computeConstraintDynamicsDerivatives(peer.model, peer.data, models, datas, settings)
    by_v = peer.data.ddq_dv
    scale = max(1.0, np.abs(by_v).max())
    np.testing.assert_allclose(full.vdot_v[np.ix_(o, o)], by_v, atol=1e-6 * scale)
    K = np.linalg.svd(full.H[:6, : system.nv])[2][6:].T  # along the manifold: off it the two extend v̇ differently
    by_q = peer.data.ddq_dq
    back = np.argsort(o)
    theirs_q = by_q[np.ix_(back, back)]
    D = np.linalg.lstsq(full.H[6:, system.nv :], -full.H[6:, : system.nv] @ K, rcond=1e-10)[0]
    mine = full.vdot_q @ K + full.vdot_v @ D
    other = theirs_q @ K + by_v[np.ix_(back, back)] @ D
    np.testing.assert_allclose(mine, other, atol=1e-6 * max(1.0, np.abs(other).max()))


# --- python-control and SciPy ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def loader():
    system = zoo.loader().compile(backend="casadi")
    rest = da.equilibrium(system, zoo.loader_start()[0], solve_for="u")
    outputs = ["lift", "position:lip@z"]
    return da.linearize(system, rest.state, u=rest.u, independent=["B", "G"], outputs=outputs)


def test_python_control_sees_the_same_model(loader):
    control = pytest.importorskip("control")
    theirs = loader.to_control()
    assert theirs.state_labels == ["B", "G", "B rate", "G rate"]
    assert theirs.input_labels == ["lift", "tilt"]
    np.testing.assert_allclose(theirs.A, loader.A)
    w = [0.3, 5.0]
    response = np.array([theirs(1j * x) for x in w])
    np.testing.assert_allclose(loader.frequency_response(w), response, rtol=1e-10)
    found, expected = np.sort_complex(loader.zeros()), np.sort_complex(control.zeros(theirs))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    fine = loader.discretize(0.05)
    np.testing.assert_allclose(fine.A, control.c2d(theirs, 0.05).A, atol=1e-12)
    gain, _, _ = control.lqr(theirs, np.eye(4), 1e-8 * np.eye(2))
    np.testing.assert_allclose(da.lqr(loader, np.eye(4), 1e-8).K, gain, rtol=1e-6)
    gain, _, _ = control.dlqr(fine.to_control(), np.eye(4), 1e-8 * np.eye(2))
    np.testing.assert_allclose(da.lqr(fine, np.eye(4), 1e-8).K, gain, rtol=1e-6)


def test_scipy_sees_the_same_model(loader):
    from scipy.signal import cont2discrete

    theirs = loader.to_scipy()
    A, B, C, D, _ = cont2discrete((theirs.A, theirs.B, theirs.C, theirs.D), 0.02)
    mine = loader.discretize(0.02)
    for a, b in ((mine.A, A), (mine.B, B), (mine.C, C), (mine.D, D)):
        np.testing.assert_allclose(a, b, atol=1e-13)
    assert mine.to_scipy().dt == 0.02
