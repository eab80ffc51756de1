/* Calls that native code makes in a way of its own: of functions that change an array, done on a copy of it, and of
 * functions that may meet floating-point reports, which are exceptions then.
 *
 * Job: `changed` and `strictly`, which native code calls.  Invariants: the array that is changed is only read; where the
 * function raises nothing has happened; no Python code runs, so that no signal handler's exception can be lost. */
#include "npyapi.h"

PyDoc_STRVAR(changed_doc,
"changed(function, position, /, *args, **kwargs)\n--\n\n"
"Calls function(*args, **kwargs) with a copy (of the same memory order) of the array at `position`, counted through the\n"
"arguments and then the keywords' values, and gives the copy.  TypeError if that is no exact array.");

static PyObject *changed(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    (void)module;
    Py_ssize_t n = nargs - 2 + (kwnames != NULL ? PyTuple_GET_SIZE(kwnames) : 0);
    Py_ssize_t position = nargs >= 2 ? PyLong_AsSsize_t(args[1]) : -1;
    if (position < 0 || position >= n || !PyArray_CheckExact(args[2 + position])) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "changed() needs a function and the position of an array");
        }
        return NULL;
    }
    PyObject **given = PyMem_New(PyObject *, (size_t)n);
    if (given == NULL) {
        return PyErr_NoMemory();
    }
    memcpy(given, args + 2, (size_t)n * sizeof *given);
    PyObject *copy = PyArray_NewCopy((PyArrayObject *)args[2 + position], NPY_KEEPORDER);
    if (copy != NULL) {
        given[position] = copy;
        PyObject *result = PyObject_Vectorcall(args[0], given, (size_t)(nargs - 2), kwnames);
        if (result == NULL) {
            Py_CLEAR(copy);
        }
        Py_XDECREF(result);
    }
    PyMem_Free(given);
    return copy;
}

/* NumPy's settings for reports: the context variable that holds them, and what reads and makes them.  [owned] for good */
static PyObject *settings, *settings_now, *settings_made;

static int find_settings(void)
{
    if (settings != NULL) {
        return 0;
    }
    PyObject *umath = PyImport_ImportModule("numpy._core._multiarray_umath");
    if (umath == NULL) {
        return -1;
    }
    settings_now = PyObject_GetAttrString(umath, "_get_extobj_dict");
    settings_made = settings_now != NULL ? PyObject_GetAttrString(umath, "_make_extobj") : NULL;
    settings = settings_made != NULL ? PyObject_GetAttrString(umath, "_extobj_contextvar") : NULL;
    Py_DECREF(umath);
    return settings != NULL ? 0 : -1;
}

/* New settings [new]: every report is an exception, underflow where it is not ignored at present. */
static PyObject *strict_settings(void)
{
    PyObject *now = PyObject_CallNoArgs(settings_now);
    PyObject *under = now != NULL ? PyDict_GetItemString(now, "under") : NULL;     /* borrowed */
    bool ignored = under != NULL && PyUnicode_Check(under) && PyUnicode_CompareWithASCIIString(under, "ignore") == 0;
    Py_XDECREF(now);
    PyObject *none = now != NULL ? PyTuple_New(0) : NULL;
    PyObject *given = none != NULL ? Py_BuildValue("{ssss}", "all", "raise", "under", ignored ? "ignore" : "raise") : NULL;
    PyObject *made = given != NULL ? PyObject_Call(settings_made, none, given) : NULL;
    Py_XDECREF(given);
    Py_XDECREF(none);
    return made;
}

PyDoc_STRVAR(strictly_doc,
"strictly(function, /, *args, **kwargs)\n--\n\n"
"function(*args, **kwargs), where every floating-point report of NumPy's (of underflow unless that is ignored) is an\n"
"exception.");

static PyObject *strictly(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    (void)module;
    if (nargs < 1) {
        PyErr_SetString(PyExc_TypeError, "strictly() needs a function");
        return NULL;
    }
    PyObject *wanted = find_settings() == 0 ? strict_settings() : NULL;
    PyObject *token = wanted != NULL ? PyContextVar_Set(settings, wanted) : NULL;
    Py_XDECREF(wanted);
    if (token == NULL) {
        return NULL;
    }
    PyObject *result = PyObject_Vectorcall(args[0], args + 1, (size_t)(nargs - 1), kwnames);
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (PyContextVar_Reset(settings, token) < 0) {
        Py_CLEAR(result);
        PyErr_Clear();
    }
    Py_DECREF(token);
    if (type != NULL) {
        PyErr_Restore(type, value, trace);
    }
    else if (result == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "NumPy's settings for floating-point reports cannot be put back");
    }
    return result;
}

static PyMethodDef methods[] = {
    {"strictly", (PyCFunction)(void (*)(void))strictly, METH_FASTCALL | METH_KEYWORDS, strictly_doc},
    {"changed", (PyCFunction)(void (*)(void))changed, METH_FASTCALL | METH_KEYWORDS, changed_doc},
    {NULL, NULL, 0, NULL},
};

int jc_copies_init(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
