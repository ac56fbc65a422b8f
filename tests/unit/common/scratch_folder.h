/* scratch_folder.h — a folder of its own for a test or a group of tests. */
#ifndef GT_SCRATCH_FOLDER_H
#define GT_SCRATCH_FOLDER_H

#include <stdio.h>
#include <stdlib.h>

static char folder[64];

static inline int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/gemmtune-test-XXXXXX");
    unsetenv("GEMMTUNE_CACHE_MIB");
    return mkdtemp(folder) ? 0 : -1;
}

/* With what a test has made read-only. */
static inline int remove_folder(void **state)
{
    (void)state;
    char command[160];
    snprintf(command, sizeof command, "chmod -R u+w '%s'; rm -rf '%s'", folder, folder);
    return system(command);
}

/* The path of a file there; the next three calls leave it be. */
static inline const char *in_folder(const char *name)
{
    static char paths[4][160];
    static int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

#endif
