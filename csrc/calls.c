/* The operations of CALL sites: what the interpreter's instructions do, through the C API.
 *
 * Job: one function a site, one line a site in the table at the end.  Invariants: a site does what the
 * instruction does, in its order, with its exceptions; where that cannot be had from the C API (messages that
 * only the interpreter has) it returns JC_SITE_LEAVE before any effect, and the interpreter performs the
 * instruction.  Operands come in the order of the table's comments, which is their order on the stack except
 * for `call` and `call_ex`.  Used by regions.c alone, with the frame linked.
 */
#include "core.h"

static int give(jc_site_call *c, PyObject *result /* stolen */)
{
    c->results[0] = result;
    return result != NULL ? 1 : JC_SITE_ERROR;
}

static int give_bool(jc_site_call *c, int value)
{
    return value < 0 ? JC_SITE_ERROR : give(c, Py_NewRef(value ? Py_True : Py_False));
}

static int nothing(int status)
{
    return status < 0 ? JC_SITE_ERROR : 0;
}

/* ---- calls ------------------------------------------------------------------------------------ */
/* The slot in front of the arguments is ours: it held the NULL or the callable. */
static int site_call(jc_site_call *c)
{
    PyObject *kwnames = c->arg == Py_None ? NULL : c->arg;
    int skip = c->ops[1] == NULL ? 2 : 1;
    size_t n = (size_t)(c->n - skip) - (kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0);
    return give(c, PyObject_Vectorcall(c->ops[0], c->ops + skip, n | PY_VECTORCALL_ARGUMENTS_OFFSET, kwnames));
}

static int site_call_ex(jc_site_call *c)
{
    if (!PyTuple_CheckExact(c->ops[1]) || (c->ops[2] != NULL && !PyDict_CheckExact(c->ops[2]))) {
        PyErr_SetString(PyExc_SystemError, "call_ex takes an exact tuple and an exact dict");
        return JC_SITE_ERROR;
    }
    return give(c, PyObject_Call(c->ops[0], c->ops[1], c->ops[2]));
}

/* ---- attributes and items --------------------------------------------------------------------- */
static int site_getattr(jc_site_call *c)
{
    return give(c, PyObject_GetAttr(c->ops[0], c->arg));
}

/* LOAD_ATTR of 3.13 in front of a call, where what is found is no method: NULL lies above it. */
static int site_getattr_null(jc_site_call *c)
{
    c->results[1] = NULL;
    return give(c, PyObject_GetAttr(c->ops[0], c->arg)) < 0 ? JC_SITE_ERROR : 2;
}

static int site_setattr(jc_site_call *c)
{
    return nothing(PyObject_SetAttr(c->ops[1], c->arg, c->ops[0]));
}

static int site_delattr(jc_site_call *c)
{
    return nothing(PyObject_SetAttr(c->ops[0], c->arg, NULL));
}

static int site_getitem(jc_site_call *c)
{
    return give(c, PyObject_GetItem(c->ops[0], c->ops[1]));
}

static int site_setitem(jc_site_call *c)
{
    return nothing(PyObject_SetItem(c->ops[1], c->ops[2], c->ops[0]));
}

static int site_delitem(jc_site_call *c)
{
    return nothing(PyObject_DelItem(c->ops[0], c->ops[1]));
}

/* ---- operators -------------------------------------------------------------------------------- */
static PyObject *power(PyObject *a, PyObject *b)
{
    return PyNumber_Power(a, b, Py_None);
}

static PyObject *inplace_power(PyObject *a, PyObject *b)
{
    return PyNumber_InPlacePower(a, b, Py_None);
}

/* In the order of the NB_ numbers of BINARY_OP. */
static const binaryfunc binary_functions[] = {
    PyNumber_Add, PyNumber_And, PyNumber_FloorDivide, PyNumber_Lshift, PyNumber_MatrixMultiply, PyNumber_Multiply,
    PyNumber_Remainder, PyNumber_Or, power, PyNumber_Rshift, PyNumber_Subtract, PyNumber_TrueDivide, PyNumber_Xor,
    PyNumber_InPlaceAdd, PyNumber_InPlaceAnd, PyNumber_InPlaceFloorDivide, PyNumber_InPlaceLshift,
    PyNumber_InPlaceMatrixMultiply, PyNumber_InPlaceMultiply, PyNumber_InPlaceRemainder, PyNumber_InPlaceOr,
    inplace_power, PyNumber_InPlaceRshift, PyNumber_InPlaceSubtract, PyNumber_InPlaceTrueDivide, PyNumber_InPlaceXor,
};
#define N_BINARY ((long)(sizeof binary_functions / sizeof *binary_functions))

static int site_binary(jc_site_call *c)
{
    return give(c, binary_functions[c->number](c->ops[0], c->ops[1]));
}

static const char *const unary_names[] = {"neg", "pos", "invert", "not"};

static int site_unary(jc_site_call *c)
{
    switch (c->number) {
    case 0: return give(c, PyNumber_Negative(c->ops[0]));
    case 1: return give(c, PyNumber_Positive(c->ops[0]));
    case 2: return give(c, PyNumber_Invert(c->ops[0]));
    default: return give_bool(c, PyObject_Not(c->ops[0]));
    }
}

static int site_compare(jc_site_call *c)
{
    return give(c, PyObject_RichCompare(c->ops[0], c->ops[1], (int)c->number));
}

/* COMPARE_OP of 3.13 where the result decides a branch: it converts to bool itself. */
static int site_compare_bool(jc_site_call *c)
{
    PyObject *result = PyObject_RichCompare(c->ops[0], c->ops[1], (int)c->number);
    if (result == NULL) {
        return JC_SITE_ERROR;
    }
    int value = PyObject_IsTrue(result);
    Py_DECREF(result);
    return give_bool(c, value);
}

static int site_contains(jc_site_call *c)
{
    int value = PySequence_Contains(c->ops[1], c->ops[0]);
    return give_bool(c, value < 0 ? value : value != (c->number != 0));
}

static int site_is_true(jc_site_call *c)
{
    return give_bool(c, PyObject_IsTrue(c->ops[0]));
}

static int site_len(jc_site_call *c)
{
    Py_ssize_t n = PyObject_Size(c->ops[0]);
    return n < 0 ? JC_SITE_ERROR : give(c, PyLong_FromSsize_t(n));
}

/* ---- text ------------------------------------------------------------------------------------- */
static PyObject *converted(PyObject *value, long conversion)
{
    switch (conversion) {
    case 1: return PyObject_Str(value);
    case 2: return PyObject_Repr(value);
    case 3: return PyObject_ASCII(value);
    default: return Py_NewRef(value);
    }
}

static int site_format(jc_site_call *c)
{
    PyObject *value = converted(c->ops[0], c->number);
    if (value == NULL || (PyUnicode_CheckExact(value) && c->ops[1] == NULL)) {
        return give(c, value);
    }
    PyObject *text = PyObject_Format(value, c->ops[1]);
    Py_DECREF(value);
    return give(c, text);
}

static int site_convert(jc_site_call *c)
{
    return give(c, converted(c->ops[0], c->number));
}

static int site_build_string(jc_site_call *c)
{
    PyObject *parts = PyTuple_New(c->n), *empty = PyUnicode_New(0, 0), *text = NULL;
    if (parts != NULL && empty != NULL) {
        for (int i = 0; i < c->n; i++) {
            PyTuple_SET_ITEM(parts, i, Py_NewRef(c->ops[i]));
        }
        text = PyUnicode_Join(empty, parts);
    }
    Py_XDECREF(parts);
    Py_XDECREF(empty);
    return give(c, text);
}

/* ---- names ------------------------------------------------------------------------------------ */
static int site_store_global(jc_site_call *c)
{
    return nothing(PyDict_SetItem(jc_function_globals(c->func), c->arg, c->ops[0]));
}

static int site_delete_global(jc_site_call *c)
{
    PyObject *globals = jc_function_globals(c->func);
    int known = PyDict_Contains(globals, c->arg);
    return known < 0 ? JC_SITE_ERROR : known == 0 ? JC_SITE_LEAVE : nothing(PyDict_DelItem(globals, c->arg));
}

static int site_import_name(jc_site_call *c)
{
    PyObject *builtins = ((PyFunctionObject *)c->func)->func_builtins;
    PyObject *import = PyDict_CheckExact(builtins) ? PyDict_GetItemString(builtins, "__import__") : NULL;
    if (import == NULL) {
        return JC_SITE_LEAVE;
    }
    Py_INCREF(import);
    PyObject *result = PyObject_CallFunctionObjArgs(import, c->arg, jc_function_globals(c->func), Py_None, c->ops[1],
                                                    c->ops[0], NULL);
    Py_DECREF(import);
    return give(c, result);
}

/* ---- iteration -------------------------------------------------------------------------------- */
static int site_iter(jc_site_call *c)
{
    return give(c, PyObject_GetIter(c->ops[0]));
}

/* The last item is pushed first, so that the first one is on top. */
static int site_unpack(jc_site_call *c)
{
    PyObject *o = c->ops[0];
    if ((!PyTuple_CheckExact(o) && !PyList_CheckExact(o)) || PySequence_Fast_GET_SIZE(o) != c->number) {
        return JC_SITE_LEAVE;
    }
    for (long i = 0; i < c->number; i++) {
        c->results[i] = Py_NewRef(PySequence_Fast_GET_ITEM(o, c->number - 1 - i));
    }
    return (int)c->number;
}

/* ---- with ------------------------------------------------------------------------------------- */
static PyObject *enter_name, *exit_name;    /* interned, for the life of the process */

/* A special method, looked up on the type and bound to the object [new]. */
static PyObject *special(PyObject *o, PyObject *name)
{
    PyTypeObject *type = Py_TYPE(o);
    PyObject *found = _PyType_Lookup(type, name);       /* borrowed */
    if (found == NULL) {
        return NULL;
    }
    descrgetfunc get = Py_TYPE(found)->tp_descr_get;
    Py_INCREF(found);
    if (get == NULL) {
        return found;
    }
    PyObject *bound = get(found, o, (PyObject *)type);
    Py_DECREF(found);
    return bound;
}

/* `__exit__`, bound, then what `__enter__` gave.  What has not both is the interpreter's to complain of. */
static int site_before_with(jc_site_call *c)
{
    PyObject *manager = c->ops[0];
    if ((enter_name == NULL && (enter_name = PyUnicode_InternFromString("__enter__")) == NULL)
        || (exit_name == NULL && (exit_name = PyUnicode_InternFromString("__exit__")) == NULL)) {
        return JC_SITE_ERROR;
    }
    if (_PyType_Lookup(Py_TYPE(manager), enter_name) == NULL || _PyType_Lookup(Py_TYPE(manager), exit_name) == NULL) {
        return JC_SITE_LEAVE;
    }
    PyObject *enter = special(manager, enter_name), *exit = enter != NULL ? special(manager, exit_name) : NULL;
    if (exit != NULL) {
        c->results[0] = exit;
        c->results[1] = PyObject_CallNoArgs(enter);
    }
    else if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_AttributeError, enter != NULL ? "__exit__" : "__enter__");
    }
    Py_XDECREF(enter);
    if (exit == NULL || c->results[1] == NULL) {
        Py_XDECREF(exit);
        return JC_SITE_ERROR;
    }
    return 2;
}

/* ---- cells -------------------------------------------------------------------------------------- */
/* The slot that the number names holds a cell of the frame's or its function's. */
static int site_store_cell(jc_site_call *c)
{
    PyObject *cell = c->number < c->n_slots ? c->slots[c->number] : NULL;
    if (cell == NULL || !PyCell_Check(cell)) {
        PyErr_SetString(PyExc_SystemError, "store_cell finds no cell");
        return JC_SITE_ERROR;
    }
    Py_INCREF(cell);            /* what the old content's finalizer runs may drop it */
    int status = PyCell_Set(cell, c->ops[0]);
    Py_DECREF(cell);
    return nothing(status);
}

/* ---- the table -------------------------------------------------------------------------------- */
static const jc_site sites[] = {
    {"call", site_call, -1, 'k'},               /* callable, self or NULL, arguments, keyword arguments */
    {"call_ex", site_call_ex, 3, '-'},          /* callable, tuple, dict or NULL */
    {"getattr", site_getattr, 1, 's'},          /* object */
    {"getattr_null", site_getattr_null, 1, 's'},    /* object; NULL above the result */
    {"before_with", site_before_with, 1, '-'},      /* manager; its __exit__ below the result of its __enter__ */
    {"setattr", site_setattr, 2, 's'},          /* value, object */
    {"delattr", site_delattr, 1, 's'},          /* object */
    {"getitem", site_getitem, 2, '-'},          /* container, key */
    {"setitem", site_setitem, 3, '-'},          /* value, container, key */
    {"delitem", site_delitem, 2, '-'},          /* container, key */
    {"binary", site_binary, 2, 'i'},            /* left, right; NB_ number */
    {"unary", site_unary, 1, 'u'},              /* operand; neg, pos, invert, not */
    {"compare", site_compare, 2, 'i'},          /* left, right; Py_LT ... Py_GE */
    {"compare_bool", site_compare_bool, 2, 'i'},
    {"contains", site_contains, 2, 'i'},        /* item, container; 1: not in */
    {"is_true", site_is_true, 1, '-'},
    {"len", site_len, 1, '-'},
    {"format", site_format, 2, 'i'},            /* value, spec or NULL; 0 none, 1 str, 2 repr, 3 ascii */
    {"convert", site_convert, 1, 'i'},          /* value; 1 str, 2 repr, 3 ascii */
    {"build_string", site_build_string, -1, '-'},
    {"store_global", site_store_global, 1, 's'},
    {"delete_global", site_delete_global, 0, 's'},
    {"store_cell", site_store_cell, 1, 'i'},    /* value; slot */
    {"import_name", site_import_name, 2, 's'},  /* level, names */
    {"iter", site_iter, 1, '-'},
    {"unpack_sequence", site_unpack, 1, 'i'},   /* sequence; count */
};
#define N_SITES (sizeof sites / sizeof *sites)

const jc_site *jc_site_find(PyObject *name)
{
    for (size_t i = 0; PyUnicode_Check(name) && i < N_SITES; i++) {
        if (PyUnicode_CompareWithASCIIString(name, sites[i].name) == 0) {
            return &sites[i];
        }
    }
    PyErr_Format(PyExc_ValueError, "there is no site %R", name);
    return NULL;
}

static int site_error(const jc_site *site, PyObject *arg)
{
    PyErr_Format(PyExc_ValueError, "site %s does not take %R", site->name, arg);
    return -1;
}

int jc_site_number(const jc_site *site, PyObject *arg, int n_operands, long *number)
{
    *number = 0;
    if (site->n_operands >= 0 && site->n_operands != n_operands) {
        PyErr_Format(PyExc_ValueError, "site %s takes %d operands, not %d", site->name, site->n_operands, n_operands);
        return -1;
    }
    switch (site->arg) {
    case 'i':
        if (!PyLong_Check(arg)) {
            return site_error(site, arg);
        }
        *number = PyLong_AsLong(arg);
        if (*number == -1 && PyErr_Occurred()) {
            return -1;
        }
        bool count = site->perform == site_unpack || site->perform == site_store_cell;
        long limit = site->perform == site_binary ? N_BINARY : count ? INT_MAX : Py_GE + 1;
        return *number < 0 || *number >= limit ? site_error(site, arg) : 0;
    case 's':
        return PyUnicode_CheckExact(arg) ? 0 : site_error(site, arg);
    case 'u':
        for (long i = 0; PyUnicode_Check(arg) && i < 4; i++) {
            if (PyUnicode_CompareWithASCIIString(arg, unary_names[i]) == 0) {
                *number = i;
                return 0;
            }
        }
        return site_error(site, arg);
    case 'k':
        if (n_operands < 2 || (arg != Py_None && (!PyTuple_CheckExact(arg) || PyTuple_GET_SIZE(arg) > n_operands - 2))) {
            return site_error(site, arg);
        }
        return 0;
    default:
        return 0;
    }
}

PyObject *jc_site_names(void)
{
    PyObject *names = PyTuple_New(N_SITES);
    for (size_t i = 0; names != NULL && i < N_SITES; i++) {
        PyObject *name = PyUnicode_FromString(sites[i].name);
        if (name == NULL) {
            Py_CLEAR(names);
            break;
        }
        PyTuple_SET_ITEM(names, i, name);
    }
    return names;
}
