/* Doors into the C parts for the tests: a guard program and a recipe list as Python sees them. */
#include "guards.h"

#include <time.h>

typedef struct {
    PyObject_HEAD
    jc_guards *program;
    int n_locals;       /* how many locals the program reads */
} guards_object;

static PyObject *guards_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *spec;
    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) != 0) {
        return PyErr_Format(PyExc_TypeError, "Guards takes no keywords");
    }
    if (!PyArg_ParseTuple(args, "O:Guards", &spec)) {
        return NULL;
    }
    jc_guards *g = jc_guards_new(spec);
    guards_object *self = g != NULL ? (guards_object *)type->tp_alloc(type, 0) : NULL;
    if (self == NULL) {
        jc_guards_free(g);
        return NULL;
    }
    self->program = g;
    for (int i = 0; i < g->n_ops; i++) {
        const jc_guard_op *op = &g->ops[i];
        int64_t index = op->code == JC_READ_LOCAL ? op->arg : op->code == JC_LOCAL_ARRAY ? op->base : -1;
        if (index >= self->n_locals) {
            self->n_locals = (int)index + 1;
        }
    }
    return (PyObject *)self;
}

static int guards_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return jc_guards_traverse(((guards_object *)self)->program, visit, arg);
}

static void guards_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    jc_guards_free(((guards_object *)self)->program);
    type->tp_free(self);
    Py_DECREF(type);
}

PyDoc_STRVAR(check_doc,
"check(func, locals, unbound, /)\n--\n\n"
"Runs the program against a function and a tuple of locals, where the object `unbound` stands for NULL.  Returns\n"
"(result, input words as bytes, list of source objects); the last two are None if a guard fails.");

static PyObject *guards_check(PyObject *self, PyObject *args)
{
    PyObject *func, *locals, *unbound, *answer = NULL;
    jc_guards *g = ((guards_object *)self)->program;
    if (!PyArg_ParseTuple(args, "OO!O:check", &func, &PyTuple_Type, &locals, &unbound)) {
        return NULL;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(locals);
    if (!PyObject_TypeCheck(func, &PyFunction_Type) || n < ((guards_object *)self)->n_locals) {
        return PyErr_Format(PyExc_TypeError, "a function and %d locals are needed", ((guards_object *)self)->n_locals);
    }
    int n_sources = jc_guards_n_sources(g), n_words = jc_guards_n_words(g);
    PyObject **lp = PyMem_Calloc((size_t)n + 1, sizeof(PyObject *));
    PyObject **src = PyMem_Calloc((size_t)n_sources + 1, sizeof(PyObject *));
    jc_word *in = PyMem_Calloc((size_t)n_words + 1, sizeof(jc_word));
    if (lp == NULL || src == NULL || in == NULL) {
        PyErr_NoMemory();
        goto end;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = PyTuple_GET_ITEM(locals, i);
        lp[i] = o == unbound ? NULL : o;
    }
    int failed = jc_guards_check(g, func, lp, in, src);
    if (PyErr_Occurred()) {
        PyErr_SetString(PyExc_SystemError, "a guard left an exception behind");
        goto end;
    }
    if (failed != 0) {
        answer = Py_BuildValue("iOO", failed, Py_None, Py_None);
        goto end;
    }
    PyObject *read = PyList_New(n_sources);
    for (int i = 0; read != NULL && i < n_sources; i++) {
        PyList_SET_ITEM(read, i, Py_NewRef(src[i] != NULL ? src[i] : unbound));
    }
    jc_guards_release(g, src);
    if (read != NULL) {
        answer = Py_BuildValue("iy#N", 0, (char *)in, (Py_ssize_t)((size_t)n_words * sizeof(jc_word)), read);
    }
end:
    PyMem_Free(lp);
    PyMem_Free(src);
    PyMem_Free(in);
    return answer;
}

PyDoc_STRVAR(time_doc,
"nanoseconds(func, locals, repeats, /)\n--\n\n"
"How long one check takes, on average over the repeats.  RuntimeError if it fails.");

static PyObject *guards_nanoseconds(PyObject *self, PyObject *args)
{
    PyObject *func, *locals;
    long repeats;
    jc_guards *g = ((guards_object *)self)->program;
    if (!PyArg_ParseTuple(args, "OO!l:nanoseconds", &func, &PyTuple_Type, &locals, &repeats)) {
        return NULL;
    }
    if (!PyObject_TypeCheck(func, &PyFunction_Type)
        || PyTuple_GET_SIZE(locals) < ((guards_object *)self)->n_locals || g->n_sources > 64 || g->n_words > 64) {
        PyErr_SetString(PyExc_TypeError, "a function and a small frame are needed");
        return NULL;
    }
    PyObject *src[64];
    jc_word in[64];
    struct timespec from, to;
    timespec_get(&from, TIME_UTC);
    for (long i = 0; i < repeats; i++) {
        if (jc_guards_check(g, func, ((PyTupleObject *)locals)->ob_item, in, src) != 0) {
            PyErr_SetString(PyExc_RuntimeError, "the guards do not hold");
            return NULL;
        }
        jc_guards_release(g, src);
    }
    timespec_get(&to, TIME_UTC);
    double taken = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
    return PyFloat_FromDouble(taken / (double)(repeats > 0 ? repeats : 1));
}

static PyMethodDef guards_methods[] = {
    {"check", guards_check, METH_VARARGS, check_doc},
    {"nanoseconds", guards_nanoseconds, METH_VARARGS, time_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(guards_doc, "Guards(spec, /)\n--\n\nA compiled guard program; `spec` is what guards.pack_guards gives.");

static PyType_Slot guards_slots[] = {
    {Py_tp_new, guards_new}, {Py_tp_dealloc, guards_dealloc}, {Py_tp_traverse, guards_traverse},
    {Py_tp_methods, guards_methods}, {Py_tp_doc, (void *)guards_doc}, {0, NULL},
};

static PyType_Spec guards_spec = {
    "jitcore._core.Guards", sizeof(guards_object), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, guards_slots,
};

PyDoc_STRVAR(build_doc,
"build_recipe(spec, sources, words, unbound, func=None, /)\n--\n\n"
"Compiles a tuple of recipes and builds them from a tuple of source objects and the bytes of the exit words, as a\n"
"region of `func` would.  Returns the objects as a tuple, `unbound` for NULL.");

static PyObject *build_recipe(PyObject *module, PyObject *args)
{
    PyObject *spec, *sources, *unbound, *func = Py_None, *answer = NULL;
    const char *bytes;
    Py_ssize_t size;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO!y#O|O:build_recipe", &spec, &PyTuple_Type, &sources, &bytes, &size, &unbound,
                          &func)) {
        return NULL;
    }
    jc_recipe *r = jc_recipe_new(spec);
    if (r == NULL) {
        return NULL;
    }
    int count = jc_recipe_count(r);
    Py_ssize_t n = PyTuple_GET_SIZE(sources);
    jc_word *words = PyMem_Calloc((size_t)size / sizeof(jc_word) + 2, sizeof(jc_word));
    PyObject **src = PyMem_Calloc((size_t)n + 1, sizeof(PyObject *));
    PyObject **dst = PyMem_Calloc((size_t)count + 1, sizeof(PyObject *));
    if (words == NULL || src == NULL || dst == NULL) {
        PyErr_NoMemory();
        goto end;
    }
    memcpy(words, bytes, (size_t)size);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = PyTuple_GET_ITEM(sources, i);
        src[i] = o == unbound ? NULL : o;
    }
    if (jc_recipe_build(r, func, src, words, dst) == 0 && (answer = PyTuple_New(count)) != NULL) {
        for (int i = 0; i < count; i++) {
            PyTuple_SET_ITEM(answer, i, dst[i] != NULL ? dst[i] : Py_NewRef(unbound));
        }
    }
end:
    PyMem_Free(words);
    PyMem_Free(src);
    PyMem_Free(dst);
    jc_recipe_free(r);
    return answer;
}

static PyMethodDef methods[] = {
    {"build_recipe", build_recipe, METH_VARARGS, build_doc},
    {NULL, NULL, 0, NULL},
};

int jc_selftest_init(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&guards_spec);
    int done = type != NULL ? PyModule_AddObjectRef(module, "Guards", type) : -1;
    Py_XDECREF(type);
    return done < 0 ? -1 : PyModule_AddFunctions(module, methods);
}
