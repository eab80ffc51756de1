/* Running loops: native code gets in again at a back edge.
 *
 * Job: where the interpreter takes a frame over and loops are ahead, watch for a back edge of the code; when one comes,
 * find a region for the loop's first instruction and the state of the frame, and run it there, in place.
 * Invariants: a watch is on only while frames of the code that the interpreter has taken over run, and never where
 * somebody else watches; what gains nothing is tried ever more seldom, so that a loop that leaves in each trip is
 * not slowed.  Used by dispatch.c, flow.c and, for functions that run when they are marked, by `runtime`.
 */
#include "core.h"

#include <time.h>

#define WARM 8                  /* back edges that the interpreter runs before a region is asked for */
#define SHORT_NS 2000           /* native code that ran for less has not paid for getting in */
#define KEPT 100                /* back edges in turn at which somebody holds the frame object, after which it is given up */
#define VAIN 8                  /* entries in turn that gained nothing, after which a frame is given up */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Notes whether getting in paid.  Where it mostly does not, the next hand-overs are not watched. */
static void note(jc_table *t, bool useless)
{
    t->useless = t->useless << 1 | useless;
    if (!useless) {
        t->next_rest = 0;
    }
    else if (__builtin_popcount(t->useless & 0xFFFF) > VAIN) {
        t->next_rest = t->next_rest == 0 ? 16 : t->next_rest < 1 << 20 ? 2 * t->next_rest : t->next_rest;
        t->rest = t->next_rest;
        t->useless = t->useless << 8 | 0x0F;        /* after the rest a few more are needed to rest again */
    }
}

/* The loop goes round: the region that fits, if any, runs here. */
static int on_back_edge(PyThreadState *ts, jc_frame *f, int unit, void *arg)
{
    PyCodeObject *code = jc_frame_code(f);
    jc_table *t = jc_table_of(code);
    int done = JC_WATCH_ON;
    if (t == NULL || !t->active || jc_observed(ts, code, jc_loop_tools)) {
        done = JC_WATCH_DONE;
    }
    else if (jc_frame_kept(f)) {        /* by an exception that is being handled, maybe for ever */
        done = ++t->kept > KEPT ? JC_WATCH_DONE : JC_WATCH_ON;
    }
    else if (t->skip > 0) {
        t->skip--;
    }
    else if (t->handling || jc_interrupted(ts)) {   /* pending events are served first */
        ;
    }
    else if (jc_table_list(t, unit) == NULL && ++t->edges < WARM) {
        ;
    }
    else {
        jc_flow flow = {.table = t, .func = jc_frame_func(f), .unit = unit, .in_place = true, .header = unit};
        PyObject *func = Py_NewRef(flow.func);
        Py_INCREF(code);
        t->kept = 0;
        jc_depth++;
        int64_t start = now_ns();
        int status = jc_flow_in_place(ts, f, &flow);
        int64_t ran = now_ns() - start;
        jc_depth--;
        t->n.loop_entries += flow.entered > 0;
        note(t, flow.entered == 0 || flow.restarted || ran < SHORT_NS);
        if (flow.restarted) {       /* the interpreter has to do that much first */
            t->next_skip = t->next_skip == 0 ? 64 : t->next_skip < 1 << 20 ? 2 * t->next_skip : t->next_skip;
            t->skip = t->next_skip;
        }
        if (flow.entered == 0 || t->rest > 0) {
            done = JC_WATCH_DONE;
        }
        if (status < 0) {
            done = done == JC_WATCH_DONE ? JC_WATCH_ERROR : JC_WATCH_ERROR_ON;
        }
        Py_DECREF(func);
        Py_DECREF(code);
    }
    if (t != NULL && (done == JC_WATCH_DONE || done == JC_WATCH_ERROR)) {
        t->watched = false;
    }
    return done;
}

/* ---- arming ------------------------------------------------------------------------------------- */
/* Whether a back edge is ahead of `unit` that may be watched now. */
static bool worth_watching(PyThreadState *ts, jc_table *t, int unit)
{
    if (JC_UNLIKELY(t->last_back == -2)) {
        t->last_back = jc_code_last_back(t->code);
        if (t->last_back == -2) {
            PyErr_Clear();
        }
    }
    if (unit > t->last_back || !t->active) {
        return false;
    }
    if (t->rest > 0) {
        t->rest--;
        return false;
    }
    return !jc_observed(ts, t->code, jc_loop_tools);
}

static bool arm(PyThreadState *ts, jc_table *t, int unit)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    bool armed = worth_watching(ts, t, unit);
    if (armed && !t->watched) {
        armed = t->watched = jc_loop_watch_next(t->code, on_back_edge, NULL, NULL) == 0;
        PyErr_Clear();
    }
    t->armed += armed;
    PyErr_Restore(type, value, traceback);
    return armed;
}

static void disarm(jc_table *t)
{
    t->armed--;
    if (t->armed == 0 && t->watched) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        t->watched = false;
        note(t, true);          /* no loop has come, or too few trips */
        if (jc_loop_unwatch(t->code) < 0) {
            PyErr_WriteUnraisable((PyObject *)t->code);
        }
        PyErr_Restore(type, value, traceback);
    }
}

void jc_loops_end(jc_table *t)
{
    if (t->watched) {
        t->watched = false;
        if (jc_loop_unwatch(t->code) < 0) {
            PyErr_WriteUnraisable((PyObject *)t->code);
        }
    }
}

PyObject *jc_loops_go(PyThreadState *ts, jc_frame *f, jc_table *t, int unit)
{
    if (JC_LIKELY(!arm(ts, t, unit))) {
        return jc_frame_go(ts, f, unit);
    }
    PyCodeObject *code = (PyCodeObject *)Py_NewRef((PyObject *)t->code);
    PyObject *result = jc_frame_go(ts, f, unit);
    disarm(t);
    Py_DECREF(code);
    return result;
}

PyObject *jc_loops_throw(PyThreadState *ts, jc_frame *f, jc_table *t, int unit)
{
    /* Without a handler the frame is left. */
    if (jc_code_handler(t->code, unit) < 0 || !arm(ts, t, 0)) {
        return jc_frame_throw(ts, f, unit);
    }
    PyCodeObject *code = (PyCodeObject *)Py_NewRef((PyObject *)t->code);
    PyObject *result = jc_frame_throw(ts, f, unit);
    disarm(t);
    Py_DECREF(code);
    return result;
}

PyObject *jc_loops_rebuild(PyThreadState *ts, jc_frame *f, jc_table *t, jc_rebuild *spec)
{
    if (!arm(ts, t, spec->unit)) {
        return jc_frame_rebuild(ts, f, spec);
    }
    PyCodeObject *code = (PyCodeObject *)Py_NewRef((PyObject *)t->code);
    PyObject *result = jc_frame_rebuild(ts, f, spec);
    disarm(t);
    Py_DECREF(code);
    return result;
}

PyObject *jc_loops_call(PyThreadState *ts, jc_table *t, PyObject *func, PyObject *const *args, size_t nargsf,
                        PyObject *kwnames)
{
    if (JC_LIKELY(!arm(ts, t, 0))) {
        return jc_plain_function(func, args, nargsf, kwnames);
    }
    PyCodeObject *code = (PyCodeObject *)Py_NewRef((PyObject *)t->code);
    PyObject *result = jc_plain_function(func, args, nargsf, kwnames);
    disarm(t);
    Py_DECREF(code);
    return result;
}

/* ---- for Python ---------------------------------------------------------------------------------- */
/* watch_loops(code): frames of the code that run now get native code at their next back edge. */
static PyObject *watch_loops(PyObject *module, PyObject *code)
{
    if (!PyCode_Check(code)) {
        return PyErr_Format(PyExc_TypeError, "expected a code object, not %.100s", Py_TYPE(code)->tp_name);
    }
    jc_table *t = jc_table_make((PyCodeObject *)code);
    if (t == NULL) {
        return NULL;
    }
    if (t->watched || !worth_watching(jc_thread(), t, 0)) {
        Py_RETURN_FALSE;
    }
    if (jc_loop_watch((PyCodeObject *)code, on_back_edge, NULL, NULL) < 0) {
        return NULL;
    }
    t->watched = true;
    Py_RETURN_TRUE;
}

static PyObject *is_watched(PyObject *module, PyObject *code)
{
    jc_table *t = PyCode_Check(code) ? jc_table_of((PyCodeObject *)code) : NULL;
    return PyBool_FromLong(t != NULL && t->watched);
}

static PyMethodDef methods[] = {
    {"watch_loops", watch_loops, METH_O,
     "watch_loops(code) -> whether frames of it that run now will be entered at a back edge."},
    {"is_watched", is_watched, METH_O, "is_watched(code): a watch for its back edges is on."},
    {NULL},
};

int jc_loops_init(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
