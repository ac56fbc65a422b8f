#include "suite.h"

#include "not_done.h"
#include "print.h"
#include "text_file.h"
#include "utf8.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* ---- TunableOp ---- */

/* The type of an element as TunableOp names it. Errors: E_ABSENT, for what is not computed here. */
static enum status tunable_type(const char *element, const char **type)
{
    static const char *const types[][2] = {
        {"float", "sgemm"}, {"tf32", "tf32gemm"}, {"BFloat16", "bf16gemm"}, {"Half", "hgemm"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        *type = types[i][1];
        if (strcmp(types[i][0], element) == 0) return OK;
    }
    const char *why = not_done(element);
    return fail(E_ABSENT, "%s%s", why ? why : "its type is not known: ", why ? "" : element);
}

/* "GemmTunableOp_float_NT,nt_25088_4096_64_ld_25088_4096_25088": the operation, the type of the elements, the
 * ops; then the ops, m, n, k, with a batch B and its length, and in newer files ld with the leading
 * dimensions. What follows another comma, such as a result, is not read. */
#define TUNABLE_MAX 255
static enum status tunable_line(const char *text, struct problem *problem)
{
    enum { M = 1, N, K, WORDS_MAX = 12 };
    char copy[TUNABLE_MAX + 1], full[512], *rest = NULL, *word[WORDS_MAX + 1] = {NULL};
    const char *type, *op_words[2] = {NULL}, *const comma = strchr(text, ',');
    const size_t length = comma ? (size_t)(comma - text) + 1 + strcspn(comma + 1, ",") : strlen(text);
    if (length > TUNABLE_MAX)
        return fail(E_INPUT,
                    "'%.60s...' is no line of TunableOp: its first two columns have %zu characters, and may "
                    "have %d",
                    text, length, TUNABLE_MAX);
    snprintf(copy, sizeof copy, "%.*s", (int)length, text);
    char *name = strtok_r(copy, ",", &rest), *sizes = strtok_r(NULL, ",", &rest);
    if (!sizes) return fail(E_INPUT, "'%.60s' is no line of TunableOp: it has one column", text);
    int words = 0;
    for (char *w = strtok_r(sizes, "_", &rest); w && words < WORDS_MAX; w = strtok_r(NULL, "_", &rest))
        word[words++] = w;
    char *const last = strrchr(name, '_'); /* the ops again */
    if (last) *last = '\0';
    op_words[0] = strtok_r(name, "_", &rest);
    op_words[1] = rest;
    if (!last || !op_words[1] || words <= K || strspn(word[0], "nt") != 2 || word[0][2])
        return fail(E_INPUT, "'%.60s' is no line of TunableOp that is known", text);
    enum status st = tunable_type(op_words[1], &type);
    if (st) return st;
    int at = K + 1;
    const char *batch = words > at + 1 && strcmp(word[at], "B") == 0 ? word[at + 1] : NULL;
    if (batch) at += 2;
    const bool leading = words > at + 3 && strcmp(word[at], "ld") == 0;
    const bool bias = strcmp(op_words[0], "GemmAndBiasTunableOp") == 0;
    int used = snprintf(full, sizeof full, "%s:%c%c:%sx%sx%s", type, word[0][1], word[0][0], word[N], word[M],
                        word[K]);
    if (batch) used += snprintf(full + used, sizeof full - (size_t)used, ":batch=%s", batch);
    if (leading)
        used += snprintf(full + used, sizeof full - (size_t)used, ":lda=%s:ldb=%s:ldc=%s", word[at + 2],
                         word[at + 1], word[at + 3]);
    if (bias) snprintf(full + used, sizeof full - (size_t)used, ":epilogue=bias");
    return problem_parse(full, problem);
}

/* ---- lines and files ---- */

enum status suite_line(const char *text, enum gemm_type type, const char *op, struct problem *problem)
{
    char full[PROBLEM_TEXT_MAX + 8];
    bool op_named;
    if (is_head(text) || strncmp(text, "Validator,", 10) == 0) return fail(E_ABSENT, "%s", "");
    if (strncmp(text, "Gemm", 4) == 0 || strncmp(text, "ScaledGemm", 10) == 0)
        return tunable_line(text, problem);
    if (strlen(text) >= PROBLEM_TEXT_MAX) return problem_parse_as(text, type, problem);
    const char *sizes = sizes_of(text, &op_named);
    const bool adds_op = op && !op_named;
    const int before = (int)(sizes - text);
    snprintf(full, sizeof full, "%.*s%s%s%s", before, text, adds_op ? op : "", adds_op ? ":" : "", sizes);
    join_sizes(full + before + (adds_op ? strlen(op) + 1 : 0));
    return problem_parse_as(full, type, problem);
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

static enum status read_lines(struct text_file *lines, enum gemm_type type, const char *op,
                              struct suite *suite)
{
    for (char *line; (line = text_file_line(lines));) {
        struct problem problem;
        const char *text = trimmed(line, lines->number == 1);
        if (!*text) continue;
        enum status st = suite_line(text, type, op, &problem);
        if (st == E_ABSENT && *status_text() && suite->left_out++ == 0)
            snprintf(suite->why, sizeof suite->why, "line %d: %.180s", lines->number, status_text());
        if (st == E_ABSENT) continue;
        if (st) {
            char why[900];
            snprintf(why, sizeof why, "%s", status_text());
            return fail(E_INPUT, "%s:%d: %s", lines->path, lines->number, why);
        }
        if ((st = add(suite, &problem))) return st;
    }
    return OK;
}

enum status suite_read(const char *path, enum gemm_type type, const char *op, struct suite *suite)
{
    const bool standard = strcmp(path, "-") == 0;
    const char *name = standard ? "standard input" : path;
    FILE *file = standard ? stdin : fopen(path, "r");
    *suite = (struct suite){.at = NULL};
    if (!file) return fail(E_IO, "cannot read the suite %s: %s", path, strerror(errno));
    struct text_file lines = text_file_start(file, "suite", name);
    enum status st = read_lines(&lines, type, op, suite);
    const enum status end = text_file_end(&lines);
    if (!st) st = end;
    if (!standard) fclose(file);
    if (suite->left_out)
        print_line(stderr, "tune: %s: %zu problem%s left out; %s", name, suite->left_out,
                   PRINT_S(suite->left_out), suite->why);
    if (!st && suite->count == 0) st = fail(E_INPUT, "%s holds no problem", name);
    if (st) suite_free(suite);
    return st;
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
