#include "db_view.h"

#include "blas.h"
#include "compile.h"
#include "print.h"
#include "this_gpu.h"
#include "workspace.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A GPU in the database that is looked for by a name. */
struct search {
    const char *name;
    bool found;        /* it has this name, id or architecture */
    bool measured;     /* and something was measured on it */
    char fitting[400]; /* driver's names of others that fit, each followed by ", " */
    int fitting_count;
    char last[GPU_NAME_MAX];
};

static bool look_at(void *self, const struct db_gpu *gpu)
{
    struct search *s = self;
    char listed[GPU_NAME_MAX + 4];
    snprintf(listed, sizeof listed, "%s, ", gpu->gpu.name);
    if (gpu_same_name(gpu->gpu.name, s->name) || gpu_same_name(gpu->gpu.id, s->name) ||
        gpu_has_arch(&gpu->gpu, s->name)) {
        s->found = true;
        s->measured |= gpu->uuid[0] != '\0';
    } else if (gpu_fits(&gpu->gpu, s->name) && !strstr(s->fitting, listed)) {
        const size_t used = strlen(s->fitting);
        snprintf(s->fitting + used, sizeof s->fitting - used, "%s", listed);
        memcpy(s->last, gpu->gpu.name, sizeof s->last);
        s->fitting_count++;
    }
    return true;
}

static enum status search_for(struct db *db, const char *name, struct search *search)
{
    *search = (struct search){.name = name};
    return db_gpus(db, look_at, search);
}

static enum status use_name(struct db_view *r, const char *name)
{
    memmove(r->gpu_name, name, strlen(name) + 1);
    r->filter.gpu = r->gpu_name;
    return OK;
}

static enum status choose_here(struct db_view *r, const struct this_gpu *gpus, int count)
{
    const int number = command_gpu_number(r->gpu);
    if (count == 0)
        return fail(E_GPU,
                    "this machine shows no NVIDIA GPU (/proc/driver/nvidia/gpus); name one, for example "
                    "--gpu h200");
    if (number >= count)
        return fail(E_GPU, "this machine shows %d GPU%s, numbered from 0: there is no GPU %d", count,
                    PRINT_S(count), number);
    return use_name(r, gpus[number > 0 ? number : 0].name);
}

static enum status choose_this(struct db_view *r, const struct this_gpu *gpus, int count)
{
    struct search search;
    if (command_gpu_number(r->gpu) >= 0) return OK; /* it is chosen */
    for (int i = 0; i < count; i++) {               /* the first that was ever measured into this database */
        enum status st = search_for(r->db, gpus[i].name, &search);
        if (st) return st;
        if (search.measured) return use_name(r, gpus[i].name);
    }
    return fail(E_ABSENT,
                "nothing was measured on a GPU like this machine's (%s) into %s; tune --shape ... does",
                gpus[0].name, r->path);
}

/* A name that none has, but the first words of which one has. */
static enum status choose_named(struct db_view *r)
{
    struct search search;
    enum status st = search_for(r->db, r->gpu, &search);
    if (st || search.found || search.fitting_count == 0) return st;
    if (search.fitting_count == 1) return use_name(r, search.last);
    search.fitting[strlen(search.fitting) - 2] = '\0';
    return fail(E_ABSENT, "'%.60s' fits %d GPUs in %.200s: %s; name one of them", r->gpu,
                search.fitting_count, r->path, search.fitting);
}

/* What counts now, on this machine. */
static void note_here(struct db_view *r, const struct this_gpu *gpus, int count, bool of_here)
{
    if (count == 0) return;
    const char *here = of_here ? r->gpu_name : gpus[0].name;
    memcpy(r->now.gpu.name, here, sizeof r->now.gpu.name);
    snprintf(r->now.driver, sizeof r->now.driver, "%s", gpus[0].driver);
    r->now.cold = true;
}

enum status db_view_open(struct db_view *r)
{
    enum status st = OK;
    struct this_gpu gpus[THIS_GPUS_MAX];
    int count;
    this_gpus(gpus, &count);
    r->filter.gpu = r->gpu;
    r->filter.alike = true;
    const bool of_here = r->gpu && (strcmp(r->gpu, "this") == 0 || command_gpu_number(r->gpu) >= 0);
    if (of_here) st = choose_here(r, gpus, count);
    if (st) return st;
    note_here(r, gpus, count, of_here);
    if (r->file) snprintf(r->path, sizeof r->path, "%s", r->file);
    else st = db_default_path(r->path, sizeof r->path);
    if (!st) st = db_open(r->path, DB_READ, &r->db);
    char why[DB_LACKING_MAX];
    if (!st && db_lacks_log(r->db, why)) print_line(stderr, "tune: %s may lack results: %s", r->path, why);
    if (!st && of_here) st = choose_this(r, gpus, count);
    else if (!st && r->gpu) st = choose_named(r);
    r->empty = st == E_ABSENT && (of_here || !r->db);
    note_here(r, gpus, count, of_here);
    return st;
}

void db_view_versions(struct db_view *r)
{
    char version[16];
    if (!r->now.gpu.name[0]) return;
    if (compile_load(version) == OK) snprintf(r->now.nvrtc, sizeof r->now.nvrtc, "%s", version);
    if (blas_load(version) == OK) snprintf(r->now.cublas, sizeof r->now.cublas, "%s", version);
}

/* What the lists that were read lack. */
static void say_left_out(struct db_view *r)
{
    struct db_later later;
    if (db_count_later(r->db, &later) || later.problems == 0) return;
    print_line(stderr,
               "tune: left out: %" PRId64 " trial%s and %" PRId64 " winner%s of %" PRId64
               " problem%s in %s, which this version cannot read",
               later.trials, PRINT_S(later.trials), later.winners, PRINT_S(later.winners), later.problems,
               PRINT_S(later.problems), r->path);
}

void db_view_close(struct db_view *r)
{
    if (r->db) say_left_out(r);
    db_close(r->db);
    r->db = NULL;
}

struct names {
    char text[400];
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

enum status db_view_nothing(struct db_view *r, const char *what, const struct problem_list *problems)
{
    struct names names = {0};
    char text[PROBLEM_TEXT_MAX], several[32], *problem = NULL;
    enum status st = db_gpus(r->db, add_name, &names);
    if (st) return st;
    if (problems->count) problem_format(&problems->at[0], problem = text);
    if (problems->count > 1) snprintf(problem = several, sizeof several, "%zu problems", problems->count);
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

struct accuracy_claim reading_claim(const struct db_winner *w)
{
    const struct accuracy own = db_errors_accuracy(&w->errors), rival = db_errors_accuracy(&w->rival_errors);
    return gemm_type_has_limits(w->base.problem.type) ? accuracy_claim_of(&own, &rival, &w->checked)
                                                      : (struct accuracy_claim){.rms = 0};
}

void reading_brief(const struct db_winner *winner, char *text)
{
    if (winner->config.template) config_brief(&winner->config, text);
    else snprintf(text, CONFIG_TEXT_MAX, "%s", winner->config_text);
}
