/* CPython's iterators, and a.flat, as guard programs and recipes see them: where they are, and over what.
 *
 * Reviewed for 3.11, 3.12 and 3.13; tests/guards/test_iterators.py compares with what the iterators say of themselves.
 * Nothing here runs Python code, allocates or sets an exception.
 */
#ifndef JC_ITERATOR_COMPAT_H
#define JC_ITERATOR_COMPAT_H

#include <Python.h>
#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x030E0000
#error "the iterators were not reviewed for this version of CPython"
#endif
#include "npyapi.h"

/* An iterator over a range whose numbers fit a C long. */
typedef struct {
    PyObject_HEAD
#if PY_VERSION_HEX < 0x030C0000
    long index, start, step, len;       /* the next item is start + index * step, of len items in all */
#else
    long start, step, len;              /* the next item is start, len items are left */
#endif
} jc_range_iterator;

/* Iterators over lists, tuples, bytes and other sequences, forwards and backwards: `of` is NULL when they are used up.
 * Also enumerate, which counts the items of the iterator `of`; and zip, which has a tuple of `index` iterators.
 * (NumPy's a.flat goes by index too and has a layout of its own.) */
typedef struct {
    PyObject_HEAD
    Py_ssize_t index;
    PyObject *of;
} jc_indexed;

typedef struct {
    jc_indexed base;
    PyObject *result;
    int strict;
} jc_zip;

static inline bool jc_is_indexed(const PyTypeObject *type)
{
    return type == &PyListIter_Type || type == &PyTupleIter_Type || type == &PyBytesIter_Type || type == &PySeqIter_Type
        || type == &PyReversed_Type || type == &PyListRevIter_Type || type == &PyEnum_Type || type == &PyZip_Type
        || type == &PyArrayIter_Type;
}

/* Numbers that are counted in loops lie within: nothing that is done with them there overflows. */
#define JC_FAR ((int64_t)1 << 61)

static inline bool jc_is_near(int64_t n)
{
    return -JC_FAR <= n && n <= JC_FAR;
}

/* What an iterator of the second kind goes over; NULL where it is used up. */
static inline PyObject *jc_iterated(PyObject *o)    /* [borrowed] */
{
    jc_indexed *it = (jc_indexed *)o;
    if (Py_IS_TYPE(o, &PyArrayIter_Type)) {
        return (PyObject *)((PyArrayIterObject *)o)->ao;
    }
    return it->index < 0 && Py_IS_TYPE(o, &PyListRevIter_Type) ? NULL : it->of;
}

/* The index of the next item, for enumerate its number.  False where it is used up, or the number is large. */
static inline bool jc_position(PyObject *o, int64_t *position)
{
    *position = Py_IS_TYPE(o, &PyArrayIter_Type) ? ((PyArrayIterObject *)o)->index : ((jc_indexed *)o)->index;
    return jc_iterated(o) != NULL && jc_is_near(*position);
}

/* The next item, the end and the step of a range iterator.  False where they are large. */
static inline bool jc_range_numbers(PyObject *o, int64_t number[3])
{
    jc_range_iterator *it = (jc_range_iterator *)o;
    int64_t left = it->len, taken = 0, step = it->step, span;
#if PY_VERSION_HEX < 0x030C0000
    taken = it->index;
    left -= taken;
#endif
    number[2] = step;
    if (__builtin_mul_overflow(taken, step, &span) || __builtin_add_overflow((int64_t)it->start, span, &number[0])
        || __builtin_mul_overflow(left, step, &span) || __builtin_add_overflow(number[0], span, &number[1])) {
        return false;
    }
    return jc_is_near(number[0]) && jc_is_near(number[1]) && jc_is_near(step);
}

#endif
