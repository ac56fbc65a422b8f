#include "paths.h"

#include "env.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Folder of the running program; false if the system does not tell. */
static bool program_folder(char *path, size_t room)
{
    ssize_t length = readlink("/proc/self/exe", path, room - 1);
    if (length <= 0) return false;
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash) return false;
    *slash = '\0';
    return true;
}

enum status paths_configs(const char *what, char *path, size_t room)
{
    const char *join = *what ? "/" : "";
    const char *given = env_text("GEMMTUNE_CONFIGS");
    if (given) {
        snprintf(path, room, "%s%s%s", given, join, what);
        if (is_folder(path)) return OK;
        return fail(E_IO, "no folder %s (GEMMTUNE_CONFIGS names its parent)", path);
    }
    char folder[4096] = "";
    if (program_folder(folder, sizeof folder)) {
        snprintf(path, room, "%s/%s/configs%s%s", folder, GT_SHARE_FROM_BIN, join, what);
        if (is_folder(path)) return OK;
    }
    snprintf(path, room, "%s/configs%s%s", GT_SOURCE_DIR, join, what);
    if (is_folder(path)) return OK;
    return fail(E_IO,
                "the folder configs%s%s is neither in %s/%s nor in %s: set GEMMTUNE_CONFIGS to where it is",
                join, what, folder, GT_SHARE_FROM_BIN, GT_SOURCE_DIR);
}
