/* Reads the race behind a decision: who ran, and each time. */
#include "db_internal.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

static enum status read_runners(struct db *db, int64_t decision_id, struct db_evidence *e)
{
    struct binder b = db_bind(db, "SELECT e.runner, c.text "
                                  "FROM decision_runners e "
                                  "JOIN configs c ON c.id = e.config_id "
                                  "WHERE e.decision_id = ?1 "
                                  "ORDER BY e.runner");
    bind_int(&b, decision_id);
    enum status st = OK;
    bool row;
    while (!(st = db_next(db, &b, &row, "read a race")) && row) {
        char(*grown)[CONFIG_TEXT_MAX] =
            realloc(e->runner_text, (size_t)(e->runner_count + 1) * sizeof *grown);
        if (!grown) {
            st = fail(E_MEMORY, "out of memory while reading a race");
            break;
        }
        e->runner_text = grown;
        struct reader r = read_start(b.stmt);
        read_int(&r, "runner", e->runner_count, e->runner_count); /* 0, 1, ... without gaps */
        read_text(&r, "configuration", e->runner_text[e->runner_count], CONFIG_TEXT_MAX);
        if (r.bad && (st = db_broken(db, r.bad, decision_id))) break;
        e->runner_count++;
    }
    db_done(&b);
    return st;
}

enum call_timing db_read_timing(struct reader *r)
{
    const int timing = read_int(r, "timing", 0, INT_MAX);
    return timing < TIMING_COUNT ? (enum call_timing)timing : TIMING_COUNT;
}

static enum status read_race(struct db *db, int64_t decision_id, struct db_evidence *e)
{
    struct binder b = db_bind(db, "SELECT runner, round, time_us, timing, joules, sm_clock_mhz, power_w, "
                                  "throttle_reasons "
                                  "FROM decision_samples "
                                  "WHERE decision_id = ?1 "
                                  "ORDER BY position");
    bind_int(&b, decision_id);
    enum status st = OK;
    bool row;
    int room = 0;
    while (!(st = db_next(db, &b, &row, "read a race")) && row) {
        if (e->sample_count == room) {
            room = room ? 2 * room : 256;
            struct db_race_sample *grown = realloc(e->samples, (size_t)room * sizeof *grown);
            if (!grown) {
                st = fail(E_MEMORY, "out of memory while reading a race");
                break;
            }
            e->samples = grown;
        }
        struct reader r = read_start(b.stmt);
        struct db_race_sample *s = &e->samples[e->sample_count];
        s->runner = read_int(&r, "runner", -1, e->runner_count - 1);
        s->round = read_int(&r, "round", 0, 1 << 20);
        s->time_us = read_real(&r, "time_us", 0, INFINITY);
        s->timing = db_read_timing(&r);
        s->joules = read_real(&r, "joules", 0, DB_JOULES_MAX);
        s->sm_clock_mhz = read_int(&r, "sm_clock_mhz", 0, INT_MAX);
        s->power_w = read_real(&r, "power_w", 0, 1e6);
        s->throttle_reasons = (uint64_t)read_long(&r, "throttle_reasons", INT64_MIN, INT64_MAX);
        if (r.bad && (st = db_broken(db, r.bad, decision_id))) break;
        e->sample_count++;
    }
    db_done(&b);
    return st;
}

enum status db_evidence(struct db *db, int64_t decision_id, struct db_evidence *evidence)
{
    struct db_evidence e = {0};
    enum status st = read_runners(db, decision_id, &e);
    if (!st) st = read_race(db, decision_id, &e);
    if (st) db_evidence_free(&e);
    else *evidence = e;
    return st;
}

void db_evidence_free(struct db_evidence *evidence)
{
    free(evidence->runner_text);
    free(evidence->samples);
    *evidence = (struct db_evidence){0};
}
