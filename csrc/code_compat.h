/* CPython's code objects and functions as this extension uses them.
 *
 * Part of frame_compat.h, which includes it and says for which versions it was reviewed.
 */
#ifndef JC_CODE_COMPAT_H
#define JC_CODE_COMPAT_H

/* ---- code objects -------------------------------------------------------------------------------- */
/* The slot of co_extra number `index`, NULL when the code has no such slot yet.  Read directly: the public call
 * costs more than the rest of a hit. */
static inline void *jc_code_extra(PyCodeObject *code, Py_ssize_t index)
{
    typedef struct { Py_ssize_t size; void *extras[1]; } extras_t;
    const extras_t *extra = (const extras_t *)code->co_extra;
    return JC_LIKELY(extra != NULL && extra->size > index) ? extra->extras[index] : NULL;
}

static inline int jc_code_set_extra(PyCodeObject *code, Py_ssize_t index, void *value)
{
#if JC_V311
    return _PyCode_SetExtra((PyObject *)code, index, value);
#else
    return PyUnstable_Code_SetExtra((PyObject *)code, index, value);
#endif
}

static inline Py_ssize_t jc_request_extra(freefunc release)
{
#if JC_V311
    return _PyEval_RequestCodeExtraIndex(release);
#else
    return PyUnstable_Eval_RequestCodeExtraIndex(release);
#endif
}

static inline int jc_code_nslots(const PyCodeObject *code)
{
    return code->co_nlocalsplus;
}

static inline int jc_code_nfree(const PyCodeObject *code)
{
    return code->co_nfreevars;
}

static inline PyObject *jc_code_name(const PyCodeObject *code, int slot)    /* [borrowed] */
{
    return PyTuple_GET_ITEM(code->co_localsplusnames, slot);
}

/* How many units COPY_FREE_VARS, the first instruction of code with free variables, takes. */
static inline int jc_code_free_units(const PyCodeObject *code)
{
    return code->co_nfreevars == 0 ? 0 : code->co_nfreevars > 255 ? 2 : 1;
}

static inline Py_ssize_t jc_code_nunits(const PyCodeObject *code)
{
    return Py_SIZE(code);
}

/* The unit of the last instruction that jumps back, -1 for none, -2 with an exception set. */
static inline int jc_code_last_back(PyCodeObject *code)
{
    PyObject *bytes = PyCode_GetCode(code);
    if (bytes == NULL) {
        return -2;
    }
    const unsigned char *p = (const unsigned char *)PyBytes_AS_STRING(bytes);
    int found = -1;
    for (int i = 0, n = (int)(PyBytes_GET_SIZE(bytes) / 2); i < n; i++) {
        switch (p[2 * i]) {         /* caches are zero there */
        case JUMP_BACKWARD:
        case JUMP_BACKWARD_NO_INTERRUPT:
#if JC_V311
        case POP_JUMP_BACKWARD_IF_TRUE:
        case POP_JUMP_BACKWARD_IF_FALSE:
        case POP_JUMP_BACKWARD_IF_NONE:
        case POP_JUMP_BACKWARD_IF_NOT_NONE:
#endif
            found = i;
            break;
        default:
            break;
        }
    }
    Py_DECREF(bytes);
    return found;
}

/* Whether the instruction at `unit` has start and stop of a slice on the stack. */
static inline bool jc_code_slices(PyCodeObject *code, int unit)
{
#if JC_V311
    return false;
#else
    int op = _PyCode_CODE(code)[unit].op.code;
    return op == BINARY_SLICE || op == STORE_SLICE;
#endif
}

/* Whether the instruction at `unit` returns the top of the stack (and no constant). */
static inline bool jc_code_returns_top(PyCodeObject *code, int unit)
{
#if JC_V311
    return _Py_OPCODE(_PyCode_CODE(code)[unit]) == RETURN_VALUE;
#else
    return _PyCode_CODE(code)[unit].op.code == RETURN_VALUE;
#endif
}

/* The entry of the exception table that covers `unit`: where its handler starts, -1 for none.  (The table is a
 * run of entries start, length, target, depth * 2 + lasti, each a big-endian number in groups of six bits;
 * bit 6 says that another group follows, bit 7 marks the start of an entry.) */
static inline int jc_code_handler(PyCodeObject *code, int unit)
{
    const unsigned char *p = (const unsigned char *)PyBytes_AS_STRING(code->co_exceptiontable);
    const unsigned char *end = p + PyBytes_GET_SIZE(code->co_exceptiontable);
    while (p < end) {
        int field[4];
        for (int i = 0; i < 4; i++) {
            int value = *p & 63;
            while (*p++ & 64) {
                value = (value << 6) | (*p & 63);
            }
            field[i] = value;
        }
        if (unit < field[0]) {
            return -1;
        }
        if (unit < field[0] + field[1]) {
            return field[2];
        }
    }
    return -1;
}

/* ---- functions ----------------------------------------------------------------------------------- */
/* What a function has, all [borrowed].  CPython's own macros assert that its type is exactly `function`, which that of a
 * marked one need not be. */
static inline PyCodeObject *jc_function_code(PyObject *func)
{
    return (PyCodeObject *)((PyFunctionObject *)func)->func_code;
}
static inline PyObject *jc_function_globals(PyObject *func)
{
    return ((PyFunctionObject *)func)->func_globals;
}
static inline PyObject *jc_function_defaults(PyObject *func)
{
    return ((PyFunctionObject *)func)->func_defaults;
}
static inline PyObject *jc_function_kwdefaults(PyObject *func)
{
    return ((PyFunctionObject *)func)->func_kwdefaults;
}
static inline PyObject *jc_function_closure(PyObject *func)
{
    return ((PyFunctionObject *)func)->func_closure;
}

/* What MAKE_FUNCTION makes.  Code and globals [borrowed]; the rest [borrowed] and NULL for none, of the types and the
 * lengths that the code asks for.  [new]; NULL with an exception set. */
static inline PyObject *jc_function_make(PyObject *code, PyObject *globals, PyObject *defaults, PyObject *kwdefaults,
                                         PyObject *closure, PyObject *annotations)
{
    PyFunctionObject *func = (PyFunctionObject *)PyFunction_New(code, globals);
    if (func != NULL) {
        func->func_defaults = Py_XNewRef(defaults);
        func->func_kwdefaults = Py_XNewRef(kwdefaults);
        func->func_closure = Py_XNewRef(closure);
        func->func_annotations = Py_XNewRef(annotations);
#if !JC_V311
        func->func_version = ((PyCodeObject *)code)->co_version;
#endif
    }
    return (PyObject *)func;
}

static inline vectorcallfunc jc_function_entry(PyObject *func)
{
    return ((PyFunctionObject *)func)->vectorcall;
}

/* Sets where calls of func enter.  Calls that the interpreter has specialised are told by the version 0. */
static inline void jc_function_set_entry(PyObject *func, vectorcallfunc entry)
{
#if JC_V311
    ((PyFunctionObject *)func)->vectorcall = entry;
    ((PyFunctionObject *)func)->func_version = 0;
#else
    PyFunction_SetVectorcall((PyFunctionObject *)func, entry);
#endif
}

#endif
