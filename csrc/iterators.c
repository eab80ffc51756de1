/* Iterators made at exits: equal to those that a compiled loop went over.
 *
 * Job: what CPython's own constructors give, put where the loop is.  Called by recipes.c. */
#include "jitcore.h"
#include "iterator_compat.h"

#define FEW 16      /* arguments that need no allocation */

/* iter(sequence), or reversed(sequence), whose next item is that at `index`. */
PyObject *jc_iterator_at(PyObject *sequence, PyObject *index, int backwards)
{
    Py_ssize_t at = PyLong_AsSsize_t(index);
    if (at == -1 && PyErr_Occurred()) {
        return NULL;
    }
    PyObject *made = backwards ? PyObject_CallOneArg((PyObject *)&PyReversed_Type, sequence)
        : PyObject_GetIter(sequence);
    if (made != NULL && (!jc_is_indexed(Py_TYPE(made)) || ((jc_indexed *)made)->of != sequence)) {
        PyErr_SetString(PyExc_SystemError, "jitcore: a recipe makes an iterator of what has no items by index");
        Py_CLEAR(made);
    }
    if (made != NULL) {
        ((jc_indexed *)made)->index = at;
    }
    return made;
}

/* array.flat, whose next item is number `index` in C order. */
PyObject *jc_flat_at(PyObject *array, PyObject *index)
{
    Py_ssize_t at = PyLong_AsSsize_t(index);
    if (at == -1 && PyErr_Occurred()) {
        return NULL;
    }
    PyObject *made = PyArray_IterNew(array);
    if (made != NULL && at < ((PyArrayIterObject *)made)->size) {
        PyArray_ITER_GOTO1D(made, at);
    }
    else if (made != NULL) {    /* used up */
        ((PyArrayIterObject *)made)->index = at;
    }
    return made;
}

PyObject *jc_zip_of(PyObject *const *items, int n)
{
    PyObject *names = items[0] == Py_True ? Py_BuildValue("(s)", "strict") : NULL;
    PyObject *args[FEW + 1], **all = n < FEW ? args : PyMem_Malloc((size_t)(n + 1) * sizeof(PyObject *)), *made = NULL;
    if (all == NULL) {
        PyErr_NoMemory();
    }
    else if (names != NULL || items[0] != Py_True) {
        memcpy(all, items + 1, (size_t)(n - 1) * sizeof(PyObject *));
        all[n - 1] = Py_True;
        made = PyObject_Vectorcall((PyObject *)&PyZip_Type, all, (size_t)(n - 1), names);
    }
    if (all != args) {
        PyMem_Free(all);
    }
    Py_XDECREF(names);
    return made;
}

/* iter(range(start, stop, step)), whose numbers are within 61 bits, without the range.  [new] */
PyObject *jc_range_iterator_new(int64_t start, int64_t stop, int64_t step)
{
    int64_t n = step > 0 ? (stop > start ? (stop - start - 1) / step + 1 : 0)
        : step < 0 && stop < start ? (start - stop - 1) / -step + 1 : 0;
    if (step == 0 || (long)start != start || (long)n != n || (long)step != step) {
        return PyErr_Format(PyExc_SystemError, "jitcore: a recipe makes an iterator over an impossible range");
    }
    jc_range_iterator *it = PyObject_New(jc_range_iterator, &PyRangeIter_Type);
    if (it != NULL) {
#if PY_VERSION_HEX < 0x030C0000
        it->index = 0;
#endif
        it->start = (long)start;
        it->step = (long)step;
        it->len = (long)n;
    }
    return (PyObject *)it;
}
