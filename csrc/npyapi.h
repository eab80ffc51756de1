/* NumPy's C API for all files of the extension: one table, filled by jc_arrays_init (arrays.c). */
#ifndef JC_NPYAPI_H
#define JC_NPYAPI_H

#include "jitcore.h"

#define PY_ARRAY_UNIQUE_SYMBOL jc_array_api
#ifndef JC_IMPORT_ARRAY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

/* Largest number of axes an array can have. */
#define JC_MAXDIMS 64

/* ---- arrays.c, views.c, order.c: called by native code, see each definition ---------------------- */
JC_HIDDEN PyObject *jc_empty(int typenum, int nd, const int64_t *dims, int order);
JC_HIDDEN PyObject *jc_empty_strided(int typenum, int nd, const int64_t *dims, const int64_t *strides);
JC_HIDDEN void jc_korder(int nd, int nop, const int64_t *const *strides, const int64_t *dims, const int64_t *lengths,
                         int64_t itemsize, int64_t *out_strides);
JC_HIDDEN void jc_ufunc_order(int nd, int nop, const int64_t *const *strides, const int64_t *sizes, const int64_t *dims,
                              int64_t itemsize, int64_t *out_strides);
JC_HIDDEN void jc_copy_order(int nd, const int64_t *strides, int64_t size, const int64_t *dims, int64_t itemsize,
                             int64_t *out_strides);
JC_HIDDEN PyObject *jc_view(PyObject *base, int typenum, int nd, const int64_t *dims, const int64_t *strides,
                            char *data);
JC_HIDDEN PyObject *jc_box_np(int typenum, const void *data);

/* ---- reports.c ----------------------------------------------------------------------------------- */
JC_HIDDEN void jc_reports_clear(void);
JC_HIDDEN int jc_reports_test(void);
JC_HIDDEN int jc_reports_seen(void);
JC_HIDDEN void jc_reports_again(int seen);
JC_HIDDEN int jc_raised(void);
JC_HIDDEN int64_t jc_buffer_items(void);

/* ---- pool.c -------------------------------------------------------------------------------------- */
/* Arrays of at least this many bytes take their memory from the pool. */
#define JC_POOL_MIN ((size_t)256 * 1024)
/* Between the two calls arrays that this thread creates take their memory from the pool.  enter gives a
 * token to be handed to leave [new], or NULL (nothing changed, no exception set). */
JC_HIDDEN PyObject *jc_pool_enter(void);
JC_HIDDEN void jc_pool_leave(PyObject *token /* stolen, NULL allowed */);

/* ---- registration: 0, or -1 with an exception set ------------------------------------------------ */
JC_HIDDEN int jc_arrays_init(PyObject *module);     /* imports NumPy: before all the others */
JC_HIDDEN int jc_reports_init(PyObject *module);
JC_HIDDEN int jc_ufuncs_init(PyObject *module);
JC_HIDDEN int jc_copies_init(PyObject *module);
JC_HIDDEN int jc_pool_init(PyObject *module);
JC_HIDDEN int jc_selftest_init(PyObject *module);

/* Puts name -> address of each native helper of a file into a dict. */
typedef struct { const char *name; void *address; } jc_symbol;
JC_HIDDEN int jc_symbols_put(PyObject *dict, const jc_symbol *table);
JC_HIDDEN int jc_order_symbols(PyObject *dict);
JC_HIDDEN int jc_reports_symbols(PyObject *dict);
JC_HIDDEN int jc_views_symbols(PyObject *dict);
JC_HIDDEN int jc_random_symbols(PyObject *dict);
JC_HIDDEN int jc_targets_symbols(PyObject *dict);

#endif
