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

/* Strides without gaps over these lengths, for axes from the fastest to the slowest. */
static void pack(int nd, const int *axes, const int64_t *lengths, int64_t itemsize, int64_t *out_strides)
{
    for (int i = 0; i < nd; i++) {
        out_strides[axes[i]] = itemsize;
        itemsize *= lengths[axes[i]];
    }
}

static void pack_contiguous(int nd, int fortran, const int64_t *dims, int64_t itemsize, int64_t *out_strides)
{
    int axes[JC_MAXDIMS];
    for (int i = 0; i < nd; i++) {
        axes[i] = fortran ? i : nd - 1 - i;
    }
    pack(nd, axes, dims, itemsize, out_strides);
}

/* As NumPy's flags say it: strides of axes of one element do not count, and arrays without elements are contiguous. */
static int is_contiguous(int nd, int fortran, const int64_t *strides, const int64_t *dims, int64_t itemsize)
{
    int contiguous = 1;
    for (int i = 0; i < nd; i++) {
        int axis = fortran ? i : nd - 1 - i;
        if (dims[axis] == 0) {
            return 1;
        }
        if (dims[axis] != 1) {
            contiguous = contiguous && strides[axis] == itemsize;
            itemsize *= dims[axis];
        }
    }
    return contiguous;
}

/* The strides that NumPy gives to a result that its nditer allocates in order 'K' (NEP 10 and the nditer
 * documentation).  strides[k]: those of operand k over the axes of the iteration, 0 where it is broadcast; dims: the
 * iteration's lengths; lengths: the result's, 1 instead along the axes of a reduction.  Needs out_strides to hold nd
 * entries. */
void jc_korder(int nd, int nop, const int64_t *const *strides, const int64_t *dims, const int64_t *lengths,
               int64_t itemsize, int64_t *out_strides)
{
    int axes[JC_MAXDIMS];
    sort_axes(nd, nop, strides, dims, axes);
    pack(nd, axes, lengths, itemsize, out_strides);
}

/* The same for a ufunc whose operands all have the result's number of axes and need no conversion: where all are
 * contiguous in one order NumPy asks no nditer, and axes of one element get other strides.  sizes: those of the
 * operands' elements. */
void jc_ufunc_order(int nd, int nop, const int64_t *const *strides, const int64_t *sizes, const int64_t *dims,
                    int64_t itemsize, int64_t *out_strides)
{
    for (int fortran = 0; fortran < 2; fortran++) {
        int k = 0;
        while (k < nop && is_contiguous(nd, fortran, strides[k], dims, sizes[k])) {
            k++;
        }
        if (k == nop) {
            pack_contiguous(nd, fortran, dims, itemsize, out_strides);
            return;
        }
    }
    jc_korder(nd, nop, strides, dims, dims, itemsize, out_strides);
}

/* The strides that NumPy gives to a copy in order 'K' of an array with these strides and elements of `size` bytes: its
 * own order where it is contiguous, else the axes by falling size of their strides, in C order where they are equal.
 * Unlike for an elementwise operation a stride of 0 counts, as the smallest one, and so does that of an axis of one
 * element.  Needs out_strides to hold nd entries. */
void jc_copy_order(int nd, const int64_t *strides, int64_t size, const int64_t *dims, int64_t itemsize,
                   int64_t *out_strides)
{
    int axes[JC_MAXDIMS];
    for (int fortran = 0; fortran < 2; fortran++) {
        if (is_contiguous(nd, fortran, strides, dims, size)) {
            pack_contiguous(nd, fortran, dims, itemsize, out_strides);
            return;
        }
    }
    for (int i = 0; i < nd; i++) {
        int at = i;
        for (; at > 0 && magnitude(strides[axes[nd - at]]) < magnitude(strides[i]); at--) {
            axes[nd - 1 - at] = axes[nd - at];
        }
        axes[nd - 1 - at] = i;
    }
    pack(nd, axes, dims, itemsize, out_strides);
}

int jc_order_symbols(PyObject *dict)
{
    static const jc_symbol table[] = {
        {"jc_korder", (void *)jc_korder},
        {"jc_ufunc_order", (void *)jc_ufunc_order},
        {"jc_copy_order", (void *)jc_copy_order},
        {NULL, NULL},
    };
    return jc_symbols_put(dict, table);
}
