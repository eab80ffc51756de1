/* What regions do in a frame that the interpreter runs: they cannot end its evaluation, only move it.
 *
 * Job: a site's operands put back for the interpreter; exceptions of sites and between instructions.
 * Invariants: an exception is raised at its instruction, and finds the handlers of that instruction.  The callback that
 * the interpreter has called may raise where no handler is lost; elsewhere the call that has failed is
 * performed once more by the interpreter, of a callable that does nothing but raise what was raised.
 * Used by flow.c.
 */
#include "core.h"


/* From 3.12 on the evaluator has lost the position when a callback of a jump has failed: it finds no handler at all. */
static bool finds_handler(jc_frame *f, const jc_flow *flow, int unit)
{
    PyCodeObject *code = jc_frame_code(f);
    int handler = jc_code_handler(code, unit);
    return JC_V311 ? handler == jc_code_handler(code, flow->header) : handler < 0;
}

static void push(jc_frame *f, PyObject *value /* stolen */)
{
    int top = jc_frame_top(f);
    jc_frame_slots(f)[top] = value;
    jc_frame_set_top(f, top + 1);
}

/* The callable and NULL or the object of a method, as the instructions of calls have them. */
static void push_callable(jc_frame *f, PyObject *callable, PyObject *self)
{
    bool null_first = !JC_V313 && self == NULL;
    push(f, null_first ? NULL : callable);
    push(f, null_first ? callable : self);
}

void jc_push_operands(jc_frame *f, const jc_exit *e, PyObject **ops)
{
    int n = e->n_operands, at = 0;
    bool call = strcmp(e->site->name, "call") == 0;
    if (call) {
        push_callable(f, ops[0], ops[1]);
        at = 2;
    }
    else if (strcmp(e->site->name, "call_ex") == 0) {
        push_callable(f, ops[0], NULL);
        at = 1;
    }
    for (; at < n; at++) {
        bool last = at == n - 1;
        if (last && jc_code_slices(jc_frame_code(f), e->unit)) {
            push(f, Py_NewRef(((PySliceObject *)ops[at])->start));
            push(f, Py_NewRef(((PySliceObject *)ops[at])->stop));
            Py_DECREF(ops[at]);
        }
        else if (ops[at] != NULL || !last) {    /* the last may be absent: a format's specification, keywords */
            push(f, ops[at]);
        }
    }
#if JC_V313
    if (call && e->site_arg != Py_None) {
        push(f, Py_NewRef(e->site_arg));
    }
#endif
}

/* ---- exceptions --------------------------------------------------------------------------------- */
static PyObject *raise_again(PyObject *error, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(error)), Py_NewRef(error), PyException_GetTraceback(error));
    return NULL;
}

static PyMethodDef raise_def = {"raise", (PyCFunction)(void (*)(void))raise_again, METH_FASTCALL | METH_KEYWORDS, NULL};

/* The exception that is set, normalized [new], with its traceback. */
static PyObject *take_exception(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (value != NULL && traceback != NULL) {
        PyException_SetTraceback(value, traceback);
    }
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
}

bool jc_may_perform(jc_frame *f, const jc_flow *flow, const jc_exit *e)
{
    return finds_handler(f, flow, e->unit) || strcmp(e->site->name, "call") == 0;
}

bool jc_raise_in_place(jc_frame *f, const jc_flow *flow, const jc_exit *e)
{
    if (finds_handler(f, flow, e->unit)) {
        jc_frame_move(f, e->unit);
        return true;
    }
    PyObject *error = take_exception();
    PyObject *raiser = PyCFunction_New(&raise_def, error);
    Py_DECREF(error);
    if (raiser == NULL) {       /* out of memory: another exception, and no handler */
        return true;
    }
    push_callable(f, raiser, NULL);
    for (int i = 2; i < e->n_operands; i++) {
        push(f, Py_NewRef(Py_None));
    }
#if JC_V313
    if (e->site_arg != Py_None) {
        push(f, Py_NewRef(e->site_arg));
    }
#endif
    jc_frame_move(f, e->unit);
    return false;
}

bool jc_fail_in_place(jc_frame *f, const jc_flow *flow, int unit)
{
    jc_frame_move(f, unit);
    if (finds_handler(f, flow, unit)) {
        return true;
    }
    PyObject *error = take_exception();     /* comes at the next look at pending events, as if from outside */
    PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), error);
    Py_DECREF(error);
    return false;
}

bool jc_bars_entry(jc_frame *f, const jc_region *r)
{
    for (int i = 0; i < r->n_exits; i++) {
        if (r->exits[i].n_frames > 0 && jc_code_handler(jc_frame_code(f), r->exits[i].unit) >= 0) {
            return true;
        }
    }
    return false;
}

bool jc_rebuild_in_place(PyThreadState *ts, jc_frame *f, jc_rebuild *spec)
{
    jc_frame_write(f, spec->values, spec->n_locals, spec->n_stack);
    jc_frame_copy_free(f);
    jc_frame_set_calling(f, spec->unit, spec->next_unit);
    PyThreadState_LeaveTracing(ts);
    PyObject *result = jc_frame_enter_inner(ts, spec->inner);
    PyThreadState_EnterTracing(ts);
    jc_frame_move(f, result != NULL ? spec->next_unit : spec->unit);
    if (result != NULL) {
        push(f, result);
    }
    return result != NULL;
}

void jc_return_in_place(jc_frame *f, const jc_exit *e, PyObject *result)
{
    PyObject **slots = jc_frame_slots(f);
    int base = jc_code_nslots(jc_frame_code(f)), top = jc_frame_top(f);
    jc_frame_set_top(f, base);
    PyObject *old[top - base + 1];
    memcpy(old, slots + base, (size_t)(top - base) * sizeof *old);
    if (jc_code_returns_top(jc_frame_code(f), e->unit)) {
        push(f, result);
    }
    else {
        Py_DECREF(result);
    }
    jc_frame_move(f, e->unit);
    for (int i = 0; i < top - base; i++) {
        Py_XDECREF(old[i]);
    }
}
