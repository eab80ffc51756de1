/* What C asks of Python: a region for a state that has none, and leaving a code object alone.
 *
 * Job: the handlers that `runtime` sets, and what they are called with.
 * Invariants: one miss of a code object is handled at a time, others of it go on without; while a handler runs, marked
 * functions that it calls count as nested (dispatch.c).  Used by dispatch.c and flow.c.
 */
#include "core.h"

PyObject *jc_unbound;

static PyObject *miss_handler, *settle_handler;

static PyObject *slots_tuple(PyObject *const *slots, int n)
{
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple != NULL && i < n; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(slots[i] != NULL ? slots[i] : jc_unbound));
    }
    return tuple;
}

int jc_miss(jc_table *t, PyObject *func, int unit, PyObject *const *slots, int n_stack)
{
    if (miss_handler == NULL || t->handling) {
        return 0;
    }
    int installed = -1;
    PyObject *code = Py_NewRef((PyObject *)t->code), *handler = Py_NewRef(miss_handler), *answer = NULL;
    PyObject *locals = slots_tuple(slots, t->n_slots), *stack = slots_tuple(slots + t->n_slots, n_stack);
    PyObject *number = PyLong_FromLong(unit);
    if (locals != NULL && stack != NULL && number != NULL) {
        t->handling = true;
        jc_depth++;
        answer = PyObject_CallFunctionObjArgs(handler, func, code, number, locals, stack, NULL);
        jc_depth--;
        t->handling = false;
        installed = answer == NULL ? -1 : PyObject_IsTrue(answer);
    }
    Py_XDECREF(answer);
    Py_XDECREF(number);
    Py_XDECREF(locals);
    Py_XDECREF(stack);
    Py_DECREF(handler);
    Py_DECREF(code);
    return installed;
}

/* The code has met nothing but negative regions: `runtime` takes its functions' entries out.  A failure there must
 * not reach the call. */
void jc_settle(jc_table *t)
{
    if (settle_handler != NULL) {
        PyObject *handler = Py_NewRef(settle_handler), *code = Py_NewRef((PyObject *)t->code);
        PyObject *answer = PyObject_CallOneArg(handler, code);
        if (answer == NULL) {
            PyErr_WriteUnraisable(handler);
        }
        Py_XDECREF(answer);
        Py_DECREF(code);
        Py_DECREF(handler);
    }
}

/* ---- for Python ---------------------------------------------------------------------------------- */
static PyObject *set_handler(PyObject **place, PyObject *handler)
{
    if (handler != Py_None && !PyCallable_Check(handler)) {
        PyErr_SetString(PyExc_TypeError, "the handler must be callable, or None");
        return NULL;
    }
    PyObject *old = *place;
    *place = handler == Py_None ? NULL : Py_NewRef(handler);
    if (old == NULL) {
        Py_RETURN_NONE;
    }
    return old;
}

static PyObject *set_miss_handler(PyObject *module, PyObject *handler)
{
    return set_handler(&miss_handler, handler);
}

static PyObject *set_settle_handler(PyObject *module, PyObject *handler)
{
    return set_handler(&settle_handler, handler);
}

static PyObject *unbound_repr(PyObject *self)
{
    return PyUnicode_FromString("UNBOUND");
}

static PyObject *unbound_reduce(PyObject *self, PyObject *unused)
{
    return PyUnicode_FromString("UNBOUND");
}

static PyMethodDef unbound_methods[] = {
    {"__reduce__", unbound_reduce, METH_NOARGS, NULL},
    {NULL},
};
static PyTypeObject unbound_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "jitcore._core.Unbound",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_repr = unbound_repr,
    .tp_methods = unbound_methods,
};

static PyMethodDef methods[] = {
    {"set_miss_handler", set_miss_handler, METH_O,
     "set_miss_handler(handler) -> the handler before.  handler(func, code, unit, locals, stack) -> whether a region "
     "was installed."},
    {"set_settle_handler", set_settle_handler, METH_O,
     "set_settle_handler(handler) -> the handler before.  handler(code): it has only met negative regions for long."},
    {NULL},
};

int jc_misses_init(PyObject *module)
{
    if (PyType_Ready(&unbound_type) < 0) {
        return -1;
    }
    jc_unbound = unbound_type.tp_alloc(&unbound_type, 0);
    if (jc_unbound == NULL || PyModule_AddObjectRef(module, "UNBOUND", jc_unbound) < 0) {
        return -1;
    }
    return PyModule_AddFunctions(module, methods);
}
