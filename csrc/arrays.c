/* New arrays, calls and boxes for native code, and the table of helper addresses.
 *
 * Everything here is called by native code: an error is cleared and told by NULL, since whoever gets NULL
 * hands over to the interpreter, which then meets the error itself.  Views are in views.c, memory order and
 * loop driving in order.c. */
#define JC_IMPORT_ARRAY
#include "npyapi.h"
#include "blocks.h"
#include "lists.h"

/* The dtype of a type number, which NumPy keeps for ever [borrowed]. */
static PyArray_Descr *descrs[NPY_NTYPES_LEGACY];

static PyArray_Descr *descr_of(int typenum)
{
    if (JC_UNLIKELY(typenum < 0 || typenum >= NPY_NTYPES_LEGACY)) {
        return NULL;
    }
    if (JC_UNLIKELY(descrs[typenum] == NULL)) {
        descrs[typenum] = PyArray_DescrFromType(typenum);   /* keeps the reference */
    }
    return descrs[typenum];
}

/* ---- arrays ---------------------------------------------------------------------------------------- */

static PyObject *new_array(PyArray_Descr *descr, int nd, const int64_t *dims, const int64_t *strides, int flags)
{
    Py_INCREF(descr);   /* PyArray_NewFromDescr takes it */
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, descr, nd, (const npy_intp *)dims, (const npy_intp *)strides,
                                          NULL, flags, NULL);
    if (JC_UNLIKELY(made == NULL)) {
        PyErr_Clear();
    }
    return made;
}

static PyObject *new_array_anywhere(int typenum, int nd, const int64_t *dims, const int64_t *strides, int flags)
{
    PyArray_Descr *descr = descr_of(typenum);
    if (JC_UNLIKELY(descr == NULL)) {
        PyErr_Clear();
        return NULL;
    }
    /* A product that overflows is large, negative or wrong, and all the same NumPy refuses it. */
    uint64_t size = (uint64_t)PyDataType_ELSIZE(descr);
    for (int i = 0; i < nd; i++) {
        size *= (uint64_t)dims[i];
    }
    if (JC_LIKELY(size < JC_POOL_MIN)) {
        return new_array(descr, nd, dims, strides, flags);
    }
    PyObject *token = jc_pool_enter();
    PyObject *made = new_array(descr, nd, dims, strides, flags);
    jc_pool_leave(token);
    return made;
}

/* A new array [new], its elements undefined; order 0: C, 1: Fortran. */
PyObject *jc_empty(int typenum, int nd, const int64_t *dims, int order)
{
    return new_array_anywhere(typenum, nd, dims, NULL, order != 0 ? NPY_ARRAY_F_CONTIGUOUS : 0);
}

/* A new array [new] whose axes lie in memory as `strides` says; they must fill it without gaps, as those of
 * jc_korder do. */
PyObject *jc_empty_strided(int typenum, int nd, const int64_t *dims, const int64_t *strides)
{
    return new_array_anywhere(typenum, nd, dims, strides, 0);
}

/* Is it an exact aligned native array of this type and rank, contiguous as 'C' or 'F' says ('A': any strides)? */
static int jc_is_array(PyObject *o, int typenum, int nd, int layout)
{
    if (!PyArray_CheckExact(o)) {
        return 0;
    }
    PyArrayObject *a = (PyArrayObject *)o;
    int flags = PyArray_FLAGS(a);
    return PyArray_NDIM(a) == nd && PyArray_TYPE(a) == typenum && (flags & NPY_ARRAY_ALIGNED) != 0
        && PyArray_DESCR(a)->byteorder != NPY_OPPBYTE
        && (layout == 'A' || (flags & (layout == 'C' ? NPY_ARRAY_C_CONTIGUOUS : NPY_ARRAY_F_CONTIGUOUS)) != 0);
}

/* The length of an axis of an exact array of this rank; -1 for any other object. */
static int64_t jc_extent(PyObject *o, int nd, int axis)
{
    return PyArray_CheckExact(o) && PyArray_NDIM((PyArrayObject *)o) == nd ? (int64_t)PyArray_DIM((PyArrayObject *)o, axis) : -1;
}

/* ---- boxes ----------------------------------------------------------------------------------------- */

static PyObject *or_null(PyObject *made)
{
    if (JC_UNLIKELY(made == NULL)) {
        PyErr_Clear();
    }
    return made;
}

static PyObject *jc_box_int(int64_t v)
{
    return or_null(PyLong_FromLongLong(v));
}

static PyObject *jc_box_float(double v)
{
    return or_null(PyFloat_FromDouble(v));
}

static PyObject *jc_box_bool(int v)
{
    return Py_NewRef(v ? Py_True : Py_False);
}

static PyObject *jc_box_complex(double re, double im)
{
    return or_null(PyComplex_FromDoubles(re, im));
}

#define BOX(NAME, Scalar)                                                       \
    case NPY_##NAME:                                                            \
        made = (PyObject *)PyObject_New(Py##Scalar##ScalarObject, &Py##Scalar##ArrType_Type); \
        if (made != NULL) {                                                     \
            memcpy(&((Py##Scalar##ScalarObject *)made)->obval, data,            \
                   sizeof(((Py##Scalar##ScalarObject *)made)->obval));          \
        }                                                                       \
        return or_null(made);

/* A NumPy scalar [new] of the type with this number from its natural bytes; NULL with no exception. */
PyObject *jc_box_np(int typenum, const void *data)
{
    PyObject *made;
    switch (typenum) {
    case NPY_BOOL:
        return Py_NewRef(*(const npy_bool *)data ? PyArrayScalar_True : PyArrayScalar_False);
    BOX(DOUBLE, Double)
    BOX(LONG, Long)
    BOX(FLOAT, Float)
    BOX(INT, Int)
    BOX(BYTE, Byte)
    BOX(UBYTE, UByte)
    BOX(SHORT, Short)
    BOX(USHORT, UShort)
    BOX(UINT, UInt)
    BOX(ULONG, ULong)
    BOX(LONGLONG, LongLong)
    BOX(ULONGLONG, ULongLong)
    BOX(HALF, Half)
    BOX(CFLOAT, CFloat)
    BOX(CDOUBLE, CDouble)
    default:
        return NULL;
    }
}

/* A list [new] of borrowed items. */
static PyObject *jc_list_of(int64_t n, PyObject *const *items)
{
    PyObject *made = PyList_New((Py_ssize_t)n);
    for (int64_t i = 0; made != NULL && i < n; i++) {
        PyList_SET_ITEM(made, i, Py_NewRef(items[i]));
    }
    return or_null(made);
}

/* A tuple [new] of borrowed items. */
static PyObject *jc_tuple(int64_t n, PyObject *const *items)
{
    PyObject *made = PyTuple_New((Py_ssize_t)n);
    for (int64_t i = 0; made != NULL && i < n; i++) {
        PyTuple_SET_ITEM(made, i, Py_NewRef(items[i]));
    }
    return or_null(made);
}

/* ---- calls and references -------------------------------------------------------------------------- */

/* callable(*args, **dict(zip(kwnames, the last args))) [new]; everything given is borrowed.  nargs counts the
 * positional arguments, kwnames is a tuple or NULL.  Counts the call. */
static PyObject *jc_call(jc_ctx *ctx, PyObject *callable, PyObject *const *args, int64_t nargs, PyObject *kwnames)
{
    ctx->calls++;
    jc_released++;
    return or_null(PyObject_Vectorcall(callable, args, (size_t)nargs, kwnames));
}

static void jc_incref(PyObject *o)
{
    Py_INCREF(o);
}

static void jc_decref(PyObject *o)
{
    Py_DECREF(o);
}

static void jc_xdecref(PyObject *o)
{
    Py_XDECREF(o);
}

/* ---- registration ---------------------------------------------------------------------------------- */

int jc_symbols_put(PyObject *dict, const jc_symbol *table)
{
    for (; table->name != NULL; table++) {
        PyObject *address = PyLong_FromVoidPtr(table->address);
        int done = address != NULL ? PyDict_SetItemString(dict, table->name, address) : -1;
        Py_XDECREF(address);
        if (done < 0) {
            return -1;
        }
    }
    return 0;
}

int jc_symbols_add(PyObject *dict)
{
    static const jc_symbol table[] = {
        {"jc_empty", (void *)jc_empty},
        {"jc_empty_strided", (void *)jc_empty_strided},
        {"jc_is_array", (void *)jc_is_array},
        {"jc_extent", (void *)jc_extent},
        {"jc_box_int", (void *)jc_box_int},
        {"jc_box_float", (void *)jc_box_float},
        {"jc_box_bool", (void *)jc_box_bool},
        {"jc_box_complex", (void *)jc_box_complex},
        {"jc_box_np", (void *)jc_box_np},
        {"jc_tuple", (void *)jc_tuple}, {"jc_list_of", (void *)jc_list_of},
        {"jc_call", (void *)jc_call},
        {"jc_incref", (void *)jc_incref},
        {"jc_decref", (void *)jc_decref},
        {"jc_xdecref", (void *)jc_xdecref},
        {"jc_poll", (void *)jc_poll},
        {NULL, NULL},
    };
    return jc_symbols_put(dict, table) < 0 || jc_views_symbols(dict) < 0 || jc_order_symbols(dict) < 0
        || jc_targets_symbols(dict) < 0 || jc_reports_symbols(dict) < 0 || jc_blocks_symbols(dict) < 0
        || jc_random_symbols(dict) < 0 || jc_lists_symbols(dict) < 0 ? -1 : 0;
}

int jc_arrays_init(PyObject *module)
{
    (void)module;
    return PyArray_ImportNumPyAPI();
}
