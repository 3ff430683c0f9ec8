/* --- inverse dynamics ---------------------------------------------------------------------------------------------- */

#if HAS_INVERSE
/* Equations at x without inputs: M, its copy in `mass`, f in `applied`, and the inputs' B. */
static void prepare(const mechanism_state *x, const mechanism_parameters *p, mechanism_work *work)
{
    kernel_equations(x->q, x->v, NO_INPUTS, p, x->t, work->M, work->f, work->A, work->gamma, work->phi, work->speed,
                     work->kernel);
    kernel_input_matrix(x->q, x->v, p, x->t, work->B, work->kernel);
    copy(work->M, work->mass, MECHANISM_NV * MECHANISM_NV);
    copy(work->f, work->applied, MECHANISM_NV);
}

static void second_factors(factors *g, int m, int n, real *a, mechanism_work *work)
{
    g->m = m;
    g->n = n;
    g->rank = 0;
    g->dropped = NUMBER(0.0);
    g->a = a;
    g->order = work->second_order;
    g->diagonal = work->second_diagonal;
    g->tau = work->second_tau;
    g->left_head = work->second_left_head;
    g->left_tau = work->second_left_tau;
}

/* Inputs of least length with K'B u = K'(M v' - f), K the admissible motions, or those nearest to that; lambda, where
   it is not NULL, what the constraints carry then. Inputs that would leave their bounds are held there, the worst
   first, and the others make up for it as far as they can. f: the factors of the constraints, of `solve`. */
static int allocate(const factors *f, const real *vdot, const real *low, const real *high, real *u, real *lambda,
                    mechanism_work *work)
{
    const int freedom = MECHANISM_NV - f->rank;
    factors g;
    real size = NUMBER(0.0), missed = NUMBER(0.0), asked = NUMBER(0.0);
    for (int i = 0; i < MECHANISM_NV; ++i) {
        work->required[i] = inner(work->mass + i * MECHANISM_NV, vdot, 0, MECHANISM_NV) - work->applied[i];
    }
    for (int c = 0; c < MECHANISM_NU; ++c) {
        work->held[c] = low != NULL && high != NULL && !(low[c] < high[c]);
        u[c] = work->held[c] ? low[c] : NUMBER(0.0);
    }
    for (int pass = 0; pass <= MECHANISM_NU; ++pass) {
        size = NUMBER(0.0);
        copy(work->required, work->step, MECHANISM_NV);
        for (int c = 0; c < MECHANISM_NU; ++c) {
            if (work->held[c]) {
                for (int i = 0; i < MECHANISM_NV; ++i) {
                    work->step[i] -= work->B[i * MECHANISM_NU + c] * u[c];
                }
            }
        }
        forward(MECHANISM_NV, work->M, work->step);
        to_basis(f, work->step);
        copy(work->step + f->rank, work->right, freedom);
        for (int c = 0; c < MECHANISM_NU; ++c) {
            for (int i = 0; i < MECHANISM_NV; ++i) {
                work->step[i] = work->B[i * MECHANISM_NU + c];
            }
            forward(MECHANISM_NV, work->M, work->step);
            size += inner(work->step, work->step, 0, MECHANISM_NV);
            to_basis(f, work->step);
            for (int i = 0; i < freedom; ++i) {
                work->drive[i * MECHANISM_NU + c] = work->held[c] ? NUMBER(0.0) : work->step[f->rank + i];
            }
        }
        second_factors(&g, freedom, MECHANISM_NU, work->drive, work);
        factorize(&g, NUMBER(0.0), DRIVE_PART * SQRT(size));
        clear(work->found, 0, MECHANISM_NU);
        solve_range(&g, work->right, work->found, work->space);
        from_basis(&g, work->found);
        int worst = -1;
        real most = NUMBER(0.0);
        for (int c = 0; c < MECHANISM_NU; ++c) {
            if (work->held[c]) {
                continue;
            }
            u[c] = work->found[c];
            if (high != NULL && u[c] - high[c] > most) {
                most = u[c] - high[c];
                worst = c;
            }
            if (low != NULL && low[c] - u[c] > most) {
                most = low[c] - u[c];
                worst = c;
            }
        }
        if (worst < 0) {
            break;
        }
        u[worst] = (high != NULL && u[worst] > high[worst]) ? high[worst] : low[worst];
        work->held[worst] = 1;
    }
    for (int i = 0; i < MECHANISM_NV; ++i) {
        work->step[i] = work->required[i] - inner(work->B + i * MECHANISM_NU, u, 0, MECHANISM_NU);
    }
    copy(work->required, work->found_motion, MECHANISM_NV);
    forward(MECHANISM_NV, work->M, work->found_motion);
    asked = SQRT(inner(work->found_motion, work->found_motion, 0, MECHANISM_NV)) + SQRT(size) * largest(u, MECHANISM_NU);
    forward(MECHANISM_NV, work->M, work->step);
    to_basis(f, work->step);
    missed = largest(work->step + f->rank, freedom);
    if (lambda != NULL) {
        solve_multipliers(f, work->step, lambda, work->space);
        for (int i = 0; i < MECHANISM_ROWS; ++i) {
            lambda[i] /= usual[i];
        }
    }
    if (!all_finite(u, MECHANISM_NU)) {
        return MECHANISM_NOT_FINITE;
    }
    return (missed <= DRIVE_MISSED * asked) ? MECHANISM_OK : MECHANISM_UNREACHED;
}

mechanism_status mechanism_inverse_dynamics(const mechanism_state *x, const real *wanted,
                                            const mechanism_parameters *p, const real *low, const real *high, real *u,
                                            real *lambda, mechanism_work *work)
{
    factors f;
    renew(work);
    prepare(x, p, work);
    for (int i = 0; i < MECHANISM_NV; ++i) {
        work->f[i] = inner(work->mass + i * MECHANISM_NV, wanted, 0, MECHANISM_NV);
    }
    const int status = solve(work->vdot, NULL, &f, work);
    if (status != MECHANISM_OK) {
        clear(u, 0, MECHANISM_NU);
        return (mechanism_status)status;
    }
    work->rank = f.rank;
    return (mechanism_status)allocate(&f, work->vdot, low, high, u, lambda, work);
}
#endif

#if HAS_TASK
/* v' of the motion whose coordinates accelerate as asked for, the smallest in the mass metric, and the inputs for it.
   v_places, count: the coordinates; asked: their accelerations; sizes: their units. */
static int follow(const mechanism_state *x, const int *v_places, const real *sizes, int count, const real *asked,
                  const mechanism_parameters *p, const real *low, const real *high, real *u, mechanism_work *work)
{
    factors f, g;
    real size = NUMBER(0.0);
    prepare(x, p, work);
    clear(work->f, 0, MECHANISM_NV);
    const int status = solve(work->vdot, NULL, &f, work);
    if (status != MECHANISM_OK) {
        return status;
    }
    const int freedom = MECHANISM_NV - f.rank;
    for (int i = 0; i < count; ++i) {
        work->right[i] = (asked[i] - work->vdot[v_places[i]]) / sizes[i];
        clear(work->step, 0, MECHANISM_NV);
        work->step[v_places[i]] = NUMBER(1.0) / sizes[i];
        forward(MECHANISM_NV, work->M, work->step);
        size += inner(work->step, work->step, 0, MECHANISM_NV);
        to_basis(&f, work->step);
        copy(work->step + f.rank, work->task + i * freedom, freedom);
    }
    second_factors(&g, count, freedom, work->task, work);
    factorize(&g, NUMBER(0.0), DRIVE_PART * SQRT(size));
    clear(work->step, 0, MECHANISM_NV);
    solve_range(&g, work->right, work->step + f.rank, work->space);
    from_basis(&g, work->step + f.rank);
    from_basis(&f, work->step);
    back(MECHANISM_NV, work->M, work->step);
    add(NUMBER(1.0), work->step, work->vdot, 0, MECHANISM_NV);
    work->rank = f.rank;
    return allocate(&f, work->vdot, low, high, u, NULL, work);
}
#endif
