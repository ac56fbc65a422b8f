#include "own_kernels.h"

#include "own.h"
#include "own_read.h"

#include <stdlib.h>

enum status own_kernels_add(struct own_kernels *own, const char *path)
{
    char *text = NULL;
    const struct template *t = NULL;
    if (own->count == OWN_KERNELS_MAX)
        return fail(E_USAGE, "one command takes at most %d own kernels", OWN_KERNELS_MAX);
    enum status st = own_read(path, &text);
    if (!st) st = own_add(text, &t);
    free(text);
    if (!st && !own_kernels_have(own, t)) own->template[own->count++] = t;
    return st;
}

enum status own_kernels_space(const struct own_kernels *own, struct space **space)
{
    enum status st = OK;
    for (int i = 0; i < own->count && !st; i++) {
        char *const text = own_space(own->template[i], NULL);
        st = text ? space_add(own->template[i] -> name, text, space)
                  : fail(E_MEMORY, "out of memory for a space");
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
