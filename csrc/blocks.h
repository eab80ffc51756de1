/* Block loops and reducers: blocks.c, reducers.c.  Called by native code and by each other. */
#ifndef JC_BLOCKS_H
#define JC_BLOCKS_H

#include <stdint.h>

#define JC_BLOCK_DIMS 64     /* axes of a loop, at most */
#define JC_REDUCTIONS 8      /* reductions of one kernel, at most */
#define JC_BLOCK 512         /* elements of a block, at most */

/* Computes n elements from number off on.  For a reduction elems[r] is set to where they are, one after
 * another.  Returns bits that are gathered. */
typedef int32_t (*jc_fill)(void *state, int64_t off, int64_t n, const char **elems);

typedef union { double d; float f; int64_t i; } jc_part;

/* One op and dtype.  fold: acc = acc op e[0] op e[1]...; rows: acc[i] = acc[i] op e[i]; base: the sum of up
 * to 128 elements as NumPy adds them, NULL where the op is not pairwise. */
typedef struct {
    int64_t itemsize;
    void (*fold)(char *acc, const char *e, int64_t n);
    void (*rows)(char *acc, const char *e, int64_t n);
    void (*base)(jc_part *to, const char *e, int64_t n);
} jc_reducer;

/* Where element number off lies in an array of two axes or more, in bytes; index[k]: its place along each axis. */
static inline int64_t jc_seek(int64_t *index, int64_t nd, const int64_t *dims, const int64_t *strides, int64_t off)
{
    int64_t at = 0;
    for (int64_t k = nd - 1; k >= 0; k--) {
        index[k] = off % dims[k];
        off /= dims[k];
        at += index[k] * strides[k];
    }
    return at;
}

/* From the element at `index` to the first one of the next row, in bytes. */
static inline int64_t jc_next_row(int64_t *index, int64_t nd, const int64_t *dims, const int64_t *strides)
{
    int64_t by = -index[nd - 1] * strides[nd - 1];
    index[nd - 1] = 0;
    for (int64_t k = nd - 2; k >= 0; k--) {
        by += strides[k];
        if (++index[k] < dims[k]) {
            break;
        }
        by -= dims[k] * strides[k];
        index[k] = 0;
    }
    return by;
}

JC_HIDDEN const char *jc_gather(const char *data, int64_t itemsize, int64_t nd, const int64_t *dims,
                                const int64_t *strides, int64_t off, int64_t n, char *buf);
JC_HIDDEN int32_t jc_blocks(jc_fill fill, void *state, int64_t nd, const int64_t *dims, int64_t most);
JC_HIDDEN void jc_sort_axes(int64_t nd, int64_t *order, int64_t *dims, int64_t nop, int64_t **strides);
JC_HIDDEN void jc_join_axes(int64_t nd, int64_t *dims, int64_t nop, int64_t **strides);
JC_HIDDEN int32_t jc_reduce(jc_fill fill, void *state, int64_t nred, const jc_reducer *const *red, char *const *out,
                            int64_t nd, const int64_t *dims, int64_t mask, int64_t chunk);
JC_HIDDEN void jc_fill_items(char *to, const char *from, int64_t itemsize, int64_t n);

JC_HIDDEN int32_t jc_underflow_asked(void);
JC_HIDDEN int32_t jc_odd_result(double result, double x, double y, double least, int32_t exact);
JC_HIDDEN int32_t jc_nonfinite(const char *at, int64_t itemsize, int64_t n);
JC_HIDDEN int32_t jc_sum_reports(jc_fill fill, void *state, int64_t r, int64_t itemsize, int64_t total);
JC_HIDDEN int32_t jc_mixed_zeros(jc_fill fill, void *state, int64_t r, int64_t itemsize, const char *out,
                                 int64_t n_out, int64_t total);

/* Puts the addresses of the functions above and of every reducer (`jc_reducer_add_d`...) into dict.
 * 0, or -1 with an exception set.  dict: [borrowed]. */
JC_HIDDEN int jc_blocks_symbols(PyObject *dict);

#endif
