#include "paths.h"

#include "env.h"
#include "trusted.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAM "/proc/self/exe"

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* A folder that is there and trusted; its path is resolved. foreign: the first that is only there. */
static bool use_folder(char *path, size_t room, char foreign[PATH_MAX])
{
    char resolved[PATH_MAX];
    if (!is_folder(path)) return false;
    if (trusted(path, PROGRAM, resolved)) return snprintf(path, room, "%s", resolved) < (int)room;
    if (!*foreign) snprintf(foreign, PATH_MAX, "%s", path);
    return false;
}

/* Folder of the running program; false if the system does not tell. */
static bool program_folder(char *path, size_t room)
{
    ssize_t length = readlink(PROGRAM, path, room - 1);
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
        if (snprintf(path, room, "%s%s%s", given, join, what) < (int)room && is_folder(path)) return OK;
        return fail(E_IO, "no folder %s%s (GEMMTUNE_CONFIGS names its parent)", path,
                    errno == EACCES ? ": permission denied" : "");
    }
    static const char *const places[] = {"/" GT_SHARE_FROM_BIN, ""};
    char folder[PATH_MAX] = "", foreign[PATH_MAX] = "";
    const bool known = program_folder(folder, sizeof folder);
    for (size_t i = 0; known && i < sizeof places / sizeof *places; i++)
        if (snprintf(path, room, "%s%s/configs%s%s", folder, places[i], join, what) < (int)room &&
            use_folder(path, room, foreign))
            return OK;
    if (*foreign)
        return fail(
            E_IO,
            "%s is not used: it belongs to another user, or others may write it; set GEMMTUNE_CONFIGS "
            "to the folder configs that you trust",
            foreign);
    return fail(E_IO,
                "the folder configs%s%s is neither in %s/%s nor in %s: set GEMMTUNE_CONFIGS to where it is",
                join, what, folder, GT_SHARE_FROM_BIN, folder);
}

/* Has CMake made this folder? */
static bool is_built_in(const char *folder)
{
    char cache[PATH_MAX];
    return snprintf(cache, sizeof cache, "%s/CMakeCache.txt", folder) < (int)sizeof cache &&
           access(cache, F_OK) == 0;
}

enum status paths_library(const char *file, char *path, size_t room)
{
    static const char *const places[] = {"", "/" GT_LIB_FROM_BIN, "/runtime/dropin"};
    char folder[PATH_MAX] = "", resolved[PATH_MAX], foreign[PATH_MAX] = "";
    if (!program_folder(folder, sizeof folder))
        return fail(E_IO, "/proc is not mounted, so that %s is not found", file);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const int length = snprintf(path, room, "%s%s/%s", folder, places[i], file);
        if (length >= (int)room || access(path, R_OK) != 0) continue;
        if (trusted(path, PROGRAM, resolved) && snprintf(path, room, "%s", resolved) < (int)room) return OK;
        if (!*foreign) snprintf(foreign, sizeof foreign, "%s", path);
    }
    if (*foreign)
        return fail(E_IO, "%s is not used: it belongs to another user, or others may write it", foreign);
    if (is_built_in(folder)) return fail(E_IO, "%s is not built yet: cmake --build %s", file, folder);
    return fail(E_IO, "%s is neither in %s nor in its %s: install it there", file, folder, GT_LIB_FROM_BIN);
}

enum status paths_user(const char *chosen, const char *xdg, const char *home_part, const char *rest,
                       char *path, size_t room)
{
    const char *given = env_text(chosen), *base = env_text(xdg), *home = env_text("HOME");
    const char *part = base && base[0] == '/' ? "" : home_part;
    const struct passwd *user = home ? NULL : getpwuid(geteuid());
    if (user) home = user->pw_dir;
    if (!*part) home = base;
    if (!given && (!home || home[0] != '/'))
        return fail(E_IO, "there is no home folder: set %s, %s or HOME", chosen, xdg);
    const int length = given ? snprintf(path, room, "%s", given)
                             : snprintf(path, room, "%s%s%s/gemmtune%s%s", home, *part ? "/" : "", part,
                                        *rest ? "/" : "", rest);
    if (length >= 0 && (size_t)length < room) return OK;
    return fail(E_INPUT, "the path in %s, %s or HOME is longer than %zu bytes", chosen, xdg, room - 1);
}

static int make_folders(const char *path, mode_t mode, size_t *made)
{
    char folder[PATH_MAX];
    *made = 0;
    if (strlen(path) >= sizeof folder) return ENAMETOOLONG;
    memcpy(folder, path, strlen(path) + 1);
    for (char *at = folder + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        if (mkdir(folder, mode) == 0) {
            if (!*made) *made = (size_t)(at - folder);
        } else if (errno != EEXIST && errno != EISDIR) {
            const int error = errno;
            paths_remove_folders(path, *made);
            return error;
        }
        *at = '/';
    }
    return 0;
}

/* Without the links in what of it is there. */
static bool resolve(const char *path, char resolved[PATH_MAX])
{
    char there[PATH_MAX];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof there) return false;
    memcpy(there, path, length + 1);
    while (!realpath(*there ? there : path[0] == '/' ? "/" : ".", resolved)) {
        if (!*there || (errno != ENOENT && errno != ENOTDIR)) return false;
        char *slash = strrchr(there, '/');
        length = slash ? (size_t)(slash - there) : 0;
        there[length] = '\0';
    }
    const size_t used = strlen(resolved);
    const char *rest = path + length + (path[length] == '/');
    return snprintf(resolved + used, PATH_MAX - used, "%s%s", resolved[1] && *rest ? "/" : "", rest) <
           (int)(PATH_MAX - used);
}

/* Is it inside one of the folders that are the user's alone? A daemon's home may be /, which is nobody's. */
static bool is_at_home(const char *path)
{
    const struct passwd *user = getpwuid(geteuid());
    const char *const homes[] = {env_text("HOME"), env_text("XDG_DATA_HOME"), env_text("XDG_CACHE_HOME"),
                                 user ? user->pw_dir : NULL};
    char whole[PATH_MAX], home[PATH_MAX];
    if (!resolve(path, whole)) return true;
    for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
        if (!homes[i] || homes[i][0] != '/' || !resolve(homes[i], home)) continue;
        const size_t length = strlen(home);
        if (length > 1 && strncmp(whole, home, length) == 0 && whole[length] == '/') return true;
    }
    return false;
}

int paths_make_folders(const char *path, size_t *made)
{
    return make_folders(path, 0700, made);
}

int paths_make_usual_folders(const char *path, size_t *made)
{
    return make_folders(path, is_at_home(path) ? 0700 : 0777, made);
}

int paths_make_open_folders(const char *path, size_t *made)
{
    return make_folders(path, 0777, made);
}

void paths_remove_folders(const char *path, size_t made)
{
    char folder[PATH_MAX];
    if (made == 0 || strlen(path) >= sizeof folder) return;
    memcpy(folder, path, strlen(path) + 1);
    for (char *slash; (slash = strrchr(folder, '/')) && (size_t)(slash - folder) >= made;) {
        *slash = '\0';
        if (rmdir(folder) != 0 && errno != ENOENT && errno != ENAMETOOLONG) return;
    }
}
