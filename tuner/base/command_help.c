#include "command_line.h"

#include "print.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_USUAL  80
#define OPTION_TEXT_AT 28 /* column of what an option does */

/* Calls `each` for every line of text, of which '\n' ends all but the last. */
static void each_line(const char *text, size_t length, void (*each)(void *self, const char *line), void *self)
{
    for (const char *end = text + length; text <= end;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        const size_t size = (size_t)((stop ? stop : end) - text);
        char *line = strndup(text, size);
        if (line) each(self, line);
        free(line);
        text += size + 1;
    }
}

/* Where what comes before the options ends. */
static size_t summary_length(const struct command_line *line)
{
    return strcspn(line->about, "\v");
}

static void put_line(void *columns, const char *line)
{
    if (*line == ' ' || !*line) print_line(stdout, "%s", line); /* an example */
    else print_wrapped(stdout, 0, *(int *)columns, line);
}

/* "-s, --shape=MxNxK". */
static void option_title(const struct command_option *o, const char *no_letter, char title[128])
{
    char letter[8];
    snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(title, 128, "%s--%s%s%s", o->letter ? letter : no_letter, o->name, o->value ? "=" : "",
             o->value ? o->value : "");
}

static void put_option(const struct command_option *o, int columns)
{
    char title[128];
    if (!o->name) {
        print_line(stdout, "%s", o->about);
        return;
    }
    option_title(o, "    ", title);
    const int width = print_width(title);
    print_part(stdout, "  %s", title);
    if (width + 4 > OPTION_TEXT_AT) {
        print_end(stdout);
        print_part(stdout, "%*s", OPTION_TEXT_AT, "");
    } else {
        print_part(stdout, "%*s", OPTION_TEXT_AT - 2 - width, "");
    }
    print_wrapped(stdout, OPTION_TEXT_AT, columns, o->about);
}

void command_help(const struct command_line *line, const char *name)
{
    const size_t summary = summary_length(line);
    const struct command_option *o;
    int columns = print_columns(stdout);
    if (columns < OPTION_TEXT_AT + 20) columns = COLUMNS_USUAL;
    print_line(stdout, "Usage: %s [OPTION...]%s%s", name, line->arguments ? " " : "",
               line->arguments ? line->arguments : "");
    each_line(line->about, summary, put_line, &columns);
    for (int i = 0; (o = command_option_at(line, i)); i++) {
        if (i == 0 || o->group) print_end(stdout);
        put_option(o, columns);
    }
    if (!line->about[summary]) return;
    print_end(stdout);
    each_line(line->about + summary + 1, strlen(line->about + summary + 1), put_line, &columns);
}

/* ---- the man page ---- */

/* What roff does not take for a request or an escape; malloc'ed, NULL out of memory. */
static char *roff(const char *text)
{
    char *escaped = malloc(4 * strlen(text) + 3), *end = escaped;
    if (!escaped) return NULL;
    if (*text == '.' || *text == '\'') end = stpcpy(end, "\\&");
    for (; *text; text++) {
        if (*text == '\\') end = stpcpy(end, "\\e");
        else if (*text == '-') end = stpcpy(end, "\\-");
        else if (*text == '\'') end = stpcpy(end, "\\(aq");
        else *end++ = *text;
    }
    *end = '\0';
    return escaped;
}

static void put_roff(const char *before, const char *text)
{
    char *escaped = roff(text);
    print_line(stdout, "%s%s", before, escaped ? escaped : "");
    free(escaped);
}

/* A page while it is printed. */
struct page {
    const struct command_line *line;
    bool begun;   /* the section has a paragraph */
    bool example; /* within lines that stay as they are */
    bool listed;  /* the options have been printed */
};

static void put_options(struct page *page)
{
    const struct command_option *o;
    char title[128];
    if (page->listed) return;
    page->listed = true;
    print_line(stdout, ".SH OPTIONS");
    for (int i = 0; (o = command_option_at(page->line, i)); i++) {
        if (!o->name) {
            put_roff(".SS ", o->about);
            continue;
        }
        option_title(o, "", title);
        print_line(stdout, ".TP");
        put_roff("", title);
        put_roff("", o->about);
    }
}

/* A paragraph, or a line of an example; what has a section of its own in man pages gets one. */
static void put_paragraph(void *self, const char *line)
{
    static const struct {
        const char *word, *title;
    } sections[] = {{"Examples:", "EXAMPLES"}, {"Example:", "EXAMPLES"}, {"Exit status:", "EXIT STATUS"}};
    struct page *page = self;
    const bool example = *line == ' ';
    if (!*line) return;
    if (page->example != example) print_line(stdout, example ? ".nf" : ".fi");
    page->example = example;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        const size_t length = strlen(sections[i].word);
        if (strncmp(line, sections[i].word, length) != 0) continue;
        put_options(page);
        print_line(stdout, ".SH %s", sections[i].title);
        line += length;
        page->begun = false;
        break;
    }
    line += strspn(line, " ");
    if (page->begun && !example) print_line(stdout, ".PP");
    page->begun = *line;
    if (*line) put_roff("", line);
}

void command_man(const struct command_line *line, const char *name)
{
    const size_t summary = summary_length(line);
    struct page page = {.line = line};
    char words[512], title[64] = "";
    snprintf(words, sizeof words, "%.*s", (int)summary, line->about);
    const size_t length = strlen(words);
    if (length && words[length - 1] == '.') words[length - 1] = '\0';
    words[0] = (char)tolower((unsigned char)words[0]);
    for (size_t i = 0; name[i] && i + 1 < sizeof title; i++) title[i] = (char)toupper((unsigned char)name[i]);
    const char *const build = strstr(command_version, " ("); /* "tune 0.2.0 (...), ..." */
    const size_t version = build ? (size_t)(build - command_version) : strlen(command_version);
    print_line(stdout, ".TH \"TUNE\\-%s\" 1 \"\" \"gemm%.*s\" gemmtune", title, (int)version,
               command_version);
    print_line(stdout, ".SH NAME");
    print_part(stdout, "tune\\-%s \\- ", name);
    put_roff("", words);
    print_line(stdout, ".SH SYNOPSIS");
    print_line(stdout, ".B tune %s", name);
    print_line(stdout, "[OPTION...]%s%s", line->arguments ? " " : "", line->arguments ? line->arguments : "");
    if (line->about[summary]) {
        print_line(stdout, ".SH DESCRIPTION");
        each_line(line->about + summary + 1, strlen(line->about + summary + 1), put_paragraph, &page);
    }
    put_options(&page);
    print_line(stdout, ".SH SEE ALSO");
    print_line(stdout, ".BR tune (1)");
}
