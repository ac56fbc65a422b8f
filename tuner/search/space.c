/* space.c — reads a space file. What it spans is enumerated in enumerate.c. */
#include "space_values.h"

#include "file_seen.h"
#include "template.h"
#include "text_file.h"
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One line as the INI library may see it: it silently cuts what does not fit its buffer, so reasons go first.
 */
#define LINE_MAX_CHARS 190

struct space_parser {
    struct text_file lines;
    bool continued; /* that line was indented: it continues the one above */
    bool wrong;     /* why is set; only the first reason is kept */
    int wrong_line;
    char why[300];
    struct space *space;
    struct space_section *section; /* being read */
};

static int refuse(struct space_parser *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int refuse(struct space_parser *r, const char *format, ...)
{
    if (r->wrong) return 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->why, sizeof r->why, format, arguments);
    va_end(arguments);
    r->wrong = true;
    r->wrong_line = r->lines.number;
    return 0;
}

/* fgets for the INI library: reads a line and drops the reason after " ;". */
static char *read_line(char *text, int room, void *stream)
{
    struct space_parser *r = stream;
    char *line = text_file_line(&r->lines);
    if (!line) return NULL;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *at = line; (at = strchr(at, ';')); at++) {
        if (at != line && at[-1] != ' ' && at[-1] != '\t') continue;
        *at = '\0';
        break;
    }
    r->continued = (line[0] == ' ' || line[0] == '\t') && line[strspn(line, " \t")] != '\0';
    size_t kept = strlen(line);
    if (kept > LINE_MAX_CHARS || kept + 2 > (size_t)room) {
        refuse(r, "longer than %d characters; continue it on an indented line", LINE_MAX_CHARS);
        kept = 0;
    }
    memcpy(text, line, kept);
    memcpy(text + kept, "\n", 2);
    return text;
}

static struct space_section *open_section(struct space_parser *r, const char *name)
{
    char word[52];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(name, " \t"), name);
    const struct template *t = template_find(word);
    if (!t) {
        refuse(r, "[%.60s] begins with no kernel template", name);
        return NULL;
    }
    struct space *space = r->space;
    for (int i = 0; i < space->section_count; i++)
        if (strcmp(space->section[i].name, name) == 0) {
            refuse(r, "[%s] is given twice", name);
            return NULL;
        }
    struct space_section *grown =
        realloc(space->section, ((size_t)space->section_count + 1) * sizeof *space->section);
    if (!grown) {
        refuse(r, "out of memory");
        return NULL;
    }
    space->section = grown;
    struct space_section *section = &grown[space->section_count++];
    memset(section, 0, sizeof *section);
    snprintf(section->name, sizeof section->name, "%s", name);
    section->template = t;
    section->line = r->lines.number;
    return section;
}

/* Append the values of one line to a parameter. */
static int read_values(struct space_parser *r, const struct param *param, struct space_values *values,
                       const char *text)
{
    char copy[LINE_MAX_CHARS + 1];
    snprintf(copy, sizeof copy, "%s", text);
    char *rest = NULL;
    for (char *word = strtok_r(copy, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
        if (values->count == 0 && !values->first && strcmp(word, "first") == 0) {
            values->first = true;
            continue;
        }
        char *end;
        errno = 0;
        long value = strtol(word, &end, 10);
        if (*end != '\0' || errno || value < param->least || value > param->most)
            return refuse(r, "%s: %.40s is not a whole number in %d..%d", param->name, word, param->least,
                          param->most);
        for (int i = 0; i < values->count; i++)
            if (values->value[i] == value) return refuse(r, "%s: %ld is listed twice", param->name, value);
        if (values->count == SPACE_VALUES_MAX)
            return refuse(r, "%s: more than %d values", param->name, SPACE_VALUES_MAX);
        values->value[values->count++] = (int32_t)value;
    }
    if (values->count == 0) return refuse(r, "%s: no value", param->name);
    return 1;
}

/* Called by the INI library for each line with a value; 0 makes it remember the line as wrong. */
static int read_parameter(void *user, const char *section_name, const char *key, const char *text)
{
    struct space_parser *r = user;
    if (r->wrong) return 0;
    if (section_name[0] == '\0') return refuse(r, "%.60s stands before the first [template]", key);
    if (!r->section || strcmp(r->section->name, section_name) != 0)
        if (!(r->section = open_section(r, section_name))) return 0;
    struct space_section *section = r->section;
    int i = template_param(section->template, key);
    if (i < 0) return refuse(r, "%s has no parameter %.60s", section->template->name, key);
    struct space_values *values = &section->values[i];
    if (values->count > 0 && !r->continued) return refuse(r, "%s is given twice", key);
    return read_values(r, &section->template->params[i], values, text);
}

/* Completes the sections from `first` on, those of one file: a parameter that a section leaves out is as in
 * the first one of its template; one that this leaves out has its least value, if texts may lack it. */
static enum status complete(const char *path, struct space *space, int first)
{
    if (space->section_count == first) return fail(E_INPUT, "%s holds no [template] with values", path);
    for (int i = first; i < space->section_count; i++) {
        struct space_section *section = &space->section[i], *base = space->section;
        const struct template *t = section->template;
        while (base->template != t) base++;
        for (int p = 0; p < t->param_count; p++) {
            if (section->values[p].count == 0) section->values[p] = base->values[p];
            if (section->values[p].count == 0 && t->optional >> p & 1)
                section->values[p] = (struct space_values){.value = {t->params[p].least}, .count = 1};
            if (section->values[p].count == 0)
                return fail(E_INPUT, "%s:%d: [%s] lacks a line for %s; every parameter must be listed", path,
                            section->line, section->name, t->params[p].name);
        }
    }
    return OK;
}

/* The sections of a file behind those that there are; closes it. */
static enum status read_file(FILE *file, const char *path, struct space *space)
{
    const int first = space->section_count;
    struct space_parser r = {.lines = text_file_start(file, "space file", path), .space = space};
    int line = ini_parse_stream(read_line, &r, read_parameter, &r);
    enum status st = text_file_end(&r.lines);
    if (line != 0 || r.wrong) /* the library's own complaint comes first if its line does */
        st = r.wrong && (line <= 0 || r.wrong_line <= line)
                 ? fail(E_INPUT, "%s:%d: %s", path, r.wrong_line, r.why)
                 : fail(E_INPUT, "%s:%d: not a [template] or NAME = VALUES line", path, line);
    else if (!st) st = complete(path, space, first);
    fclose(file);
    return st;
}

static enum status make_space(const char *path, struct space **space)
{
    *space = calloc(1, sizeof **space);
    if (!*space) return fail(E_MEMORY, "out of memory while reading %s", path);
    snprintf((*space)->path, sizeof(*space)->path, "%s", path);
    return OK;
}

enum status space_load(const char *path, struct space **out)
{
    struct space *space;
    FILE *file = fopen(path, "re");
    if (!file) return fail(E_IO, "cannot read the space file %s: %s", path, strerror(errno));
    enum status st = make_space(path, &space);
    if (st) {
        fclose(file);
        return st;
    }
    if ((st = read_file(file, path, space))) space_free(space);
    else *out = space;
    return st;
}

enum status space_add(const char *name, const char *text, struct space **space)
{
    struct space *const before = *space;
    const int sections = before ? before->section_count : 0;
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r"); /* only read */
    if (!file) return fail(E_MEMORY, "out of memory for the space of %s", name);
    enum status st = before ? OK : make_space(name, space);
    if (!st) st = read_file(file, name, *space);
    else fclose(file);
    if (!st) return OK;
    if (before) before->section_count = sections;
    else if (*space) {
        space_free(*space);
        *space = NULL;
    }
    return st;
}

/* The space file of a template in the folder, or in that of its family outside of the tree. */
static enum status read_family(const char *folder, const char *name, struct space *space)
{
    char path[4096];
    enum status st = E_ABSENT;
    for (int i = -1; st == E_ABSENT && (i < 0 || template_folders[i]); i++) {
        const char *in = i < 0 ? folder : template_folders[i];
        if (snprintf(path, sizeof path, "%s/%s", in, name) >= (int)sizeof path)
            return fail(E_INPUT, "the path %.60s... is longer than %zu characters", in, sizeof path - 1);
        FILE *file;
        st = file_open("space file", path, &file);
        if (!st) st = read_file(file, path, space);
    }
    return st;
}

enum status space_load_all(const char *folder, struct space **out)
{
    struct space *space;
    enum status st = make_space(folder, &space);
    for (size_t i = 0; i < template_count && !st; i++) {
        if (!templates[i]->space) continue;
        st = read_family(folder, templates[i]->space, space);
        if (st == E_ABSENT) st = OK;
    }
    if (!st && space->section_count == 0)
        st = fail(E_IO, "%s holds no space file of any kernel family", folder);
    if (st) space_free(space);
    else *out = space;
    return st;
}

void space_free(struct space *space)
{
    if (!space) return;
    free(space->section);
    free(space);
}
