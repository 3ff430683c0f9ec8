/* --- passive joints from active ones ------------------------------------------------------------------------------- */

static const int active_q[MECHANISM_ACTIVE] = {ACTIVE_Q};
static const int active_v[MECHANISM_ACTIVE] = {ACTIVE_V};

/* The factors of the rows of A without the columns of active velocities, each row over its length; right is divided
   alike. */
static void passive_factors(factors *f, real *right, mechanism_work *work)
{
    first_factors(f, MECHANISM_ROWS, MECHANISM_NV, work->A, work);
    for (int i = 0; i < MECHANISM_ROWS; ++i) {
        real *row = work->A + i * MECHANISM_NV;
        const real square = inner(row, row, 0, MECHANISM_NV);
        const real scale = (square > NUMBER(0.0)) ? NUMBER(1.0) / SQRT(square) : NUMBER(1.0);
        right[i] *= scale;
        for (int j = 0; j < MECHANISM_NV; ++j) {
            row[j] *= scale;
        }
        for (int k = 0; k < MECHANISM_ACTIVE; ++k) {
            row[active_v[k]] = NUMBER(0.0);
        }
    }
    factorize(f, PASSIVE_PART, NUMBER(0.0));
    work->rank = f->rank;
    work->margin = NUMBER(0.0);
    if (f->rank >= MECHANISM_NV - MECHANISM_ACTIVE) {
        work->margin = least_singular_value(f, work->space);
    }
}

mechanism_status mechanism_passive(const real *active, real *q, const mechanism_parameters *p, real t,
                                   mechanism_work *work)
{
    factors f;
    renew(work);
    copy(q, work->x, MECHANISM_NQ);
    for (int k = 0; k < MECHANISM_ACTIVE; ++k) {
        work->x[active_q[k]] = active[k];
    }
    for (int i = 0; i < PROJECTIONS; ++i) {
        kernel_constraints(work->x, p, t, work->phi, work->A, work->speed, work->kernel);
        const real residual = largest(work->phi, MECHANISM_ROWS);
        if (!FINITE(residual) || !all_finite(work->A, MECHANISM_ROWS * MECHANISM_NV)) {
            return MECHANISM_NOT_FINITE;
        }
        work->residual = residual;
        copy(work->phi, work->right, MECHANISM_ROWS);
        passive_factors(&f, work->right, work);
        clear(work->step, 0, MECHANISM_NV);
        solve_range(&f, work->right, work->step, work->space);
        from_basis(&f, work->step);
        const real most = largest(work->step, MECHANISM_NV);
        const real share = (most > LONGEST) ? LONGEST / most : NUMBER(1.0);
        for (int j = 0; j < MECHANISM_NV; ++j) {
            work->step[j] *= -share;
        }
        kernel_plus(work->x, work->step, work->moved, work->kernel);
        copy(work->moved, work->x, MECHANISM_NQ);
        for (int k = 0; k < MECHANISM_ACTIVE; ++k) {
            work->x[active_q[k]] = active[k];
        }
        if (residual < CLOSED) {
            copy(work->x, q, MECHANISM_NQ);
            return (f.rank < MECHANISM_NV - MECHANISM_ACTIVE) ? MECHANISM_SINGULAR : MECHANISM_OK;
        }
    }
    return MECHANISM_NOT_CLOSED;
}

mechanism_status mechanism_passive_velocity(const real *q, const real *active, real *v, const mechanism_parameters *p,
                                            real t, mechanism_work *work)
{
    factors f;
    renew(work);
    kernel_constraints(q, p, t, work->phi, work->A, work->speed, work->kernel);
    if (!all_finite(work->A, MECHANISM_ROWS * MECHANISM_NV)) {
        return MECHANISM_NOT_FINITE;
    }
    for (int i = 0; i < MECHANISM_ROWS; ++i) {
        work->right[i] = -work->speed[i];
        for (int k = 0; k < MECHANISM_ACTIVE; ++k) {
            work->right[i] -= work->A[i * MECHANISM_NV + active_v[k]] * active[k];
        }
    }
    passive_factors(&f, work->right, work);
    clear(v, 0, MECHANISM_NV);
    solve_range(&f, work->right, v, work->space);
    from_basis(&f, v);
    for (int k = 0; k < MECHANISM_ACTIVE; ++k) {
        v[active_v[k]] = active[k];
    }
    return (f.rank < MECHANISM_NV - MECHANISM_ACTIVE) ? MECHANISM_SINGULAR : MECHANISM_OK;
}
