/* Operations on whole lists of native code: slices, joins, searches, sums, sorting, arrays.
 *
 * Native code calls these for what it does not do inline.  Whoever gets a refusal (NULL or a negative number) has
 * changed nothing and hands over to the interpreter. */
#include "lists.h"

#include <math.h>

static jc_tlist *like(const jc_tlist *l, int64_t n)
{
    return jc_tlist_new(l->typenum, l->weak, l->size, n);
}

/* ---- new lists ------------------------------------------------------------------------------------- */

/* A list [new] of n times the item at `value`; none for a negative n. */
static jc_tlist *jc_tlist_filled(int typenum, int weak, int64_t size, int64_t n, const void *value)
{
    jc_tlist *l = jc_tlist_new(typenum, weak, size, n);
    if (l == NULL || n <= 0) {
        return l;
    }
    if (size == 8) {
        int64_t bits, *data = (int64_t *)l->data;
        memcpy(&bits, value, 8);
        for (int64_t k = 0; k < n; k++) {
            data[k] = bits;
        }
    }
    else {
        for (int64_t k = 0; k < n; k++) {
            memcpy(l->data + k * size, value, (size_t)size);
        }
    }
    l->n = n;
    jc_tlist_hold(l, 0, n);
    return l;
}

/* The ints start, start + step, ... [new], n of them; none of them overflows. */
static jc_tlist *jc_tlist_range(int64_t start, int64_t step, int64_t n)
{
    jc_tlist *l = jc_tlist_new(NPY_LONG, 1, 8, n);
    if (l != NULL && n > 0) {
        for (int64_t k = 0; k < n; k++) {
            ((int64_t *)l->data)[k] = start + k * step;
        }
        l->n = n;
    }
    return l;
}

/* l[start:stop:step] [new]; the limits of 64 bits stand for what was left out. */
static jc_tlist *jc_tlist_slice(const jc_tlist *l, int64_t start, int64_t stop, int64_t step)
{
    Py_ssize_t first = (Py_ssize_t)start, last = (Py_ssize_t)stop;
    int64_t n = PySlice_AdjustIndices((Py_ssize_t)l->n, &first, &last, (Py_ssize_t)step);
    jc_tlist *made = like(l, n);
    if (made == NULL || n <= 0) {
        return made;
    }
    if (step == 1) {
        memcpy(made->data, l->data + first * l->size, (size_t)(n * l->size));
    }
    else {
        for (int64_t k = 0; k < n; k++) {
            memcpy(made->data + k * l->size, l->data + (first + k * step) * l->size, (size_t)l->size);
        }
    }
    made->n = n;
    jc_tlist_hold(made, 0, n);
    return made;
}

/* l * times [new]. */
static jc_tlist *jc_tlist_repeat(const jc_tlist *l, int64_t times)
{
    int64_t n;
    if (times < 0) {
        times = 0;
    }
    if (__builtin_mul_overflow(l->n, times, &n)) {
        return NULL;
    }
    jc_tlist *made = like(l, n);
    if (made == NULL || n == 0) {
        return made;
    }
    if (l->n == 1) {
        for (int64_t k = 0; k < n; k++) {
            memcpy(made->data + k * l->size, l->data, (size_t)l->size);
        }
    }
    else {
        for (int64_t k = 0; k < times; k++) {
            memcpy(made->data + k * l->n * l->size, l->data, (size_t)(l->n * l->size));
        }
    }
    made->n = n;
    jc_tlist_hold(made, 0, n);
    return made;
}

/* a += b, which may be one list: 0, or -1. */
static int32_t jc_tlist_extend(jc_tlist *a, const jc_tlist *b)
{
    int64_t n = b->n;
    if (n == 0) {
        return 0;
    }
    if (jc_tlist_room(a, n) < 0) {
        return -1;
    }
    memcpy(a->data + a->n * a->size, b->data, (size_t)(n * a->size));
    a->n += n;
    jc_tlist_hold(a, a->n - n, n);
    return 0;
}

/* a + b [new]. */
static jc_tlist *jc_tlist_concat(const jc_tlist *a, const jc_tlist *b)
{
    jc_tlist *made = like(a, a->n > INT64_MAX / 4 || b->n > INT64_MAX / 4 ? INT64_MAX : a->n + b->n);
    if (made != NULL && (jc_tlist_extend(made, a) < 0 || jc_tlist_extend(made, b) < 0)) {
        Py_DECREF(made);
        return NULL;
    }
    return made;
}

/* ---- changes --------------------------------------------------------------------------------------- */

/* l.insert(at, item): 0, or -1. */
static int32_t jc_tlist_insert(jc_tlist *l, int64_t at, const void *item)
{
    if (jc_tlist_room(l, 1) < 0) {
        return -1;
    }
    at = at < 0 ? (at + l->n < 0 ? 0 : at + l->n) : at > l->n ? l->n : at;
    char *place = l->data + at * l->size;
    memmove(place + l->size, place, (size_t)((l->n - at) * l->size));
    memcpy(place, item, (size_t)l->size);
    l->n++;
    jc_tlist_hold(l, at, 1);
    return 0;
}

/* del l[start:stop]; the limits of 64 bits stand for what was left out. */
static void jc_tlist_delete(jc_tlist *l, int64_t start, int64_t stop)
{
    Py_ssize_t first = (Py_ssize_t)start, last = (Py_ssize_t)stop;
    int64_t n = PySlice_AdjustIndices((Py_ssize_t)l->n, &first, &last, 1);
    if (n > 0) {
        jc_tlist_drop(l, first, n);
        memmove(l->data + first * l->size, l->data + (first + n) * l->size, (size_t)((l->n - first - n) * l->size));
        l->n -= n;
    }
}

static void jc_tlist_reverse(jc_tlist *l)
{
    char item[16];
    size_t size = (size_t)l->size;
    if (l->n < 2) {     /* an empty list may have no memory at all */
        return;
    }
    for (char *low = l->data, *high = l->data + (l->n - 1) * l->size; low < high; low += size, high -= size) {
        memcpy(item, low, size);
        memcpy(low, high, size);
        memcpy(high, item, size);
    }
}

/* ---- sorting --------------------------------------------------------------------------------------- */

/* Merges runs of growing width, stably; `room` has n elements.  BEFORE(y, x): y must come before an earlier x. */
#define SORT(NAME, TYPE, BEFORE)                                                                    \
    static void NAME(TYPE *data, TYPE *room, int64_t n)                                             \
    {                                                                                               \
        TYPE *from = data, *to = room;                                                              \
        for (int64_t width = 1; width < n; width *= 2) {                                            \
            for (int64_t start = 0; start < n; start += 2 * width) {                                \
                int64_t middle = start + width < n ? start + width : n;                             \
                int64_t end = middle + width < n ? middle + width : n;                              \
                int64_t x = start, y = middle;                                                      \
                for (int64_t k = start; k < end; k++) {                                             \
                    bool second = x == middle || (y < end && BEFORE(from[y], from[x]));             \
                    to[k] = second ? from[y++] : from[x++];                                         \
                }                                                                                   \
            }                                                                                       \
            TYPE *other = from;                                                                     \
            from = to;                                                                              \
            to = other;                                                                             \
        }                                                                                           \
        if (from != data) {                                                                         \
            memcpy(data, from, (size_t)n * sizeof(TYPE));                                           \
        }                                                                                           \
    }
#define LESS(y, x) ((y) < (x))
#define MORE(y, x) ((y) > (x))
SORT(sort_ints, int64_t, LESS)
SORT(sort_ints_down, int64_t, MORE)
SORT(sort_floats, double, LESS)
SORT(sort_floats_down, double, MORE)

/* l.sort(reverse=reverse) of ints or floats: 0, or -1.  What NaNs do to an order is left to CPython. */
static int32_t jc_tlist_sort(jc_tlist *l, int32_t reverse)
{
    bool floats = l->typenum == NPY_DOUBLE;
    if (!l->weak || (!floats && l->typenum != NPY_LONG)) {
        return -1;
    }
    if (l->n < 2) {
        return 0;
    }
    for (int64_t k = 0; floats && k < l->n; k++) {
        if (isnan(((double *)l->data)[k])) {
            return -1;
        }
    }
    void *room = PyMem_RawMalloc((size_t)l->n * 8);
    if (room == NULL) {
        return -1;
    }
    if (floats) {
        (reverse ? sort_floats_down : sort_floats)((double *)l->data, room, l->n);
    }
    else {
        (reverse ? sort_ints_down : sort_ints)((int64_t *)l->data, room, l->n);
    }
    PyMem_RawFree(room);
    return 0;
}

/* ---- questions ------------------------------------------------------------------------------------- */

/* Is x == y for two items; -2 where Python would ask whether they are one object (NaN). */
static int same(const jc_tlist *l, const char *x, const char *y)
{
    if (l->typenum == NPY_DOUBLE) {
        double a, b;
        memcpy(&a, x, sizeof a);
        memcpy(&b, y, sizeof b);
        return isnan(a) && isnan(b) ? -2 : a == b;
    }
    return memcmp(x, y, (size_t)l->size) == 0;
}

/* May items be compared here: Python's bools, ints and floats. */
static bool comparable(const jc_tlist *l)
{
    return l->weak && (l->typenum == NPY_LONG || l->typenum == NPY_DOUBLE || l->typenum == NPY_BOOL);
}

/* The index of the first item from `from` on that equals the one at `item`; -1: there is none, -2: not decided here. */
static int64_t jc_tlist_find(const jc_tlist *l, const void *item, int64_t from)
{
    if (!comparable(l)) {
        return -2;
    }
    for (int64_t k = from; k < l->n; k++) {
        int found = same(l, l->data + k * l->size, item);
        if (found != 0) {
            return found < 0 ? -2 : k;
        }
    }
    return -1;
}

/* How many items equal the one at `item`; -2: not decided here. */
static int64_t jc_tlist_count(const jc_tlist *l, const void *item)
{
    int64_t count = 0, at = -1;
    while ((at = jc_tlist_find(l, item, at + 1)) >= 0) {
        count++;
    }
    return at == -2 ? -2 : count;
}

/* a == b: 1 or 0; -2: not decided here. */
static int64_t jc_tlist_equal(const jc_tlist *a, const jc_tlist *b)
{
    if (a == b) {
        return 1;
    }
    if (a->n != b->n) {
        return 0;
    }
    for (int64_t k = 0; k < a->n; k++) {
        const char *x = a->data + k * a->size, *y = b->data + k * b->size;
        int64_t found = a->typenum == JC_TLIST_NESTED ? jc_tlist_equal(*(jc_tlist *const *)x, *(jc_tlist *const *)y)
            : comparable(a) ? same(a, x, y) : -2;
        if (found != 1) {
            return found;
        }
    }
    return 1;
}

/* The index of the first smallest item, or of the first largest; -1: there is none, or not decided here.  Every item
 * is compared with the best so far, as Python does, which decides what becomes of NaNs. */
static int64_t jc_tlist_best(const jc_tlist *l, int32_t largest)
{
    if (!comparable(l) || l->n == 0) {
        return -1;
    }
    int64_t best = 0;
#define FIND(TYPE)                                                                          \
    for (const TYPE *data = (const TYPE *)l->data, *at = data + 1; at < data + l->n; at++) {    \
        if (largest ? *at > data[best] : *at < data[best]) {                                \
            best = at - data;                                                               \
        }                                                                                   \
    }
    if (l->typenum == NPY_DOUBLE) {
        FIND(double)
    }
    else if (l->typenum == NPY_LONG) {
        FIND(int64_t)
    }
    else {
        FIND(int8_t)
    }
    return best;
}

/* *total += the ints or bools: 0, or -1 where that leaves 64 bits. */
static int32_t jc_tlist_sum_ints(const jc_tlist *l, int64_t *total)
{
    int64_t sum = *total;
    for (int64_t k = 0; k < l->n; k++) {
        int64_t item = l->typenum == NPY_BOOL ? l->data[k] : ((int64_t *)l->data)[k];
        if (__builtin_add_overflow(sum, item, &sum)) {
            return -1;
        }
    }
    *total = sum;
    return 0;
}

/* *total += the floats, as sum() of the running CPython adds: from 3.12 on with the rounding errors gathered. */
static void jc_tlist_sum_floats(const jc_tlist *l, double *total)
{
    const double *data = (const double *)l->data;
    double sum = *total;
#if PY_VERSION_HEX >= 0x030C0000
    double lost = 0.0;
    for (int64_t k = 0; k < l->n; k++) {
        double x = data[k], next = sum + x;
        lost += fabs(sum) >= fabs(x) ? (sum - next) + x : (x - next) + sum;
        sum = next;
    }
    if (lost != 0.0 && isfinite(lost)) {
        sum += lost;
    }
#else
    for (int64_t k = 0; k < l->n; k++) {
        sum += data[k];
    }
#endif
    *total = sum;
}

/* Whether some item is true (all 0), or every one is (all 1). */
static int32_t jc_tlist_truth(const jc_tlist *l, int32_t all)
{
    for (int64_t k = 0; k < l->n; k++) {
        const char *at = l->data + k * l->size;
        bool truth = l->typenum == NPY_DOUBLE ? *(const double *)at != 0.0
            : l->typenum == NPY_CDOUBLE ? ((const double *)at)[0] != 0.0 || ((const double *)at)[1] != 0.0
            : l->typenum == NPY_LONG ? *(const int64_t *)at != 0 : *at != 0;
        if (truth != all) {
            return !all;
        }
    }
    return all;
}

/* ---- arrays ---------------------------------------------------------------------------------------- */

/* The items of an array with one axis [new]: of its own numbers, or weak as Python's; NULL where one does not fit. */
static jc_tlist *jc_tlist_from_array(PyObject *array, int32_t typenum, int32_t weak, int64_t size)
{
    PyArrayObject *a = (PyArrayObject *)array;
    int64_t n = PyArray_DIM(a, 0), stride = PyArray_STRIDE(a, 0);
    const char *at = PyArray_BYTES(a);
    jc_tlist *l = jc_tlist_new(typenum, weak, size, n);
    if (l == NULL || n == 0) {
        return l;
    }
#define EACH(NAME, FROM, TO)                                                \
    case NAME:                                                              \
        for (int64_t k = 0; k < n; k++, at += stride) {                     \
            ((TO *)l->data)[k] = (TO)*(const FROM *)at;                     \
        }                                                                   \
        break;
    int from = PyArray_TYPE(a);
    if (from == typenum) {
        for (int64_t k = 0; k < n; k++, at += stride) {
            memcpy(l->data + k * size, at, (size_t)size);
        }
    }
    else {
        switch (from) {
        EACH(NPY_BYTE, npy_byte, int64_t)
        EACH(NPY_UBYTE, npy_ubyte, int64_t)
        EACH(NPY_SHORT, npy_short, int64_t)
        EACH(NPY_USHORT, npy_ushort, int64_t)
        EACH(NPY_INT, npy_int, int64_t)
        EACH(NPY_UINT, npy_uint, int64_t)
        EACH(NPY_FLOAT, npy_float, double)
        default:
            Py_DECREF(l);
            return NULL;
        }
    }
    l->n = n;
    return l;
}

/* The array [new] that np.array makes of the list, with `nd` axes (1, or 2 for lists of lists); NULL where it would be
 * another kind of array: empty ones are of float64, rows may differ in length. */
static PyObject *jc_tlist_to_array(const jc_tlist *l, int32_t nd)
{
    const jc_tlist *row = nd == 1 ? l : l->n > 0 ? *(jc_tlist *const *)l->data : NULL;
    if (row == NULL || (row->n == 0 && row->typenum != NPY_DOUBLE)) {
        return NULL;
    }
    int64_t dims[2] = {l->n, row->n};
    for (int64_t k = 0; nd == 2 && k < l->n; k++) {
        if (((jc_tlist *const *)l->data)[k]->n != row->n) {
            return NULL;
        }
    }
    PyObject *made = jc_empty(row->typenum, nd, dims, 0);
    if (made == NULL) {
        return NULL;
    }
    char *to = PyArray_BYTES((PyArrayObject *)made);
    size_t bytes = (size_t)(row->n * row->size);
    for (int64_t k = 0; bytes > 0 && k < (nd == 1 ? 1 : l->n); k++) {
        memcpy(to + (size_t)k * bytes, nd == 1 ? l->data : ((jc_tlist *const *)l->data)[k]->data, bytes);
    }
    return made;
}

int jc_listcalls_symbols(PyObject *dict)
{
    static const jc_symbol table[] = {
        {"jc_tlist_filled", (void *)jc_tlist_filled},
        {"jc_tlist_range", (void *)jc_tlist_range},
        {"jc_tlist_slice", (void *)jc_tlist_slice},
        {"jc_tlist_repeat", (void *)jc_tlist_repeat},
        {"jc_tlist_extend", (void *)jc_tlist_extend},
        {"jc_tlist_concat", (void *)jc_tlist_concat},
        {"jc_tlist_insert", (void *)jc_tlist_insert},
        {"jc_tlist_delete", (void *)jc_tlist_delete},
        {"jc_tlist_reverse", (void *)jc_tlist_reverse},
        {"jc_tlist_sort", (void *)jc_tlist_sort},
        {"jc_tlist_find", (void *)jc_tlist_find},
        {"jc_tlist_count", (void *)jc_tlist_count},
        {"jc_tlist_equal", (void *)jc_tlist_equal},
        {"jc_tlist_best", (void *)jc_tlist_best},
        {"jc_tlist_sum_ints", (void *)jc_tlist_sum_ints},
        {"jc_tlist_sum_floats", (void *)jc_tlist_sum_floats},
        {"jc_tlist_truth", (void *)jc_tlist_truth},
        {"jc_tlist_from_array", (void *)jc_tlist_from_array},
        {"jc_tlist_to_array", (void *)jc_tlist_to_array},
        {NULL, NULL},
    };
    return jc_symbols_put(dict, table);
}
