/* describe.c — first the comment signs, and all that is no description, become blanks, so that places in the
 * text stay those of the file. Parameters are then read before all else, because what stands above them may
 * use them.
 */
#include "describe.h"

#include "gemm_type.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(CONFIG_PARAMS_MAX + OWN_NAMES <= EXPRESSION_NAMES_MAX, "a bit of expression.uses for each");

static const char *const fixed_names[OWN_NAMES] = {
    "M", "N", "K", "batch", "lda", "ldb", "ldc", "stride_a", "stride_b", "stride_c", "TRANS_A", "TRANS_B"};

/* ---- the text ---- */

#define MARK "gemmtune:"

static void blank(char *from, const char *to)
{
    for (; from < to; from++)
        if (*from != '\n') *from = ' ';
}

static char *end_of_line(char *at)
{
    return at + strcspn(at, "\n");
}

/* The text after a line's "//"; NULL: it is no such line. */
static char *comment_of(char *line)
{
    char *at = line + strspn(line, " \t");
    return at[0] == '/' && at[1] == '/' ? at + 2 : NULL;
}

/* Blanks from the first "//" or '#' to the end of each line. */
static void drop_remarks(char *text)
{
    for (char *line = text; *line;) {
        char *const end = end_of_line(line);
        for (char *at = line; at < end; at++)
            if (*at == '#' || (at[0] == '/' && at[1] == '/')) blank(at, end), at = end;
        line = *end ? end + 1 : end;
    }
}

/* What the head of a source says: the comment lines from the mark on, as long as there are more. */
static enum status find_head(const char *file, char *text)
{
    bool within = false, found = false;
    for (char *line = text; *line;) {
        char *const end = end_of_line(line), *at = comment_of(line);
        char *const mark = at ? at + strspn(at, " \t") : NULL;
        const bool begins = mark && strncmp(mark, MARK, strlen(MARK)) == 0;
        if (begins && found && !within)
            return fail(E_INPUT, "%s has two descriptions: a second '" MARK "' stands apart from the first",
                        file);
        if (begins) within = found = true, blank(mark, mark + strlen(MARK));
        within = within && at;
        if (within) blank(line, at);
        else blank(line, end);
        line = *end ? end + 1 : end;
    }
    return found ? OK
                 : fail(E_ABSENT, "%s has no line '// " MARK " ...', and no %.*s.tune is beside it", file,
                        (int)strcspn(file, "."), file);
}

/* ---- the reader ---- */

struct reader {
    const char *file, *text, *at;
    struct description *d;
    char *bare;                /* of the same length */
    struct own_launch *launch; /* being described */
    unsigned seen;             /* bit of a keyword: it stood there, for this launch or for all */
};

static enum status wrong(const struct reader *r, const char *at, const char *what)
{
    int line = 1, column = 1;
    for (const char *c = r->text; c < at; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    return fail(E_INPUT, "%s:%d:%d: %s", r->file, line, column, what);
}

static int line_of(const struct reader *r, const char *at)
{
    int line = 1;
    for (const char *c = r->text; c < at; c++) line += *c == '\n';
    return line;
}

static enum status wrong_word(const struct reader *r, const char *at, size_t length, const char *expected)
{
    char what[400];
    if (length == 0 && *at) length = 1;
    if (*at == '\0') snprintf(what, sizeof what, "the description ends; expected %s", expected);
    else snprintf(what, sizeof what, "'%.*s'; expected %s", (int)(length < 40 ? length : 40), at, expected);
    return wrong(r, at, what);
}

static void skip_blanks(struct reader *r)
{
    r->at += strspn(r->at, " \t\r\n");
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The length of the name that comes next; 0: none does. */
static size_t next_name(struct reader *r)
{
    skip_blanks(r);
    size_t length = 0;
    if (isdigit((unsigned char)*r->at)) return 0;
    while (is_word(r->at[length])) length++;
    return length;
}

static bool next_is(struct reader *r, const char *word)
{
    const size_t length = next_name(r);
    return length == strlen(word) && strncmp(r->at, word, length) == 0;
}

static bool take_sign(struct reader *r, char sign)
{
    skip_blanks(r);
    if (*r->at != sign) return false;
    r->at++;
    return true;
}

enum keyword {
    TYPE,
    OPS,
    ONLY,
    ENTRY,
    PARAM,
    RULE,
    GRID,
    BLOCK,
    SHARED,
    REGISTERS,
    ARGS,
    TILE,
    WORKSPACE,
    LAUNCH,
    CLUSTER,
    KEYWORDS
};
static const char *const keywords[KEYWORDS] = {"type", "ops",  "only",      "entry",  "param",
                                               "rule", "grid", "block",     "shared", "registers",
                                               "args", "tile", "workspace", "launch", "cluster"};
#define EXPECTED                                                                                             \
    "type, ops, only, entry, param, rule, grid, block, shared, registers, args, tile, workspace, cluster "   \
    "or launch"

/* KEYWORDS: none comes next. */
static enum keyword next_keyword(struct reader *r)
{
    int k = 0;
    while (k < KEYWORDS && !next_is(r, keywords[k])) k++;
    return (enum keyword)k;
}

/* ---- parameters ---- */

static bool is_taken(const struct description *d, const char *name, size_t length)
{
    static const char *const others[] = {"A",   "B",   "C",      "alpha",  "beta",   "ceil",
                                         "min", "max", "TYPE_A", "TYPE_B", "TYPE_C", "TYPE_SUM"};
    for (int i = 0; i < CONFIG_PARAMS_MAX + OWN_NAMES; i++)
        if (d->name[i] && strlen(d->name[i]) == length && strncmp(d->name[i], name, length) == 0) return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i]) == length && strncmp(others[i], name, length) == 0) return true;
    for (int i = 0; i < KEYWORDS; i++)
        if (strlen(keywords[i]) == length && strncmp(keywords[i], name, length) == 0) return true;
    return false;
}

static enum status take_value(struct reader *r, int param)
{
    struct description *d = r->d;
    char *end;
    skip_blanks(r);
    errno = 0;
    const char *const begin = r->at;
    const long value = strtol(begin, &end, 10);
    if (!isdigit((unsigned char)*begin) || errno || value > INT32_MAX || is_word(*end))
        return wrong_word(r, begin, strcspn(begin, " \t\r\n;,"), "a whole number from 0 to 2147483647");
    for (int i = 0; i < d->values[param]; i++)
        if (d->value[param][i] == value)
            return wrong_word(r, begin, (size_t)(end - begin), "each value once");
    if (d->values[param] == DESCRIBE_VALUES_MAX) return wrong(r, begin, "a parameter has at most 64 values");
    d->value[param][d->values[param]++] = (int32_t)value;
    r->at = end;
    if (r->bare) memset(r->bare + (begin - r->text), ' ', (size_t)(end - begin));
    return OK;
}

/* NAME value ...; */
static enum status take_param(struct reader *r)
{
    struct description *d = r->d;
    const size_t length = next_name(r);
    if (length == 0 || length >= sizeof *d->param)
        return wrong_word(r, r->at, length, "the name of a parameter, of at most 31 letters");
    if (is_taken(d, r->at, length)) return wrong_word(r, r->at, length, "a name that means nothing else");
    if (d->params == CONFIG_PARAMS_MAX) return wrong(r, r->at, "there are at most 32 parameters");
    const int p = d->params++;
    snprintf(d->param[p], sizeof *d->param, "%.*s", (int)length, r->at);
    d->name[p] = d->param[p];
    r->at += length;
    enum status st = take_value(r, p);
    for (skip_blanks(r); !st && isdigit((unsigned char)*r->at); skip_blanks(r)) st = take_value(r, p);
    return st;
}

/* param NAME value ... [; NAME value ...]: what follows a ';' and is no keyword is another one. */
static enum status take_params(struct reader *r, enum status take(struct reader *))
{
    enum status st = take(r);
    while (!st) {
        const char *const before = r->at;
        if ((take_sign(r, ';') || take_sign(r, ',')) && next_name(r) > 0 && next_keyword(r) == KEYWORDS) {
            st = take(r);
            continue;
        }
        r->at = before;
        break;
    }
    return st;
}

/* One that was read before. */
static enum status pass_param(struct reader *r)
{
    r->at += next_name(r);
    r->at += strspn(r->at, " \t\r\n0123456789");
    return OK;
}

/* ---- expressions ---- */

static enum status take_expression(struct reader *r, struct expression *e, size_t *length)
{
    const struct expression_names names = describe_names(r->d);
    struct expression_error error;
    skip_blanks(r);
    if (!expression_compile(r->at, &names, e, length, &error)) return wrong(r, r->at + error.at, error.what);
    r->at += *length;
    return OK;
}

/* Expressions one after the other, with commas or without. */
static enum status take_list(struct reader *r, struct expression *list, int most, int *count)
{
    size_t length;
    *count = 0;
    for (;;) {
        enum status st = take_expression(r, &list[(*count)++], &length);
        if (st) return st;
        const char *const before = r->at;
        const bool comma = take_sign(r, ',');
        skip_blanks(r);
        if (*r->at == '\0' || *r->at == ';' || next_keyword(r) != KEYWORDS) {
            r->at = before;
            return OK;
        }
        if (*count == most)
            return wrong_word(r, r->at, next_name(r), comma ? "no more than that" : "';' or a keyword");
    }
}

/* The end of the conjunct that begins there: the next && outside of parentheses. */
static const char *conjunct_end(const char *at, const char *end)
{
    int depth = 0;
    for (; at < end; at++) {
        depth += *at == '(';
        depth -= *at == ')';
        if (depth == 0 && at[0] == '&' && at[1] == '&') break;
    }
    return at;
}

/* May the expression be taken apart at && ? */
static bool is_conjunction(const char *at, const char *end)
{
    int depth = 0;
    for (; at < end; at++) {
        depth += *at == '(';
        depth -= *at == ')';
        if (depth == 0 && (*at == '?' || *at == '|')) return false;
    }
    return true;
}

static enum status add_rule(struct reader *r, const char *from, const char *to, bool only)
{
    struct description *d = r->d;
    if (d->rules == DESCRIBE_RULES_MAX) return wrong(r, from, "there are at most 64 rules");
    struct own_rule *const rule = &d->rule[d->rules++];
    const struct expression_names names = describe_names(d);
    struct expression_error error;
    size_t length;
    char *const part = strndup(from, (size_t)(to - from)); /* what follows && is another one */
    if (!part) return fail(E_MEMORY, "out of memory for a rule");
    const bool good = expression_compile(part, &names, &rule->holds, &length, &error);
    free(part);
    if (!good) return wrong(r, from + error.at, error.what);
    rule->only = only;
    from += strspn(from, " \t\r\n");
    int used = snprintf(rule->why, sizeof rule->why, "%.63s:%d: %s ", r->file, line_of(r, from),
                        only ? "only" : "rule");
    for (bool space = false; from < to && used + 2 < (int)sizeof rule->why; from++) {
        if (isspace((unsigned char)*from)) {
            space = true;
            continue;
        }
        if (space) rule->why[used++] = ' ';
        rule->why[used++] = *from;
        space = false;
    }
    rule->why[used] = '\0';
    return OK;
}

/* Each part of a conjunction is a rule of its own, so that it refuses as early as it can. */
static enum status take_rule(struct reader *r, bool only)
{
    struct expression whole;
    size_t length;
    skip_blanks(r);
    const char *at = r->at;
    enum status st = take_expression(r, &whole, &length);
    const char *const end = r->at;
    if (!st && !is_conjunction(at, end)) return add_rule(r, at, end, only);
    while (!st && at < end) {
        const char *const next = conjunct_end(at, end);
        st = add_rule(r, at, next, only);
        at = next < end ? next + 2 : next;
    }
    return st;
}

/* ---- the other keywords ---- */

static enum status take_types(struct reader *r)
{
    char name[64], names[GEMM_TYPE_NAMES_MAX], expected[GEMM_TYPE_NAMES_MAX + 16];
    r->d->types = 0;
    do {
        const size_t length = next_name(r);
        enum gemm_type type;
        snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), r->at);
        snprintf(expected, sizeof expected, "%s", gemm_type_names(names));
        if (!gemm_type_find(name, &type)) return wrong_word(r, r->at, length, expected);
        r->d->types |= GEMM_TYPE_BIT(type);
        r->at += length;
        skip_blanks(r);
    } while (*r->at && *r->at != ';' && *r->at != ',' && next_keyword(r) == KEYWORDS);
    return OK;
}

static enum status take_ops(struct reader *r)
{
    memset(r->d->op, 0, sizeof r->d->op);
    do {
        const size_t length = next_name(r);
        const char *const op = r->at;
        if (length != 2 || !strchr("nt", op[0]) || !strchr("nt", op[1]))
            return wrong_word(r, op, length, "nn, nt, tn or tt");
        r->d->op[op[0] == 't'][op[1] == 't'] = true;
        r->at += 2;
        skip_blanks(r);
    } while (*r->at && *r->at != ';' && *r->at != ',' && next_keyword(r) == KEYWORDS);
    return OK;
}

static enum status take_entry(struct reader *r)
{
    struct own_launch *const l = r->launch;
    skip_blanks(r);
    const char *const begin = r->at;
    while (is_word(*r->at) || (r->at[0] == ':' && r->at[1] == ':')) r->at += *r->at == ':' ? 2 : 1;
    const size_t name = (size_t)(r->at - begin);
    if (name == 0 || name >= sizeof l->name || isdigit((unsigned char)*begin))
        return wrong_word(r, begin, name, "the name of a kernel, such as sgemm or sgemm<BM, BN>");
    skip_blanks(r);
    l->is_template = *r->at == '<';
    int depth = 0, within = 0; /* of <> and, where these compare, of () */
    if (l->is_template) {
        const char *at = r->at;
        for (; *at && *at != ';'; at++) {
            within += (*at == '(') - (*at == ')');
            if (within == 0) depth += (*at == '<') - (*at == '>');
            if (within == 0 && depth == 0) break;
        }
        if (*at != '>') return wrong(r, at, "expected '>' at the end of the template's arguments");
        r->at = at + 1;
    } else r->at = begin + name;
    if ((size_t)(r->at - begin) >= sizeof l->entry)
        return wrong(r, begin, "the entry has more than 255 characters");
    snprintf(l->name, sizeof l->name, "%.*s", (int)name, begin);
    snprintf(l->entry, sizeof l->entry, "%.*s", (int)(r->at - begin), begin);
    for (char *c = l->entry; *c; c++)
        if (isspace((unsigned char)*c)) *c = ' ';
    l->line = line_of(r, begin);
    return OK;
}

static enum status take_argument(struct reader *r)
{
    static const struct {
        const char *name;
        enum own_argument_kind kind;
    } named[] = {{"A", OWN_A},         {"B", OWN_B},      {"C", OWN_C}, {"workspace", OWN_WORKSPACE},
                 {"alpha", OWN_ALPHA}, {"beta", OWN_BETA}};
    struct own_launch *const l = r->launch;
    struct description *const d = r->d;
    if (l->arguments == KERNEL_PARAMETERS_MAX) return wrong(r, r->at, "a kernel has at most 24 arguments");
    struct own_argument *const a = &l->argument[l->arguments++];
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (!next_is(r, named[i].name)) continue;
        a->kind = named[i].kind;
        r->at += strlen(named[i].name);
        return OK;
    }
    size_t length;
    if (d->integers == KERNEL_PARAMETERS_MAX)
        return wrong(r, r->at, "the launches have at most 24 integers together");
    a->kind = OWN_INTEGER;
    a->integer = d->integers++;
    return take_expression(r, &d->integer[a->integer], &length);
}

/* `workspace` is a keyword, too: on the same line it is an argument. */
static enum status take_arguments(struct reader *r)
{
    for (;;) {
        enum status st = take_argument(r);
        if (st) return st;
        const char *const before = r->at;
        take_sign(r, ',');
        skip_blanks(r);
        const enum keyword k = next_keyword(r);
        const bool same_line = !memchr(before, '\n', (size_t)(r->at - before));
        if (*r->at && *r->at != ';' && (k == KEYWORDS || (k == WORKSPACE && same_line))) continue;
        r->at = before;
        return OK;
    }
}

/* Of each launch, and of the whole. */
#define OF_A_LAUNCH (1u << ENTRY | 1u << GRID | 1u << BLOCK | 1u << SHARED | 1u << ARGS | 1u << CLUSTER)
#define REPEATED    (1u << PARAM | 1u << RULE | 1u << ONLY | 1u << LAUNCH)

static enum status end_launch(struct reader *r)
{
    static const enum keyword needed[] = {ENTRY, GRID, BLOCK, ARGS};
    char what[120];
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (r->seen & 1u << needed[i]) continue;
        snprintf(what, sizeof what, "the launch%s%.60s has no '%s'", r->launch->name[0] ? " of " : "",
                 r->launch->name, keywords[needed[i]]);
        return wrong(r, r->at, what);
    }
    return OK;
}

static enum status begin_launch(struct reader *r)
{
    enum status st = end_launch(r);
    if (st) return st;
    if (r->d->launches == LAUNCH_KERNELS_MAX) return wrong(r, r->at, "there are at most 3 launches");
    r->launch = &r->d->launch[r->d->launches++];
    r->seen = (r->seen & ~OF_A_LAUNCH) | 1u << ENTRY;
    return take_entry(r);
}

static enum status take_clause(struct reader *r, enum keyword k)
{
    struct description *const d = r->d;
    int count;
    if (r->seen & 1u << k & ~REPEATED) return wrong_word(r, r->at, strlen(keywords[k]), "it once");
    r->at += strlen(keywords[k]);
    if (k != LAUNCH) r->seen |= 1u << k;
    switch (k) {
    case TYPE:
        return take_types(r);
    case OPS:
        return take_ops(r);
    case ONLY:
    case RULE:
        return take_rule(r, k == ONLY);
    case ENTRY:
        return take_entry(r);
    case PARAM:
        return take_params(r, pass_param);
    case GRID:
        return take_list(r, r->launch->grid, 3, &count);
    case BLOCK:
        return take_list(r, r->launch->block, 3, &count);
    case CLUSTER:
        return take_list(r, r->launch->cluster, 3, &count);
    case SHARED:
        return take_list(r, &r->launch->shared, 1, &count);
    case REGISTERS:
        return take_list(r, &d->registers, 1, &count);
    case WORKSPACE:
        return take_list(r, &d->workspace, 1, &count);
    case ARGS:
        return take_arguments(r);
    case TILE: {
        const char *const at = r->at;
        enum status st = take_list(r, d->tile, 3, &d->tiles);
        return st || d->tiles == 3 ? st : wrong(r, at, "expected three sizes: rows and columns of C, and k");
    }
    case LAUNCH:
        return begin_launch(r);
    case KEYWORDS:
        break;
    }
    return OK;
}

static enum status take_clauses(struct reader *r)
{
    for (;;) {
        skip_blanks(r);
        while (*r->at == ';' || *r->at == ',') {
            r->at++;
            skip_blanks(r);
        }
        if (*r->at == '\0') return end_launch(r);
        const enum keyword k = next_keyword(r);
        if (k == KEYWORDS) return wrong_word(r, r->at, next_name(r), EXPECTED);
        const enum status st = take_clause(r, k);
        if (st) return st;
    }
}

static enum status find_params(struct reader *r)
{
    enum status st = OK;
    r->at = r->text;
    while (*r->at && !st) {
        const size_t length = next_name(r);
        if (next_is(r, "param")) {
            r->at += length;
            st = take_params(r, take_param);
            continue;
        }
        r->at += length ? length : *r->at != '\0';
        while (length == 0 && is_word(*r->at)) r->at++; /* behind a digit */
    }
    return st;
}

/* ---- what contradicts itself ---- */

static enum status check_whole(const struct reader *r)
{
    const struct description *d = r->d;
    bool writes = false;
    const uint64_t uses_tile = d->tile[0].uses | d->tile[1].uses | d->tile[2].uses | d->registers.uses;
    for (int i = 0; i < d->launches; i++)
        for (int j = 0; j < d->launch[i].arguments; j++) {
            writes |= d->launch[i].argument[j].kind == OWN_C;
            if (d->launch[i].argument[j].kind == OWN_WORKSPACE && d->workspace.steps == 0)
                return fail(E_INPUT,
                            "%s:%d: the kernel takes a workspace; expected 'workspace' and its bytes",
                            r->file, d->launch[i].line);
        }
    if (!writes)
        return fail(E_INPUT, "%s:%d: no kernel takes C; expected it in 'args'", r->file, d->launch[0].line);
    if (uses_tile >> CONFIG_PARAMS_MAX)
        return fail(
            E_INPUT,
            "%s: 'tile' and 'registers' are of a block, whatever the problem; expected parameters alone",
            r->file);
    return OK;
}

enum status describe_read(const char *file, const char *text, bool beside, struct description *d, char **bare)
{
    char *const copy = strdup(text);
    memset(d, 0, sizeof *d); /* it is long */
    d->types = GEMM_TYPE_BIT(GEMM_SGEMM);
    d->launches = 1;
    d->op[0][0] = true;
    snprintf(d->file, sizeof d->file, "%.63s", file);
    for (int i = 0; i < OWN_NAMES; i++) d->name[CONFIG_PARAMS_MAX + i] = fixed_names[i];
    if (bare) *bare = NULL;
    if (!copy) return fail(E_MEMORY, "out of memory for a description");
    enum status st = beside ? OK : find_head(file, copy);
    struct reader r = {.file = file, .text = copy, .at = copy, .d = d, .launch = &d->launch[0]};
    if (!st) {
        drop_remarks(copy);
        if (bare && !(*bare = strdup(copy))) st = fail(E_MEMORY, "out of memory for a description");
        r.bare = bare ? *bare : NULL;
    }
    if (!st) st = find_params(&r);
    r.bare = NULL;
    r.at = copy;
    if (!st) st = take_clauses(&r);
    if (!st) st = check_whole(&r);
    if (st && bare) {
        free(*bare);
        *bare = NULL;
    }
    free(copy);
    return st;
}
