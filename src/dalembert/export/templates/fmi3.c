
/* --- FMI 3.0 ------------------------------------------------------------------------------------------------------- */

typedef void (*Between)(void *, double, bool, bool, bool, bool, bool *, double *);

EXPORT const char * fmi3GetVersion(void);
EXPORT Status fmi3SetDebugLogging(Component component, bool on, size_t count, const char *const *categories);
EXPORT Component fmi3InstantiateModelExchange(const char *name, const char *token, const char *resources,
                                              bool visible, bool logging, void *environment, Logger logger);
EXPORT Component fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible,
                                             bool logging, bool events, bool early, const Reference *wanted,
                                             size_t count, void *environment, Logger logger, Between between);
EXPORT Component fmi3InstantiateScheduledExecution(const char *name, const char *token, const char *resources,
                                                   bool visible, bool logging, void *environment, Logger logger,
                                                   void (*ticked)(void *), void (*lock)(void), void (*unlock)(void));
EXPORT void fmi3FreeInstance(Component component);
EXPORT Status fmi3EnterInitializationMode(Component component, bool has_tolerance, double tolerance, double start,
                                          bool has_stop, double stop);
EXPORT Status fmi3ExitInitializationMode(Component component);
EXPORT Status fmi3EnterEventMode(Component component);
EXPORT Status fmi3Terminate(Component component);
EXPORT Status fmi3Reset(Component component);
EXPORT Status fmi3GetFloat64(Component component, const Reference *references, size_t count, double *values,
                             size_t size);
EXPORT Status fmi3SetFloat64(Component component, const Reference *references, size_t count, const double *values,
                             size_t size);
EXPORT Status fmi3GetBinary(Component component, const Reference *references, size_t count, size_t *sizes,
                            const uint8_t **values, size_t size);
EXPORT Status fmi3SetBinary(Component component, const Reference *references, size_t count, const size_t *sizes,
                            const uint8_t *const *values, size_t size);
EXPORT Status fmi3GetClock(Component component, const Reference *references, size_t count, bool *values);
EXPORT Status fmi3SetClock(Component component, const Reference *references, size_t count, const bool *values);
EXPORT Status fmi3GetNumberOfVariableDependencies(Component component, Reference reference, size_t *count);
EXPORT Status fmi3GetVariableDependencies(Component component, Reference reference, size_t *elements, Reference *on,
                                          size_t *element_on, int *kinds, size_t count);
EXPORT Status fmi3GetFMUState(Component component, void **state);
EXPORT Status fmi3SetFMUState(Component component, void *state);
EXPORT Status fmi3FreeFMUState(Component component, void **state);
EXPORT Status fmi3SerializedFMUStateSize(Component component, void *state, size_t *size);
EXPORT Status fmi3SerializeFMUState(Component component, void *state, uint8_t *bytes, size_t size);
EXPORT Status fmi3DeserializeFMUState(Component component, const uint8_t *bytes, size_t size, void **state);
EXPORT Status fmi3GetDirectionalDerivative(Component component, const Reference *unknown, size_t unknowns,
                                           const Reference *known, size_t knowns, const double *seed, size_t seeds,
                                           double *values, size_t size);
EXPORT Status fmi3GetAdjointDerivative(Component component, const Reference *unknown, size_t unknowns,
                                       const Reference *known, size_t knowns, const double *seed, size_t seeds,
                                       double *values, size_t size);
EXPORT Status fmi3EnterConfigurationMode(Component component);
EXPORT Status fmi3ExitConfigurationMode(Component component);
EXPORT Status fmi3GetIntervalDecimal(Component component, const Reference *references, size_t count,
                                     double *intervals, int *qualifiers);
EXPORT Status fmi3GetIntervalFraction(Component component, const Reference *references, size_t count,
                                      uint64_t *counters, uint64_t *resolutions, int *qualifiers);
EXPORT Status fmi3GetShiftDecimal(Component component, const Reference *references, size_t count, double *shifts);
EXPORT Status fmi3GetShiftFraction(Component component, const Reference *references, size_t count, uint64_t *counters,
                                   uint64_t *resolutions);
EXPORT Status fmi3SetIntervalDecimal(Component component, const Reference *references, size_t count,
                                     const double *intervals);
EXPORT Status fmi3SetIntervalFraction(Component component, const Reference *references, size_t count,
                                      const uint64_t *counters, const uint64_t *resolutions);
EXPORT Status fmi3SetShiftDecimal(Component component, const Reference *references, size_t count,
                                  const double *shifts);
EXPORT Status fmi3SetShiftFraction(Component component, const Reference *references, size_t count,
                                   const uint64_t *counters, const uint64_t *resolutions);
EXPORT Status fmi3EvaluateDiscreteStates(Component component);
EXPORT Status fmi3UpdateDiscreteStates(Component component, bool *again, bool *terminate, bool *nominals,
                                       bool *values, bool *next, double *time);
EXPORT Status fmi3EnterContinuousTimeMode(Component component);
EXPORT Status fmi3CompletedIntegratorStep(Component component, bool never_back, bool *enter_event, bool *terminate);
EXPORT Status fmi3SetTime(Component component, double time);
EXPORT Status fmi3SetContinuousStates(Component component, const double *states, size_t count);
EXPORT Status fmi3GetContinuousStateDerivatives(Component component, double *derivatives, size_t count);
EXPORT Status fmi3GetEventIndicators(Component component, double *indicators, size_t count);
EXPORT Status fmi3GetContinuousStates(Component component, double *states, size_t count);
EXPORT Status fmi3GetNominalsOfContinuousStates(Component component, double *nominals, size_t count);
EXPORT Status fmi3GetNumberOfEventIndicators(Component component, size_t *count);
EXPORT Status fmi3GetNumberOfContinuousStates(Component component, size_t *count);
EXPORT Status fmi3EnterStepMode(Component component);
EXPORT Status fmi3GetOutputDerivatives(Component component, const Reference *references, size_t count,
                                       const int32_t *orders, double *values, size_t size);
EXPORT Status fmi3DoStep(Component component, double now, double step, bool never_back, bool *event, bool *terminate,
                         bool *early, double *reached);
EXPORT Status fmi3ActivateModelPartition(Component component, Reference clock, double time);
EXPORT Status fmi3GetFloat32(Component, const Reference *, size_t, float *, size_t);
EXPORT Status fmi3SetFloat32(Component, const Reference *, size_t, const float *, size_t);
EXPORT Status fmi3GetInt8(Component, const Reference *, size_t, int8_t *, size_t);
EXPORT Status fmi3SetInt8(Component, const Reference *, size_t, const int8_t *, size_t);
EXPORT Status fmi3GetUInt8(Component, const Reference *, size_t, uint8_t *, size_t);
EXPORT Status fmi3SetUInt8(Component, const Reference *, size_t, const uint8_t *, size_t);
EXPORT Status fmi3GetInt16(Component, const Reference *, size_t, int16_t *, size_t);
EXPORT Status fmi3SetInt16(Component, const Reference *, size_t, const int16_t *, size_t);
EXPORT Status fmi3GetUInt16(Component, const Reference *, size_t, uint16_t *, size_t);
EXPORT Status fmi3SetUInt16(Component, const Reference *, size_t, const uint16_t *, size_t);
EXPORT Status fmi3GetInt32(Component, const Reference *, size_t, int32_t *, size_t);
EXPORT Status fmi3SetInt32(Component, const Reference *, size_t, const int32_t *, size_t);
EXPORT Status fmi3GetUInt32(Component, const Reference *, size_t, uint32_t *, size_t);
EXPORT Status fmi3SetUInt32(Component, const Reference *, size_t, const uint32_t *, size_t);
EXPORT Status fmi3GetInt64(Component, const Reference *, size_t, int64_t *, size_t);
EXPORT Status fmi3SetInt64(Component, const Reference *, size_t, const int64_t *, size_t);
EXPORT Status fmi3GetUInt64(Component, const Reference *, size_t, uint64_t *, size_t);
EXPORT Status fmi3SetUInt64(Component, const Reference *, size_t, const uint64_t *, size_t);
EXPORT Status fmi3GetBoolean(Component, const Reference *, size_t, bool *, size_t);
EXPORT Status fmi3SetBoolean(Component, const Reference *, size_t, const bool *, size_t);
EXPORT Status fmi3GetString(Component, const Reference *, size_t, const char **, size_t);
EXPORT Status fmi3SetString(Component, const Reference *, size_t, const char *const *, size_t);

/* What this FMU does not offer. */
static Status never(const Instance *c, const char *text)
{
    return (c != NULL) ? tell(c, ERROR, text) : ERROR;
}

static Component instantiate(int type, const char *name, const char *token, bool logging, void *environment,
                             Logger logger)
{
    Callbacks call;
    call.logger = logger;
    call.environment = environment;
    const int wrong = type != FMI3_TYPE;
    if (token == NULL || wrong || strcmp(token, "GUID") != 0) {
        if (logger != NULL) {
            logger(environment, ERROR, "logStatusError",
                   wrong ? "this FMU is for KIND." : "the token is that of another FMU.");
        }
        return NULL;
    }
    return make(name, &call, logging);
}

/* There are no numbers of other kinds. */
#define NONE(name, type)                                                                                               \
    Status name(Component component, const Reference *references, size_t count, type values, size_t size)              \
    {                                                                                                                  \
        (void)references;                                                                                              \
        (void)values;                                                                                                  \
        (void)size;                                                                                                    \
        return (component != NULL && count == 0) ? OK : ERROR;                                                         \
    }
NONE(fmi3GetFloat32, float *)
NONE(fmi3SetFloat32, const float *)
NONE(fmi3GetInt8, int8_t *)
NONE(fmi3SetInt8, const int8_t *)
NONE(fmi3GetUInt8, uint8_t *)
NONE(fmi3SetUInt8, const uint8_t *)
NONE(fmi3GetInt16, int16_t *)
NONE(fmi3SetInt16, const int16_t *)
NONE(fmi3GetUInt16, uint16_t *)
NONE(fmi3SetUInt16, const uint16_t *)
NONE(fmi3GetInt32, int32_t *)
NONE(fmi3SetInt32, const int32_t *)
NONE(fmi3GetUInt32, uint32_t *)
NONE(fmi3SetUInt32, const uint32_t *)
NONE(fmi3GetInt64, int64_t *)
NONE(fmi3SetInt64, const int64_t *)
NONE(fmi3GetUInt64, uint64_t *)
NONE(fmi3SetUInt64, const uint64_t *)
NONE(fmi3GetBoolean, bool *)
NONE(fmi3SetBoolean, const bool *)
NONE(fmi3GetString, const char **)
NONE(fmi3SetString, const char *const *)

const char * fmi3GetVersion(void)
{
    return "3.0";
}

Status fmi3SetDebugLogging(Component component, bool on, size_t count, const char *const *categories)
{
    (void)count;
    (void)categories;
    Instance *c = (Instance *)component;
    if (c == NULL) {
        return ERROR;
    }
    c->logging = on;
    return OK;
}

Component fmi3InstantiateModelExchange(const char *name, const char *token, const char *resources, bool visible,
                                       bool logging, void *environment, Logger logger)
{
    (void)resources;
    (void)visible;
    return instantiate(1, name, token, logging, environment, logger);
}

Component fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible,
                                      bool logging, bool events, bool early, const Reference *wanted, size_t count,
                                      void *environment, Logger logger, Between between)
{
    (void)resources;
    (void)visible;
    (void)events;
    (void)early;
    (void)wanted;
    (void)count;
    (void)between;
    return instantiate(0, name, token, logging, environment, logger);
}

Component fmi3InstantiateScheduledExecution(const char *name, const char *token, const char *resources, bool visible,
                                            bool logging, void *environment, Logger logger, void (*ticked)(void *),
                                            void (*lock)(void), void (*unlock)(void))
{
    (void)resources;
    (void)visible;
    (void)ticked;
    (void)lock;
    (void)unlock;
    return instantiate(2, name, token, logging, environment, logger);
}

void fmi3FreeInstance(Component component)
{
    Instance *c = (Instance *)component;
    if (c != NULL) {
        release(&c->call, c);
    }
}

Status fmi3EnterInitializationMode(Component component, bool has_tolerance, double tolerance, double start,
                                   bool has_stop, double stop)
{
    (void)has_stop;
    (void)stop;
    Instance *c = (Instance *)component;
    if (!may(c, (int)MADE, "the initialization comes after the instantiation or a reset.")
        || use_tolerance(c, has_tolerance, tolerance) != OK || use_start(c, start) != OK) {
        return ERROR;
    }
    c->memory.mode = BEGINNING;
    return OK;
}

Status fmi3ExitInitializationMode(Component component)
{
    Instance *c = (Instance *)component;
    return may(c, (int)BEGINNING, "no initialization has begun.") ? begun(c) : ERROR;
}

Status fmi3EnterEventMode(Component component)
{
#if HAS_EXCHANGE
    return enter_event_mode((Instance *)component);
#else
    return never((Instance *)component, "this FMU has no events.");
#endif
}

Status fmi3Terminate(Component component)
{
    Instance *c = (Instance *)component;
    if (!may(c, (int)STEPPING | (int)EVENT, "there is no run to end.")) {
        return ERROR;
    }
    c->memory.mode = ENDED;
    return OK;
}

Status fmi3Reset(Component component)
{
    Instance *c = (Instance *)component;
    if (c == NULL) {
        return ERROR;
    }
    begin(c);
    return OK;
}

Status fmi3GetFloat64(Component component, const Reference *references, size_t count, double *values, size_t size)
{
    return (size == count) ? get_values((Instance *)component, references, count, values) : ERROR;
}

Status fmi3SetFloat64(Component component, const Reference *references, size_t count, const double *values,
                      size_t size)
{
    return (size == count) ? set_values((Instance *)component, references, count, values) : ERROR;
}

Status fmi3GetBinary(Component component, const Reference *references, size_t count, size_t *sizes,
                     const uint8_t **values, size_t size)
{
    (void)references;
    (void)sizes;
    (void)values;
    (void)size;
    return (component != NULL && count == 0) ? OK : ERROR;
}

Status fmi3SetBinary(Component component, const Reference *references, size_t count, const size_t *sizes,
                     const uint8_t *const *values, size_t size)
{
    (void)references;
    (void)sizes;
    (void)values;
    (void)size;
    return (component != NULL && count == 0) ? OK : ERROR;
}

Status fmi3GetClock(Component component, const Reference *references, size_t count, bool *values)
{
    (void)references;
    (void)values;
    return (component != NULL && count == 0) ? OK : ERROR;
}

Status fmi3SetClock(Component component, const Reference *references, size_t count, const bool *values)
{
    (void)references;
    (void)values;
    return (component != NULL && count == 0) ? OK : ERROR;
}

Status fmi3GetNumberOfVariableDependencies(Component component, Reference reference, size_t *count)
{
    (void)reference;
    (void)count;
    return never((Instance *)component, "dependencies are those of modelDescription.xml.");
}

Status fmi3GetVariableDependencies(Component component, Reference reference, size_t *elements, Reference *on,
                                   size_t *element_on, int *kinds, size_t count)
{
    (void)reference;
    (void)elements;
    (void)on;
    (void)element_on;
    (void)kinds;
    (void)count;
    return never((Instance *)component, "dependencies are those of modelDescription.xml.");
}

Status fmi3GetFMUState(Component component, void **state)
{
    return get_memory((Instance *)component, state);
}

Status fmi3SetFMUState(Component component, void *state)
{
    return set_memory((Instance *)component, state);
}

Status fmi3FreeFMUState(Component component, void **state)
{
    return free_memory((Instance *)component, state);
}

Status fmi3SerializedFMUStateSize(Component component, void *state, size_t *size)
{
    return memory_size((Instance *)component, state, size);
}

Status fmi3SerializeFMUState(Component component, void *state, uint8_t *bytes, size_t size)
{
    return write_memory((Instance *)component, state, bytes, size);
}

Status fmi3DeserializeFMUState(Component component, const uint8_t *bytes, size_t size, void **state)
{
    return read_memory((Instance *)component, bytes, size, state);
}

Status fmi3GetDirectionalDerivative(Component component, const Reference *unknown, size_t unknowns,
                                    const Reference *known, size_t knowns, const double *seed, size_t seeds,
                                    double *values, size_t size)
{
#if HAS_DIRECTIONAL
    if (seeds != knowns || size != unknowns) {
        return ERROR;
    }
    return forward_derivative((Instance *)component, unknown, unknowns, known, knowns, seed, values);
#else
    (void)unknown;
    (void)unknowns;
    (void)known;
    (void)knowns;
    (void)seed;
    (void)seeds;
    (void)values;
    (void)size;
    return never((Instance *)component, "derivatives are offered in co-simulation.");
#endif
}

Status fmi3GetAdjointDerivative(Component component, const Reference *unknown, size_t unknowns,
                                const Reference *known, size_t knowns, const double *seed, size_t seeds,
                                double *values, size_t size)
{
#if HAS_DIRECTIONAL
    if (seeds != unknowns || size != knowns) {
        return ERROR;
    }
    return adjoint_derivative((Instance *)component, unknown, unknowns, known, knowns, seed, values);
#else
    (void)unknown;
    (void)unknowns;
    (void)known;
    (void)knowns;
    (void)seed;
    (void)seeds;
    (void)values;
    (void)size;
    return never((Instance *)component, "derivatives are offered in co-simulation.");
#endif
}

Status fmi3EnterConfigurationMode(Component component)
{
    return never((Instance *)component, "there are no structural parameters.");
}

Status fmi3ExitConfigurationMode(Component component)
{
    return never((Instance *)component, "there are no structural parameters.");
}

Status fmi3GetIntervalDecimal(Component component, const Reference *references, size_t count, double *intervals,
                              int *qualifiers)
{
    (void)references;
    (void)intervals;
    (void)qualifiers;
    return (component != NULL && count == 0) ? OK : ERROR;
}

Status fmi3GetIntervalFraction(Component component, const Reference *references, size_t count, uint64_t *counters,
                               uint64_t *resolutions, int *qualifiers)
{
    (void)references;
    (void)counters;
    (void)resolutions;
    (void)qualifiers;
    return (component != NULL && count == 0) ? OK : ERROR;
}

Status fmi3GetShiftDecimal(Component component, const Reference *references, size_t count, double *shifts)
{
    (void)references;
    (void)shifts;
    return (component != NULL && count == 0) ? OK : ERROR;
}

Status fmi3GetShiftFraction(Component component, const Reference *references, size_t count, uint64_t *counters,
                            uint64_t *resolutions)
{
    (void)references;
    (void)counters;
    (void)resolutions;
    return (component != NULL && count == 0) ? OK : ERROR;
}

Status fmi3SetIntervalDecimal(Component component, const Reference *references, size_t count, const double *intervals)
{
    (void)references;
    (void)intervals;
    return (component != NULL && count == 0) ? OK : ERROR;
}

Status fmi3SetIntervalFraction(Component component, const Reference *references, size_t count,
                               const uint64_t *counters, const uint64_t *resolutions)
{
    (void)references;
    (void)counters;
    (void)resolutions;
    return (component != NULL && count == 0) ? OK : ERROR;
}

Status fmi3SetShiftDecimal(Component component, const Reference *references, size_t count, const double *shifts)
{
    (void)references;
    (void)shifts;
    return (component != NULL && count == 0) ? OK : ERROR;
}

Status fmi3SetShiftFraction(Component component, const Reference *references, size_t count, const uint64_t *counters,
                            const uint64_t *resolutions)
{
    (void)references;
    (void)counters;
    (void)resolutions;
    return (component != NULL && count == 0) ? OK : ERROR;
}

Status fmi3EvaluateDiscreteStates(Component component)
{
    Instance *c = (Instance *)component;
    return may(c, (int)BEGINNING | (int)EVENT, "discrete states are evaluated at events.") ? OK : ERROR;
}

Status fmi3UpdateDiscreteStates(Component component, bool *again, bool *terminate, bool *nominals, bool *values,
                                bool *next, double *time)
{
#if HAS_EXCHANGE
    int changed = 0;
    if (again == NULL || terminate == NULL || nominals == NULL || values == NULL || next == NULL || time == NULL
        || new_chart((Instance *)component, &changed) != OK) {
        return ERROR;
    }
    *again = *terminate = *nominals = *next = false;
    *values = changed != 0;
    *time = 0.0;
    return OK;
#else
    (void)again;
    (void)terminate;
    (void)nominals;
    (void)values;
    (void)next;
    (void)time;
    return never((Instance *)component, "this FMU has no events.");
#endif
}

Status fmi3EnterContinuousTimeMode(Component component)
{
#if HAS_EXCHANGE
    return enter_continuous_mode((Instance *)component);
#else
    return never((Instance *)component, "this FMU is for co-simulation.");
#endif
}

Status fmi3CompletedIntegratorStep(Component component, bool never_back, bool *enter_event, bool *terminate)
{
#if HAS_EXCHANGE
    int leave = 0;
    (void)never_back;
    if (enter_event == NULL || terminate == NULL || stepped((Instance *)component, &leave) != OK) {
        return ERROR;
    }
    *enter_event = leave != 0;
    *terminate = false;
    return OK;
#else
    (void)never_back;
    (void)enter_event;
    (void)terminate;
    return never((Instance *)component, "this FMU is for co-simulation.");
#endif
}

Status fmi3SetTime(Component component, double time)
{
#if HAS_EXCHANGE
    return set_time((Instance *)component, time);
#else
    (void)time;
    return never((Instance *)component, "this FMU is for co-simulation.");
#endif
}

Status fmi3SetContinuousStates(Component component, const double *states, size_t count)
{
#if HAS_EXCHANGE
    return set_states((Instance *)component, states, count);
#else
    (void)states;
    (void)count;
    return never((Instance *)component, "this FMU is for co-simulation.");
#endif
}

Status fmi3GetContinuousStateDerivatives(Component component, double *derivatives, size_t count)
{
#if HAS_EXCHANGE
    return get_slopes((Instance *)component, derivatives, count);
#else
    (void)derivatives;
    (void)count;
    return never((Instance *)component, "this FMU is for co-simulation.");
#endif
}

Status fmi3GetEventIndicators(Component component, double *indicators, size_t count)
{
#if HAS_EXCHANGE
    return get_indicators((Instance *)component, indicators, count);
#else
    (void)indicators;
    (void)count;
    return never((Instance *)component, "this FMU is for co-simulation.");
#endif
}

Status fmi3GetContinuousStates(Component component, double *states, size_t count)
{
#if HAS_EXCHANGE
    return get_states((Instance *)component, states, count);
#else
    (void)states;
    (void)count;
    return never((Instance *)component, "this FMU is for co-simulation.");
#endif
}

Status fmi3GetNominalsOfContinuousStates(Component component, double *nominals, size_t count)
{
#if HAS_EXCHANGE
    return get_nominals((Instance *)component, nominals, count);
#else
    (void)nominals;
    (void)count;
    return never((Instance *)component, "this FMU is for co-simulation.");
#endif
}

Status fmi3GetNumberOfEventIndicators(Component component, size_t *count)
{
#if HAS_EXCHANGE
    if (component == NULL || count == NULL) {
        return ERROR;
    }
    *count = (size_t)COUNT_INDICATORS;
    return OK;
#else
    (void)count;
    return never((Instance *)component, "this FMU is for co-simulation.");
#endif
}

Status fmi3GetNumberOfContinuousStates(Component component, size_t *count)
{
#if HAS_EXCHANGE
    if (component == NULL || count == NULL) {
        return ERROR;
    }
    *count = (size_t)MECHANISM_STATES;
    return OK;
#else
    (void)count;
    return never((Instance *)component, "this FMU is for co-simulation.");
#endif
}

Status fmi3EnterStepMode(Component component)
{
    return never((Instance *)component, "the event mode is not used.");
}

Status fmi3GetOutputDerivatives(Component component, const Reference *references, size_t count, const int32_t *orders,
                                double *values, size_t size)
{
    (void)references;
    (void)orders;
    (void)values;
    (void)size;
    return (component != NULL && count == 0) ? OK : ERROR;
}

Status fmi3DoStep(Component component, double now, double step, bool never_back, bool *event, bool *terminate,
                  bool *early, double *reached)
{
    (void)never_back;
#if HAS_COSIMULATION
    Instance *c = (Instance *)component;
    if (event == NULL || terminate == NULL || early == NULL || reached == NULL) {
        return ERROR;
    }
    const Status status = do_step(c, now, step);
    *event = *terminate = *early = false;
    *reached = (c != NULL) ? c->memory.x.t : now;
    return status;
#else
    (void)now;
    (void)step;
    (void)event;
    (void)terminate;
    (void)early;
    (void)reached;
    return never((Instance *)component, "this FMU is for model exchange.");
#endif
}

Status fmi3ActivateModelPartition(Component component, Reference clock, double time)
{
    (void)clock;
    (void)time;
    return never((Instance *)component, "this FMU has no clocks.");
}
