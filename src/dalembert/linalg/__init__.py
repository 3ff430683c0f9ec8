"""Small dense algebra as Numba kernels: allocation-free, never raising, rank and conditioning returned.

Importing this package imports Numba; `import dalembert` does not import this package. Start at `factorization`,
which says what is stored where; `orthogonal.rank_factor` fills it. `dense` has the same for Python callers.
"""

from dalembert.native.simd import assign, axpy, dot, fill, rotate

from .cholesky import (
    cholesky,
    multiply_upper,
    solve_cholesky,
    solve_cholesky_rows,
    solve_upper,
    solve_upper_rows,
    solve_upper_transposed,
    solve_upper_transposed_rows,
)
from .damped import damped_solve, damping
from .dense import SingularValues, factorize, least_squares, null_space, singular_values
from .factorization import (
    DROPPED,
    FORMED,
    LARGEST,
    RANK,
    ROUTE,
    SMALLEST,
    STATUS,
    VIA_QR,
    VIA_SVD,
    Factorization,
    allocate,
    complete,
    condition,
    project_null,
    project_range,
    project_rows,
    pseudo_inverse,
    smallest_singular_value,
    solve,
    solve_transposed,
)
from .lu import lu, lu_solve, solve_general
from .metric import metric_factor, metric_null, metric_solve, whiten_rows
from .orthogonal import SAFETY, TOLERANCE, factor_svd, rank_factor
from .qr import apply_q, apply_q_transposed, form_q, pivoted_qr

__all__ = [
    "DROPPED",
    "FORMED",
    "LARGEST",
    "RANK",
    "ROUTE",
    "SAFETY",
    "SMALLEST",
    "STATUS",
    "TOLERANCE",
    "VIA_QR",
    "VIA_SVD",
    "Factorization",
    "SingularValues",
    "allocate",
    "apply_q",
    "apply_q_transposed",
    "assign",
    "axpy",
    "cholesky",
    "complete",
    "condition",
    "damped_solve",
    "damping",
    "dot",
    "factor_svd",
    "factorize",
    "fill",
    "form_q",
    "least_squares",
    "lu",
    "lu_solve",
    "metric_factor",
    "metric_null",
    "metric_solve",
    "multiply_upper",
    "null_space",
    "pivoted_qr",
    "project_null",
    "project_range",
    "project_rows",
    "pseudo_inverse",
    "rank_factor",
    "rotate",
    "singular_values",
    "smallest_singular_value",
    "solve",
    "solve_cholesky",
    "solve_cholesky_rows",
    "solve_general",
    "solve_transposed",
    "solve_upper",
    "solve_upper_rows",
    "solve_upper_transposed",
    "solve_upper_transposed_rows",
    "whiten_rows",
]
