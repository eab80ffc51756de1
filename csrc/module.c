/* The Python module `jitcore._core`: what the C part offers, put together.
 *
 * Job: initialise every part once, in order.  Invariants: one module object a process, in the main interpreter only
 * (the parts keep their state in static variables); importing it elsewhere is an ImportError without effect.
 */
#include "core.h"
#include "lists.h"

static PyObject *the_module;    /* [owned] for good: machine code and co_extra point into it */

static PyObject *symbols(PyObject *module, PyObject *unused)
{
    PyObject *dict = PyDict_New();
    if (dict != NULL && jc_symbols_add(dict) < 0) {
        Py_CLEAR(dict);
    }
    return dict;
}

static PyMethodDef methods[] = {
    {"symbols", symbols, METH_NOARGS, "symbols() -> {name: address} of the helpers that native code calls."},
    {NULL},
};

static PyObject *create(PyObject *spec, PyModuleDef *def)
{
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "jitcore._core works in the main interpreter only");
        return NULL;
    }
    if (the_module != NULL) {
        return Py_NewRef(the_module);
    }
    PyObject *name = PyObject_GetAttrString(spec, "name");
    PyObject *module = name != NULL ? PyModule_NewObject(name) : NULL;
    Py_XDECREF(name);
    return module;
}

static int execute(PyObject *module)
{
    static int (*const parts[])(PyObject *) = {
        jc_arrays_init, jc_reports_init, jc_ufuncs_init, jc_copies_init, jc_pool_init, jc_lists_init,
        jc_selftest_init,
        jc_frames_init, jc_tables_init, jc_regions_init, jc_misses_init, jc_dispatch_init, jc_loops_init,
        jc_discovery_init, jc_entries_init, jc_testing_init,
    };
    if (module == the_module) {
        return 0;
    }
    if (the_module != NULL) {
        PyErr_SetString(PyExc_ImportError, "jitcore._core exists already");
        return -1;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i](module) < 0) {
            return -1;
        }
    }
    if (PyModule_AddObject(module, "EVENTS", PyLong_FromUnsignedLong(JC_EVENTS)) < 0) {
        return -1;
    }
    PyObject *sites = jc_site_names();
    if (sites == NULL || PyModule_AddObjectRef(module, "SITES", sites) < 0) {
        Py_XDECREF(sites);
        return -1;
    }
    Py_DECREF(sites);
    the_module = Py_NewRef(module);
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_create, (void *)(uintptr_t)create},
    {Py_mod_exec, (void *)(uintptr_t)execute},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "jitcore._core",
    .m_doc = "The C part of jitcore: interception, regions, guards, and what native code calls.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
