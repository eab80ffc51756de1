/* The C inner loops of NumPy's ufuncs (SciPy's too), for native code to call on blocks. */
#define PY_UFUNC_UNIQUE_SYMBOL jc_ufunc_api
#include "npyapi.h"
#include <numpy/ufuncobject.h>

#define UFUNC_API_SIZE 43   /* entries of NumPy's table that are there in every release of the ABI */

PyDoc_STRVAR(ufunc_loop_doc,
"ufunc_loop(ufunc, signature, /)\n--\n\n"
"The inner loop of a ufunc for a signature such as 'dd->d', as (address, address of its data).\n\n"
"The function is `void f(char **args, npy_intp const *lengths, npy_intp const *steps, void *data)`.\n"
"LookupError if there is none, ValueError for a malformed signature, TypeError for something else than a\n"
"ufunc.  The addresses hold as long as the ufunc lives.");

static PyObject *ufunc_loop(PyObject *module, PyObject *args)
{
    PyObject *ufunc;
    const char *signature;
    Py_ssize_t length;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!s#:ufunc_loop", &PyUFunc_Type, &ufunc, &signature, &length)) {
        return NULL;
    }
    PyUFuncObject *u = (PyUFuncObject *)ufunc;
    if (length != u->nargs + 2 || signature[u->nin] != '-' || signature[u->nin + 1] != '>') {
        return PyErr_Format(PyExc_ValueError, "signature %s does not fit a ufunc with %d inputs and %d outputs",
                            signature, u->nin, u->nout);
    }
    for (int i = 0; i < u->ntypes; i++) {
        const char *types = u->types + (size_t)i * (size_t)u->nargs;
        int fits = u->functions != NULL && u->functions[i] != NULL;
        for (int k = 0; fits && k < u->nargs; k++) {
            char wanted = signature[k < u->nin ? k : k + 2];
            PyArray_Descr *descr = PyArray_DescrFromType(types[k]);
            fits = descr != NULL && descr->type == wanted;
            Py_XDECREF(descr);
            PyErr_Clear();
        }
        if (fits) {
            void *data = u->data != NULL ? u->data[i] : NULL;
            return Py_BuildValue("NN", PyLong_FromVoidPtr((void *)u->functions[i]), PyLong_FromVoidPtr(data));
        }
    }
    return PyErr_Format(PyExc_LookupError, "%s has no loop %s", u->name != NULL ? u->name : "?", signature);
}

/* ---- loops that are replaced ---------------------------------------------------------------------
 * Extensions may put loops of their own into NumPy's ufuncs, through an entry of NumPy's table of functions.  Asking in
 * each call whether they have would cost every call; so the entry leads here, and what was compiled is given up. */
typedef int (*replacer)(PyUFuncObject *, PyUFuncGenericFunction, const int *, PyUFuncGenericFunction *);
static replacer replace;            /* NumPy's own */
static PyObject *loop_handler;

/* ufunc [borrowed].  NumPy's answer, with what it does. */
static int replace_and_tell(PyUFuncObject *ufunc, PyUFuncGenericFunction loop, const int *types,
                            PyUFuncGenericFunction *old)
{
    PyUFuncGenericFunction before = NULL;
    int done = replace(ufunc, loop, types, &before);
    if (done != 0) {
        return done;
    }
    if (old != NULL) {
        *old = before;
    }
    if (loop_handler != NULL) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyObject *signature = PyTuple_New(ufunc->nargs), *told = NULL;
        for (int i = 0; signature != NULL && i < ufunc->nargs; i++) {
            PyObject *number = PyLong_FromLong(types[i]);
            if (number == NULL) {
                Py_CLEAR(signature);
                break;
            }
            PyTuple_SET_ITEM(signature, i, number);
        }
        if (signature != NULL) {
            told = PyObject_CallFunction(loop_handler, "OONN", ufunc, signature, PyLong_FromVoidPtr((void *)before),
                                         PyLong_FromVoidPtr((void *)loop));
        }
        if (told == NULL) {
            PyErr_WriteUnraisable(loop_handler);
        }
        Py_XDECREF(told);
        Py_XDECREF(signature);
        PyErr_Restore(type, value, traceback);
    }
    return 0;
}

PyDoc_STRVAR(set_loop_handler_doc,
"set_loop_handler(handler, /)\n--\n\n"
"handler(ufunc, types, before, after) is told of each inner loop that is replaced: its type numbers, and the addresses\n"
"of the two loops.  False if NumPy's table has no such entry.");

static PyObject *set_loop_handler(PyObject *module, PyObject *handler)
{
    (void)module;
    Py_XSETREF(loop_handler, Py_NewRef(handler));
    if (replace == NULL) {
        replacer own = PyUFunc_ReplaceLoopBySignature;
        for (int i = 0; i < UFUNC_API_SIZE; i++) {
            if (PyUFunc_API[i] == (void *)own) {
                replace = own;
                PyUFunc_API[i] = (void *)replace_and_tell;
            }
        }
    }
    return PyBool_FromLong(replace != NULL);
}

static PyMethodDef methods[] = {
    {"ufunc_loop", ufunc_loop, METH_VARARGS, ufunc_loop_doc},
    {"set_loop_handler", set_loop_handler, METH_O, set_loop_handler_doc},
    {NULL, NULL, 0, NULL},
};

int jc_ufuncs_init(PyObject *module)
{
    return PyUFunc_ImportUFuncAPI() < 0 ? -1 : PyModule_AddFunctions(module, methods);
}
