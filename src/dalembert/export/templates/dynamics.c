/* --- equations of motion ------------------------------------------------------------------------------------------- */

#if HAS_INPUTS
static const real no_inputs[MECHANISM_NU] = {NUMBER(0.0)};
#define NO_INPUTS no_inputs
#else
#define NO_INPUTS NULL
#endif

UNUSED static int all_finite(const real *x, int n)
{
    real sum = NUMBER(0.0);
    for (int i = 0; i < n; ++i) {
        sum += x[i] - x[i];
    }
    return sum == NUMBER(0.0);
}

UNUSED static real largest(const real *x, int n)
{
    real most = NUMBER(0.0);
    for (int i = 0; i < n; ++i) {
        if (!(ABS(x[i]) <= most)) {
            most = ABS(x[i]);
        }
    }
    return most;
}

UNUSED static void copy(const real *from, real *to, int n)
{
    for (int i = 0; i < n; ++i) {
        to[i] = from[i];
    }
}

#if HAS_DENSE
/* usual length of each row of the constraints in the mass metric, by which it is measured */
static const real usual[ROOM_ROWS] = {USUAL};
#endif

#if HAS_ROWS
#if HAS_HOLONOMIC
/* rows that restrict positions */
static const int holonomic[MECHANISM_HOLONOMIC] = {HOLONOMIC};
#endif

/* Whether the elimination of constraints can be trusted, by its margin; notes how far rows are from dependent. */
static int sound(const real *margin, mechanism_work *work)
{
    const real length = margin[1] / SIZE_SQUARED;
    const real least = (margin[0] < length) ? margin[0] : length;
    const real sine = (least > NUMBER(0.0)) ? SQRT(least) : NUMBER(0.0);
    if (sine < work->margin) {
        work->margin = sine;
    }
    return margin[0] > LEAST_ANGLE && margin[1] > LEAST_LENGTH;
}
#endif

#if HAS_DENSE
static void first_factors(factors *f, int m, int n, real *a, mechanism_work *work)
{
    f->m = m;
    f->n = n;
    f->rank = 0;
    f->a = a;
    f->order = work->order;
    f->diagonal = work->diagonal;
    f->tau = work->tau;
    f->left_head = work->left_head;
    f->left_tau = work->left_tau;
    f->dropped = NUMBER(0.0);
}

/* The factors of M and of `count` rows of A, each over its usual length, in the mass metric: M and A of the workspace
   are overwritten. rows: which of all they are; NULL: all. */
static int reveal(factors *f, int count, const int *rows, mechanism_work *work)
{
    first_factors(f, count, MECHANISM_NV, work->A, work);
    if (!cholesky(MECHANISM_NV, work->M)) {
        return MECHANISM_MASS_SINGULAR;
    }
    for (int i = 0; i < count; ++i) {
        const int from = (rows == NULL) ? i : rows[i];
        for (int j = 0; j < MECHANISM_NV; ++j) {
            work->A[i * MECHANISM_NV + j] = work->A[from * MECHANISM_NV + j] / usual[from];
        }
        forward(MECHANISM_NV, work->M, work->A + i * MECHANISM_NV);
    }
    if (!all_finite(work->A, count * MECHANISM_NV)) {
        return MECHANISM_NOT_FINITE;
    }
    factorize(f, RANK_PART, RANK_FLOOR);
    return MECHANISM_OK;
}

/* v' and the shortest multipliers, of all rows, with M v' = f + A'lambda and A v' + gamma = 0, of the workspace's M, f,
   A and gamma. lambda: NULL where it is not wanted. In the mass metric, z = Q'R^-T f:

       v' = R^-1 Q (y, z2),   y = -T^-1 U'gamma,   lambda = U T^-T (y - z1)                                          */
static int solve(real *vdot, real *lambda, factors *f, mechanism_work *work)
{
    const int status = reveal(f, MECHANISM_ROWS, NULL, work);
    if (status != MECHANISM_OK) {
        return status;
    }
    for (int i = 0; i < MECHANISM_ROWS; ++i) {
        work->right[i] = -work->gamma[i] / usual[i];
    }
    copy(work->f, vdot, MECHANISM_NV);
    forward(MECHANISM_NV, work->M, vdot);
    to_basis(f, vdot);
    solve_range(f, work->right, work->y, work->space);
    for (int i = 0; i < f->rank; ++i) {
        const real z = vdot[i];
        vdot[i] = work->y[i];
        work->y[i] -= z;
    }
    from_basis(f, vdot);
    back(MECHANISM_NV, work->M, vdot);
    if (lambda != NULL) {
        solve_multipliers(f, work->y, lambda, work->space);
        for (int i = 0; i < MECHANISM_ROWS; ++i) {
            lambda[i] /= usual[i];
        }
    }
    return all_finite(vdot, MECHANISM_NV) ? MECHANISM_OK : MECHANISM_NOT_FINITE;
}

#endif

#if HAS_ROWS
/* Note the least rank on the way, and the last row of the factors for a margin. */
static void note(const factors *f, mechanism_work *work)
{
    const real last = (f->rank < USUAL_RANK) ? NUMBER(0.0) : ABS(f->diagonal[f->rank - 1]);
    work->margin = (last < work->margin) ? last : work->margin;
    work->rank = (f->rank < work->rank) ? f->rank : work->rank;
}

/* The least singular value of all rows in the mass metric, each over its usual length: 0 at a singular position. */
static void gauge(const factors *f, int usual_rank, mechanism_work *work)
{
    work->rank = f->rank;
    work->margin = (f->rank < usual_rank) ? NUMBER(0.0) : least_singular_value(f, work->space);
}

/* delta (nv) with A delta = -right, the shortest in the mass metric, of `count` rows; right is that of all rows. */
static int shortest(real *delta, const real *right, int count, const int *rows, factors *f, mechanism_work *work)
{
    const int status = reveal(f, count, rows, work);
    if (status != MECHANISM_OK) {
        return status;
    }
    for (int i = 0; i < count; ++i) {
        const int from = (rows == NULL) ? i : rows[i];
        work->right[i] = -right[from] / usual[from];
    }
    clear(delta, 0, MECHANISM_NV);
    solve_range(f, work->right, delta, work->space);
    from_basis(f, delta);
    back(MECHANISM_NV, work->M, delta);
    return all_finite(delta, MECHANISM_NV) ? MECHANISM_OK : MECHANISM_NOT_FINITE;
}
#endif

/* k <- (q', v') at x = (q, v): by elimination, and where that cannot be trusted by a factorization that reveals the
   rank. */
static int rate(const real *x, const real *u, const mechanism_parameters *p, real t, real *k, mechanism_work *work)
{
    real margin[2];
    kernel_ode(x, x + MECHANISM_NQ, u, p, t, k, k + MECHANISM_NQ, work->powers, margin, work->kernel);
#if HAS_ROWS
    if (work->charted || !sound(margin, work)) {
        factors f;
        kernel_equations(x, x + MECHANISM_NQ, u, p, t, work->M, work->f, work->A, work->gamma, work->phi, work->speed,
                         work->kernel);
        const int status = solve(k + MECHANISM_NQ, NULL, &f, work);
        if (status != MECHANISM_OK) {
            return status;
        }
        work->careful += 1;
        note(&f, work);
    }
#else
    (void)margin;
#endif
    return all_finite(k, MECHANISM_NQ + MECHANISM_NV) ? MECHANISM_OK : MECHANISM_NOT_FINITE;
}

#if HAS_LANDING
/* x = (q, v) onto the constraints: positions by at most `most` Newton steps of least length in the mass metric, then
   the nearest admissible velocities. */
static int land(real *x, const mechanism_parameters *p, real t, int most, mechanism_work *work)
{
    real margin[2];
    real *v = x + MECHANISM_NQ;
#if HAS_HOLONOMIC
    int open = 1;
#else
    int open = 0;
    most = 1;
#endif
    work->residual = NUMBER(0.0);
    for (int i = 0; i < most; ++i) {
        kernel_correct(x, p, t, work->moved, work->phi, margin, work->kernel);
#if HAS_HOLONOMIC
        const real residual = largest(work->phi, CHOSEN_HOLONOMIC);
        work->residual = residual;
        if (!sound(margin, work)) {
            factors f;
            kernel_equations(x, v, NO_INPUTS, p, t, work->M, work->f, work->A, work->gamma, work->phi, work->speed,
                             work->kernel);
            const int status = shortest(work->step, work->phi, MECHANISM_HOLONOMIC, holonomic, &f, work);
            if (status != MECHANISM_OK) {
                return status;
            }
            kernel_plus(x, work->step, work->moved, work->kernel);
            work->careful += 1;
        }
        open = !(residual < CLOSED);
#else
        (void)margin;
#endif
        if (!all_finite(work->moved, MECHANISM_NQ)) {
            return MECHANISM_NOT_FINITE;
        }
        copy(work->moved, x, MECHANISM_NQ);
        if (!open) {
            break;
        }
    }
#if HAS_ROWS
    kernel_filter(x, v, p, t, work->step, work->speed, margin, work->kernel);
    if (!sound(margin, work)) {
        factors f;
        kernel_equations(x, v, NO_INPUTS, p, t, work->M, work->f, work->A, work->gamma, work->phi, work->speed,
                         work->kernel);
        const int status = shortest(work->step, work->speed, MECHANISM_ROWS, NULL, &f, work);
        if (status != MECHANISM_OK) {
            return status;
        }
        add(NUMBER(1.0), v, work->step, 0, MECHANISM_NV);
        work->careful += 1;
    }
    if (!all_finite(work->step, MECHANISM_NV)) {
        return MECHANISM_NOT_FINITE;
    }
    copy(work->step, v, MECHANISM_NV);
#else
    (void)v;
#endif
    return open ? MECHANISM_NOT_CLOSED : MECHANISM_OK;
}
#endif

static void renew(mechanism_work *work)
{
    work->margin = NUMBER(1.0);
    work->residual = NUMBER(0.0);
    work->careful = 0;
    work->charted = 0;
    work->rank = USUAL_RANK;
}

mechanism_status mechanism_derivative(const mechanism_state *x, const real *u, const mechanism_parameters *p,
                                      real *qdot, real *vdot, mechanism_work *work)
{
    real *k = work->stages;
    renew(work);
    copy(x->q, work->x, MECHANISM_NQ);
    copy(x->v, work->x + MECHANISM_NQ, MECHANISM_NV);
    const int status = rate(work->x, u, p, x->t, k, work);
    copy(k, qdot, MECHANISM_NQ);
    copy(k + MECHANISM_NQ, vdot, MECHANISM_NV);
    return (mechanism_status)status;
}

#if HAS_ROWS
mechanism_status mechanism_acceleration(const mechanism_state *x, const real *u, const mechanism_parameters *p,
                                        real *vdot, real *lambda, mechanism_work *work)
{
    factors f;
    renew(work);
    kernel_equations(x->q, x->v, u, p, x->t, work->M, work->f, work->A, work->gamma, work->phi, work->speed,
                     work->kernel);
    const int status = solve(vdot, lambda, &f, work);
    if (status != MECHANISM_OK) {
        return (mechanism_status)status;
    }
    gauge(&f, USUAL_RANK, work);
    return (f.rank < USUAL_RANK) ? MECHANISM_SINGULAR : MECHANISM_OK;
}

mechanism_status mechanism_margin(const mechanism_state *x, const mechanism_parameters *p, real *margin,
                                  mechanism_work *work)
{
    factors f;
    renew(work);
    kernel_equations(x->q, x->v, NO_INPUTS, p, x->t, work->M, work->f, work->A, work->gamma, work->phi, work->speed,
                     work->kernel);
    const int status = reveal(&f, MECHANISM_ROWS, NULL, work);
    *margin = NUMBER(0.0);
    if (status != MECHANISM_OK) {
        return (mechanism_status)status;
    }
    gauge(&f, USUAL_RANK, work);
    *margin = work->margin;
    return (f.rank < USUAL_RANK) ? MECHANISM_SINGULAR : MECHANISM_OK;
}

mechanism_status mechanism_residuals(const mechanism_state *x, const mechanism_parameters *p, real *phi, real *speed,
                                     mechanism_work *work)
{
    kernel_residuals(x->q, x->v, p, x->t, phi, speed, work->kernel);
    return (all_finite(phi, MECHANISM_ROWS) && all_finite(speed, MECHANISM_ROWS)) ? MECHANISM_OK
                                                                                  : MECHANISM_NOT_FINITE;
}
#endif

#if HAS_LANDING
mechanism_status mechanism_project(mechanism_state *x, const mechanism_parameters *p, mechanism_work *work)
{
    renew(work);
    copy(x->q, work->x, MECHANISM_NQ);
    copy(x->v, work->x + MECHANISM_NQ, MECHANISM_NV);
    const int status = land(work->x, p, x->t, PROJECTIONS, work);
    if (status == MECHANISM_OK) {
        copy(work->x, x->q, MECHANISM_NQ);
        copy(work->x + MECHANISM_NQ, x->v, MECHANISM_NV);
    }
    return (mechanism_status)status;
}
#endif

void mechanism_energy(const mechanism_state *x, const mechanism_parameters *p, real *kinetic, real *potential,
                      mechanism_work *work)
{
    kernel_energies(x->q, x->v, p, work->y, work->kernel);
    *kinetic = work->y[0];
    *potential = work->y[1];
}
