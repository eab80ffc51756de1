/* Guard programs: a flat list of small operations that read sources and check them.
 *
 * The Python tuple (made by jitcore.guards.pack) is (n_sources, n_words, n_guards, ops), each op being
 * (name, guard, source, ...): `guard` is the index of the guard on whose behalf the op runs.  Reads put an
 * object into src[source], or NULL where there is none; checks look at src[source].  A local stays
 * borrowed from localsplus, a constant from the program; what comes from anywhere else is a new reference, since another thread may replace
 * it while native code runs without the GIL.
 *
 * Invariants: checking runs no Python code, allocates nothing but bound methods, sets no exception; nothing is held
 * after a failure.  (A key that is no str, planted in an instance's dict under the hash of an attribute's name, has its
 * __eq__ run, as CPython itself does at that attribute.)
 * Compiling is in guards_compile.c. */
#include "guards.h"
#include "object_compat.h"
#include "iterator_compat.h"

/* Reads that give `found` [borrowed] share this: 1 found, 0 absent, -1 cannot be read. */
static int read_module_or_instance(jc_guard_op *op, PyObject *base, PyObject **found, PyObject **made)
{
    if (PyModule_CheckExact(base)) {
        PyObject *dict = PyModule_GetDict(base);
        return dict != NULL ? jc_dict_get(dict, op->ptr, &op->hint, found) : JC_DICT_UNKNOWN;
    }
    /* Under the type version guard before this op the look-up finds a slot, an instance attribute or a class
     * attribute without a __get__ of its own: compile_attr saw to it. */
    if (op->ptr2 == NULL || (PyObject *)Py_TYPE(base) != op->ptr2 || (op->on_class != NULL
                                                                      && jc_is_descriptor(op->on_class))) {
        return -1;
    }
    if (PyMethod_Check(base)) {     /* compile_attr lets only __func__ and __self__ through */
        *found = op->arg2 ? PyMethod_GET_SELF(base) : PyMethod_GET_FUNCTION(base);
        return 1;
    }
    *made = _PyObject_GenericGetAttrWithDict(base, op->ptr, NULL, 1);
    if (*made == NULL && PyErr_Occurred()) {
        PyErr_Clear();
        return -1;
    }
    return *made != NULL;
}

static int read_global(jc_guard_op *op, PyObject *func, PyObject **found)
{
    PyObject *globals = ((PyFunctionObject *)func)->func_globals;
    PyObject *builtins = ((PyFunctionObject *)func)->func_builtins;
    if (!PyDict_CheckExact(globals) || !PyDict_CheckExact(builtins)) {
        return -1;
    }
    int known = jc_dict_get(globals, op->ptr, &op->hint, found);
    return known != 0 ? known : jc_dict_get(builtins, op->ptr, &op->hint2, found);
}

static int read_closure(const jc_guard_op *op, PyObject *func, PyObject **found)
{
    PyObject *closure = ((PyFunctionObject *)func)->func_closure;
    if (closure == NULL || op->arg >= PyTuple_GET_SIZE(closure)) {
        return -1;
    }
    *found = PyCell_GET(PyTuple_GET_ITEM(closure, op->arg));
    return *found != NULL;
}

static int is_function(PyObject *o)
{
    return o != NULL && PyObject_TypeCheck(o, &PyFunction_Type);
}

/* The reads whose base is another source. */
static int read_from(jc_guard_op *op, PyObject *base, PyObject **found, PyObject **made)
{
    if (base == NULL) {
        return -1;
    }
    switch (op->code) {
    case JC_READ_MODULE_GLOBAL:
        return is_function(base) ? read_global(op, base, found) : -1;
    case JC_READ_CLOSURE:
        return is_function(base) ? read_closure(op, base, found) : -1;
    case JC_READ_CELL:
        if (!PyCell_Check(base)) {
            return -1;
        }
        *found = PyCell_GET(base);
        return *found != NULL;
    case JC_READ_ATTR:
        return read_module_or_instance(op, base, found, made);
    case JC_READ_ITEM:
        if (PyTuple_CheckExact(base)) {
            *found = op->arg < PyTuple_GET_SIZE(base) ? PyTuple_GET_ITEM(base, op->arg) : NULL;
        }
        else if (PyList_CheckExact(base)) {
            *found = op->arg < PyList_GET_SIZE(base) ? PyList_GET_ITEM(base, op->arg) : NULL;
        }
        else {
            return -1;
        }
        return *found != NULL;
    case JC_READ_ITERATED:
        *found = jc_is_indexed(Py_TYPE(base)) ? jc_iterated(base) : NULL;
        return *found != NULL ? 1 : -1;
    default:    /* JC_READ_KEY */
        return PyDict_CheckExact(base) ? jc_dict_get(base, op->ptr, &op->hint, found) : -1;
    }
}

static int value_is(const jc_guard_op *op, PyObject *o)
{
    if (o == op->ptr) {
        return 1;
    }
    if (Py_TYPE(o) != Py_TYPE(op->ptr)) {
        return 0;
    }
    if (PyUnicode_CheckExact(o)) {
        return jc_str_equal(o, op->ptr);
    }
    /* two exact ints (a bool is its own object): no Python code can run */
    return PyLong_CheckExact(o) && PyObject_RichCompareBool(o, op->ptr, Py_EQ) == 1;
}

static int length_is(const jc_guard_op *op, PyObject *o)
{
    if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
        return Py_SIZE(o) == op->arg;
    }
    return PyDict_CheckExact(o) && PyDict_GET_SIZE(o) == op->arg;
}

static int function_is(const jc_guard_op *op, PyObject *o)
{
    PyFunctionObject *f = (PyFunctionObject *)o;
    /* ptr: weak reference to the code, ptr2: (defaults, kwdefaults) with None for NULL */
    return is_function(o) && jc_weak_is(op->ptr, f->func_code)
        && (f->func_defaults != NULL ? f->func_defaults : Py_None) == PyTuple_GET_ITEM(op->ptr2, 0)
        && (f->func_kwdefaults != NULL ? f->func_kwdefaults : Py_None) == PyTuple_GET_ITEM(op->ptr2, 1);
}

static int dims_equal(const jc_guard_op *op, PyObject *a, PyObject *b)
{
    return PyArray_CheckExact(a) && b != NULL && PyArray_CheckExact(b) && op->arg < PyArray_NDIM((PyArrayObject *)a)
        && op->arg2 < PyArray_NDIM((PyArrayObject *)b)
        && PyArray_DIM((PyArrayObject *)a, op->arg) == PyArray_DIM((PyArrayObject *)b, op->arg2);
}

/* A dtype of that number in native byte order and with nothing else to it, though not NumPy's own object. */
static int is_plain(PyArray_Descr *descr, int64_t typenum)
{
    return descr->type_num == typenum && descr->byteorder != NPY_OPPBYTE && PyDataType_FIELDS(descr) == NULL
        && PyDataType_METADATA(descr) == NULL;
}

static int load_array(const jc_guard_op *op, PyObject *o)
{
    if (!PyArray_CheckExact(o)) {
        return 0;
    }
    PyArrayObject_fields *a = (PyArrayObject_fields *)o;
    return a->nd == op->arg2 && (a->flags & op->mask) == op->want
        && ((PyObject *)a->descr == op->ptr || is_plain(a->descr, op->arg));
}

static int load_scalar(const jc_guard_op *op, PyObject *o, jc_word *word)
{
    switch (op->code) {
    case JC_LOAD_INT:
        return PyLong_CheckExact(o) && jc_long_as_int64(o, &word->i);
    case JC_LOAD_FLOAT:
        if (!PyFloat_CheckExact(o)) {
            return 0;
        }
        word->d = PyFloat_AS_DOUBLE(o);
        return 1;
    case JC_LOAD_BOOL:
        if (!PyBool_Check(o)) {
            return 0;
        }
        word->i = o == Py_True;
        return 1;
    case JC_LOAD_COMPLEX:
        if (!PyComplex_CheckExact(o)) {
            return 0;
        }
        word[0].d = ((PyComplexObject *)o)->cval.real;
        word[1].d = ((PyComplexObject *)o)->cval.imag;
        return 1;
    default:    /* JC_LOAD_NUMPY: ptr is the scalar type, arg where the bytes are, arg2 how many */
        if ((PyObject *)Py_TYPE(o) != op->ptr) {
            return 0;
        }
        word->i = 0;
        memcpy(word, (char *)o + op->arg, (size_t)op->arg2);
        return 1;
    }
}

static int is_unchanged(const jc_guard_op *op, PyTypeObject *type)
{
    return jc_type_version(type) == (unsigned int)op->arg
        && (type->tp_flags & JC_COLLECTION_FLAGS) == (unsigned long)op->arg2;
}

static int load_range(const jc_guard_op *op, PyObject *o, jc_word *word)
{
    int64_t number[3];
    if (!Py_IS_TYPE(o, &PyRangeIter_Type) || !jc_range_numbers(o, number) || (number[2] < 0) != (op->arg2 != 0)) {
        return 0;
    }
    word->i = number[op->arg];
    return 1;
}

static int check(const jc_guard_op *op, PyObject *const *src, jc_word *in)
{
    PyObject *o = src[op->source];
    if (o == NULL) {
        return op->code == JC_ABSENT;
    }
    switch (op->code) {
    case JC_LOAD_ARRAY:
        in[op->word].o = o;
        return load_array(op, o);
    case JC_LOAD_OBJECT:
        in[op->word].o = o;
        return 1;
    case JC_TYPE_IS:
        return (PyObject *)Py_TYPE(o) == op->ptr;
    case JC_TYPE_IS_WEAK:
        return jc_weak_is(op->ptr, (PyObject *)Py_TYPE(o));
    case JC_IS_OBJECT:
        return o == op->ptr;
    case JC_IS_OBJECT_WEAK:
        return jc_weak_is(op->ptr, o);
    case JC_VALUE_IS:
        return value_is(op, o);
    case JC_LENGTH_IS:
        return length_is(op, o);
    case JC_ABSENT:
        return 0;
    case JC_PRESENT:
        return 1;
    case JC_TYPE_VERSION:
        return jc_weak_is(op->ptr, (PyObject *)Py_TYPE(o)) && is_unchanged(op, Py_TYPE(o));
    case JC_CLASS_VERSION:
        return jc_weak_is(op->ptr, o) && is_unchanged(op, (PyTypeObject *)o);
    case JC_FUNCTION_IS:
        return function_is(op, o);
    case JC_DIMS_EQUAL:
        return dims_equal(op, o, src[op->base]);
    case JC_ALONE:
        return Py_REFCNT(o) == op->arg;
    case JC_STRICT_IS:
        return Py_IS_TYPE(o, &PyZip_Type) && (((jc_zip *)o)->strict != 0) == (op->arg != 0);
    case JC_LOAD_RANGE:
        return load_range(op, o, &in[op->word]);
    case JC_LOAD_POSITION:
        return (PyObject *)Py_TYPE(o) == op->ptr && jc_position(o, &in[op->word].i);
    default:
        return load_scalar(op, o, &in[op->word]);
    }
}

static void release(const jc_guards *g, PyObject **src, int n)
{
    for (int i = 0; i < n; i++) {
        PyObject *o = src[g->owned[i]];
        src[g->owned[i]] = NULL;
        Py_XDECREF(o);
    }
}

int jc_guards_check(const jc_guards *g, PyObject *func, PyObject *const *lp, jc_word *in, PyObject **src)
{
    int held = 0;
    for (jc_guard_op *op = g->ops, *end = op + g->n_ops; op < end; op++) {
        PyObject *found = NULL, *made = NULL;
        int known;
        switch (op->code) {
        case JC_READ_LOCAL:
            src[op->source] = lp[op->arg];
            continue;
        case JC_READ_CONSTANT:
            src[op->source] = op->ptr;
            continue;
        case JC_LOCAL_ARRAY: {
            PyObject *o = src[op->source] = lp[op->base];
            if (JC_UNLIKELY(o == NULL || !load_array(op, o))) {
                goto fail;
            }
            in[op->word].o = o;
            continue;
        }
        case JC_READ_GLOBAL:
            known = read_global(op, func, &found);
            break;
        case JC_READ_OWN_CLOSURE:
            known = read_closure(op, func, &found);
            break;
        case JC_READ_MODULE_GLOBAL: case JC_READ_CLOSURE: case JC_READ_CELL: case JC_READ_ATTR: case JC_READ_ITEM:
        case JC_READ_KEY: case JC_READ_ITERATED:
            known = read_from(op, src[op->base], &found, &made);
            break;
        default:
            if (JC_UNLIKELY(!check(op, src, in))) {
                goto fail;
            }
            continue;
        }
        if (JC_UNLIKELY(known < 0)) {
            goto fail;
        }
        src[op->source] = made != NULL ? made : Py_XNewRef(found);
        held++;
        continue;
    fail:
        release(g, src, held);
        return 1 + op->guard;
    }
    return 0;
}

void jc_guards_release(const jc_guards *g, PyObject **src)
{
    release(g, src, g->n_owned);
}

int jc_guards_n_sources(const jc_guards *g)
{
    return g->n_sources;
}

int jc_guards_n_words(const jc_guards *g)
{
    return g->n_words;
}
