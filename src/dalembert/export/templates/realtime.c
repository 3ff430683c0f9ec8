/* One cycle of a controller, as the interrupt of a timer calls it every millisecond: on an STM32 from
   HAL_TIM_PeriodElapsedCallback, on an Arduino from loop(). All memory is static; sensors and motors are yours:
   read_sensors() gives the measured state, write_motors() takes the inputs. */
#include "PREFIX.h"

#include <stddef.h>

void read_sensors(mechanism_state *x);
void write_motors(const mechanism_real *u);
void controller_start(void);
int controller_cycle(void);

static mechanism_parameters parameters;
static mechanism_state state;
static mechanism_work work;
static mechanism_real inputs[ROOM_NU];

void controller_start(void)
{
    mechanism_defaults(&parameters);
    mechanism_start(&state);
}

/* Returns 0, or the status that says why the motors were switched off. */
int controller_cycle(void)
{
    int status = (int)MECHANISM_OK;
    read_sensors(&state);
#if HAS_ACTIVE
    {
        /* measured are the active coordinates; the passive ones follow */
        static const int places[MECHANISM_ACTIVE] = {ACTIVE_PLACES_Q};
        static const int speeds[MECHANISM_ACTIVE] = {ACTIVE_PLACES_V};
        mechanism_real y[MECHANISM_ACTIVE], ydot[MECHANISM_ACTIVE];
        for (int k = 0; k < MECHANISM_ACTIVE; ++k) {
            y[k] = state.q[places[k]];
            ydot[k] = state.v[speeds[k]];
        }
        status = (int)mechanism_passive(y, state.q, &parameters, state.t, &work);
        if (status == (int)MECHANISM_OK) {
            status = (int)mechanism_passive_velocity(state.q, ydot, state.v, &parameters, state.t, &work);
        }
    }
#endif
#if HAS_LQR
    if (status == (int)MECHANISM_OK) {
        mechanism_LAW(&state, inputs, &work);
    }
#endif
#if HAS_TASK_LAW
    if (status == (int)MECHANISM_OK) {
        /* the reference of this cycle: here, rest where the law's coordinates are zero */
        static const mechanism_real still[LAW_COUNT] = {0.0};
        status = (int)mechanism_LAW(&state, still, still, still, &parameters, inputs, &work);
    }
#endif
#if HAS_HOLD
    if (status == (int)MECHANISM_OK) {
        /* no law was exported: the smallest inputs that hold the mechanism against its weight and its springs */
        static const mechanism_real still[MECHANISM_NV] = {0.0};
        status = (int)mechanism_inverse_dynamics(&state, still, &parameters, NULL, NULL, inputs, NULL, &work);
    }
#endif
#if HAS_PLANT
    if (status == (int)MECHANISM_OK) {
        /* nothing can be set: the model runs beside the machine, as an observer's prediction does */
        status = (int)mechanism_step_rk4(&state, inputs, &parameters, 0.001, &work);
    }
#endif
    if (status != (int)MECHANISM_OK) {
        for (int k = 0; k < ROOM_NU; ++k) {
            inputs[k] = 0.0;
        }
    }
    write_motors(inputs);
    return status;
}
