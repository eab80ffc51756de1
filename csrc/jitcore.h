/* jitcore: the map of the C part, and the ABI between native regions and the dispatcher.
 *
 *   frame_compat.h  CPython's frames, evaluators, functions and code; #error on an unreviewed version
 *   code_compat.h   the part of it about code objects and functions
 *   core.h          what the files from frames.c to module.c say to one another
 *   frames.c        the scoped evaluator; rebuild frames; move a running frame
 *   tables.c        what is known of each code object: its regions and counters
 *   misses.c        what C asks of Python: a region for a state, leaving a code object alone
 *   dispatch.c      marked functions: the entry, arguments, misses, recursion
 *   discovery.c     hot functions without marks: what ran in each
 *   entries.c       NumPy's entry points, where that is seen
 *   regions.c       the type `Region`
 *   flow.c          running a region and what its exits ask for, from region to region
 *   inplace.c       what that is in a frame that the interpreter runs
 *   loops.c         running loops: native code gets in again at a back edge
 *   calls.c         the operations of CALL sites, done through the C API
 *   testing.c       doors for the tests into frames.c
 *   object_compat.h CPython's objects as guard programs read them
 *   guards.c        guard programs: checks
 *   guards_compile.c  guard programs built from their Python form
 *   recipes.c       objects rebuilt at exits
 *   functions.c     functions among them
 *   iterators.c     iterators among them
 *   iterator_compat.h  CPython's iterators
 *   selftest.c      doors for the tests into guards.c and recipes.c
 *   arrays.c        arrays: called by native code
 *   views.c         views of arrays
 *   order.c         memory order of results
 *   targets.c       stores into arrays that exist: overlap, scratch memory
 *   blocks.c        block loops: short runs of elements for fused kernels
 *   lists.c         lists of one item type: memory, and what becomes of them at exits
 *   listcalls.c     operations on whole lists
 *   reducers.c      reductions over blocks, sums in NumPy's order
 *   reports.c       floating-point reports against NumPy's errstate
 *   ufuncs.c        inner loops of NumPy's ufuncs
 *   elements.c      small arrays made of numbers at exits
 *   copies.c        calls in a way of native code's own: on a copy, with reports as exceptions
 *   random.c        NumPy's random bit generators
 *   pool.c          recycled memory for large arrays
 *   module.c        the Python module `jitcore._core`
 *
 * Reference ownership is stated per argument: [borrowed], [new] (the caller owns what is returned),
 * [stolen] (the callee takes the caller's reference).  All functions need the GIL.
 */
#ifndef JITCORE_H
#define JITCORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdbool.h>

#if defined(__GNUC__)
#define JC_LIKELY(x) __builtin_expect(!!(x), 1)
#define JC_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define JC_HIDDEN __attribute__((visibility("hidden")))
#else
#define JC_LIKELY(x) (x)
#define JC_UNLIKELY(x) (x)
#define JC_HIDDEN
#endif

/* ---- the region ABI -------------------------------------------------------------------------
 * One machine word as native code sees it.  A weak int or bool is an int64 (0 or 1), a float a
 * double; a NumPy scalar lies in its natural bytes at the word's address; complex128 (weak or
 * strong) takes two consecutive words; an array or object is a borrowed pointer. */
typedef union { int64_t i; double d; PyObject *o; void *p; } jc_word;

typedef struct {
    jc_word *in;        /* inputs, filled by the guard program in the order of its loads */
    jc_word *out;       /* exit values, filled by native code before it returns */
    PyObject **own;     /* references that native code owns: NULL at entry, cleared by the dispatcher */
    int64_t kernels;    /* native code adds one for each fused loop nest that it runs */
    int64_t calls;      /* and one for each `call` node performed */
    const volatile void *events;    /* a 32-bit word: with bits of JC_EVENTS set, a loop must call jc_poll */
} jc_ctx;

/* Runs from entry to an exit; returns the exit's index.  Never leaves an exception set. */
typedef int32_t (*jc_native)(jc_ctx *);

/* ---- guards.c --------------------------------------------------------------------------------- */
typedef struct jc_guards jc_guards;     /* a compiled guard program */
/* From the Python tuple that guards.program packs.  [new]; NULL with an exception set. */
JC_HIDDEN jc_guards *jc_guards_new(PyObject *spec /* borrowed */);
JC_HIDDEN void jc_guards_free(jc_guards *);
JC_HIDDEN int jc_guards_traverse(jc_guards *, visitproc visit, void *arg);
JC_HIDDEN int jc_guards_n_sources(const jc_guards *);
JC_HIDDEN int jc_guards_n_words(const jc_guards *);
/* Checks the program against a frame.  0: holds, `in` and `src` are filled (to be released by jc_guards_release;
 * locals in src are borrowed from lp, the rest are new references); otherwise 1 + the index of the guard that
 * failed, with nothing held.  Sets no exception and runs no Python code.
 * func: the function [borrowed]; lp: its localsplus, NULL for unbound [borrowed]. */
JC_HIDDEN int jc_guards_check(const jc_guards *, PyObject *func, PyObject *const *lp, jc_word *in, PyObject **src);
JC_HIDDEN void jc_guards_release(const jc_guards *, PyObject **src);

/* ---- recipes.c -------------------------------------------------------------------------------- */
typedef struct jc_recipe jc_recipe;     /* a list of recipes that share one memo */
JC_HIDDEN jc_recipe *jc_recipe_new(PyObject *spec /* borrowed */);
JC_HIDDEN void jc_recipe_free(jc_recipe *);
JC_HIDDEN int jc_recipe_traverse(jc_recipe *, visitproc visit, void *arg);
JC_HIDDEN int jc_recipe_count(const jc_recipe *);
/* Builds all objects into dst (count entries, each [new], NULL for Null).  -1 with an exception set and
 * nothing held.  func: the region's function [borrowed]; src: from jc_guards_check; out: exit values. */
JC_HIDDEN int jc_recipe_build(const jc_recipe *, PyObject *func, PyObject *const *src, const jc_word *out,
                              PyObject **dst);

/* ---- iterators.c ------------------------------------------------------------------------------- */
/* iter(sequence), or reversed(sequence), whose next item is that at `index`.  Arguments [borrowed]; [new]. */
JC_HIDDEN PyObject *jc_iterator_at(PyObject *sequence, PyObject *index, int backwards);
/* array.flat, whose next item is number `index`.  Arguments [borrowed]; [new]. */
JC_HIDDEN PyObject *jc_flat_at(PyObject *array, PyObject *index);
/* zip(*items[1:], strict=items[0]) of n - 1 iterators.  Arguments [borrowed]; [new]. */
JC_HIDDEN PyObject *jc_zip_of(PyObject *const *items, int n);
JC_HIDDEN PyObject *jc_range_iterator_new(int64_t start, int64_t stop, int64_t step);

/* ---- elements.c -------------------------------------------------------------------------------- */
#define JC_MOST_ELEMENTS 64     /* of an array that a recipe makes from numbers */
JC_HIDDEN int jc_typenum_of(PyObject *name /* borrowed */);
JC_HIDDEN int jc_array_size(PyObject *order, PyObject *lengths /* both borrowed */);
/* From parts that jc_array_size knows [borrowed] and that many elements.  [new]; NULL with an exception set. */
JC_HIDDEN PyObject *jc_array_of(int typenum, PyObject *order, PyObject *lengths, const jc_word *const *elements);

/* ---- functions.c ------------------------------------------------------------------------------- */
#define JC_FUNCTION_PARTS 6     /* cells to be filled with the function follow them */
/* From its parts [borrowed]; own: the region's function [borrowed].  [new]; NULL with an exception set. */
JC_HIDDEN PyObject *jc_make_function(PyObject **items, int n, PyObject *own);
/* From its class, then names and values of its attributes in turn [borrowed].  [new]; NULL with an exception set. */
JC_HIDDEN PyObject *jc_make_instance(PyObject **items, int n);
/* Cell number `index` of the closure of `given`, or of `own` where that is NULL [borrowed].  [new], or NULL likewise. */
JC_HIDDEN PyObject *jc_cell_of_closure(PyObject *index, PyObject *given, PyObject *own);

/* ---- flow.c ------------------------------------------------------------------------------------ */
JC_HIDDEN int jc_poll(void);

/* ---- random.c ----------------------------------------------------------------------------------- */
/* How often native code may have given up the GIL: whatever does so on its behalf adds one. */
JC_HIDDEN extern int64_t jc_released;

/* ---- helpers whose addresses native code calls: name -> address ------------------------------- */
JC_HIDDEN int jc_symbols_add(PyObject *dict /* borrowed */);   /* arrays.c, reports.c; 0 or -1 */

#endif
