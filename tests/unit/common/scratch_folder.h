/* scratch_folder.h — a folder of its own for a group of tests. */
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

static inline int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

#endif
