#include "kernel_hash.h"

#include "source_hash.h"
#include "template.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

/* The values of a key that conditions may test: its parameters, then these. */
enum {
    ASKED_TRANS_A = CONFIG_PARAMS_MAX,
    ASKED_TRANS_B,
    ASKED_TYPE,
    ASKED_EPILOGUE,
    ASKED_POINTERS,
    ASKED_ARCH,
    ASKED_COUNT
};

static int32_t value_asked(const struct kernel_key *key, int what)
{
    switch (what) {
    case ASKED_TRANS_A:
        return key->trans_a;
    case ASKED_TRANS_B:
        return key->trans_b;
    case ASKED_TYPE:
        return (int32_t)key->type;
    case ASKED_EPILOGUE:
        return key->epilogue;
    case ASKED_POINTERS:
        return key->pointers;
    case ASKED_ARCH:
        return key->arch;
    default:
        return key->config.value[what];
    }
}

/* ---- memoised hashes ---- */

#define KNOWN_MAX    1024 /* a power of two */
#define KNOWN_PROBES 16
#define KINDS_MAX    4 /* sets of values that the conditions of a template test */
#define KIND_KNOWN   (UINT64_C(1) << 63)

static struct {
    _Atomic uint64_t values, hash; /* 0: empty */
} known[KNOWN_MAX];
static _Atomic uint64_t kinds[TEMPLATES_MAX][KINDS_MAX]; /* bits, with KIND_KNOWN; 0: empty */

/* Hash of the template and of the values that a kind tests: never 0. */
static uint64_t hash_values(const struct kernel_key *key, size_t template, uint64_t kind)
{
    int32_t values[ASKED_COUNT];
    size_t count = 0;
    for (uint64_t left = kind & ~KIND_KNOWN; left; left &= left - 1)
        values[count++] = value_asked(key, __builtin_ctzll(left));
    const uint64_t hash = XXH64(values, count * sizeof *values, kind ^ template);
    return hash ? hash : 1;
}

static uint64_t find_known(const struct kernel_key *key, size_t template)
{
    for (int i = 0; i < KINDS_MAX; i++) {
        const uint64_t kind = atomic_load(&kinds[template][i]);
        if (!kind) return 0;
        const uint64_t values = hash_values(key, template, kind);
        for (uint64_t j = 0; j < KNOWN_PROBES; j++) {
            const size_t at = (values + j) % KNOWN_MAX;
            const uint64_t there = atomic_load(&known[at].values);
            if (!there) break;
            const uint64_t hash = there == values ? atomic_load(&known[at].hash) : 0;
            if (hash) return hash;
        }
    }
    return 0;
}

/* Threads that compute the same entry at the same time get the same result. If there is no room, the hash is
 * computed again next time. */
static void remember(const struct kernel_key *key, size_t template, uint64_t kind, uint64_t hash)
{
    int i = 0;
    for (; i < KINDS_MAX; i++) {
        uint64_t there = 0;
        if (atomic_compare_exchange_strong(&kinds[template][i], &there, kind) || there == kind) break;
    }
    if (i == KINDS_MAX) return;
    const uint64_t values = hash_values(key, template, kind);
    for (uint64_t j = 0; j < KNOWN_PROBES; j++) {
        const size_t at = (values + j) % KNOWN_MAX;
        uint64_t there = 0;
        if (!atomic_compare_exchange_strong(&known[at].values, &there, values) && there != values) continue;
        atomic_store(&known[at].hash, hash);
        return;
    }
}

/* ---- computation ---- */

/* The values of a key that a definition "BM=128" depends on. Definitions of type, epilogue and pointers
 * depend on several. */
static uint64_t bits_of(const struct template *t, const char *definition)
{
    const size_t length = strcspn(definition, "=");
    for (int i = 0; i < t->param_count; i++)
        if (strlen(t->params[i].name) == length && memcmp(t->params[i].name, definition, length) == 0)
            return UINT64_C(1) << i;
    if (strncmp(definition, "TRANS_A=", 8) == 0) return UINT64_C(1) << ASKED_TRANS_A;
    if (strncmp(definition, "TRANS_B=", 8) == 0) return UINT64_C(1) << ASKED_TRANS_B;
    if (strncmp(definition, "__CUDA_ARCH__=", 14) == 0) return UINT64_C(1) << ASKED_ARCH;
    if (strncmp(definition, "__", 2) == 0) return 0;
    return UINT64_C(1) << ASKED_TYPE | UINT64_C(1) << ASKED_EPILOGUE | UINT64_C(1) << ASKED_POINTERS;
}

static uint64_t find_out(const struct kernel_key *key, uint64_t *kind)
{
    const struct template *t = key->config.template;
    const char *definitions[KERNEL_DEFINITIONS_MAX + 4];
    char text[2048], arch[32];
    int count = kernel_key_definitions(key, definitions, KERNEL_DEFINITIONS_MAX, text, sizeof text);
    for (int i = 0; i < count; i++) definitions[i] += strlen("-D");
    snprintf(arch, sizeof arch, "__CUDA_ARCH__=%d0", key->arch);
    definitions[count++] = arch;
    definitions[count++] = "__CUDACC__=1";
    definitions[count++] = "__CUDACC_RTC__=1";
    definitions[count++] = "__cplusplus=201703L";
    uint64_t asked;
    const uint64_t hash =
        kernel_hash_kept(source_hash(t->sources, template_source_count(t), definitions, count, &asked));
    for (*kind = KIND_KNOWN; asked; asked &= asked - 1)
        *kind |= bits_of(t, definitions[__builtin_ctzll(asked)]);
    /* A condition may test the name of another type, which is then not defined. */
    if (t->asks & TEMPLATE_ASKS_TYPE) *kind |= UINT64_C(1) << ASKED_TYPE;
    if (t->asks & TEMPLATE_ASKS_EPILOGUE) *kind |= UINT64_C(1) << ASKED_EPILOGUE;
    if (t->asks & TEMPLATE_ASKS_POINTERS) *kind |= UINT64_C(1) << ASKED_POINTERS;
    return hash;
}

#define OF_A_LIBRARY 1

uint64_t kernel_hash(const struct kernel_key *key)
{
    size_t i = 0;
    if (template_is_library(key->config.template)) return OF_A_LIBRARY; /* its configuration says it all */
    while (i < template_count && templates[i] != key->config.template) i++;
    const bool remembers = i < template_count && i < TEMPLATES_MAX;
    uint64_t kind, hash = remembers ? find_known(key, i) : 0;
    if (hash) return hash;
    hash = find_out(key, &kind);
    if (remembers) remember(key, i, kind, hash);
    return hash;
}

void kernel_hash_format(const struct kernel_key *key, char text[KERNEL_HASH_TEXT])
{
    snprintf(text, KERNEL_HASH_TEXT, "%016" PRIx64, kernel_hash(key));
}

bool kernel_hash_means(const struct kernel_key *key, const char *text)
{
    char now[KERNEL_HASH_TEXT];
    kernel_hash_format(key, now);
    return strcmp(text, now) == 0;
}
