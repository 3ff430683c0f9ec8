/* A second of motion from the state of the export, as CSV: one line every 10 ms. */
#include "PREFIX.h"

#include <stdio.h>

static mechanism_work work;

int main(void)
{
    mechanism_parameters p;
    mechanism_state x;
    const mechanism_real h = 0.001;
    mechanism_real u[ROOM_NU] = {0.0};
    mechanism_defaults(&p);
    mechanism_start(&x);
    printf("COLUMNS\n");
    for (int i = 0; i <= 1000; ++i) {
        if (i % 10 == 0) {
            printf("FORMAT", (double)x.t);
            for (int k = 0; k < MECHANISM_NQ; ++k) {
                printf(",FORMAT", (double)x.q[k]);
            }
            for (int k = 0; k < MECHANISM_NV; ++k) {
                printf(",FORMAT", (double)x.v[k]);
            }
            printf("\n");
        }
#if HAS_LQR
        mechanism_LAW(&x, u, &work);
#endif
        const mechanism_status status = mechanism_step_rk4(&x, u, &p, h, &work);
        if (status != MECHANISM_OK) {
            fprintf(stderr, "status %d at t = %g s, margin %g\n", (int)status, (double)x.t, (double)work.margin);
            return 1;
        }
    }
    return 0;
}
