/* TITLE: the mechanism in C99, written by dalembert.

   No heap, no global state, no input or output: whoever calls owns the workspace, and threads have one each. Every loop
   has a bound that is known when the file is compiled. SI units; coordinates, velocities and signs are those of
   dalembert. Vectors are in the order of the enumerations below, matrices row by row.

   Functions return a status. After a call the workspace tells

       margin    how far the constraints are from dependent: 1 far away, 0 at a singular position. Of derivatives, steps
                 and projections the least sine between a row and those before it on the way; of acceleration and margin
                 the least singular value of all rows, in the mass metric and over usual lengths
       rank      of the constraints, where it was looked at
       careful   how often the factorization that reveals the rank took over from elimination
       residual  of positions before the last correction, rad or m

   With a fused multiply-add (x86-64: -mfma) and -ffp-contract=off the straight-line functions give the bits of
   dalembert's own kernels. */
#ifndef MECHANISM_H
#define MECHANISM_H

#ifdef __cplusplus
extern "C" {
#endif

typedef REAL mechanism_real;

/* sizes */
enum {
    SIZES
};
NAMES

typedef enum {
    MECHANISM_OK = 0,
    MECHANISM_SINGULAR = 1,       /* the rank is below the usual one: numbers are there, one branch among several */
    MECHANISM_UNREACHED = 2,      /* the inputs cannot give the motion, or not within their bounds: the nearest is there */
    MECHANISM_NOT_CLOSED = 3,     /* no position was found that closes the loops */
    MECHANISM_NOT_FINITE = 4,     /* a number is not finite */
    MECHANISM_MASS_SINGULAR = 5,  /* the mass matrix is not positive definite */
    MECHANISM_STEP_TOO_SMALL = 6, /* the tolerance cannot be met */
    MECHANISM_TOO_MANY_STEPS = 7,
    MECHANISM_BAD_ARGUMENT = 8
} mechanism_status;

typedef struct {
MEMBERS
} mechanism_parameters;

typedef struct {
    mechanism_real t;
    mechanism_real q[MECHANISM_NQ];
    mechanism_real v[MECHANISM_NV];
} mechanism_state;

/* Memory of the functions; nothing in it is kept from one call to the next but what is told above. */
typedef struct {
    mechanism_real margin, residual;
    int rank, careful, charted, normals;
    mechanism_real kernel[ROOM_KERNEL];
    mechanism_real x[MECHANISM_NQ + MECHANISM_NV], trial[MECHANISM_NQ + MECHANISM_NV], moved[MECHANISM_NQ];
    mechanism_real stages[12 * (MECHANISM_NQ + MECHANISM_NV)], last[MECHANISM_NQ + MECHANISM_NV];
    mechanism_real step[ROOM], y[ROOM], space[ROOM], right[ROOM];
    mechanism_real phi[ROOM_ROWS], speed[ROOM_ROWS], powers[ROOM_POWERS];
#if HAS_DENSE
    mechanism_real M[MECHANISM_NV * MECHANISM_NV], f[MECHANISM_NV], A[ROOM_ROWS * MECHANISM_NV], gamma[ROOM_ROWS];
    mechanism_real diagonal[ROOM], tau[ROOM], left_head[ROOM], left_tau[ROOM];
    int order[ROOM];
#endif
#if HAS_ROWS
    mechanism_real normal[MECHANISM_NV * MECHANISM_NV], crossed[ROOM_ROWS * MECHANISM_NV];
#endif
#if HAS_INVERSE
    mechanism_real mass[MECHANISM_NV * MECHANISM_NV], applied[MECHANISM_NV], B[MECHANISM_NV * ROOM_NU];
    mechanism_real vdot[MECHANISM_NV], required[MECHANISM_NV], found[ROOM], found_motion[MECHANISM_NV];
    mechanism_real drive[MECHANISM_NV * ROOM_NU];
    mechanism_real second_diagonal[ROOM], second_tau[ROOM], second_left_head[ROOM], second_left_tau[ROOM];
    int second_order[ROOM], held[ROOM_NU];
#endif
#if HAS_DIRECTIONAL
    mechanism_real gradient[MECHANISM_GRADIENT];
#endif
#if HAS_TASK
    mechanism_real task[ROOM_TASK * MECHANISM_NV];
#endif
} mechanism_work;

#if HAS_EXCHANGE
/* Independent coordinates around a base position, see mechanism_make_chart. */
typedef struct {
    mechanism_real q[MECHANISM_NQ], at;
    mechanism_real tangent[MECHANISM_NV * MECHANISM_NV], dual[MECHANISM_NV * MECHANISM_NV];
    mechanism_real normal[MECHANISM_NV * MECHANISM_NV], scale[MECHANISM_NV];
    mechanism_real motion[MECHANISM_NV * MECHANISM_NV], motion_dual[MECHANISM_NV * MECHANISM_NV];
    mechanism_real motion_normal[MECHANISM_NV * MECHANISM_NV], motion_scale[MECHANISM_NV];
    mechanism_real place[MECHANISM_NV], speed[MECHANISM_NV], v[MECHANISM_NV], bend[MECHANISM_NV];
} mechanism_chart;

#endif
/* The parameters, and the state, that the mechanism was exported with. */
void mechanism_defaults(mechanism_parameters *p);
void mechanism_start(mechanism_state *x);

/* q' and v' for inputs u (NULL where the mechanism has none). */
mechanism_status mechanism_derivative(const mechanism_state *x, const mechanism_real *u, const mechanism_parameters *p,
                                      mechanism_real *qdot, mechanism_real *vdot, mechanism_work *work);
#if HAS_ROWS

/* v' and the shortest multipliers of all rows, redundant ones too; SINGULAR where the rank is below the usual one. */
mechanism_status mechanism_acceleration(const mechanism_state *x, const mechanism_real *u,
                                        const mechanism_parameters *p, mechanism_real *vdot, mechanism_real *lambda,
                                        mechanism_work *work);

/* The least singular value of the constraints in the mass metric, over usual lengths: 0 at a singular position. */
mechanism_status mechanism_margin(const mechanism_state *x, const mechanism_parameters *p, mechanism_real *margin,
                                  mechanism_work *work);

/* phi(q, t) and A v + b, which are zero where the constraints hold. */
mechanism_status mechanism_residuals(const mechanism_state *x, const mechanism_parameters *p, mechanism_real *phi,
                                     mechanism_real *speed, mechanism_work *work);
#endif
#if HAS_LANDING

/* The state moved to the nearest one that satisfies the constraints; left alone where there is none nearby. */
mechanism_status mechanism_project(mechanism_state *x, const mechanism_parameters *p, mechanism_work *work);
#endif

/* Kinetic and potential energy, J. */
void mechanism_energy(const mechanism_state *x, const mechanism_parameters *p, mechanism_real *kinetic,
                      mechanism_real *potential, mechanism_work *work);

/* One step of length h (s) by the method of Runge and Kutta, inputs held, and back onto the constraints. The state is
   left alone where it fails. */
mechanism_status mechanism_step_rk4(mechanism_state *x, const mechanism_real *u, const mechanism_parameters *p,
                                    mechanism_real h, mechanism_work *work);

/* One step by the method of Dormand and Prince of order 8, not beyond t_end, with an error below atol + rtol |x|; *h is
   the step to try, and becomes the next one. At most MECHANISM_ATTEMPTS attempts. */
mechanism_status mechanism_step(mechanism_state *x, const mechanism_real *u, const mechanism_parameters *p,
                                mechanism_real *h, mechanism_real t_end, mechanism_real rtol, mechanism_real atol,
                                mechanism_work *work);

/* At most most_steps of these steps, to t_end. */
mechanism_status mechanism_advance(mechanism_state *x, const mechanism_real *u, const mechanism_parameters *p,
                                   mechanism_real *h, mechanism_real t_end, mechanism_real rtol, mechanism_real atol,
                                   int most_steps, mechanism_work *work);
#if HAS_INVERSE

/* The smallest inputs for accelerations `wanted` (NV), whose forbidden part is removed, and the multipliers then
   (lambda may be NULL). low, high: bounds of the inputs (NU), or NULL; an input that would leave them is held there, the
   worst first, and the others make up for it as far as they can. */
mechanism_status mechanism_inverse_dynamics(const mechanism_state *x, const mechanism_real *wanted,
                                            const mechanism_parameters *p, const mechanism_real *low,
                                            const mechanism_real *high, mechanism_real *u, mechanism_real *lambda,
                                            mechanism_work *work);
#endif
#if HAS_ACTIVE

/* All coordinates from active ones (ACTIVE numbers), by Newton's method from the guess in q, which is left alone where
   it fails. SINGULAR where the active ones do not determine the others. */
mechanism_status mechanism_passive(const mechanism_real *active, mechanism_real *q, const mechanism_parameters *p,
                                   mechanism_real t, mechanism_work *work);

/* All velocities from those of active coordinates, at q. */
mechanism_status mechanism_passive_velocity(const mechanism_real *q, const mechanism_real *active, mechanism_real *v,
                                            const mechanism_parameters *p, mechanism_real t, mechanism_work *work);
#endif
#if HAS_FRAMES

/* Rotation (9, row by row) and place (3) of every frame in the ground; angular velocity and velocity of its origin. */
void mechanism_poses(const mechanism_state *x, const mechanism_parameters *p, mechanism_real *poses,
                     mechanism_work *work);
void mechanism_twists(const mechanism_state *x, const mechanism_parameters *p, mechanism_real *twists,
                      mechanism_work *work);
#endif
#if HAS_OUTPUTS

void mechanism_outputs(const mechanism_state *x, const mechanism_real *u, const mechanism_parameters *p,
                       mechanism_real *y, mechanism_work *work);
#endif
#if HAS_LINEAR

/* The exact linear model x' = rates + A dx + B du at a state on the constraints: A (NX x NX), B (NX x NU). */
mechanism_status mechanism_linearize(const mechanism_state *x, const mechanism_real *u, const mechanism_parameters *p,
                                     mechanism_real *A, mechanism_real *B, mechanism_real *rates,
                                     mechanism_work *work);
#endif
#if HAS_DIRECTIONAL

/* Derivatives of v' and of the outputs along changes of q, v, inputs and parameters. */
mechanism_status mechanism_directional(const mechanism_state *x, const mechanism_real *u,
                                       const mechanism_parameters *p, const mechanism_real *dq,
                                       const mechanism_real *dv, const mechanism_real *du, const mechanism_real *dp,
                                       mechanism_real *dvdot, mechanism_real *dy, mechanism_work *work);

/* Gradients of v' . wvdot + y . wy, which are added to dq, dv, du and dp. */
mechanism_status mechanism_adjoint(const mechanism_state *x, const mechanism_real *u, const mechanism_parameters *p,
                                   const mechanism_real *wvdot, const mechanism_real *wy, mechanism_real *dq,
                                   mechanism_real *dv, mechanism_real *du, mechanism_real *dp, mechanism_work *work);
#endif
#if HAS_EXCHANGE

/* Independent coordinates and velocities (states: FREE_Q + FREE_V numbers) around a state on the constraints; SINGULAR
   where the constraints are dependent. */
mechanism_status mechanism_make_chart(const mechanism_state *x, const mechanism_real *u, const mechanism_parameters *p,
                                      mechanism_chart *chart, mechanism_real *states, mechanism_work *work);

/* The state of the mechanism, and the derivatives of the states, at a time; the chart keeps where that was, from where
   the next position is looked for. */
mechanism_status mechanism_chart_rates(mechanism_chart *chart, const mechanism_real *states, const mechanism_real *u,
                                       const mechanism_parameters *p, mechanism_real t, mechanism_state *x,
                                       mechanism_real *rates, mechanism_work *work);

/* What is left of the chart at x: 1 at its base, 0 where the constraints are as steep as the chart can bear; and whether
   another one is due, which beside a singular position is never. */
mechanism_status mechanism_chart_room(const mechanism_chart *chart, const mechanism_state *x, const mechanism_real *u,
                                      const mechanism_parameters *p, mechanism_real *room, int *leave,
                                      mechanism_work *work);
#endif
#if HAS_LAWS

LAWS
#endif

#ifdef __cplusplus
}
#endif

#endif
