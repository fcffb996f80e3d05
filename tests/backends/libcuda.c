/* A driver's library for a GPU that is not there: device memory is host memory, copies are done when they are put in, or kept in a graph
   while their stream is captured. Enough of it for the calls of realtime.backends.cuda to be made through the real cuda-bindings. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define MEMORY (8ull << 30)

typedef int Result;
typedef struct { void *to; const void *from; size_t bytes; } Copy;
typedef struct { Copy copies[64]; int count; } Graph;
typedef struct { int capturing; Graph *graph; } Stream;
enum { OK = 0, INVALID = 1, NO_MEMORY = 2, NOT_FOUND = 500 };

static int alive, contexts;

EXPORT int stand_in_alive(void) { return alive + contexts; }

EXPORT Result cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status) {
    static void *self;
    Dl_info info;
    if (!self && dladdr((void *)cuGetProcAddress_v2, &info)) self = dlopen(info.dli_fname, RTLD_NOW);
    *function = dlsym(self, symbol);
    if (status) *status = *function ? 0 : 1;
    return *function ? OK : NOT_FOUND;
}
EXPORT Result cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags, int *status) {
    return cuGetProcAddress_v2(symbol, function, version, flags, status);
}

EXPORT Result cuInit(unsigned flags) { return OK; }
EXPORT Result cuDriverGetVersion(int *version) { *version = 13000; return OK; }
EXPORT Result cuDeviceGetCount(int *count) { *count = 2; return OK; }
EXPORT Result cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal < 2 ? OK : INVALID; }
EXPORT Result cuDeviceGetName(char *name, int length, int device) {
    strncpy(name, device ? "Stand-in 1" : "Stand-in 0", length);
    return OK;
}
EXPORT Result cuDeviceGetAttribute(int *value, int attribute, int device) { *value = attribute == 75 ? 8 : 9; return OK; }
EXPORT Result cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = MEMORY; return OK; }
EXPORT Result cuDevicePrimaryCtxRetain(void **context, int device) { contexts++; *context = &contexts; return OK; }
EXPORT Result cuDevicePrimaryCtxRelease(int device) { contexts--; return OK; }
EXPORT Result cuCtxSetCurrent(void *context) { return context == &contexts ? OK : INVALID; }

EXPORT Result cuStreamCreate(void **stream, unsigned flags) { alive++; *stream = calloc(1, sizeof(Stream)); return flags == 1 ? OK : INVALID; }
EXPORT Result cuStreamDestroy(void *stream) { alive--; free(stream); return OK; }
EXPORT Result cuStreamSynchronize(void *stream) { return ((Stream *)stream)->capturing ? INVALID : OK; }
EXPORT Result cuEventCreate(void **event, unsigned flags) { alive++; *event = malloc(1); return flags == 2 ? OK : INVALID; }
EXPORT Result cuEventDestroy(void *event) { alive--; free(event); return OK; }
EXPORT Result cuEventRecord(void *event, void *stream) { return event && stream ? OK : INVALID; }
EXPORT Result cuStreamWaitEvent(void *stream, void *event, unsigned flags) { return event && stream && !flags ? OK : INVALID; }

EXPORT Result cuMemAlloc(uint64_t *address, size_t bytes) {
    if (bytes > MEMORY) return NO_MEMORY;
    alive++;
    *address = (uint64_t)aligned_alloc(256, (bytes + 255) / 256 * 256);
    return OK;
}
EXPORT Result cuMemFree(uint64_t address) { alive--; free((void *)address); return OK; }
EXPORT Result cuMemHostAlloc(void **address, size_t bytes, unsigned flags) { alive++; *address = malloc(bytes); return flags ? INVALID : OK; }
EXPORT Result cuMemFreeHost(void *address) { alive--; free(address); return OK; }

static Result copy(void *to, const void *from, size_t bytes, Stream *stream) {
    if (!stream->capturing) return memcpy(to, from, bytes), OK;
    if (stream->graph->count == 64) return INVALID;
    stream->graph->copies[stream->graph->count++] = (Copy){to, from, bytes};
    return OK;
}
EXPORT Result cuMemcpyHtoDAsync(uint64_t to, const void *from, size_t bytes, void *stream) { return copy((void *)to, from, bytes, stream); }
EXPORT Result cuMemcpyDtoDAsync(uint64_t to, uint64_t from, size_t bytes, void *stream) { return copy((void *)to, (void *)from, bytes, stream); }
EXPORT Result cuMemcpyDtoHAsync(void *to, uint64_t from, size_t bytes, void *stream) { return copy(to, (void *)from, bytes, stream); }

EXPORT Result cuStreamBeginCapture(void *stream, int mode) {
    Stream *s = stream;
    if (s->capturing || mode != 1) return INVALID; /* 1: thread local */
    s->capturing = 1, s->graph = calloc(1, sizeof(Graph)), alive++;
    return OK;
}
EXPORT Result cuStreamEndCapture(void *stream, void **graph) {
    Stream *s = stream;
    if (!s->capturing) return INVALID;
    *graph = s->graph, s->capturing = 0;
    return OK;
}
EXPORT Result cuGraphInstantiateWithFlags(void **made, void *graph, uint64_t flags) {
    alive++, *made = malloc(sizeof(Graph)), memcpy(*made, graph, sizeof(Graph));
    return flags ? INVALID : OK;
}
EXPORT Result cuGraphInstantiate(void **made, void *graph, uint64_t flags) { return cuGraphInstantiateWithFlags(made, graph, flags); }
EXPORT Result cuGraphDestroy(void *graph) { alive--; free(graph); return OK; }
EXPORT Result cuGraphExecDestroy(void *graph) { alive--; free(graph); return OK; }
EXPORT Result cuGraphLaunch(void *graph, void *stream) {
    Graph *g = graph;
    for (int i = 0; i < g->count; i++) memcpy(g->copies[i].to, g->copies[i].from, g->copies[i].bytes);
    return ((Stream *)stream)->capturing ? INVALID : OK;
}
