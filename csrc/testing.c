/* Doors for the tests into what has no caller in Python: frames and loop watches.
 *
 * Job: turn dicts and tuples into the structures of core.h.  Not for use by the package itself.
 */
#include "core.h"

/* ---- rebuilding frames -------------------------------------------------------------------------- */
static void free_spec(jc_rebuild *spec)
{
    while (spec != NULL) {
        jc_rebuild *inner = spec->inner;
        for (int i = 0; spec->values != NULL && i < spec->n_locals + spec->n_stack; i++) {
            Py_XDECREF(spec->values[i]);
        }
        Py_XDECREF(spec->func);
        Py_XDECREF(spec->raise);
        PyMem_Free(spec->values);
        PyMem_Free(spec);
        spec = inner;
    }
}

/* A list of tuples (func, locals, stack, unit, next_unit, exception or None), outermost first; UNBOUND for NULL. */
static jc_rebuild *parse_spec(PyObject *list, Py_ssize_t at)
{
    PyObject *func, *locals, *stack, *raise;
    jc_rebuild *spec = PyMem_Calloc(1, sizeof *spec);
    if (spec == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    if (!PyArg_ParseTuple(PyList_GET_ITEM(list, at), "OO!O!iiO", &func, &PyTuple_Type, &locals, &PyTuple_Type, &stack,
                          &spec->unit, &spec->next_unit, &raise)) {
        free_spec(spec);
        return NULL;
    }
    spec->func = Py_NewRef(func);
    spec->raise = raise == Py_None ? NULL : Py_NewRef(raise);
    int n = (int)PyTuple_GET_SIZE(locals), k = (int)PyTuple_GET_SIZE(stack);
    spec->values = PyMem_Calloc((size_t)(n + k) + 1, sizeof *spec->values);
    if (spec->values == NULL) {
        PyErr_NoMemory();
        free_spec(spec);
        return NULL;
    }
    spec->n_locals = n;
    spec->n_stack = k;
    for (int i = 0; i < n + k; i++) {
        PyObject *v = i < n ? PyTuple_GET_ITEM(locals, i) : PyTuple_GET_ITEM(stack, i - n);
        spec->values[i] = v == jc_unbound ? NULL : Py_NewRef(v);
    }
    if (at + 1 < PyList_GET_SIZE(list) && (spec->inner = parse_spec(list, at + 1)) == NULL) {
        free_spec(spec);
        return NULL;
    }
    return spec;
}

static PyObject *arrive(PyThreadState *ts, jc_frame *f, void *arg)
{
    return jc_frame_rebuild(ts, f, (jc_rebuild *)arg);
}

static PyObject *rebuild(PyObject *module, PyObject *args)
{
    PyObject *list, *arguments;
    if (!PyArg_ParseTuple(args, "O!O!:rebuild", &PyList_Type, &list, &PyTuple_Type, &arguments)) {
        return NULL;
    }
    jc_rebuild *spec = PyList_GET_SIZE(list) > 0 ? parse_spec(list, 0) : NULL;
    if (spec == NULL) {
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "no frames");
    }
    PyObject *result = jc_frame_enter(jc_thread(), spec->func, &PyTuple_GET_ITEM(arguments, 0),
                                      (size_t)PyTuple_GET_SIZE(arguments), NULL, arrive, spec);
    free_spec(spec);
    return result;
}

/* ---- moving a running frame --------------------------------------------------------------------- */
/* The callable gets the unit and a tuple of the frame's slots; it answers None (go on watching), or a tuple (unit or
 * -1, {slot: value}, items to drop from the stack). */
static int watcher(PyThreadState *ts, jc_frame *f, int unit, void *arg)
{
    PyCodeObject *code = jc_frame_code(f);
    int n = jc_code_nslots(code);
    PyObject *slots = PyTuple_New(n);
    for (int i = 0; slots != NULL && i < n; i++) {
        PyObject *v = jc_frame_slots(f)[i];
        PyTuple_SET_ITEM(slots, i, Py_NewRef(v != NULL ? v : jc_unbound));
    }
    PyObject *answer = slots != NULL ? PyObject_CallFunction((PyObject *)arg, "iO", unit, slots) : NULL;
    Py_XDECREF(slots);
    if (answer == NULL || answer == Py_None) {
        Py_XDECREF(answer);
        return answer == NULL ? -1 : 0;
    }
    PyObject *changes, *key, *value;
    int to, drop;
    Py_ssize_t at = 0;
    if (!PyArg_ParseTuple(answer, "iO!i", &to, &PyDict_Type, &changes, &drop)) {
        Py_DECREF(answer);
        return -1;
    }
    while (PyDict_Next(changes, &at, &key, &value)) {
        Py_XSETREF(jc_frame_slots(f)[PyLong_AsLong(key)], Py_NewRef(value));
    }
    for (; drop > 0; drop--) {
        int top = jc_frame_top(f) - 1;
        PyObject *v = jc_frame_slots(f)[top];
        jc_frame_set_top(f, top);
        Py_XDECREF(v);
    }
    if (to >= 0) {
        jc_frame_move(f, to);
    }
    Py_DECREF(answer);
    return 1;
}

static void release(void *arg)
{
    Py_DECREF((PyObject *)arg);
}

static PyObject *watch(PyObject *module, PyObject *args)
{
    PyObject *code, *callable;
    if (!PyArg_ParseTuple(args, "O!O:watch", &PyCode_Type, &code, &callable)) {
        return NULL;
    }
    if (callable == Py_None) {
        return jc_loop_unwatch((PyCodeObject *)code) < 0 ? NULL : Py_NewRef(Py_None);
    }
    if (jc_loop_watch((PyCodeObject *)code, watcher, Py_NewRef(callable), release) < 0) {
        Py_DECREF(callable);
        return NULL;
    }
    Py_RETURN_NONE;
}

/* ---- state ---------------------------------------------------------------------------------------- */
static PyObject *state(PyObject *module, PyObject *unused)
{
    PyThreadState *ts = jc_thread();
#if JC_V311
    int c_recursion = 0;
#else
    int c_recursion = ts->c_recursion_remaining;
#endif
    return Py_BuildValue("{s:i,s:i,s:O,s:O}", "recursion", JC_RECURSION(ts), "c_recursion", c_recursion, "evaluator",
                         jc_evaluator(ts) != NULL ? Py_True : Py_False, "interrupted",
                         jc_interrupted(ts) ? Py_True : Py_False);
}

static PyObject *observed(PyObject *module, PyObject *code)
{
    if (!PyCode_Check(code)) {
        return PyErr_Format(PyExc_TypeError, "a code object");
    }
    return PyBool_FromLong(jc_observed(jc_thread(), (PyCodeObject *)code, jc_loop_tools));
}

static PyObject *handler(PyObject *module, PyObject *args)
{
    PyObject *code;
    int unit;
    if (!PyArg_ParseTuple(args, "O!i:handler", &PyCode_Type, &code, &unit)) {
        return NULL;
    }
    return PyLong_FromLong(jc_code_handler((PyCodeObject *)code, unit));
}

/* An evaluator that counts frames and passes them on: another tool's, for the test of chaining. */
static long frames_seen;

static PyObject *count_frames(PyThreadState *ts, jc_frame *f, int throwing)
{
    frames_seen++;
    return jc_eval(ts, f, throwing);
}

static PyObject *evaluator(PyObject *module, PyObject *on)
{
    jc_set_evaluator(jc_thread(), PyObject_IsTrue(on) ? count_frames : NULL);
    long n = frames_seen;
    frames_seen = 0;
    return PyLong_FromLong(n);
}

static PyMethodDef methods[] = {
    {"_testing_rebuild", rebuild, METH_VARARGS, NULL},
    {"_testing_watch", watch, METH_VARARGS, NULL},
    {"_testing_state", state, METH_NOARGS, NULL},
    {"_testing_observed", observed, METH_O, NULL},
    {"_testing_handler", handler, METH_VARARGS, NULL},
    {"_testing_evaluator", evaluator, METH_O, NULL},
    {NULL},
};

int jc_testing_init(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
