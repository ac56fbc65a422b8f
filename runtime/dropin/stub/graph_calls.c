#include "graph_calls.h"

#include "env.h"
#include "stub.h"

#include <string.h>

/* CUDA's runtime asks for functions by name, version, and which stream is the default one: a flag, or another
 * name for dlsym. So there may be two real functions of a kind, each with a replacement of its own. */
enum { SLOTS = 2 };
#define FLAGS_SINCE     12000 /* cuGraphInstantiate is cuGraphInstantiateWithFlags from this version on */
#define ADDRESS_2_SINCE 12000 /* and cuGetProcAddress is cuGetProcAddress_v2 */

typedef CUresult destroy_function(CUgraph graph);
typedef CUresult launch_function(CUgraphExec executable, CUstream stream);
typedef CUresult flags_function(CUgraphExec *executable, CUgraph graph, unsigned long long flags);
typedef CUresult parameters_function(CUgraphExec *executable, CUgraph graph, void *parameters);
typedef CUresult address_function(const char *name, void **address, int version, cuuint64_t flags);
typedef CUresult address_2_function(const char *name, void **address, int version, cuuint64_t flags,
                                    int *found);

static _Atomic(void *) destroys[SLOTS], launches[SLOTS], by_flags[SLOTS], by_parameters[SLOTS],
    addresses[SLOTS], addresses_2[SLOTS];

#define REAL(type, table, slot)                                                                              \
    type *real;                                                                                              \
    void *at = atomic_load_explicit(&(table)[slot], memory_order_acquire);                                   \
    memcpy(&real, &at, sizeof real)

static CUresult tell_made(CUresult result, const CUgraphExec *executable, CUgraph graph)
{
    const struct engine *engine = atomic_load_explicit(&stub_engine_found, memory_order_acquire);
    if (result == CUDA_SUCCESS && engine) engine->graph_made(*executable, graph);
    return result;
}

static CUresult tell_launched(CUresult result, CUgraphExec executable)
{
    const struct engine *engine = atomic_load_explicit(&stub_engine_found, memory_order_acquire);
    if (result == CUDA_SUCCESS && engine) engine->graph_launched(executable);
    return result;
}

static void tell_gone(CUgraph graph)
{
    const struct engine *engine = atomic_load_explicit(&stub_engine_found, memory_order_acquire);
    if (engine) engine->graph_gone(graph);
}

static void replace_found(const char *name, void **address, int version)
{
    void *own = NULL;
    if (strcmp(name, "cuGraphInstantiate") == 0)
        own = version < FLAGS_SINCE ? NULL : graph_calls_replace("cuGraphInstantiateWithFlags", *address);
    else if (strcmp(name, "cuGetProcAddress") == 0 && version >= ADDRESS_2_SINCE)
        own = graph_calls_replace("cuGetProcAddress_v2", *address);
    else own = graph_calls_replace(name, *address);
    if (own) *address = own;
}

#define FUNCTIONS_OF(slot)                                                                                   \
    static CUresult destroy_##slot(CUgraph graph)                                                            \
    {                                                                                                        \
        REAL(destroy_function, destroys, slot);                                                              \
        tell_gone(graph); /* before another graph gets its address */                                        \
        return real(graph);                                                                                  \
    }                                                                                                        \
    static CUresult launch_##slot(CUgraphExec executable, CUstream stream)                                   \
    {                                                                                                        \
        REAL(launch_function, launches, slot);                                                               \
        return tell_launched(real(executable, stream), executable);                                          \
    }                                                                                                        \
    static CUresult by_flags_##slot(CUgraphExec *executable, CUgraph graph, unsigned long long flags)        \
    {                                                                                                        \
        REAL(flags_function, by_flags, slot);                                                                \
        return tell_made(real(executable, graph, flags), executable, graph);                                 \
    }                                                                                                        \
    static CUresult by_parameters_##slot(CUgraphExec *executable, CUgraph graph, void *parameters)           \
    {                                                                                                        \
        REAL(parameters_function, by_parameters, slot);                                                      \
        return tell_made(real(executable, graph, parameters), executable, graph);                            \
    }                                                                                                        \
    static CUresult address_##slot(const char *name, void **address, int version, cuuint64_t flags)          \
    {                                                                                                        \
        REAL(address_function, addresses, slot);                                                             \
        const CUresult result = real(name, address, version, flags);                                         \
        if (result == CUDA_SUCCESS && name && address && *address) replace_found(name, address, version);    \
        return result;                                                                                       \
    }                                                                                                        \
    static CUresult address_2_##slot(const char *name, void **address, int version, cuuint64_t flags,        \
                                     int *found)                                                             \
    {                                                                                                        \
        REAL(address_2_function, addresses_2, slot);                                                         \
        const CUresult result = real(name, address, version, flags, found);                                  \
        if (result == CUDA_SUCCESS && name && address && *address) replace_found(name, address, version);    \
        return result;                                                                                       \
    }
FUNCTIONS_OF(0)
FUNCTIONS_OF(1)

typedef void any_function(void);
#define BOTH(name)                                                                                           \
    {                                                                                                        \
        (any_function *)name##_0, (any_function *)name##_1                                                   \
    }

static const struct kind {
    const char *name; /* also with _ptsz behind it */
    _Atomic(void *) *reals;
    any_function *own[SLOTS];
} kinds[] = {{"cuGraphDestroy", destroys, BOTH(destroy)},
             {"cuGraphLaunch", launches, BOTH(launch)},
             {"cuGraphInstantiateWithFlags", by_flags, BOTH(by_flags)},
             {"cuGraphInstantiateWithParams", by_parameters, BOTH(by_parameters)},
             {"cuGetProcAddress", addresses, BOTH(address)},
             {"cuGetProcAddress_v2", addresses_2, BOTH(address_2)}};

static bool is_kind(const struct kind *kind, const char *name)
{
    const size_t length = strlen(kind->name);
    return strncmp(name, kind->name, length) == 0 && (!name[length] || strcmp(name + length, "_ptsz") == 0);
}

static void *own_of(const struct kind *kind, void *address)
{
    void *own = NULL;
    for (int i = 0; i < SLOTS && !own; i++) {
        void *known = NULL;
        if (atomic_compare_exchange_strong(&kind->reals[i], &known, address) || known == address)
            memcpy(&own, &kind->own[i], sizeof own);
    }
    return own;
}

void *graph_calls_replace(const char *name, void *address)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (is_kind(&kinds[i], name)) return env_text("GEMMTUNE_CAPTURE") ? own_of(&kinds[i], address) : NULL;
    return NULL;
}
