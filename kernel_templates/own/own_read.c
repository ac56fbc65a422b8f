#include "own_read.h"

#include "own.h"
#include "utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX (1 << 20) /* bytes */
#define PATHS    4096

/* A regular file as text; *text malloc'ed. E_ABSENT: there is none. */
static enum status read_text(const char *path, size_t most, char **text)
{
    struct stat info;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT) return fail(E_ABSENT, "there is no file %.300s", path);
    if (fd < 0) return fail(E_IO, "cannot read %.300s: %s", path, strerror(errno));
    enum status st = OK;
    size_t length = 0;
    *text = NULL;
    if (fstat(fd, &info) || !S_ISREG(info.st_mode)) st = fail(E_INPUT, "%.300s is no file", path);
    else if ((uint64_t)info.st_size > most) st = fail(E_INPUT, "%.300s is longer than %zu bytes", path, most);
    else if (!(*text = malloc(most + 2))) st = fail(E_MEMORY, "out of memory for %.300s", path);
    for (ssize_t got = 1; !st && got > 0 && length <= most; length += got > 0 ? (size_t)got : 0)
        if ((got = read(fd, *text + length, most + 1 - length)) < 0)
            st = fail(E_IO, "cannot read %.300s: %s", path, strerror(errno));
    close(fd);
    if (!st && length > most) st = fail(E_INPUT, "%.300s is longer than %zu bytes", path, most);
    if (!st) (*text)[length] = '\0';
    if (!st && (strlen(*text) != length || !utf8_valid(*text)))
        st = fail(E_INPUT, "%.300s is no text in UTF-8", path);
    if (st) {
        free(*text);
        *text = NULL;
    }
    return st;
}

struct gathering {
    char folder[PATHS];
    json_t *sources; /* [name, text] */
};

static bool is_there(const struct gathering *g, const char *name)
{
    for (size_t i = 0; i < json_array_size(g->sources); i++)
        if (strcmp(json_string_value(json_array_get(json_array_get(g->sources, i), 0)), name) == 0)
            return true;
    return false;
}

static enum status add(struct gathering *g, const char *name, const char *text)
{
    if (json_array_size(g->sources) == OWN_FILES_MAX)
        return fail(E_INPUT, "the kernel includes more than %d files beside it", OWN_FILES_MAX - 1);
    if (json_array_append_new(g->sources, json_pack("[s, s]", name, text)))
        return fail(E_MEMORY, "out of memory for the text of a kernel");
    return OK;
}

/* The name in a line `#include "name"`, or `<name>`; 0: it is no such line. */
static size_t included(const char *line, const char **name)
{
    const char *at = line + strspn(line, " \t");
    if (*at != '#') return 0;
    at += 1 + strspn(at + 1, " \t");
    if (strncmp(at, "include", 7) != 0) return 0;
    at += 7 + strspn(at + 7, " \t");
    if (*at != '"' && *at != '<') return 0;
    *name = at + 1;
    const size_t length = strcspn(*name, "\"<>\n");
    return (*name)[length] == (*at == '"' ? '"' : '>') ? length : 0;
}

/* A loop of includes ends: each file is added once. */
static enum status add_included(struct gathering *g, const char *text)
{
    enum status st = OK;
    for (const char *line = text; *line && !st; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *begin;
        char name[256], path[PATHS + 300], *found;
        const size_t length = included(line, &begin);
        if (length == 0 || length >= sizeof name || *begin == '/') continue;
        snprintf(name, sizeof name, "%.*s", (int)length, begin);
        if (is_there(g, name)) continue;
        snprintf(path, sizeof path, "%s/%s", g->folder, name);
        st = read_text(path, FILE_MAX, &found);
        if (st == E_ABSENT) {
            st = OK;
            continue;
        }
        if (!st) st = add(g, name, found);
        if (!st) st = add_included(g, found);
        if (!st) free(found);
    }
    return st;
}

/* "my.tune" beside "my.cu". */
static enum status find_description(const char *path, char **tune)
{
    char beside[PATHS];
    const char *const dot = strrchr(path, '.');
    snprintf(beside, sizeof beside, "%.*s.tune", (int)(dot - path), path);
    const enum status st = read_text(beside, FILE_MAX, tune);
    return st == E_ABSENT ? OK : st;
}

enum status own_read(const char *path, char **text)
{
    const char *const slash = strrchr(path, '/'), *const file = slash ? slash + 1 : path,
                      *const dot = strrchr(file, '.');
    struct gathering g = {.sources = json_array()};
    char *source = NULL, *tune = NULL;
    *text = NULL;
    if (!g.sources) return fail(E_MEMORY, "out of memory for the text of a kernel");
    enum status st = OK;
    if (strlen(path) + 8 >= sizeof g.folder || !dot || dot == file || strcmp(dot, ".tune") == 0)
        st = fail(E_INPUT, "'%.300s' is no CUDA source: expected a file such as my.cu", path);
    if (slash) snprintf(g.folder, sizeof g.folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    else snprintf(g.folder, sizeof g.folder, ".");
    if (!st && (st = read_text(path, FILE_MAX, &source)) == E_ABSENT) st = fail(E_IO, "%s", status_text());
    if (!st) st = find_description(path, &tune);
    if (!st) st = add(&g, file, source);
    if (!st) st = add_included(&g, source);
    json_t *const all =
        st ? NULL : json_pack("{s:s, s:O, s:s?}", "file", file, "sources", g.sources, "tune", tune);
    if (!st && (!all || !(*text = json_dumps(all, JSON_COMPACT))))
        st = fail(E_MEMORY, "out of memory for the text of a kernel");
    if (!st && strlen(*text) >= OWN_TEXT_MAX)
        st = fail(E_INPUT, "%.300s and its files are longer than %d bytes", path, OWN_TEXT_MAX);
    if (st) {
        free(*text);
        *text = NULL;
    }
    json_decref(all);
    json_decref(g.sources);
    free(source);
    free(tune);
    return st;
}
