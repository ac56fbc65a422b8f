#include "cluster.h"

#include "command_line.h"
#include "db_exchange.h"
#include "file_seen.h"
#include "print.h"
#include "shard_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* For another process that writes the database. */
#define WAIT_S      600
#define WAIT_STEP_S 2

struct merging {
    const struct cluster_plan *plan;
    struct cluster_view view;
    struct shard_file *files; /* owned, with their paths; that of each shard */
    struct db_merged sum;
    struct stat *judged; /* owned; the files as they were before they were read */
    int *numbers;        /* while it merges: of the shards */
    int merged, missing, unfinished, refused;
    int unsent;        /* of those missing: nothing was submitted yet */
    int other_version; /* of those refused: no task can go on with them */
    int short_of_time; /* finished, with problems left out */
};

static enum status name_files(struct merging *m)
{
    const int count = m->plan->shards;
    char path[PATH_MAX];
    m->files = calloc((size_t)count, sizeof *m->files);
    m->judged = calloc((size_t)count, sizeof *m->judged);
    if (!m->files || !m->judged) return fail(E_MEMORY, "out of memory for %d shards", count);
    for (int i = 0; i < count; i++) {
        enum status st = cluster_plan_path(m->plan, path, "shards/%d.db", i);
        if (st) return st;
        if (!(m->files[i].path = strdup(path))) return fail(E_MEMORY, "out of memory for %d shards", count);
        (void)file_see(path, &m->judged[i]); /* one that cannot be looked at is refused, and stays */
    }
    return OK;
}

static void refuse(void *self, int number, enum status st)
{
    struct merging *m = self;
    struct shard_file *file = &m->files[m->numbers[number]];
    snprintf(file->why, sizeof file->why, "%.500s", status_text());
    file->st = st;
    m->merged--;
}

/* All that can be, in one transaction: much faster than each in its own. */
static enum status take_in(struct merging *m, struct db *db)
{
    const size_t room = (size_t)m->plan->shards;
    const char **paths = calloc(room, sizeof *paths);
    m->numbers = calloc(room, sizeof *m->numbers);
    enum status st = OK;
    if (!paths || !m->numbers) st = fail(E_MEMORY, "out of memory for %zu shards", room);
    for (int i = 0; paths && m->numbers && i < m->plan->shards; i++) {
        if (m->files[i].st) continue;
        m->numbers[m->merged] = i;
        paths[m->merged++] = m->files[i].path;
    }
    const struct db_refusal refusal = {.visit = refuse, .self = m};
    db_accepts_kernels = true; /* they are those of this user's own command */
    if (!st) st = db_merge_sound(db, paths, m->merged, &refusal, &m->sum);
    free(paths);
    free(m->numbers);
    return st;
}

#define ASIDE_MAX        1000
#define ASIDE_PATIENCE_S 2.0 /* another copy takes the place at this moment */

/* A file that no task could go on from makes room for another; nothing is lost. name: what it is called then,
 * in its folder. */
static bool put_aside(const struct shard_file *file, const struct stat *judged, char name[PATH_MAX])
{
    struct stat now;
    int error = EEXIST, lock;
    if ((file->st != E_DB && file->st != E_INPUT) || file->other_version) return false;
    if (db_name_hold(file->path, ASIDE_PATIENCE_S, &lock)) return false;
    /* Unless a task has replaced it since. */
    const bool same = !file_see(file->path, &now) && file_unchanged(judged, &now);
    for (int i = 1; same && i < ASIDE_MAX && error == EEXIST; i++) {
        const int length = snprintf(name, PATH_MAX, i == 1 ? "%s.refused" : "%s.refused.%d", file->path, i);
        error = length < PATH_MAX ? file_rename_new(file->path, name) : ENAMETOOLONG;
    }
    db_name_release(file->path, lock);
    return error == 0;
}

/* "" or " (interrupted: WHY)", beside a sentence that says `beside` itself. */
static const char *in_brackets(const struct cluster_shard *s, enum shard_state beside, char text[400])
{
    const bool known = s->state == beside;
    *text = '\0';
    if (!known || *s->why)
        snprintf(text, 400, " (%s%s%s)", known ? "" : shard_state_name(s->state),
                 !known && *s->why ? ": " : "", s->why);
    return text;
}

static void say_why(struct merging *m, int i)
{
    const struct shard_file *file = &m->files[i];
    const struct cluster_shard *s = &m->view.shards[i];
    char state[400], aside[PATH_MAX];
    if (file->st == E_ABSENT) {
        m->missing++;
        m->unsent += s->state == SHARD_UNSENT;
        if (s->state == SHARD_UNSENT) print_line(stderr, "shard %d was not sent yet", i);
        else print_line(stderr, "shard %d is missing%s", i, in_brackets(s, SHARD_MISSING, state));
    } else if (file->st) {
        m->refused++;
        m->other_version += file->other_version;
        print_line(stderr, "shard %d is not merged: %s", i, file->why);
        if (put_aside(file, &m->judged[i], aside))
            print_line(stderr, "    it is kept as shards/%s, and counts as missing", strrchr(aside, '/') + 1);
    } else if (!file->shard.finished) {
        m->unfinished++;
        print_line(stderr, "shard %d is merged as far as it is, but not finished%s", i,
                   in_brackets(s, SHARD_DONE, state));
    } else if (s->left_out > 0) {
        m->short_of_time++;
        print_line(stderr, "shard %d is merged; its budget ended before %" PRId64 " of its problems", i,
                   s->left_out);
    }
}

/* The merging job of another array may be at it. */
static enum status open_patiently(const char *path, struct db **db)
{
    enum status st = db_open(path, DB_WRITE, db);
    if (st == E_BUSY) print_line(stderr, "waiting: %s", status_text());
    for (int waited_s = 0; st == E_BUSY && waited_s < WAIT_S; waited_s += WAIT_STEP_S) {
        sleep(WAIT_STEP_S);
        st = db_open(path, DB_WRITE, db);
    }
    return st;
}

static enum status merge_all(struct merging *m)
{
    const struct cluster_plan *plan = m->plan;
    struct shard_kind kind = {.count = plan->shards};
    struct db *db = NULL;
    snprintf(kind.suite, sizeof kind.suite, "%s", plan->suite);
    enum status st = shard_files_read(m->files, plan->shards, &kind);
    for (int i = 0; !st && i < plan->shards; i++)
        if (!m->files[i].st && m->files[i].shard.number != i) {
            m->files[i].st = E_INPUT;
            snprintf(m->files[i].why, sizeof m->files[i].why, "%s is shard %d", m->files[i].path,
                     m->files[i].shard.number);
        }
    bool any = false;
    for (int i = 0; i < plan->shards; i++) any |= !m->files[i].st;
    if (!st && any) st = open_patiently(plan->db, &db);
    if (!st && any) st = db_check_whole(db);
    if (!st && any) st = take_in(m, db);
    return db_finish(db, st);
}

static enum status say_what_lacks(const struct merging *m)
{
    const struct cluster_plan *plan = m->plan;
    char counts[200], again[PATH_MAX + 100] = "", other[2 * PATH_MAX + 200] = "";
    const int due = m->missing + m->unfinished + m->refused + m->short_of_time - m->other_version;
    if (due + m->other_version == 0) return OK;
    int used =
        snprintf(counts, sizeof counts, "of %d shard%s %d %s %s, %d unfinished, %d refused", plan->shards,
                 PRINT_S(plan->shards), m->missing, m->missing == 1 ? "is" : "are",
                 m->unsent && m->unsent == m->missing ? "not sent" : "missing", m->unfinished, m->refused);
    if (m->short_of_time)
        snprintf(counts + used, sizeof counts - (size_t)used, ", %d short of time", m->short_of_time);
    if (due)
        snprintf(again, sizeof again, "tune cluster slurm --dir %s --resume --submit sends %s%s", plan->dir,
                 m->other_version ? "the others" : "them", due == m->unsent ? "" : " again");
    if (m->other_version)
        snprintf(other, sizeof other,
                 "those of another version go on with that one only: tune merge %s %s/shards/*.db, without "
                 "--shards, by the newer of both, takes them in, and another --dir begins anew%s",
                 plan->db, plan->dir, due ? "; " : "");
    return fail(E_ABSENT, "%s: %s%s", counts, other, again);
}

enum status cluster_merge(const struct cluster_plan *plan)
{
    struct merging m = {.plan = plan};
    db_choose = ""; /* nobody names files here */
    enum status st = view_open(plan, &m.view);
    if (!st) st = name_files(&m);
    if (!st) st = merge_all(&m);
    if (!st) {
        for (int i = 0; i < plan->shards; i++) say_why(&m, i);
        show_slow_gpus(&m.view);
        print_line(stdout,
                   "%s: %d of %d shard%s; %" PRId64 " trial%s, %" PRId64 " decision%s, %" PRId64
                   " run%s added, %" PRId64 " known before; %" PRId64 " winner%s new or changed",
                   plan->db, m.merged, plan->shards, PRINT_S(plan->shards), m.sum.trials,
                   PRINT_S(m.sum.trials), m.sum.decisions, PRINT_S(m.sum.decisions), m.sum.runs,
                   PRINT_S(m.sum.runs), m.sum.known, m.sum.winners, PRINT_S(m.sum.winners));
        st = say_what_lacks(&m);
    }
    free(m.judged);
    for (int i = 0; m.files && i < plan->shards; i++) free((char *)(uintptr_t)m.files[i].path);
    free(m.files);
    view_close(&m.view);
    return st;
}
