/* NumPy's entry points: where calls are seen that discovery.c counts.
 *
 * Job: while `enable()` holds, every call of a ufunc, every ufunc.reduce and accumulate, and every a[i], a[i] = v and
 * step of an iteration over an array passes here first.
 * Invariants: nothing here changes what an operation does; what was put into NumPy's tables is taken out again where it
 * still lies there, and where it does not (somebody wrapped it, a type inherited it) it goes on handing calls through for
 * good.  Used by discovery.c.
 *
 * The number slots of arrays need nothing: NumPy's own functions in them call the ufuncs, and compare the slots of both
 * operands with themselves.
 */
#include "core.h"
#define NO_IMPORT_UFUNC
#define PY_UFUNC_UNIQUE_SYMBOL jc_ufunc_api
#include "npyapi.h"
#include <numpy/ufuncobject.h>

#define ELEMENTS 10             /* 2**10 elements count as much as an operation on a few */

static inline int64_t weight_of(PyObject *o)
{
    return PyArray_CheckExact(o) ? PyArray_SIZE((PyArrayObject *)o) >> ELEMENTS : 0;
}

/* Where each went before; set once, for good. */
static binaryfunc plain_subscript;
static objobjargproc plain_ass_subscript;
static ssizeargfunc plain_item;
static vectorcallfunc plain_ufunc;
typedef PyObject *(*method)(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames);
static method plain_reduce, plain_accumulate;

static PyObject *count_subscript(PyObject *self, PyObject *key)
{
    return jc_counting && jc_count(1) < 0 ? NULL : plain_subscript(self, key);
}

static int count_ass_subscript(PyObject *self, PyObject *key, PyObject *value)
{
    return jc_counting && jc_count(1) < 0 ? -1 : plain_ass_subscript(self, key, value);
}

static PyObject *count_item(PyObject *self, Py_ssize_t index)
{
    return jc_counting && jc_count(1) < 0 ? NULL : plain_item(self, index);
}

static PyObject *count_ufunc(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    if (JC_LIKELY(jc_counting)) {
        Py_ssize_t n = PyVectorcall_NARGS(nargsf);
        int64_t weight = n > 0 ? weight_of(args[0]) : 0;
        if (weight == 0 && n > 1) {
            weight = weight_of(args[1]);
        }
        if (JC_UNLIKELY(jc_count(1 + weight) < 0)) {
            return NULL;
        }
    }
    return plain_ufunc(self, args, nargsf, kwnames);
}

static PyObject *count_reduce(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    return jc_counting && jc_count(1 + (n > 0 ? weight_of(args[0]) : 0)) < 0 ? NULL : plain_reduce(self, args, n, kwnames);
}

static PyObject *count_accumulate(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    return jc_counting && jc_count(1 + (n > 0 ? weight_of(args[0]) : 0)) < 0 ? NULL : plain_accumulate(self, args, n, kwnames);
}

/* One pointer in NumPy's tables. */
typedef void (*any_function)(void);
typedef struct {
    const char *name;
    any_function *place, *plain;
    any_function ours;
} entry_point;
#define N_ENTRIES 5
static entry_point entries[N_ENTRIES];
static PyObject *ufuncs;        /* tuple of those that are counted [owned], NULL while there are none */

/* Ours goes in where NumPy's own function lies, or, the first time, whatever lies there.  Later another function may
 * be one that hands its calls on to ours: it is left alone. */
static void put_in(any_function *place, any_function *plain, any_function ours)
{
    if (*plain == NULL) {
        *plain = *place;
    }
    if (*place == *plain) {
        *place = ours;
    }
}

static void take_out(any_function *place, any_function plain, any_function ours)
{
    if (*place == ours) {
        *place = plain;
    }
}

static any_function *ufunc_place(PyObject *ufunc)
{
    return (any_function *)&((PyUFuncObject *)ufunc)->vectorcall;
}

/* The place of a ufunc's method in the table of its type, if its convention is the one that is expected. */
static any_function *method_place(const char *name)
{
    PyObject *d = PyDict_GetItemString(PyUFunc_Type.tp_dict, name);
    if (d == NULL || !Py_IS_TYPE(d, &PyMethodDescr_Type)) {
        return NULL;
    }
    PyMethodDef *def = ((PyMethodDescrObject *)d)->d_method;
    return def->ml_flags == (METH_FASTCALL | METH_KEYWORDS) ? (any_function *)&def->ml_meth : NULL;
}

static void find_entries(void)
{
    PyMappingMethods *mapping = PyArray_Type.tp_as_mapping;
    PySequenceMethods *sequence = PyArray_Type.tp_as_sequence;
    entry_point all[N_ENTRIES] = {
        {"mp_subscript", (any_function *)&mapping->mp_subscript, (any_function *)&plain_subscript,
         (any_function)count_subscript},
        {"mp_ass_subscript", (any_function *)&mapping->mp_ass_subscript, (any_function *)&plain_ass_subscript,
         (any_function)count_ass_subscript},
        {"sq_item", (any_function *)&sequence->sq_item, (any_function *)&plain_item, (any_function)count_item},
        {"reduce", method_place("reduce"), (any_function *)&plain_reduce, (any_function)count_reduce},
        {"accumulate", method_place("accumulate"), (any_function *)&plain_accumulate, (any_function)count_accumulate},
    };
    memcpy(entries, all, sizeof all);
}

void jc_entries_take_out(void)
{
    for (int i = 0; i < N_ENTRIES; i++) {
        if (entries[i].place != NULL) {
            take_out(entries[i].place, *entries[i].plain, entries[i].ours);
        }
    }
    for (Py_ssize_t i = 0; ufuncs != NULL && i < PyTuple_GET_SIZE(ufuncs); i++) {
        take_out(ufunc_place(PyTuple_GET_ITEM(ufuncs, i)), (any_function)plain_ufunc, (any_function)count_ufunc);
    }
    Py_CLEAR(ufuncs);
}

int jc_entries_put_in(PyObject *tuple)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        if (!PyObject_TypeCheck(PyTuple_GET_ITEM(tuple, i), &PyUFunc_Type)) {
            PyErr_SetString(PyExc_TypeError, "expected a tuple of ufuncs");
            return -1;
        }
    }
    for (int i = 0; i < N_ENTRIES; i++) {
        if (entries[i].place != NULL) {
            put_in(entries[i].place, entries[i].plain, entries[i].ours);
        }
    }
    Py_XSETREF(ufuncs, Py_NewRef(tuple));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        if (((PyUFuncObject *)PyTuple_GET_ITEM(tuple, i))->vectorcall != NULL) {
            put_in(ufunc_place(PyTuple_GET_ITEM(tuple, i)), (any_function *)&plain_ufunc, (any_function)count_ufunc);
        }
    }
    return 0;
}

/* ---- for the tests ------------------------------------------------------------------------------- */
/* Every pointer that counting may have changed, by name or ufunc. */
static PyObject *testing_entries(PyObject *module, PyObject *list)
{
    PyObject *dict = PyDict_New();
    for (int i = 0; dict != NULL && i < N_ENTRIES; i++) {
        PyObject *v = PyLong_FromVoidPtr(entries[i].place != NULL ? (void *)*entries[i].place : NULL);
        if (v == NULL || PyDict_SetItemString(dict, entries[i].name, v) < 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(v);
    }
    for (Py_ssize_t i = 0; dict != NULL && PyTuple_Check(list) && i < PyTuple_GET_SIZE(list); i++) {
        PyObject *v = PyLong_FromVoidPtr((void *)*ufunc_place(PyTuple_GET_ITEM(list, i)));
        if (v == NULL || PyDict_SetItem(dict, PyTuple_GET_ITEM(list, i), v) < 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(v);
    }
    return dict;
}

/* Puts a pointer into an entry (another library's, for the tests); gives the one that was there. */
static PyObject *testing_set_entry(PyObject *module, PyObject *args)
{
    const char *name;
    PyObject *pointer;
    if (!PyArg_ParseTuple(args, "sO:set_entry", &name, &pointer)) {
        return NULL;
    }
    void *value = PyLong_AsVoidPtr(pointer);
    for (int i = 0; !PyErr_Occurred() && i < N_ENTRIES; i++) {
        if (strcmp(entries[i].name, name) == 0 && entries[i].place != NULL) {
            PyObject *before = PyLong_FromVoidPtr((void *)*entries[i].place);
            *entries[i].place = (any_function)value;
            return before;
        }
    }
    return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "there is no entry %s", name);
}

static PyMethodDef methods[] = {
    {"_testing_entries", testing_entries, METH_O, NULL},
    {"_testing_set_entry", testing_set_entry, METH_VARARGS, NULL},
    {NULL},
};

int jc_entries_init(PyObject *module)
{
    find_entries();
    return PyModule_AddFunctions(module, methods);
}
