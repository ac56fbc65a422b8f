#include "suite.h"

#include "print.h"
#include "suite_forms.h"
#include "text_file.h"
#include "utf8.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* ---- as people write it ---- */

/* Where the sizes are: behind the type and the op, if they are named. *op_named: the op is. */
static const char *sizes_of(const char *text, bool *op_named)
{
    *op_named = false;
    for (const char *colon; isalpha((unsigned char)*text) && (colon = strchr(text, ':')); text = colon + 1)
        *op_named = colon - text == 2 && strspn(text, "nt") >= 2;
    return text;
}

/* Blanks and commas between the first three numbers become x: "4096, 512 64" is 4096x512x64. */
static void join_sizes(char *sizes)
{
    char *from = sizes, *to = sizes;
    for (int i = 0; i < 3; i++) {
        const size_t digits = strspn(from, "0123456789");
        memmove(to, from, digits);
        to += digits;
        from += digits;
        const size_t between = strspn(from, " \t,");
        if (!digits || !between || !isdigit((unsigned char)from[between]) || i == 2) break;
        *to++ = 'x';
        from += between;
    }
    memmove(to, from, strlen(from) + 1);
}

/* "M,N,K": the head of a table. */
static bool is_head(const char *text)
{
    char letters[4] = "";
    for (size_t used = 0; *text; text++) {
        if (strchr(" \t,", *text)) continue;
        if (used == 3) return false;
        letters[used++] = *text;
    }
    return strcasecmp(letters, "mnk") == 0;
}

/* A line of TunableOp about the programs that measured, also without its first word. */
static bool is_validator(const char *text)
{
    static const char *const names[] = {"Validator,",      "PT_VERSION,",       "CUDA_VERSION,",
                                        "ROCM_VERSION,",   "ROCBLAS_VERSION,",  "HIPBLASLT_VERSION,",
                                        "CUBLAS_VERSION,", "CUBLASLT_VERSION,", "GCN_ARCH_NAME,"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(text, names[i], strlen(names[i])) == 0) return true;
    return false;
}

/* ---- lines and files ---- */

/* what: of E_ABSENT, the kind that is left out; "": it is no problem at all. */
static enum status read_line(const char *text, struct form_usual usual, struct problem *problem,
                             const char **what)
{
    char full[PROBLEM_TEXT_MAX + 8];
    bool op_named;
    *what = "";
    if (is_head(text) || is_validator(text)) return fail(E_ABSENT, "%s", "");
    if (form_is_known(text)) return form_read(text, usual, problem, what);
    if (strlen(text) >= PROBLEM_TEXT_MAX) return problem_parse_as(text, usual.type, problem);
    const char *sizes = sizes_of(text, &op_named);
    const bool adds_op = usual.op && !op_named;
    const int before = (int)(sizes - text);
    snprintf(full, sizeof full, "%.*s%s%s%s", before, text, adds_op ? usual.op : "", adds_op ? ":" : "",
             sizes);
    join_sizes(full + before + (adds_op ? strlen(usual.op) + 1 : 0));
    return problem_parse_as(full, usual.type, problem);
}

enum status suite_line(const char *text, enum gemm_type type, const char *op, struct problem *problem)
{
    const char *what;
    return read_line(text, (struct form_usual){type, op}, problem, &what);
}

/* A text that does not fit is cut, and still too long to be a problem. */
bool suite_range(const char *text, int64_t *m, char line[SUITE_LINE_MAX])
{
    const char *const dots = strstr(text, ".."), *first = dots;
    char *end = NULL;
    while (first && first > text && isdigit((unsigned char)first[-1])) first--;
    const int64_t least = first < dots ? strtoll(first, NULL, 10) : 0,
                  most = dots && isdigit((unsigned char)dots[2]) ? strtoll(dots + 2, &end, 10) : 0;
    const bool of_m = first && (first == text || first[-1] == ':');
    const bool ranges = of_m && least >= 1 && most >= least && most <= PROBLEM_DIM_MAX;
    if (*m == (ranges ? most : 1)) return false;
    if (!ranges) {
        *m = 1;
        snprintf(line, SUITE_LINE_MAX, "%s", text);
        return true;
    }
    int64_t next = 1;
    while (next <= *m) next *= 2;
    *m = *m == 0 ? least : next < most ? next : most;
    snprintf(line, SUITE_LINE_MAX, "%.*s%" PRId64 "%s", (int)(first - text), text, *m, end);
    return true;
}

/* Without the comment and the blanks around it. */
static char *trimmed(char *line, bool first)
{
    line[strcspn(line, "#\r\n")] = '\0';
    if (first && strncmp(line, UTF8_MARK, 3) == 0) line += 3;
    line += strspn(line, " \t");
    for (size_t length = strlen(line); length > 0 && isspace((unsigned char)line[length - 1]);)
        line[--length] = '\0';
    return line;
}

static enum status add(struct suite *suite, const struct problem *problem)
{
    if ((suite->count & (suite->count - 1)) == 0) { /* full at powers of two */
        struct problem *grown = realloc(suite->at, (suite->count ? 2 * suite->count : 1) * sizeof *grown);
        if (!grown) return fail(E_MEMORY, "out of memory for %zu problems", suite->count);
        suite->at = grown;
    }
    suite->at[suite->count++] = *problem;
    return OK;
}

/* One line is left out. */
static void leave_out(struct suite *suite, const char *what, int line)
{
    int i = 0;
    if (!*what) return;
    while (i + 1 < SUITE_KINDS_MAX && suite->kinds[i].what && strcmp(suite->kinds[i].what, what) != 0) i++;
    suite->kinds[i].what = i + 1 < SUITE_KINDS_MAX ? what : "other kinds";
    suite->kinds[i].count++;
    if (suite->left_out++ == 0)
        snprintf(suite->why, sizeof suite->why, "line %d: %.180s", line, status_text());
}

/* head: the names of the table that the line is in, or NULL. */
static enum status take_line(struct suite *suite, const struct text_file *lines, const char *text,
                             const char *head, struct form_usual usual)
{
    struct problem problem;
    const char *what = "", *looks = NULL;
    const bool is_row = head && form_is_row(head, text);
    const enum status st =
        is_row ? form_read_row(head, text, usual, &problem, &what) : read_line(text, usual, &problem, &what);
    if (!st) return add(suite, &problem);
    if (st == E_ABSENT) leave_out(suite, what, lines->number);
    if (st != E_INPUT) return st == E_ABSENT ? OK : st;
    char why[900];
    snprintf(why, sizeof why, "%s", status_text());
    if (!is_row && !form_is_known(text)) looks = form_looks_like(text);
    return fail(E_INPUT, "%s:%d: %s", lines->path, lines->number, looks ? looks : why);
}

static enum status read_lines(struct text_file *lines, struct form_usual usual, struct suite *suite)
{
    enum status st = OK;
    char *head = NULL;
    for (char *line; !st && (line = text_file_line(lines));) {
        const char *text = trimmed(line, lines->number == 1);
        const bool is_names = form_is_head(text);
        if (is_names) form_unread(text, suite->unread, sizeof suite->unread);
        if (is_names || is_head(text)) {
            free(head);
            head = is_names && !is_head(text) ? strdup(text) : NULL;
        } else if (*text) {
            st = take_line(suite, lines, text, head, usual);
        }
    }
    free(head);
    return st;
}

static enum status read_file(FILE *file, const char *name, struct form_usual usual, struct suite *suite)
{
    struct text_file lines = text_file_start(file, "suite", name);
    *suite = (struct suite){.at = NULL};
    enum status st = read_lines(&lines, usual, suite);
    const enum status end = text_file_end(&lines);
    return st ? st : end;
}

/* "3 problems left out: 2 of grouped and MoE products, 1 of FP64 products; line 2: ...", and columns. */
static void say_left_out(const struct suite *suite, const char *name)
{
    char kinds[SUITE_KINDS_MAX * 80] = "";
    size_t used = 0;
    for (int i = 0; i < SUITE_KINDS_MAX && suite->kinds[1].what && suite->kinds[i].what; i++)
        used += (size_t)snprintf(kinds + used, sizeof kinds - used, "%s %zu of %.40s", used ? "," : ":",
                                 suite->kinds[i].count, suite->kinds[i].what);
    if (suite->left_out)
        print_line(stderr, "tune: %s: %zu problem%s left out%s; %s", name, suite->left_out,
                   PRINT_S(suite->left_out), kinds, suite->why);
    if (*suite->unread) print_line(stderr, "tune: %s: columns not read: %s", name, suite->unread);
}

enum status suite_read(const char *path, enum gemm_type type, const char *op, struct suite *suite)
{
    const bool standard = strcmp(path, "-") == 0;
    const char *name = standard ? "standard input" : path;
    FILE *file = standard ? stdin : fopen(path, "r");
    *suite = (struct suite){.at = NULL};
    if (!file) return fail(E_IO, "cannot read the suite %s: %s", path, strerror(errno));
    enum status st = read_file(file, name, (struct form_usual){type, op}, suite);
    if (!standard) fclose(file);
    say_left_out(suite, name);
    if (!st && suite->count == 0) st = fail(E_INPUT, "%s holds no problem", name);
    if (st) suite_free(suite);
    return st;
}

bool suite_is(const char *path)
{
    struct stat info;
    struct suite suite = {.at = NULL};
    FILE *file = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "r") : NULL;
    if (!file) return false;
    const enum status st = read_file(file, path, (struct form_usual){0}, &suite);
    const bool is = !st && suite.count + suite.left_out > 0;
    fclose(file);
    suite_free(&suite);
    return is;
}

/* Names with other characters are quoted, and a quote in them is '\\''. */
const char *suite_command(const char *path, char text[SUITE_COMMAND_MAX])
{
    const bool plain = path[strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                         "_-+=.,:/@%")] == '\0';
    size_t used = (size_t)snprintf(text, SUITE_COMMAND_MAX, "tune --suite %s", plain ? "" : "'");
    for (; *path && used + 6 < SUITE_COMMAND_MAX; path++)
        used +=
            (size_t)snprintf(text + used, SUITE_COMMAND_MAX - used, *path == '\'' ? "'\\''" : "%c", *path);
    if (!plain) snprintf(text + used, SUITE_COMMAND_MAX - used, "'");
    return text;
}

/* ---- equal ones ---- */

struct listed {
    char text[PROBLEM_TEXT_MAX];
    size_t at;
};

static int by_text(const void *x, const void *y)
{
    const struct listed *a = x, *b = y;
    const int order = strcmp(a->text, b->text);
    return order ? order : a->at < b->at ? -1 : 1;
}

enum status problems_drop_repeated(struct problem *problems, double *weights, size_t *count)
{
    struct listed *listed = calloc(*count + 1, sizeof *listed);
    bool *repeated = calloc(*count + 1, sizeof *repeated);
    const enum status st = listed && repeated ? OK : fail(E_MEMORY, "out of memory for the problems");
    for (size_t i = 0; i < *count && !st; i++) {
        listed[i].at = i;
        problem_format(&problems[i], listed[i].text);
    }
    if (!st) qsort(listed, *count, sizeof *listed, by_text);
    for (size_t i = 1; i < *count && !st; i++)
        repeated[listed[i].at] = strcmp(listed[i].text, listed[i - 1].text) == 0;
    size_t kept = 0;
    for (size_t i = 0; i < *count && !st; i++) {
        if (repeated[i]) continue;
        if (weights) weights[kept] = weights[i];
        problems[kept++] = problems[i];
    }
    if (!st) *count = kept;
    free(listed);
    free(repeated);
    return st;
}

void suite_free(struct suite *suite)
{
    free(suite->at);
    *suite = (struct suite){.at = NULL};
}
