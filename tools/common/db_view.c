#include "db_view.h"

#include "print.h"
#include "this_gpu.h"
#include "workspace.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct search {
    const char *name;
    bool found;
};

static bool measured_here(void *self, const struct db_gpu *gpu)
{
    struct search *search = self;
    search->found = gpu->uuid[0] && gpu_same_name(gpu->gpu.name, search->name);
    return !search->found;
}

/* The first GPU of this machine that was ever measured into this database. */
static enum status choose_this(struct db_view *r, const struct this_gpu *gpus, int count)
{
    if (count == 0)
        return fail(E_GPU,
                    "this machine shows no NVIDIA GPU (/proc/driver/nvidia/gpus); name one, for example "
                    "--gpu h200");
    for (int i = 0; i < count; i++) {
        struct search search = {.name = gpus[i].name};
        enum status st = db_gpus(r->db, measured_here, &search);
        if (st) return st;
        if (!search.found) continue;
        memcpy(r->gpu_name, gpus[i].name, sizeof r->gpu_name);
        r->filter.gpu = r->gpu_name;
        return OK;
    }
    return fail(E_ABSENT,
                "nothing was measured on a GPU like this machine's (%s) into %s; tune --shape ... does",
                gpus[0].name, r->path);
}

enum status db_view_open(struct db_view *r)
{
    enum status st = OK;
    if (r->file) snprintf(r->path, sizeof r->path, "%s", r->file);
    else st = db_default_path(r->path, sizeof r->path);
    if (!st) st = db_open(r->path, DB_READ, &r->db);
    if (st) return st;
    struct this_gpu gpus[THIS_GPUS_MAX];
    int count;
    this_gpus(gpus, &count);
    r->filter.gpu = r->gpu;
    r->filter.alike = true;
    if (r->gpu && strcmp(r->gpu, "this") == 0 && (st = choose_this(r, gpus, count))) return st;
    if (count == 0) return OK;
    const char *here = r->gpu_name[0] ? r->gpu_name : gpus[0].name;
    memcpy(r->now.gpu.name, here, sizeof r->now.gpu.name);
    snprintf(r->now.driver, sizeof r->now.driver, "%s", gpus[0].driver);
    r->now.cold = true;
    return OK;
}

/* What the lists that were read lack. */
static void say_left_out(struct db_view *r)
{
    struct db_later later;
    if (db_count_later(r->db, &later) || later.problems == 0) return;
    print_line(stderr,
               "tune: left out: %" PRId64 " trial%s and %" PRId64 " winner%s of %" PRId64
               " problem%s in %s, which this version cannot read",
               later.trials, later.trials == 1 ? "" : "s", later.winners, later.winners == 1 ? "" : "s",
               later.problems, later.problems == 1 ? "" : "s", r->path);
}

void db_view_close(struct db_view *r)
{
    if (r->db) say_left_out(r);
    db_close(r->db);
    r->db = NULL;
}

struct names {
    char text[400], last[GPU_NAME_MAX];
    size_t used;
};

static bool add_name(void *self, const struct db_gpu *gpu)
{
    struct names *names = self;
    char quoted[GPU_NAME_MAX + 2];
    snprintf(quoted, sizeof quoted, "%s,", gpu->gpu.name);
    if (strstr(names->text, quoted)) return true;
    int length = snprintf(names->text + names->used, sizeof names->text - names->used, " %s", quoted);
    if (length < 0 || names->used + (size_t)length >= sizeof names->text) return false;
    names->used += (size_t)length;
    return true;
}

enum status db_view_nothing(struct db_view *r, const char *what, const char *problem)
{
    struct names names = {0};
    enum status st = db_gpus(r->db, add_name, &names);
    if (st) return st;
    if (names.used) names.text[names.used - 1] = '\0'; /* the last comma */
    return fail(E_ABSENT, "no %s%s%.160s%s%.80s in %s%s%s", what, problem ? " for " : "",
                problem ? problem : "", r->filter.gpu ? " on " : "", r->filter.gpu ? r->filter.gpu : "",
                r->path, names.used ? ", which knows" : "", names.text);
}

const char *reading_shape(const struct problem *problem, char text[PROBLEM_TEXT_MAX])
{
    problem_format(problem, text);
    return strncmp(text, "sgemm:nn:", 9) == 0 ? text + 9 : text;
}

double reading_workspace(const struct db_winner *winner)
{
    return winner->config.template ? (double)workspace_of(&winner->config, &winner->base.problem)
                                   : (double)NAN;
}

void reading_summary(const struct db_winner *winner, char *text)
{
    if (winner->config.template) config_summary(&winner->config, text);
    else snprintf(text, CONFIG_TEXT_MAX, "%s", winner->config_text);
}
