
/* --- FMI 2.0 ------------------------------------------------------------------------------------------------------- */

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
#if HAS_EXCHANGE
EXPORT Status fmi2EnterEventMode(Component);
EXPORT Status fmi2NewDiscreteStates(Component, EventInfo *);
EXPORT Status fmi2EnterContinuousTimeMode(Component);
EXPORT Status fmi2CompletedIntegratorStep(Component, int, int *, int *);
EXPORT Status fmi2SetTime(Component, double);
EXPORT Status fmi2SetContinuousStates(Component, const double *, size_t);
EXPORT Status fmi2GetDerivatives(Component, double *, size_t);
EXPORT Status fmi2GetEventIndicators(Component, double *, size_t);
EXPORT Status fmi2GetContinuousStates(Component, double *, size_t);
EXPORT Status fmi2GetNominalsOfContinuousStates(Component, double *, size_t);
#else
EXPORT Status fmi2SetRealInputDerivatives(Component, const Reference *, size_t, const int *, const double *);
EXPORT Status fmi2GetRealOutputDerivatives(Component, const Reference *, size_t, const int *, double *);
EXPORT Status fmi2DoStep(Component, double, double, int);
EXPORT Status fmi2CancelStep(Component);
EXPORT Status fmi2GetStatus(Component, int, Status *);
EXPORT Status fmi2GetRealStatus(Component, int, double *);
EXPORT Status fmi2GetIntegerStatus(Component, int, int *);
EXPORT Status fmi2GetBooleanStatus(Component, int, int *);
EXPORT Status fmi2GetStringStatus(Component, int, const char **);
#endif

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
    (void)resources;
    (void)visible;
    if (call == NULL || guid == NULL) {
        return NULL;
    }
    if (type != FMI2_TYPE || strcmp(guid, "GUID") != 0) {
        if (call->logger != NULL) {
            call->logger(call->environment, (name != NULL) ? name : "?", ERROR, "logStatusError", "%s",
                         (type != FMI2_TYPE) ? "this FMU is for KIND." : "the guid is that of another FMU.");
        }
        return NULL;
    }
    return make(name, call, logging);
}

void fmi2FreeInstance(Component component)
{
    Instance *c = (Instance *)component;
    if (c != NULL) {
        const Callbacks call = c->call;
        release(&call, c);
    }
}

Status fmi2SetupExperiment(Component component, int has_tolerance, double tolerance, double start, int has_stop,
                           double stop)
{
    Instance *c = (Instance *)component;
    (void)has_stop;
    (void)stop;
    if (!may(c, (int)MADE, "fmi2SetupExperiment comes before the initialization.")
        || use_tolerance(c, has_tolerance, tolerance) != OK) {
        return ERROR;
    }
    return use_start(c, start);
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
    return may(c, (int)BEGINNING, "fmi2ExitInitializationMode comes after fmi2EnterInitializationMode.") ? begun(c)
                                                                                                         : ERROR;
}

Status fmi2Terminate(Component component)
{
    Instance *c = (Instance *)component;
    if (!may(c, (int)STEPPING | (int)EVENT, "fmi2Terminate ends a run; there is none.")) {
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

Status fmi2GetReal(Component component, const Reference *references, size_t count, double *values)
{
    return get_values((Instance *)component, references, count, values);
}

Status fmi2SetReal(Component component, const Reference *references, size_t count, const double *values)
{
    return set_values((Instance *)component, references, count, values);
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

Status fmi2GetFMUstate(Component component, void **state)
{
    return get_memory((Instance *)component, state);
}

Status fmi2SetFMUstate(Component component, void *state)
{
    return set_memory((Instance *)component, state);
}

Status fmi2FreeFMUstate(Component component, void **state)
{
    return free_memory((Instance *)component, state);
}

Status fmi2SerializedFMUstateSize(Component component, void *state, size_t *size)
{
    return memory_size((Instance *)component, state, size);
}

Status fmi2SerializeFMUstate(Component component, void *state, char *bytes, size_t size)
{
    return write_memory((Instance *)component, state, bytes, size);
}

Status fmi2DeSerializeFMUstate(Component component, const char *bytes, size_t size, void **state)
{
    return read_memory((Instance *)component, bytes, size, state);
}

Status fmi2GetDirectionalDerivative(Component component, const Reference *unknown, size_t unknowns,
                                    const Reference *known, size_t knowns, const double *seed, double *values)
{
#if HAS_DIRECTIONAL
    return forward_derivative((Instance *)component, unknown, unknowns, known, knowns, seed, values);
#else
    (void)component;
    (void)unknown;
    (void)unknowns;
    (void)known;
    (void)knowns;
    (void)seed;
    (void)values;
    return ERROR;
#endif
}
#if HAS_EXCHANGE

Status fmi2EnterEventMode(Component component)
{
    return enter_event_mode((Instance *)component);
}

Status fmi2NewDiscreteStates(Component component, EventInfo *info)
{
    int changed = 0;
    if (info == NULL || new_chart((Instance *)component, &changed) != OK) {
        return ERROR;
    }
    memset(info, 0, sizeof *info);
    info->values_changed = changed;
    return OK;
}

Status fmi2EnterContinuousTimeMode(Component component)
{
    return enter_continuous_mode((Instance *)component);
}

Status fmi2CompletedIntegratorStep(Component component, int never_back, int *enter_event, int *terminate)
{
    (void)never_back;
    if (enter_event == NULL || terminate == NULL) {
        return ERROR;
    }
    *terminate = 0;
    return stepped((Instance *)component, enter_event);
}

Status fmi2SetTime(Component component, double time)
{
    return set_time((Instance *)component, time);
}

Status fmi2SetContinuousStates(Component component, const double *states, size_t count)
{
    return set_states((Instance *)component, states, count);
}

Status fmi2GetDerivatives(Component component, double *derivatives, size_t count)
{
    return get_slopes((Instance *)component, derivatives, count);
}

Status fmi2GetEventIndicators(Component component, double *indicators, size_t count)
{
    return get_indicators((Instance *)component, indicators, count);
}

Status fmi2GetContinuousStates(Component component, double *states, size_t count)
{
    return get_states((Instance *)component, states, count);
}

Status fmi2GetNominalsOfContinuousStates(Component component, double *nominals, size_t count)
{
    return get_nominals((Instance *)component, nominals, count);
}
#else

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
    (void)no_return;
    return do_step((Instance *)component, now, step);
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
#endif
