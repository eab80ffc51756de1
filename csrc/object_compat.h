/* CPython's objects as guard programs read them: dict tables, small ints, type versions.
 *
 * Reviewed for 3.11, 3.12 and 3.13.  Nothing here runs Python code, allocates or sets an exception.
 */
#ifndef JC_OBJECT_COMPAT_H
#define JC_OBJECT_COMPAT_H

#include <Python.h>
#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x030E0000
#error "the dict and type internals were not reviewed for this version of CPython"
#endif
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#undef _PyGC_FINALIZED      /* the internal headers have their own */
#if defined(__GNUC__)       /* 3.12's own header reads a member that it calls deprecated */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif
#include <internal/pycore_dict.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
#include <stdint.h>
#include <string.h>

/* What jc_dict_get says when a key's __eq__ would have to run. */
#define JC_DICT_UNKNOWN (-1)

/* Entry `index` of a table of keys, as the hash part of the table stores it (negative: none). */
static inline Py_ssize_t jc_dict_slot(const PyDictKeysObject *keys, size_t slot)
{
    int bits = keys->dk_log2_size;
    if (bits < 8) {
        return ((const int8_t *)keys->dk_indices)[slot];
    }
    if (bits < 16) {
        return ((const int16_t *)keys->dk_indices)[slot];
    }
#if SIZEOF_VOID_P > 4
    if (bits >= 32) {
        return (Py_ssize_t)((const int64_t *)keys->dk_indices)[slot];
    }
#endif
    return ((const int32_t *)keys->dk_indices)[slot];
}

/* Equal text of two exact strs. */
static inline int jc_str_equal(PyObject *a, PyObject *b)
{
    return a == b || (PyUnicode_IS_READY(a) && PyUnicode_IS_READY(b)
                      && PyUnicode_GET_LENGTH(a) == PyUnicode_GET_LENGTH(b) && PyUnicode_KIND(a) == PyUnicode_KIND(b)
                      && memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b),
                                (size_t)PyUnicode_GET_LENGTH(a) * (size_t)PyUnicode_KIND(a)) == 0);
}

/* d[name] of an exact dict.  name: an interned str whose hash is known.  1: *value is set [borrowed]; 0: not there;
 * JC_DICT_UNKNOWN: it takes Python code to tell.  *hint is the entry's index last time (any number will do). */
static inline int jc_dict_get(PyObject *d, PyObject *name, uint32_t *hint, PyObject **value)
{
    PyDictObject *dict = (PyDictObject *)d;
    PyDictKeysObject *keys = dict->ma_keys;
    Py_hash_t hash = ((PyASCIIObject *)name)->hash;
    if (keys->dk_kind == DICT_KEYS_UNICODE && (Py_ssize_t)*hint < keys->dk_nentries) {
        PyDictUnicodeEntry *entry = &DK_UNICODE_ENTRIES(keys)[*hint];
        if (entry->me_key == name && entry->me_value != NULL) {
            *value = entry->me_value;
            return 1;
        }
    }
    size_t mask = ((size_t)1 << keys->dk_log2_size) - 1;
    size_t perturb = (size_t)hash, slot = (size_t)hash & mask;
    for (;;) {
        Py_ssize_t index = jc_dict_slot(keys, slot);
        if (index == DKIX_EMPTY) {
            return 0;
        }
        if (index >= 0) {
            PyObject *key, *found;
            Py_hash_t key_hash;
            if (keys->dk_kind == DICT_KEYS_GENERAL) {
                PyDictKeyEntry *entry = &DK_ENTRIES(keys)[index];
                key = entry->me_key;
                key_hash = entry->me_hash;
                found = entry->me_value;
            }
            else {
                PyDictUnicodeEntry *entry = &DK_UNICODE_ENTRIES(keys)[index];
                key = entry->me_key;
                key_hash = ((PyASCIIObject *)key)->hash;
                found = keys->dk_kind == DICT_KEYS_SPLIT ? dict->ma_values->values[index] : entry->me_value;
            }
            if (key == name || key_hash == hash) {
                if (key != name && !PyUnicode_CheckExact(key)) {
                    return JC_DICT_UNKNOWN;
                }
                if (jc_str_equal(key, name)) {
                    *hint = (uint32_t)index;
                    *value = found;
                    return found != NULL;
                }
            }
        }
        perturb >>= 5;
        slot = (slot * 5 + perturb + 1) & mask;
    }
}

/* The value of an exact int: 1 when it fits into 64 bits. */
static inline int jc_long_as_int64(PyObject *o, int64_t *value)
{
#if PY_VERSION_HEX >= 0x030C0000
    if (PyUnstable_Long_IsCompact((PyLongObject *)o)) {
        *value = (int64_t)PyUnstable_Long_CompactValue((PyLongObject *)o);
        return 1;
    }
#else
    Py_ssize_t size = Py_SIZE(o);
    if (-1 <= size && size <= 1) {
        *value = (int64_t)size * (int64_t)((PyLongObject *)o)->ob_digit[0];
        return 1;
    }
#endif
    int overflow;
    long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    *value = (int64_t)v;
    return overflow == 0;
}

/* The type's version tag; 0 when it has none now (it was changed and nobody asked since). */
static inline unsigned int jc_type_version(PyTypeObject *type)
{
#if PY_VERSION_HEX < 0x030C0000     /* 3.11 drops the flag and keeps the stale tag */
    if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) {
        return 0;
    }
#endif
    return type->tp_version_tag;
}

/* The same, giving the type a tag where it has none.  0: it cannot have one any more. */
static inline unsigned int jc_type_version_assign(PyTypeObject *type, PyObject *any_name)
{
#if PY_VERSION_HEX < 0x030C0000     /* a cached look-up assigns it */
    (void)_PyType_Lookup(type, any_name);
    PyErr_Clear();
#else
    (void)any_name;
    (void)PyUnstable_Type_AssignVersionTag(type);
#endif
    return jc_type_version(type);
}

#endif
