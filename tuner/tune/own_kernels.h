/* own_kernels.h — the own kernels of a run (kernel_templates/own/own.h): from the command line to the table
 * of templates and to the space that is searched. Child processes are told of them by children_open.
 */
#ifndef GT_OWN_KERNELS_H
#define GT_OWN_KERNELS_H

#include "space.h"
#include "template.h"

#define OWN_KERNELS_MAX 64

struct own_kernels {
    const struct template *template[OWN_KERNELS_MAX];
    int count;
};

/* Reads a kernel's files and adds it. Errors: as own_read and own_add; E_USAGE, there are too many. */
enum status own_kernels_add(struct own_kernels *own, const char *path);

/* Their values: alone, or behind those that are there (*space not NULL). Errors: E_INPUT, E_MEMORY. */
enum status own_kernels_space(const struct own_kernels *own, struct space **space);

/* Is it one of them? */
bool own_kernels_have(const struct own_kernels *own, const struct template *t);

#endif
