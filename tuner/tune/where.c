#include "where.h"

#include "cores.h"
#include "paths.h"
#include "print.h"
#include <stdio.h>
#include <string.h>

static bool same_gpu(const struct gpu *here, const char *wanted, const struct gpu *described)
{
    return gpu_fits(here, wanted) || (described && gpu_same_name(here->name, described->name));
}

static enum status start_children(const struct tune_options *o, const int *devices, int device_count,
                                  struct children **children)
{
    struct children_options options = {
        .cache = o->cache, .compilers = o->compilers, .devices = devices, .device_count = device_count};
    return children_open(&options, children);
}

/* GPUs of this machine, by number. */
static enum status use_present(const struct tune_options *o, struct where *where)
{
    enum status st = start_children(o, o->devices, o->device_count, &where->children);
    if (st == E_GPU && !o->refresh)
        return fail(E_GPU, "%s; to predict for a GPU that is elsewhere, name it: --gpu h200", status_text());
    if (st) return st;
    where->count = children_workers(where->children);
    for (int i = 0; i < where->count; i++) where->workers[i] = i;
    return OK;
}

static void say_absent(const char *gpu)
{
    char line[GPU_NAME_MAX + 100];
    snprintf(line, sizeof line, "no %s here (tune doctor says more): times are predicted, not measured", gpu);
    print_wrapped(stderr, 0, print_columns(stderr), line);
}

/* A GPU by name: measured if it is here, predicted from its description if it is not. */
static enum status use_named(const struct tune_options *o, struct where *where)
{
    char folder[TUNE_PATH_MAX];
    enum status known = paths_configs("gpus", folder, sizeof folder);
    if (!known) known = gpu_choose(folder, o->gpu, &where->described);
    char unknown[512];
    snprintf(unknown, sizeof unknown, "%s", status_text());

    enum status st = start_children(o, o->devices, o->gpus_given ? o->device_count : CHILDREN_ALL_DEVICES,
                                    &where->children);
    if (st && st != E_GPU) return st;
    for (int i = 0; !st && i < children_workers(where->children); i++) {
        const struct gpu *here = &children_worker(where->children, i)->gpu;
        bool wanted = same_gpu(here, o->gpu, known == OK ? &where->described : NULL);
        if (wanted && (o->gpus_given || where->count == 0)) where->workers[where->count++] = i;
        else children_give_up(where->children, i, "not asked for");
    }
    if (where->count > 0) return OK;
    if (known) return fail(known == E_ABSENT ? E_INPUT : known, "%s", unknown);
    children_close(where->children);
    where->children = NULL;
    if (o->refresh)
        return fail(E_GPU, "there is no %s here, on which winners could race", where->described.name);
    say_absent(where->described.name);
    where->predict = true;
    return start_children(o, NULL, 0, &where->children);
}

/* Each compiler takes a tenth of a second of a core to start, and those that wait for a core compile nothing.
 */
static void limit_compilers(struct tune_options *o)
{
    enum { A_CORE = 4, LEAST = 16 };
    const int cores = cores_allowed(), most = A_CORE * cores > LEAST ? A_CORE * cores : LEAST;
    if (o->compilers <= most) return;
    print_line(stderr,
               "tune: --jobs %d: only %d compilers are started, because this process may use %d core%s and "
               "more would "
               "spend the budget on starting (at most %d a core, and %d where that is less)",
               o->compilers, most, cores, PRINT_S(cores), A_CORE, LEAST);
    o->compilers = most;
}

enum status where_open(struct tune_options *o, struct where *where)
{
    limit_compilers(o);
    return o->gpu ? use_named(o, where) : use_present(o, where);
}

const struct gpu *where_gpu(const struct where *where, int i, bool *again)
{
    const struct gpu *gpu = &children_worker(where->children, where->workers[i])->gpu;
    *again = false;
    for (int j = 0; j < i && !*again; j++) {
        const struct gpu *other = &children_worker(where->children, where->workers[j])->gpu;
        *again = strcmp(gpu->name, other->name) == 0 && gpu->sm_count == other->sm_count;
    }
    return gpu;
}
