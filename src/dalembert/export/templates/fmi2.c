/* FMI 2.0 for co-simulation around the mechanism: adaptive steps between two communication points, inputs held. */
#include "PREFIX.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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
typedef void (*Logger)(void *, const char *, Status, const char *, const char *, ...);
typedef struct {
    Logger logger;
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, Status);
    void *environment;
} Callbacks;

typedef enum { MADE = 1, BEGINNING = 2, STEPPING = 4, ENDED = 8, FAILED = 16 } Mode;

/* Everything that a run depends on: what is saved and restored. */
typedef struct {
    Mode mode;
    mechanism_state x;
    mechanism_parameters p;
    double u[ROOM_NU];
    double h, rtol, atol;
    double margin, careful;
} Memory;

typedef struct {
    Memory memory;
    mechanism_work work;
    Callbacks call;
    int logging;
    double parameters[ROOM_NP];
    double qdot[MECHANISM_NQ], vdot[MECHANISM_NV], y[ROOM_NY], poses[ROOM_POSES];
    double dq[MECHANISM_NQ], dv[MECHANISM_NV], du[ROOM_NU], dp[ROOM_NP], dvdot[MECHANISM_NV], dy[ROOM_NY];
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
    AT_END
};

static Status tell(const Instance *c, Status status, const char *text)
{
    if (c->call.logger != NULL && (status != OK || c->logging)) {
        const char *category = (status == ERROR || status == FATAL) ? "logStatusError" : "logStatusWarning";
        c->call.logger(c->call.environment, c->name, status, category, "%s", text);
    }
    return status;
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

EXPORT const char *fmi2GetTypesPlatform(void);
EXPORT const char *fmi2GetVersion(void);
EXPORT Status fmi2SetDebugLogging(Component, int, size_t, const char *const *);
EXPORT Component fmi2Instantiate(const char *, int, const char *, const char *, const Callbacks *, int, int);
EXPORT void fmi2FreeInstance(Component);
EXPORT Status fmi2SetupExperiment(Component, int, double, double, int, double);
EXPORT Status fmi2EnterInitializationMode(Component);
EXPORT Status fmi2ExitInitializationMode(Component);
EXPORT Status fmi2Terminate(Component);
EXPORT Status fmi2Reset(Component);
EXPORT Status fmi2GetReal(Component, const Reference *, size_t, double *);
EXPORT Status fmi2GetInteger(Component, const Reference *, size_t, int *);
EXPORT Status fmi2GetBoolean(Component, const Reference *, size_t, int *);
EXPORT Status fmi2GetString(Component, const Reference *, size_t, const char **);
EXPORT Status fmi2SetReal(Component, const Reference *, size_t, const double *);
EXPORT Status fmi2SetInteger(Component, const Reference *, size_t, const int *);
EXPORT Status fmi2SetBoolean(Component, const Reference *, size_t, const int *);
EXPORT Status fmi2SetString(Component, const Reference *, size_t, const char *const *);
EXPORT Status fmi2GetFMUstate(Component, void **);
EXPORT Status fmi2SetFMUstate(Component, void *);
EXPORT Status fmi2FreeFMUstate(Component, void **);
EXPORT Status fmi2SerializedFMUstateSize(Component, void *, size_t *);
EXPORT Status fmi2SerializeFMUstate(Component, void *, char *, size_t);
EXPORT Status fmi2DeSerializeFMUstate(Component, const char *, size_t, void **);
EXPORT Status fmi2GetDirectionalDerivative(Component, const Reference *, size_t, const Reference *, size_t,
                                           const double *, double *);
EXPORT Status fmi2SetRealInputDerivatives(Component, const Reference *, size_t, const int *, const double *);
EXPORT Status fmi2GetRealOutputDerivatives(Component, const Reference *, size_t, const int *, double *);
EXPORT Status fmi2DoStep(Component, double, double, int);
EXPORT Status fmi2CancelStep(Component);
EXPORT Status fmi2GetStatus(Component, int, Status *);
EXPORT Status fmi2GetRealStatus(Component, int, double *);
EXPORT Status fmi2GetIntegerStatus(Component, int, int *);
EXPORT Status fmi2GetBooleanStatus(Component, int, int *);
EXPORT Status fmi2GetStringStatus(Component, int, const char **);

const char *fmi2GetTypesPlatform(void)
{
    return "default";
}

const char *fmi2GetVersion(void)
{
    return "2.0";
}

Status fmi2SetDebugLogging(Component component, int on, size_t count, const char *const *categories)
{
    Instance *c = (Instance *)component;
    (void)count;
    (void)categories;
    if (c == NULL) {
        return ERROR;
    }
    c->logging = on;
    return OK;
}

Component fmi2Instantiate(const char *name, int type, const char *guid, const char *resources, const Callbacks *call,
                          int visible, int logging)
{
    Instance *c = NULL;
    (void)resources;
    (void)visible;
    if (call == NULL || guid == NULL) {
        return NULL;
    }
    if (type != 1 || strcmp(guid, "GUID") != 0) {
        if (call->logger != NULL) {
            call->logger(call->environment, (name != NULL) ? name : "?", ERROR, "logStatusError", "%s",
                         (type != 1) ? "this FMU is for co-simulation." : "the guid is that of another FMU.");
        }
        return NULL;
    }
    c = (Instance *)((call->allocate != NULL) ? call->allocate(1, sizeof(Instance)) : calloc(1, sizeof(Instance)));
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

void fmi2FreeInstance(Component component)
{
    Instance *c = (Instance *)component;
    if (c == NULL) {
        return;
    }
    if (c->call.release != NULL) {
        c->call.release(c);
    } else {
        free(c);
    }
}

Status fmi2SetupExperiment(Component component, int has_tolerance, double tolerance, double start, int has_stop,
                           double stop)
{
    Instance *c = (Instance *)component;
    (void)has_stop;
    (void)stop;
    if (!may(c, (int)MADE, "fmi2SetupExperiment comes before the initialization.")) {
        return ERROR;
    }
    if (has_tolerance && tolerance > 0.0) {
        c->memory.rtol = tolerance;
        c->memory.atol = 0.1 * tolerance;
    }
    c->memory.x.t = start;
    return OK;
}

Status fmi2EnterInitializationMode(Component component)
{
    Instance *c = (Instance *)component;
    if (!may(c, (int)MADE, "fmi2EnterInitializationMode comes after fmi2Instantiate or fmi2Reset.")) {
        return ERROR;
    }
    c->memory.mode = BEGINNING;
    return OK;
}

Status fmi2ExitInitializationMode(Component component)
{
    Instance *c = (Instance *)component;
    mechanism_status status = MECHANISM_OK;
    if (!may(c, (int)BEGINNING, "fmi2ExitInitializationMode comes after fmi2EnterInitializationMode.")) {
        return ERROR;
    }
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
    c->memory.mode = STEPPING;
    return OK;
}

Status fmi2Terminate(Component component)
{
    Instance *c = (Instance *)component;
    if (!may(c, (int)STEPPING, "fmi2Terminate ends a run; there is none.")) {
        return ERROR;
    }
    c->memory.mode = ENDED;
    return OK;
}

Status fmi2Reset(Component component)
{
    Instance *c = (Instance *)component;
    if (c == NULL) {
        return ERROR;
    }
    begin(c);
    return OK;
}

/* Accelerations, outputs and poses at the state, as far as values are wanted. */
static Status evaluate(Instance *c, const Reference *references, size_t count)
{
    int rates = 0, more = 0;
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

Status fmi2GetReal(Component component, const Reference *references, size_t count, double *values)
{
    Instance *c = (Instance *)component;
    if (!may(c, (int)MADE | (int)BEGINNING | (int)STEPPING | (int)ENDED | (int)FAILED, "no values now.")
        || (count > 0 && (references == NULL || values == NULL))) {
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
        } else {
            values[k] = (r == AT_MARGIN) ? c->memory.margin
                      : (r == AT_CAREFUL) ? c->memory.careful
                      : (r == AT_RTOL) ? c->memory.rtol : c->memory.atol;
        }
    }
    return OK;
}

Status fmi2SetReal(Component component, const Reference *references, size_t count, const double *values)
{
    Instance *c = (Instance *)component;
    if (!may(c, (int)MADE | (int)BEGINNING | (int)STEPPING, "values are set before and between steps.")
        || (count > 0 && (references == NULL || values == NULL))) {
        return ERROR;
    }
    for (size_t k = 0; k < count; ++k) {
        const int r = (int)references[k];
        const int early = c->memory.mode != STEPPING;
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
    return OK;
}

/* There are no numbers of other kinds. */
#define NONE(name, type)                                                                                               \
    Status name(Component component, const Reference *references, size_t count, type values)                           \
    {                                                                                                                  \
        (void)references;                                                                                              \
        (void)values;                                                                                                  \
        return (component != NULL && count == 0) ? OK : ERROR;                                                         \
    }
NONE(fmi2GetInteger, int *)
NONE(fmi2GetBoolean, int *)
NONE(fmi2GetString, const char **)
NONE(fmi2SetInteger, const int *)
NONE(fmi2SetBoolean, const int *)
NONE(fmi2SetString, const char *const *)

static void *new_memory(const Instance *c)
{
    return (c->call.allocate != NULL) ? c->call.allocate(1, sizeof(Memory)) : calloc(1, sizeof(Memory));
}

Status fmi2GetFMUstate(Component component, void **state)
{
    Instance *c = (Instance *)component;
    if (c == NULL || state == NULL) {
        return ERROR;
    }
    if (*state == NULL) {
        *state = new_memory(c);
    }
    if (*state == NULL) {
        return tell(c, ERROR, "there is no memory for a state.");
    }
    memcpy(*state, &c->memory, sizeof(Memory));
    return OK;
}

Status fmi2SetFMUstate(Component component, void *state)
{
    Instance *c = (Instance *)component;
    if (c == NULL || state == NULL) {
        return ERROR;
    }
    memcpy(&c->memory, state, sizeof(Memory));
    read_parameters(c);
    return OK;
}

Status fmi2FreeFMUstate(Component component, void **state)
{
    Instance *c = (Instance *)component;
    if (c == NULL || state == NULL) {
        return ERROR;
    }
    if (*state != NULL) {
        if (c->call.release != NULL) {
            c->call.release(*state);
        } else {
            free(*state);
        }
        *state = NULL;
    }
    return OK;
}

Status fmi2SerializedFMUstateSize(Component component, void *state, size_t *size)
{
    if (component == NULL || state == NULL || size == NULL) {
        return ERROR;
    }
    *size = sizeof(Memory);
    return OK;
}

Status fmi2SerializeFMUstate(Component component, void *state, char *bytes, size_t size)
{
    if (component == NULL || state == NULL || bytes == NULL || size < sizeof(Memory)) {
        return ERROR;
    }
    memcpy(bytes, state, sizeof(Memory));
    return OK;
}

Status fmi2DeSerializeFMUstate(Component component, const char *bytes, size_t size, void **state)
{
    Instance *c = (Instance *)component;
    Memory read;
    if (c == NULL || bytes == NULL || state == NULL || size != sizeof(Memory)) {
        return (c != NULL) ? tell(c, ERROR, "these bytes are no state of this FMU.") : ERROR;
    }
    memcpy(&read, bytes, sizeof(Memory));
    if (read.mode != MADE && read.mode != BEGINNING && read.mode != STEPPING && read.mode != ENDED) {
        return tell(c, ERROR, "these bytes are no state of this FMU.");
    }
    if (*state == NULL) {
        *state = new_memory(c);
    }
    if (*state == NULL) {
        return tell(c, ERROR, "there is no memory for a state.");
    }
    memcpy(*state, &read, sizeof(Memory));
    return OK;
}

Status fmi2GetDirectionalDerivative(Component component, const Reference *unknown, size_t unknowns,
                                    const Reference *known, size_t knowns, const double *seed, double *values)
{
    Instance *c = (Instance *)component;
    if (!may(c, (int)BEGINNING | (int)STEPPING, "derivatives are there from the initialization on.")
        || (knowns > 0 && (known == NULL || seed == NULL)) || (unknowns > 0 && (unknown == NULL || values == NULL))) {
        return ERROR;
    }
    memset(c->dq, 0, sizeof c->dq);
    memset(c->dv, 0, sizeof c->dv);
    memset(c->du, 0, sizeof c->du);
    memset(c->dp, 0, sizeof c->dp);
    for (size_t k = 0; k < knowns; ++k) {
        const int r = (int)known[k];
        if (known[k] < AT_V) {
            c->dq[r - AT_Q] += seed[k];
        } else if (known[k] < AT_A) {
            c->dv[r - AT_V] += seed[k];
        } else if (known[k] >= AT_U && known[k] < AT_P) {
            c->du[r - AT_U] += seed[k];
        } else if (known[k] >= AT_P && known[k] < AT_Y) {
            c->dp[r - AT_P] += seed[k];
        } else {
            return tell(c, ERROR, "derivatives are by coordinates, velocities, inputs and parameters.");
        }
    }
    const mechanism_status status = mechanism_directional(&c->memory.x, c->memory.u, &c->memory.p, c->dq, c->dv, c->du,
                                                          c->dp, c->dvdot, c->dy, &c->work);
    if (status != MECHANISM_OK) {
        return tell(c, ERROR, sentence(status));
    }
    for (size_t k = 0; k < unknowns; ++k) {
        const int r = (int)unknown[k];
        if (unknown[k] < AT_V) {
            values[k] = c->dq[r - AT_Q];
        } else if (unknown[k] < AT_A) {
            values[k] = c->dv[r - AT_V];
        } else if (unknown[k] < AT_U) {
            values[k] = c->dvdot[r - AT_A];
        } else if (unknown[k] >= AT_Y && unknown[k] < AT_POSE) {
            values[k] = c->dy[r - AT_Y];
        } else {
            return tell(c, ERROR, "derivatives are of coordinates, velocities, accelerations and outputs.");
        }
    }
    return OK;
}

Status fmi2SetRealInputDerivatives(Component component, const Reference *references, size_t count, const int *orders,
                                   const double *values)
{
    (void)references;
    (void)orders;
    (void)values;
    return (component != NULL && count == 0) ? OK : ERROR;
}

Status fmi2GetRealOutputDerivatives(Component component, const Reference *references, size_t count, const int *orders,
                                    double *values)
{
    (void)references;
    (void)orders;
    (void)values;
    return (component != NULL && count == 0) ? OK : ERROR;
}

Status fmi2DoStep(Component component, double now, double step, int no_return)
{
    Instance *c = (Instance *)component;
    (void)no_return;
    if (!may(c, (int)STEPPING, "fmi2DoStep comes after the initialization and before the end.")) {
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

Status fmi2CancelStep(Component component)
{
    (void)component;
    return ERROR; /* steps are never pending */
}

Status fmi2GetStatus(Component component, int kind, Status *value)
{
    (void)component;
    (void)kind;
    (void)value;
    return DISCARD;
}

Status fmi2GetRealStatus(Component component, int kind, double *value)
{
    const Instance *c = (const Instance *)component;
    if (c == NULL || value == NULL || kind != 2) {
        return DISCARD;
    }
    *value = c->memory.x.t; /* the last time that was reached */
    return OK;
}

Status fmi2GetIntegerStatus(Component component, int kind, int *value)
{
    (void)component;
    (void)kind;
    (void)value;
    return DISCARD;
}

Status fmi2GetBooleanStatus(Component component, int kind, int *value)
{
    const Instance *c = (const Instance *)component;
    if (c == NULL || value == NULL || kind != 3) {
        return DISCARD;
    }
    *value = c->memory.mode == FAILED;
    return OK;
}

Status fmi2GetStringStatus(Component component, int kind, const char **value)
{
    (void)component;
    (void)kind;
    (void)value;
    return DISCARD;
}
