/* CPython's frames, evaluators, functions and code objects as this extension uses them.
 *
 * Job: the only file that knows the layout of a frame; the rest of the C part says what it wants in the
 * words below.  (object_compat.h does the same for dicts, ints and type versions.)  Reviewed for 3.11,
 * 3.12 and 3.13 with the GIL: CONTRIBUTING.md says what to read for another version.
 *
 * Words: a `unit` is an index into the code (two bytes each).  A frame is `linked` when it is the thread's
 * current frame, as the interpreter has it while a callee runs.  Included by frames.c, dispatch.c,
 * regions.c and testing.c only.
 */
#ifndef JC_FRAME_COMPAT_H
#define JC_FRAME_COMPAT_H

#include "jitcore.h"

#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x030E0000
#error "the frame internals were not reviewed for this version of CPython"
#endif
#ifdef Py_GIL_DISABLED
#error "a free-threaded build has per-thread bytecode: the scoped evaluator is not valid there"
#endif

/* Only behind Python.h: before it, the macro changes what the public headers declare. */
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#undef _PyGC_FINALIZED
#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>
#include <internal/pycore_code.h>
#include <internal/pycore_ceval.h>
#include <opcode.h>

#define JC_V311 (PY_VERSION_HEX < 0x030C0000)
#define JC_V312 (PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000)
#define JC_V313 (PY_VERSION_HEX >= 0x030D0000)

typedef struct _PyInterpreterFrame jc_frame;

#include "code_compat.h"

/* ---- thread state ------------------------------------------------------------------------------ */
static inline PyThreadState *jc_thread(void)
{
#if JC_V313
    return PyThreadState_GetUnchecked();
#else
    return _PyThreadState_UncheckedGet();
#endif
}

static inline PyInterpreterState *jc_thread_interpreter(PyThreadState *ts)
{
    return ts->interp;
}

/* Where the thread's current frame is kept. */
#if JC_V313
#define JC_CURRENT(ts) ((ts)->current_frame)
#else
#define JC_CURRENT(ts) ((ts)->cframe->current_frame)
#endif

/* How many more Python frames the thread may enter. */
#if JC_V311
#define JC_RECURSION(ts) ((ts)->recursion_remaining)
#else
#define JC_RECURSION(ts) ((ts)->py_recursion_remaining)
#endif

/* Somebody waits to be served: a signal, a pending call, another thread that wants the GIL. */
static inline bool jc_interrupted(PyThreadState *ts)
{
#if JC_V313
    return (ts->eval_breaker & _PY_EVAL_EVENTS_MASK) != 0;
#else
    return _Py_atomic_load_relaxed(&ts->interp->ceval.eval_breaker) != 0;
#endif
}

/* The word that jc_interrupted reads, and its bits, for native code (little-endian: the low half is enough). */
#if JC_V313
#define JC_EVENTS_WORD(ts) ((const volatile void *)&(ts)->eval_breaker)
#define JC_EVENTS ((unsigned)_PY_EVAL_EVENTS_MASK)
#else
#define JC_EVENTS_WORD(ts) ((const volatile void *)&(ts)->interp->ceval.eval_breaker)
#define JC_EVENTS 0xFFFFFFFFu
#endif

/* ---- evaluators (PEP 523) ----------------------------------------------------------------------- */
/* NULL: CPython's own. */
static inline _PyFrameEvalFunction jc_evaluator(PyThreadState *ts)
{
    return ts->interp->eval_frame;
}

/* Written directly: the public setter of 3.13 counts a rare event and so disturbs its optimizer. */
static inline void jc_set_evaluator(PyThreadState *ts, _PyFrameEvalFunction evaluator)
{
    ts->interp->eval_frame = evaluator;
}

/* Runs (throwing: 1 raises the exception that is set, at the frame's instruction) and ends the frame. */
static inline PyObject *jc_eval(PyThreadState *ts, jc_frame *f, int throwing)
{
    return _PyEval_EvalFrameDefault(ts, f, throwing);
}

/* ---- what a frame holds -------------------------------------------------------------------------- */
static inline PyCodeObject *jc_frame_code(const jc_frame *f)    /* [borrowed] */
{
#if JC_V313
    return (PyCodeObject *)f->f_executable;
#else
    return f->f_code;
#endif
}

static inline PyObject *jc_frame_func(const jc_frame *f)        /* [borrowed] */
{
#if JC_V311
    return (PyObject *)f->f_func;
#else
    return f->f_funcobj;
#endif
}

static inline PyObject **jc_frame_slots(jc_frame *f)
{
    return f->localsplus;
}

/* The number of slots in use, locals included; negative while the interpreter runs the frame itself. */
static inline int jc_frame_top(const jc_frame *f)
{
    return f->stacktop;
}

static inline void jc_frame_set_top(jc_frame *f, int top)
{
    f->stacktop = top;
}

/* Somebody other than the frame itself holds its frame object. */
static inline bool jc_frame_kept(const jc_frame *f)
{
    return f->frame_obj != NULL && Py_REFCNT(f->frame_obj) > 1;
}

/* Not an entry that stands for C code between Python frames. */
static inline bool jc_frame_is_python(const jc_frame *f)
{
#if JC_V311
    return true;
#else
    return f->owner != FRAME_OWNED_BY_CSTACK;
#endif
}

/* The innermost Python frame of the thread; NULL for none. */
static inline jc_frame *jc_frame_current(PyThreadState *ts)
{
    jc_frame *f = JC_CURRENT(ts);
    while (f != NULL && !jc_frame_is_python(f)) {
        f = f->previous;
    }
    return f;
}

/* The Python frame that called f; NULL for none. */
static inline jc_frame *jc_frame_back(const jc_frame *f)
{
    jc_frame *back = f->previous;
    while (back != NULL && !jc_frame_is_python(back)) {
        back = back->previous;
    }
    return back;
}

/* ---- instruction pointer ------------------------------------------------------------------------- */
/* The interpreter goes on at `unit`. */
static inline void jc_frame_set_next(jc_frame *f, int unit)
{
#if JC_V313
    f->instr_ptr = _PyCode_CODE(jc_frame_code(f)) + unit;
#else
    f->prev_instr = _PyCode_CODE(jc_frame_code(f)) + unit - 1;
#endif
}

/* The instruction at `unit` runs C code (or code in an evaluation of its own). */
static inline void jc_frame_set_running(jc_frame *f, int unit)
{
#if JC_V313
    f->instr_ptr = _PyCode_CODE(jc_frame_code(f)) + unit;
#else
    f->prev_instr = _PyCode_CODE(jc_frame_code(f)) + unit;
#endif
}

/* The call at `unit` runs a Python function inline; it goes on at `next`. */
static inline void jc_frame_set_calling(jc_frame *f, int unit, int next)
{
#if JC_V313
    f->instr_ptr = _PyCode_CODE(jc_frame_code(f)) + unit;
    f->return_offset = (uint16_t)(next - unit);
#else
    f->prev_instr = _PyCode_CODE(jc_frame_code(f)) + next - 1;
#if JC_V312
    f->return_offset = 0;
#endif
#endif
}

/* The unit of the instruction that runs, seen from a callee or from a trace function. */
static inline int jc_frame_unit(const jc_frame *f)
{
#if JC_V313
    return (int)(f->instr_ptr - _PyCode_CODE(jc_frame_code(f)));
#else
    return (int)(f->prev_instr - _PyCode_CODE(jc_frame_code(f)));
#endif
}

/* Inside a trace or monitoring callback the pointer names the instruction to run next. */
#define jc_frame_move jc_frame_set_running

/* The exception that is set belongs to the instruction at `unit`: jc_eval(..., 1) comes next. */
static inline void jc_frame_set_fault(jc_frame *f, int unit)
{
#if JC_V313
    /* The handler is looked up one unit before the pointer, the line at the pointer itself. */
    PyCodeObject *code = jc_frame_code(f);
    int shift = unit == 0 || jc_code_handler(code, unit - 1) != jc_code_handler(code, unit);
    f->instr_ptr = _PyCode_CODE(code) + unit + shift;
    f->return_offset = 0;
#else
    f->prev_instr = _PyCode_CODE(jc_frame_code(f)) + unit;
#endif
}

/* The same for the call of a function that runs inline: the numbers are those of CPython's own unwinding. */
static inline void jc_frame_set_call_fault(jc_frame *f, int unit, int next)
{
#if JC_V313
    jc_frame_set_fault(f, unit);
#else
    f->prev_instr = _PyCode_CODE(jc_frame_code(f)) + next - 1;
#endif
}

/* ---- linking ------------------------------------------------------------------------------------- */
/* Makes f the current frame, just as the interpreter has it while a callee runs.  3.12 and later need no
 * entry for the C stack in between: a frame that is called inline has none either. */
static inline void jc_frame_link(PyThreadState *ts, jc_frame *f)
{
    f->previous = JC_CURRENT(ts);
    JC_CURRENT(ts) = f;
    JC_RECURSION(ts)--;
#if !JC_V311
    ts->c_recursion_remaining--;
#endif
}

/* f->previous stays: a frame object that outlives the frame takes f_back from it. */
static inline void jc_frame_unlink(PyThreadState *ts, jc_frame *f)
{
    JC_CURRENT(ts) = f->previous;
    JC_RECURSION(ts)++;
#if !JC_V311
    ts->c_recursion_remaining++;
#endif
}

/* ---- ending a frame without running it ----------------------------------------------------------- */
#if JC_V312
/* The frame object outlives the frame: it takes the frame's data over. */
static inline void jc_frame_give_away(PyThreadState *ts, jc_frame *f, PyFrameObject *object)
{
    size_t size = (size_t)((char *)&f->localsplus[f->stacktop] - (char *)f);
    Py_INCREF(f->f_code);
    memcpy(object->_f_frame_data, f, size);
    jc_frame *own = (jc_frame *)object->_f_frame_data;
    object->f_frame = own;
    own->owner = FRAME_OWNED_BY_FRAME_OBJECT;
    own->previous = NULL;
    object->f_back = PyThreadState_GetFrame(ts);    /* f is not linked: the first complete frame below */
    if (!PyObject_GC_IsTracked((PyObject *)object)) {
        PyObject_GC_Track(object);
    }
}
#endif

/* Releases a frame that was handed to an evaluator and is not linked.  What its evaluator must do differs:
 * 3.11 nothing (the caller does it), 3.12 everything (CPython's functions are hidden), 3.13 one call. */
static inline void jc_frame_leave(PyThreadState *ts, jc_frame *f)
{
#if JC_V313
    _PyEval_FrameClearAndPop(ts, f);
#elif JC_V312
    PyCodeObject *code = f->f_code;
    PyFrameObject *object = f->frame_obj;
    bool given = false;
    if (object != NULL) {
        f->frame_obj = NULL;
        if (Py_REFCNT(object) > 1) {
            jc_frame_give_away(ts, f, object);
            given = true;
        }
        Py_DECREF(object);
    }
    if (!given) {
        int n = f->stacktop;
        f->stacktop = 0;
        for (int i = 0; i < n; i++) {
            Py_XDECREF(f->localsplus[i]);
        }
        Py_XDECREF(f->f_locals);
        Py_DECREF(f->f_funcobj);
    }
    Py_DECREF(code);
    PyObject **base = (PyObject **)f;
    if (JC_UNLIKELY(base == &ts->datastack_chunk->data[0])) {
        _PyStackChunk *chunk = ts->datastack_chunk, *below = chunk->previous;
        PyObjectArenaAllocator arena;
        PyObject_GetArenaAllocator(&arena);
        ts->datastack_top = &below->data[below->top];
        ts->datastack_chunk = below;
        arena.free(arena.ctx, chunk, chunk->size);
        ts->datastack_limit = (PyObject **)((char *)below + below->size);
    }
    else {
        ts->datastack_top = base;
    }
#else
    (void)ts;
    (void)f;
#endif
}

#if JC_V311
/* As PyEval_SetTrace does, but for the audit event: for the evaluation that is current, and those that it begins. */
static inline void jc_set_tracer(PyThreadState *ts, Py_tracefunc tracer)
{
    ts->c_tracefunc = tracer;
    ts->cframe->use_tracing = tracer != NULL || ts->c_profilefunc != NULL ? 255 : 0;
}
#endif

/* ---- observers ----------------------------------------------------------------------------------- */
/* A tracer, a profiler or a monitoring tool watches this code, or a change of who watches has not reached the code
 * yet (the interpreter brings a code's instrumentation up to date where it runs from its start): native code, and
 * frames that are entered in the middle, would not be seen.  own_tools: a mask of tool numbers to be overlooked;
 * jc_own_tracer: the tracer of loop watches on 3.11, NULL elsewhere. */
extern JC_HIDDEN const Py_tracefunc jc_own_tracer;
static inline bool jc_observed(PyThreadState *ts, PyCodeObject *code, unsigned own_tools)
{
    if (JC_UNLIKELY((ts->c_tracefunc != NULL && ts->c_tracefunc != jc_own_tracer) || ts->c_profilefunc != NULL)) {
        return true;
    }
#if JC_V311
    (void)code;
    (void)own_tools;
    return false;
#else
#if JC_V312
    bool current = code->_co_instrumentation_version == ts->interp->monitoring_version;
#else
    bool current = code->_co_instrumentation_version == (ts->eval_breaker & ~(uintptr_t)_PY_EVAL_EVENTS_MASK);
#endif
    if (JC_LIKELY(current && code->_co_monitoring == NULL)) {
        return false;
    }
    unsigned tools = 0;
    if (!current) {     /* who watches now counts; who watched when the code ran last follows */
        const _Py_GlobalMonitors *all = &ts->interp->monitors;
        for (size_t i = 0; i < sizeof(all->tools); i++) {
            tools |= all->tools[i];
        }
    }
    if (code->_co_monitoring != NULL) {
        const _Py_LocalMonitors *active = &code->_co_monitoring->active_monitors;
        for (size_t i = 0; i < sizeof(active->tools); i++) {
            tools |= active->tools[i];
        }
    }
    return (tools & ~own_tools) != 0;
#endif
}

#endif
