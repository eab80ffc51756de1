/* Reducers: one op and dtype each; and the table of addresses of the block loops.
 *
 * Sums of floats follow NumPy's base case exactly: below eight elements one by one from -0.0, else eight
 * running sums, added in a fixed tree, then the rest one by one.  Minimum and maximum let NaN through;
 * which of two zeros they give is not fixed here (native code looks).  Ints wrap. */
#include "jitcore.h"
#include "blocks.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-trapping-math")  /* vectorise; neither flag changes results */
#endif

/* Compiled for wide vectors too where the machine can choose at load time. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE
#endif

#define REDUCER(NAME, T, ACC, E)                                                                        \
    WIDE static void NAME##_fold(char *acc, const char *e, int64_t n)                                        \
    {                                                                                                   \
        T a = *(T *)acc;                                                                                \
        const T *x = (const T *)e;                                                                      \
        for (int64_t i = 0; i < n; i++) {                                                               \
            const T b = x[i];                                                                           \
            a = (T)(E);                                                                                 \
        }                                                                                               \
        *(T *)acc = a;                                                                                  \
    }                                                                                                   \
    WIDE static void NAME##_rows(char *acc, const char *e, int64_t n)                                        \
    {                                                                                                   \
        T *restrict to = (T *)acc;                                                                      \
        const T *restrict x = (const T *)e;                                                             \
        for (int64_t i = 0; i < n; i++) {                                                               \
            const T a = to[i], b = x[i];                                                                \
            to[i] = (T)(E);                                                                             \
        }                                                                                               \
    }

/* Many lanes, so that minimum and maximum do not wait for one another. */
#define LANED(NAME, T, E)                                                                               \
    WIDE static void NAME##_lanes(char *acc, const char *e, int64_t n)                                       \
    {                                                                                                   \
        const T *x = (const T *)e;                                                                      \
        enum { L = 32 };                                                                                 \
        if (n >= 2 * L) {                                                                               \
            T lane[L];                                                                                  \
            for (int k = 0; k < L; k++)                                                                 \
                lane[k] = x[k];                                                                         \
            int64_t i = L;                                                                              \
            for (; i + L <= n; i += L)                                                                  \
                for (int k = 0; k < L; k++) {                                                           \
                    const T a = lane[k], b = x[i + k];                                                  \
                    lane[k] = (E);                                                                      \
                }                                                                                       \
            NAME##_fold(acc, (const char *)lane, L);                                                    \
            x += i;                                                                                     \
            n -= i;                                                                                     \
        }                                                                                               \
        NAME##_fold(acc, (const char *)x, n);                                                           \
    }

#define PAIRWISE(NAME, T, FIELD)                                                                        \
    static void NAME##_base(jc_part *to, const char *e, int64_t n)                                      \
    {                                                                                                   \
        const T *x = (const T *)e;                                                                      \
        if (n < 8) {                                                                                    \
            T sum = (T)-0.0;                                                                            \
            for (int64_t i = 0; i < n; i++)                                                             \
                sum += x[i];                                                                            \
            to->FIELD = sum;                                                                            \
            return;                                                                                     \
        }                                                                                               \
        T r[8];                                                                                         \
        int64_t i = 8;                                                                                  \
        for (int k = 0; k < 8; k++)                                                                     \
            r[k] = x[k];                                                                                \
        for (; i < n - n % 8; i += 8)                                                                   \
            for (int k = 0; k < 8; k++)                                                                 \
                r[k] += x[i + k];                                                                       \
        T sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));                      \
        for (; i < n; i++)                                                                              \
            sum += x[i];                                                                                \
        to->FIELD = sum;                                                                                \
    }

#define INTS(X) X(b, int8_t, uint8_t) X(B, uint8_t, uint8_t) X(h, int16_t, uint16_t) X(H, uint16_t, uint16_t) \
    X(i, int32_t, uint32_t) X(I, uint32_t, uint32_t) X(l, int64_t, uint64_t) X(L, uint64_t, uint64_t)

#define INT_OPS(C, T, U)                                                                                \
    REDUCER(add_##C, T, T, (U)a + (U)b)                                                                 \
    REDUCER(multiply_##C, T, T, (uint64_t)(U)a * (uint64_t)(U)b)                                                  \
    REDUCER(minimum_##C, T, T, a < b ? a : b)                                                           \
    REDUCER(maximum_##C, T, T, a > b ? a : b)                                                           \
    REDUCER(bitwise_and_##C, T, T, a & b)                                                               \
    REDUCER(bitwise_or_##C, T, T, a | b)                                                                \
    REDUCER(bitwise_xor_##C, T, T, a ^ b)
INTS(INT_OPS)

#define FLOAT_OPS(C, T)                                                                                 \
    REDUCER(add_##C, T, T, a + b)                                                                       \
    REDUCER(multiply_##C, T, T, a * b)                                                                  \
    REDUCER(minimum_##C, T, T, (a < b) | (a != a) ? a : b)                                              \
    REDUCER(maximum_##C, T, T, (a > b) | (a != a) ? a : b)                                              \
    LANED(minimum_##C, T, ((a < b) | (a != a) ? a : b))                                                 \
    LANED(maximum_##C, T, ((a > b) | (a != a) ? a : b))
FLOAT_OPS(f, float)
FLOAT_OPS(d, double)
PAIRWISE(add_f, float, f)
PAIRWISE(add_d, double, d)

REDUCER(logical_and, uint8_t, uint8_t, a & b)
REDUCER(logical_or, uint8_t, uint8_t, a | b)

typedef struct { const char *name; const void *address; } entry;

#define R(NAME, T) static const jc_reducer NAME##_reducer = {sizeof(T), NAME##_fold, NAME##_rows, NULL};
#define INT_TABLE(C, T, U) R(add_##C, T) R(multiply_##C, T) R(minimum_##C, T) R(maximum_##C, T) \
    R(bitwise_and_##C, T) R(bitwise_or_##C, T) R(bitwise_xor_##C, T)
INTS(INT_TABLE)
#define FLOAT_TABLE(C, T)                                                                               \
    static const jc_reducer add_##C##_reducer = {sizeof(T), add_##C##_fold, add_##C##_rows, add_##C##_base}; \
    R(multiply_##C, T)                                                                                  \
    static const jc_reducer minimum_##C##_reducer = {sizeof(T), minimum_##C##_lanes, minimum_##C##_rows, NULL}; \
    static const jc_reducer maximum_##C##_reducer = {sizeof(T), maximum_##C##_lanes, maximum_##C##_rows, NULL};
FLOAT_TABLE(f, float)
FLOAT_TABLE(d, double)
R(logical_and, uint8_t)
R(logical_or, uint8_t)

#define ROW(N) {"jc_reducer_" #N, &N##_reducer},
#define INT_ROWS(C, T, U) ROW(add_##C) ROW(multiply_##C) ROW(minimum_##C) ROW(maximum_##C) \
    ROW(bitwise_and_##C) ROW(bitwise_or_##C) ROW(bitwise_xor_##C)
#define FLOAT_ROWS(C) ROW(add_##C) ROW(multiply_##C) ROW(minimum_##C) ROW(maximum_##C)

int jc_blocks_symbols(PyObject *dict)
{
    static const entry table[] = {
        INTS(INT_ROWS)
        FLOAT_ROWS(f)
        FLOAT_ROWS(d)
        {"jc_reducer_logical_and_?", &logical_and_reducer},
        {"jc_reducer_logical_or_?", &logical_or_reducer},
        {"jc_reducer_minimum_?", &logical_and_reducer},
        {"jc_reducer_maximum_?", &logical_or_reducer},
        {"jc_gather", (const void *)(uintptr_t)&jc_gather},
        {"jc_blocks", (const void *)(uintptr_t)&jc_blocks},
        {"jc_sort_axes", (const void *)(uintptr_t)&jc_sort_axes},
        {"jc_join_axes", (const void *)(uintptr_t)&jc_join_axes},
        {"jc_reduce", (const void *)(uintptr_t)&jc_reduce},
        {"jc_underflow_asked", (const void *)(uintptr_t)&jc_underflow_asked},
        {"jc_odd_result", (const void *)(uintptr_t)&jc_odd_result},
        {"jc_nonfinite", (const void *)(uintptr_t)&jc_nonfinite},
        {"jc_sum_reports", (const void *)(uintptr_t)&jc_sum_reports},
        {"jc_mixed_zeros", (const void *)(uintptr_t)&jc_mixed_zeros},
        {"jc_fill_items", (const void *)(uintptr_t)&jc_fill_items},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        PyObject *number = PyLong_FromVoidPtr((void *)(uintptr_t)table[i].address);
        if (number == NULL)
            return -1;
        const int failed = PyDict_SetItemString(dict, table[i].name, number);
        Py_DECREF(number);
        if (failed)
            return -1;
    }
    return 0;
}
