/* Memory order of results and the outer loops of strided kernels. */
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

/* Runs `inner` over all elements of an iteration space of nd axes for nop operands: operand k starts at ptrs[k]
 * and moves by strides[k][axis] bytes.  The axes are taken in the order of operand order_by_op's strides, its
 * fastest innermost; axes of one element are dropped, axes that continue each other in all operands become one.
 * Order of elements is therefore not C order: only for kernels whose elements are independent.
 * `inner` may change the ptrs array that it is given, but not the strides. */
void jc_drive(jc_inner inner, int nd, const int64_t *dims, int nop, char **ptrs, const int64_t *const *strides,
              int order_by_op, void *extra)
{
    enum { FEW = 8 };
    int axes[JC_MAXDIMS], n = 0;
    int64_t length[JC_MAXDIMS], index[JC_MAXDIMS];
    for (int i = 0; i < nd; i++) {
        if (dims[i] == 0) {
            return;
        }
    }
    sort_axes(nd, 1, &strides[order_by_op], dims, axes);

    int64_t few_steps[(JC_MAXDIMS + 1) * FEW], *steps = few_steps;
    char *few_ptrs[2 * FEW], **at = few_ptrs;
    if (nop > FEW) {
        steps = PyMem_RawMalloc((size_t)nop * (JC_MAXDIMS + 1) * sizeof(int64_t));
        at = PyMem_RawMalloc((size_t)nop * 2 * sizeof(char *));
        if (steps == NULL || at == NULL) {
            Py_FatalError("jitcore: no memory for a loop's pointers");
        }
    }
    for (int i = 0; i < nd; i++) {      /* steps[n * nop + k]: operand k along the n-th kept axis */
        int axis = axes[i], joins = n > 0;
        if (dims[axis] == 1) {
            continue;
        }
        for (int k = 0; joins && k < nop; k++) {
            joins = strides[k][axis] == steps[(n - 1) * nop + k] * length[n - 1];
        }
        if (joins) {
            length[n - 1] *= dims[axis];
            continue;
        }
        for (int k = 0; k < nop; k++) {
            steps[n * nop + k] = strides[k][axis];
        }
        length[n] = dims[axis];
        index[n++] = 0;
    }
    if (n == 0) {                       /* one element */
        memset(steps, 0, (size_t)nop * sizeof(int64_t));
        length[0] = 1;
        n = 1;
    }
    char **given = at + nop;
    memcpy(at, ptrs, (size_t)nop * sizeof(char *));
    for (;;) {
        memcpy(given, at, (size_t)nop * sizeof(char *));
        inner(given, steps, length[0], extra);
        int axis = 1;
        for (; axis < n; axis++) {
            const int64_t *step = &steps[axis * nop];
            if (++index[axis] < length[axis]) {
                for (int k = 0; k < nop; k++) {
                    at[k] += step[k];
                }
                break;
            }
            index[axis] = 0;
            for (int k = 0; k < nop; k++) {
                at[k] -= step[k] * (length[axis] - 1);
            }
        }
        if (axis >= n) {
            break;
        }
    }
    if (nop > FEW) {
        PyMem_RawFree(steps);
        PyMem_RawFree(at);
    }
}

int jc_order_symbols(PyObject *dict)
{
    static const jc_symbol table[] = {
        {"jc_korder", (void *)jc_korder}, {"jc_copy_order", (void *)jc_copy_order}, {"jc_drive", (void *)jc_drive}, {NULL, NULL},
    };
    return jc_symbols_put(dict, table);
}
