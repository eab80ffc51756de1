/* Builds guard programs from their Python form (see guards.c) and takes them apart again. */
#include "guards.h"
#include "object_compat.h"
#include "iterator_compat.h"

#include <stddef.h>

static const char *const OP_NAMES[] = {
    "local", "constant", "global", "module_global", "own_closure", "closure", "cell", "attr", "item", "key", "iterated",
    "type_is", "", "is_object", "", "value_is", "length_is", "absent", "present", "type_version", "class_version",
    "function_is", "alone", "strict_is", "dims_equal", "load_array", "load_object", "load_int", "load_float", "load_bool", "load_complex",
    "load_range", "load_position", "load_numpy",
};

/* Where the bytes of a NumPy scalar lie. */
#define PLACE(T) {NPY_##T, offsetof(JC_SCALAR_##T, obval), sizeof(((JC_SCALAR_##T *)0)->obval)}
#define JC_SCALAR_BOOL PyBoolScalarObject
#define JC_SCALAR_BYTE PyByteScalarObject
#define JC_SCALAR_UBYTE PyUByteScalarObject
#define JC_SCALAR_SHORT PyShortScalarObject
#define JC_SCALAR_USHORT PyUShortScalarObject
#define JC_SCALAR_INT PyIntScalarObject
#define JC_SCALAR_UINT PyUIntScalarObject
#define JC_SCALAR_LONG PyLongScalarObject
#define JC_SCALAR_ULONG PyULongScalarObject
#define JC_SCALAR_LONGLONG PyLongLongScalarObject
#define JC_SCALAR_ULONGLONG PyULongLongScalarObject
#define JC_SCALAR_HALF PyHalfScalarObject
#define JC_SCALAR_FLOAT PyFloatScalarObject
#define JC_SCALAR_DOUBLE PyDoubleScalarObject
#define JC_SCALAR_CFLOAT PyCFloatScalarObject
#define JC_SCALAR_CDOUBLE PyCDoubleScalarObject

static const struct { int typenum; int64_t offset; int32_t size; } PLACES[] = {
    PLACE(BOOL), PLACE(BYTE), PLACE(UBYTE), PLACE(SHORT), PLACE(USHORT), PLACE(INT), PLACE(UINT), PLACE(LONG),
    PLACE(ULONG), PLACE(LONGLONG), PLACE(ULONGLONG), PLACE(HALF), PLACE(FLOAT), PLACE(DOUBLE), PLACE(CFLOAT),
    PLACE(CDOUBLE),
};

static int bad(const char *what)
{
    PyErr_Format(PyExc_ValueError, "guard program: %s", what);
    return -1;
}

/* An interned str with its hash computed, as jc_dict_get needs it.  [new] into op->ptr. */
static int set_name(jc_guard_op *op, PyObject *name)
{
    if (!PyUnicode_CheckExact(name)) {
        return bad("a name must be a str");
    }
    op->ptr = Py_NewRef(name);
    PyUnicode_InternInPlace(&op->ptr);
    return PyObject_Hash(op->ptr) == -1 ? -1 : 0;
}

/* A weak reference where the object can have one, the object itself otherwise (1 and 0; -1 with an exception). */
static int set_weak(jc_guard_op *op, PyObject *o)
{
    if (PyType_SUPPORTS_WEAKREFS(Py_TYPE(o))) {
        op->ptr = PyWeakref_NewRef(o, NULL);
        return op->ptr != NULL ? 1 : -1;
    }
    op->ptr = Py_NewRef(o);
    return 0;
}

/* Reading an instance attribute must not be able to run Python code: the type's own __getattribute__ is
 * object's, and what the type has under the name is a slot of objects, a plain function (also as a static or a class
 * method), or no descriptor. */
static int compile_attr(jc_guard_op *op, PyObject *name, PyObject *type)
{
    static PyObject *getattribute;
    if (set_name(op, name) < 0) {
        return -1;
    }
    if (getattribute == NULL && (getattribute = PyUnicode_InternFromString("__getattribute__")) == NULL) {
        return -1;
    }
    PyTypeObject *read_type = type == Py_None ? &PyModule_Type : (PyTypeObject *)type;
    if (!PyType_Check(read_type)) {
        return bad("an attribute's owner must be a type");
    }
    PyObject *found = _PyType_Lookup(read_type, op->ptr);   /* borrowed; sets no exception */
    if (type == Py_None) {
        return found != NULL && Py_TYPE(found)->tp_descr_set != NULL ? bad("a module's own descriptor") : 0;
    }
    op->arg2 = PyUnicode_CompareWithASCIIString(op->ptr, "__self__") == 0;
    if (read_type == &PyMethod_Type && (op->arg2 || PyUnicode_CompareWithASCIIString(op->ptr, "__func__") == 0)) {
        op->ptr2 = type;
        return 0;
    }
    if (read_type->tp_getattro != PyObject_GenericGetAttr
        && _PyType_Lookup(read_type, getattribute) != _PyType_Lookup(&PyBaseObject_Type, getattribute)) {
        return bad("a type with its own __getattribute__");
    }
    op->ptr2 = type;    /* only compared, behind a guard on the type's version */
    if (found == NULL || PyObject_TypeCheck(found, &PyFunction_Type) || Py_IS_TYPE(found, &PyMethodDescr_Type)
        || Py_IS_TYPE(found, &PyMemberDescr_Type)) {
        return 0;
    }
    if (Py_IS_TYPE(found, &PyStaticMethod_Type) || Py_IS_TYPE(found, &PyClassMethod_Type)) {
        PyObject *inner = PyObject_GetAttrString(found, "__func__");
        int plain = inner != NULL && PyObject_TypeCheck(inner, &PyFunction_Type);
        Py_XDECREF(inner);
        return plain ? 0 : PyErr_Occurred() ? -1 : bad("a method that a descriptor computes");
    }
    op->on_class = PyType_HasFeature(Py_TYPE(found), Py_TPFLAGS_IMMUTABLETYPE) ? NULL : found;
    return jc_is_descriptor(found) ? bad("an attribute that a descriptor computes") : 0;
}

static int compile_function(jc_guard_op *op, PyObject *code, PyObject *defaults, PyObject *kwdefaults)
{
    if (!PyCode_Check(code)) {
        return bad("a function guard needs a code object");
    }
    op->ptr = PyWeakref_NewRef(code, NULL);
    op->ptr2 = PyTuple_Pack(2, defaults, kwdefaults);
    return op->ptr != NULL && op->ptr2 != NULL ? 0 : -1;
}

static int compile_version(jc_guard_op *op, PyObject *type)
{
    if (!PyType_Check(type)) {
        return bad("a type version needs a type");
    }
    static PyObject *any_name;
    if (any_name == NULL && (any_name = PyUnicode_InternFromString("__class__")) == NULL) {
        return -1;
    }
    op->arg = jc_type_version_assign((PyTypeObject *)type, any_name);
    if (op->arg == 0) {
        return bad("the type has no version");
    }
    op->arg2 = (int32_t)(((PyTypeObject *)type)->tp_flags & JC_COLLECTION_FLAGS);
    op->ptr = PyWeakref_NewRef(type, NULL);
    return op->ptr != NULL ? 0 : -1;
}

static int compile_numpy(jc_guard_op *op, int typenum)
{
    for (size_t i = 0; i < sizeof(PLACES) / sizeof(PLACES[0]); i++) {
        if (PLACES[i].typenum == typenum) {
            op->arg = PLACES[i].offset;
            op->arg2 = PLACES[i].size;
            op->ptr = PyArray_TypeObjectFromType(typenum);
            return op->ptr != NULL ? 0 : -1;
        }
    }
    return bad("a NumPy scalar that compiled code cannot hold");
}

static int compile_array(jc_guard_op *op, int typenum, int ndim, int layout)
{
    const int c = NPY_ARRAY_C_CONTIGUOUS, f = NPY_ARRAY_F_CONTIGUOUS, aligned = NPY_ARRAY_ALIGNED;
    op->ptr = (PyObject *)PyArray_DescrFromType(typenum);
    if (op->ptr == NULL) {
        return -1;
    }
    op->arg = typenum;
    op->arg2 = ndim;
    op->mask = aligned | c | (layout == 'C' ? 0 : f);
    op->want = aligned | (layout == 'C' ? c : layout == 'F' ? f : 0);
    return layout == 'C' || layout == 'F' || layout == 'A' ? 0 : bad("layout must be C, F or A");
}

/* The rest of an op's tuple, from item 3 on, according to its name. */
static int compile_rest(jc_guard_op *op, PyObject *rest)
{
    PyObject *a, *b, *c;
    int weak;
    switch (op->code) {
    case JC_READ_LOCAL: case JC_READ_OWN_CLOSURE: case JC_LENGTH_IS: case JC_ALONE: case JC_STRICT_IS:
        return PyArg_ParseTuple(rest, "L", &op->arg) ? 0 : -1;
    case JC_READ_CONSTANT:
        op->ptr = PyArg_ParseTuple(rest, "O", &a) ? Py_NewRef(a) : NULL;
        return op->ptr != NULL ? 0 : -1;
    case JC_READ_GLOBAL:
        return PyArg_ParseTuple(rest, "O", &a) ? set_name(op, a) : -1;
    case JC_READ_MODULE_GLOBAL: case JC_READ_KEY:
        return PyArg_ParseTuple(rest, "iO", &op->base, &a) ? set_name(op, a) : -1;
    case JC_READ_CLOSURE: case JC_READ_ITEM:
        return PyArg_ParseTuple(rest, "iL", &op->base, &op->arg) ? 0 : -1;
    case JC_READ_CELL: case JC_READ_ITERATED:
        return PyArg_ParseTuple(rest, "i", &op->base) ? 0 : -1;
    case JC_READ_ATTR:
        return PyArg_ParseTuple(rest, "iOO", &op->base, &a, &b) ? compile_attr(op, a, b) : -1;
    case JC_TYPE_IS:
        if (!PyArg_ParseTuple(rest, "O!", &PyType_Type, &a)) {
            return -1;
        }
        if (!PyType_HasFeature((PyTypeObject *)a, Py_TPFLAGS_HEAPTYPE)) {
            op->ptr = Py_NewRef(a);
            return 0;
        }
        op->code = JC_TYPE_IS_WEAK;
        return set_weak(op, a) < 0 ? -1 : 0;
    case JC_IS_OBJECT:
        weak = PyArg_ParseTuple(rest, "O", &a) ? set_weak(op, a) : -1;
        op->code = weak == 1 ? JC_IS_OBJECT_WEAK : JC_IS_OBJECT;
        return weak < 0 ? -1 : 0;
    case JC_VALUE_IS:
        if (!PyArg_ParseTuple(rest, "O", &a)) {
            return -1;
        }
        op->ptr = Py_NewRef(a);
        return PyUnicode_CheckExact(a) || PyLong_CheckExact(a) || PyBool_Check(a) ? 0
            : bad("a value guard is on an int, a bool or a str");
    case JC_TYPE_VERSION: case JC_CLASS_VERSION:
        return PyArg_ParseTuple(rest, "O", &a) ? compile_version(op, a) : -1;
    case JC_FUNCTION_IS:
        return PyArg_ParseTuple(rest, "OOO", &a, &b, &c) ? compile_function(op, a, b, c) : -1;
    case JC_DIMS_EQUAL:
        return PyArg_ParseTuple(rest, "Lii", &op->arg, &op->base, &op->arg2) ? 0 : -1;
    case JC_LOAD_ARRAY: {
        int typenum, ndim, layout;
        return PyArg_ParseTuple(rest, "iiiC", &op->word, &typenum, &ndim, &layout)
            ? compile_array(op, typenum, ndim, layout) : -1;
    }
    case JC_LOAD_RANGE:
        if (!PyArg_ParseTuple(rest, "iLi", &op->word, &op->arg, &op->arg2)) {
            return -1;
        }
        return op->arg <= 2 ? 0 : bad("a range has three numbers");
    case JC_LOAD_POSITION:
        if (!PyArg_ParseTuple(rest, "iO!", &op->word, &PyType_Type, &a)) {
            return -1;
        }
        op->ptr = Py_NewRef(a);
        return jc_is_indexed((PyTypeObject *)a) ? 0 : bad("no iterator that goes by index");
    case JC_LOAD_NUMPY: {
        int typenum;
        return PyArg_ParseTuple(rest, "ii", &op->word, &typenum) ? compile_numpy(op, typenum) : -1;
    }
    case JC_ABSENT: case JC_PRESENT:
        return PyArg_ParseTuple(rest, "") ? 0 : -1;
    default:
        return PyArg_ParseTuple(rest, "i", &op->word) ? 0 : -1;
    }
}

static int op_words(const jc_guard_op *op)
{
    return op->code == JC_LOAD_COMPLEX || (op->code == JC_LOAD_NUMPY && op->arg2 > 8) ? 2
        : op->code >= JC_LOAD_ARRAY ? 1 : 0;
}

static int is_read(const jc_guard_op *op)
{
    return op->code <= JC_READ_ITERATED;
}

/* One op; read[k] tells whether source k was read. */
static int compile_op(jc_guards *g, jc_guard_op *op, PyObject *item, char *read)
{
    const char *name;
    if (!PyTuple_Check(item) || PyTuple_GET_SIZE(item) < 3
        || (name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(item, 0))) == NULL) {
        return bad("an op is (name, guard, source, ...)");
    }
    size_t code = 0, n = sizeof(OP_NAMES) / sizeof(OP_NAMES[0]);
    while (code < n && strcmp(OP_NAMES[code], name) != 0) {
        code++;
    }
    if (code == n || name[0] == 0) {
        return bad("unknown op");
    }
    op->code = (uint8_t)code;
    op->guard = (int32_t)PyLong_AsLong(PyTuple_GET_ITEM(item, 1));
    op->source = (int32_t)PyLong_AsLong(PyTuple_GET_ITEM(item, 2));
    if (PyErr_Occurred()) {
        return -1;
    }
    PyObject *rest = PyTuple_GetSlice(item, 3, PyTuple_GET_SIZE(item));
    int done = rest != NULL ? compile_rest(op, rest) : -1;
    Py_XDECREF(rest);
    if (done < 0) {
        return -1;
    }
    if (op->source < 0 || op->source >= g->n_sources || op->base < 0 || op->base >= g->n_sources) {
        return bad("no such source");
    }
    if (op->guard < 0 || op->guard > g->n_guards || op->word < 0 || op->word + op_words(op) > g->n_words
        || (op->code != JC_READ_ATTR && op->arg < 0) || op->arg2 < 0) {
        return bad("a number out of range");
    }
    int has_base = op->code == JC_DIMS_EQUAL || (is_read(op) && op->code >= JC_READ_MODULE_GLOBAL
                                                 && op->code != JC_READ_OWN_CLOSURE);
    if ((has_base && !read[op->base]) || read[op->source] == is_read(op)) {
        return bad("a source is read once, before its use");
    }
    if (is_read(op)) {
        read[op->source] = 1;
        if (op->code >= JC_READ_GLOBAL) {    /* the others are borrowed */
            g->owned[g->n_owned++] = op->source;
        }
    }
    return 0;
}

/* Puts the op into the one before where they are a local's read and its check as an array. */
static int joins(jc_guards *g, const jc_guard_op *op)
{
    jc_guard_op *before = op > g->ops ? &g->ops[g->n_ops - 2] : NULL;
    if (op->code != JC_LOAD_ARRAY || before == NULL || before->code != JC_READ_LOCAL || before->source != op->source
        || before->arg > INT32_MAX) {
        return 0;
    }
    int32_t index = (int32_t)before->arg;
    *before = *op;
    before->code = JC_LOCAL_ARRAY;
    before->base = index;
    return 1;
}

jc_guards *jc_guards_new(PyObject *spec)
{
    int n_sources, n_words, n_guards;
    PyObject *ops;
    if (!PyTuple_Check(spec)) {
        bad("a tuple is expected");
        return NULL;
    }
    if (!PyArg_ParseTuple(spec, "iiiO!:guard program", &n_sources, &n_words, &n_guards, &PyTuple_Type, &ops)) {
        return NULL;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(ops);
    if (n_sources < 0 || n_words < 0 || n_guards < 0 || n > INT32_MAX || n_sources > n) {
        bad("a number out of range");
        return NULL;
    }
    jc_guards *g = PyMem_Calloc(1, sizeof(jc_guards));
    char *read = PyMem_Calloc((size_t)n_sources + 1, 1);
    if (g != NULL) {
        g->ops = PyMem_Calloc((size_t)n + 1, sizeof(jc_guard_op));
        g->owned = PyMem_Calloc((size_t)n_sources + 1, sizeof(int32_t));
    }
    if (g == NULL || read == NULL || g->ops == NULL || g->owned == NULL) {
        PyErr_NoMemory();
        goto fail;
    }
    g->n_sources = n_sources;
    g->n_words = n_words;
    g->n_guards = n_guards;
    for (Py_ssize_t i = 0; i < n; i++) {
        jc_guard_op *op = &g->ops[g->n_ops++];
        if (compile_op(g, op, PyTuple_GET_ITEM(ops, i), read) < 0) {
            goto fail;
        }
        if (joins(g, op)) {
            memset(&g->ops[--g->n_ops], 0, sizeof(jc_guard_op));
        }
    }
    for (int k = 0; k < n_sources; k++) {
        if (!read[k]) {
            bad("a source is never read");
            goto fail;
        }
    }
    PyMem_Free(read);
    return g;
fail:
    PyMem_Free(read);
    jc_guards_free(g);
    return NULL;
}

static int owns_ptr2(const jc_guard_op *op)
{
    return op->code == JC_FUNCTION_IS;
}

void jc_guards_free(jc_guards *g)
{
    if (g == NULL) {
        return;
    }
    for (int i = 0; g->ops != NULL && i < g->n_ops; i++) {
        Py_XDECREF(g->ops[i].ptr);
        if (owns_ptr2(&g->ops[i])) {
            Py_XDECREF(g->ops[i].ptr2);
        }
    }
    PyMem_Free(g->ops);
    PyMem_Free(g->owned);
    PyMem_Free(g);
}

int jc_guards_traverse(jc_guards *g, visitproc visit, void *arg)
{
    for (int i = 0; g != NULL && i < g->n_ops; i++) {
        Py_VISIT(g->ops[i].ptr);
        if (owns_ptr2(&g->ops[i])) {
            Py_VISIT(g->ops[i].ptr2);
        }
    }
    return 0;
}
