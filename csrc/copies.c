/* Functions that change an array, done on a copy of it: what native code then sees has no effect.
 *
 * Job: `changed`, which native code calls.  Invariants: the array that it is given is only read; where the function raises
 * nothing has happened. */
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

static PyMethodDef methods[] = {
    {"changed", (PyCFunction)(void (*)(void))changed, METH_FASTCALL | METH_KEYWORDS, changed_doc},
    {NULL, NULL, 0, NULL},
};

int jc_copies_init(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
