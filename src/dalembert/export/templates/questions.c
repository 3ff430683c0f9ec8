/* --- questions ----------------------------------------------------------------------------------------------------- */

#if HAS_FRAMES
void mechanism_poses(const mechanism_state *x, const mechanism_parameters *p, real *poses, mechanism_work *work)
{
    kernel_poses(x->q, p, poses, work->kernel);
}

void mechanism_twists(const mechanism_state *x, const mechanism_parameters *p, real *twists, mechanism_work *work)
{
    kernel_twists(x->q, x->v, p, twists, work->kernel);
}
#endif

#if HAS_OUTPUTS
void mechanism_outputs(const mechanism_state *x, const real *u, const mechanism_parameters *p, real *y,
                       mechanism_work *work)
{
    kernel_outputs(x->q, x->v, u, p, x->t, y, work->kernel);
}
#endif

#if HAS_LINEAR
mechanism_status mechanism_linearize(const mechanism_state *x, const real *u, const mechanism_parameters *p, real *A,
                                     real *B, real *rates, mechanism_work *work)
{
    real margin[4];
    renew(work);
    kernel_linear(x->q, x->v, u, p, x->t, A, B, rates, margin, work->kernel);
    const real chosen = (margin[2] < margin[3]) ? margin[2] : margin[3];
    if (!all_finite(A, MECHANISM_NX * MECHANISM_NX) || !all_finite(rates, MECHANISM_NX)) {
        return MECHANISM_NOT_FINITE;
    }
#if HAS_ROWS
    if (!sound(margin, work)) {
        return MECHANISM_SINGULAR;
    }
#endif
    return (chosen > COORDINATES) ? MECHANISM_OK : MECHANISM_SINGULAR;
}
#endif

#if HAS_DIRECTIONAL
mechanism_status mechanism_directional(const mechanism_state *x, const real *u, const mechanism_parameters *p,
                                       const real *dq, const real *dv, const real *du, const real *dp, real *dvdot,
                                       real *dy, mechanism_work *work)
{
    kernel_directional(x->q, x->v, u, p, x->t, dq, dv, du, dp, dvdot, dy, work->kernel);
    return all_finite(dvdot, MECHANISM_NV) ? MECHANISM_OK : MECHANISM_NOT_FINITE;
}

mechanism_status mechanism_adjoint(const mechanism_state *x, const real *u, const mechanism_parameters *p,
                                   const real *wvdot, const real *wy, real *dq, real *dv, real *du, real *dp,
                                   mechanism_work *work)
{
    real *gradient = work->gradient;
    kernel_adjoint(x->q, x->v, u, p, x->t, wvdot, wy, gradient, work->kernel);
    add(NUMBER(1.0), gradient, dq, 0, MECHANISM_NQ);
    add(NUMBER(1.0), gradient + MECHANISM_NQ, dv, 0, MECHANISM_NV);
#if HAS_INPUTS
    add(NUMBER(1.0), gradient + MECHANISM_NQ + MECHANISM_NV, du, 0, MECHANISM_NU);
#else
    (void)du;
#endif
#if HAS_PARAMETERS
    add(NUMBER(1.0), gradient + MECHANISM_NQ + MECHANISM_NV + MECHANISM_NU, dp, 0, MECHANISM_NP);
#else
    (void)dp;
#endif
    return all_finite(gradient, MECHANISM_GRADIENT) ? MECHANISM_OK : MECHANISM_NOT_FINITE;
}
#endif
