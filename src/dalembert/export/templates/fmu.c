/* Functional mock-up around the mechanism: what its two interfaces, FMI 2.0 and 3.0, share. */
#include "PREFIX.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#if HAS_FMI3
#include <stdbool.h>
#include <stdint.h>
#endif

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

typedef void *Component;
typedef unsigned int Reference;
typedef enum { OK, WARNING, DISCARD, ERROR, FATAL, PENDING } Status;
#if HAS_FMI3
typedef void (*Logger)(void *, Status, const char *, const char *);
typedef struct {
    Logger logger;
    void *environment;
} Callbacks;
#else
typedef void (*Logger)(void *, const char *, Status, const char *, const char *, ...);
typedef struct {
    Logger logger;
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, Status);
    void *environment;
} Callbacks;
#endif

#if HAS_EXCHANGE
#if HAS_FMI3
#else
typedef struct {
    int again, terminate, nominals_changed, values_changed, next_defined;
    double next;
} EventInfo;
#endif
#endif

typedef enum { MADE = 1, BEGINNING = 2, STEPPING = 4, ENDED = 8, FAILED = 16, EVENT = 32 } Mode;
#define ANY (MADE | BEGINNING | STEPPING | ENDED | FAILED | EVENT)

/* Everything that a run depends on: what is saved and restored. */
typedef struct {
    Mode mode;
    mechanism_state x;
    mechanism_parameters p;
    double u[ROOM_NU];
    double h, rtol, atol;
    double margin, careful;
#if HAS_EXCHANGE
    mechanism_chart chart;
    double y[MECHANISM_STATES], slopes[MECHANISM_STATES];
    int moved; /* whether x is that of y and t, 0: not yet */
    int near;  /* whether careful factorizations were needed there */
#endif
} Memory;

typedef struct {
    Memory memory;
    mechanism_work work;
    Callbacks call;
    int logging;
    double parameters[ROOM_NP];
    double qdot[MECHANISM_NQ], vdot[MECHANISM_NV], y[ROOM_NY], poses[ROOM_POSES];
#if HAS_DIRECTIONAL
    double dq[MECHANISM_NQ], dv[MECHANISM_NV], du[ROOM_NU], dp[ROOM_NP], dvdot[MECHANISM_NV], dy[ROOM_NY];
#endif
    char name[128];
} Instance;

/* places of the value references */
enum {
    AT_Q = 0,
    AT_V = AT_Q + MECHANISM_NQ,
    AT_A = AT_V + MECHANISM_NV,
    AT_U = AT_A + MECHANISM_NV,
    AT_P = AT_U + MECHANISM_NU,
    AT_Y = AT_P + MECHANISM_NP,
    AT_POSE = AT_Y + COUNT_Y,
    AT_MARGIN = AT_POSE + COUNT_POSES,
    AT_CAREFUL,
    AT_RTOL,
    AT_ATOL,
    AT_TIME,
    AT_STATE,
    AT_SLOPE = AT_STATE + COUNT_STATES,
    AT_ROOM = AT_SLOPE + COUNT_STATES,
    AT_END = AT_ROOM + COUNT_INDICATORS
};

static Status tell(const Instance *c, Status status, const char *text)
{
    if (c->call.logger != NULL && (status != OK || c->logging)) {
        const char *category = (status == ERROR || status == FATAL) ? "logStatusError" : "logStatusWarning";
#if HAS_FMI3
        c->call.logger(c->call.environment, status, category, text);
#else
        c->call.logger(c->call.environment, c->name, status, category, "%s", text);
#endif
    }
    return status;
}

static void *new_memory(const Callbacks *call, size_t size)
{
#if HAS_FMI3
    (void)call;
    return calloc(1, size);
#else
    return (call->allocate != NULL) ? call->allocate(1, size) : calloc(1, size);
#endif
}

static void release(const Callbacks *call, void *memory)
{
#if HAS_FMI3
    (void)call;
    free(memory);
#else
    if (call->release != NULL) {
        call->release(memory);
    } else {
        free(memory);
    }
#endif
}

/* Whether a call is allowed now; says so where it is not. */
static int may(const Instance *c, int modes, const char *text)
{
    if (c == NULL) {
        return 0;
    }
    if (((int)c->memory.mode & modes) == 0) {
        (void)tell(c, ERROR, text);
        return 0;
    }
    return 1;
}

static const char *sentence(mechanism_status status)
{
    switch (status) {
    case MECHANISM_SINGULAR: return "the constraints are dependent here.";
    case MECHANISM_NOT_CLOSED: return "no position was found that closes the loops; give a start that satisfies them.";
    case MECHANISM_NOT_FINITE: return "a number is not finite: an input, a parameter, or a motion that runs away.";
    case MECHANISM_MASS_SINGULAR: return "the mass matrix is not positive definite with these parameters.";
    case MECHANISM_STEP_TOO_SMALL: return "the tolerance cannot be met: the motion runs away, or ends at a singular position.";
    case MECHANISM_TOO_MANY_STEPS: return "too many steps for one communication step; it is too long, or the motion too fast.";
    default: return "a call with a wrong argument.";
    }
}

static void read_parameters(Instance *c)
{
    (void)c;
GET_PARAMETERS
}

static void write_parameters(Instance *c)
{
    (void)c;
SET_PARAMETERS
}

static void begin(Instance *c)
{
    Memory *m = &c->memory;
    memset(m, 0, sizeof *m);
    m->mode = MADE;
    mechanism_defaults(&m->p);
    mechanism_start(&m->x);
    m->rtol = START_RTOL;
    m->atol = START_ATOL;
    m->margin = 1.0;
    m->h = 0.0;
    read_parameters(c);
}

static Component make(const char *name, const Callbacks *call, int logging)
{
    Instance *c = (Instance *)new_memory(call, sizeof(Instance));
    if (c == NULL) {
        return NULL;
    }
    memset(c, 0, sizeof *c);
    c->call = *call;
    c->logging = logging;
    if (name != NULL) {
        strncpy(c->name, name, sizeof c->name - 1);
    }
    begin(c);
    return c;
}

static Status use_tolerance(Instance *c, int given, double tolerance)
{
    if (given && !(tolerance >= 0.0)) {
        return tell(c, ERROR, "the tolerance is negative or not a number.");
    }
    if (given && tolerance > 0.0) {
        c->memory.rtol = tolerance;
        c->memory.atol = 0.1 * tolerance;
    }
    return OK;
}

static Status use_start(Instance *c, double start)
{
    if (!((start - start) == 0.0)) {
        return tell(c, ERROR, "the start time is not finite.");
    }
    c->memory.x.t = start;
    return OK;
}

#if HAS_EXCHANGE
/* x of the states and the time, and the derivatives of the states; once, until one of them changes. */
static Status follow(Instance *c)
{
    Memory *m = &c->memory;
    if (!m->moved) {
        const mechanism_status status =
            mechanism_chart_rates(&m->chart, m->y, m->u, &m->p, m->x.t, &m->x, m->slopes, &c->work);
        if (status != MECHANISM_OK) {
            return tell(c, (status == MECHANISM_NOT_CLOSED) ? DISCARD : ERROR, sentence(status));
        }
        m->margin = (double)c->work.margin;
        m->near = c->work.careful;
        m->moved = 1;
    }
    return OK;
}

/* A chart around x, and the states there. */
static Status renew_chart(Instance *c)
{
    Memory *m = &c->memory;
    const mechanism_status status = mechanism_make_chart(&m->x, m->u, &m->p, &m->chart, m->y, &c->work);
    if (status != MECHANISM_OK) {
        return tell(c, ERROR, sentence(status));
    }
    m->moved = 0;
    return follow(c);
}

/* What is left of the chart, and whether another one is due. */
static Status look_around(Instance *c, double *room, int *leave)
{
    Memory *m = &c->memory;
    if (follow(c) != OK) {
        return ERROR;
    }
    const mechanism_status status = mechanism_chart_room(&m->chart, &m->x, m->u, &m->p, room, leave, &c->work);
    return (status == MECHANISM_OK) ? OK : tell(c, ERROR, sentence(status));
}

/* After a step of the solver: whether the chart serves no longer. */
static Status stepped(Instance *c, int *leave)
{
    double room;
    if (!may(c, (int)STEPPING, "steps are completed in the continuous-time mode.") || look_around(c, &room, leave) != OK) {
        return ERROR;
    }
    c->memory.careful += (c->memory.near > 0) ? 1.0 : 0.0;
    return OK;
}

static Status get_indicators(Instance *c, double *indicators, size_t count)
{
    if (!may(c, (int)STEPPING | (int)EVENT, "event indicators are there during a run.") || count != COUNT_INDICATORS
        || (count > 0 && indicators == NULL)) {
        return ERROR;
    }
#if HAS_INDICATOR
    int leave;
    return look_around(c, indicators, &leave);
#else
    return OK;
#endif
}

static Status enter_event_mode(Instance *c)
{
    if (!may(c, (int)STEPPING, "the event mode comes after the continuous-time mode.")) {
        return ERROR;
    }
    c->memory.mode = EVENT;
    return OK;
}

/* At an event: another chart, where the old one serves no longer. */
static Status new_chart(Instance *c, int *changed)
{
    if (!may(c, (int)EVENT, "discrete states are renewed in the event mode.")) {
        return ERROR;
    }
    double room;
    if (look_around(c, &room, changed) != OK) {
        return ERROR;
    }
    return *changed ? renew_chart(c) : OK;
}

static Status enter_continuous_mode(Instance *c)
{
    if (!may(c, (int)EVENT, "the continuous-time mode comes after the event mode.")) {
        return ERROR;
    }
    c->memory.mode = STEPPING;
    return OK;
}

static Status set_time(Instance *c, double time)
{
    if (!may(c, (int)STEPPING | (int)EVENT, "the time is set during a run.")) {
        return ERROR;
    }
    if (!((time - time) == 0.0)) {
        return tell(c, ERROR, "the time is not finite.");
    }
    if (time < c->memory.x.t || time > c->memory.x.t) {
        c->memory.x.t = time;
        c->memory.moved = 0;
    }
    return OK;
}

static Status set_states(Instance *c, const double *states, size_t count)
{
    if (!may(c, (int)STEPPING, "states are set in the continuous-time mode.") || states == NULL
        || count != (size_t)MECHANISM_STATES) {
        return ERROR;
    }
    for (size_t k = 0; k < count; ++k) {
        if (!((states[k] - states[k]) == 0.0)) {
            return tell(c, DISCARD, "a state is not finite.");
        }
    }
    memcpy(c->memory.y, states, sizeof c->memory.y);
    c->memory.moved = 0;
    return OK;
}

static Status get_states(Instance *c, double *states, size_t count)
{
    if (!may(c, (int)STEPPING | (int)EVENT, "states are there during a run.") || states == NULL
        || count != (size_t)MECHANISM_STATES) {
        return ERROR;
    }
    memcpy(states, c->memory.y, sizeof c->memory.y);
    return OK;
}

static Status get_slopes(Instance *c, double *slopes, size_t count)
{
    if (!may(c, (int)STEPPING | (int)EVENT, "derivatives are there during a run.") || slopes == NULL
        || count != (size_t)MECHANISM_STATES) {
        return ERROR;
    }
    const Status status = follow(c);
    if (status == OK) {
        memcpy(slopes, c->memory.slopes, sizeof c->memory.slopes);
    }
    return status;
}

/* States are parts of displacements and velocities whose largest component is 1. */
static Status get_nominals(Instance *c, double *nominals, size_t count)
{
    if (c == NULL || nominals == NULL || count != (size_t)MECHANISM_STATES) {
        return ERROR;
    }
    for (size_t k = 0; k < count; ++k) {
        nominals[k] = 1.0;
    }
    return OK;
}
#endif

static Status begun(Instance *c)
{
    mechanism_status status = MECHANISM_OK;
#if HAS_LANDING
    status = mechanism_project(&c->memory.x, &c->memory.p, &c->work);
#endif
    if (status == MECHANISM_OK) {
        status = mechanism_derivative(&c->memory.x, c->memory.u, &c->memory.p, c->qdot, c->vdot, &c->work);
    }
    if (status != MECHANISM_OK) {
        return tell(c, ERROR, sentence(status));
    }
    c->memory.margin = (double)c->work.margin;
#if HAS_EXCHANGE
    if (renew_chart(c) != OK) {
        return ERROR;
    }
    c->memory.mode = EVENT;
#else
    c->memory.mode = STEPPING;
#endif
    return OK;
}

/* Accelerations, outputs and poses at the state, as far as values are wanted. */
static Status evaluate(Instance *c, const Reference *references, size_t count)
{
    int rates = 0, more = 0;
#if HAS_EXCHANGE
    const int charted = ((int)c->memory.mode & ((int)STEPPING | (int)EVENT)) != 0;
    if (charted && follow(c) != OK) {
        return ERROR;
    }
#endif
    for (size_t k = 0; k < count; ++k) {
        rates |= references[k] >= AT_A && references[k] < AT_U;
        more |= references[k] >= AT_Y && references[k] < AT_MARGIN;
    }
    if (rates) {
        const mechanism_status status =
            mechanism_derivative(&c->memory.x, c->memory.u, &c->memory.p, c->qdot, c->vdot, &c->work);
        if (status != MECHANISM_OK) {
            return tell(c, ERROR, sentence(status));
        }
    }
    (void)more;
#if HAS_OUTPUTS
    if (more) {
        mechanism_outputs(&c->memory.x, c->memory.u, &c->memory.p, c->y, &c->work);
    }
#endif
#if HAS_FRAMES
    if (more) {
        mechanism_poses(&c->memory.x, &c->memory.p, c->poses, &c->work);
    }
#endif
    return OK;
}

static Status get_values(Instance *c, const Reference *references, size_t count, double *values)
{
    if (!may(c, (int)ANY, "no values now.") || (count > 0 && (references == NULL || values == NULL))) {
        return ERROR;
    }
    if (evaluate(c, references, count) != OK) {
        return ERROR;
    }
    for (size_t k = 0; k < count; ++k) {
        const int r = (int)references[k];
        if (references[k] >= AT_END) {
            return tell(c, ERROR, "a value reference is unknown.");
        }
        if (r < AT_V) {
            values[k] = c->memory.x.q[r - AT_Q];
        } else if (r < AT_A) {
            values[k] = c->memory.x.v[r - AT_V];
        } else if (r < AT_U) {
            values[k] = c->vdot[r - AT_A];
        } else if (r < AT_P) {
            values[k] = c->memory.u[r - AT_U];
        } else if (r < AT_Y) {
            values[k] = c->parameters[r - AT_P];
        } else if (r < AT_POSE) {
            values[k] = c->y[r - AT_Y];
        } else if (r < AT_MARGIN) {
            values[k] = c->poses[r - AT_POSE];
#if HAS_INDICATOR
        } else if (r >= AT_ROOM) {
            if (get_indicators(c, values + k, 1) != OK) {
                return ERROR;
            }
#endif
#if HAS_EXCHANGE
        } else if (r >= AT_SLOPE) {
            values[k] = c->memory.slopes[r - AT_SLOPE];
        } else if (r >= AT_STATE) {
            values[k] = c->memory.y[r - AT_STATE];
#endif
        } else {
            values[k] = (r == AT_MARGIN) ? c->memory.margin
                      : (r == AT_CAREFUL) ? c->memory.careful
                      : (r == AT_RTOL) ? c->memory.rtol
                      : (r == AT_ATOL) ? c->memory.atol : c->memory.x.t;
        }
    }
    return OK;
}

static Status set_values(Instance *c, const Reference *references, size_t count, const double *values)
{
    if (!may(c, (int)MADE | (int)BEGINNING | (int)STEPPING | (int)EVENT, "values are set before and between steps.")
        || (count > 0 && (references == NULL || values == NULL))) {
        return ERROR;
    }
    for (size_t k = 0; k < count; ++k) {
        const int r = (int)references[k];
        const int early = c->memory.mode == MADE || c->memory.mode == BEGINNING;
        if (!((values[k] - values[k]) == 0.0)) {
            return tell(c, ERROR, "a value is not finite.");
        }
        if (references[k] >= AT_U && references[k] < AT_P) {
            c->memory.u[r - AT_U] = values[k];
        } else if (early && references[k] < AT_V) {
            c->memory.x.q[r - AT_Q] = values[k];
        } else if (early && references[k] < AT_A) {
            c->memory.x.v[r - AT_V] = values[k];
        } else if (early && references[k] >= AT_P && references[k] < AT_Y) {
            c->parameters[r - AT_P] = values[k];
        } else if (early && r == AT_RTOL && values[k] > 0.0) {
            c->memory.rtol = values[k];
        } else if (early && r == AT_ATOL && values[k] > 0.0) {
            c->memory.atol = values[k];
        } else {
            return tell(c, ERROR, early ? "this value is not to be set." : "only inputs are set between steps.");
        }
    }
    write_parameters(c);
#if HAS_EXCHANGE
    c->memory.moved = 0;
#endif
    return OK;
}

static Status get_memory(Instance *c, void **state)
{
    if (c == NULL || state == NULL) {
        return ERROR;
    }
    if (*state == NULL) {
        *state = new_memory(&c->call, sizeof(Memory));
    }
    if (*state == NULL) {
        return tell(c, ERROR, "there is no memory for a state.");
    }
    memcpy(*state, &c->memory, sizeof(Memory));
    return OK;
}

static Status set_memory(Instance *c, const void *state)
{
    if (c == NULL || state == NULL) {
        return ERROR;
    }
    memcpy(&c->memory, state, sizeof(Memory));
    read_parameters(c);
    return OK;
}

static Status free_memory(Instance *c, void **state)
{
    if (c == NULL || state == NULL) {
        return ERROR;
    }
    if (*state != NULL) {
        release(&c->call, *state);
        *state = NULL;
    }
    return OK;
}

static Status memory_size(const Instance *c, const void *state, size_t *size)
{
    if (c == NULL || state == NULL || size == NULL) {
        return ERROR;
    }
    *size = sizeof(Memory);
    return OK;
}

static Status write_memory(const Instance *c, const void *state, void *bytes, size_t size)
{
    if (c == NULL || state == NULL || bytes == NULL || size < sizeof(Memory)) {
        return ERROR;
    }
    memcpy(bytes, state, sizeof(Memory));
    return OK;
}

static Status read_memory(Instance *c, const void *bytes, size_t size, void **state)
{
    Memory read;
    if (c == NULL || bytes == NULL || state == NULL || size != sizeof(Memory)) {
        return (c != NULL) ? tell(c, ERROR, "these bytes are no state of this FMU.") : ERROR;
    }
    memcpy(&read, bytes, sizeof(Memory));
    if (((int)read.mode & (int)ANY) == 0 || (read.mode & (read.mode - 1)) != 0) {
        return tell(c, ERROR, "these bytes are no state of this FMU.");
    }
    if (*state == NULL) {
        *state = new_memory(&c->call, sizeof(Memory));
    }
    if (*state == NULL) {
        return tell(c, ERROR, "there is no memory for a state.");
    }
    memcpy(*state, &read, sizeof(Memory));
    return OK;
}
#if HAS_DIRECTIONAL

/* The place of a known variable's seed or result; NULL where derivatives by it are not offered. */
static double *known_place(Instance *c, Reference reference)
{
    const int r = (int)reference;
    if (reference < AT_V) {
        return c->dq + (r - AT_Q);
    }
    if (reference < AT_A) {
        return c->dv + (r - AT_V);
    }
    if (reference >= AT_U && reference < AT_P) {
        return c->du + (r - AT_U);
    }
    return (reference >= AT_P && reference < AT_Y) ? c->dp + (r - AT_P) : NULL;
}

/* The place of an unknown variable's result or seed; NULL where derivatives of it are not offered. */
static double *unknown_place(Instance *c, Reference reference)
{
    const int r = (int)reference;
    if (reference < AT_A) {
        return known_place(c, reference);
    }
    if (reference < AT_U) {
        return c->dvdot + (r - AT_A);
    }
    return (reference >= AT_Y && reference < AT_POSE) ? c->dy + (r - AT_Y) : NULL;
}

static void clear_seeds(Instance *c)
{
    memset(c->dq, 0, sizeof c->dq);
    memset(c->dv, 0, sizeof c->dv);
    memset(c->du, 0, sizeof c->du);
    memset(c->dp, 0, sizeof c->dp);
    memset(c->dvdot, 0, sizeof c->dvdot);
    memset(c->dy, 0, sizeof c->dy);
}

/* Whether derivatives can be taken now, of these unknowns by these knowns. */
static Status differentiable(Instance *c, const Reference *unknown, size_t unknowns, const Reference *known,
                             size_t knowns, const void *seed, const void *values)
{
    if (!may(c, (int)BEGINNING | (int)STEPPING, "derivatives are there from the initialization on.")
        || (knowns > 0 && known == NULL) || (unknowns > 0 && unknown == NULL) || seed == NULL || values == NULL) {
        return ERROR;
    }
    for (size_t k = 0; k < knowns; ++k) {
        if (known_place(c, known[k]) == NULL) {
            return tell(c, ERROR, "derivatives are by coordinates, velocities, inputs and parameters.");
        }
    }
    for (size_t k = 0; k < unknowns; ++k) {
        if (unknown_place(c, unknown[k]) == NULL) {
            return tell(c, ERROR, "derivatives are of coordinates, velocities, accelerations and outputs.");
        }
    }
    clear_seeds(c);
    return OK;
}

static Status forward_derivative(Instance *c, const Reference *unknown, size_t unknowns, const Reference *known,
                                 size_t knowns, const double *seed, double *values)
{
    if (differentiable(c, unknown, unknowns, known, knowns, seed, values) != OK) {
        return ERROR;
    }
    for (size_t k = 0; k < knowns; ++k) {
        *known_place(c, known[k]) += seed[k];
    }
    const mechanism_status status = mechanism_directional(&c->memory.x, c->memory.u, &c->memory.p, c->dq, c->dv, c->du,
                                                          c->dp, c->dvdot, c->dy, &c->work);
    if (status != MECHANISM_OK) {
        return tell(c, ERROR, sentence(status));
    }
    for (size_t k = 0; k < unknowns; ++k) {
        values[k] = *unknown_place(c, unknown[k]);
    }
    return OK;
}
#if HAS_FMI3

static Status adjoint_derivative(Instance *c, const Reference *unknown, size_t unknowns, const Reference *known,
                                 size_t knowns, const double *seed, double *values)
{
    if (differentiable(c, unknown, unknowns, known, knowns, seed, values) != OK) {
        return ERROR;
    }
    for (size_t k = 0; k < unknowns; ++k) {
        *unknown_place(c, unknown[k]) += seed[k];
    }
    const mechanism_status status = mechanism_adjoint(&c->memory.x, c->memory.u, &c->memory.p, c->dvdot, c->dy, c->dq,
                                                      c->dv, c->du, c->dp, &c->work);
    if (status != MECHANISM_OK) {
        return tell(c, ERROR, sentence(status));
    }
    for (size_t k = 0; k < knowns; ++k) {
        values[k] = *known_place(c, known[k]);
    }
    return OK;
}
#endif
#endif
#if HAS_COSIMULATION

static Status do_step(Instance *c, double now, double step)
{
    if (!may(c, (int)STEPPING, "a step comes after the initialization and before the end.")) {
        return ERROR;
    }
    Memory *m = &c->memory;
    if (!(step >= 0.0) || !((step - step) == 0.0)) {
        return tell(c, ERROR, "the communication step is negative or not finite.");
    }
    if (!(fabs(now - m->x.t) <= 1e-9 * (1.0 + fabs(m->x.t)))) {
        return tell(c, ERROR, "the communication point is not where the last step ended.");
    }
    if (!(m->h > 0.0)) {
        m->h = (step > 0.0 && step < 1e-3) ? step : 1e-3;
    }
    const double end = now + step;
    if (!(end > m->x.t)) {
        return OK;
    }
    const mechanism_status status =
        mechanism_advance(&m->x, m->u, &m->p, &m->h, end, m->rtol, m->atol, MOST_STEPS, &c->work);
    m->margin = (double)c->work.margin;
    if (status != MECHANISM_OK) {
        m->mode = FAILED;
        return tell(c, ERROR, sentence(status));
    }
    if (c->work.careful > 0) {
        m->careful += 1.0;
        if (c->logging) {
            (void)tell(c, WARNING, "a careful step beside a singular position, straight on; the output 'margin' tells how near.");
        }
    }
    return OK;
}
#endif
