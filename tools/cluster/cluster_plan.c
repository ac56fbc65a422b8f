#include "cluster.h"

#include "file_seen.h"
#include "output_file.h"
#include "print.h"
#include "shard.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT     "gemmtune cluster 1"
#define PLAN_BYTES (1 << 20)
#define JOBS_MAX   10000
#define PATIENCE_S 120.0 /* sbatch and squeue of another may take a while */

enum status cluster_plan_path(const struct cluster_plan *plan, char path[PATH_MAX], const char *format, ...)
{
    char rest[PATH_MAX];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(rest, sizeof rest, format, args);
    va_end(args);
    if (length < 0 || length >= PATH_MAX || snprintf(path, PATH_MAX, "%s/%s", plan->dir, rest) >= PATH_MAX)
        return fail(E_INPUT, "the path %.100s... is too long: name a shorter --dir", plan->dir);
    return OK;
}

void cluster_plan_free(struct cluster_plan *plan)
{
    free(plan->jobs);
    plan->jobs = NULL;
    plan->job_count = 0;
}

bool cluster_name_fits(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    return *name && *name != '-' && strlen(name) < CLUSTER_NAME_MAX && !name[strspn(name, letters)];
}

static enum status name_plan(const char *dir, char path[PATH_MAX])
{
    if (snprintf(path, PATH_MAX, "%s/plan.json", dir) < PATH_MAX) return OK;
    return fail(E_INPUT, "the path %.100s... is too long: name a shorter --dir", dir);
}

enum status cluster_plan_hold(const char *dir, int *lock)
{
    char path[PATH_MAX];
    *lock = -1;
    enum status st = name_plan(dir, path);
    if (!st && (st = db_name_hold(path, 0, lock)) == E_BUSY) {
        print_line(stderr, "waiting: another tune cluster slurm is at %s", dir);
        st = db_name_hold(path, PATIENCE_S, lock);
    }
    if (st == E_BUSY)
        return fail(E_BUSY, "another tune cluster slurm has been at %s for %.0f s: wait for it, or stop it",
                    dir, PATIENCE_S);
    if (!st && *lock < 0)
        print_line(stderr,
                   "the file system of %s has no locks: see to it that nobody else submits from it now, or "
                   "shards are sent twice",
                   dir);
    return st;
}

void cluster_plan_release(const char *dir, int lock)
{
    char path[PATH_MAX];
    if (lock >= 0 && !name_plan(dir, path)) db_name_release(path, lock);
}

enum status cluster_plan_add_job(struct cluster_plan *plan, const struct cluster_job *job)
{
    if (plan->job_count == JOBS_MAX)
        return fail(E_INPUT, "%s has been submitted %d times: begin another folder (--dir)", plan->dir,
                    JOBS_MAX);
    struct cluster_job *grown = realloc(plan->jobs, ((size_t)plan->job_count + 1) * sizeof *grown);
    if (!grown) return fail(E_MEMORY, "out of memory for the plan");
    plan->jobs = grown;
    grown[plan->job_count++] = *job;
    return OK;
}

static enum status take(const json_t *root, struct cluster_plan *plan)
{
    const char *format = "", *suite = "", *version = "", *db = "";
    json_int_t problems = -1;
    json_int_t shards = 0, nodes = 0;
    json_t *jobs = NULL;
    size_t i;
    json_t *job;
    if (json_unpack((json_t *)(uintptr_t)root, "{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:o}", "format", &format,
                    "suite", &suite, "version", &version, "db", &db, "shards", &shards, "nodes", &nodes,
                    "problems", &problems, "jobs", &jobs))
        return E_INPUT;
    if (strcmp(format, FORMAT) != 0 || shards < 1 || shards > SHARDS_MAX || nodes < 1 || nodes > SHARDS_MAX ||
        problems < 1 || !json_is_array(jobs) || strlen(suite) != DB_SUITE_HASH_MAX - 1 ||
        strspn(suite, "0123456789abcdef") != DB_SUITE_HASH_MAX - 1 ||
        strlen(version) >= sizeof plan->version || db[0] != '/' || strlen(db) >= sizeof plan->db)
        return E_INPUT;
    snprintf(plan->suite, sizeof plan->suite, "%s", suite);
    snprintf(plan->version, sizeof plan->version, "%s", version);
    snprintf(plan->db, sizeof plan->db, "%s", db);
    plan->shards = (int)shards;
    plan->nodes = (int)nodes;
    plan->problems = problems;
    json_array_foreach(jobs, i, job)
    {
        json_int_t array = 0, merge = 0;
        const char *cluster = "";
        if (json_unpack(job, "{s:I, s:I, s?s}", "array", &array, "merge", &merge, "cluster", &cluster) ||
            array < 1 || merge < 0 || (*cluster && !cluster_name_fits(cluster)))
            return E_INPUT;
        struct cluster_job is = {.array = array, .merge = merge};
        snprintf(is.cluster, sizeof is.cluster, "%s", cluster);
        enum status st = cluster_plan_add_job(plan, &is);
        if (st) return st;
    }
    return OK;
}

enum status cluster_plan_read(const char *dir, struct cluster_plan *plan)
{
    char path[PATH_MAX];
    *plan = (struct cluster_plan){0};
    if (!realpath(dir, plan->dir)) {
        if (errno == ENOENT)
            return fail(E_ABSENT, "there is no folder %s; tune cluster slurm --suite FILE --dir %s makes it",
                        dir, dir);
        return fail(E_IO, "cannot use %s: %s", dir, strerror(errno));
    }
    enum status st = cluster_plan_path(plan, path, "plan.json");
    if (st) return st;
    FILE *file;
    st = file_open("plan", path, &file);
    if (st == E_ABSENT)
        return fail(E_ABSENT, "%s has no plan.json: tune cluster slurm --suite FILE --dir %s makes it", dir,
                    dir);
    if (st) return st;
    char *text = malloc(PLAN_BYTES);
    const size_t got = text ? fread(text, 1, PLAN_BYTES, file) : 0;
    fclose(file);
    if (!text) return fail(E_MEMORY, "out of memory for the plan");
    json_t *root = got < PLAN_BYTES ? json_loadb(text, got, JSON_REJECT_DUPLICATES, NULL) : NULL;
    free(text);
    st = take(root, plan);
    json_decref(root);
    if (st) cluster_plan_free(plan);
    if (st == E_INPUT)
        return fail(E_INPUT,
                    "%s is no plan that this program can read: name another --dir, or begin again with an "
                    "empty one",
                    path);
    return st;
}

enum status cluster_plan_check(const struct cluster_plan *plan)
{
    json_t *text = json_string(plan->db);
    if (!text) return fail(E_INPUT, "the path %.200s is not UTF-8: choose another name for --db", plan->db);
    json_decref(text);
    return OK;
}

enum status cluster_plan_write(const struct cluster_plan *plan)
{
    char path[PATH_MAX];
    struct outfile out;
    json_t *jobs = json_array();
    for (int i = 0; i < plan->job_count; i++) {
        const struct cluster_job *job = &plan->jobs[i];
        json_array_append_new(jobs, json_pack("{s:I, s:I, s:s*}", "array", (json_int_t)job->array, "merge",
                                              (json_int_t)job->merge, "cluster",
                                              *job->cluster ? job->cluster : NULL));
    }
    json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:I, s:o}", "format", FORMAT, "suite",
                             plan->suite, "version", plan->version, "db", plan->db, "shards", plan->shards,
                             "nodes", plan->nodes, "problems", (json_int_t)plan->problems, "jobs", jobs);
    if (!root) return fail(E_MEMORY, "out of memory for the plan");
    enum status st = cluster_plan_path(plan, path, "plan.json");
    if (!st) st = file_refuse_irregular(path);
    if (!st) st = outfile_open(path, &out);
    if (!st) {
        if (json_dumpf(root, out.stream, JSON_INDENT(1)) != 0) st = fail(E_IO, "cannot write %s", path);
        print_end(out.stream);
        st = outfile_close(&out, st);
    }
    json_decref(root);
    return st;
}
