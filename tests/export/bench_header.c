/* bench_header.c — time of a lookup in an exported header of about 10,000 entries, beside the C library's
 * bsearch over sorted keys and hsearch over keys written as text, with the same queries in the same order. */
#define GT_WINNERS_IMPLEMENTATION
#include "many.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define QUERIES (1 << 12)
#define ROUNDS  101

static const struct gt_winner_gpu *gpu;
static struct gt_winner_shape queries[QUERIES];

struct key {
    int32_t type, op, m, n, k, batch, align, adds_to_c, shared, number;
};
static struct key *keys;

static int compare(const void *x, const void *y)
{
    const int32_t *a = x, *b = y;
    for (int i = 0; i < 9; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

static struct key key_of(const struct gt_winner_shape *s)
{
    return (struct key){
        s->type,           2 * s->trans_a + s->trans_b, (int32_t)s->m, (int32_t)s->n,       (int32_t)s->k,
        (int32_t)s->batch, gt_winner_align(s),          s->adds_to_c,  gt_winner_shared(s), 0};
}

static int by_header(const struct gt_winner_shape *s)
{
    const struct gt_winner *w = gt_winner_exact(gpu, s);
    return w ? (int)(w - gpu->winners) : -1;
}

static int by_bsearch(const struct gt_winner_shape *s)
{
    const struct key key = key_of(s), *found = bsearch(&key, keys, (size_t)gpu->count, sizeof key, compare);
    return found ? found->number : -1;
}

static void key_text(const struct key *k, char text[96])
{
    snprintf(text, 96, "%d %d %d %d %d %d %d %d %d", k->type, k->op, k->m, k->n, k->k, k->batch, k->align,
             k->adds_to_c, k->shared);
}

static int by_hsearch(const struct gt_winner_shape *s)
{
    char text[96];
    const struct key key = key_of(s);
    key_text(&key, text);
    const ENTRY *found = hsearch((ENTRY){.key = text}, FIND);
    return found ? (int)(intptr_t)found->data : -1;
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static int by_value(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static uint64_t random_state = 3;

static uint32_t below(uint32_t n) /* a linear congruential generator will do */
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % n;
}

/* Median over the rounds of the mean time of a query. */
static double time_of(int (*find)(const struct gt_winner_shape *), long *sum)
{
    double times[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        const double start = now_ns();
        for (int i = 0; i < QUERIES; i++) *sum += find(&queries[i]);
        times[round] = (now_ns() - start) / QUERIES;
    }
    qsort(times, ROUNDS, sizeof *times, by_value);
    return times[ROUNDS / 2];
}

int main(void)
{
    gpu = gt_winner_gpu_find(&gt_many_winners, "NVIDIA H200", 90, 132);
    const int32_t count = gpu->count;
    keys = calloc((size_t)count, sizeof *keys);
    if (!keys || !hcreate((size_t)count * 2)) return 2;
    for (int32_t i = 0; i < count; i++) {
        const struct gt_winner *w = &gpu->winners[i];
        char text[96];
        keys[i] =
            (struct key){w->type, w->op, w->m, w->n, w->k, w->batch, w->align, w->adds_to_c, w->shared, i};
        key_text(&keys[i], text);
        hsearch((ENTRY){.key = strdup(text), .data = (void *)(intptr_t)i}, ENTER);
    }
    qsort(keys, (size_t)count, sizeof *keys, compare);
    for (int i = 0; i < QUERIES; i++) { /* one in eight is not there */
        const struct gt_winner *w = &gpu->winners[below((uint32_t)count)];
        queries[i] = gt_winner_shape_make(w->op / 2, w->op % 2, w->m, w->n, w->k + (i % 8 == 0));
        queries[i].type = w->type;
        queries[i].batch = w->batch;
        queries[i].adds_to_c = w->adds_to_c;
        queries[i].stride_a = w->shared & 1 ? 0 : (int64_t)w->m * w->k;
        queries[i].stride_b = w->shared & 2 ? 0 : (int64_t)w->k * w->n;
        queries[i].stride_c = (int64_t)w->m * w->n;
    }
    long sums[3] = {0, 0, 0};
    const double header = time_of(by_header, &sums[0]), sorted = time_of(by_bsearch, &sums[1]),
                 hashed = time_of(by_hsearch, &sums[2]);
    struct gt_winner_match match;
    double start = now_ns();
    int near = 0;
    for (int i = 0; i < QUERIES; i += 64) {
        struct gt_winner_shape s = queries[i];
        s.m = s.lda = s.m + 1;
        near += gt_winner_nearest(gpu, &s, &match.distance) != NULL;
    }
    const double nearest = (now_ns() - start) / (QUERIES / 64.0);
    printf("%d entries: header %.1f ns, bsearch %.1f ns (x %.2f), hsearch %.1f ns (x %.2f); nearest of "
           "another size "
           "%.0f ns (%d found)\n",
           count, header, sorted, sorted / header, hashed, hashed / header, nearest, near);
    if (sums[0] != sums[1] || sums[1] != sums[2]) {
        fprintf(stderr, "the three do not find the same\n");
        return 1;
    }
    return header > sorted; /* the figure itself depends on the machine and who else uses it */
}
