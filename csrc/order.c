/* Memory order of results. */
#include "npyapi.h"

static int64_t magnitude(int64_t v)
{
    return v < 0 ? -v : v;
}

/* Should axis `a` lie inside (be faster than) axis `b`, though it comes before it in C order?  1 yes, 0 no, -1 the
 * operands do not say: each operand with two nonzero strides has a say, and one that wants C order wins. */
static int inside(int a, int b, int nop, const int64_t *const *strides, const int64_t *dims)
{
    int verdict = -1;
    if (dims[a] == 1 || dims[b] == 1) {
        return verdict;     /* an axis of one element has no stride */
    }
    for (int k = 0; k < nop; k++) {
        int64_t sa = magnitude(strides[k][a]), sb = magnitude(strides[k][b]);
        if (sa == 0 || sb == 0) {
            continue;
        }
        if (sb <= sa) {
            return 0;
        }
        verdict = 1;
    }
    return verdict;
}

/* Axes from the fastest to the slowest, by stable insertion from C order; an axis goes past the axes about which
 * nothing is said, if it then finds one that it belongs inside of. */
static void sort_axes(int nd, int nop, const int64_t *const *strides, const int64_t *dims, int *axes)
{
    for (int i = 0; i < nd; i++) {
        int axis = nd - 1 - i, place = i;
        for (int j = i - 1; j >= 0; j--) {
            int verdict = inside(axis, axes[j], nop, strides, dims);
            if (verdict == 0) {
                break;
            }
            if (verdict == 1) {
                place = j;
            }
        }
        memmove(&axes[place + 1], &axes[place], (size_t)(i - place) * sizeof(int));
        axes[place] = axis;
    }
}

/* The strides that NumPy gives to a result that it allocates for an elementwise operation in order 'K' (its nditer's
 * axis order, NEP 10 and the nditer documentation).  strides[k]: those of operand k over the result's axes, 0 where
 * it is broadcast; dims: the result's lengths.  Needs out_strides to hold nd entries. */
void jc_korder(int nd, int nop, const int64_t *const *strides, const int64_t *dims, int64_t itemsize,
               int64_t *out_strides)
{
    int axes[JC_MAXDIMS];
    int64_t stride = itemsize;
    sort_axes(nd, nop, strides, dims, axes);
    for (int i = 0; i < nd; i++) {
        out_strides[axes[i]] = stride;
        stride *= dims[axes[i]];
    }
}

/* The strides that NumPy gives to a copy in order 'K' of an array with these strides: the axes by falling size of
 * their strides, in C order where they are equal.  Unlike for an elementwise operation a stride of 0 counts, as the
 * smallest one.  Needs out_strides to hold nd entries. */
void jc_copy_order(int nd, const int64_t *strides, const int64_t *dims, int64_t itemsize, int64_t *out_strides)
{
    int axes[JC_MAXDIMS];
    int64_t stride = itemsize;
    for (int i = 0; i < nd; i++) {
        int at = i;
        for (; at > 0 && magnitude(strides[axes[at - 1]]) < magnitude(strides[i]); at--) {
            axes[at] = axes[at - 1];
        }
        axes[at] = i;
    }
    for (int i = nd - 1; i >= 0; i--) {
        out_strides[axes[i]] = stride;
        stride *= dims[axes[i]];
    }
}

int jc_order_symbols(PyObject *dict)
{
    static const jc_symbol table[] = {
        {"jc_korder", (void *)jc_korder}, {"jc_copy_order", (void *)jc_copy_order}, {NULL, NULL},
    };
    return jc_symbols_put(dict, table);
}
