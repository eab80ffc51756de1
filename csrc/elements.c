/* Small arrays made at exits from the elements that native code had as numbers.
 *
 * Job: what recipes of the kind "array" say.  Called by recipes.c. */
#include "npyapi.h"
#include "jitcore.h"

/* The number of the dtype with this character, -1 if there is none (no exception). */
int jc_typenum_of(PyObject *name)
{
    if (!PyUnicode_Check(name) || PyUnicode_GET_LENGTH(name) != 1) {
        return -1;
    }
    PyArray_Descr *descr = PyArray_DescrFromType((char)PyUnicode_ReadChar(name, 0));
    int typenum = descr != NULL ? descr->type_num : -1;
    Py_XDECREF(descr);
    PyErr_Clear();
    return typenum;
}

/* How many elements an array with these parts has, -1 if they are none of an array, or there are too many. */
int jc_array_size(PyObject *order, PyObject *lengths)
{
    long long size = 1;
    if (!PyUnicode_Check(order) || PyUnicode_GET_LENGTH(order) != 1 || !PyTuple_Check(lengths)
        || PyTuple_GET_SIZE(lengths) < 1 || PyTuple_GET_SIZE(lengths) > JC_MAXDIMS) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(lengths); i++) {
        PyObject *item = PyTuple_GET_ITEM(lengths, i);
        long long length = PyLong_Check(item) ? PyLong_AsLongLong(item) : -1;
        PyErr_Clear();
        if (length < 1 || length > JC_MOST_ELEMENTS || (size *= length) > JC_MOST_ELEMENTS) {
            return -1;
        }
    }
    return (int)size;
}

/* Where element k in C order lies in the array. */
static size_t offset_of(PyArrayObject *array, int k)
{
    npy_intp offset = 0;
    for (int i = PyArray_NDIM(array) - 1; i >= 0; i--) {
        int length = (int)PyArray_DIM(array, i);
        offset += k % length * PyArray_STRIDE(array, i);
        k /= length;
    }
    return (size_t)offset;
}

/* The new array: elements are in C order, each in the first bytes of a word or two. */
PyObject *jc_array_of(int typenum, PyObject *order, PyObject *lengths, const jc_word *const *elements)
{
    int64_t dims[JC_MAXDIMS];
    int nd = (int)PyTuple_GET_SIZE(lengths), size = 1;
    dims[0] = 1;
    for (int i = 0; i < nd; i++) {
        dims[i] = PyLong_AsLong(PyTuple_GET_ITEM(lengths, i));
        size *= (int)dims[i];       /* few: jc_array_size */
    }
    int fortran = nd > 1 && PyUnicode_ReadChar(order, 0) == 'F';
    PyObject *made = jc_empty(typenum, nd, dims, fortran);
    if (made == NULL) {
        return PyErr_NoMemory();
    }
    PyArrayObject *array = (PyArrayObject *)made;
    size_t item = (size_t)PyArray_ITEMSIZE(array);
    for (int k = 0; k < size; k++) {
        char *place = PyArray_BYTES(array) + (fortran ? offset_of(array, k) : (size_t)k * item);
        memcpy(place, elements[k], item);
    }
    return made;
}
