/* Stores into arrays that exist: where results of kernels go, and what has to be known before.
 *
 * A store has NumPy's meaning: the value is complete before its target changes.  Native code asks here how the memory
 * of a target lies to that of the arrays that are read, and takes scratch memory where that could matter.  `off` counts
 * elements in the order of the loop, as in blocks.c.  Nothing here raises. */
#include "npyapi.h"
#include "blocks.h"
#include <string.h>

static void put_run(char *to, const char *from, int64_t stride, int64_t itemsize, int64_t n)
{
    if (stride == itemsize) {
        memcpy(to, from, (size_t)(n * itemsize));
        return;
    }
#define RUN(T) { const T *f = (const T *)from; for (int64_t i = 0; i < n; i++) *(T *)(to + i * stride) = f[i]; return; }
    switch (itemsize) {
    case 1: RUN(uint8_t)
    case 2: RUN(uint16_t)
    case 4: RUN(uint32_t)
    case 8: RUN(uint64_t)
    default:
        for (int64_t i = 0; i < n; i++) {
            memcpy(to + i * stride, from + i * itemsize, (size_t)itemsize);
        }
    }
#undef RUN
}

/* Writes n elements that lie one after another at `from` to the elements of an array from number off on; data may be
 * NULL: nothing is written then. */
static void jc_scatter(const char *from, char *data, int64_t itemsize, int64_t nd, const int64_t *dims,
                       const int64_t *strides, int64_t off, int64_t n)
{
    if (n <= 0 || data == NULL) {
        return;
    }
    if (nd <= 1) {
        const int64_t step = nd == 1 ? strides[0] : itemsize;
        put_run(data + off * step, from, step, itemsize, n);
        return;
    }
    int64_t index[JC_BLOCK_DIMS];
    data += jc_seek(index, nd, dims, strides, off);
    const int64_t last = nd - 1, step = strides[last];
    int64_t run = dims[last] - index[last];
    while (n > 0) {
        run = run < n ? run : n;
        put_run(data, from, step, itemsize, run);
        from += run * itemsize;
        n -= run;
        data += jc_next_row(index, nd, dims, strides);
        run = dims[last];
    }
}

/* How the elements of an array that is read lie to those of a target, both over the lengths of the target (0 strides
 * where the source is broadcast): 0 they share no memory, 1 each element is its counterpart or they share none,
 * 2 they may overlap in any way. */
static int32_t jc_overlap(const char *target, const int64_t *target_strides, int64_t target_size, const char *source,
                          const int64_t *source_strides, int64_t source_size, int64_t nd, const int64_t *dims)
{
    const char *low[2] = {target, source}, *high[2] = {target + target_size, source + source_size};
    bool same = target == source && target_size == source_size;
    for (int64_t k = 0; k < nd; k++) {
        const int64_t steps[2] = {target_strides[k], source_strides[k]};
        if (dims[k] == 0) {
            return 0;
        }
        if (dims[k] == 1) {
            continue;
        }
        same &= steps[0] == steps[1];
        for (int side = 0; side < 2; side++) {
            const int64_t span = steps[side] * (dims[k] - 1);
            *(span < 0 ? &low[side] : &high[side]) += span;
        }
    }
    if (high[0] <= low[1] || high[1] <= low[0]) {
        return 0;
    }
    return same ? 1 : 2;
}

/* May two elements of an array with these strides share memory?  (As in a broadcast view; no for any array whose axes
 * lie one inside another.) */
static int32_t jc_folded(int64_t nd, const int64_t *dims, const int64_t *strides, int64_t itemsize)
{
    int64_t steps[JC_MAXDIMS], lengths[JC_MAXDIMS], n = 0;
    for (int64_t k = 0; k < nd; k++) {
        const int64_t step = strides[k] < 0 ? -strides[k] : strides[k];
        if (dims[k] == 0) {
            return 0;
        }
        if (dims[k] == 1) {
            continue;
        }
        int64_t at = n++;
        for (; at > 0 && steps[at - 1] > step; at--) {
            steps[at] = steps[at - 1];
            lengths[at] = lengths[at - 1];
        }
        steps[at] = step;
        lengths[at] = dims[k];
    }
    int64_t extent = itemsize;
    for (int64_t k = 0; k < n; k++) {
        if (steps[k] < extent) {
            return 1;
        }
        extent += steps[k] * (lengths[k] - 1);
    }
    return 0;
}

/* Scratch memory of at least `size` bytes, a one-axis array: `old` [stolen, may be NULL] if that is large enough, else
 * a new one [new].  NULL when there is no memory (old is gone then). */
static PyObject *jc_scratch(PyObject *old, int64_t size)
{
    if (old != NULL && PyArray_DIM((PyArrayObject *)old, 0) >= size) {
        return old;
    }
    Py_XDECREF(old);
    return jc_empty(NPY_UBYTE, 1, &size, 0);
}

int jc_targets_symbols(PyObject *dict)
{
    static const jc_symbol table[] = {
        {"jc_scatter", (void *)jc_scatter}, {"jc_overlap", (void *)jc_overlap}, {"jc_folded", (void *)jc_folded},
        {"jc_scratch", (void *)jc_scratch}, {NULL, NULL},
    };
    return jc_symbols_put(dict, table);
}
