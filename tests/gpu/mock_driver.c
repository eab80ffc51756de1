/* A CUDA driver without a device, for tests: libcuda.so.1 as far as jitcore and cuda.bindings ask for it.
 *
 * Memory, modules and launches are whatever the callback makes of them: it gets the name of the function and its
 * arguments as numbers, and gives a CUresult.  All work is done at once, so that streams and events have nothing to do.
 * What is missing gives CUDA_ERROR_NOT_SUPPORTED when it is called.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#define API __attribute__((visibility("default")))
typedef int result;
typedef uint64_t word;
typedef void *handle;

enum { SUCCESS = 0, NOT_SUPPORTED = 801 };

static result (*callback)(const char *name, const word *args);

API void mock_set_callback(result (*function)(const char *, const word *))
{
    callback = function;
}

#define CALL(name, ...) \
    do { \
        const word args_[] = {__VA_ARGS__}; \
        return callback(name, args_); \
    } while (0)
#define W(x) ((word)(uintptr_t)(x))

static int one;
static char names[2][32] = {"CUDA_SUCCESS", "CUDA_ERROR_MOCK"};

/* ---- device and context ---------------------------------------------------------------------------- */
API result cuInit(unsigned flags) { (void)flags; return SUCCESS; }
API result cuDriverGetVersion(int *version) { *version = 13000; return SUCCESS; }
API result cuDeviceGetCount(int *count) { *count = 1; return SUCCESS; }
API result cuDeviceGet(int *device, int ordinal) { *device = ordinal; return SUCCESS; }
API result cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 16 ? 2 : 1;      /* capability 9.0, 2 processors */
    return SUCCESS;
}
API result cuDeviceGetName(char *name, int size, int device)
{
    (void)device;
    strncpy(name, "mock", (size_t)size);
    return SUCCESS;
}
API result cuDevicePrimaryCtxRetain(handle *context, int device) { (void)device; *context = &one; return SUCCESS; }
API result cuCtxSetCurrent(handle context) { (void)context; return SUCCESS; }
API result cuCtxGetCurrent(handle *context) { *context = &one; return SUCCESS; }
API result cuGetErrorName(result status, const char **text) { *text = names[status != 0]; return SUCCESS; }
API result cuGetErrorString(result status, const char **text) { *text = names[status != 0]; return SUCCESS; }

/* ---- streams and events ---------------------------------------------------------------------------- */
API result cuStreamCreate(handle *stream, unsigned flags) { (void)flags; *stream = &one; return SUCCESS; }
API result cuStreamSynchronize(handle stream) { (void)stream; return SUCCESS; }
API result cuStreamWaitEvent(handle stream, handle event, unsigned flags) { CALL("wait", W(stream), W(event), flags); }
API result cuEventCreate(handle *event, unsigned flags) { (void)flags; *event = &one; return SUCCESS; }
API result cuEventRecord(handle event, handle stream) { CALL("record", W(event), W(stream)); }
API result cuEventSynchronize(handle event) { (void)event; return SUCCESS; }
API result cuEventDestroy(handle event) { (void)event; return SUCCESS; }
API result cuEventDestroy_v2(handle event) { (void)event; return SUCCESS; }

/* ---- memory ---------------------------------------------------------------------------------------- */
API result cuDeviceGetDefaultMemPool(handle *pool, int device) { (void)device; *pool = &one; return SUCCESS; }
API result cuMemPoolSetAttribute(handle pool, int attribute, void *value)
{
    (void)pool, (void)attribute, (void)value;
    return SUCCESS;
}
API result cuMemPoolTrimTo(handle pool, size_t size) { (void)pool; CALL("trim", size); }
API result cuMemAllocAsync(word *pointer, size_t size, handle stream) { (void)stream; CALL("allocate", W(pointer), size); }
API result cuMemFreeAsync(word pointer, handle stream) { (void)stream; CALL("free", pointer); }
API result cuMemGetInfo(size_t *free, size_t *total) { CALL("info", W(free), W(total)); }
API result cuMemGetInfo_v2(size_t *free, size_t *total) { CALL("info", W(free), W(total)); }
API result cuMemHostAlloc(void **pointer, size_t size, unsigned flags) { CALL("pinned", W(pointer), size, flags); }
API result cuMemcpyHtoDAsync(word to, const void *from, size_t size, handle stream)
{
    (void)stream;
    CALL("write", to, W(from), size);
}
API result cuMemcpyHtoDAsync_v2(word to, const void *from, size_t size, handle stream)
{
    return cuMemcpyHtoDAsync(to, from, size, stream);
}
API result cuMemcpyDtoHAsync(void *to, word from, size_t size, handle stream)
{
    (void)stream;
    CALL("read", W(to), from, size);
}
API result cuMemcpyDtoHAsync_v2(void *to, word from, size_t size, handle stream)
{
    return cuMemcpyDtoHAsync(to, from, size, stream);
}
API result cuMemcpyAsync(word to, word from, size_t size, handle stream) { (void)stream; CALL("copy", to, from, size); }
API result cuMemsetD8Async(word to, unsigned char value, size_t size, handle stream)
{
    (void)stream;
    CALL("fill", to, value, size);
}
API result cuPointerGetAttribute(void *value, int attribute, word pointer)
{
    (void)attribute, (void)pointer;
    *(int *)value = 0;
    return SUCCESS;
}

/* ---- code ------------------------------------------------------------------------------------------ */
API result cuModuleLoadDataEx(handle *module, const void *text, unsigned n, void *options, void **values)
{
    (void)n, (void)options, (void)values;
    CALL("load", W(module), W(text));
}
API result cuModuleGetFunction(handle *function, handle module, const char *name)
{
    CALL("function", W(function), W(module), W(name));
}
API result cuLaunchKernel(handle function, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, handle stream, void **params, void **extra)
{
    (void)stream, (void)extra;
    CALL("launch", W(function), x, y, z, bx, by, bz, shared, W(params));
}

/* ---- how cuda.bindings finds all that -------------------------------------------------------------- */
static result missing(void)
{
    return NOT_SUPPORTED;
}
API result cuGetProcAddress_v2(const char *name, void **function, int version, word flags, int *status)
{
    (void)version, (void)flags;
    static void *self;
    Dl_info found;
    if (self == NULL && dladdr((void *)(uintptr_t)&cuInit, &found) != 0) {
        self = dlopen(found.dli_fname, RTLD_NOW);
    }
    *function = strcmp(name, "cuGetProcAddress") == 0 ? (void *)(uintptr_t)&cuGetProcAddress_v2 : dlsym(self, name);
    if (*function == NULL) {
        *function = (void *)(uintptr_t)&missing;
    }
    if (status != NULL) {
        *status = 0;
    }
    return SUCCESS;
}
API result cuGetProcAddress(const char *name, void **function, int version, word flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
