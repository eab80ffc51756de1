/* Marked functions: where their calls enter, and how a call gets its region.
 *
 * Job: mark and unmark; bind arguments without a frame; find and enter the region at unit 0; keep deep recursion as
 * cheap in C stack as without jitcore.
 * Invariants: a marked function is the same object with another entry, and every call that is not entered natively
 * is CPython's own call of it with the arguments as given; a hit that returns makes no frame.  Only `runtime` calls
 * the functions for Python.
 *
 * How a call is seen.  3.12 and later: by the function's vectorcall pointer.  3.11 has call sites that do not look
 * at it, but all of them look at the type: there a marked function's type is a static subtype of `function` that
 * differs in nothing else (calls, `__class__`, pickling and copying are as before).  3.13 has one site that looks at
 * the type alone, the call of a class with a simple `__init__`: functions of that name get the subtype there too.
 */
#include "core.h"

#include <alloca.h>

#define SETTLED 64              /* calls that only met negative regions, after which the code is left alone */

_Thread_local int jc_depth
#if defined(__linux__) && defined(__GNUC__)
    __attribute__((tls_model("initial-exec")))
#endif
    ;

static PyObject *enter(PyObject *func, PyObject *const *args, size_t nargsf, PyObject *kwnames);
vectorcallfunc const jc_enter_function = enter;

/* ---- the subtype of `function` ----------------------------------------------------------------- */
static PyObject *marked_reduce(PyObject *self, PyObject *unused)
{
    return PyObject_GetAttrString(self, "__qualname__");    /* by name, as a plain function is pickled */
}

static PyObject *marked_class(PyObject *self, void *unused)
{
    return Py_NewRef((PyObject *)&PyFunction_Type);
}

static PyMethodDef marked_methods[] = {
    {"__reduce__", marked_reduce, METH_NOARGS, NULL},
    {NULL},
};
static PyGetSetDef marked_getset[] = {
    {"__class__", marked_class, NULL, NULL, NULL},
    {NULL},
};
static PyTypeObject marked_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "function"};

static int ready_marked_type(void)
{
    PyTypeObject *t = &marked_type, *base = &PyFunction_Type;
    t->tp_base = base;
    t->tp_basicsize = base->tp_basicsize;
    t->tp_flags = base->tp_flags
        & (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR);
    t->tp_vectorcall_offset = base->tp_vectorcall_offset;
    t->tp_dictoffset = base->tp_dictoffset;
    t->tp_weaklistoffset = base->tp_weaklistoffset;
    t->tp_dealloc = base->tp_dealloc;
    t->tp_repr = base->tp_repr;
    t->tp_call = base->tp_call;
    t->tp_traverse = base->tp_traverse;
    t->tp_clear = base->tp_clear;
    t->tp_descr_get = base->tp_descr_get;
    t->tp_methods = marked_methods;
    t->tp_getset = marked_getset;
    /* `f.__doc__` must find the function's own, not the type's. */
    return PyType_Ready(t) < 0 || PyDict_DelItemString(t->tp_dict, "__doc__") < 0 ? -1 : 0;
}

bool jc_is_function(PyObject *o)
{
    return Py_IS_TYPE(o, &PyFunction_Type) || Py_IS_TYPE(o, &marked_type);
}

/* ---- the entry of a function ------------------------------------------------------------------- */
static bool needs_subtype(PyObject *func)
{
#if JC_V311
    return true;
#elif JC_V313
    return PyUnicode_CompareWithASCIIString(((PyFunctionObject *)func)->func_name, "__init__") == 0;
#else
    return false;
#endif
}

static void put_entry(PyObject *func, bool marked)
{
    Py_SET_TYPE(func, marked && needs_subtype(func) ? &marked_type : &PyFunction_Type);
    jc_function_set_entry(func, marked ? enter : jc_plain_function);
}

/* A call that is so deep that its function has the plain entry until it returns. */
typedef struct held {
    struct held *next;
    PyObject *func;
    bool marked;                /* to be marked again then */
} held;
static held *held_list;

static held *find_held(PyObject *func)
{
    held *h = held_list;
    while (h != NULL && h->func != func) {
        h = h->next;
    }
    return h;
}

static PyObject *run_held(PyObject *func, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    held h = {held_list, func, true};
    held *other = find_held(func);
    h.marked = other != NULL ? other->marked : true;
    held_list = &h;
    Py_INCREF(func);
    put_entry(func, false);
    PyObject *result = jc_plain_function(func, args, nargsf, kwnames);
    held **link = &held_list;
    while (*link != &h) {
        link = &(*link)->next;
    }
    *link = h.next;
    if (h.marked && find_held(func) == NULL) {
        put_entry(func, true);
    }
    Py_DECREF(func);
    return result;
}

static bool is_marked_now(PyObject *func)
{
    held *h = find_held(func);
    return h != NULL ? h->marked : jc_function_entry(func) == enter;
}

static void set_marked(PyObject *func, bool marked)
{
    bool now = true;
    for (held *h = held_list; h != NULL; h = h->next) {
        if (h->func == func) {
            h->marked = marked;
            now = false;
        }
    }
    if (now) {
        put_entry(func, marked);
    }
}

static PyObject *run_plain(PyObject *func, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    if (JC_UNLIKELY(jc_depth >= JC_MAX_DEPTH)) {
        return run_held(func, args, nargsf, kwnames);
    }
    jc_depth++;
    PyObject *result = jc_plain_function(func, args, nargsf, kwnames);
    jc_depth--;
    return result;
}

/* The interpreter does what a region gave back, with loops ahead that native code may enter. */
static PyObject *run_restarted(PyThreadState *ts, jc_table *t, PyObject *func, PyObject *const *args, size_t nargsf,
                               PyObject *kwnames)
{
    jc_depth++;
    PyObject *result = jc_loops_call(ts, t, func, args, nargsf, kwnames);
    jc_depth--;
    return result;
}

/* ---- arguments ---------------------------------------------------------------------------------- */
/* The slot of a keyword, -1 when there is none or it takes more than names to tell. */
static int keyword_slot(const jc_table *t, PyObject *name)
{
    int end = t->n_args + t->n_kwonly;
    for (int i = t->n_posonly; i < end; i++) {
        if (jc_code_name(t->code, i) == name) {
            return i;
        }
    }
    for (int i = t->n_posonly; i < end; i++) {
        if (PyUnicode_CheckExact(name) && PyUnicode_Compare(jc_code_name(t->code, i), name) == 0) {
            return i;
        }
    }
    return -1;
}

/* Fills the slots of a frame that does not exist, as it would be at unit 0 (all [borrowed]).  False: CPython has to
 * bind, or to say what is wrong. */
static bool bind(const jc_table *t, PyObject *func, PyObject *const *args, size_t nargsf, PyObject *kwnames,
                 PyObject **slots)
{
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (JC_UNLIKELY(!t->simple || n > t->n_args)) {
        return false;
    }
    /* There are few: calls of memcpy and memset, which compilers make of plain loops, cost more than the copies. */
    for (Py_ssize_t i = 0; i < n; i++) {
        slots[i] = args[i];
        JC_KEEP_LOOP;
    }
    for (Py_ssize_t i = n; i < t->n_slots; i++) {
        slots[i] = NULL;
        JC_KEEP_LOOP;
    }
    if (kwnames != NULL) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); i++) {
            int slot = keyword_slot(t, PyTuple_GET_ITEM(kwnames, i));
            if (slot < 0 || slots[slot] != NULL) {
                return false;
            }
            slots[slot] = args[n + i];
        }
    }
    if (n < t->n_args) {
        PyObject *defaults = jc_function_defaults(func);
        Py_ssize_t k = defaults != NULL ? PyTuple_GET_SIZE(defaults) : 0;
        for (Py_ssize_t i = n; i < t->n_args; i++) {
            if (slots[i] == NULL) {
                Py_ssize_t d = i - (t->n_args - k);
                if (d < 0) {
                    return false;
                }
                slots[i] = PyTuple_GET_ITEM(defaults, d);
            }
        }
    }
    for (int i = t->n_args; i < t->n_args + t->n_kwonly; i++) {
        if (slots[i] == NULL) {
            PyObject *defaults = jc_function_kwdefaults(func);
            if (defaults == NULL || !PyDict_CheckExact(defaults)
                || (slots[i] = PyDict_GetItemWithError(defaults, jc_code_name(t->code, i))) == NULL) {
                PyErr_Clear();
                return false;
            }
        }
    }
    return true;
}

/* ---- calls --------------------------------------------------------------------------------------- */
/* The frame is needed: CPython binds the arguments once more, jc_flow_arrive has the frame from then on. */
static PyObject *enter_frame(PyThreadState *ts, jc_flow *flow, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyCodeObject *code = flow->table->code;
    PyObject *defaults = jc_function_defaults(flow->func);
    Py_INCREF(code);
    Py_XINCREF(defaults);       /* slots were bound to its items, and finalizers run before the exit is done */
    jc_region *first = flow->state.region;
    Py_XINCREF(first);
    jc_depth++;
    PyObject *result = jc_frame_enter(ts, flow->func, args, nargsf, kwnames, jc_flow_arrive, flow);
    jc_depth--;
    if (first != NULL) {
        jc_region_note_call(first, flow->work);
        Py_DECREF(first);
    }
    if (JC_UNLIKELY(!flow->arrived)) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        jc_state_release(&flow->state);
        PyErr_Restore(type, value, traceback);
    }
    Py_XDECREF(defaults);
    Py_DECREF(code);
    return result;
}

/* The vectorcall of marked functions. */
static PyObject *enter(PyObject *func, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    jc_table *t = jc_table_of(jc_function_code(func));
    if (JC_UNLIKELY(t == NULL || !t->active)) {
        return run_plain(func, args, nargsf, kwnames);
    }
    PyThreadState *ts = jc_thread();
    if (JC_UNLIKELY(jc_counting) && t->entry != NULL && t->entry->n > 0 && !t->entry->items[0]->plain) {
        if (jc_count_call(ts) < 0) {
            return NULL;
        }
        if ((t = jc_table_of(jc_function_code(func))) == NULL) {
            return run_plain(func, args, nargsf, kwnames);
        }
    }
    t->n.calls++;
    if (JC_UNLIKELY(jc_depth >= JC_MAX_DEPTH || jc_observed(ts, t->code, jc_loop_tools))) {
        return run_plain(func, args, nargsf, kwnames);
    }
    PyObject **slots = alloca(((size_t)t->n_slots + 1) * sizeof *slots);
    jc_flow flow;
    if (JC_UNLIKELY(!bind(t, func, args, nargsf, kwnames, slots))) {
        flow = (jc_flow){.table = t, .func = func};
        return enter_frame(ts, &flow, args, nargsf, kwnames);
    }
    jc_state *s = &flow.state;
    jc_list *list = t->entry;
    jc_region *r = NULL;
    if (JC_LIKELY(list != NULL)) {
        jc_word *words = alloca((list->words + 1) * sizeof *words);
        r = jc_list_find(list, func, slots, words, s);
    }
    if (JC_UNLIKELY(r == NULL)) {
        t->n.guard_misses += list != NULL && list->n > 0;
        int installed = jc_miss(t, func, 0, slots, 0);
        if (installed < 0) {
            return NULL;
        }
        /* The table may be gone: the handler may have set another code. */
        if (installed == 0 || jc_table_of(jc_function_code(func)) != t) {
            return run_plain(func, args, nargsf, kwnames);
        }
        /* Once a compile: the flow looks again, in the frame, with arguments that CPython binds anew. */
        flow = (jc_flow){.table = t, .func = func, .asked = true};
        return enter_frame(ts, &flow, args, nargsf, kwnames);
    }
    if (JC_UNLIKELY(r->plain)) {
        jc_state_release(s);
        if (JC_UNLIKELY(++t->plain_runs == SETTLED && t->n.native_calls == 0)) {
            jc_settle(t);
        }
        return run_plain(func, args, nargsf, kwnames);
    }
    jc_region_run(s);
    jc_exit *e = &r->exits[s->exit];
    if (JC_LIKELY(e->kind == JC_EXIT_RETURN)) {
        PyObject *result;
        jc_region_note(r, false);
        t->n.kernels += s->kernels;
        t->n.helper_calls += s->calls;
        if (JC_UNLIKELY(jc_recipe_build(e->recipe, func, s->src, s->out, &result) < 0)) {
            result = NULL;
        }
        else {
            t->n.native_calls += r->work > 0;
        }
        jc_state_release(s);
        return result;
    }
    if (e->kind == JC_EXIT_RESTART) {
        jc_region_note(r, true);
        e->left++;
        t->n.restarts++;
        jc_state_release(s);
        return run_restarted(ts, t, func, args, nargsf, kwnames);
    }
    jc_region_note(r, e->kind == JC_EXIT_LEAVE && r->work == 0);
    t->n.kernels += s->kernels;
    t->n.helper_calls += s->calls;
    flow.table = t;
    flow.func = func;
    flow.unit = 0;
    flow.work = r->work > 0;
    flow.previous = NULL;
    flow.from = NULL;
    flow.arrived = flow.asked = flow.in_place = flow.restarted = false;
    flow.entered = 0;
    return enter_frame(ts, &flow, args, nargsf, kwnames);
}

/* ---- for Python ---------------------------------------------------------------------------------- */
static bool check_function(PyObject *func)
{
    if (!jc_is_function(func)) {
        PyErr_Format(PyExc_TypeError, "expected a Python function, not %.100s", Py_TYPE(func)->tp_name);
        return false;
    }
    return true;
}

/* Calls of the class that were specialised for a simple __init__ do not look at the function any more (3.13): the
 * class is found by the qualified name and told that it changed.  A class made inside a function is not found. */
static void touch_class(PyObject *func)
{
#if JC_V313
    PyFunctionObject *f = (PyFunctionObject *)func;
    PyObject *parts = PyObject_CallMethod(f->func_qualname, "split", "s", "."), *at = Py_NewRef(f->func_globals);
    for (Py_ssize_t i = 0; parts != NULL && at != NULL && i + 1 < PyList_GET_SIZE(parts); i++) {
        PyObject *name = PyList_GET_ITEM(parts, i);
        PyObject *dict = i == 0 ? Py_NewRef(at) : PyType_Check(at) ? PyType_GetDict((PyTypeObject *)at) : NULL;
        PyObject *next = dict != NULL ? PyDict_GetItemWithError(dict, name) : NULL;
        Py_XINCREF(next);
        Py_XDECREF(dict);
        Py_SETREF(at, next);
    }
    if (at != NULL && PyType_Check(at)) {
        PyType_Modified((PyTypeObject *)at);
    }
    Py_XDECREF(parts);
    Py_XDECREF(at);
    PyErr_Clear();
#endif
}

static PyObject *mark(PyObject *module, PyObject *func)
{
    if (!check_function(func)) {
        return NULL;
    }
    PyCodeObject *code = jc_function_code(func);
    if (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE)) {
        return PyErr_Format(PyExc_ValueError, "%U is a generator or coroutine function",
                            ((PyFunctionObject *)func)->func_qualname);
    }
    vectorcallfunc entry = jc_function_entry(func);
    if (entry != enter && entry != jc_plain_function) {
        return PyErr_Format(PyExc_ValueError, "%U has an entry of its own", ((PyFunctionObject *)func)->func_qualname);
    }
    if (jc_table_make(code) == NULL) {
        return NULL;
    }
    if (!is_marked_now(func)) {
        set_marked(func, true);
        if (needs_subtype(func)) {
            touch_class(func);
        }
    }
    Py_RETURN_NONE;
}

static PyObject *unmark(PyObject *module, PyObject *func)
{
    if (!check_function(func)) {
        return NULL;
    }
    if (is_marked_now(func)) {
        set_marked(func, false);
    }
    Py_RETURN_NONE;
}

static PyObject *is_marked(PyObject *module, PyObject *func)
{
    return PyBool_FromLong(jc_is_function(func) && is_marked_now(func));
}

static PyMethodDef methods[] = {
    {"mark", mark, METH_O, "mark(func): its calls enter jitcore.  ValueError for generators and coroutines."},
    {"unmark", unmark, METH_O, "unmark(func): its calls are CPython's own again."},
    {"is_marked", is_marked, METH_O, "is_marked(func) -> bool"},
    {NULL},
};

int jc_dispatch_init(PyObject *module)
{
    if (ready_marked_type() < 0) {
        return -1;
    }
    return PyModule_AddFunctions(module, methods);
}
