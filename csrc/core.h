/* What the files from frames.c to module.c (jitcore.h lists them) say to one another.
 *
 * The order of the parts: frames know nothing of regions; tables hold regions; the dispatcher finds and
 * enters them; regions do what their exits ask for.  Ownership is stated as in jitcore.h.
 */
#ifndef JC_CORE_H
#define JC_CORE_H

#include "jitcore.h"
#include "frame_compat.h"

/* In a loop over a few words: keeps it a loop. */
#if defined(__GNUC__)
#define JC_KEEP_LOOP __asm__ volatile("")
#else
#define JC_KEEP_LOOP ((void)0)
#endif

/* ---- frames.c ---------------------------------------------------------------------------------- */
/* Called with the frame that was asked for, before any of its instructions ran and before it is linked.
 * Must end the frame: run it (jc_frame_go, jc_frame_throw) or leave it (jc_frame_leave).  [new] or NULL. */
typedef PyObject *(*jc_arrival)(PyThreadState *ts, jc_frame *f, void *arg);

/* The vectorcall of an ordinary function, whatever entry it has now. */
extern JC_HIDDEN vectorcallfunc jc_plain_function;

/* Calls func and hands its frame to `arrive`.  When the arguments do not bind, CPython's error is set and
 * `arrive` is not called.  All arguments [borrowed]; [new] or NULL. */
JC_HIDDEN PyObject *jc_frame_enter(PyThreadState *ts, PyObject *func, PyObject *const *args, size_t nargsf,
                                   PyObject *kwnames, jc_arrival arrive, void *arg);
/* Replaces the first n_locals slots and the whole stack by values [stolen]; what was there is released. */
JC_HIDDEN void jc_frame_write(jc_frame *f, PyObject **values, int n_locals, int n_stack);
/* Puts the closure's cells into slots of free variables that are empty (as COPY_FREE_VARS does). */
JC_HIDDEN void jc_frame_copy_free(jc_frame *f);
/* Runs the frame on from `unit`; [new] or NULL. */
JC_HIDDEN PyObject *jc_frame_go(PyThreadState *ts, jc_frame *f, int unit);
/* Raises the exception that is set, at `unit`; [new] or NULL. */
JC_HIDDEN PyObject *jc_frame_throw(PyThreadState *ts, jc_frame *f, int unit);

/* One of several frames to be rebuilt, outermost first. */
typedef struct jc_rebuild {
    PyObject *func;             /* the function [borrowed] */
    PyObject **values;          /* n_locals, then n_stack of them, NULL for unbound [stolen: set to NULL once taken] */
    int n_locals, n_stack;
    int unit, next_unit;        /* inner == NULL: go on at unit; else the call at unit is being performed */
    PyObject *raise;            /* an exception instance to raise at unit, or NULL [borrowed] */
    struct jc_rebuild *inner;   /* the frame of the function that the call at unit runs, or NULL */
} jc_rebuild;
/* Writes the frames, each linked at its call, and runs them from the innermost out.  f: the frame of
 * spec->func, as it arrived.  [new] or NULL. */
JC_HIDDEN PyObject *jc_frame_rebuild(PyThreadState *ts, jc_frame *f, jc_rebuild *spec);

/* Calls the function of `spec` and rebuilds its frame, and those inside.  [new] or NULL. */
JC_HIDDEN PyObject *jc_frame_enter_inner(PyThreadState *ts, jc_rebuild *spec);

/* Watching for the next back edge of code that is running.  The watcher is called in the loop's thread at a
 * back edge that goes to `unit`, with the frame in the interpreter's hands: it may change locals, drop items
 * from the top of the stack and move the frame with jc_frame_move.  It returns one of these; an exception that it
 * has set is raised at the frame's instruction, on 3.11 in the handlers of `unit`, later in none. */
enum { JC_WATCH_ON, JC_WATCH_DONE, JC_WATCH_ERROR = -1, JC_WATCH_ERROR_ON = -2 };
typedef int (*jc_watcher)(PyThreadState *ts, jc_frame *f, int unit, void *arg);
/* 0, or -1 with an exception set.  One watch a code object; a second replaces it.  release(arg) is called at
 * its end.  3.11 sees loops of the main thread only (pending calls are served there). */
JC_HIDDEN int jc_loop_watch(PyCodeObject *code, jc_watcher watch, void *arg, void (*release)(void *));
JC_HIDDEN int jc_loop_unwatch(PyCodeObject *code);
/* The same for a frame that this thread is about to run: sees loops of any thread on 3.11 too, after jc_loop_trace. */
JC_HIDDEN int jc_loop_watch_next(PyCodeObject *code, jc_watcher watch, void *arg, void (*release)(void *));
/* The monitoring tool that loop watches use, as a mask for jc_observed. */
extern JC_HIDDEN unsigned jc_loop_tools;
JC_HIDDEN int jc_frames_init(PyObject *module);

/* ---- calls.c ----------------------------------------------------------------------------------- */
#define JC_SITE_ERROR (-1)      /* an exception is set */
#define JC_SITE_LEAVE (-2)      /* nothing was done: the interpreter performs the instruction itself */
typedef struct {
    PyObject *func;             /* whose globals and builtins hold [borrowed] */
    PyObject **ops;             /* the operands [borrowed] */
    int n;
    PyObject **slots;           /* the frame's localsplus, n_slots of them */
    int n_slots;
    PyObject *arg;              /* the exit's site_arg [borrowed] */
    long number;                /* the same as a number, where the site takes one */
    PyObject **results;         /* filled, in the order in which they are pushed [new] */
} jc_site_call;
typedef struct {
    const char *name;
    int (*perform)(jc_site_call *);     /* the number of results, or one of the codes above */
    int n_operands;             /* -1: any number */
    char arg;                   /* what site_arg is: '-' ignored, 'i' a number, 's' a str, 'k' a tuple of names or None, 'u' an
                                   operator's name */
} jc_site;
/* NULL with an exception set. */
JC_HIDDEN const jc_site *jc_site_find(PyObject *name /* borrowed */);
/* Checks site_arg and gives its number (0 where there is none); -1 with an exception set. */
JC_HIDDEN int jc_site_number(const jc_site *site, PyObject *arg /* borrowed */, int n_operands, long *number);
JC_HIDDEN PyObject *jc_site_names(void);        /* [new] tuple of str */

/* ---- regions.c --------------------------------------------------------------------------------- */
enum { JC_EXIT_RETURN, JC_EXIT_CALL, JC_EXIT_LEAVE, JC_EXIT_RESTART };

/* The frame of an inlined call. */
typedef struct { int n_locals, n_stack, unit, next_unit; } jc_inner;

typedef struct {
    int kind, n_locals, n_stack, n_operands, unit, next_unit, line;
    jc_recipe *recipe;          /* NULL for a restart */
    jc_inner *frames;           /* a leave inside inlined calls: their frames, outermost first [owned] */
    int n_frames, n_inner;      /* how many, and how many objects they take: function, locals and stack of each */
    const jc_site *site;
    PyObject *site_arg;
    long site_number;
    PyObject *reason;
    int64_t taken;              /* how often native code ended here */
    int64_t left;               /* how often the interpreter went on from here */
} jc_exit;

typedef struct {
    PyObject_HEAD
    jc_native address;          /* NULL: for these guards calls run plain */
    jc_guards *guards;          /* NULL: none, it fits always */
    jc_exit *exits;
    int n_exits, n_words, n_sources, n_out, n_own;
    int64_t work;
    bool plain;                 /* not to be entered: negative, or more than half of the last 64 runs were in vain */
    uint64_t history;           /* the last 64 runs, 1 for one in vain */
    int64_t runs;
    PyObject *spec, *keep, *label;
    int idle;                   /* calls in turn that began here, had a frame and did no work */
} jc_region;
extern JC_HIDDEN PyTypeObject jc_region_type;

/* A region whose guards hold, and what native code left behind.  Words lie in memory of the caller. */
typedef struct {
    jc_region *region;          /* [owned]; NULL: none */
    jc_word *in, *out;
    PyObject **src, **own;
    int exit;
    int64_t kernels, calls;
} jc_state;

static inline size_t jc_region_words(const jc_region *r)
{
    return (size_t)r->n_words + (size_t)r->n_out + (size_t)r->n_sources + (size_t)r->n_own;
}

struct jc_table;
/* What is known while a call goes from region to region inside one frame. */
typedef struct {
    struct jc_table *table;
    PyObject *func;             /* [borrowed] */
    int unit;                   /* where the frame stands when `state` is empty */
    bool work;                  /* a region with work ran */
    jc_state state;             /* the exit to be done first; empty when state.region is NULL */
    jc_exit *previous;          /* the call behind which the frame stands, NULL at first */
    jc_region *from;            /* its region [owned] */
    bool arrived;               /* the frame came, and the state was dealt with */
    bool in_place;              /* the interpreter runs the frame, and stands at the back edge that goes to `header` */
    int header;
    int entered;                /* regions that were run */
    bool restarted;             /* the last of them went back to its beginning */
    bool asked;                 /* the miss handler was asked about this unit already */
} jc_flow;

/* ---- flow.c ------------------------------------------------------------------------------------ */
/* Enters native code; state->region and its inputs are set.  Runs no exit. */
JC_HIDDEN void jc_region_run(jc_state *state);
/* Notes how the run ended: `vain` for one whose work is done again (restarted), or that was left without any. */
static inline void jc_region_note(jc_region *r, bool vain)
{
    r->history = (r->history << 1) | (vain ? 1 : 0);
    if (JC_UNLIKELY(vain) && __builtin_popcountll(r->history) > 32) {
        r->plain = true;
    }
}
/* Notes whether a call that began in `r` and had a frame came through any region with work.  After 64 in turn that did
 * not, it is not entered any more: what it leads to is left to the interpreter. */
static inline void jc_region_note_call(jc_region *r, bool work)
{
    r->idle = work ? 0 : r->idle + 1;
    if (JC_UNLIKELY(r->idle >= 64)) {
        r->plain = true;
    }
}
/* Releases what the state holds. */
JC_HIDDEN void jc_state_release(jc_state *state);
/* jc_arrival (arg: a jc_flow): does the pending exit, then goes from region to region. */
JC_HIDDEN PyObject *jc_flow_arrive(PyThreadState *ts, jc_frame *f, void *arg);
/* The same in a frame that the interpreter runs (flow->in_place): goes from region to region, then moves the frame.
 * -1: an exception is set, which the callback has to raise; else 0. */
JC_HIDDEN int jc_flow_in_place(PyThreadState *ts, jc_frame *f, jc_flow *flow);

/* ---- inplace.c ---------------------------------------------------------------------------------- */
/* Puts the operands of a site on the stack, as its instruction has them.  ops [stolen]. */
JC_HIDDEN void jc_push_operands(jc_frame *f, const jc_exit *e, PyObject **ops);
/* Whether the site can be performed here, its exception included. */
JC_HIDDEN bool jc_may_perform(jc_frame *f, const jc_flow *flow, const jc_exit *e);
/* The exception that is set is the site's: true, it stays set and is to be raised by the callback, or false, the
 * interpreter will raise it. */
JC_HIDDEN bool jc_raise_in_place(jc_frame *f, const jc_flow *flow, const jc_exit *e);
/* The same for one that comes in front of `unit`. */
JC_HIDDEN bool jc_fail_in_place(jc_frame *f, const jc_flow *flow, int unit);
/* Whether the region leaves inside an inlined call whose exception could not be raised in place. */
JC_HIDDEN bool jc_bars_entry(jc_frame *f, const jc_region *r);
/* jc_frame_rebuild in place: false, an exception is set, which the callback has to raise. */
JC_HIDDEN bool jc_rebuild_in_place(PyThreadState *ts, jc_frame *f, jc_rebuild *spec);
/* Moves the frame to the return instruction of the exit.  result [stolen]. */
JC_HIDDEN void jc_return_in_place(jc_frame *f, const jc_exit *e, PyObject *result);

/* ---- loops.c ----------------------------------------------------------------------------------- */
/* jc_frame_go, jc_frame_throw and a plain call: the interpreter takes over, with loops ahead that native code may enter
 * again.  All arguments [borrowed]; [new] or NULL. */
JC_HIDDEN PyObject *jc_loops_go(PyThreadState *ts, jc_frame *f, struct jc_table *t, int unit);
JC_HIDDEN PyObject *jc_loops_throw(PyThreadState *ts, jc_frame *f, struct jc_table *t, int unit);
JC_HIDDEN PyObject *jc_loops_rebuild(PyThreadState *ts, jc_frame *f, struct jc_table *t, jc_rebuild *spec);
JC_HIDDEN PyObject *jc_loops_call(PyThreadState *ts, struct jc_table *t, PyObject *func, PyObject *const *args,
                                  size_t nargsf, PyObject *kwnames);
/* Ends a watch that is on.  Sets no exception. */
JC_HIDDEN void jc_loops_end(struct jc_table *t);
JC_HIDDEN int jc_loops_init(PyObject *module);

/* ---- tables.c ---------------------------------------------------------------------------------- */
#define JC_COUNTERS(X) X(calls) X(native_calls) X(site_calls) X(helper_calls) X(kernels) X(compiles) X(guard_misses) \
    X(leaves) X(restarts) X(loop_entries)
typedef struct {
#define JC_FIELD(name) int64_t name;
    JC_COUNTERS(JC_FIELD)
#undef JC_FIELD
} jc_counts;

/* The regions at one unit, most recently used first. */
typedef struct {
    int unit, n, capacity;
    size_t words;               /* the largest jc_region_words among them */
    jc_region **items;          /* [owned] */
} jc_list;

/* What is known of one code object; lives in its co_extra and dies with it. */
typedef struct jc_table {
    struct jc_table *next, *previous;
    PyCodeObject *code;         /* [borrowed]: the owner */
    bool active;                /* false: left alone */
    bool handling;              /* a miss is being handled */
    int plain_runs;             /* calls that met a negative region */
    bool simple;                /* neither *args nor **kwargs: arguments can be bound without a frame */
    int n_slots, n_args, n_posonly, n_kwonly;
    jc_list *entry;             /* the list of unit 0, NULL while there is none */
    jc_list **lists;
    int n_lists;
    int last_back;              /* the unit of the last jump back, -1 for none, -2: not looked for yet */
    int armed;                  /* frames that wait for a back edge */
    bool watched;               /* a watch is on */
    uint32_t useless;           /* entries at loops, newest first, 1 for one that gained nothing */
    int rest, next_rest;        /* hand-overs that are not watched now, and the next time */
    int skip, next_skip;        /* back edges likewise, after a restart */
    int kept;                   /* back edges in turn where somebody held the frame object */
    int edges;                  /* back edges seen where no region was */
    jc_counts n;
} jc_table;

extern JC_HIDDEN Py_ssize_t jc_extra_index;
static inline jc_table *jc_table_of(PyCodeObject *code)
{
    return (jc_table *)jc_code_extra(code, jc_extra_index);
}
/* The table of the code, made if need be; NULL with an exception set. */
JC_HIDDEN jc_table *jc_table_make(PyCodeObject *code /* borrowed */);
JC_HIDDEN jc_list *jc_table_list(const jc_table *t, int unit);
/* The first region whose guards hold, moved to the front; its inputs lie in buf (list->words words).
 * state: filled.  NULL when none fits; runs no Python code. */
JC_HIDDEN jc_region *jc_list_find(jc_list *list, PyObject *func, PyObject *const *slots, jc_word *buf, jc_state *state);
JC_HIDDEN int jc_tables_init(PyObject *module);

/* ---- misses.c ---------------------------------------------------------------------------------- */
/* Stands for NULL where Python code sees slots of a frame. */
extern JC_HIDDEN PyObject *jc_unbound;
/* Asks the miss handler for a region: 1 one was installed, 0 none, -1 with an exception set. */
JC_HIDDEN int jc_miss(jc_table *t, PyObject *func, int unit, PyObject *const *slots, int n_stack);
/* Tells `runtime` that the code has only met negative regions for long.  Sets no exception. */
JC_HIDDEN void jc_settle(jc_table *t);
JC_HIDDEN int jc_misses_init(PyObject *module);

/* ---- dispatch.c -------------------------------------------------------------------------------- */
/* Marked calls on one another in a thread, before they run as if not marked. */
#define JC_MAX_DEPTH 200
/* How deep this thread is in marked calls on one another. */
extern JC_HIDDEN _Thread_local int jc_depth
#if defined(__linux__) && defined(__GNUC__)
    __attribute__((tls_model("initial-exec")))
#endif
    ;
/* Its calls enter jitcore now (not while it is held back in deep recursion). */
extern JC_HIDDEN vectorcallfunc const jc_enter_function;
static inline bool jc_function_enters(PyObject *func)
{
    return jc_function_entry(func) == jc_enter_function;
}
JC_HIDDEN bool jc_is_function(PyObject *o);
JC_HIDDEN int jc_dispatch_init(PyObject *module);

/* ---- discovery.c ------------------------------------------------------------------------------- */
extern JC_HIDDEN bool jc_counting;      /* enable() holds */
/* Counts an operation (weight 1, more for one that takes longer).  0, or -1 with an exception set: a signal's handler
 * raised.  May run Python. */
JC_HIDDEN int jc_count(int64_t weight);
/* Counts a call that runs natively for the function that made it.  0, or -1 with an exception set.  May run Python. */
JC_HIDDEN int jc_count_call(PyThreadState *ts);
JC_HIDDEN int jc_discovery_init(PyObject *module);

/* ---- entries.c --------------------------------------------------------------------------------- */
/* Lets NumPy's calls pass through here: of the ufuncs of a tuple [borrowed] too.  0, or -1 with an exception set. */
JC_HIDDEN int jc_entries_put_in(PyObject *tuple);
JC_HIDDEN void jc_entries_take_out(void);
JC_HIDDEN int jc_entries_init(PyObject *module);

/* ---- testing.c --------------------------------------------------------------------------------- */
JC_HIDDEN int jc_testing_init(PyObject *module);
JC_HIDDEN int jc_regions_init(PyObject *module);

#endif
