"""Group axioms and adjoint identities of rigid motions (Spencer A.1)."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from dalembert import spatial
from dalembert.recursions.riccati import ArticulatedInertia
from dalembert.spatial import Ad, AdInverse, RigidInertia, Transform, ad


@pytest.fixture(params=range(5))
def rng(request):
    return np.random.default_rng(request.param)


def motion(rng) -> Transform:
    return Transform(Rotation.random(None, rng).as_matrix(), rng.normal(size=3))


def hat(xi):
    return np.block([[spatial.skew(xi[:3]), xi[3:, None]], [np.zeros((1, 4))]])


def close(a, b, tolerance=1e-13):
    np.testing.assert_allclose(np.asarray(a, dtype=float), np.asarray(b, dtype=float), atol=tolerance)


def test_motions_form_a_group_and_the_adjoint_represents_it(rng):
    A, B = motion(rng), motion(rng)
    close((A @ B).matrix(), A.matrix() @ B.matrix())
    close((A @ A.inverse()).matrix(), np.eye(4))
    close(Ad(A @ B), Ad(A) @ Ad(B))
    close(Ad(A.inverse()) @ Ad(A), np.eye(6))


def test_the_adjoint_moves_twists_as_conjugation_moves_matrices(rng):
    A, V = motion(rng), rng.normal(size=6)
    close(hat(Ad(A) @ V), A.matrix() @ hat(V) @ A.inverse().matrix())


def test_the_factored_adjoint_is_the_matrix(rng):
    A, V, F = motion(rng), rng.normal(size=(6, 3)), rng.normal(size=6)
    X = Ad(A.inverse())
    close(AdInverse(A) @ V, X @ V)
    close(AdInverse(A).T @ F, X.T @ F)


def test_ad_is_the_lie_bracket(rng):
    V, W, F = rng.normal(size=(3, 6))
    close(hat(ad(V) @ W), hat(V) @ hat(W) - hat(W) @ hat(V))
    close(spatial.bracket(V, W), ad(V) @ W)
    close(spatial.bracket_dual(V, F), ad(V).T @ F)


@pytest.mark.parametrize("size", [0.0, 1e-12, 1e-5, 9.9e-4, 1.01e-3, 0.1, 1.0, 3.0])
def test_exponential_is_the_matrix_exponential_and_log_its_inverse(rng, size):
    """At every size of the rotation, across the switch from series to closed form."""
    xi = rng.normal(size=6)
    xi[:3] *= size / np.linalg.norm(xi[:3])
    T = spatial.exp(xi)
    close(T.matrix(), expm(hat(xi)), 3e-15 * (1 + np.linalg.norm(xi)))
    close(spatial.log(T), xi, 2e-14)


def test_quaternions_compose_as_their_matrices(rng):
    a, b = (q / np.linalg.norm(q) for q in rng.normal(size=(2, 4)))
    R = spatial.quaternion_matrix
    close(R(spatial.quaternion_product(a, b)), R(a) @ R(b))
    close(R(a), Rotation.from_quat(a[[1, 2, 3, 0]]).as_matrix())
    same = spatial.matrix_quaternion(R(a))
    close(same, a if a[0] >= 0 else -a)


def test_half_turns_have_a_logarithm():
    for axis in np.vstack([np.eye(3), -np.eye(3), [[0.6, 0.8, 0]]]):
        phi = np.pi * axis
        close(spatial.quaternion_matrix(spatial.quaternion_exp(phi)), Rotation.from_rotvec(phi).as_matrix())
        assert np.linalg.norm(spatial.log(spatial.exp(np.concatenate([phi, [1, 2, 3]])))[:3]) == pytest.approx(np.pi)


def test_inertias_move_by_congruence(rng):
    """Xᵀ I X of rigid and articulated inertias against the dense product."""
    T = motion(rng)
    T = Transform(T.R.astype(object), T.p.astype(object))
    points = rng.normal(size=(5, 3))
    J = sum(np.dot(x, x) * np.eye(3) - np.outer(x, x) for x in points)
    I = RigidInertia.at_center(2.0, rng.normal(size=3).astype(object), J.astype(object))
    X = Ad(T.inverse()).astype(float)
    close(I.seen_from(T).matrix(), X.T @ I.matrix().astype(float) @ X, 1e-12)
    V = rng.normal(size=6).astype(object)
    close(I @ V, I.matrix() @ V)
    B = rng.normal(size=(6, 6))
    A = ArticulatedInertia.from_matrix((B @ B.T).astype(object))
    close(A.seen_from(T).matrix(), X.T @ B @ B.T @ X, 1e-12)
    close(A @ V, B @ B.T @ V, 1e-12)
