/* What is known of each code object: its regions by unit, its counters, whether it is left alone.
 *
 * Job: own the regions of a code object and find one for a state of a frame.
 * Invariants: a table lives in the co_extra of its code and is freed with it; a region that runs is held by
 * who runs it, so tables may change at any time; the totals of freed tables are kept.
 * Used by dispatch.c and regions.c; the functions for Python are for `runtime` alone.
 */
#include "core.h"

Py_ssize_t jc_extra_index = -1;

static jc_table *tables;        /* all live ones */
static jc_counts retired;       /* the sums of those that are gone */

static void add_counts(jc_counts *to, const jc_counts *from)
{
#define ADD(name) to->name += from->name;
    JC_COUNTERS(ADD)
#undef ADD
}

static void drop_lists(jc_table *t)
{
    jc_list **lists = t->lists;
    int n = t->n_lists;
    t->lists = NULL;
    t->n_lists = 0;
    t->entry = NULL;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < lists[i]->n; k++) {
            Py_DECREF(lists[i]->items[k]);
        }
        PyMem_Free(lists[i]->items);
        PyMem_Free(lists[i]);
    }
    PyMem_Free(lists);
}

/* Called when the code object dies. */
static void table_free(void *p)
{
    jc_table *t = (jc_table *)p;
    if (t == NULL) {
        return;
    }
    if (t->previous != NULL) {
        t->previous->next = t->next;
    }
    else {
        tables = t->next;
    }
    if (t->next != NULL) {
        t->next->previous = t->previous;
    }
    add_counts(&retired, &t->n);
    drop_lists(t);
    PyMem_Free(t);
}

jc_table *jc_table_make(PyCodeObject *code)
{
    jc_table *t = jc_table_of(code);
    if (t != NULL) {
        return t;
    }
    t = PyMem_Calloc(1, sizeof *t);
    if (t == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    t->code = code;
    t->last_back = -2;
    t->active = true;
    t->simple = (code->co_flags & (CO_VARARGS | CO_VARKEYWORDS)) == 0;
    t->n_slots = jc_code_nslots(code);
    t->n_args = code->co_argcount;
    t->n_posonly = code->co_posonlyargcount;
    t->n_kwonly = code->co_kwonlyargcount;
    if (jc_code_set_extra(code, jc_extra_index, t) < 0) {
        PyMem_Free(t);
        return NULL;
    }
    t->next = tables;
    if (tables != NULL) {
        tables->previous = t;
    }
    tables = t;
    return t;
}

jc_list *jc_table_list(const jc_table *t, int unit)
{
    for (int i = 0; i < t->n_lists; i++) {
        if (t->lists[i]->unit == unit) {
            return t->lists[i];
        }
    }
    return NULL;
}

static jc_list *make_list(jc_table *t, int unit)
{
    jc_list *list = jc_table_list(t, unit);
    if (list != NULL) {
        return list;
    }
    jc_list **lists = PyMem_Resize(t->lists, jc_list *, t->n_lists + 1);
    if (lists == NULL || (t->lists = lists, list = PyMem_Calloc(1, sizeof *list)) == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    list->unit = unit;
    lists[t->n_lists++] = list;
    if (unit == 0) {
        t->entry = list;
    }
    return list;
}

static int list_add(jc_list *list, jc_region *r)
{
    if (list->n == list->capacity) {
        int capacity = list->capacity ? 2 * list->capacity : 4;
        jc_region **items = PyMem_Resize(list->items, jc_region *, capacity);
        if (items == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        list->items = items;
        list->capacity = capacity;
    }
    memmove(list->items + 1, list->items, (size_t)list->n * sizeof *list->items);
    list->items[0] = (jc_region *)Py_NewRef((PyObject *)r);
    list->n++;
    size_t words = jc_region_words(r);
    list->words = words > list->words ? words : list->words;
    return 0;
}

jc_region *jc_list_find(jc_list *list, PyObject *func, PyObject *const *slots, jc_word *buf, jc_state *state)
{
    for (int i = 0; i < list->n; i++) {
        jc_region *r = list->items[i];
        state->in = buf;
        state->out = buf + r->n_words;
        state->src = (PyObject **)(state->out + r->n_out);
        state->own = state->src + r->n_sources;
        if (r->guards == NULL || jc_guards_check(r->guards, func, slots, state->in, state->src) == 0) {
            if (i > 0) {
                memmove(list->items + 1, list->items, (size_t)i * sizeof *list->items);
                list->items[0] = r;
            }
            for (int k = 0; k < r->n_own; k++) {
                state->own[k] = NULL;
                JC_KEEP_LOOP;
            }
            state->region = (jc_region *)Py_NewRef((PyObject *)r);
            return r;
        }
    }
    state->region = NULL;
    return NULL;
}

/* ---- for Python ------------------------------------------------------------------------------- */
static jc_table *table_arg(PyObject *code, bool make)
{
    if (!PyCode_Check(code)) {
        PyErr_Format(PyExc_TypeError, "expected a code object, not %.100s", Py_TYPE(code)->tp_name);
        return NULL;
    }
    return make ? jc_table_make((PyCodeObject *)code) : jc_table_of((PyCodeObject *)code);
}

static PyObject *add_region(PyObject *module, PyObject *args)
{
    PyObject *code, *region;
    int unit;
    if (!PyArg_ParseTuple(args, "OiO!:add_region", &code, &unit, &jc_region_type, &region)) {
        return NULL;
    }
    jc_table *t = table_arg(code, true);
    if (t == NULL) {
        return NULL;
    }
    if (unit < 0 || unit >= jc_code_nunits((PyCodeObject *)code)) {
        return PyErr_Format(PyExc_ValueError, "unit %d is not in the code", unit);
    }
    jc_list *list = make_list(t, unit);
    if (list == NULL || list_add(list, (jc_region *)region) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *remove_regions(PyObject *module, PyObject *code)
{
    jc_table *t = table_arg(code, false);
    if (t != NULL) {
        drop_lists(t);
    }
    else if (PyErr_Occurred()) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *remove_region(PyObject *module, PyObject *args)
{
    PyObject *code, *region;
    if (!PyArg_ParseTuple(args, "OO:remove_region", &code, &region)) {
        return NULL;
    }
    jc_table *t = table_arg(code, false);
    for (int i = 0; t != NULL && i < t->n_lists; i++) {
        jc_list *list = t->lists[i];
        for (int k = 0; k < list->n; k++) {
            if ((PyObject *)list->items[k] == region) {
                list->n--;
                memmove(list->items + k, list->items + k + 1, (size_t)(list->n - k) * sizeof *list->items);
                Py_DECREF(region);
                Py_RETURN_TRUE;
            }
        }
    }
    if (PyErr_Occurred()) {
        return NULL;
    }
    Py_RETURN_FALSE;
}

static PyObject *regions(PyObject *module, PyObject *code)
{
    jc_table *t = table_arg(code, false);
    PyObject *result = PyErr_Occurred() ? NULL : PyList_New(0);
    for (int i = 0; result != NULL && t != NULL && i < t->n_lists; i++) {
        for (int k = 0; k < t->lists[i]->n; k++) {
            PyObject *pair = Py_BuildValue("iO", t->lists[i]->unit, (PyObject *)t->lists[i]->items[k]);
            if (pair == NULL || PyList_Append(result, pair) < 0) {
                Py_XDECREF(pair);
                Py_CLEAR(result);
                break;
            }
            Py_DECREF(pair);
        }
    }
    return result;
}

static PyObject *counts_dict(const jc_counts *n)
{
    PyObject *dict = PyDict_New();
#define PUT(name)                                                                                    \
    if (dict != NULL) {                                                                              \
        PyObject *v = PyLong_FromLongLong(n->name);                                                  \
        if (v == NULL || PyDict_SetItemString(dict, #name, v) < 0) {                                 \
            Py_CLEAR(dict);                                                                          \
        }                                                                                            \
        Py_XDECREF(v);                                                                               \
    }
    JC_COUNTERS(PUT)
#undef PUT
    return dict;
}

static PyObject *counters(PyObject *module, PyObject *code)
{
    static const jc_counts none;
    jc_table *t = table_arg(code, false);
    return PyErr_Occurred() ? NULL : counts_dict(t != NULL ? &t->n : &none);
}

static PyObject *totals(PyObject *module, PyObject *unused)
{
    jc_counts sum = retired;
    for (jc_table *t = tables; t != NULL; t = t->next) {
        add_counts(&sum, &t->n);
    }
    return counts_dict(&sum);
}

static PyObject *reset_counters(PyObject *module, PyObject *code)
{
    if (code == Py_None) {
        memset(&retired, 0, sizeof retired);
        for (jc_table *t = tables; t != NULL; t = t->next) {
            memset(&t->n, 0, sizeof t->n);
        }
        Py_RETURN_NONE;
    }
    jc_table *t = table_arg(code, false);
    if (t != NULL) {
        add_counts(&retired, &t->n);
        memset(&t->n, 0, sizeof t->n);
    }
    else if (PyErr_Occurred()) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *count(PyObject *module, PyObject *args)
{
    PyObject *code;
    const char *name;
    long long n = 1;
    if (!PyArg_ParseTuple(args, "Os|L:count", &code, &name, &n)) {
        return NULL;
    }
    jc_table *t = table_arg(code, true);
    if (t == NULL) {
        return NULL;
    }
#define COUNT(field)                                                                                 \
    if (strcmp(name, #field) == 0) {                                                                 \
        t->n.field += n;                                                                             \
        Py_RETURN_NONE;                                                                              \
    }
    JC_COUNTERS(COUNT)
#undef COUNT
    return PyErr_Format(PyExc_ValueError, "there is no counter %s", name);
}

static PyObject *set_active(PyObject *module, PyObject *args)
{
    PyObject *code;
    int active;
    if (!PyArg_ParseTuple(args, "Op:set_active", &code, &active)) {
        return NULL;
    }
    jc_table *t = table_arg(code, true);
    if (t == NULL) {
        return NULL;
    }
    t->active = active != 0;
    if (!t->active) {
        jc_loops_end(t);
    }
    Py_RETURN_NONE;
}

static PyObject *is_active(PyObject *module, PyObject *code)
{
    jc_table *t = table_arg(code, false);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(t != NULL && t->active);
}

static PyMethodDef methods[] = {
    {"add_region", add_region, METH_VARARGS, "add_region(code, unit, region): puts it in front of the others."},
    {"remove_regions", remove_regions, METH_O, "remove_regions(code): forgets all its regions."},
    {"remove_region", remove_region, METH_VARARGS, "remove_region(code, region) -> whether it was there."},
    {"regions", regions, METH_O, "regions(code) -> list of (unit, region), most recently used first."},
    {"counters", counters, METH_O, "counters(code) -> dict of this code object's counters."},
    {"totals", totals, METH_NOARGS, "totals() -> dict of the counters of all code objects, dead ones included."},
    {"reset_counters", reset_counters, METH_O, "reset_counters(code): to zero (None: all, the totals too)."},
    {"count", count, METH_VARARGS, "count(code, name, n=1): adds to a counter."},
    {"set_active", set_active, METH_VARARGS, "set_active(code, active): False leaves the code alone."},
    {"is_active", is_active, METH_O, "is_active(code): it has a table and is not left alone."},
    {NULL},
};

int jc_tables_init(PyObject *module)
{
    jc_extra_index = jc_request_extra(table_free);
    if (jc_extra_index < 0) {
        PyErr_SetString(PyExc_RuntimeError, "no slot left for data of code objects");
        return -1;
    }
    return PyModule_AddFunctions(module, methods);
}
