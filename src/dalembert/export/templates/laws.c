#if LAW_LQR
/* u = u0 - K (x - x0), the regulator `LAW_NAME` */
void mechanism_LAW_NAME(const mechanism_state *x, real *u, mechanism_work *work)
{
    static const real q0[MECHANISM_NQ] = {LAW_Q0};
    static const real gain[MECHANISM_NU * LAW_STATES] = {LAW_K};
    static const real u0[MECHANISM_NU] = {LAW_U0};
    static const real limits[2 * MECHANISM_NU] = {LAW_LIMITS};
    static const int places[LAW_STATES] = {LAW_PLACES}; /* in (q - q0, v) */
    static const real offset[LAW_STATES] = {LAW_OFFSET};
    real deviation[LAW_STATES];
    kernel_minus(x->q, q0, work->step, work->kernel);
    for (int k = 0; k < LAW_STATES; ++k) {
        const int place = places[k];
        deviation[k] = ((place < MECHANISM_NV) ? work->step[place] : x->v[place - MECHANISM_NV]) - offset[k];
    }
    for (int i = 0; i < MECHANISM_NU; ++i) {
        const real asked = u0[i] - inner(gain + i * LAW_STATES, deviation, 0, LAW_STATES);
        const real above = (asked > limits[2 * i]) ? asked : limits[2 * i];
        u[i] = (above < limits[2 * i + 1]) ? above : limits[2 * i + 1];
    }
}
#endif
#if LAW_TASK
/* Computed torque of LAW_COUNT coordinates, the law `LAW_NAME` */
mechanism_status mechanism_LAW_NAME(const mechanism_state *x, const real *y, const real *ydot, const real *yddot,
                                    const mechanism_parameters *p, real *u, mechanism_work *work)
{
    static const int q_places[LAW_COUNT] = {LAW_Q_PLACES};
    static const int v_places[LAW_COUNT] = {LAW_V_PLACES};
    static const real stiffness[LAW_COUNT * LAW_COUNT] = {LAW_GP};
    static const real damping[LAW_COUNT * LAW_COUNT] = {LAW_GD};
    static const real sizes[LAW_COUNT] = {LAW_SIZES};
    static const real low[MECHANISM_NU] = {LAW_LOW};
    static const real high[MECHANISM_NU] = {LAW_HIGH};
    real error[LAW_COUNT], slip[LAW_COUNT], asked[LAW_COUNT];
    for (int k = 0; k < LAW_COUNT; ++k) {
        error[k] = y[k] - x->q[q_places[k]];
        slip[k] = ydot[k] - x->v[v_places[k]];
    }
    for (int k = 0; k < LAW_COUNT; ++k) {
        asked[k] = yddot[k] + inner(stiffness + k * LAW_COUNT, error, 0, LAW_COUNT)
                 + inner(damping + k * LAW_COUNT, slip, 0, LAW_COUNT);
    }
    renew(work);
    return (mechanism_status)follow(x, v_places, sizes, LAW_COUNT, asked, p, low, high, u, work);
}
#endif
