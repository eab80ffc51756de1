/* The C inner loops of NumPy's ufuncs (SciPy's too), for native code to call on blocks. */
#define PY_UFUNC_UNIQUE_SYMBOL jc_ufunc_api
#include "npyapi.h"
#include <numpy/ufuncobject.h>

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

static PyMethodDef methods[] = {
    {"ufunc_loop", ufunc_loop, METH_VARARGS, ufunc_loop_doc},
    {NULL, NULL, 0, NULL},
};

int jc_ufuncs_init(PyObject *module)
{
    return PyUFunc_ImportUFuncAPI() < 0 ? -1 : PyModule_AddFunctions(module, methods);
}
