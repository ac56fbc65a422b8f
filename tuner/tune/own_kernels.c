#include "own_kernels.h"

#include "cache.h"
#include "own.h"
#include "own_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status own_kernels_add(struct own_kernels *own, const char *path)
{
    char *text = NULL;
    const struct template *t = NULL;
    if (own->count == CHILDREN_KERNELS_MAX)
        return fail(E_USAGE, "one command takes at most %d own kernels", CHILDREN_KERNELS_MAX);
    enum status st = own_read(path, &text);
    if (!st) st = own_add(text, &t);
    free(text);
    if (!st && !own_kernels_have(own, t)) own->template[own->count++] = t;
    return st;
}

enum status own_kernels_keep(struct own_kernels *own, const char *cache)
{
    enum status st = own->count ? cache_make_folder(cache) : OK;
    for (int i = 0; i < own->count && !st; i++) {
        char path[CACHE_PATH_MAX];
        st = own_keep(own_text(own->template[i]), cache, own->template[i]->name, path, sizeof path);
        if (st || own->path[i]) continue;
        if (!(own->path[i] = strdup(path))) st = fail(E_MEMORY, "out of memory for a path");
    }
    return st;
}

enum status own_kernels_space(const struct own_kernels *own, struct space **space)
{
    enum status st = OK;
    for (int i = 0; i < own->count && !st; i++) {
        char *const text = own_space(own->template[i]);
        st = text ? space_add(own->template[i]->name, text, space) : fail(E_MEMORY, "out of memory for a space");
        free(text);
    }
    return st;
}

bool own_kernels_have(const struct own_kernels *own, const struct template *t)
{
    for (int i = 0; i < own->count; i++)
        if (own->template[i] == t) return true;
    return false;
}

void own_kernels_free(struct own_kernels *own)
{
    for (int i = 0; i < own->count; i++) free((char *)(uintptr_t)own->path[i]);
    own->count = 0;
}
