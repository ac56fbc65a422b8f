/* library.h — finds and opens one of NVIDIA's libraries at run time. Knows nothing of their content.
 *
 * The program links none of them, so that every command that needs no GPU works anywhere.
 */
#ifndef GT_LIBRARY_H
#define GT_LIBRARY_H

#include "status.h"
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define LIBRARY_WHY_MAX 512

/* One library: what the user may override it with, and its names, newest first. */
struct library_names {
    const char *variable; /* environment variable that names the file to open; then nothing else is tried */
    const char *const *names;
    int count;
    bool in_toolkit; /* look in the toolkit's folders too, before the system's */
};

/* Open the first that is there: the variable's file, else each name in the folders of the toolkit that this
 * program was built with, then by the loader's own search, then in $CUDA_HOME/lib64 and
 * /usr/local/cuda/lib64. NULL when there is none; why then says where it looked or what the loader said
 * (LIBRARY_WHY_MAX bytes). */
void *library_open(const struct library_names *library, char *why);

/* One entry point: its exported name and where its address goes (a function pointer's address). */
struct library_symbol {
    const char *name;
    void *target;
};

/* The file that an entry point comes from; entry as in struct library_symbol. */
void library_file(const void *entry, char *path, size_t room);

/* A library that is loaded when it is first needed, by whichever thread. */
struct library_once {
    pthread_mutex_t lock;
    enum status (*load)(char version[16]); /* sets the version */
    char version[16];                      /* "" until it is loaded */
};
enum status library_load(struct library_once *once, char version[16]);

/* Look up all; the name of the first that is missing, NULL if none is. */
const char *library_bind(void *library, const struct library_symbol *symbols, int count);

#endif
