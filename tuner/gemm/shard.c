#include "shard.h"

#include "command_line.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum status shard_parse(const char *option, const char *text, struct shard *shard)
{
    int64_t number, count;
    char first[24];
    const char *slash = strchr(text, '/');
    if (!slash || slash == text || slash - text >= (int)sizeof first)
        return fail(E_USAGE, "--%s '%.40s' is not a number and how many there are, such as 0/8 to 7/8",
                    option, text);
    snprintf(first, sizeof first, "%.*s", (int)(slash - text), text);
    enum status st = command_whole(option, slash + 1, 1, SHARDS_MAX, &count);
    if (!st) st = command_whole(option, first, 0, INT64_MAX, &number);
    if (st) return st;
    if (number >= count)
        return fail(E_USAGE,
                    "--%s %.40s: there is no shard %" PRId64 " of %" PRId64
                    ", they are numbered 0 to %" PRId64 " (of a job array: --array=0-%" PRId64 ")",
                    option, text, number, count, count - 1, count - 1);
    *shard = (struct shard){(int)number, (int)count};
    return OK;
}

/* A usual search (docs/results/h200-search-fast.md), the race and the check: what they take beside calls, and
 * calls. */
#define SEARCH_MS    10000
#define SEARCH_CALLS 6500

/* What is assumed of every GPU: an H200's rates, about. */
#define FP32_FLOP_PER_NS   50e3
#define TENSOR_FLOP_PER_NS 500e3
#define BYTES_PER_NS       4e3
#define LAUNCH_NS          3000
#define CALL_NS_MOST       1e12

/* Divisions and one sum, which every machine rounds alike; the rest is in whole numbers. */
uint64_t shard_expected_ms(const struct problem *p)
{
    const bool plain = gemm_type_row(p->type)->a == ELEMENT_F32;
    const double compute = problem_flop(p) / (plain ? FP32_FLOP_PER_NS : TENSOR_FLOP_PER_NS);
    const double memory = problem_bytes(p) / BYTES_PER_NS;
    const uint64_t call_ns = LAUNCH_NS + (uint64_t)fmin(fmax(compute, memory), CALL_NS_MOST);
    return SEARCH_MS + SEARCH_CALLS * call_ns / 1000000;
}

/* ---- dividing ---- */

struct item {
    uint64_t ms;
    const char *text;
    size_t at;
};

static int longest_first(const void *x, const void *y)
{
    const struct item *a = x, *b = y;
    if (a->ms != b->ms) return a->ms > b->ms ? -1 : 1;
    return strcmp(a->text, b->text);
}

struct load {
    uint64_t ms;
    int shard;
};

static bool is_less(const struct load *x, const struct load *y)
{
    return x->ms != y->ms ? x->ms < y->ms : x->shard < y->shard;
}

/* The first of a heap has grown: it sinks. */
static void sink(struct load *heap, int count)
{
    for (int i = 0;;) {
        int least = i;
        for (int child = 2 * i + 1; child <= 2 * i + 2 && child < count; child++)
            if (is_less(&heap[child], &heap[least])) least = child;
        if (least == i) return;
        const struct load load = heap[i];
        heap[i] = heap[least];
        heap[i = least] = load;
    }
}

enum status shard_divide(const uint64_t *ms, const char *const *texts, size_t count, int shards,
                         int *shard_of)
{
    struct item *items = calloc(count + 1, sizeof *items);
    struct load *heap = calloc((size_t)shards, sizeof *heap);
    if (items && heap) {
        for (size_t i = 0; i < count; i++) items[i] = (struct item){ms[i], texts[i], i};
        for (int i = 0; i < shards; i++) heap[i].shard = i; /* all empty: a heap */
        qsort(items, count, sizeof *items, longest_first);
        for (size_t i = 0; i < count; i++) {
            shard_of[items[i].at] = heap[0].shard;
            heap[0].ms += items[i].ms;
            sink(heap, shards);
        }
    }
    const bool done = items && heap;
    free(items);
    free(heap);
    return done ? OK : fail(E_MEMORY, "out of memory for dividing the problems");
}

/* ---- a list of problems ---- */

/* As the budget does (budget_weighted_share): a fifth of the time is divided evenly, the rest by weight. */
#define EVEN_PER_MILLE 200

static uint64_t weighted_ms(uint64_t ms, double weight, double mean)
{
    if (!(mean > 0)) return ms;
    const uint64_t per_mille =
        EVEN_PER_MILLE + (uint64_t)fmin((1000 - EVEN_PER_MILLE) * (weight / mean), 1e9);
    return (uint64_t)fmin((double)ms * (double)per_mille / 1000, 1e15);
}

struct line {
    char text[PROBLEM_TEXT_MAX + 24];
};

static int by_text(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* Of texts in an order of their own. */
static enum status hash_list(const char *const *texts, size_t count, char hash[SHARD_HASH_MAX])
{
    const char **sorted = malloc((count + 1) * sizeof *sorted);
    XXH64_state_t *state = XXH64_createState();
    if (sorted && state) {
        memcpy(sorted, texts, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, by_text);
        XXH64_reset(state, 0);
        for (size_t i = 0; i < count; i++) XXH64_update(state, sorted[i], strlen(sorted[i]) + 1);
        snprintf(hash, SHARD_HASH_MAX, "%016" PRIx64, (uint64_t)XXH64_digest(state));
    }
    const bool done = sorted && state;
    XXH64_freeState(state);
    free(sorted);
    return done ? OK : fail(E_MEMORY, "out of memory for the problems");
}

static enum status take(const struct shard *shard, struct problem *problems, double *weights, size_t *count,
                        char hash[SHARD_HASH_MAX], struct line *lines, const char **texts, uint64_t *ms,
                        int *shard_of)
{
    double sum = 0;
    for (size_t i = 0; weights && i < *count; i++) sum += weights[i];
    for (size_t i = 0; i < *count; i++) {
        char plain[PROBLEM_TEXT_MAX];
        problem_format(&problems[i], plain);
        ms[i] = shard_expected_ms(&problems[i]);
        if (weights) ms[i] = weighted_ms(ms[i], weights[i], sum / (double)*count);
        /* The division is part of what the hash says. */
        snprintf(lines[i].text, sizeof lines[i].text, "%s %" PRIu64, plain, ms[i]);
        texts[i] = lines[i].text;
    }
    enum status st = hash_list(texts, *count, hash);
    if (!st) st = shard_divide(ms, texts, *count, shard->count, shard_of);
    if (st) return st;
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        if (shard_of[i] != shard->number) continue;
        if (weights) weights[kept] = weights[i];
        problems[kept++] = problems[i];
    }
    *count = kept;
    return OK;
}

enum status shard_take(const struct shard *shard, struct problem *problems, double *weights, size_t *count,
                       char hash[SHARD_HASH_MAX])
{
    struct line *lines = calloc(*count + 1, sizeof *lines);
    const char **texts = calloc(*count + 1, sizeof *texts);
    uint64_t *ms = calloc(*count + 1, sizeof *ms);
    int *shard_of = calloc(*count + 1, sizeof *shard_of);
    enum status st = lines && texts && ms && shard_of
                         ? take(shard, problems, weights, count, hash, lines, texts, ms, shard_of)
                         : fail(E_MEMORY, "out of memory for the problems");
    free(lines);
    free(texts);
    free(ms);
    free(shard_of);
    return st;
}
