/* The lists of native code, as lists.c, listcalls.c and recipes.c see them. */
#ifndef JC_LISTS_H
#define JC_LISTS_H

#include "npyapi.h"

/* A list whose items are all of one type, made by a region and seen by nothing else.  Native code reads and writes
 * `n`, `data` and `capacity` itself (backends/cpu/lists.py knows their places).  Items lie one after another in their
 * natural bytes; an item that is a list itself is an owned pointer. */
typedef struct {
    PyObject_HEAD
    int64_t n;
    char *data;
    int64_t capacity;
    int32_t typenum;        /* NumPy's number of the item's type; JC_TLIST_NESTED: lists */
    int32_t weak;           /* boxed as Python's number, not NumPy's */
    int64_t size;           /* bytes of an item */
    PyObject *made;         /* the Python list that stands for it since an exit, or NULL [owned] */
} jc_tlist;

#define JC_TLIST_NESTED (-1)

extern JC_HIDDEN PyTypeObject jc_tlist_type;

/* All below: called by native code, or at exits.  An error leaves no exception behind unless stated. */
/* An empty list [new] with room for `capacity` items; NULL when there is no memory. */
JC_HIDDEN jc_tlist *jc_tlist_new(int typenum, int weak, int64_t size, int64_t capacity);
/* Makes room for `more` items behind the last: 0, or -1 with the list as it was. */
JC_HIDDEN int jc_tlist_room(jc_tlist *l /* borrowed */, int64_t more);
/* The Python list [new] that stands for `l`, always the same one; NULL with an exception set. */
JC_HIDDEN PyObject *jc_tlist_box(jc_tlist *l /* borrowed */);
/* Item k as an object [new]; NULL with an exception set. */
JC_HIDDEN PyObject *jc_tlist_item(jc_tlist *l /* borrowed */, int64_t k);
/* Takes references to, or gives up those to, n items that are lists themselves; nothing for numbers. */
JC_HIDDEN void jc_tlist_hold(const jc_tlist *l, int64_t from, int64_t n);
JC_HIDDEN void jc_tlist_drop(const jc_tlist *l, int64_t from, int64_t n);
JC_HIDDEN int jc_lists_symbols(PyObject *dict);
JC_HIDDEN int jc_listcalls_symbols(PyObject *dict);
JC_HIDDEN int jc_lists_init(PyObject *module);

#endif
