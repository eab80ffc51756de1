/* Recipes: Python objects rebuilt from sources and exit values.
 *
 * The Python form (made by jitcore.guards.pack) is a tuple of recipes, each one of
 *   ("const", obj)  ("null",)  ("src", k)  ("word", k, code)  ("np", k, dtype char)
 *   ("build", kind, (items...))  ("memo", id, recipe)  ("ref", id)
 * `k` indexes src or out; `code` is i, d, ?, D for weak numbers, o for a borrowed object and l for a list
 * of native code, which becomes a Python list once.  A memo names the
 * object that a recipe yields; a ref yields it again: memos come first in the order of building.
 *
 * Functions are made as MAKE_FUNCTION makes them; where one is the content of a cell of its own closure, that cell is
 * made empty and filled afterwards.
 *
 * Compiled form: one array of nodes in depth-first order; a build node's items follow it. */
#include "lists.h"

#define MAX_DEPTH 200
#define ARRAY_PARTS 3   /* of an array, in front of its elements */
#define FEW 16      /* memos or items that need no allocation */

enum { R_CONST, R_NULL, R_SRC, R_INT, R_FLOAT, R_BOOL, R_COMPLEX, R_OBJECT, R_LIST, R_NUMPY, R_BUILD, R_MEMO, R_REF, R_RANGE };
enum { B_TUPLE, B_LIST, B_DICT, B_SET, B_SLICE, B_CELL, B_METHOD, B_RANGE, B_ITER, B_FREE, B_LAST, B_ITER_AT,
       B_REVERSED_AT, B_FLAT_AT, B_ENUMERATE, B_ZIP, B_FUNCTION, B_INSTANCE,
       B_EITHER, B_ARRAY };

static const struct { const char *name; int items; } KINDS[] = {     /* items: how many, -1 any, -2 pairs, -3 the parts of a function, -4 one and pairs, -5 three and elements */
    {"tuple", -1}, {"list", -1}, {"dict", -2}, {"set", -1}, {"slice", 3}, {"cell", 1}, {"method", 2}, {"range", 3},
    {"iter", 1}, {"free", 2}, {"last", 2}, {"iter_at", 2}, {"reversed_at", 2}, {"flat_at", 2}, {"enumerate", 2},
    {"zip", -1}, {"function", -3}, {"instance", -4}, {"either", -2},
    {"array", -5},
};

/* May an item of such an object be NULL? */
static bool may_lack(int kind)
{
    return kind == B_CELL || kind == B_FREE || kind == B_FUNCTION || kind == B_EITHER;
}

typedef struct {
    uint8_t op, kind;
    int32_t arg;        /* word, source, memo id, or the number of items */
    int32_t typenum;
    PyObject *obj;      /* R_CONST: owned */
} node;

struct jc_recipe {
    int count, n_nodes, capacity, n_memos;
    node *nodes;
};

/* ---- compiling ------------------------------------------------------------------------------------- */

static int bad(const char *what)
{
    PyErr_Format(PyExc_ValueError, "recipe: %s", what);
    return -1;
}

static node *add_node(jc_recipe *r, int op)
{
    if (r->n_nodes == r->capacity) {
        int capacity = r->capacity * 2 + 4;
        node *nodes = PyMem_Realloc(r->nodes, (size_t)capacity * sizeof(node));
        if (nodes == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        r->nodes = nodes;
        r->capacity = capacity;
    }
    node *n = &r->nodes[r->n_nodes++];
    memset(n, 0, sizeof(*n));
    n->op = (uint8_t)op;
    return n;
}

static int compile(jc_recipe *r, PyObject *spec, int depth, int inner);

/* The parts of a range that is made for its iterator alone, NULL for anything else [borrowed]. */
static PyObject *range_items(PyObject *spec)
{
    PyObject *name = PyTuple_Check(spec) && PyTuple_GET_SIZE(spec) == 3 ? PyTuple_GET_ITEM(spec, 1) : NULL;
    bool range = name != NULL && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "range") == 0;
    PyObject *items = range ? PyTuple_GET_ITEM(spec, 2) : NULL;
    return range && PyTuple_Check(items) && PyTuple_GET_SIZE(items) == 3 ? items : NULL;
}

/* Are these n nodes the parts of an array: dtype, memory order, lengths, then elements, all words of that dtype? */
static int check_array(const node *parts, int n)
{
    int typenum = parts[0].op == R_CONST && parts[1].op == R_CONST && parts[2].op == R_CONST
        && jc_array_size(parts[1].obj, parts[2].obj) == n - ARRAY_PARTS ? jc_typenum_of(parts[0].obj) : -1;
    for (int i = ARRAY_PARTS; i < n && typenum >= 0; i++) {
        typenum = parts[i].op == R_NUMPY && parts[i].typenum == typenum ? typenum : -1;
    }
    return typenum >= 0 ? 0 : bad("an array is a dtype, a memory order and lengths, then its elements");
}

static int compile_build(jc_recipe *r, PyObject *spec, int depth)
{
    const char *name;
    PyObject *items;
    if (!PyArg_ParseTuple(spec, "OsO!", &items, &name, &PyTuple_Type, &items)) {
        return -1;
    }
    int kind = 0, n_kinds = (int)(sizeof(KINDS) / sizeof(KINDS[0]));
    while (kind < n_kinds && strcmp(KINDS[kind].name, name) != 0) {
        kind++;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(items);
    if (kind == n_kinds || n > INT32_MAX || (KINDS[kind].items >= 0 && n != KINDS[kind].items)
        || (KINDS[kind].items == -2 && n % 2 != 0) || (kind == B_FUNCTION && n < JC_FUNCTION_PARTS)
        || (KINDS[kind].items == -4 && n % 2 == 0) || (kind == B_ARRAY && n < ARRAY_PARTS) || (kind == B_EITHER && depth > 0)) {
        return bad("cannot build that");
    }
    PyObject *range = kind == B_ITER ? range_items(PyTuple_GET_ITEM(items, 0)) : NULL;
    node *made = add_node(r, range != NULL ? R_RANGE : R_BUILD);
    if (made == NULL) {
        return -1;
    }
    int first = r->n_nodes;
    if (range != NULL) {
        items = range;
        n = 3;
    }
    made->kind = (uint8_t)kind;
    made->arg = (int32_t)n;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (compile(r, PyTuple_GET_ITEM(items, i), depth + 1, !may_lack(kind)) < 0) {
            return -1;
        }
    }
    return kind == B_ARRAY ? check_array(&r->nodes[first], r->n_nodes - first) : 0;
}

static int compile_word(jc_recipe *r, PyObject *spec, int strong)
{
    PyObject *tag;
    int word, code;
    if (!PyArg_ParseTuple(spec, "OiC", &tag, &word, &code)) {
        return -1;
    }
    if (word < 0) {
        return bad("a word's number is not negative");
    }
    int op = strong ? R_NUMPY : code == 'i' ? R_INT : code == 'd' ? R_FLOAT : code == '?' ? R_BOOL
        : code == 'D' ? R_COMPLEX : code == 'o' ? R_OBJECT : code == 'l' ? R_LIST : -1;
    int typenum = -1;
    if (strong) {
        PyArray_Descr *descr = strchr("?bBhHiIlLqQefdFD", code) != NULL ? PyArray_DescrFromType(code) : NULL;
        typenum = descr != NULL ? descr->type_num : -1;
        Py_XDECREF(descr);
    }
    if (op < 0 || (strong && typenum < 0)) {
        return bad("no such word type");
    }
    node *n = add_node(r, op);
    if (n == NULL) {
        return -1;
    }
    n->arg = word;
    n->typenum = typenum;
    return 0;
}

/* inner: inside a container, where there can be no NULL. */
static int compile(jc_recipe *r, PyObject *spec, int depth, int inner)
{
    PyObject *tag, *obj;
    const char *name;
    int number;
    node *n;
    if (depth > MAX_DEPTH || !PyTuple_Check(spec) || PyTuple_GET_SIZE(spec) < 1
        || !PyUnicode_Check(tag = PyTuple_GET_ITEM(spec, 0)) || (name = PyUnicode_AsUTF8(tag)) == NULL) {
        return bad("a tuple with a name is expected");
    }
    if (strcmp(name, "const") == 0) {
        if (!PyArg_ParseTuple(spec, "OO", &tag, &obj) || (n = add_node(r, R_CONST)) == NULL) {
            return -1;
        }
        n->obj = Py_NewRef(obj);
        return 0;
    }
    if (strcmp(name, "null") == 0) {
        return inner ? bad("NULL inside an object") : add_node(r, R_NULL) != NULL ? 0 : -1;
    }
    if (strcmp(name, "word") == 0 || strcmp(name, "np") == 0) {
        return compile_word(r, spec, name[0] == 'n');
    }
    if (strcmp(name, "build") == 0) {
        return compile_build(r, spec, depth);
    }
    if (strcmp(name, "memo") == 0) {
        if (!PyArg_ParseTuple(spec, "OiO", &tag, &number, &obj)) {
            return -1;
        }
        if (number != r->n_memos) {
            return bad("memos are numbered in order");
        }
        if ((n = add_node(r, R_MEMO)) == NULL) {
            return -1;
        }
        n->arg = r->n_memos++;
        return compile(r, obj, depth + 1, 1);
    }
    int is_ref = strcmp(name, "ref") == 0;
    if (!is_ref && strcmp(name, "src") != 0) {
        return bad("unknown recipe");
    }
    if (!PyArg_ParseTuple(spec, "Oi", &tag, &number)) {
        return -1;
    }
    if (number < 0 || (is_ref && number >= r->n_memos)) {
        return bad("a number out of range");
    }
    if ((n = add_node(r, is_ref ? R_REF : R_SRC)) == NULL) {
        return -1;
    }
    n->arg = number;
    return 0;
}

jc_recipe *jc_recipe_new(PyObject *spec)
{
    if (!PyTuple_Check(spec) || PyTuple_GET_SIZE(spec) > INT32_MAX) {
        bad("a tuple is expected");
        return NULL;
    }
    jc_recipe *r = PyMem_Calloc(1, sizeof(jc_recipe));
    if (r == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    r->count = (int)PyTuple_GET_SIZE(spec);
    for (int i = 0; i < r->count; i++) {
        if (compile(r, PyTuple_GET_ITEM(spec, i), 0, 0) < 0) {
            jc_recipe_free(r);
            return NULL;
        }
    }
    return r;
}

void jc_recipe_free(jc_recipe *r)
{
    if (r == NULL) {
        return;
    }
    for (int i = 0; i < r->n_nodes; i++) {
        Py_XDECREF(r->nodes[i].obj);
    }
    PyMem_Free(r->nodes);
    PyMem_Free(r);
}

int jc_recipe_traverse(jc_recipe *r, visitproc visit, void *arg)
{
    for (int i = 0; r != NULL && i < r->n_nodes; i++) {
        Py_VISIT(r->nodes[i].obj);
    }
    return 0;
}

int jc_recipe_count(const jc_recipe *r)
{
    return r->count;
}

/* ---- building -------------------------------------------------------------------------------------- */

typedef struct {
    const node *next;
    PyObject *func;         /* the region's function */
    PyObject *const *src;
    const jc_word *out;
    PyObject **memos;       /* new references */
} builder;

static PyObject *build(builder *b);

static PyObject *missing(void)
{
    PyErr_SetString(PyExc_SystemError, "jitcore: a recipe met NULL inside an object");
    return NULL;
}

static PyObject *assemble(int kind, PyObject **items, int n, PyObject *own)
{
    PyObject *made;
    int ok = 0;
    switch (kind) {
    case B_DICT:
        made = PyDict_New();
        for (int i = 0; made != NULL && ok == 0 && i < n; i += 2) {
            ok = PyDict_SetItem(made, items[i], items[i + 1]);
        }
        break;
    case B_SET:
        made = PySet_New(NULL);
        for (int i = 0; made != NULL && ok == 0 && i < n; i++) {
            ok = PySet_Add(made, items[i]);
        }
        break;
    case B_SLICE:
        return PySlice_New(items[0], items[1], items[2]);
    case B_CELL:
        return PyCell_New(items[0]);
    case B_METHOD:
        return PyMethod_New(items[0], items[1]);
    case B_RANGE:
        return PyObject_CallFunctionObjArgs((PyObject *)&PyRange_Type, items[0], items[1], items[2], NULL);
    case B_FREE:
        return jc_cell_of_closure(items[0], items[1], own);
    case B_LAST:
        return Py_NewRef(items[1]);
    case B_EITHER:
        for (int i = 0; i < n; i += 2) {
            if (items[i] == Py_True) {
                return Py_XNewRef(items[i + 1]);
            }
        }
        return NULL;        /* unbound: no exception */
    case B_INSTANCE:
        return jc_make_instance(items, n);
    case B_ITER_AT: case B_REVERSED_AT:
        return jc_iterator_at(items[0], items[1], kind == B_REVERSED_AT);
    case B_FLAT_AT: return jc_flat_at(items[0], items[1]);
    case B_ENUMERATE:
        return PyObject_CallFunctionObjArgs((PyObject *)&PyEnum_Type, items[0], items[1], NULL);
    case B_ZIP:
        return n > 0 ? jc_zip_of(items, n) : missing();
    case B_FUNCTION:
        return jc_make_function(items, n, own);
    default:    /* B_ITER */
        return PyObject_GetIter(items[0]);
    }
    if (ok < 0) {
        Py_CLEAR(made);
    }
    return made;
}

/* Tuples and lists are filled directly. */
static PyObject *build_sequence(builder *b, int kind, int n)
{
    PyObject *made = kind == B_TUPLE ? PyTuple_New(n) : PyList_New(n);
    for (int i = 0; made != NULL && i < n; i++) {
        PyObject *item = build(b);
        if (item == NULL) {
            if (!PyErr_Occurred()) {
                missing();
            }
            Py_DECREF(made);
            return NULL;
        }
        if (kind == B_TUPLE) {
            PyTuple_SET_ITEM(made, i, item);
        }
        else {
            PyList_SET_ITEM(made, i, item);
        }
    }
    return made;
}

static PyObject *build_array(builder *b, int n)
{
    const node *parts = b->next;
    const jc_word *elements[JC_MOST_ELEMENTS];
    for (int i = ARRAY_PARTS; i < n; i++) {
        elements[i - ARRAY_PARTS] = &b->out[parts[i].arg];
    }
    b->next += n;
    return jc_array_of(parts[ARRAY_PARTS].typenum, parts[1].obj, parts[2].obj, elements);
}

static PyObject *build_object(builder *b, int kind, int n)
{
    PyObject *few[FEW], **items = few, *made = NULL;
    int i;
    if (kind <= B_LIST || kind == B_ARRAY) {
        return kind == B_ARRAY ? build_array(b, n) : build_sequence(b, kind, n);
    }
    if (n > FEW && (items = PyMem_Malloc((size_t)n * sizeof(PyObject *))) == NULL) {
        return PyErr_NoMemory();
    }
    for (i = 0; i < n; i++) {
        items[i] = build(b);
        if (items[i] == NULL && (!may_lack(kind) || PyErr_Occurred())) {
            if (!PyErr_Occurred()) {
                missing();
            }
            break;
        }
    }
    if (i == n) {
        made = assemble(kind, items, n, b->func);
    }
    while (i-- > 0) {
        Py_XDECREF(items[i]);
    }
    if (items != few) {
        PyMem_Free(items);
    }
    return made;
}

/* The next recipe's object, an int. */
static int build_number(builder *b, int64_t *number)
{
    if (b->next->op == R_INT) {
        *number = b->out[b->next++->arg].i;
        return 0;
    }
    PyObject *made = build(b);
    if (made == NULL) {
        return PyErr_Occurred() ? -1 : (missing(), -1);
    }
    *number = PyLong_AsLongLong(made);
    Py_DECREF(made);
    return *number == -1 && PyErr_Occurred() ? -1 : 0;
}

static PyObject *build_range_iterator(builder *b)
{
    int64_t start, stop, step;
    return build_number(b, &start) < 0 || build_number(b, &stop) < 0 || build_number(b, &step) < 0
        ? NULL : jc_range_iterator_new(start, stop, step);
}

/* The next recipe's object [new]; NULL without an exception for Null. */
static PyObject *build(builder *b)
{
    const node *n = b->next++;
    const jc_word *w = &b->out[n->arg];
    PyObject *made;
    switch (n->op) {
    case R_CONST:
        return Py_NewRef(n->obj);
    case R_NULL:
        return NULL;
    case R_SRC:
        return Py_XNewRef(b->src[n->arg]);
    case R_INT:
        return PyLong_FromLongLong(w->i);
    case R_FLOAT:
        return PyFloat_FromDouble(w->d);
    case R_BOOL:
        return PyBool_FromLong(w->i != 0);
    case R_COMPLEX:
        return PyComplex_FromDoubles(w[0].d, w[1].d);
    case R_OBJECT:
        return w->o != NULL ? Py_NewRef(w->o) : PyErr_NoMemory();
    case R_LIST:
        return jc_tlist_box(w->p);
    case R_NUMPY:
        made = jc_box_np(n->typenum, w);
        return made != NULL ? made : PyErr_NoMemory();
    case R_BUILD:
        return build_object(b, n->kind, n->arg);
    case R_RANGE:
        return build_range_iterator(b);
    case R_MEMO:
        made = build(b);
        b->memos[n->arg] = Py_XNewRef(made);
        return made;
    default:    /* R_REF */
        return Py_XNewRef(b->memos[n->arg]);
    }
}

int jc_recipe_build(const jc_recipe *r, PyObject *func, PyObject *const *src, const jc_word *out, PyObject **dst)
{
    PyObject *few[FEW] = {NULL}, **memos = few;
    if (r->n_memos > FEW && (memos = PyMem_Calloc((size_t)r->n_memos, sizeof(PyObject *))) == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    builder b = {r->nodes, func, src, out, memos};
    int i, done = 0;
    for (i = 0; i < r->count; i++) {
        const node *n = b.next;
        dst[i] = build(&b);
        if (dst[i] == NULL && n->op != R_NULL && n->op != R_SRC && PyErr_Occurred()) {
            done = -1;
            break;
        }
    }
    for (int k = 0; k < r->n_memos; k++) {
        Py_XDECREF(memos[k]);
    }
    if (memos != few) {
        PyMem_Free(memos);
    }
    while (done < 0 && i-- > 0) {
        Py_CLEAR(dst[i]);
    }
    return done;
}
