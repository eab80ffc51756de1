/* Functions, cells and objects of plain classes made at exits.
 *
 * Job: what MAKE_FUNCTION would have made, the cells of the region's own function, and what `object.__new__` and stores to
 * attributes would have.  Invariants: no Python code runs.  Called by recipes.c. */
#include "jitcore.h"
#include "frame_compat.h"

/* The parts of a function: its code, the function that has its globals (NULL: the region's own), what it is given (NULL
 * for nothing); cells to be filled follow. */
enum { P_CODE, P_GLOBALS, P_DEFAULTS, P_KWDEFAULTS, P_CLOSURE, P_ANNOTATIONS };

/* Of `given`, or of the region's function where that is NULL; NULL with an exception if it is no function. */
static PyObject *function_of(PyObject *given, PyObject *own)
{
    PyObject *func = given != NULL ? given : own;
    if (func == NULL || !PyObject_TypeCheck(func, &PyFunction_Type)) {
        PyErr_SetString(PyExc_SystemError, "jitcore: a recipe needs a function");
        return NULL;
    }
    return func;
}

PyObject *jc_cell_of_closure(PyObject *index, PyObject *given, PyObject *own)
{
    PyObject *func = function_of(given, own);
    PyObject *closure = func != NULL ? jc_function_closure(func) : NULL;
    Py_ssize_t i = func != NULL ? PyLong_AsSsize_t(index) : -1;
    if (i >= 0 && closure != NULL && i < PyTuple_GET_SIZE(closure)) {
        return Py_NewRef(PyTuple_GET_ITEM(closure, i));
    }
    if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_SystemError, "jitcore: a recipe needs a cell that is not there");
    }
    return NULL;
}

PyObject *jc_make_function(PyObject **items, int n, PyObject *own)
{
    PyObject *base = function_of(items[P_GLOBALS], own);
    bool fit = PyCode_Check(items[P_CODE]);
    for (int i = P_DEFAULTS; i < n; i++) {
        PyTypeObject *type = i == P_DEFAULTS || i == P_CLOSURE ? &PyTuple_Type : i < JC_FUNCTION_PARTS ? &PyDict_Type : &PyCell_Type;
        fit = fit && (items[i] == NULL ? i < JC_FUNCTION_PARTS : Py_IS_TYPE(items[i], type));
    }
    Py_ssize_t n_free = fit && items[P_CLOSURE] != NULL ? PyTuple_GET_SIZE(items[P_CLOSURE]) : 0;
    for (Py_ssize_t i = 0; i < n_free; i++) {
        fit = fit && PyCell_Check(PyTuple_GET_ITEM(items[P_CLOSURE], i));
    }
    if (!fit || n_free != PyCode_GetNumFree((PyCodeObject *)items[P_CODE])) {
        PyErr_SetString(PyExc_SystemError, "jitcore: a recipe makes a function of parts that do not fit");
        return NULL;
    }
    if (base == NULL) {
        return NULL;
    }
    PyObject *made = jc_function_make(items[P_CODE], jc_function_globals(base), items[P_DEFAULTS],
                                      items[P_KWDEFAULTS], items[P_CLOSURE], items[P_ANNOTATIONS]);
    for (int i = JC_FUNCTION_PARTS; made != NULL && i < n; i++) {
        PyCell_Set(items[i], made);
    }
    return made;
}

/* An object of a class written in Python, whose attributes are set without any of its code. */
PyObject *jc_make_instance(PyObject **items, int n)
{
    PyTypeObject *cls = (PyTypeObject *)items[0];
    if (!PyType_Check(items[0]) || cls->tp_new != PyBaseObject_Type.tp_new) {
        PyErr_SetString(PyExc_SystemError, "jitcore: a recipe makes an object of something else than a plain class");
        return NULL;
    }
    PyObject *none = PyTuple_New(0), *made = none != NULL ? cls->tp_new(cls, none, NULL) : NULL;
    Py_XDECREF(none);
    for (int i = 1; made != NULL && i < n; i += 2) {
        if (PyObject_GenericSetAttr(made, items[i], items[i + 1]) < 0) {
            Py_CLEAR(made);
        }
    }
    return made;
}
