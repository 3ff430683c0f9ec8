/* --- small dense algebra: rows of matrices one after another, no loop longer than a size of the mechanism ---------- */

/* A (m x n) = U T Q1', Q1 orthonormal, T lower triangular of the size of the rank, U of orthonormal columns.
   Rows of A are permuted and reflected from the right (a[k][k:] and tau: Q1), what is left below T is reflected from
   the left (a[rank:][k], left_head, left_tau: U). */
typedef struct {
    int m, n, rank;
    real *a;
    int *order;
    real *diagonal, *tau, *left_head, *left_tau;
    real dropped; /* length of the largest row that was left over */
} factors;

UNUSED static real inner(const real *x, const real *y, int start, int stop)
{
    real sum = NUMBER(0.0);
    for (int j = start; j < stop; ++j) {
        sum += x[j] * y[j];
    }
    return sum;
}

UNUSED static void add(real factor, const real *x, real *y, int start, int stop)
{
    for (int j = start; j < stop; ++j) {
        y[j] += factor * x[j];
    }
}

/* M = R'R, R upper triangular, in the place of M. Returns whether M is positive definite. */
UNUSED static int cholesky(int n, real *M)
{
    for (int k = 0; k < n; ++k) {
        real *row = M + k * n;
        if (!(row[k] > NUMBER(0.0)) || !FINITE(row[k])) {
            return 0;
        }
        row[k] = SQRT(row[k]);
        for (int j = k + 1; j < n; ++j) {
            row[j] /= row[k];
        }
        for (int i = k + 1; i < n; ++i) {
            add(-row[i], row, M + i * n, i, n);
        }
    }
    return 1;
}

/* x <- R^-1 x */
UNUSED static void back(int n, const real *R, real *x)
{
    for (int k = n - 1; k >= 0; --k) {
        x[k] = (x[k] - inner(R + k * n, x, k + 1, n)) / R[k * n + k];
    }
}

/* x <- R^-T x; for a row of A this is its part in A R^-1 */
UNUSED static void forward(int n, const real *R, real *x)
{
    for (int k = 0; k < n; ++k) {
        x[k] /= R[k * n + k];
        add(-x[k], R + k * n, x, k + 1, n);
    }
}

/* Householder's reflections of the rows with pivoting, as long as a row longer than `least`, and than `part` of the
   first one, is left; then those from the left. */
UNUSED static void factorize(factors *f, real part, real least)
{
    const int m = f->m, n = f->n;
    real *a = f->a, threshold = least;
    for (int i = 0; i < m; ++i) {
        f->order[i] = i;
    }
    f->rank = 0;
    f->dropped = NUMBER(0.0);
    for (int k = 0; k < m && k < n; ++k) {
        int pivot = k;
        real best = NUMBER(-1.0);
        for (int i = k; i < m; ++i) {
            const real square = inner(a + i * n, a + i * n, k, n);
            if (square > best) {
                pivot = i;
                best = square;
            }
        }
        const real length = SQRT(best > NUMBER(0.0) ? best : NUMBER(0.0));
        if (!(length > threshold)) {
            f->dropped = length;
            break;
        }
        if (k == 0 && part * length > threshold) {
            threshold = part * length;
        }
        if (pivot != k) {
            const int place = f->order[k];
            f->order[k] = f->order[pivot];
            f->order[pivot] = place;
            for (int j = 0; j < n; ++j) {
                const real kept = a[k * n + j];
                a[k * n + j] = a[pivot * n + j];
                a[pivot * n + j] = kept;
            }
        }
        real *v = a + k * n;
        const real diagonal = (v[k] > NUMBER(0.0)) ? -length : length;
        v[k] -= diagonal;
        f->diagonal[k] = diagonal;
        f->tau[k] = NUMBER(-1.0) / (diagonal * v[k]);
        for (int i = k + 1; i < m; ++i) {
            add(-f->tau[k] * inner(v, a + i * n, k, n), v, a + i * n, k, n);
        }
        f->rank = k + 1;
    }
    for (int k = f->rank - 1; k >= 0; --k) {
        real square = NUMBER(0.0);
        for (int i = f->rank; i < m; ++i) {
            square += a[i * n + k] * a[i * n + k];
        }
        f->left_tau[k] = f->left_head[k] = NUMBER(0.0);
        if (!(square > NUMBER(0.0))) {
            continue;
        }
        const real length = SQRT(f->diagonal[k] * f->diagonal[k] + square);
        const real diagonal = (f->diagonal[k] > NUMBER(0.0)) ? -length : length;
        const real head = f->diagonal[k] - diagonal, tau = NUMBER(-1.0) / (diagonal * head);
        for (int j = 0; j < k; ++j) {
            real share = head * a[k * n + j];
            for (int i = f->rank; i < m; ++i) {
                share += a[i * n + k] * a[i * n + j];
            }
            share *= tau;
            a[k * n + j] -= share * head;
            for (int i = f->rank; i < m; ++i) {
                a[i * n + j] -= share * a[i * n + k];
            }
        }
        f->diagonal[k] = diagonal;
        f->left_head[k] = head;
        f->left_tau[k] = tau;
    }
}

/* c (m) <- c after the reflection k from the left; c is in the order of the rows of the factors */
UNUSED static void reflect_left(const factors *f, int k, real *c)
{
    real share = f->left_head[k] * c[k];
    for (int i = f->rank; i < f->m; ++i) {
        share += f->a[i * f->n + k] * c[i];
    }
    share *= f->left_tau[k];
    c[k] -= share * f->left_head[k];
    for (int i = f->rank; i < f->m; ++i) {
        c[i] -= share * f->a[i * f->n + k];
    }
}

/* y (rank) <- T^-1 U'c; space: m numbers. y of Q1 y is the shortest solution of A x = c, or the nearest to one. */
UNUSED static void solve_range(const factors *f, const real *c, real *y, real *space)
{
    for (int i = 0; i < f->m; ++i) {
        space[i] = c[f->order[i]];
    }
    for (int k = f->rank - 1; k >= 0; --k) {
        reflect_left(f, k, space);
    }
    for (int i = 0; i < f->rank; ++i) {
        y[i] = (space[i] - inner(f->a + i * f->n, y, 0, i)) / f->diagonal[i];
    }
}

/* x (m) <- U T^-T d, the shortest x whose A'x has the components d (rank, overwritten) along Q1; space: m numbers */
UNUSED static void solve_multipliers(const factors *f, real *d, real *x, real *space)
{
    for (int i = f->rank - 1; i >= 0; --i) {
        d[i] /= f->diagonal[i];
        add(-d[i], f->a + i * f->n, d, 0, i);
    }
    for (int i = 0; i < f->m; ++i) {
        space[i] = (i < f->rank) ? d[i] : NUMBER(0.0);
    }
    for (int k = 0; k < f->rank; ++k) {
        reflect_left(f, k, space);
    }
    for (int i = 0; i < f->m; ++i) {
        x[f->order[i]] = space[i];
    }
}

/* x <- Q'x: its first `rank` numbers are along the rows of A, the others along its null space */
UNUSED static void to_basis(const factors *f, real *x)
{
    for (int k = 0; k < f->rank; ++k) {
        add(-f->tau[k] * inner(f->a + k * f->n, x, k, f->n), f->a + k * f->n, x, k, f->n);
    }
}

/* x <- Q x */
UNUSED static void from_basis(const factors *f, real *x)
{
    for (int k = f->rank - 1; k >= 0; --k) {
        add(-f->tau[k] * inner(f->a + k * f->n, x, k, f->n), f->a + k * f->n, x, k, f->n);
    }
}

/* The least singular value of T, by inverse iteration from above; y: rank numbers. 0 where there is none. */
UNUSED static real least_singular_value(const factors *f, real *y)
{
    const int r = f->rank, n = f->n;
    if (r == 0) {
        return NUMBER(0.0);
    }
    real sigma = ABS(f->diagonal[r - 1]);
    for (int i = 0; i < r; ++i) {
        y[i] = (i + 1 < r) ? NUMBER(0.0) : NUMBER(1.0);
    }
    for (int step = 0; step < 12; ++step) {
        for (int i = r - 1; i >= 0; --i) {
            y[i] *= sigma / f->diagonal[i];
            add(-y[i] / sigma, f->a + i * n, y, 0, i);
        }
        for (int half = 0; half < 2; ++half) {
            real growth = SQRT(inner(y, y, 0, r));
            if (!(growth > NUMBER(0.0)) || !FINITE(growth)) {
                return sigma;
            }
            for (int i = 0; i < r; ++i) {
                y[i] /= growth;
            }
            if (growth > NUMBER(1.0)) {
                sigma /= growth;
            }
            if (half == 0) {
                for (int i = 0; i < r; ++i) {
                    y[i] = (y[i] - inner(f->a + i * n, y, 0, i) / sigma) * sigma / f->diagonal[i];
                }
            }
        }
    }
    return sigma;
}
