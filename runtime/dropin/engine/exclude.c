#include "exclude.h"

#include "problem.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX (16 << 20)
#define SAID_MAX       10 /* texts that are reported as invalid */

static char **excluded; /* full texts and patterns */
static size_t count, room;

static bool keep(const char *text)
{
    if (count == room) {
        size_t more = room ? 2 * room : 16;
        char **grown = realloc(excluded, more * sizeof *grown);
        if (!grown) return false;
        excluded = grown;
        room = more;
    }
    excluded[count] = strdup(text);
    return excluded[count] && ++count;
}

/* A pattern that begins with no type's name matches no problem. */
static bool may_match(const char *pattern)
{
    const size_t plain = strcspn(pattern, "*?[");
    for (int i = 0; i < GEMM_TYPE_COUNT; i++) {
        const char *type = gemm_type_row((enum gemm_type)i)->name;
        const size_t length = strcspn(type, ":");
        if (plain <= length ? strncmp(pattern, type, plain) == 0
                            : strncmp(pattern, type, length) == 0 && pattern[length] == ':')
            return true;
    }
    return false;
}

/* Returns what is wrong with the text; NULL: it was added. */
static const char *add(const char *text)
{
    char full[PROBLEM_TEXT_MAX];
    struct problem problem;
    if (strpbrk(text, "*?[")) {
        if (!may_match(text)) return "a pattern is for a problem's full text, such as sgemm:nt:512x*";
        return keep(text) ? NULL : "out of memory";
    }
    if (problem_parse(text, &problem)) return status_text();
    problem = problem_class(&problem); /* as problems are named here */
    problem_format(&problem, full);
    return keep(full) ? NULL : "out of memory";
}

static void add_all(char *texts, void (*say)(const char *why))
{
    char *rest = NULL, line[700];
    int said = 0;
    for (char *at = texts; (at = strchr(at, '#')); memset(at, ' ', strcspn(at, "\r\n"))) continue;
    for (char *text = strtok_r(texts, ",\r\n", &rest); text; text = strtok_r(NULL, ",\r\n", &rest)) {
        text += strspn(text, " \t");
        size_t length = strlen(text);
        while (length && strchr(" \t", text[length - 1])) text[--length] = '\0';
        const char *why = length ? add(text) : NULL;
        if (!why || ++said > SAID_MAX) continue;
        snprintf(line, sizeof line, "GEMMTUNE_EXCLUDE: '%.80s' is passed over: %.500s", text, why);
        say(line);
    }
}

/* Returns NULL and errno on failure. */
static char *read_file(const char *path)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return NULL;
    char *text = NULL;
    size_t used = 0;
    ssize_t got = -1;
    errno = EINVAL;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) errno = EFBIG;
    if (errno == EFBIG && info.st_size <= FILE_BYTES_MAX) text = malloc((size_t)info.st_size + 1);
    while (text && used < (size_t)info.st_size &&
           (got = read(fd, text + used, (size_t)info.st_size - used)) > 0)
        used += (size_t)got;
    if (text) text[used] = '\0';
    close(fd);
    return text;
}

void exclude_start(const char *value, void (*say)(const char *why))
{
    static char everything[] = "*", *only[] = {everything};
    char line[700];
    if (!value || !value[0]) return;
    char *texts = value[0] == '@' ? read_file(value + 1) : strdup(value);
    if (texts) add_all(texts, say);
    else {
        snprintf(line, sizeof line, "GEMMTUNE_EXCLUDE: everything is excluded: '%.400s' cannot be read: %s",
                 value, strerror(errno));
        excluded = only;
        count = 1;
        say(line);
    }
    free(texts);
}

bool exclude_has(const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strpbrk(excluded[i], "*?[") ? fnmatch(excluded[i], text, 0) == 0 : strcmp(excluded[i], text) == 0)
            return true;
    return false;
}
