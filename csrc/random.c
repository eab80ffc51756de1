/* NumPy's random bit generators for native code, by their documented interface: the capsule "BitGenerator".
 *
 * A draw in native code is right while no other thread can be in the middle of one.  NumPy's methods hold the bit
 * generator's lock, the filling ones without the GIL; native code holds the GIL.  So it is enough that the lock was free
 * at some time since native code last gave up the GIL: jc_released counts those times. */
#include "npyapi.h"

#include <string.h>

int64_t jc_released;

/* Whether the object's type is one of the C types whose name starts like this: nothing of it can be overridden. */
static bool is_native(PyObject *o, const char *prefix)
{
    return !(Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE) && strncmp(Py_TYPE(o)->tp_name, prefix, strlen(prefix)) == 0;
}

/* Whether nobody else holds the lock; -1 with an exception set. */
static int is_free(PyObject *lock)
{
    PyObject *taken = PyObject_CallMethod(lock, "acquire", "O", Py_False);
    int found = taken != NULL ? PyObject_IsTrue(taken) : -1;
    Py_XDECREF(taken);
    if (found == 1) {
        PyObject *done = PyObject_CallMethod(lock, "release", NULL);
        found = done != NULL ? 1 : -1;
        Py_XDECREF(done);
    }
    return found;
}

/* The functions of the bit generator of `owner` [borrowed], a Generator or RandomState; they live as long as it.  NULL,
 * with no exception, where it is none of NumPy's own or in use. */
static void *jc_bitgen(PyObject *owner)
{
    static const char attribute[] = "_bit_generator";
    void *found = NULL;
    PyObject *bits = PyObject_GetAttrString(owner, attribute);
    PyObject *lock = bits != NULL && is_native(bits, "numpy.random._") ? PyObject_GetAttrString(bits, "lock") : NULL;
    if (lock != NULL && strncmp(Py_TYPE(lock)->tp_name, "_thread.", 8) == 0 && is_free(lock) == 1) {
        PyObject *capsule = PyObject_GetAttrString(bits, "capsule");
        found = capsule != NULL ? PyCapsule_GetPointer(capsule, "BitGenerator") : NULL;
        Py_XDECREF(capsule);
    }
    Py_XDECREF(lock);
    Py_XDECREF(bits);
    PyErr_Clear();
    return found;
}

int jc_random_symbols(PyObject *dict)
{
    static const jc_symbol table[] = {
        {"jc_bitgen", (void *)jc_bitgen}, {"jc_released", (void *)&jc_released}, {NULL, NULL},
    };
    return jc_symbols_put(dict, table);
}
