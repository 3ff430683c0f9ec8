/* --- independent coordinates --------------------------------------------------------------------------------------- */

/* A chart around a base position q0 of the constraint manifold, of directions that are fixed there, orthonormal in the
   mass metric:

       q = q0 + T y + N mu(y, t),  v = S w + R nu(w, y, t)        with phi(q, t) = 0 and A v + b = 0

   T and S span the positions and velocities that the constraints admit at q0, N and R those in which they act; without
   rows that restrict velocities alone S is T. y' = T' M (q - q0)', w' = S' M v'. States are (y, w). Columns of T and S
   have the largest component 1. */

#if HAS_TURNS
/* velocities of joints that turn in space */
static const int turns[COUNT_TURNS] = {TURNS};
#endif

/* Bases of what `count` rows admit and of the directions in which they act. Returns a status. */
static int make_bases(const mechanism_state *x, const real *u, const mechanism_parameters *p, int count,
                      const int *rows, int free, real *along, real *dual, real *normal, real *scale,
                      mechanism_work *work)
{
#if HAS_ROWS
    factors f;
    real *z = work->last;
    kernel_equations(x->q, x->v, u, p, x->t, work->M, work->f, work->A, work->gamma, work->phi, work->speed,
                     work->kernel);
    const int status = reveal(&f, count, rows, work);
    if (status != MECHANISM_OK) {
        return status;
    }
    if (f.rank != MECHANISM_NV - free) {
        return MECHANISM_SINGULAR;
    }
    for (int k = 0; k < MECHANISM_NV; ++k) {
        clear(z, 0, MECHANISM_NV);
        z[k] = NUMBER(1.0);
        from_basis(&f, z);
        real *to = (k < f.rank) ? normal + k * MECHANISM_NV : along + (k - f.rank) * MECHANISM_NV;
        copy(z, to, MECHANISM_NV);
        back(MECHANISM_NV, work->M, to);
        if (k < f.rank) {
            continue;
        }
        const real most = largest(to, MECHANISM_NV);
        scale[k - f.rank] = most;
        real *other = dual + (k - f.rank) * MECHANISM_NV;
        for (int j = 0; j < MECHANISM_NV; ++j) {
            /* M R^-1 Q e = R' Q e */
            real sum = NUMBER(0.0);
            for (int i = 0; i <= j; ++i) {
                sum += work->M[i * MECHANISM_NV + j] * z[i];
            }
            other[j] = sum * most;
            to[j] /= most;
        }
    }
#else
    (void)x;
    (void)u;
    (void)p;
    (void)count;
    (void)rows;
    (void)normal;
    (void)scale;
    (void)work;
    for (int k = 0; k < free; ++k) {
        clear(along + k * MECHANISM_NV, 0, MECHANISM_NV);
        clear(dual + k * MECHANISM_NV, 0, MECHANISM_NV);
        along[k * MECHANISM_NV + k] = NUMBER(1.0);
        dual[k * MECHANISM_NV + k] = NUMBER(1.0);
    }
#endif
    return MECHANISM_OK;
}

/* The part of x along the columns: y <- D'x */
static void parts(const real *dual, int count, const real *x, real *y)
{
    for (int k = 0; k < count; ++k) {
        y[k] = inner(dual + k * MECHANISM_NV, x, 0, MECHANISM_NV);
    }
}

/* What the next position is predicted from: displacement and its rates, where it was looked at last. */
static void remember(mechanism_chart *chart, const mechanism_state *x, const real *vdot, mechanism_work *work)
{
    kernel_minus(x->q, chart->q, chart->place, work->kernel);
    kernel_carried(x->q, chart->q, x->v, chart->speed, work->kernel);
    copy(x->v, chart->v, MECHANISM_NV);
    copy(vdot, chart->bend, MECHANISM_NV);
    chart->at = x->t;
}

mechanism_status mechanism_make_chart(const mechanism_state *x, const real *u, const mechanism_parameters *p,
                                      mechanism_chart *chart, real *states, mechanism_work *work)
{
    int status;
    renew(work);
    copy(x->q, chart->q, MECHANISM_NQ);
#if HAS_HOLONOMIC
    status = make_bases(x, u, p, MECHANISM_HOLONOMIC, holonomic, MECHANISM_FREE_Q, chart->tangent, chart->dual,
                        chart->normal, chart->scale, work);
#else
    /* every displacement is admitted */
    for (int k = 0; k < MECHANISM_NV; ++k) {
        for (int j = 0; j < MECHANISM_NV; ++j) {
            chart->tangent[k * MECHANISM_NV + j] = chart->dual[k * MECHANISM_NV + j] =
                (j == k) ? NUMBER(1.0) : NUMBER(0.0);
        }
    }
    status = MECHANISM_OK;
#endif
    if (status == MECHANISM_OK) {
        status = make_bases(x, u, p, MECHANISM_ROWS, NULL, MECHANISM_FREE_V, chart->motion, chart->motion_dual,
                            chart->motion_normal, chart->motion_scale, work);
    }
    if (status == MECHANISM_OK) {
        copy(x->q, work->x, MECHANISM_NQ);
        copy(x->v, work->x + MECHANISM_NQ, MECHANISM_NV);
        status = rate(work->x, u, p, x->t, work->stages, work);
    }
    if (status == MECHANISM_OK) {
        remember(chart, x, work->stages + MECHANISM_NQ, work);
        clear(states, 0, MECHANISM_FREE_Q);
        parts(chart->motion_dual, MECHANISM_FREE_V, x->v, states + MECHANISM_FREE_Q);
    }
    return (mechanism_status)status;
}

#if HAS_ROWS
/* x = (q, v) onto the constraints from what is predicted, delta and v; their parts along the chart are those of the
   states. What rows cannot decide, at a singular position, stays as predicted. */
static int close_in_chart(const mechanism_chart *chart, const real *states, const real *u,
                          const mechanism_parameters *p, real t, real *delta, real *x, mechanism_work *work)
{
    real *v = x + MECHANISM_NQ;
#if HAS_HOLONOMIC
    real before = NUMBER(1e30);
    for (int i = 0; i < PROJECTIONS; ++i) {
        kernel_equations(x, v, u, p, t, work->M, work->f, work->A, work->gamma, work->phi, work->speed, work->kernel);
        work->residual = largest(work->phi, MECHANISM_ROWS);
        along_normals(work->phi, MECHANISM_HOLONOMIC, holonomic, chart->normal, MECHANISM_NV - MECHANISM_FREE_Q, work);
        const real moved = largest(work->step, MECHANISM_NV);
        if (!FINITE(moved) || moved > RUNAWAY) {
            return MECHANISM_NOT_CLOSED;
        }
        add(NUMBER(1.0), work->step, delta, 0, MECHANISM_NV);
        kernel_plus(chart->q, delta, x, work->kernel);
        if (work->residual < CLOSED && !(moved < NUMBER(0.5) * before)) {
            break; /* rounding allows no more */
        }
        before = moved;
    }
    if (!(work->residual < CLOSED)) {
        return MECHANISM_NOT_CLOSED;
    }
#else
    (void)delta;
#endif
    parts(chart->motion_dual, MECHANISM_FREE_V, v, work->y);
    for (int k = 0; k < MECHANISM_FREE_V; ++k) {
        add(states[MECHANISM_FREE_Q + k] - work->y[k], chart->motion + k * MECHANISM_NV, v, 0, MECHANISM_NV);
    }
    kernel_equations(x, v, u, p, t, work->M, work->f, work->A, work->gamma, work->phi, work->speed, work->kernel);
    along_normals(work->speed, MECHANISM_ROWS, NULL, chart->motion_normal, MECHANISM_NV - MECHANISM_FREE_V, work);
    add(NUMBER(1.0), work->step, v, 0, MECHANISM_NV);
    return all_finite(x, WIDTH) ? MECHANISM_OK : MECHANISM_NOT_FINITE;
}
#endif

mechanism_status mechanism_chart_rates(mechanism_chart *chart, const real *states, const real *u,
                                       const mechanism_parameters *p, real t, mechanism_state *x, real *rates,
                                       mechanism_work *work)
{
    real *delta = work->trial, *along = work->y;
    const real h = t - chart->at;
    renew(work);
    for (int j = 0; j < MECHANISM_NV; ++j) {
        delta[j] = chart->place[j] + h * (chart->speed[j] + NUMBER(0.5) * h * chart->bend[j]);
    }
    parts(chart->dual, MECHANISM_FREE_Q, delta, along);
    for (int k = 0; k < MECHANISM_FREE_Q; ++k) {
        add(states[k] - along[k], chart->tangent + k * MECHANISM_NV, delta, 0, MECHANISM_NV);
    }
    kernel_plus(chart->q, delta, work->x, work->kernel);
    copy(chart->v, work->x + MECHANISM_NQ, MECHANISM_NV);
    add(h, chart->bend, work->x + MECHANISM_NQ, 0, MECHANISM_NV);
#if HAS_ROWS
    const int closed = close_in_chart(chart, states, u, p, t, delta, work->x, work);
    if (closed != MECHANISM_OK) {
        return (mechanism_status)closed;
    }
#else
    copy(states + MECHANISM_FREE_Q, work->x + MECHANISM_NQ, MECHANISM_NV);
#endif
    const int status = rate(work->x, u, p, t, work->stages, work);
    if (status != MECHANISM_OK) {
        return (mechanism_status)status;
    }
    copy(work->x, x->q, MECHANISM_NQ);
    copy(work->x + MECHANISM_NQ, x->v, MECHANISM_NV);
    x->t = t;
    remember(chart, x, work->stages + MECHANISM_NQ, work);
    parts(chart->dual, MECHANISM_FREE_Q, chart->speed, rates);
    parts(chart->motion_dual, MECHANISM_FREE_V, work->stages + MECHANISM_NQ, rates + MECHANISM_FREE_Q);
    return all_finite(rates, MECHANISM_STATES) ? MECHANISM_OK : MECHANISM_NOT_FINITE;
}

#if HAS_ROWS
/* How steep the manifold is over the plane of the chart at x: the largest length of N mu for unit steps along T, in the
   mass metric of the base. *own: how far the rows are from dependent at x. */
static int slope_of_chart(const mechanism_state *x, const real *u, const mechanism_parameters *p, int count,
                          const int *rows, const real *normal, const real *along, const real *scale, int free,
                          real *slope, real *own, mechanism_work *work)
{
    factors f;
    const int rank = MECHANISM_NV - free;
    *slope = NUMBER(0.0);
    kernel_equations(x->q, x->v, u, p, x->t, work->M, work->f, work->A, work->gamma, work->phi, work->speed,
                     work->kernel);
    for (int k = 0; k < free; ++k) {
        for (int i = 0; i < MECHANISM_ROWS; ++i) {
            work->gamma[i] = inner(work->A + i * MECHANISM_NV, along + k * MECHANISM_NV, 0, MECHANISM_NV);
        }
        along_normals(work->gamma, count, rows, normal, rank, work);
        const real length = scale[k] * SQRT(inner(work->y, work->y, 0, rank));
        *slope = (length > *slope) ? length : *slope;
    }
    const int status = reveal(&f, count, rows, work);
    const real least = (f.rank < rank) ? NUMBER(0.0) : least_singular_value(&f, work->space);
    *own = (rank == 0) ? NUMBER(1.0) : least;
    return status;
}
#endif

mechanism_status mechanism_chart_room(const mechanism_chart *chart, const mechanism_state *x, const real *u,
                                      const mechanism_parameters *p, real *room, int *leave, mechanism_work *work)
{
    int status = MECHANISM_OK;
    real own = NUMBER(1.0), most = NUMBER(0.0);
    renew(work);
#if HAS_TURNS
    kernel_minus(x->q, chart->q, work->step, work->kernel);
    for (int k = 0; k < COUNT_TURNS; ++k) {
        const real turned = ABS(work->step[turns[k]]) / MOST_TURN;
        most = (turned > most) ? turned : most;
    }
#endif
#if HAS_ROWS
    real slope;
    status = slope_of_chart(x, u, p, MECHANISM_ROWS, NULL, chart->motion_normal, chart->motion, chart->motion_scale,
                            MECHANISM_FREE_V, &slope, &own, work);
    most = (slope / STEEP > most) ? slope / STEEP : most;
#if HAS_HOLONOMIC
    if (status == MECHANISM_OK) {
        status = slope_of_chart(x, u, p, MECHANISM_HOLONOMIC, holonomic, chart->normal, chart->tangent, chart->scale,
                                MECHANISM_FREE_Q, &slope, &own, work);
        most = (slope / STEEP > most) ? slope / STEEP : most;
    }
#endif
#else
    (void)chart;
    (void)x;
    (void)u;
    (void)p;
#endif
    *room = NUMBER(1.0) - most;
    *leave = *room < ROOM_LEFT && own > BESIDE; /* beside a singular position the old chart leads on */
    return (mechanism_status)status;
}
