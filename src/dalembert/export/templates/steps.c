/* --- steps --------------------------------------------------------------------------------------------------------- */

#define WIDTH (MECHANISM_NQ + MECHANISM_NV)

/* out <- x + h (sum of count weights times stages) */
static void combine(const real *x, real h, const real *weights, int count, const real *stages, real *out)
{
    for (int j = 0; j < WIDTH; ++j) {
        real sum = NUMBER(0.0);
        for (int k = 0; k < count; ++k) {
            if (weights[k] != NUMBER(0.0)) {
                sum = FMA(weights[k], stages[k * WIDTH + j], sum);
            }
        }
        out[j] = FMA(h, sum, x[j]);
    }
}

#if HAS_ROWS
/* --- beside singular positions: stages on the constraints, along directions that are fixed at the step's start. The
   tangential part of the step is then that of the same method in local coordinates, of full order, and v' is that of
   states that satisfy the constraints: smooth across the singular position, which a step leads over. ---------------- */

/* normal <- the directions in which constraints act at x, in the mass metric */
static int begin_chart(const real *x, const real *u, const mechanism_parameters *p, real t, mechanism_work *work)
{
    factors f;
    kernel_equations(x, x + MECHANISM_NQ, u, p, t, work->M, work->f, work->A, work->gamma, work->phi, work->speed,
                     work->kernel);
    const int status = reveal(&f, MECHANISM_ROWS, NULL, work);
    if (status != MECHANISM_OK) {
        return status;
    }
    work->normals = f.rank;
    for (int i = 0; i < f.rank; ++i) {
        real *row = work->normal + i * MECHANISM_NV;
        clear(row, 0, MECHANISM_NV);
        row[i] = NUMBER(1.0);
        from_basis(&f, row);
        back(MECHANISM_NV, work->M, row);
    }
    return MECHANISM_OK;
}

/* step <- N mu with A N mu = -right, of `count` rows; right is that of all rows. N: r normals, one after another; mu is
   left in work->y. */
static void along_normals(const real *right, int count, const int *rows, const real *normal, int r,
                          mechanism_work *work)
{
    factors f;
    first_factors(&f, count, r, work->crossed, work);
    for (int i = 0; i < count; ++i) {
        const int from = (rows == NULL) ? i : rows[i];
        for (int k = 0; k < r; ++k) {
            work->crossed[i * r + k] =
                inner(work->A + from * MECHANISM_NV, normal + k * MECHANISM_NV, 0, MECHANISM_NV) / usual[from];
        }
        work->right[i] = -right[from] / usual[from];
    }
    factorize(&f, RANK_PART, RANK_FLOOR);
    clear(work->y, 0, r);
    solve_range(&f, work->right, work->y, work->space);
    from_basis(&f, work->y);
    clear(work->step, 0, MECHANISM_NV);
    for (int k = 0; k < r; ++k) {
        add(work->y[k], normal + k * MECHANISM_NV, work->step, 0, MECHANISM_NV);
    }
}

/* x = (q, v) onto the constraints along the normals. */
static int land_in_chart(real *x, const real *u, const mechanism_parameters *p, real t, mechanism_work *work)
{
    real *v = x + MECHANISM_NQ;
#if HAS_HOLONOMIC
    real before = NUMBER(1e30);
    for (int i = 0; i < PROJECTIONS; ++i) {
        kernel_equations(x, v, u, p, t, work->M, work->f, work->A, work->gamma, work->phi, work->speed, work->kernel);
        work->residual = largest(work->phi, MECHANISM_ROWS);
        along_normals(work->phi, MECHANISM_HOLONOMIC, holonomic, work->normal, work->normals, work);
        const real moved = largest(work->step, MECHANISM_NV);
        if (!FINITE(moved) || moved > RUNAWAY) {
            return MECHANISM_NOT_CLOSED;
        }
        kernel_plus(x, work->step, work->moved, work->kernel);
        copy(work->moved, x, MECHANISM_NQ);
        if (work->residual < CLOSED && !(moved < NUMBER(0.5) * before)) {
            break; /* rounding allows no more */
        }
        before = moved;
    }
    if (!(work->residual < CLOSED)) {
        return MECHANISM_NOT_CLOSED;
    }
#endif
    kernel_equations(x, v, u, p, t, work->M, work->f, work->A, work->gamma, work->phi, work->speed, work->kernel);
    along_normals(work->speed, MECHANISM_ROWS, NULL, work->normal, work->normals, work);
    add(NUMBER(1.0), work->step, v, 0, MECHANISM_NV);
    return all_finite(x, WIDTH) ? MECHANISM_OK : MECHANISM_NOT_FINITE;
}
#endif

/* Stages of an explicit Runge-Kutta method; those of work->stages from the second on, and the new state in work->trial.
   The first stage is there already. */
static int runge_kutta(int size, const real *a, const real *b, const real *c, real t, const real *u,
                       const mechanism_parameters *p, real h, mechanism_work *work)
{
    for (int i = 1; i < size; ++i) {
        combine(work->x, h, a + i * size, i, work->stages, work->trial);
#if HAS_ROWS
        if (work->charted) {
            const int landed = land_in_chart(work->trial, u, p, t + c[i] * h, work);
            if (landed != MECHANISM_OK) {
                return landed;
            }
        }
#endif
        const int status = rate(work->trial, u, p, t + c[i] * h, work->stages + i * WIDTH, work);
        if (status != MECHANISM_OK) {
            return status;
        }
    }
    combine(work->x, h, b, size, work->stages, work->trial);
    return MECHANISM_OK;
}

mechanism_status mechanism_step_rk4(mechanism_state *x, const real *u, const mechanism_parameters *p, real h,
                                    mechanism_work *work)
{
    static const real a[16] = {NUMBER(0.0), NUMBER(0.0), NUMBER(0.0), NUMBER(0.0), NUMBER(0.5), NUMBER(0.0),
                               NUMBER(0.0), NUMBER(0.0), NUMBER(0.0), NUMBER(0.5), NUMBER(0.0), NUMBER(0.0),
                               NUMBER(0.0), NUMBER(0.0), NUMBER(1.0), NUMBER(0.0)};
    static const real b[4] = {NUMBER(1.0) / NUMBER(6.0), NUMBER(1.0) / NUMBER(3.0), NUMBER(1.0) / NUMBER(3.0),
                              NUMBER(1.0) / NUMBER(6.0)};
    static const real c[4] = {NUMBER(0.0), NUMBER(0.5), NUMBER(0.5), NUMBER(1.0)};
    renew(work);
    copy(x->q, work->x, MECHANISM_NQ);
    copy(x->v, work->x + MECHANISM_NQ, MECHANISM_NV);
    int status = rate(work->x, u, p, x->t, work->stages, work);
    if (status == MECHANISM_OK) {
        status = runge_kutta(4, a, b, c, x->t, u, p, h, work);
    }
#if HAS_LANDING
    if (status == MECHANISM_OK) {
        status = land(work->trial, p, x->t + h, CORRECTIONS, work);
        if (status == MECHANISM_NOT_CLOSED && work->residual < RUNAWAY) {
            status = MECHANISM_OK; /* the last step squares what is left */
        }
    }
#endif
    if (status == MECHANISM_OK && !all_finite(work->trial, WIDTH)) {
        status = MECHANISM_NOT_FINITE;
    }
    if (status == MECHANISM_OK) {
        copy(work->trial, x->q, MECHANISM_NQ);
        copy(work->trial + MECHANISM_NQ, x->v, MECHANISM_NV);
        x->t += h;
#if HAS_ROWS
        if (work->careful > 0) {
            status = MECHANISM_SINGULAR;
        }
#endif
    }
    return (mechanism_status)status;
}

#if HAS_ADAPTIVE
/* the pair of order 8 of Dormand and Prince, with errors of orders 5 and 3 */
static const real dop_a[144] = {DOP_A};
static const real dop_b[12] = {DOP_B};
static const real dop_c[12] = {DOP_C};
static const real dop_e5[12] = {DOP_E5};
static const real dop_e3[12] = {DOP_E3};

/* The error of the attempted step over what is allowed. */
static real step_error(real h, real rtol, real atol, const mechanism_work *work)
{
    real five = NUMBER(0.0), three = NUMBER(0.0);
    for (int j = 0; j < WIDTH; ++j) {
        real e5 = NUMBER(0.0), e3 = NUMBER(0.0);
        for (int k = 0; k < 12; ++k) {
            e5 = FMA(dop_e5[k], work->stages[k * WIDTH + j], e5);
            e3 = FMA(dop_e3[k], work->stages[k * WIDTH + j], e3);
        }
        const real before = ABS(work->x[j]), after = ABS(work->trial[j]);
        const real scale = atol + rtol * ((before > after) ? before : after);
        five += (e5 / scale) * (e5 / scale);
        three += (e3 / scale) * (e3 / scale);
    }
    if (!(five > NUMBER(0.0))) {
        return five; /* NaN too */
    }
    return ABS(h) * five / SQRT((five + NUMBER(0.01) * three) * (real)WIDTH);
}

#if HAS_LANDING
/* The trial state onto the constraints. */
static int finish(const real *u, const mechanism_parameters *p, real t, mechanism_work *work)
{
#if HAS_ROWS
    if (work->charted) {
        const int landed = land_in_chart(work->trial, u, p, t, work);
        if (landed != MECHANISM_OK) {
            return landed;
        }
        /* the margin where the step ends counts as those of its stages do */
        return rate(work->trial, u, p, t, work->last, work);
    }
#else
    (void)u;
#endif
    const int status = land(work->trial, p, t, CORRECTIONS, work);
    return (status == MECHANISM_NOT_CLOSED && work->residual < RUNAWAY) ? MECHANISM_OK : status;
}
#endif

/* One attempt: the new state in work->trial, its error over what is allowed in *error. */
static int attempt(const mechanism_state *x, const real *u, const mechanism_parameters *p, real h, real rtol, real atol,
                   real *error, mechanism_work *work)
{
#if HAS_ROWS
    if (work->charted) { /* rounding over the margin allows no more */
        rtol = (rtol > CHARTED) ? rtol : CHARTED;
        atol = (atol > CHARTED) ? atol : CHARTED;
    }
#endif
    *error = NUMBER(2.0);
    int status = runge_kutta(12, dop_a, dop_b, dop_c, x->t, u, p, h, work);
    if (status == MECHANISM_OK) {
        *error = step_error(h, rtol, atol, work);
#if HAS_LANDING
        if (*error < NUMBER(1.0)) {
            status = finish(u, p, x->t + h, work);
        }
#endif
    }
    if (status == MECHANISM_OK && !all_finite(work->trial, WIDTH)) {
        status = MECHANISM_NOT_FINITE;
    }
    return status;
}

mechanism_status mechanism_step(mechanism_state *x, const real *u, const mechanism_parameters *p, real *h, real t_end,
                                real rtol, real atol, mechanism_work *work)
{
    int status = MECHANISM_OK;
#if HAS_ROWS
    int shifts = 0;
#endif
    renew(work);
    if (!(rtol >= NUMBER(0.0)) || !(atol > NUMBER(0.0)) || !(t_end >= x->t) || !(*h > NUMBER(0.0))) {
        return MECHANISM_BAD_ARGUMENT;
    }
    if (!(t_end > x->t)) {
        return MECHANISM_OK;
    }
    copy(x->q, work->x, MECHANISM_NQ);
    copy(x->v, work->x + MECHANISM_NQ, MECHANISM_NV);
    status = rate(work->x, u, p, x->t, work->stages, work);
    if (status != MECHANISM_OK) {
        return (mechanism_status)status;
    }
    for (int tried = 0; tried < MECHANISM_ATTEMPTS; ++tried) {
        const int last = t_end - x->t <= *h * NUMBER(1.000000001);
        const real step = last ? t_end - x->t : *h;
        real error;
        if (!last && !(x->t + step > x->t)) {
            return MECHANISM_STEP_TOO_SMALL;
        }
        work->margin = NUMBER(1.0);
        status = attempt(x, u, p, step, rtol, atol, &error, work);
        const int good = status == MECHANISM_OK && error < NUMBER(1.0);
#if HAS_ROWS
        if (!work->charted && work->margin < (good ? BESIDE : NEARBY)) {
            /* beside a singular position: again, with stages on the constraints */
            status = begin_chart(work->x, u, p, x->t, work);
            if (status != MECHANISM_OK) {
                return (mechanism_status)status;
            }
            work->charted = 1;
            status = rate(work->x, u, p, x->t, work->stages, work);
            if (status != MECHANISM_OK) {
                return (mechanism_status)status;
            }
            continue;
        }
        if (work->charted && shifts < SHIFTS && (status != MECHANISM_OK || (work->margin < BESIDE && !(good && last)))) {
            /* a stage, or the end, is too near: others lie beside it */
            shifts += 1;
            *h = SHIFT * step;
            continue;
        }
#endif
        if (good) {
            copy(work->trial, x->q, MECHANISM_NQ);
            copy(work->trial + MECHANISM_NQ, x->v, MECHANISM_NV);
            x->t = last ? t_end : x->t + step;
            const real grown = step * ((error > NUMBER(1e-8)) ? NUMBER(0.9) * POW(error, NUMBER(-0.125)) : NUMBER(5.0));
            const real most = NUMBER(5.0) * step;
            const real next = (grown < most) ? grown : most;
            if (!last || next < *h) {
                *h = next;
            }
            return MECHANISM_OK;
        }
        if (status == MECHANISM_OK && error < NUMBER(1e30)) {
            const real shorter = NUMBER(0.9) * POW(error, NUMBER(-0.125));
            *h = step * ((shorter > NUMBER(0.2)) ? shorter : NUMBER(0.2));
        } else {
            *h = NUMBER(0.3) * step;
        }
    }
    return (status == MECHANISM_OK) ? MECHANISM_STEP_TOO_SMALL : (mechanism_status)status;
}

mechanism_status mechanism_advance(mechanism_state *x, const real *u, const mechanism_parameters *p, real *h,
                                   real t_end, real rtol, real atol, int most_steps, mechanism_work *work)
{
    real margin = NUMBER(1.0);
    int careful = 0;
    for (int i = 0; i < most_steps; ++i) {
        const mechanism_status status = mechanism_step(x, u, p, h, t_end, rtol, atol, work);
        margin = (work->margin < margin) ? work->margin : margin;
        careful += work->careful;
        work->margin = margin;
        work->careful = careful;
        if (status != MECHANISM_OK || !(x->t < t_end)) {
            return status;
        }
    }
    return MECHANISM_TOO_MANY_STEPS;
}
#endif
