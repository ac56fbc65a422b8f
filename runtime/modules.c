#include "modules.h"

#include "compile.h"
#include "kernel.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum state { BUILDING, READY, FAILED };

struct module {
    struct module *next;
    struct config config; /* only what is compiled into it counts */
    bool trans_a, trans_b;
    enum state state;
    CUmodule module;
    enum status why; /* FAILED */
    char why_text[300];
};

static struct module *find(const struct place *place, const struct config *config,
                           const struct problem *problem)
{
    for (struct module *m = place->modules; m; m = m->next)
        if (m->trans_a == problem->trans_a && m->trans_b == problem->trans_b &&
            config_same_kernel(&m->config, config))
            return m;
    return NULL;
}

/* Compile, or take from the cache, and load. */
static enum status build_in(const char *folder, const struct place *place, struct module *m)
{
    struct compiled out;
    enum status st = compile_config(&m->config, m->trans_a, m->trans_b, place->device.gpu.arch, folder, &out);
    if (!st && !out.built) return fail(E_ABSENT, "the compiler refuses the kernel: %s", out.log);
    return st ? st : kernel_open(out.path, out.checksum, &m->module);
}

/* A cache folder of our own, for where the usual one cannot be written or holds damaged kernels. */
static enum status private_cache(struct gt_handle *handle, char folder[64])
{
    pthread_mutex_lock(&handle->lock);
    enum status st = OK;
    if (!handle->private_cache[0]) {
        char fresh[64] = "/tmp/gemmtune-cache-XXXXXX";
        if (mkdtemp(fresh)) memcpy(handle->private_cache, fresh, sizeof fresh);
        else st = fail(E_IO, "no folder for compiled kernels can be made in /tmp either");
    }
    memcpy(folder, handle->private_cache, 64);
    pthread_mutex_unlock(&handle->lock);
    return st;
}

static enum status build(struct gt_handle *handle, const struct place *place, struct module *m)
{
    char folder[64];
    enum status st = handle->cache[0] ? build_in(handle->cache, place, m)
                                      : fail(E_IO, "there is no folder for compiled kernels");
    if (st != E_IO && st != E_INPUT) return st;
    notice(&handle->notices, NOTICE_CACHE, "compiled kernels are not kept: %s", status_text());
    st = private_cache(handle, folder);
    return st ? st : build_in(folder, place, m);
}

static struct module *add(struct place *place, const struct config *config, const struct problem *problem)
{
    struct module *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    *m = (struct module){.next = place->modules,
                         .config = *config,
                         .trans_a = problem->trans_a,
                         .trans_b = problem->trans_b,
                         .state = BUILDING};
    place->modules = m;
    return m;
}

enum status modules_get(struct gt_handle *handle, struct place *place, const struct config *config,
                        const struct problem *problem, CUmodule *module)
{
    pthread_mutex_lock(&handle->lock);
    struct module *m = find(place, config, problem);
    while (m && m->state == BUILDING) pthread_cond_wait(&handle->built, &handle->lock);
    bool ours = !m;
    if (ours) m = add(place, config, problem);
    pthread_mutex_unlock(&handle->lock);
    if (!m) return fail(E_MEMORY, "out of memory while loading a kernel");
    if (ours) {
        enum status st = build(handle, place, m);
        pthread_mutex_lock(&handle->lock);
        m->state = st ? FAILED : READY;
        m->why = st;
        if (st) snprintf(m->why_text, sizeof m->why_text, "%.299s", status_text());
        pthread_cond_broadcast(&handle->built);
        pthread_mutex_unlock(&handle->lock);
    }
    *module = m->module;
    return m->state == READY ? OK : fail(m->why, "%s", m->why_text);
}

void modules_close(struct place *place)
{
    for (struct module *m = place->modules, *next; m; m = next) {
        next = m->next;
        if (m->module) cuda.ModuleUnload(m->module);
        free(m);
    }
    place->modules = NULL;
}

void modules_remove_private_cache(struct gt_handle *handle)
{
    DIR *folder = handle->private_cache[0] ? opendir(handle->private_cache) : NULL;
    if (!folder) return;
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.') unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    rmdir(handle->private_cache);
}
