"""Friction of impacts in space: Coulomb's cone, against its laws and an independent solver."""

import numpy as np
import pytest

import dalembert as da
from dalembert.simulation.hybrid.contact_forces import ContactRows, contact_forces


def box_with_a_rough_corner(friction):
    m = da.Mechanism("box", gravity=(0, 0, -9.81))
    box = m.add_body("box", mass=1.0, inertia=da.box_inertia(1.0, (0.2, 0.5, 0.1)))
    m.add_joint("free", da.Free(), m.ground, box)
    m.add_frame("corner", box.at(0.1, 0.25, -0.05))
    m.add_contact("floor", "corner", friction=friction)
    return m.compile()


def projected(W, q, mu, sweeps=20000):
    """n and t of one contact by projections: n = [n − ρ w_n]₊, t the nearest of the circle; w = q + W (t, n)."""
    f, rho = np.zeros(3), 1.0 / np.linalg.eigvalsh(W)[-1]
    for _ in range(sweeps):
        f[2] = max(f[2] - (q[2] + W[2] @ f) / W[2, 2], 0.0)
        t = f[:2] - rho * (q[:2] + W[:2] @ f)
        new = t * min(1.0, mu * f[2] / max(np.linalg.norm(t), 1e-300))
        if np.abs(new - f[:2]).max() < 1e-15 and abs(q[2] + W[2] @ f) < 1e-14:
            break
        f[:2] = new
    return f


def test_friction_of_an_impact_is_against_the_slip_that_is_left():
    """A corner of a box hits the floor: the impulse of projected iterations, μN against the slip that is left."""
    mu = 0.2
    system, rng, slid, stuck = box_with_a_rough_corner(mu), np.random.default_rng(2), 0, 0
    for _ in range(40):
        turn = rng.normal(size=4)
        q, v = np.r_[turn / np.linalg.norm(turn), 0, 0, 0], np.r_[4.0 * rng.normal(size=3), rng.normal(size=3)]
        q[6] = 1e-9 - system.pose(system.state(q, v), "corner")[2, 3]
        x = system.state(q, v)
        J = system.jacobian(x, "corner", axes="world")[3:]
        if (J @ v)[2] > -0.3:
            continue
        hit = da.simulate(system, x, 1e-6).switches[0]
        assert hit.kind == "hit"
        M = system.mass_matrix(x)
        impulse = np.linalg.lstsq(J.T, M @ hit.jump, rcond=None)[0]
        np.testing.assert_allclose(impulse, projected(J @ np.linalg.solve(M, J.T), J @ hit.v_before, mu), atol=1e-9)
        slip, across = (J @ hit.v_after)[:2], impulse[:2]
        assert np.linalg.norm(across) <= mu * impulse[2] * (1 + 1e-10)
        if np.linalg.norm(slip) > 1e-9:
            np.testing.assert_allclose(across, -mu * impulse[2] * slip / np.linalg.norm(slip), rtol=0, atol=1e-8)
            slid += 1
        else:
            stuck += 1
    assert slid > 5


def corners(rng, count, flat):
    """(normal, tangents) of contacts of a random box in the mass metric; flat: corners of one face."""
    half, mass = rng.uniform(0.1, 0.5, 3), rng.uniform(0.5, 3.0)
    inertia = mass / 3.0 * (np.sum(half**2) - half**2)
    points = np.array([(i * half[0], j * half[1], -half[2]) for i in (1, -1) for j in (1, -1)])[:count]
    points += 0.0 if flat else 0.1 * rng.normal(size=points.shape)
    for p in points:
        J = np.hstack([np.eye(3), -np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])])
        J = J / np.sqrt(np.r_[np.full(3, mass), inertia])
        yield J[2], J[:2]


@pytest.mark.parametrize("seed", range(60))
def test_several_contacts_keep_signorinis_and_coulombs_laws_together(seed):
    rng = np.random.default_rng([seed, 32])
    flat, mu, e = seed % 2 == 0, rng.choice([0.05, 0.2, 0.5, 1.0, 2.0]), rng.choice([0.0, 0.5, 0.9])
    rows, nu = list(corners(rng, int(rng.integers(1, 5)), flat)), rng.normal(size=6) - np.r_[0, 0, 2.0, 0, 0, 0]
    sides = [
        ContactRows(str(k), n, n @ nu + e * min(n @ nu, 0.0), t, t @ nu, t @ nu, mu, compliance=1.0)
        for k, (n, t) in enumerate(rows)
    ]
    found = contact_forces(sides, 6)
    assert found is not None
    after = nu + found.total
    for k, (n, t) in enumerate(rows):
        normal, across, slip = found.normal[str(k)], found.across[str(k)], t @ after
        assert abs(min(normal * np.linalg.norm(n), n @ after + e * min(n @ nu, 0.0))) < 1e-10
        assert np.linalg.norm(across) <= mu * normal + 1e-10
        np.testing.assert_allclose(across * np.linalg.norm(slip), -mu * normal * slip, rtol=0, atol=1e-10)
    if e == 0.0:
        assert after @ after <= nu @ nu
