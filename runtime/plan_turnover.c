#include "plan_turnover.h"

#include <stdlib.h>

void plan_turnover_start(struct plan_turnover *t)
{
    pthread_mutex_init(&t->lock, NULL);
}

void plan_turnover_free(struct plan_turnover *t)
{
    for (struct turned_plan *e = t->newest, *older; e; e = older) {
        older = e->older;
        free(e);
    }
    t->newest = t->oldest = NULL;
    pthread_mutex_destroy(&t->lock);
}

/* What follows is under the lock. */

static void unlink_age(struct plan_turnover *t, struct turned_plan *e)
{
    if (e->newer) e->newer->older = e->older;
    else t->newest = e->older;
    if (e->older) e->older->newer = e->newer;
    else t->oldest = e->newer;
}

static void make_newest(struct plan_turnover *t, struct turned_plan *e)
{
    e->newer = NULL;
    e->older = t->newest;
    if (e->older) e->older->newer = e;
    else t->oldest = e;
    t->newest = e;
}

static struct turned_plan **bucket_of(struct plan_turnover *t, uint64_t hash)
{
    return &t->buckets[hash & (TURNOVER_BUCKETS - 1)];
}

static struct turned_plan *find(struct plan_turnover *t, const struct plan_key *key, uint64_t hash)
{
    struct turned_plan *e = *bucket_of(t, hash);
    while (e && (e->hash != hash || memcmp(&e->key, key, sizeof *key) != 0)) e = e->in_bucket;
    if (!e) return NULL;
    e->taken++;
    unlink_age(t, e);
    make_newest(t, e);
    return e;
}

/* The plan of the oldest that nobody has. */
static struct gt_plan *remove_oldest(struct plan_turnover *t)
{
    struct turned_plan *e = t->oldest;
    while (e && e->taken > 0) e = e->newer;
    if (!e) return NULL;
    struct turned_plan **link = bucket_of(t, e->hash);
    while (*link != e) link = &(*link)->in_bucket;
    *link = e->in_bucket;
    unlink_age(t, e);
    t->count--;
    struct gt_plan *plan = e->plan;
    free(e);
    return plan;
}

static struct turned_plan *insert(struct plan_turnover *t, const struct plan_key *key, uint64_t hash,
                                  struct gt_plan *plan)
{
    struct turned_plan *e = malloc(sizeof *e);
    if (!e) return NULL;
    struct turned_plan **bucket = bucket_of(t, hash);
    *e = (struct turned_plan){.in_bucket = *bucket, .key = *key, .hash = hash, .plan = plan, .taken = 1};
    *bucket = e;
    make_newest(t, e);
    t->count++;
    return e;
}

/* ---- */

struct turned_plan *plan_turnover_take(struct plan_turnover *t, const struct plan_key *key, uint64_t hash)
{
    pthread_mutex_lock(&t->lock);
    struct turned_plan *e = find(t, key, hash);
    pthread_mutex_unlock(&t->lock);
    return e;
}

enum status plan_turnover_add(struct plan_turnover *t, const struct plan_key *key, uint64_t hash,
                              struct gt_plan *plan, struct turned_plan **taken, struct gt_plan **out)
{
    *out = NULL;
    pthread_mutex_lock(&t->lock);
    if ((*taken = find(t, key, hash))) *out = plan;
    else if ((*taken = insert(t, key, hash, plan)) && t->count > PLANS_TURNED) *out = remove_oldest(t);
    pthread_mutex_unlock(&t->lock);
    return *taken ? OK : fail(E_MEMORY, "out of memory for plans");
}

void plan_turnover_put(struct plan_turnover *t, struct turned_plan *taken)
{
    pthread_mutex_lock(&t->lock);
    taken->taken--;
    pthread_mutex_unlock(&t->lock);
}

struct gt_plan *plan_turnover_remove(struct plan_turnover *t)
{
    pthread_mutex_lock(&t->lock);
    struct gt_plan *plan = remove_oldest(t);
    pthread_mutex_unlock(&t->lock);
    return plan;
}
