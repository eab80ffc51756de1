/* Recycled memory for large arrays.
 *
 * Fresh pages cost more than the arithmetic that fills them, so the memory of large arrays is kept when they are
 * freed and given to the next array of about the same size.  The arrays are ordinary: NumPy's own data handler
 * mechanism (NEP 49) allocates, resizes and frees, so `base` is None and the array owns its data.
 *
 * A block is one mapping: a header page, then the data.  Free blocks hang in a list by size class (eight classes to
 * each power of two) and in one list by age.  Invariants: `retained` is the sum of the free blocks' sizes and at most
 * `limit`; every list is changed under `lock` only; blocks that are in use are in no list.  After a fork the child
 * holds copies of all blocks, free ones too, and a lock in the unlocked state.
 *
 * Handlers are called with or without the GIL and never touch Python objects. */
#define _GNU_SOURCE
#include "npyapi.h"

#include <stdio.h>
#include <string.h>
#ifndef _WIN32
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#define LOCK() pthread_mutex_lock(&lock)
#define UNLOCK() pthread_mutex_unlock(&lock)
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#else
#include <windows.h>
#define LOCK() AcquireSRWLockExclusive(&lock)
#define UNLOCK() ReleaseSRWLockExclusive(&lock)
static SRWLOCK lock = SRWLOCK_INIT;
#endif

#define HEADER ((size_t)4096)           /* keeps the data on a page boundary */
#define HUGE_PAGE ((size_t)2 << 20)
#define N_CLASSES (64 * 8)
#define MAGIC UINT64_C(0x6a69746d656d3031)

typedef struct block {
    uint64_t magic;
    void *mapping;                      /* what the system gave, and how much of it */
    size_t mapped;
    size_t capacity;                    /* bytes behind the header */
    int class;
    struct block *class_next, *class_prev;      /* free blocks of the same class, youngest first */
    struct block *older, *younger;              /* all free blocks */
} block;

static block *classes[N_CLASSES];
static block *youngest, *oldest;
static size_t retained, in_use, limit, n_free, n_live;
static uint64_t hits, misses;

/* ---- the system's memory --------------------------------------------------------------------------- */

static int system_map(block *probe, size_t size)
{
#ifndef _WIN32
    /* Room to put the data, not the header, on a huge page boundary. */
    int huge = size >= 2 * HUGE_PAGE;
    size_t length = size + HEADER + (huge ? HUGE_PAGE : 0);
    char *at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        return -1;
    }
    char *data = at + HEADER;
    if (huge) {
        data = (char *)(((uintptr_t)data + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
#ifdef MADV_HUGEPAGE
        (void)madvise(data, size, MADV_HUGEPAGE);
#endif
    }
    probe->mapping = at;
    probe->mapped = length;
    probe->class_next = (block *)(void *)(data - HEADER);
#else
    char *at = VirtualAlloc(NULL, size + HEADER, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
    if (at == NULL) {
        return -1;
    }
    probe->mapping = at;
    probe->mapped = size + HEADER;
    probe->class_next = (block *)(void *)at;
#endif
    return 0;
}

static void system_unmap(block *b)
{
#ifndef _WIN32
    munmap(b->mapping, b->mapped);
#else
    VirtualFree(b->mapping, 0, MEM_RELEASE);
#endif
}

/* ---- size classes ---------------------------------------------------------------------------------- */

/* The class whose blocks hold `size` bytes, and how many bytes those have: size rounded up to a multiple of an eighth
 * of its power of two. */
static int class_of(size_t size, size_t *capacity)
{
    int bits = 12;
    if (size < 4096) {
        size = 4096;
    }
    while (bits < 62 && (size >> (bits + 1)) != 0) {
        bits++;
    }
    size_t step = (size_t)1 << (bits - 3);
    size_t eighths = (size + step - 1) / step;      /* 8 to 16 */
    if (eighths == 16) {
        bits++;
        eighths = 8;
        step *= 2;
    }
    *capacity = (eighths * step + 4095) & ~(size_t)4095;
    return bits * 8 + (int)(eighths - 8);
}

/* ---- lists (the lock is held) ---------------------------------------------------------------------- */

static void unlink_free(block *b)
{
    *(b->class_prev != NULL ? &b->class_prev->class_next : &classes[b->class]) = b->class_next;
    if (b->class_next != NULL) {
        b->class_next->class_prev = b->class_prev;
    }
    *(b->older != NULL ? &b->older->younger : &oldest) = b->younger;
    *(b->younger != NULL ? &b->younger->older : &youngest) = b->older;
    retained -= b->capacity;
    n_free--;
}

static void link_free(block *b)
{
    b->class_prev = NULL;
    b->class_next = classes[b->class];
    if (b->class_next != NULL) {
        b->class_next->class_prev = b;
    }
    classes[b->class] = b;
    b->younger = NULL;
    b->older = youngest;
    *(youngest != NULL ? &youngest->younger : &oldest) = b;
    youngest = b;
    retained += b->capacity;
    n_free++;
}

/* Takes the oldest blocks off the lists until at most `target` bytes are kept; gives them chained by class_next. */
static block *shrink(size_t target)
{
    block *gone = NULL;
    while (retained > target && oldest != NULL) {
        block *b = oldest;
        unlink_free(b);
        b->class_next = gone;
        gone = b;
    }
    return gone;
}

static void unmap_all(block *gone)
{
    while (gone != NULL) {
        block *next = gone->class_next;
        system_unmap(gone);
        gone = next;
    }
}

/* ---- the handler ----------------------------------------------------------------------------------- */

static block *header_of(void *data)
{
    block *b = (block *)(void *)((char *)data - HEADER);
    if (b->magic != MAGIC) {
        Py_FatalError("jitcore: memory that is not the pool's was given to it, or was overwritten");
    }
    return b;
}

/* fresh: set to 1 when the memory is zero. */
static void *take(size_t size, int *fresh)
{
    if (size > SIZE_MAX / 4) {
        return NULL;
    }
    size_t capacity;
    int class = class_of(size, &capacity);
    LOCK();
    block *b = classes[class];
    if (b != NULL) {
        unlink_free(b);
        hits++;
        in_use += b->capacity;
        n_live++;
    }
    UNLOCK();
    *fresh = b == NULL;
    if (b == NULL) {
        block probe;
        if (system_map(&probe, capacity) < 0) {
            LOCK();
            block *gone = shrink(0);
            UNLOCK();
            if (gone == NULL) {
                return NULL;
            }
            unmap_all(gone);
            if (system_map(&probe, capacity) < 0) {
                return NULL;
            }
        }
        b = probe.class_next;
        b->mapping = probe.mapping;
        b->mapped = probe.mapped;
        b->capacity = capacity;
        b->class = class;
        b->magic = MAGIC;
        LOCK();
        misses++;
        in_use += capacity;
        n_live++;
        UNLOCK();
    }
    return (char *)b + HEADER;
}

static void give(void *data)
{
    block *b = header_of(data), *gone = NULL;
    LOCK();
    in_use -= b->capacity;
    n_live--;
    if (b->capacity <= limit) {
        gone = shrink(limit - b->capacity);
        link_free(b);
    }
    else {
        b->class_next = NULL;
        gone = b;
    }
    UNLOCK();
    unmap_all(gone);
}

static void *handler_malloc(void *ctx, size_t size)
{
    int fresh;
    (void)ctx;
    return take(size, &fresh);
}

static void *handler_calloc(void *ctx, size_t n, size_t each)
{
    int fresh;
    (void)ctx;
    if (each != 0 && n > SIZE_MAX / each) {
        return NULL;
    }
    void *data = take(n * each, &fresh);
    if (data != NULL && !fresh) {
        memset(data, 0, n * each);
    }
    return data;
}

static void handler_free(void *ctx, void *data, size_t size)
{
    (void)ctx;
    (void)size;
    if (data != NULL) {
        give(data);
    }
}

static void *handler_realloc(void *ctx, void *data, size_t size)
{
    if (data == NULL) {
        return handler_malloc(ctx, size);
    }
    size_t capacity, old = header_of(data)->capacity;
    (void)class_of(size, &capacity);
    if (capacity == old) {
        return data;
    }
    void *moved = handler_malloc(ctx, size);
    if (moved != NULL) {
        memcpy(moved, data, old < size ? old : size);
        give(data);
    }
    return moved;
}

static PyDataMem_Handler handler = {
    "jitcore_pool", 1, {NULL, handler_malloc, handler_calloc, handler_realloc, handler_free},
};

static PyObject *capsule;       /* of the handler, as NumPy wants it */

/* Only in the place of NumPy's default handler: one that the user has set stays in force. */
PyObject *jc_pool_enter(void)
{
    PyObject *before = NULL;
    if (capsule != NULL && limit != 0 && (before = PyDataMem_GetHandler()) != NULL) {
        int is_default = before == PyDataMem_DefaultHandler;
        Py_SETREF(before, is_default ? PyDataMem_SetHandler(capsule) : NULL);
    }
    if (before == NULL) {
        PyErr_Clear();
    }
    return before;
}

void jc_pool_leave(PyObject *token)
{
    if (token == NULL) {
        return;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Py_XDECREF(PyDataMem_SetHandler(token));
    PyErr_Restore(type, value, traceback);
    Py_DECREF(token);
}

/* ---- fork ------------------------------------------------------------------------------------------ */

#ifndef _WIN32
static void before_fork(void)
{
    LOCK();
}

static void after_fork(void)
{
    UNLOCK();
}

#endif

/* The bytes of memory that this process may use: the machine's, or a control group's limit if that is less. */
static uint64_t memory_size(void)
{
    uint64_t least = UINT64_MAX;
#if !defined(_WIN32) && defined(_SC_PHYS_PAGES)
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0) {
        least = (uint64_t)pages * (uint64_t)page;
    }
#endif
#ifdef __linux__
    static const char *const limits[] = {
        "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    };
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(limits[i], "re");
        unsigned long long bytes;
        if (file != NULL) {
            if (fscanf(file, "%llu", &bytes) == 1 && bytes < least) {   /* "max": no limit */
                least = bytes;
            }
            fclose(file);
        }
    }
#endif
    return least;
}

/* An eighth of the memory, at most 1 GiB. */
static size_t default_limit(void)
{
    uint64_t eighth = memory_size() / 8, most = (uint64_t)1 << 30;
    return (size_t)(eighth < most ? eighth : most);
}

/* ---- Python ---------------------------------------------------------------------------------------- */

PyDoc_STRVAR(pool_stats_doc,
"pool_stats()\n--\n\n"
"The recycled memory of large arrays, as a dict: bytes `retained` in `free` blocks, bytes `in_use` in `live` ones,\n"
"the `limit` of what is retained, and how often a block was found (`hits`) or had to be made (`misses`).");

static PyObject *pool_stats(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    LOCK();
    size_t kept = retained, used = in_use, most = limit, idle = n_free, live = n_live;
    unsigned long long found = hits, made = misses;
    UNLOCK();
    return Py_BuildValue("{s:n,s:n,s:n,s:n,s:n,s:K,s:K}", "retained", (Py_ssize_t)kept, "free", (Py_ssize_t)idle,
                         "in_use", (Py_ssize_t)used, "live", (Py_ssize_t)live, "limit", (Py_ssize_t)most, "hits", found,
                         "misses", made);
}

PyDoc_STRVAR(pool_trim_doc,
"pool_trim(target=0, /)\n--\n\n"
"Gives memory back to the system, what was freed first before the rest, until at most `target` bytes are retained.\n"
"Returns the bytes given back.");

static PyObject *pool_trim(PyObject *module, PyObject *args)
{
    Py_ssize_t target = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "|n:pool_trim", &target)) {
        return NULL;
    }
    LOCK();
    size_t before = retained;
    block *gone = shrink(target > 0 ? (size_t)target : 0);
    size_t given = before - retained;
    UNLOCK();
    unmap_all(gone);
    return PyLong_FromSize_t(given);
}

PyDoc_STRVAR(pool_limit_doc,
"pool_limit(bytes, /)\n--\n\n"
"Sets how many bytes may be retained, trims to it, and returns the limit before.  0 turns the pool off.");

static PyObject *pool_limit(PyObject *module, PyObject *args)
{
    Py_ssize_t most;
    (void)module;
    if (!PyArg_ParseTuple(args, "n:pool_limit", &most)) {
        return NULL;
    }
    if (most < 0) {
        PyErr_SetString(PyExc_ValueError, "the limit must not be negative");
        return NULL;
    }
    LOCK();
    size_t before = limit;
    limit = (size_t)most;
    block *gone = shrink(limit);
    UNLOCK();
    unmap_all(gone);
    return PyLong_FromSize_t(before);
}

static PyMethodDef methods[] = {
    {"pool_stats", pool_stats, METH_NOARGS, pool_stats_doc},
    {"pool_trim", pool_trim, METH_VARARGS, pool_trim_doc},
    {"pool_limit", pool_limit, METH_VARARGS, pool_limit_doc},
    {NULL, NULL, 0, NULL},
};

int jc_pool_init(PyObject *module)
{
    if (capsule == NULL) {
        limit = default_limit();
        capsule = PyCapsule_New(&handler, "mem_handler", NULL);
        if (capsule == NULL) {
            return -1;
        }
#ifndef _WIN32
        if (pthread_atfork(before_fork, after_fork, after_fork) != 0) {
            PyErr_SetString(PyExc_OSError, "pthread_atfork");
            return -1;
        }
#endif
    }
    return PyModule_AddFunctions(module, methods);
}
