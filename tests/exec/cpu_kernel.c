#include "cpu_kernel.h"

#include "cpu_tensor_map.h"
#include <dlfcn.h>
#include <errno.h>
#include <kernel_key.h>
#include <launch_walk.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <template.h>
#include <unistd.h>
#include <xxhash.h>

extern char **environ;

enum { OPTIONS_MAX = 64, NAME_BYTES = 64 };

/* Every compiled kernel is kept in this folder, under a hash of what it was made from. */
static const char kept[] = GT_EXEC_KERNELS;

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

/* Includes the end of the text, so that two texts are not one longer text. */
static void hash_text(XXH3_state_t *hash, const char *text)
{
    XXH3_128bits_update(hash, text, strlen(text) + 1);
}

static enum status write_sources(const struct template *t, const struct edit *edits, int count,
                                 const char *folder, XXH3_state_t *hash)
{
    int used = 0;
    for (int i = 0; t->sources[i].name; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, t->sources[i].name);
        char *text = edited(&t->sources[i], edits, count, &used);
        if (!text) return E_INPUT;
        hash_text(hash, t->sources[i].name);
        hash_text(hash, text);
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

struct command {
    const char *argument[OPTIONS_MAX + 1];
    int count;
    char text[4096];
};

/* Begins the compiler's command: everything but the names of its files. */
static enum status begin_command(const struct kernel_key *kernel, struct command *command)
{
    static const char *const fixed[] = {GT_EXEC_CXX,
                                        "-std=c++17",
                                        "-x",
                                        "c++",
                                        "-w",
                                        "-Wno-psabi",
                                        "-fPIC",
                                        "-shared",
                                        "-O1",
                                        "-fsanitize=address,undefined",
                                        "-fno-sanitize-recover=all",
                                        "-fsanitize-sections=gt_shared",
                                        "-fno-strict-aliasing",
                                        "-DGT_CPU",
                                        "-include",
                                        "gt_cpu.h",
                                        "-I" GT_EXEC_INCLUDE};
    command->count = 0;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) command->argument[command->count++] = fixed[i];
    const int definitions =
        kernel_key_definitions(kernel, command->argument + command->count, OPTIONS_MAX - 5 - command->count,
                               command->text, sizeof command->text);
    if (definitions == 0) return fail(E_INPUT, "%s has too many definitions", kernel->config.template->name);
    command->count += definitions;
    return OK;
}

static void name_kernel(const struct command *command, XXH3_state_t *hash, char name[NAME_BYTES])
{
    for (int i = 0; i < command->count; i++) hash_text(hash, command->argument[i]);
    hash_text(hash, GT_EXEC_MADE_WITH);
    const XXH128_hash_t digest = XXH3_128bits_digest(hash);
    snprintf(name, NAME_BYTES, "%016llx%016llx.so", (unsigned long long)digest.high64,
             (unsigned long long)digest.low64);
}

static enum status compile(struct command *command, const char *source, const char *folder,
                           const char *library)
{
    char text[512];
    snprintf(text, sizeof text, "%s/%s", folder, source);
    const char *const files[] = {"-I", folder, text, "-o", library, NULL};
    memcpy(command->argument + command->count, files, sizeof files);

    pid_t child;
    int ended;
    const char *const compiler = command->argument[0];
    int error =
        posix_spawnp(&child, compiler, NULL, NULL, (char *const *)(uintptr_t)command->argument, environ);
    if (error) return fail(E_COMPILER, "cannot start %s: %s", compiler, strerror(error));
    if (waitpid(child, &ended, 0) != child || ended != 0)
        return fail(E_COMPILER, "%s refuses the kernel", compiler);
    return OK;
}

static enum status load(const char *path, struct cpu_kernel *kernel)
{
    kernel->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!kernel->library) return fail(E_COMPILER, "cannot load a kernel: %s", dlerror());
    *(void **)&kernel->static_shared = dlsym(kernel->library, "gt_static_shared");
    if (!kernel->static_shared) return fail(E_COMPILER, "the kernel was not built with gt_cpu.h");
    return OK;
}

/* Gives the path of the compiled kernel, which is compiled now unless it is kept. */
static enum status kept_kernel(const struct kernel_key *key, const struct edit *edits, int edit_count,
                               const char *folder, char *path, size_t room)
{
    const struct template *t = key->config.template;
    struct command command;
    char name[NAME_BYTES], fresh[512];
    XXH3_state_t *hash = XXH3_createState();
    if (!hash) abort();
    XXH3_128bits_reset(hash);
    enum status st = write_sources(t, edits, edit_count, folder, hash);
    if (!st) st = begin_command(key, &command);
    if (!st) name_kernel(&command, hash, name);
    XXH3_freeState(hash);
    if (st) return st;
    snprintf(path, room, "%s/%s", kept, name);
    if (access(path, R_OK) == 0) return OK;
    snprintf(fresh, sizeof fresh, "%s/kernel.so", folder);
    st = compile(&command, t->sources[0].name, folder, fresh);
    if (!st && rename(fresh, path)) st = fail(E_IO, "cannot keep %s: %s", path, strerror(errno));
    return st;
}

enum status cpu_kernel_build(const struct config *config, const struct problem *like,
                             const struct edit *edits, int edit_count, struct cpu_kernel *kernel)
{
    char folder[256], path[512];
    mkdir(kept, 0777);
    snprintf(folder, sizeof folder, "%.200s/XXXXXX", kept);
    if (!mkdtemp(folder)) return fail(E_IO, "cannot make a folder like %s: %s", folder, strerror(errno));
    *kernel = (struct cpu_kernel){.config = *config};
    const struct kernel_key key = kernel_key_of(config, like, 0);
    enum status st = kept_kernel(&key, edits, edit_count, folder, path, sizeof path);
    if (!st) st = load(path, kernel);
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

static void cannot(const char *entry, const char *what)
{
    fprintf(stderr, "'%s' needs %s: there are none here\n", entry, what);
    _exit(1);
}

/* What the driver refuses. */
static bool is_encodable(const struct tensor_view *view, uintptr_t address)
{
    bool good = address % 16 == 0;
    for (int i = 0; i < view->rank; i++) {
        good = good && view->box[i] >= 1 && view->box[i] <= 256 && view->extent[i] <= INT64_C(1) << 32;
        if (i > 0)
            good = good && view->stride_bytes[i] % 16 == 0 && view->stride_bytes[i] >= 0 &&
                   view->stride_bytes[i] < INT64_C(1) << 40;
    }
    return good && view->box[0] * (unsigned)element_bytes(view->element) <= view->swizzle_bytes;
}

/* As launcher.c, with the maps of cpu_tensor_map.h. */
static void encode_views(const struct launch_plan *plan, struct launch *launch)
{
    _Static_assert(sizeof(struct cpu_tensor_map) <= LAUNCH_VIEW_BYTES, "a map has its place in the argument");
    for (int v = 0; v < plan->views; v++) {
        const struct tensor_view *view = &plan->view[v];
        if (view->rank != 3 || view->swizzle_bytes == 0) cannot("gemm", "tensor maps of another kind");
        const uintptr_t address = launch->operand[view->operand] + (uintptr_t)view->offset_bytes;
        if (!is_encodable(view, address)) {
            fprintf(stderr, "broken plan: the driver refuses its view %d\n", v);
            _exit(1);
        }
        struct cpu_tensor_map map = {.base = (const char *)address,
                                     .swizzle_bytes = view->swizzle_bytes,
                                     .element_bytes = element_bytes(view->element),
                                     .tf32 = view->element == ELEMENT_TF32,
                                     .mark = CPU_TENSOR_MAP};
        for (int i = 0; i < view->rank; i++) {
            const int64_t most = i == view->k_axis       ? launch->k
                                 : i == view->batch_axis ? launch->items
                                                         : view->extent[i];
            map.extent[i] = most < view->extent[i] ? most : view->extent[i];
            map.stride_bytes[i] = view->stride_bytes[i];
            map.box[i] = view->box[i];
        }
        memcpy(launch->argument + view->at, &map, sizeof map);
    }
}

static void add_region(struct grid *grid, const void *at, size_t bytes)
{
    if (!at || bytes == 0) return;
    if (grid->regions == REGIONS_MAX) abort();
    grid->region[grid->regions++] = (struct region){(void *)(uintptr_t)at, bytes};
}

/* What a dependent kernel must not touch before it has waited. */
static void add_regions(struct grid *grid, const struct launch_plan *plan, const struct launch_call *call,
                        const struct cpu_operands *operands)
{
    for (int i = 0; i < operands->regions; i++)
        add_region(grid, operands->region[i].at, operands->region[i].bytes);
    add_region(grid, (const void *)call->operand[LAUNCH_WORKSPACE], (size_t)plan->workspace_bytes);
    add_region(grid, (const void *)call->alpha_device, sizeof(float));
    add_region(grid, (const void *)call->beta_device, sizeof(float));
}

static void run_launch(const struct cpu_kernel *kernel, const struct launch_plan *plan,
                       const struct run_mode *mode, const struct launch_call *call,
                       const struct cpu_operands *operands, struct launch *launch)
{
    const struct kernel_launch *planned = &plan->kernel[launch->index];
    if (planned->cluster[0] > 1 || planned->cluster[2] > 1) cannot(planned->entry, "clusters not along y");
    encode_views(plan, launch);
    struct grid grid = {.static_shared = kernel->static_shared,
                        .size = {launch->grid[0], launch->grid[1], launch->grid[2]},
                        .threads = planned->threads,
                        .smem_bytes = planned->smem_bytes,
                        .cluster = planned->cluster[1],
                        .order = mode->order,
                        .seed = mode->seed,
                        .dependent = planned->dependent};
    if (planned->dependent) add_regions(&grid, plan, call, operands);
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

static void run_launches(const struct cpu_kernel *kernel, const struct launch_plan *plan,
                         const struct run_mode *mode, const struct launch_call *call,
                         const struct cpu_operands *operands, const float *workspace)
{
    struct launch_walk walk;
    struct launch launch;
    launch_walk_start(&walk, plan, call);
    while (launch_walk_next(&walk, &launch)) {
        run_launch(kernel, plan, mode, call, operands, &launch);
        if (launch.index == plan->kernels - 1) check_counters(plan, workspace);
    }
}

/* Makes the operand's form, from which *plan reads it then. The caller frees it. */
static float *prepare(const struct cpu_kernel *kernel, const struct problem *problem,
                      const struct run_mode *mode, const struct cpu_operands *operands,
                      struct launch_plan *plan)
{
    struct launch_plan preparation;
    const enum launch_operand which = mode->prepared == 1 ? LAUNCH_A : LAUNCH_B;
    const struct template *const template = kernel->config.template;
    if (!template->prepare || !template->prepare(&kernel->config, problem, which, plan, &preparation)) {
        fprintf(stderr, "broken test: the configuration takes no prepared operand\n");
        _exit(1);
    }
    float *const made = build_workspace(&preparation);
    const struct launch_call call = {.operand = {[LAUNCH_A] = which == LAUNCH_A ? (uintptr_t)operands->a : 0,
                                                 [LAUNCH_B] = which == LAUNCH_B ? (uintptr_t)operands->b : 0,
                                                 [LAUNCH_WORKSPACE] = (uintptr_t)made},
                                     .alpha = 1};
    run_launches(kernel, &preparation, mode, &call, operands, made);
    return made;
}

void cpu_kernel_run(const struct cpu_kernel *kernel, const struct problem *problem,
                    const struct run_mode *mode, const struct cpu_operands *operands)
{
    struct launch_plan plan;
    kernel->config.template->plan(&kernel->config, problem, &plan);
    float *workspace = build_workspace(&plan);
    float alpha = (float)problem->alpha, beta = (float)problem->beta;
    /* Scalars passed by pointer must not be read by value. */
    const void *const source = operands->source ? operands->source : operands->c;
    struct launch_call call = {.operand = {[LAUNCH_A] = (uintptr_t)operands->a,
                                           [LAUNCH_B] = (uintptr_t)operands->b,
                                           [LAUNCH_C] = (uintptr_t)operands->c,
                                           [LAUNCH_WORKSPACE] = (uintptr_t)workspace,
                                           [OPERAND_SOURCE] = (uintptr_t)source,
                                           [OPERAND_BIAS] = (uintptr_t)operands->bias},
                               .alpha = mode->scalars_on_device ? NAN : alpha,
                               .beta = mode->scalars_on_device ? NAN : beta,
                               .alpha_device = mode->scalars_on_device ? (uintptr_t)&alpha : 0,
                               .beta_device = mode->scalars_on_device ? (uintptr_t)&beta : 0};
    float *const prepared = mode->prepared ? prepare(kernel, problem, mode, operands, &plan) : NULL;
    call.operand[LAUNCH_PREPARED] = (uintptr_t)prepared;
    run_launches(kernel, &plan, mode, &call, operands, workspace);
    free(prepared);
    free(workspace);
}
