/* Lists of one item type for native code: memory, items, and what becomes of them at exits.
 *
 * Invariants: a list is reachable from native code alone until jc_tlist_box makes the Python list that stands for it,
 * after which its region is over.  Types are of finite depth, so lists contain no cycles and need no collector. */
#include "lists.h"

static void list_dealloc(PyObject *self)
{
    jc_tlist *l = (jc_tlist *)self;
    jc_tlist_drop(l, 0, l->n);
    PyMem_RawFree(l->data);
    Py_XDECREF(l->made);
    PyObject_Free(self);
}

PyTypeObject jc_tlist_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "jitcore._core.NativeList",
    .tp_basicsize = sizeof(jc_tlist),
    .tp_dealloc = list_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "A list that native code made; only the library's own tests meet one.",
};

/* ---- memory ---------------------------------------------------------------------------------------- */

jc_tlist *jc_tlist_new(int typenum, int weak, int64_t size, int64_t capacity)
{
    jc_tlist *l = PyObject_New(jc_tlist, &jc_tlist_type);
    if (JC_UNLIKELY(l == NULL)) {
        PyErr_Clear();
        return NULL;
    }
    l->n = l->capacity = 0;
    l->data = NULL;
    l->typenum = typenum;
    l->weak = weak;
    l->size = size;
    l->made = NULL;
    if (capacity > 0 && JC_UNLIKELY(jc_tlist_room(l, capacity) < 0)) {
        Py_DECREF(l);
        return NULL;
    }
    return l;
}

int jc_tlist_room(jc_tlist *l, int64_t more)
{
    if (more <= l->capacity - l->n) {
        return 0;
    }
    int64_t most = (INT64_MAX / 2) / l->size, least;
    if (JC_UNLIKELY(more > most - l->n)) {
        return -1;
    }
    least = l->n + more;
    /* A list that is made whole gets what it needs; one that grows, half as much again. */
    int64_t capacity = l->n == 0 && more > 1 ? least : l->n + l->n / 2 + 8;
    if (capacity < least) {
        capacity = least;
    }
    char *data = PyMem_RawRealloc(l->data, (size_t)capacity * (size_t)l->size);
    if (JC_UNLIKELY(data == NULL)) {
        return -1;
    }
    l->data = data;
    l->capacity = capacity;
    return 0;
}

void jc_tlist_hold(const jc_tlist *l, int64_t from, int64_t n)
{
    for (int64_t k = from; l->typenum == JC_TLIST_NESTED && k < from + n; k++) {
        Py_INCREF(((PyObject **)l->data)[k]);
    }
}

void jc_tlist_drop(const jc_tlist *l, int64_t from, int64_t n)
{
    for (int64_t k = from; l->typenum == JC_TLIST_NESTED && k < from + n; k++) {
        Py_DECREF(((PyObject **)l->data)[k]);
    }
}

/* ---- objects --------------------------------------------------------------------------------------- */

PyObject *jc_tlist_item(jc_tlist *l, int64_t k)
{
    const char *at = l->data + k * l->size;
    PyObject *made;
    if (l->typenum == JC_TLIST_NESTED) {
        return jc_tlist_box(*(jc_tlist *const *)at);
    }
    if (!l->weak) {
        made = jc_box_np(l->typenum, at);
        return made != NULL ? made : PyErr_NoMemory();
    }
    switch (l->typenum) {
    case NPY_BOOL:
        return PyBool_FromLong(*at);
    case NPY_DOUBLE:
        return PyFloat_FromDouble(*(const double *)at);
    case NPY_CDOUBLE:
        return PyComplex_FromDoubles(((const double *)at)[0], ((const double *)at)[1]);
    default:
        return PyLong_FromLongLong(*(const int64_t *)at);
    }
}

/* Items that are the same number in a row are one object, as in a list that `[x] * n` makes. */
PyObject *jc_tlist_box(jc_tlist *l)
{
    if (l->made != NULL) {
        return Py_NewRef(l->made);
    }
    PyObject *made = PyList_New((Py_ssize_t)l->n), *last = NULL;
    for (int64_t k = 0; made != NULL && k < l->n; k++) {
        const char *at = l->data + k * l->size;
        PyObject *item = last != NULL && memcmp(at, at - l->size, (size_t)l->size) == 0 ? Py_NewRef(last)
            : jc_tlist_item(l, k);
        if (item == NULL) {
            Py_CLEAR(made);
            break;
        }
        PyList_SET_ITEM(made, (Py_ssize_t)k, item);
        last = item;
    }
    l->made = Py_XNewRef(made);
    return made;
}

/* ---- registration ---------------------------------------------------------------------------------- */

int jc_lists_symbols(PyObject *dict)
{
    static const jc_symbol table[] = {
        {"jc_tlist_new", (void *)jc_tlist_new},
        {"jc_tlist_room", (void *)jc_tlist_room},
        {"jc_tlist_box", (void *)jc_tlist_box},     /* for the tests of native code */
        {NULL, NULL},
    };
    return jc_symbols_put(dict, table) < 0 || jc_listcalls_symbols(dict) < 0 ? -1 : 0;
}

int jc_lists_init(PyObject *module)
{
    (void)module;
    return PyType_Ready(&jc_tlist_type);
}
