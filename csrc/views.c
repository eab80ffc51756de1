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

int jc_views_symbols(PyObject *dict)
{
    static const jc_symbol table[] = {{"jc_view", (void *)jc_view}, {NULL, NULL}};
    return jc_symbols_put(dict, table);
}
