/* Frames: getting hold of one, rebuilding several, moving one that runs.
 *
 * Job: the three things that jitcore does with frames, in terms of frame_compat.h.
 *   - The scoped evaluator: CPython makes the frame of one particular call and hands it over before it runs.
 *   - Rebuilding: values go into frames, each frame of an inlined call linked at that call.
 *   - Moving: at a back edge the running frame is taken over inside a monitoring or trace callback.
 * Invariants: the evaluator is in place only between a call and the arrival of its frame; every frame that
 * arrives is ended exactly once.  Used by regions.c, dispatch.c and testing.c.
 */
#include "core.h"

vectorcallfunc jc_plain_function;
unsigned jc_loop_tools;

/* ---- the scoped evaluator --------------------------------------------------------------------- */
/* The calls whose frames are awaited, newest first.  There can be several: binding the arguments may run a
 * finalizer (and so other calls, and other threads). */
typedef struct jc_awaited {
    struct jc_awaited *next;
    PyThreadState *ts;
    PyObject *func;
    jc_arrival arrive;
    void *arg;
    bool arrived;
} jc_awaited;

static jc_awaited *awaited;
static _PyFrameEvalFunction evaluator_below;    /* what was installed before the list had its first entry */

static PyObject *evaluate(PyThreadState *ts, jc_frame *f, int throwing);

static void stop_awaiting(jc_awaited *a)
{
    jc_awaited **link = &awaited;
    while (*link != a) {
        link = &(*link)->next;
    }
    *link = a->next;
    if (awaited == NULL && jc_evaluator(a->ts) == evaluate) {
        jc_set_evaluator(a->ts, evaluator_below);
    }
}

static PyObject *evaluate(PyThreadState *ts, jc_frame *f, int throwing)
{
    if (!throwing) {
        for (jc_awaited *a = awaited; a != NULL; a = a->next) {
            if (a->ts == ts && a->func == jc_frame_func(f)) {
                stop_awaiting(a);
                a->arrived = true;
                return a->arrive(ts, f, a->arg);
            }
        }
    }
    return evaluator_below != NULL ? evaluator_below(ts, f, throwing) : jc_eval(ts, f, throwing);
}

PyObject *jc_frame_enter(PyThreadState *ts, PyObject *func, PyObject *const *args, size_t nargsf, PyObject *kwnames,
                         jc_arrival arrive, void *arg)
{
    jc_awaited a = {.next = awaited, .ts = ts, .func = func, .arrive = arrive, .arg = arg};
    _PyFrameEvalFunction now = jc_evaluator(ts);
    if (now != evaluate) {
        evaluator_below = now;
    }
    awaited = &a;
    jc_set_evaluator(ts, evaluate);
    PyObject *result = jc_plain_function(func, args, nargsf, kwnames);
    if (JC_UNLIKELY(!a.arrived)) {
        stop_awaiting(&a);
    }
    return result;
}

/* ---- writing and running one frame ------------------------------------------------------------ */
void jc_frame_write(jc_frame *f, PyObject **values, int n_locals, int n_stack)
{
    PyObject **slots = jc_frame_slots(f);
    int base = jc_code_nslots(jc_frame_code(f)), old_top = jc_frame_top(f);
    for (int i = 0; i < n_locals; i++) {
        PyObject *old = slots[i];
        slots[i] = values[i];
        values[i] = old;
    }
    for (int i = 0; i < n_stack; i++) {
        PyObject *old = base + i < old_top ? slots[base + i] : NULL;
        slots[base + i] = values[n_locals + i];
        values[n_locals + i] = old;
    }
    jc_frame_set_top(f, base + n_stack);
    /* Only now: finalizers may run, and the frame must be whole. */
    for (int i = base + n_stack; i < old_top; i++) {
        Py_XDECREF(slots[i]);
    }
    for (int i = 0; i < n_locals + n_stack; i++) {
        Py_CLEAR(values[i]);
    }
}

void jc_frame_copy_free(jc_frame *f)
{
    PyCodeObject *code = jc_frame_code(f);
    int n = jc_code_nfree(code);
    if (n == 0) {
        return;
    }
    PyObject *closure = jc_function_closure(jc_frame_func(f));
    PyObject **slots = jc_frame_slots(f) + jc_code_nslots(code) - n;
    for (int i = 0; i < n; i++) {
        if (slots[i] == NULL) {
            slots[i] = Py_NewRef(PyTuple_GET_ITEM(closure, i));
        }
    }
}

PyObject *jc_frame_go(PyThreadState *ts, jc_frame *f, int unit)
{
    jc_frame_set_next(f, unit);
    return jc_eval(ts, f, 0);
}

PyObject *jc_frame_throw(PyThreadState *ts, jc_frame *f, int unit)
{
    jc_frame_set_fault(f, unit);
    return jc_eval(ts, f, 1);
}

/* ---- several frames --------------------------------------------------------------------------- */
static PyObject *rebuild_arrive(PyThreadState *ts, jc_frame *f, void *arg)
{
    return jc_frame_rebuild(ts, f, (jc_rebuild *)arg);
}

/* Calls the inner function with arguments that only have to bind: its frame is overwritten. */
PyObject *jc_frame_enter_inner(PyThreadState *ts, jc_rebuild *spec)
{
    PyCodeObject *code = jc_function_code(spec->func);
    Py_ssize_t n = code->co_argcount, k = code->co_kwonlyargcount;
    PyObject *kwnames = NULL, *result = NULL;
    PyObject **dummies = PyMem_New(PyObject *, n + k + 1);
    if (dummies == NULL) {
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < n + k; i++) {
        dummies[i] = Py_None;
    }
    if (k == 0 || (kwnames = PyTuple_GetSlice(code->co_localsplusnames, n, n + k)) != NULL) {
        result = jc_frame_enter(ts, spec->func, dummies, (size_t)n, kwnames, rebuild_arrive, spec);
    }
    PyMem_Free(dummies);
    Py_XDECREF(kwnames);
    return result;
}

PyObject *jc_frame_rebuild(PyThreadState *ts, jc_frame *f, jc_rebuild *spec)
{
    jc_frame_write(f, spec->values, spec->n_locals, spec->n_stack);
    if (spec->unit >= jc_code_free_units(jc_frame_code(f))) {
        jc_frame_copy_free(f);
    }
    if (spec->inner != NULL) {
        if (JC_RECURSION(ts) <= 0) {
            PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded");
            jc_frame_leave(ts, f);
            return NULL;
        }
        jc_frame_set_calling(f, spec->unit, spec->next_unit);
        jc_frame_link(ts, f);
        PyObject *result = jc_frame_enter_inner(ts, spec->inner);
        jc_frame_unlink(ts, f);
        if (result == NULL) {
            jc_frame_set_call_fault(f, spec->unit, spec->next_unit);
            return jc_eval(ts, f, 1);
        }
        int top = jc_frame_top(f);
        jc_frame_slots(f)[top] = result;
        jc_frame_set_top(f, top + 1);
        return jc_frame_go(ts, f, spec->next_unit);
    }
    if (spec->raise != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(spec->raise), spec->raise);
        return jc_frame_throw(ts, f, spec->unit);
    }
    return jc_frame_go(ts, f, spec->unit);
}

/* ---- moving a running frame ------------------------------------------------------------------- */
typedef struct jc_watch {
    struct jc_watch *next;
    PyCodeObject *code;         /* [owned] */
    jc_watcher watch;
    void *arg;
    void (*release)(void *);
    int last;                   /* 3.11: the unit of the last line event, -1 before the first */
} jc_watch;

static jc_watch *watches;

static jc_watch *find_watch(PyCodeObject *code)
{
    jc_watch *w = watches;
    while (w != NULL && w->code != code) {
        w = w->next;
    }
    return w;
}

static void drop_watch(PyCodeObject *code)
{
    for (jc_watch **link = &watches; *link != NULL; link = &(*link)->next) {
        jc_watch *w = *link;
        if (w->code == code) {
            *link = w->next;
            if (w->release != NULL) {
                w->release(w->arg);
            }
            Py_DECREF(w->code);
            PyMem_Free(w);
            return;
        }
    }
}

static int add_watch(PyCodeObject *code, jc_watcher watch, void *arg, void (*release)(void *))
{
    jc_watch *w = PyMem_New(jc_watch, 1);
    if (w == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    drop_watch(code);
    *w = (jc_watch){watches, (PyCodeObject *)Py_NewRef((PyObject *)code), watch, arg, release, -1};
    watches = w;
    return 0;
}

#if JC_V311
#define TRACED_EVENTS 10000

/* The tracer watches lines: a line whose first unit is not behind the last one's was reached by a jump back. */
static int events_left;         /* a tracer slows its thread down: it goes when the loop does not come */

static int trace_lines(PyObject *self, PyFrameObject *object, int what, PyObject *arg)
{
    PyThreadState *ts = jc_thread();
    jc_frame *f = object->f_frame;
    PyCodeObject *code = jc_frame_code(f);
    jc_watch *w = find_watch(code);
    int done = JC_WATCH_ON;
    if (what == PyTrace_LINE && w != NULL) {
        int unit = jc_frame_unit(f);
        if (w->last >= 0 && unit <= w->last) {
            Py_INCREF(code);
            jc_set_tracer(ts, NULL);        /* nobody watches what native code calls */
            done = w->watch(ts, f, unit, w->arg);
            if (done == JC_WATCH_DONE || done == JC_WATCH_ERROR) {
                drop_watch(code);
            }
            if (ts->c_tracefunc == NULL && watches != NULL) {
                jc_set_tracer(ts, trace_lines);
                events_left = TRACED_EVENTS;
            }
            w = find_watch(code);
            Py_DECREF(code);
        }
        if (w != NULL) {
            w->last = jc_frame_unit(f);
        }
    }
    if ((--events_left <= 0 || watches == NULL) && ts->c_tracefunc == trace_lines) {
        jc_set_tracer(ts, NULL);
    }
    return done < 0 ? -1 : 0;
}

const Py_tracefunc jc_own_tracer = trace_lines;

/* Runs at a check of the eval breaker (that of JUMP_BACKWARD, where a loop runs): the tracer belongs to the
 * evaluation that is current there, and would not be seen if it were set from a callee. */
static int arm_tracer(void *unused)
{
    PyThreadState *ts = jc_thread();
    if (watches != NULL && ts->c_tracefunc == NULL && ts->c_profilefunc == NULL) {
        events_left = TRACED_EVENTS;
        jc_set_tracer(ts, trace_lines);
    }
    return 0;
}

int jc_loop_watch(PyCodeObject *code, jc_watcher watch, void *arg, void (*release)(void *))
{
    if (add_watch(code, watch, arg, release) < 0) {
        return -1;
    }
    if (Py_AddPendingCall(arm_tracer, NULL) < 0) {
        drop_watch(code);
        PyErr_SetString(PyExc_RuntimeError, "the queue of pending calls is full");
        return -1;
    }
    return 0;
}

int jc_loop_watch_next(PyCodeObject *code, jc_watcher watch, void *arg, void (*release)(void *))
{
    if (add_watch(code, watch, arg, release) < 0) {
        return -1;
    }
    arm_tracer(NULL);
    return 0;
}

int jc_loop_unwatch(PyCodeObject *code)
{
    PyThreadState *ts = jc_thread();
    drop_watch(code);
    if (watches == NULL && ts->c_tracefunc == trace_lines) {
        jc_set_tracer(ts, NULL);
    }
    return 0;
}
#else
const Py_tracefunc jc_own_tracer = NULL;

static PyObject *monitoring;    /* sys.monitoring, once a tool number is ours */
static PyObject *disable;       /* sys.monitoring.DISABLE */
static int tool = -1;
static long jump_event;

static int set_events(PyCodeObject *code, long events)
{
    PyObject *r = PyObject_CallMethod(monitoring, "set_local_events", "iOl", tool, (PyObject *)code, events);
    Py_XDECREF(r);
    return r == NULL ? -1 : 0;
}

static PyObject *on_jump(PyObject *self, PyObject *const *args, Py_ssize_t n)     /* code, from, to: in bytes */
{
    long from = n == 3 ? PyLong_AsLong(args[1]) : -1, to = n == 3 ? PyLong_AsLong(args[2]) : -1;
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (to >= from) {
        return Py_NewRef(disable);
    }
    PyThreadState *ts = jc_thread();
    jc_frame *f = JC_CURRENT(ts);
    while (f != NULL && !jc_frame_is_python(f)) {
        f = f->previous;
    }
    jc_watch *w = find_watch((PyCodeObject *)args[0]);
    if (w == NULL || f == NULL || (PyObject *)jc_frame_code(f) != args[0]) {
        return Py_NewRef(Py_None);
    }
    int done = w->watch(ts, f, (int)(to / 2), w->arg);
    if (done == JC_WATCH_DONE || done == JC_WATCH_ERROR) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        int failed = jc_loop_unwatch((PyCodeObject *)args[0]);
        if (type != NULL) {
            PyErr_Restore(type, value, traceback);
        }
        done = failed < 0 ? JC_WATCH_ERROR : done;
    }
    return done < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef on_jump_def = {"on_jump", (PyCFunction)(void (*)(void))on_jump, METH_FASTCALL, NULL};

/* Takes the first free tool number; numbers that the standard library names come last. */
static int get_tool(void)
{
    static const int order[] = {4, 3, 5, 1, 2, 0};
    if (tool >= 0) {
        return 0;
    }
    PyObject *module = PySys_GetObject("monitoring"), *events = NULL, *callback = NULL, *event = NULL, *r = NULL;
    if (module == NULL || (events = PyObject_GetAttrString(module, "events")) == NULL
        || (event = PyObject_GetAttrString(events, "JUMP")) == NULL
        || (disable == NULL && (disable = PyObject_GetAttrString(module, "DISABLE")) == NULL)
        || (callback = PyCFunction_New(&on_jump_def, NULL)) == NULL) {
        goto done;
    }
    for (size_t i = 0; i < sizeof order / sizeof *order && tool < 0; i++) {
        Py_XSETREF(r, PyObject_CallMethod(module, "use_tool_id", "is", order[i], "jitcore"));
        if (r != NULL) {
            tool = order[i];
        }
        else if (!PyErr_ExceptionMatches(PyExc_ValueError)) {
            goto done;
        }
        else {
            PyErr_Clear();
        }
    }
    if (tool < 0) {
        PyErr_SetString(PyExc_RuntimeError, "all numbers of monitoring tools are taken");
        goto done;
    }
    Py_XSETREF(r, PyObject_CallMethod(module, "register_callback", "iOO", tool, event, callback));
    if (r == NULL) {
        tool = -1;
        goto done;
    }
    jump_event = PyLong_AsLong(event);
    monitoring = Py_NewRef(module);
    jc_loop_tools = 1u << tool;
done:
    Py_XDECREF(events);
    Py_XDECREF(event);
    Py_XDECREF(callback);
    Py_XDECREF(r);
    return tool < 0 ? -1 : 0;
}

int jc_loop_watch(PyCodeObject *code, jc_watcher watch, void *arg, void (*release)(void *))
{
    if (get_tool() < 0 || add_watch(code, watch, arg, release) < 0) {
        return -1;
    }
    if (set_events(code, jump_event) < 0) {
        drop_watch(code);
        return -1;
    }
    return 0;
}

int jc_loop_watch_next(PyCodeObject *code, jc_watcher watch, void *arg, void (*release)(void *))
{
    return jc_loop_watch(code, watch, arg, release);
}

int jc_loop_unwatch(PyCodeObject *code)
{
    Py_INCREF(code);
    int status = find_watch(code) != NULL ? set_events(code, 0) : 0;
    drop_watch(code);
    Py_DECREF(code);
    return status;
}
#endif

int jc_frames_init(PyObject *module)
{
    /* The address is not exported on every version: ask a function. */
    PyObject *globals = PyDict_New(), *r = NULL, *func;
    if (globals != NULL && PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins()) == 0) {
        r = PyRun_String("def f(): pass", Py_file_input, globals, globals);
    }
    if (r != NULL && (func = PyDict_GetItemString(globals, "f")) != NULL) {
        jc_plain_function = jc_function_entry(func);
    }
    Py_XDECREF(r);
    Py_XDECREF(globals);
    return jc_plain_function != NULL ? 0 : -1;
}
