/* field_space.c — which files a name of --space means. */
#include "field.h"

#include "own.h"
#include "paths.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static int is_name(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && !strchr(entry->d_name, '.');
}

/* " wide ...": the folders in this one. */
static void list_folders(const char *folder, char *text, size_t room)
{
    struct dirent **entry;
    const int count = scandir(folder, &entry, is_name, alphasort);
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < count; i++) {
        char path[4096 + 256];
        snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        if (is_folder(path) && used < room)
            used += (size_t)snprintf(text + used, room - used, " %s", entry[i]->d_name);
        free(entry[i]);
    }
    if (count >= 0) free(entry);
}

enum status field_space(const char *name, struct space **space)
{
    char spaces[4096], folder[4096 + 512], known[300];
    const bool is_path = strchr(name, '/') != NULL;
    struct stat info;
    if (is_path && !is_folder(name)) return space_load(name, space);
    if (is_path) return space_load_all(name, space);
    enum status st = paths_configs("spaces", spaces, sizeof spaces);
    if (!*name || strcmp(name, "curated") == 0) return st ? st : space_load_all(spaces, space);
    snprintf(folder, sizeof folder, "%s/%.500s", spaces, name);
    if (!st && is_folder(folder)) return space_load_all(folder, space);
    if (is_folder(name)) return space_load_all(name, space);
    if (st || strchr(name, '.') || stat(name, &info) == 0 || errno != ENOENT) return space_load(name, space);
    list_folders(spaces, known, sizeof known);
    return fail(E_INPUT,
                "--space %.100s: there is neither a space of that name nor a file; spaces: curated%s", name,
                known);
}

enum status field_own_space(const struct template *const *own, int count, struct space **space)
{
    enum status st = OK;
    for (int i = 0; i < count && !st; i++) {
        char *const text = own_space(own[i], NULL);
        st = text ? space_add(own[i]->name, text, space) : fail(E_MEMORY, "out of memory for a space");
        free(text);
    }
    return st;
}
