/* Views of arrays for native code, made by NumPy's API. */
#include "npyapi.h"

/* An array [new] over `data` inside the memory of `base` [borrowed], an exact ndarray, as NumPy makes views:
 * writeable if base is, its `base` being the owner of the memory, its dtype object base's own where the type is
 * the same.  NULL with no exception set. */
PyObject *jc_view(PyObject *base, int typenum, int nd, const int64_t *dims, const int64_t *strides, char *data)
{
    PyArrayObject *owner = (PyArrayObject *)base;
    PyArray_Descr *descr = PyArray_TYPE(owner) == typenum ? PyArray_DESCR(owner) : NULL;
    if (descr != NULL) {
        Py_INCREF(descr);
    }
    else if ((descr = PyArray_DescrFromType(typenum)) == NULL) {
        PyErr_Clear();
        return NULL;
    }
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, descr, nd, (const npy_intp *)dims, (const npy_intp *)strides,
                                          data, PyArray_FLAGS(owner), NULL);
    if (made == NULL) {
        PyErr_Clear();
        return NULL;
    }
    if (PyArray_SetBaseObject((PyArrayObject *)made, Py_NewRef(base)) < 0) {   /* takes the reference */
        PyErr_Clear();
        Py_DECREF(made);
        return NULL;
    }
    return made;
}

/* jc_view where nothing can be done without the result: an exit needs it, and what was stored cannot be taken back. */
static PyObject *jc_view_sure(PyObject *base, int typenum, int nd, const int64_t *dims, const int64_t *strides,
                              char *data)
{
    PyObject *made = jc_view(base, typenum, nd, dims, strides, data);
    if (made == NULL) {
        Py_FatalError("jitcore: no memory to give a frame back to the interpreter");
    }
    return made;
}

/* A new view may not be written to. */
static void jc_view_close(PyObject *view)
{
    PyArray_CLEARFLAGS((PyArrayObject *)view, NPY_ARRAY_WRITEABLE);
}

int jc_views_symbols(PyObject *dict)
{
    static const jc_symbol table[] = {
        {"jc_view", (void *)jc_view}, {"jc_view_sure", (void *)jc_view_sure},
        {"jc_view_close", (void *)jc_view_close}, {NULL, NULL},
    };
    return jc_symbols_put(dict, table);
}
