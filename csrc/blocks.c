/* Block loops: what fused kernels ask of C.
 *
 * A kernel computes short runs of elements that lie one after another.  The drivers here walk over all
 * elements of a shape in blocks, fetch runs of strided or broadcast operands, and do the accumulation
 * of reductions in NumPy's order.  Nothing here touches a Python object, except for the table of
 * addresses.  `off` always counts elements in the order of the loop (row by row of `dims`). */
#include "jitcore.h"
#include "blocks.h"
#include "npyapi.h"
#include <fenv.h>
#include <string.h>

/* ---- runs of strided operands -------------------------------------------------------------------- */

static void copy_run(char *to, const char *from, int64_t stride, int64_t itemsize, int64_t n)
{
    if (stride == itemsize) {
        memcpy(to, from, (size_t)(n * itemsize));
        return;
    }
#define RUN(T) { T *t = (T *)to; for (int64_t i = 0; i < n; i++) t[i] = *(const T *)(from + i * stride); return; }
    switch (itemsize) {
    case 1: RUN(uint8_t)
    case 2: RUN(uint16_t)
    case 4: RUN(uint32_t)
    case 8: RUN(uint64_t)
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * itemsize, from + i * stride, (size_t)itemsize);
    }
#undef RUN
}

/* n elements from number off on, one after another: in the array itself if they lie so, else in buf. */
const char *jc_gather(const char *data, int64_t itemsize, int64_t nd, const int64_t *dims, const int64_t *strides,
                      int64_t off, int64_t n, char *buf)
{
    if (nd == 1) {
        data += off * strides[0];
        if (strides[0] == itemsize)
            return data;
        copy_run(buf, data, strides[0], itemsize, n);
        return buf;
    }
    int64_t index[JC_BLOCK_DIMS];
    data += jc_seek(index, nd, dims, strides, off);
    const int64_t last = nd - 1, step = strides[last];
    int64_t run = dims[last] - index[last];
    if (run >= n) {
        if (step == itemsize)
            return data;
        copy_run(buf, data, step, itemsize, n);
        return buf;
    }
    char *to = buf;
    for (;;) {
        copy_run(to, data, step, itemsize, run);
        to += run * itemsize;
        n -= run;
        if (!n)
            return buf;
        data += jc_next_row(index, nd, dims, strides);
        run = n < dims[last] ? n : dims[last];
    }
}

/* Walks over all elements in blocks of at most `most`; blocks do not cross rows if rows are long.  Returns
 * the bits that the calls gave. */
int32_t jc_blocks(jc_fill fill, void *state, int64_t nd, const int64_t *dims, int64_t most)
{
    int64_t total = 1;
    int32_t bits = 0;
    for (int64_t k = 0; k < nd; k++)
        total *= dims[k];
    int64_t row = nd && dims[nd - 1] >= 64 ? dims[nd - 1] : total;
    for (int64_t start = 0; start < total; start += row)
        for (int64_t at = 0; at < row; at += most)
            bits |= fill(state, start + at, row - at < most ? row - at : most, NULL);
    return bits;
}

/* Puts the axes into the order of falling strides of `order` (ties: as they are), in dims and in every
 * array of strides, and in `order` itself. */
void jc_sort_axes(int64_t nd, int64_t *order, int64_t *dims, int64_t nop, int64_t **strides)
{
    for (int64_t i = 1; i < nd; i++)
        for (int64_t k = i; k > 0 && order[k] > order[k - 1]; k--) {
#define SWAP(a) { int64_t t = (a)[k]; (a)[k] = (a)[k - 1]; (a)[k - 1] = t; }
            SWAP(order)
            SWAP(dims)
            for (int64_t op = 0; op < nop; op++)
                SWAP(strides[op])
#undef SWAP
        }
}

/* Joins axes that lie one behind the other in every operand, so that runs are long.  The number of axes stays:
 * axes of length one, without strides, take the places that become free. */
void jc_join_axes(int64_t nd, int64_t *dims, int64_t nop, int64_t **strides)
{
    int64_t last = nd - 1;                      /* where the axis stands that others may join */
    for (int64_t k = nd - 2; k >= 0; k--) {
        const int64_t length = dims[k];
        bool joins = dims[last] != 1;
        for (int64_t op = 0; op < nop && joins; op++)
            joins = strides[op][k] == strides[op][last] * dims[last];
        if (length != 1 && !joins) {
            if (dims[last] != 1)
                last--;
            if (last == k)
                continue;
        }
        for (int64_t op = 0; op < nop; op++) {
            if (length != 1 && !joins)
                strides[op][last] = strides[op][k];
            strides[op][k] = 0;
        }
        if (length != 1)
            dims[last] = joins ? dims[last] * length : length;
        dims[k] = 1;
    }
}

/* ---- reductions ----------------------------------------------------------------------------------- */

#define PAIR_BLOCK 128   /* NumPy's: elements that are summed with eight accumulators */

typedef struct {
    jc_fill fill;
    void *state;
    int64_t nred;
    const jc_reducer *const *red;
    int64_t chunk;              /* elements that are summed pairwise, at most */
    char **acc;                 /* where the results of this inner loop go, one a reduction */
    int32_t bits;
} walk;

/* NumPy's pairwise sum (numpy/_core/src/umath: order of additions, found by experiment): partial sums
 * into part[r].  Reducers that are not pairwise take the elements in order into acc. */
static void pairwise(walk *w, int64_t off, int64_t n, jc_part *part)
{
    if (n <= PAIR_BLOCK) {
        const char *elems[JC_REDUCTIONS];
        w->bits |= w->fill(w->state, off, n, elems);
        for (int64_t r = 0; r < w->nred; r++)
            if (w->red[r]->base)
                w->red[r]->base(&part[r], elems[r], n);
            else
                w->red[r]->fold(w->acc[r], elems[r], n);
        return;
    }
    jc_part right[JC_REDUCTIONS];
    int64_t half = n / 2;
    half -= half % 8;
    pairwise(w, off, half, part);
    pairwise(w, off + half, n - half, right);
    for (int64_t r = 0; r < w->nred; r++)
        if (w->red[r]->base)
            w->red[r]->fold((char *)&part[r], (const char *)&right[r], 1);
}

static void inner_reduced(walk *w, int64_t off, int64_t n, bool pair)
{
    if (n == 0)
        return;
    if (pair) {
        for (int64_t at = 0; at < n; at += w->chunk) {
            jc_part part[JC_REDUCTIONS];
            pairwise(w, off + at, n - at < w->chunk ? n - at : w->chunk, part);
            for (int64_t r = 0; r < w->nred; r++)
                if (w->red[r]->base)
                    w->red[r]->fold(w->acc[r], (const char *)&part[r], 1);
        }
        return;
    }
    for (int64_t at = 0; at < n; at += JC_BLOCK) {
        const char *elems[JC_REDUCTIONS];
        int64_t m = n - at < JC_BLOCK ? n - at : JC_BLOCK;
        w->bits |= w->fill(w->state, off + at, m, elems);
        for (int64_t r = 0; r < w->nred; r++)
            w->red[r]->fold(w->acc[r], elems[r], m);
    }
}

static void inner_kept(walk *w, int64_t off, int64_t n)
{
    for (int64_t at = 0; at < n; at += JC_BLOCK) {
        const char *elems[JC_REDUCTIONS];
        int64_t m = n - at < JC_BLOCK ? n - at : JC_BLOCK;
        w->bits |= w->fill(w->state, off + at, m, elems);
        for (int64_t r = 0; r < w->nred; r++)
            w->red[r]->rows(w->acc[r] + at * w->red[r]->itemsize, elems[r], m);
    }
}

/* Reduces along the axes in `mask` (bit k: axis k).  out[r] holds the start values of the kept elements,
 * in the order of the loop, and receives the results.  Order as NumPy's iterator has it: axes of length
 * one drop out, neighbours of one kind join, the last one is the inner loop.  chunk: the sums of so many
 * elements are added one by one (NumPy's buffers, where it converts the elements); 0 for no such bound. */
int32_t jc_reduce(jc_fill fill, void *state, int64_t nred, const jc_reducer *const *red, char *const *out,
                  int64_t nd, const int64_t *dims, int64_t mask, int64_t chunk)
{
    int64_t size[JC_BLOCK_DIMS], n = 0;
    bool reduced[JC_BLOCK_DIMS], pair = false;
    for (int64_t k = 0; k < nd; k++) {
        const bool kind = mask >> k & 1;
        if (dims[k] == 0)
            return 0;
        if (dims[k] == 1)
            continue;
        if (n && reduced[n - 1] == kind)
            size[n - 1] *= dims[k];
        else {
            size[n] = dims[k];
            reduced[n++] = kind;
        }
    }
    if (n == 0) {
        size[0] = 1;
        reduced[n++] = true;
    }
    char *acc[JC_REDUCTIONS];
    walk w = {fill, state, nred, red, chunk > 0 ? chunk : INT64_MAX, acc, 0};
    for (int64_t r = 0; r < nred; r++)
        pair |= red[r]->base != NULL;
    int64_t step[JC_BLOCK_DIMS], index[JC_BLOCK_DIMS] = {0}, kept = 1, outer = 1, at = 0;
    for (int64_t k = n - 1; k >= 0; k--) {
        step[k] = reduced[k] ? 0 : kept;
        if (!reduced[k])
            kept *= size[k];
        if (k < n - 1)
            outer *= size[k];
    }
    for (int64_t row = 0; row < outer; row++) {
        for (int64_t r = 0; r < nred; r++)
            acc[r] = out[r] + at * red[r]->itemsize;
        if (reduced[n - 1])
            inner_reduced(&w, row * size[n - 1], size[n - 1], pair);
        else
            inner_kept(&w, row * size[n - 1], size[n - 1]);
        for (int64_t k = n - 2; k >= 0; k--) {
            at += step[k];
            if (++index[k] < size[k])
                break;
            at -= size[k] * step[k];
            index[k] = 0;
        }
    }
    return w.bits;
}

/* Fills `n` elements at `to` with the one at `from`. */
void jc_fill_items(char *to, const char *from, int64_t itemsize, int64_t n)
{
    copy_run(to, from, 0, itemsize, n);
}

/* Is underflow among the kinds that errstate asks to be told of? */
int32_t jc_underflow_asked(void)
{
    jc_reports_clear();
    feraiseexcept(FE_UNDERFLOW);
    const int asked = jc_reports_test();
    jc_reports_clear();
    return asked != 0;
}

/* Does NumPy report something for a scalar operation whose result is not an ordinary number?  result, x, y: exact as
 * doubles (y is 0 where there is one operand).  least: the smallest normal number of the dtype if a tiny result was
 * rounded, else 0; exact: 1 if a zero x makes the result exact, 2 if a zero y does. */
int32_t jc_odd_result(double result, double x, double y, double least, int32_t exact)
{
    const int nan_in = isnan(x) || isnan(y);
    if (isnan(result))
        return !nan_in;
    if (isinf(result))
        return !(nan_in || isinf(x) || isinf(y));
    if (!(fabs(result) < least) || ((exact & 1) && x == 0.0) || ((exact & 2) && y == 0.0))
        return 0;
    return jc_underflow_asked();
}

/* Is one of n floats (itemsize 4 or 8) inf or NaN? */
int32_t jc_nonfinite(const char *at, int64_t itemsize, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double x = itemsize == 4 ? (double)((const float *)at)[i] : ((const double *)at)[i];
        if (!(x - x == 0.0))
            return 1;
    }
    return 0;
}

/* May adding the elements of reduction r, in whatever order, overflow or meet inf - inf?  (NaN and inf of one sign
 * among them do neither.) */
int32_t jc_sum_reports(jc_fill fill, void *state, int64_t r, int64_t itemsize, int64_t total)
{
    double sum = 0.0;
    int signs = 0;
    for (int64_t at = 0; at < total; at += JC_BLOCK) {
        const char *elems[JC_REDUCTIONS];
        const int64_t n = total - at < JC_BLOCK ? total - at : JC_BLOCK;
        fill(state, at, n, elems);
        for (int64_t i = 0; i < n; i++) {
            const double x = itemsize == 4 ? (double)((const float *)elems[r])[i] : ((const double *)elems[r])[i];
            if (x - x == 0.0)
                sum += x < 0.0 ? -x : x;
            else if (x == x)
                signs |= x < 0.0 ? 1 : 2;
        }
    }
    return signs == 3 || !(sum < (itemsize == 4 ? 3.0e38 : 1.7e308));
}

/* Is a result of minimum or maximum zero, while zeros of both signs are among the elements of reduction r? */
int32_t jc_mixed_zeros(jc_fill fill, void *state, int64_t r, int64_t itemsize, const char *out, int64_t n_out,
                       int64_t total)
{
    bool zero = false;
    for (int64_t i = 0; i < n_out && !zero; i++)
        zero = itemsize == 4 ? ((const float *)out)[i] == 0.0f : ((const double *)out)[i] == 0.0;
    if (!zero)
        return 0;
    int seen = 0;
    for (int64_t at = 0; at < total; at += JC_BLOCK) {
        const char *elems[JC_REDUCTIONS];
        const int64_t n = total - at < JC_BLOCK ? total - at : JC_BLOCK;
        fill(state, at, n, elems);
        if (itemsize == 4)
            for (int64_t i = 0; i < n; i++) {
                const uint32_t bits = ((const uint32_t *)elems[r])[i];
                seen |= bits == 0 ? 1 : bits == UINT32_C(1) << 31 ? 2 : 0;
            }
        else
            for (int64_t i = 0; i < n; i++) {
                const uint64_t bits = ((const uint64_t *)elems[r])[i];
                seen |= bits == 0 ? 1 : bits == UINT64_C(1) << 63 ? 2 : 0;
            }
    }
    return seen == 3;
}
