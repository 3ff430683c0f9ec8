"""The recursions of Jain and Rodriguez that are garbled in print, as the theory page mends them, run as written."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.analysis import operators
from dalembert.spatial import ad


def general(n: int, kinds: tuple[type[da.Joint], ...] = (da.Revolute,), gravity: float = 0.0) -> da.Mechanism:
    """A chain about random axes, offsets along no axis, inertias with all products."""
    m = da.Mechanism("chain", gravity=(0, 0, -gravity))
    rng, before = np.random.default_rng(4), m.ground.at()
    for k in range(n):
        Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        body = m.add_body(
            f"b{k}", mass=1.0 + k % 3, com=rng.uniform(-0.1, 0.1, 3), inertia=Q * [0.02, 0.03, 0.04] @ Q.T
        )
        kind, axis = kinds[k % len(kinds)], rng.normal(size=3)
        m.add_joint(f"J{k}", kind(axis, pitch=0.1) if kind is da.Screw else kind(axis), before, body)
        before = body.at(*rng.uniform(-0.3, 0.3, 3))
    return m


@pytest.fixture(scope="module", params=[(da.Revolute,), (da.Revolute, da.Prismatic, da.Screw)])
def chain(request):
    """Blocks of the operators of a chain of five, tip first: one dictionary a link, and the coriolis terms."""
    system = general(5, request.param).compile(backend="casadi")
    rng = np.random.default_rng(5)
    x = system.state(rng.uniform(-1, 1, 5), rng.normal(size=5))
    o, names = operators(system, x), [f"J{k}" for k in reversed(range(5))]
    V = np.asarray(o.phi.T @ o.H.T @ x.v).reshape(5, 6)[::-1]
    blocks = {key: getattr(o, key) for key in ("P", "M", "H", "D", "tau_bar", "G")}
    links = [{key: y.block(name, name) for key, y in blocks.items()} for name in names]
    xi = system.diagonal.total_rates(x, normalized=False)[::-1]
    for k, link in enumerate(links):
        link["V"], link["xi"] = V[k], xi[k : k + 1]
        link["Omega"] = -ad(link["H"][0] * x.v[::-1][k]).T  # on wrenches: −(·)ᵀ of that on twists
        inner = k + 1 < 5
        link["phi"] = o.E_phi.block(names[k + 1], names[k]) if inner else np.zeros((6, 6))  # φ(k+1, k)
        link["Vplus"] = link["phi"].T @ V[k + 1] if inner else np.zeros(6)
        link["psi"], link["K"] = link["phi"] @ link["tau_bar"], link["phi"] @ link["G"]
    return system, x, links


def test_algorithm_7_1(chain):
    """(7.2), with X − X* inside the bracket and λ̇ τ̄* V⁺ outside it."""
    system, x, links = chain
    y, lam, C, before = np.zeros(6), np.zeros((6, 6)), [], None
    for k in links:
        X = k["Omega"] @ k["P"]
        Y = np.zeros((6, 6)) if before is None else before["psi"] @ lam
        new = X + X.T if before is None else Y @ before["psi"].T + X + X.T
        carried = np.zeros(6) if before is None else before["psi"] @ y + Y @ before["V"]
        y = carried - (2 * ad(k["V"]).T @ k["M"] + X - X.T) @ k["V"] - new @ k["tau_bar"].T @ k["Vplus"]
        lam, before = new, k
        C.append(0.5 * k["D"][0, 0] ** -0.5 * (k["H"] @ y)[0])
    np.testing.assert_allclose(C[::-1], system.diagonal.coriolis(x), rtol=1e-11, atol=1e-12)


def test_recursion_7_10(chain):
    """(7.10), with X in the place of a*."""
    system, x, links = chain
    y, lam, C, before = np.zeros(6), np.zeros((6, 6)), [], None
    for k in links:
        X = k["Omega"] @ k["P"]
        if before is not None:
            lam, y = before["psi"] @ lam @ before["psi"].T, before["psi"] @ y
        lam = lam + X + X.T
        y = y + lam @ k["H"].T @ k["xi"] - (ad(k["V"]).T @ k["M"] + X) @ k["V"]
        C.append((k["H"] @ y)[0])
        before = k
    np.testing.assert_allclose(C[::-1], system.diagonal.coriolis(x, normalized=False), rtol=1e-11, atol=1e-12)


def test_recursion_8_3(chain):
    """(8.3), with λ̇H*ξ in the place of i(k): ξ̇ of joint forces T."""
    system, x, links = chain
    T = np.array([0.3, -1.0, 0.5, 2.0, -0.7])  # tip first
    gamma, lam, rates, before = np.zeros(6), np.zeros((6, 6)), [], None
    for i, k in enumerate(links):
        X, zeta = k["Omega"] @ k["P"], np.zeros(6)
        if before is not None:
            zeta = before["K"] @ T[i - 1 : i]
            lam, gamma = before["psi"] @ lam @ before["psi"].T, before["psi"] @ gamma
        lam = lam + X + X.T
        gamma = gamma + zeta + lam @ k["H"].T @ k["xi"] - (X + ad(k["V"]).T @ k["M"]) @ k["V"]
        rates.append((T[i] - (k["H"] @ gamma)[0]) / k["D"][0, 0])
        before = k
    np.testing.assert_allclose(
        rates[::-1], system.diagonal.acceleration(x, T[::-1], normalized=False), rtol=1e-11, atol=1e-11
    )


def test_operations_grow_by_as_much_with_every_link_about_any_axes():
    """The table of the theory page: each further link of general axes adds 648 operations to 8.1, 415 to ABA."""
    names = {"diagonal_dynamics_xi": 648, "forward_dynamics": 415, "total_rates_xi": 262, "working_forces_xi": 260}
    counts = {n: general(n, gravity=9.81).compile() for n in (5, 7, 9)}
    for name, each in names.items():
        few, more, most = (counts[n].kernel(name).instructions for n in (5, 7, 9))
        assert more - few == pytest.approx(2 * each, abs=4)
        assert most - more == pytest.approx(2 * each, abs=4)
