/* Floating-point reports: the hardware's sticky flags against the kinds that NumPy's errstate asks for.
 *
 * The flags are a filter: none set means that NumPy would report nothing.  Set ones count only if their kind is not
 * 'ignore' in the current context.  Bits: 1 divide, 2 overflow, 4 underflow, 8 invalid.  errstate objects are
 * immutable capsules in a context variable, so a kind mask belongs to a capsule for as long as it lives. */
#include "npyapi.h"

#include <fenv.h>
#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#define JC_SSE 1
#endif

enum { DIVIDE = 1, OVERFLOW_ = 2, UNDERFLOW_ = 4, INVALID = 8 };

/* What is asked of an errstate: the kinds that are not 'ignore', and elements in a buffer of NumPy's iterator
 * (np.setbufsize). */
typedef struct {
    int mask;
    long buffer;
} settings;

static PyObject *errstate_var;      /* numpy._core.umath._extobj_contextvar */
static PyObject *errstate_read;     /* () -> {'divide': 'warn', ...}, a C function */
static PyObject *default_state;     /* the capsule of a context in which nothing was set */
static PyObject *known_state;       /* the last other capsule asked about */
static settings default_settings, known_settings;

#ifdef JC_SSE
/* Flags of the SSE unit and of the x87 unit (bit positions agree): invalid 1, zero divide 4, overflow 8,
 * underflow 16. */
static inline unsigned flags_raw(void)
{
    unsigned raw = _mm_getcsr();
#if defined(__GNUC__)
    unsigned short x87;
    __asm__ volatile("fnstsw %0" : "=am"(x87));
    raw |= x87;
#endif
    return raw & 0x1d;
}
#endif

/* The set flags as report bits. */
static int flags_now(void)
{
#ifdef JC_SSE
    unsigned raw = flags_raw();
    return (raw & 0x04 ? DIVIDE : 0) | (raw & 0x08 ? OVERFLOW_ : 0) | (raw & 0x10 ? UNDERFLOW_ : 0)
        | (raw & 0x01 ? INVALID : 0);
#else
    int raw = fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID);
    return (raw & FE_DIVBYZERO ? DIVIDE : 0) | (raw & FE_OVERFLOW ? OVERFLOW_ : 0)
        | (raw & FE_UNDERFLOW ? UNDERFLOW_ : 0) | (raw & FE_INVALID ? INVALID : 0);
#endif
}

/* Clears the sticky flags; cheap when none is set. */
void jc_reports_clear(void)
{
#if defined(JC_SSE) && defined(__GNUC__)
    unsigned sse = _mm_getcsr();
    if (sse & 0x1d) {
        _mm_setcsr(sse & ~0x1du);
    }
    if (JC_UNLIKELY((flags_raw() & 0x1d) != 0)) {   /* the x87 unit's: C code on long doubles */
        __asm__ volatile("fnclex");
    }
#else
    feclearexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID);
#endif
}

/* The set flags, for jc_reports_again. */
int jc_reports_seen(void)
{
    return flags_now();
}

/* Sets flags that code which clears them as it likes, such as some of NumPy's loops, may have taken away. */
void jc_reports_again(int seen)
{
    if (JC_UNLIKELY(seen != 0)) {
        feraiseexcept((seen & DIVIDE ? FE_DIVBYZERO : 0) | (seen & OVERFLOW_ ? FE_OVERFLOW : 0)
                      | (seen & UNDERFLOW_ ? FE_UNDERFLOW : 0) | (seen & INVALID ? FE_INVALID : 0));
    }
}

/* The settings in force; -1 with an exception set. */
static int read_settings(settings *found)
{
    static const struct { const char *name; int bit; } kinds[] = {
        {"divide", DIVIDE}, {"over", OVERFLOW_}, {"under", UNDERFLOW_}, {"invalid", INVALID},
    };
    PyObject *state = PyObject_CallNoArgs(errstate_read);
    int mask = 0;
    for (int i = 0; state != NULL && i < 4; i++) {
        PyObject *kind = PyDict_Check(state) ? PyDict_GetItemString(state, kinds[i].name) : NULL;
        if (kind == NULL || !PyUnicode_Check(kind)) {
            PyErr_SetString(PyExc_TypeError, "numpy.geterr gives something unknown");
            Py_CLEAR(state);
            break;
        }
        mask |= PyUnicode_CompareWithASCIIString(kind, "ignore") != 0 ? kinds[i].bit : 0;
    }
    PyObject *items = state != NULL ? PyDict_GetItemString(state, "bufsize") : NULL;
    long buffer = items != NULL && PyLong_Check(items) ? PyLong_AsLong(items) : -1;
    Py_XDECREF(state);
    if (buffer < 0) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "numpy.getbufsize gives something unknown");
        }
        return -1;
    }
    *found = (settings){mask, buffer};
    return 0;
}

/* The settings in force; NULL with an exception set. */
static const settings *in_force(void)
{
    PyObject *state;
    if (PyContextVar_Get(errstate_var, NULL, &state) < 0 || state == NULL) {
        return NULL;
    }
    if (state == default_state) {
        Py_DECREF(state);
        return &default_settings;
    }
    if (state != known_state) {
        settings now;
        if (read_settings(&now) < 0) {
            Py_DECREF(state);
            return NULL;
        }
        known_settings = now;
        Py_XSETREF(known_state, Py_NewRef(state));
    }
    Py_DECREF(state);
    return &known_settings;
}

/* No exception is set when native code runs. */
static int test_flags(int flags)
{
    const settings *now = in_force();
    if (now == NULL) {          /* cannot tell: the interpreter will */
        PyErr_Clear();
        return flags;
    }
    return flags & now->mask;
}

/* Elements in a buffer of NumPy's iterator; 0 where that cannot be told. */
int64_t jc_buffer_items(void)
{
    const settings *now = in_force();
    if (now == NULL) {
        PyErr_Clear();
        return 0;
    }
    return now->buffer;
}

/* After a kernel: 0 when NumPy would have nothing to report, otherwise the bits of the set flags that count. */
int jc_reports_test(void)
{
    int flags = flags_now();
    return JC_LIKELY(flags == 0) ? 0 : test_flags(flags);
}

/* After a loop that is not NumPy's own: whether it has set an exception, which is dropped: NumPy will run the loop again
 * and raise it. */
int jc_raised(void)
{
    if (JC_LIKELY(PyErr_Occurred() == NULL)) {
        return 0;
    }
    PyErr_Clear();
    return 1;
}

int jc_reports_symbols(PyObject *dict)
{
    static const jc_symbol table[] = {
        {"jc_raised", (void *)jc_raised}, {"jc_buffer_items", (void *)jc_buffer_items},
        {"jc_reports_clear", (void *)jc_reports_clear}, {"jc_reports_test", (void *)jc_reports_test},
        {"jc_reports_seen", (void *)jc_reports_seen}, {"jc_reports_again", (void *)jc_reports_again}, {NULL, NULL},
    };
    return jc_symbols_put(dict, table);
}

int jc_reports_init(PyObject *module)
{
    PyObject *umath = PyImport_ImportModule("numpy._core.umath");
    PyObject *fresh = PyContext_New();
    int done = -1;
    if (umath != NULL && fresh != NULL) {
        Py_XSETREF(errstate_var, PyObject_GetAttrString(umath, "_extobj_contextvar"));
        Py_XSETREF(errstate_read, PyObject_GetAttrString(umath, "_get_extobj_dict"));
        if (errstate_var != NULL && errstate_read != NULL && PyContext_Enter(fresh) == 0) {
            done = PyContextVar_Get(errstate_var, NULL, &default_state);
            done = done < 0 || default_state == NULL ? -1 : read_settings(&default_settings);
            done = PyContext_Exit(fresh) < 0 ? -1 : done;
        }
    }
    Py_XDECREF(umath);
    Py_XDECREF(fresh);
    return done;
}
