#if LAW_TASK
/* Computed torque: inputs that make LISTED follow y, ydot, yddot; errors obey the gains it was made with. UNREACHED
   where the inputs cannot. */
mechanism_status mechanism_LAW_NAME(const mechanism_state *x, const mechanism_real *y, const mechanism_real *ydot,
                                    const mechanism_real *yddot, const mechanism_parameters *p, mechanism_real *u,
                                    mechanism_work *work);
#endif
#if LAW_LQR
/* The regulator u = u0 - K (x - x0) of the states LISTED. */
void mechanism_LAW_NAME(const mechanism_state *x, mechanism_real *u, mechanism_work *work);
#endif
