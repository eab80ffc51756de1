/* Finding hot functions without marks: how many operations of NumPy ran in each.
 *
 * Job: while `enable()` holds, count what entries.c sees for the function whose frame is running.  A function that has
 * come to enough is shown to `runtime`, which marks it.
 * Invariants: counters live in the co_extra of code objects and are gone when counting stops; no Python code runs here
 * while an exception is under way or the thread is watched.  Main interpreter only.
 */
#include "core.h"

#define MAX_STEPS 16            /* frames that are looked at for one operation */
#define MAX_FUNCTIONS 1000      /* function objects with one code that are marked as they come */

bool jc_counting;

/* THROUGH: not to be marked, the caller is meant.  NEVER: neither.  MARKED: functions with this code are marked as
 * they come. */
enum { COUNTED, MARKED, THROUGH, NEVER };
static const char *const kind_names[] = {"counted", "marked", "through", "never"};

/* What is known of one code object; lives in its co_extra. */
typedef struct heat {
    struct heat *next, *previous;
    PyCodeObject *code;         /* [borrowed]: the owner */
    int kind;
    bool nested;                /* of functions that are made inside others: counts for the caller too */
    int functions;
    int64_t n, limit;
} heat;

static Py_ssize_t heat_index = -1;
static heat *heats;
static int64_t first_limit;
static bool started;
static PyInterpreterState *home;
static PyObject *judge_handler, *hot_handler;

/* ---- counters ------------------------------------------------------------------------------------ */
static void unlink_heat(heat *h)
{
    if (h->previous != NULL) {
        h->previous->next = h->next;
    }
    else {
        heats = h->next;
    }
    if (h->next != NULL) {
        h->next->previous = h->previous;
    }
    PyMem_Free(h);
}

/* Called when the code object dies. */
static void heat_free(void *p)
{
    if (p != NULL) {
        unlink_heat((heat *)p);
    }
}

static heat *heat_of(PyCodeObject *code)
{
    return (heat *)jc_code_extra(code, heat_index);
}

static void drop_heats(void)
{
    while (heats != NULL) {
        (void)jc_code_set_extra(heats->code, heat_index, NULL);    /* calls heat_free; cannot fail: the slot exists */
    }
}

/* NULL with an exception set. */
static heat *make_heat(PyCodeObject *code, int kind, bool nested)
{
    heat *h = PyMem_Calloc(1, sizeof *h);
    if (h == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    h->code = code;
    h->kind = kind;
    h->nested = nested;
    h->limit = first_limit;
    if (jc_code_set_extra(code, heat_index, h) < 0) {
        PyMem_Free(h);
        return NULL;
    }
    h->next = heats;
    if (heats != NULL) {
        heats->previous = h;
    }
    heats = h;
    return h;
}

/* ---- what Python is asked ------------------------------------------------------------------------ */
/* handler(func, number) as a number; -1 with an exception set.  Where there was no room left to call it, `otherwise`. */
static int64_t ask(PyObject *handler, PyObject *func, int64_t number, int64_t otherwise)
{
    PyObject *keep = Py_NewRef(handler);
    PyObject *answer = PyObject_CallFunction(keep, "OL", func, (long long)number);
    int64_t value = answer != NULL ? (int64_t)PyLong_AsLongLong(answer) : -1;
    Py_XDECREF(answer);
    Py_DECREF(keep);
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_RecursionError)) {
            return -1;
        }
        PyErr_Clear();
        return otherwise;
    }
    return value;
}

/* No Python code may run now: an exception is under way, somebody watches this thread.  Or the function has got another
 * code than the one that runs. */
static bool untimely(PyThreadState *ts, jc_frame *f)
{
    PyCodeObject *code = jc_frame_code(f);
    return PyErr_Occurred() != NULL || jc_observed(ts, code, jc_loop_tools) || jc_function_code(jc_frame_func(f)) != code;
}

/* A code object that was not met before.  NULL: nothing is counted, with *error if an exception is set. */
static heat *look_at(PyThreadState *ts, jc_frame *f, bool *error)
{
    PyCodeObject *code = jc_frame_code(f);
    if (untimely(ts, f) || judge_handler == NULL) {
        return NULL;
    }
    Py_INCREF(code);
    PyObject *func = Py_NewRef(jc_frame_func(f));
    int64_t kind = ask(judge_handler, func, 0, -1);
    heat *h = NULL;
    *error = PyErr_Occurred() != NULL;
    if (kind >= 0 && jc_counting && (h = heat_of(code)) == NULL) {
        h = make_heat(code, (int)kind, (code->co_flags & CO_NESTED) != 0);
        *error = h == NULL;
    }
    Py_DECREF(func);
    Py_DECREF(code);
    return h;
}

/* Calls of a class that were specialised for a simple __init__ do not look at the function any more (3.13): every class
 * that has it is told that it changed. */
static void touch_classes(PyObject *func, jc_frame *f)
{
#if JC_V313
    PyObject *name = ((PyFunctionObject *)func)->func_name;
    if (jc_code_nslots(jc_frame_code(f)) == 0 || PyUnicode_CompareWithASCIIString(name, "__init__") != 0) {
        return;
    }
    PyObject *self = jc_frame_slots(f)[0];
    if (self != NULL && PyCell_Check(self)) {
        self = PyCell_GET(self);
    }
    PyObject *mro = self != NULL ? Py_XNewRef(Py_TYPE(self)->tp_mro) : NULL;
    for (Py_ssize_t i = 0; mro != NULL && i < PyTuple_GET_SIZE(mro); i++) {
        PyTypeObject *type = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
        PyObject *dict = PyType_GetDict(type);
        if (dict != NULL && PyDict_GetItemWithError(dict, name) == func) {
            PyType_Modified(type);
        }
        Py_XDECREF(dict);
    }
    PyErr_Clear();
    Py_XDECREF(mro);
#endif
}

/* Enough was counted, or a function came whose code is marked already.  0; -1 with an exception set. */
static int hot(PyThreadState *ts, jc_frame *f, heat *h)
{
    PyCodeObject *code = jc_frame_code(f);
    if (untimely(ts, f) || hot_handler == NULL) {
        h->limit = h->n + first_limit;
        return 0;
    }
    Py_INCREF(code);
    PyObject *func = Py_NewRef(jc_frame_func(f));
    int64_t n = h->n;
    h->limit = INT64_MAX;       /* other threads go on meanwhile */
    h->functions++;
    int64_t answer = ask(hot_handler, func, n, n + 1);
    bool error = PyErr_Occurred() != NULL;
    if ((h = heat_of(code)) != NULL) {
        if (error || answer > 0) {
            h->limit = h->n + (error ? first_limit : answer);
        }
        else {
            h->kind = answer < 0 && h->functions < MAX_FUNCTIONS ? MARKED : h->nested ? THROUGH : NEVER;
        }
    }
    if (!error && answer < 0) {
        touch_classes(func, f);
    }
    Py_DECREF(func);
    Py_DECREF(code);
    return error ? -1 : 0;
}

/* ---- counting ------------------------------------------------------------------------------------ */
static int count_frame(PyThreadState *ts, int64_t weight)
{
    jc_frame *f = jc_frame_current(ts);
    for (int step = 0; f != NULL && step < MAX_STEPS; step++, f = jc_frame_back(f)) {
        heat *h = heat_of(jc_frame_code(f));
        if (JC_UNLIKELY(h == NULL)) {
            PyObject *func = jc_frame_func(f);
            bool error = false;
            if (func == NULL || !jc_is_function(func)) {
                continue;       /* the interpreter's own code between a class and its __init__ */
            }
            h = look_at(ts, f, &error);
            if (h == NULL) {
                return error ? -1 : 0;
            }
        }
        if (h->kind == THROUGH) {
            continue;
        }
        if (h->kind == NEVER) {
            return 0;
        }
        h->n += weight;
        bool nested = h->nested;
        if (JC_UNLIKELY(h->kind == COUNTED ? h->n >= h->limit
                        : jc_depth < JC_MAX_DEPTH && !jc_function_enters(jc_frame_func(f)))) {
            if (hot(ts, f, h) < 0) {
                return -1;
            }
        }
        if (!nested) {
            return 0;
        }
    }
    return 0;
}

int jc_count_call(PyThreadState *ts)
{
    return jc_thread_interpreter(ts) == home ? count_frame(ts, 1) : 0;
}

int jc_count(int64_t weight)
{
    PyThreadState *ts = jc_thread();
    if (JC_UNLIKELY(ts == NULL || jc_thread_interpreter(ts) != home)) {
        return 0;
    }
    return count_frame(ts, weight);
}

/* ---- for Python ---------------------------------------------------------------------------------- */
static void stop(void)
{
    jc_counting = false;
    jc_entries_take_out();
    drop_heats();
}

static PyObject *start_discovery(PyObject *module, PyObject *args)
{
    PyObject *tuple;
    long long limit;
    if (!PyArg_ParseTuple(args, "O!L:start_discovery", &PyTuple_Type, &tuple, &limit)) {
        return NULL;
    }
    stop();
    first_limit = limit < 1 ? 1 : limit;
    if (jc_entries_put_in(tuple) < 0) {
        return NULL;
    }
    started = true;
    jc_counting = true;
    Py_RETURN_NONE;
}

static PyObject *stop_discovery(PyObject *module, PyObject *unused)
{
    stop();
    started = false;
    Py_RETURN_NONE;
}

static PyObject *pause_discovery(PyObject *module, PyObject *on)
{
    int pause = PyObject_IsTrue(on);
    if (pause < 0) {
        return NULL;
    }
    jc_counting = !pause && started;
    Py_RETURN_NONE;
}

static PyObject *set_discovery_handlers(PyObject *module, PyObject *args)
{
    PyObject *judge, *hot_one;
    if (!PyArg_ParseTuple(args, "OO:set_discovery_handlers", &judge, &hot_one)) {
        return NULL;
    }
    Py_XSETREF(judge_handler, Py_NewRef(judge));
    Py_XSETREF(hot_handler, Py_NewRef(hot_one));
    Py_RETURN_NONE;
}

static PyObject *heat_for_python(PyObject *module, PyObject *code)
{
    if (!PyCode_Check(code)) {
        return PyErr_Format(PyExc_TypeError, "expected a code object, not %.100s", Py_TYPE(code)->tp_name);
    }
    heat *h = heat_of((PyCodeObject *)code);
    if (h == NULL) {
        Py_RETURN_NONE;
    }
    return Py_BuildValue("sLL", kind_names[h->kind], (long long)h->n, (long long)h->limit);
}

static PyObject *testing_heats(PyObject *module, PyObject *unused)
{
    long n = 0;
    for (heat *h = heats; h != NULL; h = h->next) {
        n++;
    }
    return PyLong_FromLong(n);
}

static PyMethodDef methods[] = {
    {"start_discovery", start_discovery, METH_VARARGS, "start_discovery(ufuncs, limit): counts from now on, from 0."},
    {"stop_discovery", stop_discovery, METH_NOARGS, "stop_discovery(): NumPy's tables are as before, no counter is left."},
    {"pause_discovery", pause_discovery, METH_O, "pause_discovery(pause): counts nothing, or goes on if it was started."},
    {"set_discovery_handlers", set_discovery_handlers, METH_VARARGS, "set_discovery_handlers(judge, hot)"},
    {"heat", heat_for_python, METH_O, "heat(code) -> (kind, n, limit), or None"},
    {"_testing_heats", testing_heats, METH_NOARGS, NULL},
    {NULL},
};

int jc_discovery_init(PyObject *module)
{
    home = jc_thread_interpreter(jc_thread());
    heat_index = jc_request_extra(heat_free);
    if (heat_index < 0) {
        PyErr_SetString(PyExc_RuntimeError, "no slot left for data of code objects");
        return -1;
    }
    return PyModule_AddFunctions(module, methods);
}
