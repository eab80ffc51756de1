/* Regions: native code with its guards and exits, as Python sees them.
 *
 * Job: the type `Region`.  Invariants: a region never changes but for its counters and `plain`; a region that
 * runs is held by its jc_state (flow.c), so the collector never clears one that runs.
 * Made by `runtime`; entered by dispatch.c and flow.c.
 */
#include "core.h"

#include <structmember.h>

/* ---- the type --------------------------------------------------------------------------------- */
/* The frames of inlined calls, each a tuple (n_locals, n_stack, unit, next_unit). */
static int parse_frames(jc_exit *e, PyObject *frames /* borrowed, or NULL */)
{
    Py_ssize_t n = frames != NULL ? PyTuple_GET_SIZE(frames) : 0;
    if (n == 0) {
        return 0;
    }
    e->frames = PyMem_New(jc_inner, n);
    if (e->frames == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        jc_inner *f = &e->frames[i];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(frames, i), "iiii", &f->n_locals, &f->n_stack, &f->unit, &f->next_unit)) {
            return -1;
        }
        e->n_inner += 1 + f->n_locals + f->n_stack;
    }
    e->n_frames = (int)n;
    return 0;
}

static int parse_exit(jc_exit *e, PyObject *spec)
{
    static const char *const kinds[] = {"return", "call", "leave", "restart"};
    const char *kind;
    PyObject *recipes, *site, *site_arg, *reason, *frames = NULL;
    if (!PyTuple_Check(spec)
        || !PyArg_ParseTuple(spec, "sOiiiiiOOOi|O!", &kind, &recipes, &e->n_locals, &e->n_stack, &e->n_operands, &e->unit,
                             &e->next_unit, &site, &site_arg, &reason, &e->line, &PyTuple_Type, &frames)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "an exit is a tuple");
        }
        return -1;
    }
    e->kind = -1;
    for (int i = 0; i < 4; i++) {
        if (strcmp(kind, kinds[i]) == 0) {
            e->kind = i;
        }
    }
    if (e->kind < 0 || e->n_locals < 0 || e->n_stack < 0 || e->n_operands < 0 || e->unit < 0 || e->next_unit < 0) {
        PyErr_Format(PyExc_ValueError, "bad exit %R", spec);
        return -1;
    }
    e->reason = Py_NewRef(reason);
    e->site_arg = Py_NewRef(site_arg);
    if (e->kind == JC_EXIT_RESTART) {
        return 0;
    }
    if (e->kind == JC_EXIT_CALL
        && ((e->site = jc_site_find(site)) == NULL
            || jc_site_number(e->site, site_arg, e->n_operands, &e->site_number) < 0)) {
        return -1;
    }
    if ((e->recipe = jc_recipe_new(recipes)) == NULL) {
        return -1;
    }
    if (parse_frames(e, frames) < 0) {
        return -1;
    }
    int expected = e->kind == JC_EXIT_RETURN ? 1 : e->n_locals + e->n_stack + e->n_operands + e->n_inner;
    if (jc_recipe_count(e->recipe) != expected) {
        PyErr_Format(PyExc_ValueError, "an exit asks for %d objects and has recipes for %d", expected,
                     jc_recipe_count(e->recipe));
        return -1;
    }
    return 0;
}

static PyObject *region_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"address", "guards", "exits", "n_out", "n_own", "work", "keep", "label", NULL};
    unsigned long long address;
    PyObject *guards, *exits, *keep, *label;
    int n_out, n_own;
    long long work;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "KOO!iiLOO:Region", names, &address, &guards, &PyTuple_Type, &exits,
                                     &n_out, &n_own, &work, &keep, &label)) {
        return NULL;
    }
    if (n_out < 0 || n_own < 0) {
        PyErr_SetString(PyExc_ValueError, "n_out and n_own are counts");
        return NULL;
    }
    jc_region *r = (jc_region *)type->tp_alloc(type, 0);
    if (r == NULL) {
        return NULL;
    }
    r->address = (jc_native)(uintptr_t)address;
    r->plain = address == 0;
    r->n_out = n_out;
    r->n_own = n_own;
    r->work = work;
    r->keep = Py_NewRef(keep);
    r->label = Py_NewRef(label);
    r->spec = Py_NewRef(exits);
    if (guards != Py_None) {
        if ((r->guards = jc_guards_new(guards)) == NULL) {
            goto error;
        }
        r->n_words = jc_guards_n_words(r->guards);
        r->n_sources = jc_guards_n_sources(r->guards);
    }
    Py_ssize_t n = PyTuple_GET_SIZE(exits);
    r->exits = PyMem_Calloc((size_t)n + 1, sizeof *r->exits);
    if (r->exits == NULL) {
        PyErr_NoMemory();
        goto error;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        r->n_exits = (int)i + 1;
        if (parse_exit(&r->exits[i], PyTuple_GET_ITEM(exits, i)) < 0) {
            goto error;
        }
    }
    return (PyObject *)r;
error:
    Py_DECREF(r);
    return NULL;
}

static int region_traverse(PyObject *self, visitproc visit, void *arg)
{
    jc_region *r = (jc_region *)self;
    for (int i = 0; i < r->n_exits; i++) {
        Py_VISIT(r->exits[i].site_arg);
        Py_VISIT(r->exits[i].reason);
        if (r->exits[i].recipe != NULL) {
            int status = jc_recipe_traverse(r->exits[i].recipe, visit, arg);
            if (status != 0) {
                return status;
            }
        }
    }
    Py_VISIT(r->spec);
    Py_VISIT(r->keep);
    Py_VISIT(r->label);
    return r->guards != NULL ? jc_guards_traverse(r->guards, visit, arg) : 0;
}

/* Only what is unreachable is cleared, and a region that runs is held: nothing enters it any more. */
static int region_clear(PyObject *self)
{
    jc_region *r = (jc_region *)self;
    jc_exit *exits = r->exits;
    int n = r->n_exits;
    jc_guards *guards = r->guards;
    r->exits = NULL;
    r->n_exits = 0;
    r->guards = NULL;
    r->plain = true;
    for (int i = 0; i < n; i++) {
        Py_CLEAR(exits[i].site_arg);
        Py_CLEAR(exits[i].reason);
        if (exits[i].recipe != NULL) {
            jc_recipe_free(exits[i].recipe);
        }
        PyMem_Free(exits[i].frames);
    }
    PyMem_Free(exits);
    if (guards != NULL) {
        jc_guards_free(guards);
    }
    Py_CLEAR(r->spec);
    Py_CLEAR(r->keep);
    Py_CLEAR(r->label);
    return 0;
}

static void region_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    region_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *exit_numbers(jc_region *r, bool left)
{
    PyObject *result = PyTuple_New(r->n_exits);
    for (int i = 0; result != NULL && i < r->n_exits; i++) {
        PyObject *n = PyLong_FromLongLong(left ? r->exits[i].left : r->exits[i].taken);
        if (n == NULL) {
            Py_CLEAR(result);
            break;
        }
        PyTuple_SET_ITEM(result, i, n);
    }
    return result;
}

static PyObject *get_exit_counts(PyObject *self, void *unused)
{
    return exit_numbers((jc_region *)self, false);
}

static PyObject *get_exit_left(PyObject *self, void *unused)
{
    return exit_numbers((jc_region *)self, true);
}

static PyObject *get_address(PyObject *self, void *unused)
{
    return PyLong_FromVoidPtr((void *)(uintptr_t)((jc_region *)self)->address);
}

static PyObject *get_thrashing(PyObject *self, void *unused)
{
    jc_region *r = (jc_region *)self;
    return PyBool_FromLong(r->plain && r->address != NULL);
}

/* The slots of a tuple, NULL for UNBOUND [borrowed], in memory that the caller frees; NULL with an exception set. */
static PyObject **slots_of(PyObject *tuple)
{
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    PyObject **lp = PyMem_New(PyObject *, n + 1);
    if (lp == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *v = PyTuple_GET_ITEM(tuple, i);
        lp[i] = v == jc_unbound ? NULL : v;
    }
    return lp;
}

/* Region.check(func, slots): which guard fails for these slots (0: none, else 1 + its index). */
static PyObject *region_check(PyObject *self, PyObject *args)
{
    jc_region *r = (jc_region *)self;
    PyObject *func, *slots;
    if (!PyArg_ParseTuple(args, "O!O!:check", &PyFunction_Type, &func, &PyTuple_Type, &slots)) {
        return NULL;
    }
    if (r->guards == NULL) {
        return PyLong_FromLong(0);
    }
    PyObject **lp = slots_of(slots);
    jc_word *words = PyMem_New(jc_word, jc_region_words(r) + 1);
    int status = -1;
    if (lp == NULL || words == NULL) {
        PyErr_NoMemory();
    }
    else {
        PyObject **src = (PyObject **)(words + r->n_words);
        status = jc_guards_check(r->guards, func, lp, words, src);
        if (status == 0) {
            jc_guards_release(r->guards, src);
        }
    }
    PyMem_Free(lp);
    PyMem_Free(words);
    return status < 0 ? NULL : PyLong_FromLong(status);
}

/* Region.run(func, slots): (True, the result) where the guards hold and it ends in a return, else (False, None). */
static PyObject *region_run(PyObject *self, PyObject *args)
{
    jc_region *r = (jc_region *)self;
    PyObject *func, *slots, *result = NULL;
    if (!PyArg_ParseTuple(args, "O!O!:run", &PyFunction_Type, &func, &PyTuple_Type, &slots)) {
        return NULL;
    }
    if (r->address == NULL || r->exits == NULL) {
        return Py_BuildValue("OO", Py_False, Py_None);
    }
    PyObject **lp = slots_of(slots);
    jc_word *words = PyMem_Calloc(jc_region_words(r) + 1, sizeof *words);
    if (lp == NULL || words == NULL) {
        PyErr_NoMemory();
        goto out;
    }
    jc_state s = {.in = words, .out = words + r->n_words};
    s.src = (PyObject **)(s.out + r->n_out);
    s.own = s.src + r->n_sources;
    if (r->guards != NULL && jc_guards_check(r->guards, func, lp, s.in, s.src) != 0) {
        result = Py_BuildValue("OO", Py_False, Py_None);
        goto out;
    }
    s.region = (jc_region *)Py_NewRef(self);
    jc_region_run(&s);
    jc_exit *e = &r->exits[s.exit];
    PyObject *value = NULL;
    if (e->kind != JC_EXIT_RETURN) {
        result = Py_BuildValue("OO", Py_False, Py_None);
    }
    else if (jc_recipe_build(e->recipe, func, s.src, s.out, &value) == 0) {
        result = Py_BuildValue("ON", Py_True, value);
    }
    jc_state_release(&s);
out:
    PyMem_Free(lp);
    PyMem_Free(words);
    return result;
}

static PyObject *region_repr(PyObject *self)
{
    jc_region *r = (jc_region *)self;
    return PyUnicode_FromFormat("<Region %S%s>", r->label, r->address == NULL ? " (plain)" : r->plain ? " (thrashing)" : "");
}

static PyMethodDef region_methods[] = {
    {"run", region_run, METH_VARARGS,
     "run(func, slots) -> (True, the result), or (False, None) where a guard fails or it ends in another exit."},
    {"check", region_check, METH_VARARGS, "check(func, slots) -> 0, or 1 + the index of the guard that fails."},
    {NULL},
};

static PyMemberDef region_members[] = {
    {"work", T_LONGLONG, offsetof(jc_region, work), READONLY, NULL},
    {"runs", T_LONGLONG, offsetof(jc_region, runs), READONLY, "How often it was entered."},
    {"keep", T_OBJECT, offsetof(jc_region, keep), READONLY, NULL},
    {"label", T_OBJECT, offsetof(jc_region, label), READONLY, NULL},
    {"exits", T_OBJECT, offsetof(jc_region, spec), READONLY, "The exits it was made with."},
    {NULL},
};

static PyGetSetDef region_getset[] = {
    {"exit_counts", get_exit_counts, NULL, "How often native code ended at each exit.", NULL},
    {"exit_left", get_exit_left, NULL, "How often the interpreter went on from each exit.", NULL},
    {"address", get_address, NULL, "The address of its native code, 0 for none.", NULL},
    {"thrashing", get_thrashing, NULL, "It is not entered any more: more than half of its last 64 runs were in vain, or 64 calls in turn did no work.", NULL},
    {NULL},
};

PyTypeObject jc_region_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "jitcore._core.Region",
    .tp_basicsize = sizeof(jc_region),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Region(address, guards, exits, n_out, n_own, work, keep, label): see docs/architecture.md.",
    .tp_new = region_new,
    .tp_dealloc = region_dealloc,
    .tp_traverse = region_traverse,
    .tp_clear = region_clear,
    .tp_repr = region_repr,
    .tp_methods = region_methods,
    .tp_members = region_members,
    .tp_getset = region_getset,
};

int jc_regions_init(PyObject *module)
{
    return PyModule_AddType(module, &jc_region_type);
}
