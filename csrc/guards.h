/* A compiled guard program: shared by guards.c (checks) and guards_compile.c (builds). */
#ifndef JC_GUARDS_H
#define JC_GUARDS_H

#include "npyapi.h"

/* The operations, with the fields of jc_guard_op that each uses.  The names in guards_compile.c follow this order. */
enum {
    JC_READ_LOCAL,          /* arg: index into localsplus */
    JC_READ_CONSTANT,       /* ptr */
    JC_READ_GLOBAL,         /* ptr: name; hint in globals, hint2 in builtins */
    JC_READ_MODULE_GLOBAL,  /* base; ptr, hint, hint2 */
    JC_READ_OWN_CLOSURE,    /* arg: index */
    JC_READ_CLOSURE,        /* base, arg */
    JC_READ_CELL,           /* base */
    JC_READ_ATTR,           /* base; ptr: name; hint; ptr2: the type, only compared (NULL: modules only); on_class */
    JC_READ_ITEM,           /* base, arg */
    JC_READ_KEY,            /* base; ptr: key; hint */
    JC_READ_ITERATED,       /* base: an iterator that goes by index */
    JC_TYPE_IS,             /* ptr: a static type */
    JC_TYPE_IS_WEAK,        /* ptr: weak reference to a type */
    JC_IS_OBJECT,           /* ptr */
    JC_IS_OBJECT_WEAK,      /* ptr: weak reference */
    JC_VALUE_IS,            /* ptr */
    JC_LENGTH_IS,           /* arg */
    JC_ABSENT,
    JC_PRESENT,
    JC_TYPE_VERSION,        /* ptr: weak reference to the type; arg: the version; arg2: JC_COLLECTION_FLAGS of it */
    JC_CLASS_VERSION,       /* the same of the object itself, which is a class */
    JC_FUNCTION_IS,         /* ptr: weak reference to the code; ptr2: (defaults, kwdefaults) */
    JC_ALONE,               /* arg: the references that there are if nobody else has the object */
    JC_STRICT_IS,           /* arg: of a zip */
    JC_DIMS_EQUAL,          /* arg: axis; base, arg2: the other */
    JC_LOAD_ARRAY,          /* word; arg: type number; arg2: axes; mask, want: flags; ptr: NumPy's dtype */
    JC_LOAD_OBJECT,         /* word */
    JC_LOAD_INT, JC_LOAD_FLOAT, JC_LOAD_BOOL, JC_LOAD_COMPLEX,     /* word */
    JC_LOAD_RANGE,          /* word; arg: which number of a range iterator; arg2: its step is negative */
    JC_LOAD_POSITION,       /* word; ptr: the type of an iterator that goes by index */
    JC_LOAD_NUMPY,          /* word; ptr: scalar type; arg: offset, arg2: size of its bytes */
    JC_LOCAL_ARRAY,         /* READ_LOCAL (base: index into localsplus) and LOAD_ARRAY in one */
};

typedef struct {
    uint8_t code;
    int32_t guard, source, base, word;
    union {
        int64_t arg;
        PyObject *on_class; /* what the type has under the name, if that could become a descriptor [borrowed: valid
                               while the type's version is] */
    };
    int32_t arg2;
    int32_t mask, want;
    uint32_t hint, hint2;   /* where a key was last found: a cache that every use verifies */
    PyObject *ptr, *ptr2;   /* owned, unless stated otherwise */
} jc_guard_op;

struct jc_guards {
    int n_ops, n_sources, n_words, n_guards, n_owned;
    int32_t *owned;         /* the sources that hold new references, in the order of their reads */
    jc_guard_op *ops;
};

/* Is `o` the living target of a weak reference?  A dead reference's target reads as None, which cannot
 * be referred to weakly. */
static inline int jc_weak_is(PyObject *ref, PyObject *o)
{
    return ((PyWeakReference *)ref)->wr_object == o && o != Py_None;
}

static inline int jc_is_descriptor(PyObject *o)
{
    return Py_TYPE(o)->tp_descr_get != NULL || Py_TYPE(o)->tp_descr_set != NULL;
}

/* What `match` asks of a type; registering it with an abstract class sets them and leaves the version. */
#define JC_COLLECTION_FLAGS (Py_TPFLAGS_SEQUENCE | Py_TPFLAGS_MAPPING)

#endif
