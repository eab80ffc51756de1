/* Running regions, and what their exits ask for.
 *
 * Job: enter native code; rebuild the frame at an exit; perform the operation of a CALL site; go on from region
 * to region inside the frame.
 * Invariants: a region that runs is held by its jc_state; what native code left behind is released before the
 * frame goes on; a frame is written only after all its objects were built, so a failure finds it as it was; a
 * call counts as native only when every instruction of it was done by regions and sites.
 * Used by dispatch.c and testing.c.
 */
#include "core.h"

#include <alloca.h>

/* ---- running ---------------------------------------------------------------------------------- */
void jc_region_run(jc_state *s)
{
    jc_region *r = s->region;
    jc_ctx ctx = {.in = s->in, .out = s->out, .own = s->own, .events = JC_EVENTS_WORD(PyThreadState_Get())};
    r->runs++;
    s->exit = r->address(&ctx);
    s->kernels = ctx.kernels;
    s->calls = ctx.calls;
    if (JC_UNLIKELY(s->exit < 0 || s->exit >= r->n_exits)) {
        Py_FatalError("jitcore: native code returned an exit that its region does not have");
    }
    r->exits[s->exit].taken++;
}

void jc_state_release(jc_state *s)
{
    jc_region *r = s->region;
    if (r == NULL) {
        return;
    }
    s->region = NULL;
    for (int i = 0; i < r->n_own; i++) {
        Py_XDECREF(s->own[i]);
    }
    if (r->guards != NULL) {
        jc_guards_release(r->guards, s->src);
    }
    Py_DECREF(r);
}

/* ---- exits ------------------------------------------------------------------------------------ */
/* The interpreter takes over behind this exit. */
static void count_left(jc_flow *flow, jc_exit *e)
{
    e->left++;
    flow->table->n.leaves++;
}

/* What a flow in place gives where another one gives the result of the call [borrowed]. */
#define MOVED Py_None

/* The interpreter goes on at `unit`. */
static PyObject *go_on(PyThreadState *ts, jc_frame *f, jc_flow *flow, int unit)
{
    if (JC_UNLIKELY(flow->in_place)) {
        jc_frame_move(f, unit);
        return MOVED;
    }
    return jc_loops_go(ts, f, flow->table, unit);
}

/* A failure between two instructions: the frame stands whole at `unit`. */
static PyObject *fail(PyThreadState *ts, jc_frame *f, jc_flow *flow, int unit)
{
    if (flow->in_place) {
        return jc_fail_in_place(f, flow, unit) ? NULL : MOVED;
    }
    if (unit > 0) {
        return jc_loops_throw(ts, f, flow->table, unit);
    }
    jc_frame_leave(ts, f);
    return NULL;
}

/* Performs a site with the frame linked.  ops [stolen].  The number of results, or a code of jc_site_call. */
static int perform(PyThreadState *ts, jc_frame *f, jc_flow *flow, jc_exit *e, PyObject **ops, PyObject **results)
{
    jc_site_call call = {flow->func, ops, e->n_operands, jc_frame_slots(f), flow->table->n_slots, e->site_arg,
                         e->site_number, results};
    jc_frame_set_running(f, e->unit);
    if (JC_UNLIKELY(flow->in_place)) {
        PyThreadState_LeaveTracing(ts);     /* who watches what is called sees it */
    }
    else {
        jc_frame_link(ts, f);
    }
    int n = e->site->perform(&call);
    if (JC_UNLIKELY(n == JC_SITE_ERROR)) {      /* finalizers of the operands must not meet the exception */
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        for (int i = 0; i < e->n_operands; i++) {
            Py_CLEAR(ops[i]);
        }
        PyErr_Restore(type, value, traceback);
    }
    else if (JC_LIKELY(n != JC_SITE_LEAVE)) {
        for (int i = 0; i < e->n_operands; i++) {
            Py_CLEAR(ops[i]);
        }
    }
    if (JC_UNLIKELY(flow->in_place)) {
        PyThreadState_EnterTracing(ts);
    }
    else {
        jc_frame_unlink(ts, f);
    }
    return n;
}

static void push(jc_frame *f, PyObject **values /* stolen */, int n)
{
    int top = jc_frame_top(f);
    memcpy(jc_frame_slots(f) + top, values, (size_t)n * sizeof *values);
    jc_frame_set_top(f, top + n);
}

/* The frame stands behind a leave.  True: the interpreter went on, *result is the result of the call; false: the exit was a
 * loop's look at pending events, nothing but another thread's turn was asked for, and the frame stands at flow->unit. */
static bool leave(PyThreadState *ts, jc_frame *f, jc_flow *flow, jc_exit *e, PyObject **result)
{
    if (e->next_unit > 0 && e->next_unit != e->unit && !jc_interrupted(ts)) {
        flow->unit = e->next_unit;
        flow->previous = e;
        return false;
    }
    count_left(flow, e);
    *result = go_on(ts, f, flow, e->unit);
    return true;
}

/* Does the operation of a call whose frame is written.  As `leave`. */
static bool call(PyThreadState *ts, jc_frame *f, jc_flow *flow, jc_exit *e, PyObject **ops, PyObject **result)
{
    long n_results = e->site_number > 2 ? e->site_number : 2;
    PyObject **results = alloca((size_t)n_results * sizeof *results);
    int given = JC_SITE_LEAVE;
    if (JC_LIKELY(!flow->in_place || jc_may_perform(f, flow, e))) {
        given = perform(ts, f, flow, e, ops, results);
    }
    if (JC_UNLIKELY(given == JC_SITE_LEAVE)) {
        jc_push_operands(f, e, ops);
        count_left(flow, e);
        *result = go_on(ts, f, flow, e->unit);
        return true;
    }
    flow->table->n.site_calls++;
    if (JC_UNLIKELY(given < 0)) {
        count_left(flow, e);
        if (flow->in_place) {
            *result = jc_raise_in_place(f, flow, e) ? NULL : MOVED;
        }
        else {
            *result = jc_loops_throw(ts, f, flow->table, e->unit);
        }
        return true;
    }
    push(f, results, given);
    flow->unit = e->next_unit;
    if (JC_UNLIKELY(jc_frame_kept(f) || jc_observed(ts, jc_frame_code(f), jc_loop_tools))) {
        count_left(flow, e);
        *result = go_on(ts, f, flow, flow->unit);
        return true;
    }
    flow->previous = e;
    return false;
}

/* Leaves inside inlined calls.  values [stolen]: of the region's own frame, then function, locals and stack of each. */
static PyObject *leave_inside(PyThreadState *ts, jc_frame *f, jc_flow *flow, jc_exit *e, PyObject **values)
{
    jc_rebuild *frames = alloca(((size_t)e->n_frames + 1) * sizeof *frames);
    int n = e->n_locals + e->n_stack;
    frames[0] = (jc_rebuild){.func = flow->func, .values = values, .n_locals = e->n_locals, .n_stack = e->n_stack,
                             .unit = e->unit, .next_unit = e->next_unit, .inner = &frames[1]};
    for (int i = 0; i < e->n_frames; i++) {
        jc_inner *inner = &e->frames[i];
        frames[i + 1] = (jc_rebuild){.func = values[n], .values = values + n + 1, .n_locals = inner->n_locals,
                                     .n_stack = inner->n_stack, .unit = inner->unit, .next_unit = inner->next_unit,
                                     .inner = i + 1 < e->n_frames ? &frames[i + 2] : NULL};
        n += 1 + inner->n_locals + inner->n_stack;
    }
    PyObject *result = !flow->in_place ? jc_loops_rebuild(ts, f, flow->table, frames)
        : jc_rebuild_in_place(ts, f, frames) ? MOVED : NULL;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);     /* finalizers must not meet the exception */
    for (int i = 0; i < n; i++) {
        Py_CLEAR(values[i]);
    }
    PyErr_Restore(type, value, traceback);
    return result;
}

/* Does the pending exit, a call or a leave, and empties the state.  True: *result is the result of the call; false:
 * the frame stands at flow->unit.  A function of its own, so that its memory is given back at each site. */
static __attribute__((noinline)) bool do_exit(PyThreadState *ts, jc_frame *f, jc_flow *flow, PyObject **result)
{
    jc_region *r = (jc_region *)Py_NewRef((PyObject *)flow->state.region);
    jc_exit *e = &r->exits[flow->state.exit];
    int n = e->n_locals + e->n_stack + e->n_operands + e->n_inner;
    PyObject **values = alloca(((size_t)n + 1) * sizeof *values);
    bool done = true;
    int built = jc_recipe_build(e->recipe, flow->func, flow->state.src, flow->state.out, values);
    if (JC_UNLIKELY(built < 0)) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        jc_state_release(&flow->state);
        PyErr_Restore(type, value, traceback);
        count_left(flow, e);
        *result = fail(ts, f, flow, flow->unit);
        goto out;
    }
    jc_state_release(&flow->state);
    PyObject **ops = values + e->n_locals + e->n_stack;
    if (e->n_frames > 0) {
        count_left(flow, e);
        *result = leave_inside(ts, f, flow, e, values);
        goto out;
    }
    jc_frame_write(f, values, e->n_locals, e->n_stack);
    if (e->unit >= jc_code_free_units(jc_frame_code(f))) {
        jc_frame_copy_free(f);
    }
    if (e->kind == JC_EXIT_LEAVE) {
        done = leave(ts, f, flow, e, result);
    }
    else if (JC_UNLIKELY(JC_RECURSION(ts) <= 0 && !flow->in_place)) {
        /* What the evaluator says when the frame itself is one too many. */
        for (int i = 0; i < e->n_operands; i++) {
            Py_XDECREF(ops[i]);
        }
        count_left(flow, e);
        PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded");
        jc_frame_leave(ts, f);
        *result = NULL;
    }
    else {
        done = call(ts, f, flow, e, ops, result);
    }
out:
    if (done) {
        Py_DECREF(r);
        return true;
    }
    Py_XSETREF(flow->from, r);
    return false;
}

/* ---- from region to region -------------------------------------------------------------------- */
/* Memory for the words of one region at a time. */
typedef struct { jc_word *words; size_t n; jc_word *heap; } scratch_t;

static bool reserve(scratch_t *scratch, size_t n)
{
    if (n > scratch->n) {
        PyMem_Free(scratch->heap);
        scratch->heap = scratch->words = PyMem_New(jc_word, n);
        scratch->n = scratch->heap != NULL ? n : 0;
        if (scratch->heap == NULL) {
            PyErr_NoMemory();
            return false;
        }
    }
    return true;
}

/* A region for where the frame stands, asking the miss handler when none fits: 1, 0, or -1 with an exception. */
static int find_region(jc_frame *f, jc_flow *flow, scratch_t *scratch)
{
    jc_table *t = flow->table;
    for (int attempt = 0; attempt < 2; attempt++) {
        jc_list *list = jc_table_list(t, flow->unit);
        if (list != NULL) {
            if (!reserve(scratch, list->words)) {
                return -1;
            }
            jc_region *r = jc_list_find(list, flow->func, jc_frame_slots(f), scratch->words, &flow->state);
            if (r != NULL && !r->plain && !(flow->in_place && jc_bars_entry(f, r))) {
                flow->asked = false;
                return 1;
            }
            if (r != NULL) {
                jc_state_release(&flow->state);
                return 0;
            }
            if (list->n > 0 && attempt == 0 && !flow->asked) {
                t->n.guard_misses++;
            }
        }
        if (flow->asked) {
            flow->asked = false;
            return 0;
        }
        if (attempt == 0) {
            int status = jc_miss(t, flow->func, flow->unit, jc_frame_slots(f), jc_frame_top(f) - t->n_slots);
            if (status <= 0) {
                return status;
            }
        }
    }
    return 0;
}

/* What a loop in native code asks when the word of events is set.  Another thread gets its turn, after which nothing that
 * was read holds; what else is asked the interpreter serves.  So the loop always leaves: 1. */
int jc_poll(void)
{
    Py_BEGIN_ALLOW_THREADS
    Py_END_ALLOW_THREADS
    jc_released++;
    return 1;
}

/* Between two regions, where the interpreter would look too: another thread gets its turn here; whatever else
 * is asked of this thread (signals, pending calls) the interpreter has to serve.  True: it must take over. */
static bool asked_for(PyThreadState *ts)
{
    if (JC_LIKELY(!jc_interrupted(ts))) {
        return false;
    }
    jc_poll();
    return jc_interrupted(ts);
}

static PyObject *go_through(PyThreadState *ts, jc_frame *f, jc_flow *flow, scratch_t *scratch)
{
    jc_table *t = flow->table;
    for (;;) {
        PyObject *result;
        if (flow->state.region != NULL && do_exit(ts, f, flow, &result)) {
            return result;
        }
        int found = flow->previous != NULL && asked_for(ts) ? 0 : find_region(f, flow, scratch);
        if (found <= 0) {
            if (flow->previous != NULL) {
                count_left(flow, flow->previous);
            }
            return found < 0 ? fail(ts, f, flow, flow->unit) : go_on(ts, f, flow, flow->unit);
        }
        jc_state *s = &flow->state;
        jc_region *r = s->region;
        jc_region_run(s);
        flow->entered++;
        jc_exit *e = &r->exits[s->exit];
        if (e->kind == JC_EXIT_RESTART) {
            jc_region_note(r, true);
            e->left++;
            t->n.restarts++;
            flow->restarted = true;
            jc_state_release(s);
            return go_on(ts, f, flow, flow->unit);
        }
        flow->work |= r->work > 0;
        t->n.kernels += s->kernels;
        t->n.helper_calls += s->calls;
        jc_region_note(r, e->kind == JC_EXIT_LEAVE && r->work == 0);
        if (e->kind == JC_EXIT_RETURN) {
            int built = jc_recipe_build(e->recipe, flow->func, s->src, s->out, &result);
            if (built >= 0 && flow->work) {
                t->n.native_calls += !flow->in_place;
            }
            if (JC_UNLIKELY(flow->in_place)) {
                result = built < 0 ? fail(ts, f, flow, e->unit) : (jc_return_in_place(f, e, result), MOVED);
                jc_state_release(s);
                return result;
            }
            jc_state_release(s);
            jc_frame_leave(ts, f);
            return built < 0 ? NULL : result;
        }
    }
}

static PyObject *start(PyThreadState *ts, jc_frame *f, jc_flow *flow)
{
    jc_word words[64];
    scratch_t scratch = {words, sizeof words / sizeof *words, NULL};
    PyObject *result = go_through(ts, f, flow, &scratch);
    PyMem_Free(scratch.heap);
    Py_CLEAR(flow->from);
    return result;
}

PyObject *jc_flow_arrive(PyThreadState *ts, jc_frame *f, void *arg)
{
    jc_flow *flow = (jc_flow *)arg;
    flow->arrived = true;
    return start(ts, f, flow);
}

int jc_flow_in_place(PyThreadState *ts, jc_frame *f, jc_flow *flow)
{
    return start(ts, f, flow) != NULL ? 0 : -1;
}
