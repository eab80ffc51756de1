/* Finding hot functions without marks: counters at NumPy's entry points.
 *
 * Job: while `enable()` holds, every call of a ufunc, every ufunc.reduce and accumulate, and every a[i], a[i] = v and
 * step of an iteration over an array passes here first and is counted for the function whose frame is running.  A
 * function that has come to enough of them is shown to `runtime`, which marks it.
 * Invariants: nothing here changes what an operation does; what was put into NumPy's tables is taken out again where it
 * still lies there, and where it does not (somebody wrapped it, a type inherited it) it goes on handing calls through for
 * good.  Counters live in the co_extra of code objects and are gone when counting stops.  Main interpreter only.
 *
 * The number slots of arrays need no counter: NumPy's own functions in them call the ufuncs, and compare the slots of
 * both operands with themselves.
 */
#include "core.h"
#define NO_IMPORT_UFUNC
#define PY_UFUNC_UNIQUE_SYMBOL jc_ufunc_api
#include "npyapi.h"
#include <numpy/ufuncobject.h>

#define MAX_STEPS 16            /* frames that are looked at for one operation */
#define MAX_FUNCTIONS 1000      /* function objects with one code that are marked as they come */
#define ELEMENTS 10             /* 2**10 elements count as much as an operation on a few */

bool jc_counting;
void (*jc_hot_running)(PyThreadState *ts, PyObject *func, jc_frame *f);

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
        if (jc_hot_running != NULL) {
            jc_hot_running(ts, func, f);
        }
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

static inline int64_t weight_of(PyObject *o)
{
    return PyArray_CheckExact(o) ? PyArray_SIZE((PyArrayObject *)o) >> ELEMENTS : 0;
}

/* Counts an operation.  -1 with an exception set: a signal's handler raised. */
static inline int count(int64_t weight)
{
    PyThreadState *ts = jc_thread();
    if (JC_UNLIKELY(ts == NULL || jc_thread_interpreter(ts) != home)) {
        return 0;
    }
    return count_frame(ts, 1 + weight);
}

/* ---- entry points -------------------------------------------------------------------------------- */
/* Where each went before; set once, for good. */
static binaryfunc plain_subscript;
static objobjargproc plain_ass_subscript;
static ssizeargfunc plain_item;
static vectorcallfunc plain_ufunc;
typedef PyObject *(*method)(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames);
static method plain_reduce, plain_accumulate;

static PyObject *count_subscript(PyObject *self, PyObject *key)
{
    return jc_counting && count(0) < 0 ? NULL : plain_subscript(self, key);
}

static int count_ass_subscript(PyObject *self, PyObject *key, PyObject *value)
{
    return jc_counting && count(0) < 0 ? -1 : plain_ass_subscript(self, key, value);
}

static PyObject *count_item(PyObject *self, Py_ssize_t index)
{
    return jc_counting && count(0) < 0 ? NULL : plain_item(self, index);
}

static PyObject *count_ufunc(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    if (JC_LIKELY(jc_counting)) {
        Py_ssize_t n = PyVectorcall_NARGS(nargsf);
        int64_t weight = n > 0 ? weight_of(args[0]) : 0;
        if (weight == 0 && n > 1) {
            weight = weight_of(args[1]);
        }
        if (JC_UNLIKELY(count(weight) < 0)) {
            return NULL;
        }
    }
    return plain_ufunc(self, args, nargsf, kwnames);
}

static PyObject *count_reduce(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    return jc_counting && count(n > 0 ? weight_of(args[0]) : 0) < 0 ? NULL : plain_reduce(self, args, n, kwnames);
}

static PyObject *count_accumulate(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    return jc_counting && count(n > 0 ? weight_of(args[0]) : 0) < 0 ? NULL : plain_accumulate(self, args, n, kwnames);
}

/* One pointer in NumPy's tables. */
typedef void (*any_function)(void);
typedef struct {
    const char *name;
    any_function *place, *plain;
    any_function ours;
} entry_point;
#define N_ENTRIES 5
static entry_point entries[N_ENTRIES];
static PyObject *ufuncs;        /* tuple of those that are counted [owned], NULL while there are none */

/* Ours goes in where NumPy's own function lies, or, the first time, whatever lies there.  Later another function may
 * be one that hands its calls on to ours: it is left alone. */
static void put_in(any_function *place, any_function *plain, any_function ours)
{
    if (*plain == NULL) {
        *plain = *place;
    }
    if (*place == *plain) {
        *place = ours;
    }
}

static void take_out(any_function *place, any_function plain, any_function ours)
{
    if (*place == ours) {
        *place = plain;
    }
}

static any_function *ufunc_place(PyObject *ufunc)
{
    return (any_function *)&((PyUFuncObject *)ufunc)->vectorcall;
}

/* The place of a ufunc's method in the table of its type, if its convention is the one that is expected. */
static any_function *method_place(const char *name)
{
    PyObject *d = PyDict_GetItemString(PyUFunc_Type.tp_dict, name);
    if (d == NULL || !Py_IS_TYPE(d, &PyMethodDescr_Type)) {
        return NULL;
    }
    PyMethodDef *def = ((PyMethodDescrObject *)d)->d_method;
    return def->ml_flags == (METH_FASTCALL | METH_KEYWORDS) ? (any_function *)&def->ml_meth : NULL;
}

static void find_entries(void)
{
    PyMappingMethods *mapping = PyArray_Type.tp_as_mapping;
    PySequenceMethods *sequence = PyArray_Type.tp_as_sequence;
    entry_point all[N_ENTRIES] = {
        {"mp_subscript", (any_function *)&mapping->mp_subscript, (any_function *)&plain_subscript,
         (any_function)count_subscript},
        {"mp_ass_subscript", (any_function *)&mapping->mp_ass_subscript, (any_function *)&plain_ass_subscript,
         (any_function)count_ass_subscript},
        {"sq_item", (any_function *)&sequence->sq_item, (any_function *)&plain_item, (any_function)count_item},
        {"reduce", method_place("reduce"), (any_function *)&plain_reduce, (any_function)count_reduce},
        {"accumulate", method_place("accumulate"), (any_function *)&plain_accumulate, (any_function)count_accumulate},
    };
    memcpy(entries, all, sizeof all);
}

/* ---- for Python ---------------------------------------------------------------------------------- */
static void stop(void)
{
    jc_counting = false;
    for (int i = 0; i < N_ENTRIES; i++) {
        if (entries[i].place != NULL) {
            take_out(entries[i].place, *entries[i].plain, entries[i].ours);
        }
    }
    for (Py_ssize_t i = 0; ufuncs != NULL && i < PyTuple_GET_SIZE(ufuncs); i++) {
        take_out(ufunc_place(PyTuple_GET_ITEM(ufuncs, i)), (any_function)plain_ufunc, (any_function)count_ufunc);
    }
    drop_heats();
    Py_CLEAR(ufuncs);
}

static PyObject *start_discovery(PyObject *module, PyObject *args)
{
    PyObject *tuple;
    long long limit;
    if (!PyArg_ParseTuple(args, "O!L:start_discovery", &PyTuple_Type, &tuple, &limit)) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        if (!PyObject_TypeCheck(PyTuple_GET_ITEM(tuple, i), &PyUFunc_Type)) {
            return PyErr_Format(PyExc_TypeError, "expected a tuple of ufuncs");
        }
    }
    stop();
    first_limit = limit < 1 ? 1 : limit;
    for (int i = 0; i < N_ENTRIES; i++) {
        if (entries[i].place != NULL) {
            put_in(entries[i].place, entries[i].plain, entries[i].ours);
        }
    }
    ufuncs = Py_NewRef(tuple);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        if (((PyUFuncObject *)PyTuple_GET_ITEM(tuple, i))->vectorcall != NULL) {
            put_in(ufunc_place(PyTuple_GET_ITEM(tuple, i)), (any_function *)&plain_ufunc, (any_function)count_ufunc);
        }
    }
    jc_counting = true;
    Py_RETURN_NONE;
}

static PyObject *stop_discovery(PyObject *module, PyObject *unused)
{
    stop();
    Py_RETURN_NONE;
}

static PyObject *pause_discovery(PyObject *module, PyObject *on)
{
    int pause = PyObject_IsTrue(on);
    if (pause < 0) {
        return NULL;
    }
    jc_counting = !pause && ufuncs != NULL;
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

/* Every pointer that counting may have changed, by name, and how many counters there are. */
static PyObject *testing_entries(PyObject *module, PyObject *list)
{
    PyObject *dict = PyDict_New();
    long long n = 0;
    for (int i = 0; dict != NULL && i < N_ENTRIES; i++) {
        PyObject *v = PyLong_FromVoidPtr(entries[i].place != NULL ? (void *)*entries[i].place : NULL);
        if (v == NULL || PyDict_SetItemString(dict, entries[i].name, v) < 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(v);
    }
    for (Py_ssize_t i = 0; dict != NULL && PyTuple_Check(list) && i < PyTuple_GET_SIZE(list); i++) {
        PyObject *v = PyLong_FromVoidPtr((void *)*ufunc_place(PyTuple_GET_ITEM(list, i)));
        if (v == NULL || PyDict_SetItem(dict, PyTuple_GET_ITEM(list, i), v) < 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(v);
    }
    for (heat *h = heats; h != NULL; h = h->next) {
        n++;
    }
    return dict != NULL ? Py_BuildValue("NL", dict, n) : NULL;
}

/* Puts a pointer into an entry (another library's, for the tests); gives the one that was there. */
static PyObject *testing_set_entry(PyObject *module, PyObject *args)
{
    const char *name;
    PyObject *pointer;
    if (!PyArg_ParseTuple(args, "sO:set_entry", &name, &pointer)) {
        return NULL;
    }
    void *value = PyLong_AsVoidPtr(pointer);
    for (int i = 0; !PyErr_Occurred() && i < N_ENTRIES; i++) {
        if (strcmp(entries[i].name, name) == 0 && entries[i].place != NULL) {
            PyObject *before = PyLong_FromVoidPtr((void *)*entries[i].place);
            *entries[i].place = (any_function)value;
            return before;
        }
    }
    return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "there is no entry %s", name);
}

static PyMethodDef methods[] = {
    {"start_discovery", start_discovery, METH_VARARGS, "start_discovery(ufuncs, limit): counts from now on, from 0."},
    {"stop_discovery", stop_discovery, METH_NOARGS, "stop_discovery(): NumPy's tables are as before, no counter is left."},
    {"pause_discovery", pause_discovery, METH_O, "pause_discovery(pause): counts nothing, or goes on if it was started."},
    {"set_discovery_handlers", set_discovery_handlers, METH_VARARGS, "set_discovery_handlers(judge, hot)"},
    {"heat", heat_for_python, METH_O, "heat(code) -> (kind, n, limit), or None"},
    {"_testing_entries", testing_entries, METH_O, NULL},
    {"_testing_set_entry", testing_set_entry, METH_VARARGS, NULL},
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
    find_entries();
    return PyModule_AddFunctions(module, methods);
}
