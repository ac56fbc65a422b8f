#include "cpu_kernel.h"

#include <dlfcn.h>
#include <errno.h>
#include <kernel_key.h>
#include <launch_walk.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <template.h>
#include <unistd.h>

extern char **environ;

enum { OPTIONS_MAX = 64 };

/* ---- build ---- */

/* The text with all edits of this file applied; malloc'ed, NULL if one does not match. */
static char *edited(const struct source_text *source, const struct edit *edits, int count, int *used)
{
    char *text = strdup(source->text);
    for (int i = 0; text && i < count; i++) {
        if (strcmp(edits[i].file, source->name) != 0) continue;
        char *at = strstr(text, edits[i].find);
        if (!at || strstr(at + 1, edits[i].find)) {
            fail(E_INPUT, "%s: '%s' occurs %s", source->name, edits[i].find,
                 at ? "more than once" : "nowhere");
            free(text);
            return NULL;
        }
        size_t before = (size_t)(at - text), find = strlen(edits[i].find), replace = strlen(edits[i].replace);
        char *changed = malloc(strlen(text) - find + replace + 1);
        if (changed) {
            memcpy(changed, text, before);
            memcpy(changed + before, edits[i].replace, replace);
            strcpy(changed + before + replace, at + find);
        }
        free(text);
        text = changed;
        (*used)++;
    }
    return text;
}

static enum status write_sources(const struct template *t, const struct edit *edits, int count,
                                 const char *folder)
{
    int used = 0;
    for (int i = 0; t->sources[i].name; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, t->sources[i].name);
        char *text = edited(&t->sources[i], edits, count, &used);
        if (!text) return E_INPUT;
        FILE *file = fopen(path, "w");
        bool written = file && fputs(text, file) >= 0;
        if (file && fclose(file)) written = false;
        free(text);
        if (!written) return fail(E_IO, "cannot write %s: %s", path, strerror(errno));
    }
    if (used != count) return fail(E_INPUT, "an edit names a file that %s lacks", t->name);
    return OK;
}

static void remove_folder(const struct template *t, const char *folder)
{
    char path[512];
    for (int i = 0; t->sources[i].name; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, t->sources[i].name);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/kernel.so", folder);
    unlink(path);
    rmdir(folder);
}

static enum status compile(const struct kernel_key *kernel, const char *folder)
{
    const struct template *t = kernel->config.template;
    char text[4096], source[512], library[512];
    const char *arguments[OPTIONS_MAX + 2] = {GT_EXEC_CXX, "-std=c++17", "-x",     "c++",
                                              "-w",        "-fPIC",      "-shared"};
    int count = 7;
    static const char *const fixed[] = {"-O1",
                                        "-fsanitize=address,undefined",
                                        "-fno-sanitize-recover=all",
                                        "-fsanitize-sections=gt_shared",
                                        "-fno-strict-aliasing",
                                        "-DGT_CPU",
                                        "-include",
                                        "gt_cpu.h",
                                        "-I" GT_EXEC_INCLUDE,
                                        "-I"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) arguments[count++] = fixed[i];
    arguments[count++] = folder;
    int definitions =
        kernel_key_definitions(kernel, arguments + count, OPTIONS_MAX - 4 - count, text, sizeof text);
    if (definitions == 0) return fail(E_INPUT, "%s has too many definitions", t->name);
    count += definitions;
    snprintf(source, sizeof source, "%s/%s", folder, t->sources[0].name);
    snprintf(library, sizeof library, "%s/kernel.so", folder);
    arguments[count++] = source;
    arguments[count++] = "-o";
    arguments[count++] = library;
    arguments[count] = NULL;

    pid_t child;
    int ended;
    int error = posix_spawnp(&child, arguments[0], NULL, NULL, (char *const *)(uintptr_t)arguments, environ);
    if (error) return fail(E_COMPILER, "cannot start %s: %s", arguments[0], strerror(error));
    if (waitpid(child, &ended, 0) != child || ended != 0)
        return fail(E_COMPILER, "%s refuses the kernel", arguments[0]);
    return OK;
}

static enum status load(const char *folder, struct cpu_kernel *kernel)
{
    char path[512];
    snprintf(path, sizeof path, "%s/kernel.so", folder);
    kernel->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!kernel->library) return fail(E_COMPILER, "cannot load a kernel: %s", dlerror());
    *(void **)&kernel->static_shared = dlsym(kernel->library, "gt_static_shared");
    if (!kernel->static_shared) return fail(E_COMPILER, "the kernel was not built with gt_cpu.h");
    return OK;
}

enum status cpu_kernel_build(const struct config *config, const struct problem *like,
                             const struct edit *edits, int edit_count, struct cpu_kernel *kernel)
{
    const char *base = getenv("TMPDIR");
    char folder[256];
    snprintf(folder, sizeof folder, "%.200s/gt_exec_XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(folder)) return fail(E_IO, "cannot make a folder like %s: %s", folder, strerror(errno));
    *kernel = (struct cpu_kernel){.config = *config};
    const struct kernel_key key = kernel_key_of(config, like, 0);
    enum status st = write_sources(config->template, edits, edit_count, folder);
    if (!st) st = compile(&key, folder);
    if (!st) st = load(folder, kernel);
    remove_folder(config->template, folder);
    if (st) cpu_kernel_close(kernel);
    return st;
}

void cpu_kernel_close(struct cpu_kernel *kernel)
{
    if (kernel->library) dlclose(kernel->library);
    kernel->library = NULL;
}

/* ---- launch ---- */

/* Exactly as many bytes as the plan asks for, so that the sanitizer detects an access beyond them: counters
 * of 0, then NaN. */
static float *build_workspace(const struct launch_plan *plan)
{
    const int64_t bytes = plan->workspace_bytes;
    if (bytes == 0) return NULL;
    float *workspace = malloc((size_t)bytes);
    if (!workspace) abort();
    for (int64_t i = 0; i < bytes / 4; i++) workspace[i] = i < plan->counters ? 0.0f : NAN;
    return workspace;
}

/* The kernel must have left the counters 0 for its next launch. */
static void check_counters(const struct launch_plan *plan, const float *workspace)
{
    for (int i = 0; i < plan->counters; i++) {
        uint32_t count;
        memcpy(&count, workspace + i, sizeof count);
        if (count == 0) continue;
        fprintf(stderr, "broken kernel: counter %d is left at %u\n", i, count);
        _exit(1);
    }
}

static void run_launch(const struct cpu_kernel *kernel, const struct launch_plan *plan,
                       const struct run_mode *mode, const struct launch *launch)
{
    const struct kernel_launch *planned = &plan->kernel[launch->index];
    if (plan->views > 0 || planned->cluster[0] > 1 || planned->cluster[2] > 1) {
        fprintf(stderr, "'%s' needs tensor maps, or clusters not along y: there are none here\n",
                planned->entry);
        _exit(1);
    }
    struct grid grid = {.static_shared = kernel->static_shared,
                        .size = {launch->grid[0], launch->grid[1], launch->grid[2]},
                        .threads = planned->threads,
                        .smem_bytes = planned->smem_bytes,
                        .cluster = planned->cluster[1],
                        .order = mode->order,
                        .seed = mode->seed};
    *(void **)&grid.kernel = dlsym(kernel->library, planned->entry);
    if (!grid.kernel) {
        fprintf(stderr, "broken kernel: it has no entry '%s'\n", planned->entry);
        _exit(1);
    }
    char *begin, *end;
    kernel->static_shared(&begin, &end);
    if (grid.cluster > 1 && begin != end) {
        fprintf(stderr, "broken kernel: a cluster's blocks would share their static memory here\n");
        _exit(1);
    }
    grid_run(&grid, launch->argument, (size_t)plan->argument_bytes);
}

void cpu_kernel_run(const struct cpu_kernel *kernel, const struct problem *problem,
                    const struct run_mode *mode, const struct cpu_operands *operands)
{
    struct launch_plan plan;
    kernel->config.template->plan(&kernel->config, problem, &plan);
    float *workspace = build_workspace(&plan);
    const float alpha = (float)problem->alpha, beta = (float)problem->beta;
    /* Scalars passed by pointer must not be read by value. */
    const float *const source = operands->source ? operands->source : operands->c;
    const struct launch_call call = {.operand = {[LAUNCH_A] = (uintptr_t)operands->a,
                                                 [LAUNCH_B] = (uintptr_t)operands->b,
                                                 [LAUNCH_C] = (uintptr_t)operands->c,
                                                 [LAUNCH_WORKSPACE] = (uintptr_t)workspace,
                                                 [LAUNCH_SOURCE] = (uintptr_t)source,
                                                 [LAUNCH_BIAS] = (uintptr_t)operands->bias},
                                     .alpha = mode->scalars_on_device ? NAN : alpha,
                                     .beta = mode->scalars_on_device ? NAN : beta,
                                     .alpha_device = mode->scalars_on_device ? (uintptr_t)&alpha : 0,
                                     .beta_device = mode->scalars_on_device ? (uintptr_t)&beta : 0};
    struct launch_walk walk;
    struct launch launch;
    launch_walk_start(&walk, &plan, &call);
    while (launch_walk_next(&walk, &launch)) {
        run_launch(kernel, &plan, mode, &launch);
        if (launch.index == plan.kernels - 1) check_counters(&plan, workspace);
    }
    free(workspace);
}
