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

/* One library: the environment variable that overrides it, and its names, newest first. */
struct library_names {
    const char *variable; /* names the file to open; then nothing else is tried */
    const char *const *names;
    int count;
    bool in_toolkit; /* search wheels and the toolkit's folders before the system's */
    bool as_loaded;  /* take what the process has loaded before all: the program's own */
};

/* Opens the first that is found: the variable's file, else each name in NVIDIA's wheels for Python in the
 * same environment as the file that contains this code (ROOT/lib/python.../site-packages/nvidia/.../lib, or
 * ROOT/nvidia by pip's --target, if that file is ROOT/bin/... or ROOT/lib/...), then in the folders of the
 * toolkit that this program was built with, if it does not travel, then by the loader's own search, then in
 * lib64 and lib of $CUDA_HOME and of /usr/local/cuda. Wheels and folders of the build must be trusted
 * (trusted.h). NULL if there is none; then `why` has the places that were searched or the loader's message
 * (LIBRARY_WHY_MAX bytes). */
void *library_open(const struct library_names *library, char *why);

/* The same, but only what the process has loaded already: the variable's file, else the first of the names.
 * It stays loaded. */
void *library_open_loaded(const struct library_names *library, char *why);

/* One entry point: its exported name, and the address of the function pointer to set. */
struct library_symbol {
    const char *name;
    void *target;
};

/* The file that contains an entry point; entry as in struct library_symbol. */
void library_file(const void *entry, char *path, size_t room);

/* A library that is loaded at its first use, by any thread. */
struct library_once {
    pthread_mutex_t lock;
    enum status (*load)(char version[16]); /* sets the version */
    char version[16];                      /* "" until it is loaded */
};
enum status library_load(struct library_once *once, char version[16]);

/* The same by another function, for a caller that wants another one if none has been loaded. */
enum status library_load_by(struct library_once *once, enum status (*load)(char version[16]),
                            char version[16]);

/* Looks up all symbols. Returns the name of the first that is missing, or NULL. */
const char *library_bind(void *library, const struct library_symbol *symbols, int count);

#endif
