#include "library.h"

#include "env.h"
#include "file_seen.h"
#include "loaded_from.h"
#include "loading.h"
#include "trusted.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDERS_MAX 8

struct folders {
    char path[FOLDERS_MAX][1024];
    int count;
    char foreign[4096]; /* the first that is not used, because it is not trusted */
};

static void add_folder(struct folders *folders, const char *path, size_t length)
{
    if (length == 0 || length >= sizeof folders->path[0] || folders->count == FOLDERS_MAX) return;
    memcpy(folders->path[folders->count], path, length);
    folders->path[folders->count++][length] = '\0';
}

/* The file that contains this code. */
static void own_file(char own[PATH_MAX])
{
    void *(*here)(const struct library_names *, char *) = library_open;
    library_file(&here, own, PATH_MAX);
}

static void note_foreign(char foreign[4096], const char *path)
{
    if (!*foreign && access(path, F_OK) == 0) snprintf(foreign, 4096, "%s", path);
}

/* The folders in which the build found its toolkit: one, or a list separated by ':' or ';'; none in a build
 * that travels. */
static void add_built_with(struct folders *folders)
{
    char own[PATH_MAX], folder[PATH_MAX], resolved[PATH_MAX];
    own_file(own);
    for (const char *at = GT_CUDA_LIBRARIES; *at;) {
        size_t length = strcspn(at, ":;");
        snprintf(folder, sizeof folder, "%.*s", (int)length, at);
        if (trusted(folder, own, resolved)) add_folder(folders, resolved, strlen(resolved));
        else note_foreign(folders->foreign, folder);
        at += length + (at[length] != '\0');
    }
}

/* Debian's packages and NVIDIA's wheels have "lib". */
static void add_toolkit(struct folders *folders, const char *root)
{
    static const char *const names[] = {"lib64", "lib"};
    char path[1024];
    for (size_t i = 0; root && i < sizeof names / sizeof *names; i++) {
        const int length = snprintf(path, sizeof path, "%s/%s", root, names[i]);
        if (length > 0 && (size_t)length < sizeof path) add_folder(folders, path, (size_t)length);
    }
}

static void *open_in(const struct folders *folders, const struct library_names *library)
{
    for (int f = 0; f < folders->count; f++) {
        for (int n = 0; n < library->count; n++) {
            char path[1280];
            int length = snprintf(path, sizeof path, "%s/%s", folders->path[f], library->names[n]);
            if (length < 0 || (size_t)length >= sizeof path) continue;
            void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (handle) return handle;
        }
    }
    return NULL;
}

/* The folder above the one of the file that contains this code, as glob takes it; false if that is not known.
 * A relative name would be one in the working directory, which may be anybody's. */
static bool own_root(const char *own, char *pattern, size_t room)
{
    size_t length = 0;
    const char *end = strrchr(own, '/');
    while (end && end > own && end[-1] != '/') end--;
    if (own[0] != '/' || end <= own) return false;
    for (const char *at = own; at < end && length + 2 < room; at++) {
        if (strchr("*?[]{},\\", *at)) pattern[length++] = '\\';
        pattern[length++] = *at;
    }
    pattern[length] = '\0';
    return length + 2 < room;
}

/* In a wheel of NVIDIA's that pip has put beside us: into an environment, for a user, or with --target. */
static void *open_in_wheel(const struct library_names *library, char foreign[4096])
{
    char own[PATH_MAX], root[2 * PATH_MAX], pattern[2 * PATH_MAX + 256], resolved[PATH_MAX];
    void *handle = NULL;
    own_file(own);
    if (!own_root(own, root, sizeof root)) return NULL;
    for (int n = 0; !handle && n < library->count; n++) {
        glob_t found;
        snprintf(pattern, sizeof pattern, "%s{lib{,64}/python*/{site,dist}-packages/,}nvidia/*/lib/%s", root,
                 library->names[n]);
        if (glob(pattern, GLOB_BRACE, NULL, &found)) continue;
        for (size_t i = 0; !handle && i < found.gl_pathc; i++) {
            char folder[PATH_MAX];
            snprintf(folder, sizeof folder, "%.*s",
                     (int)(strrchr(found.gl_pathv[i], '/') - found.gl_pathv[i]), found.gl_pathv[i]);
            if (!trusted(folder, own, resolved)) note_foreign(foreign, folder);
            else if (!trusted(found.gl_pathv[i], own, resolved)) note_foreign(foreign, found.gl_pathv[i]);
            else handle = dlopen(resolved, RTLD_NOW | RTLD_LOCAL);
        }
        globfree(&found);
    }
    return handle;
}

static void *open_loaded(const struct library_names *library)
{
    void *handle = NULL;
    for (int n = 0; !handle && n < library->count; n++)
        handle = dlopen(library->names[n], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    return handle;
}

static void *open_one(const struct library_names *library, char *why)
{
    why[0] = '\0';
    const char *chosen = env_text(library->variable);
    if (chosen && strchr(chosen, '/') && file_refuse_irregular(chosen)) {
        snprintf(why, LIBRARY_WHY_MAX, "%s names it, but: %.300s", library->variable, status_text());
        return NULL;
    }
    if (chosen) {
        void *handle = dlopen(chosen, RTLD_NOW | RTLD_LOCAL);
        if (!handle) snprintf(why, LIBRARY_WHY_MAX, "%s names it, but: %.300s", library->variable, dlerror());
        return handle;
    }
    struct folders built = {.count = 0}, usual = {.count = 0};
    void *handle = library->as_loaded ? open_loaded(library) : NULL;
    if (!handle && library->in_toolkit) {
        handle = open_in_wheel(library, built.foreign);
        add_built_with(&built);
        const char *home = env_text("CUDA_HOME");
        add_toolkit(&usual, home);
        add_toolkit(&usual, "/usr/local/cuda");
    }
    if (!handle) handle = open_in(&built, library);
    for (int n = 0; !handle && n < library->count; n++)
        handle = dlopen(library->names[n], RTLD_NOW | RTLD_LOCAL);
    if (!handle) handle = open_in(&usual, library);
    if (handle) return handle;

    int used = snprintf(why, LIBRARY_WHY_MAX, "looked for");
    for (int n = 0; n < library->count; n++)
        used +=
            snprintf(why + used, LIBRARY_WHY_MAX - (size_t)used, "%s %s", n ? "," : "", library->names[n]);
    used += snprintf(why + used, LIBRARY_WHY_MAX - (size_t)used, " in %sthe loader's path",
                     library->in_toolkit ? "wheels beside this program, " : "");
    for (int f = 0; f < built.count + usual.count && used < LIBRARY_WHY_MAX - 128; f++)
        used += snprintf(why + used, LIBRARY_WHY_MAX - (size_t)used, ", %.100s",
                         f < built.count ? built.path[f] : usual.path[f - built.count]);
    if (*built.foreign && used < LIBRARY_WHY_MAX)
        snprintf(why + used, LIBRARY_WHY_MAX - (size_t)used,
                 "; not in %.100s, which is another user's or others may write", built.foreign);
    return NULL;
}

void *library_open(const struct library_names *library, char *why)
{
    if (!loading_begin()) {
        snprintf(why, LIBRARY_WHY_MAX, "this process was forked while another thread opened a library");
        return NULL;
    }
    void *handle = open_one(library, why);
    loading_end();
    return handle;
}

void *library_open_loaded(const struct library_names *library, char *why)
{
    const char *chosen = env_text(library->variable);
    void *handle = NULL;
    if (!loading_begin()) {
        snprintf(why, LIBRARY_WHY_MAX, "this process was forked while another thread opened a library");
        return NULL;
    }
    if (chosen) handle = dlopen(chosen, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    else handle = open_loaded(library);
    loading_end();
    if (!handle)
        snprintf(why, LIBRARY_WHY_MAX, "the program has not loaded %.300s",
                 chosen ? chosen : library->names[0]);
    return handle;
}

const char *library_bind(void *library, const struct library_symbol *symbols, int count)
{
    /* Under the drop-in, dlsym finds its functions in place of cuBLAS's, which are meant here. */
    __typeof__(dlsym) *find = dlsym;
    void *real = dlsym(RTLD_DEFAULT, "gemmtune_real_dlsym");
    if (real) memcpy(&find, &real, sizeof find);
    for (int i = 0; i < count; i++) {
        void *address = find(library, symbols[i].name);
        if (!address) return symbols[i].name;
        /* ISO C has no cast from an object pointer to a function pointer; POSIX guarantees the same
         * representation. */
        memcpy(symbols[i].target, &address, sizeof address);
    }
    return NULL;
}

void library_file(const void *entry, char *path, size_t room)
{
    void *symbol;
    memcpy(&symbol, entry, sizeof symbol);
    loaded_from(symbol, path, room);
}

enum status library_load_by(struct library_once *once, enum status (*load)(char version[16]),
                            char version[16])
{
    pthread_mutex_lock(&once->lock);
    enum status st = once->version[0] ? OK : load(once->version);
    if (!st) memcpy(version, once->version, sizeof once->version);
    pthread_mutex_unlock(&once->lock);
    return st;
}

enum status library_load(struct library_once *once, char version[16])
{
    return library_load_by(once, once->load, version);
}
