/* own_kernels.h — the own kernels of a run (kernel_templates/own/own.h): from the command line to the table of
 * templates, to the child processes, which are executed anew and have a table of their own, and to the space that is
 * searched.
 */
#ifndef GT_OWN_KERNELS_H
#define GT_OWN_KERNELS_H

#include "children.h"
#include "space.h"
#include "template.h"

struct own_kernels {
    const struct template *template[CHILDREN_KERNELS_MAX];
    const char *path[CHILDREN_KERNELS_MAX]; /* owned; of their texts for children (own_kernels_keep) */
    int count;
};

/* Reads a kernel's files and adds it. Errors: as own_read and own_add; E_USAGE, there are too many. */
enum status own_kernels_add(struct own_kernels *own, const char *path);

/* Puts the texts into the folder of compiled kernels, where files that change meanwhile change nothing. Errors:
 * E_IO, E_MEMORY. */
enum status own_kernels_keep(struct own_kernels *own, const char *cache);

/* Their values: alone, or behind those that are there (*space not NULL). Errors: E_INPUT, E_MEMORY. */
enum status own_kernels_space(const struct own_kernels *own, struct space **space);

/* Is it one of them? */
bool own_kernels_have(const struct own_kernels *own, const struct template *t);

void own_kernels_free(struct own_kernels *own);

#endif
