#define XXH_STATIC_LINKING_ONLY /* a streaming state on the stack */
#include "source_hash.h"

#include "source_condition.h"
#include "template.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define FILES_MAX      16   /* nested */
#define INCLUSIONS_MAX 1000 /* in total */
#define CONDITIONS_MAX 64   /* nested */

enum branch {
    BRANCH_TAKEN,
    BRANCH_SOUGHT, /* none held so far */
    BRANCH_PASSED, /* an earlier one held, or the surrounding code is inactive */
    BRANCH_OPEN    /* unknown: all branches count as text */
};

/* A source that is being read. */
struct file {
    const char *at;
    bool begins;        /* nothing has been read yet */
    int conditions;     /* nesting depth of conditions where it was included */
    struct token guard; /* X, if the source begins with #ifndef X */
};

/* A declaration, or a macro definition, as far as it has been read. */
struct part {
    XXH64_state_t hash;
    char text[4096]; /* not yet hashed */
    size_t length;
    bool started;
    bool whole;   /* the last token ended a declaration, or was a directive before any */
    bool may_end; /* the last token ended it, unless the next one belongs to it */
    int depth;    /* nesting of brackets */
};

struct preprocessor {
    const struct source_text *sources;
    int count;
    struct file file[FILES_MAX];
    int files, inclusions;
    enum branch branch[CONDITIONS_MAX];
    int conditions;
    int skipping, open; /* number of branches in BRANCH_SOUGHT or BRANCH_PASSED, and in BRANCH_OPEN */
    bool beyond;        /* a limit was exceeded */
    uint64_t sum;       /* of the hashes of all parts */
    uint64_t epoch;     /* number of macro redefinitions */
    uint64_t included;
    const char *missing;
    size_t missing_length;
    struct part part;
    struct macros macros;
};

/* ---- parts ---- */

static void part_start(struct part *part, uint64_t seed)
{
    XXH64_reset(&part->hash, seed);
    part->started = true;
    part->whole = true;
    part->may_end = false;
    part->depth = 0;
    part->length = 0;
}

static void part_add(struct part *part, const char *bytes, size_t length)
{
    if (part->length + length > sizeof part->text) {
        XXH64_update(&part->hash, part->text, part->length);
        part->length = 0;
    }
    if (length > sizeof part->text) {
        XXH64_update(&part->hash, bytes, length);
        return;
    }
    memcpy(part->text + part->length, bytes, length);
    part->length += length;
}

/* Tokens are separated: inte; differs from int e; */
static void part_add_token(struct part *part, const struct token *t)
{
    part_add(part, t->begin, t->length);
    part_add(part, "", 1);
}

static uint64_t part_digest(struct part *part)
{
    XXH64_update(&part->hash, part->text, part->length);
    part->length = 0;
    part->started = false;
    return XXH64_digest(&part->hash);
}

static void part_end(struct preprocessor *r)
{
    if (r->part.started) r->sum += part_digest(&r->part);
}

static bool is_punctuation(const struct token *t, const char *set)
{
    if (t->kind != TOKEN_PUNCTUATION || t->length != 1) return false;
    while (*set && *set != t->begin[0]) set++;
    return *set;
}

/* A declaration ends with its semicolon, or with its closing brace if nothing that follows belongs to it. */
static void add_code(struct preprocessor *r, const struct token *t)
{
    struct part *part = &r->part;
    if (part->may_end && t->kind != TOKEN_PUNCTUATION) part_end(r);
    if (!part->started) part_start(part, r->epoch);
    part->may_end = false;
    part_add_token(part, t);
    if (is_punctuation(t, "([{")) part->depth++;
    if (is_punctuation(t, ")]}") && part->depth > 0) part->depth--;
    part->whole = part->depth == 0 && is_punctuation(t, ";}");
    if (!part->whole || r->open > 0) return;
    if (is_punctuation(t, ";")) part_end(r);
    else part->may_end = true;
}

/* ---- directives ---- */

/* The rest of a line after its '#': within a declaration it is part of that, else a part of its own. */
static void add_directive(struct preprocessor *r, const char *at)
{
    if (r->part.started && r->part.may_end) part_end(r);
    const bool own = !r->part.started;
    if (own) part_start(&r->part, r->epoch);
    part_add(&r->part, "#", 2);
    for (struct token t = token_at(at, false); t.kind != TOKEN_END && !t.first_of_line;
         t = token_at(token_end(&t), false))
        part_add_token(&r->part, &t);
    part_add(&r->part, "\n", 2);
    if (own && r->open == 0) part_end(r);
}

static void push_branch(struct preprocessor *r, enum branch branch)
{
    if (r->conditions == CONDITIONS_MAX) {
        r->beyond = true;
        return;
    }
    r->branch[r->conditions++] = branch;
    r->skipping += branch == BRANCH_SOUGHT || branch == BRANCH_PASSED;
    r->open += branch == BRANCH_OPEN;
}

static enum branch pop_branch(struct preprocessor *r)
{
    const enum branch branch = r->branch[--r->conditions];
    r->skipping -= branch == BRANCH_SOUGHT || branch == BRANCH_PASSED;
    r->open -= branch == BRANCH_OPEN;
    return branch;
}

static enum branch branch_of(enum answer answer)
{
    return answer == ANSWER_OPEN ? BRANCH_OPEN : answer == ANSWER_YES ? BRANCH_TAKEN : BRANCH_SOUGHT;
}

static void open_condition(struct preprocessor *r, struct file *file, const struct token *name, bool first)
{
    const struct token x = token_at(token_end(name), false);
    const bool named = x.kind == TOKEN_NAME && !x.first_of_line;
    enum branch branch = BRANCH_PASSED;
    if (r->skipping > 0) {
        push_branch(r, branch);
        return;
    }
    if (token_is(name, "if")) branch = branch_of(condition_holds(&r->macros, token_end(name)));
    else if (!named) branch = BRANCH_OPEN;
    else branch = branch_of(condition_defined(&r->macros, &x));
    if (token_is(name, "ifndef") && branch != BRANCH_OPEN)
        branch = branch == BRANCH_TAKEN ? BRANCH_SOUGHT : BRANCH_TAKEN;
    if (first && named && token_is(name, "ifndef")) file->guard = x;
    push_branch(r, branch);
    if (branch == BRANCH_OPEN) add_directive(r, name->begin);
}

static void next_branch(struct preprocessor *r, const struct token *name)
{
    const enum branch was = pop_branch(r);
    enum branch branch = was;
    if (was == BRANCH_TAKEN) branch = BRANCH_PASSED;
    else if (was == BRANCH_SOUGHT && token_is(name, "else")) branch = BRANCH_TAKEN;
    else if (was == BRANCH_SOUGHT && token_is(name, "elif"))
        branch = branch_of(condition_holds(&r->macros, token_end(name)));
    else if (was == BRANCH_SOUGHT) branch = BRANCH_OPEN; /* #elifdef of a newer language version */
    push_branch(r, branch);
    if (branch == BRANCH_OPEN) add_directive(r, name->begin);
}

static void close_condition(struct preprocessor *r, const char *at)
{
    /* This line still belongs to the branches of the condition. */
    if (r->branch[r->conditions - 1] == BRANCH_OPEN) add_directive(r, at);
    pop_branch(r);
    if (r->open == 0 && r->part.started) r->part.may_end = r->part.whole;
}

static uint64_t hash_line(const char *at)
{
    XXH64_state_t hash;
    XXH64_reset(&hash, 0);
    bool touches = true;
    for (struct token t = token_at(at, false); t.kind != TOKEN_END && !t.first_of_line;
         t = token_at(token_end(&t), false)) {
        XXH64_update(&hash, t.after_blank && touches ? " " : "", 1); /* F(x) and F (x) */
        XXH64_update(&hash, t.begin, t.length);
        XXH64_update(&hash, "", 1);
        touches = false;
    }
    return XXH64_digest(&hash);
}

/* A definition is a part of its own, represented by its hash, which depends on whether a bracket follows the
 * name directly. */
static void add_definition(struct preprocessor *r, const struct token *name, uint64_t body_hash)
{
    if (r->part.started && r->part.may_end) part_end(r);
    const bool own = !r->part.started;
    if (own) part_start(&r->part, r->epoch);
    part_add(&r->part, "#define", 8);
    part_add_token(&r->part, name);
    for (int shift = 0; shift < 64; shift += 8) {
        const char byte = (char)(body_hash >> shift & 0xff);
        part_add(&r->part, &byte, 1);
    }
    if (own && r->open == 0) part_end(r);
}

static void define(struct preprocessor *r, const struct file *file, const struct token *directive)
{
    const struct token name = token_at(token_end(directive), false);
    if (name.kind != TOKEN_NAME || name.first_of_line) {
        add_directive(r, directive->begin);
        return;
    }
    const struct token next = token_at(token_end(&name), false);
    struct macro *macro = macros_add(&r->macros, &name);
    if (!macro) {
        r->beyond = true;
        return;
    }
    const bool empty = next.kind == TOKEN_END || next.first_of_line;
    const uint64_t body_hash = empty ? 1 : hash_line(token_end(&name));
    const bool anew = macro->body_hash && macro->body_hash != body_hash;
    const bool guards = empty && file->guard.length && token_equal(&name, &file->guard) &&
                        r->conditions == file->conditions + 1;
    const bool takes_arguments = !empty && !next.after_blank && *next.begin == '(';
    macro->kind = r->open > 0 && !guards ? MACRO_OPEN : takes_arguments ? MACRO_FUNCTION : MACRO_OBJECT;
    macro->body = token_end(&name);
    macro->body_hash = body_hash;
    macro->given = -1;
    if (!guards) add_definition(r, &name, body_hash);
    if (anew) r->epoch = XXH64(&body_hash, sizeof body_hash, XXH64(name.begin, name.length, r->epoch));
}

static void undefine(struct preprocessor *r, const struct token *directive)
{
    const struct token name = token_at(token_end(directive), false);
    if (name.kind == TOKEN_NAME && !name.first_of_line) {
        struct macro *macro = macros_add(&r->macros, &name);
        if (macro) macro->kind = r->open > 0 ? MACRO_OPEN : MACRO_UNDEFINED;
        else r->beyond = true;
    }
    add_directive(r, directive->begin);
}

static void push_file(struct preprocessor *r, const char *text)
{
    r->file[r->files++] = (struct file){.at = text, .begins = true, .conditions = r->conditions};
    r->inclusions++;
}

/* An #include of a file that is not among the sources is hashed as text. */
static void include(struct preprocessor *r, const struct token *directive)
{
    const struct token name = token_at(token_end(directive), false);
    const bool quoted = name.kind == TOKEN_LITERAL && name.length > 2 && !name.first_of_line;
    for (int i = 1; quoted && i < r->count; i++) {
        const char *source = r->sources[i].name;
        if (strlen(source) != name.length - 2 || memcmp(source, name.begin + 1, name.length - 2) != 0)
            continue;
        if (i < 64) r->included |= UINT64_C(1) << i;
        if (r->files == FILES_MAX || r->inclusions == INCLUSIONS_MAX) r->beyond = true;
        else push_file(r, r->sources[i].text);
        return;
    }
    if (!r->missing) r->missing = name.begin, r->missing_length = name.length;
    add_directive(r, directive->begin);
}

static void read_directive(struct preprocessor *r, struct file *file, const char *hash_sign, bool first)
{
    const struct token name = token_at(hash_sign + 1, false);
    const bool own = r->conditions > file->conditions; /* a condition of this file is open */
    struct token last = name;
    while (last.kind != TOKEN_END && !last.first_of_line) {
        file->at = token_end(&last);
        last = token_at(file->at, false);
    }
    if (name.kind == TOKEN_END || name.first_of_line) return;
    if (token_is(&name, "if") || token_is(&name, "ifdef") || token_is(&name, "ifndef"))
        open_condition(r, file, &name, first);
    else if (own && (token_is(&name, "else") || (name.length >= 4 && memcmp(name.begin, "elif", 4) == 0)))
        next_branch(r, &name);
    else if (own && token_is(&name, "endif")) close_condition(r, name.begin);
    else if (r->skipping > 0) return;
    else if (token_is(&name, "define")) define(r, file, &name);
    else if (token_is(&name, "undef")) undefine(r, &name);
    else if (token_is(&name, "include")) include(r, &name);
    else add_directive(r, name.begin);
}

/* ---- the whole hash ---- */

static void give(struct preprocessor *r, const char *const *definitions, int count)
{
    for (int i = 0; i < count && i < SOURCE_DEFINITIONS_MAX; i++) {
        const struct token name = token_at(definitions[i], false);
        struct macro *macro = macros_add(&r->macros, &name);
        if (!macro) return;
        macro->kind = MACRO_OBJECT;
        macro->body = *token_end(&name) == '=' ? token_end(&name) + 1 : "1";
        macro->given = i;
    }
}

static void read_all(struct preprocessor *r)
{
    push_file(r, r->sources[0].text);
    while (r->files > 0 && !r->beyond) {
        struct file *file = &r->file[r->files - 1];
        const struct token t = token_at(file->at, file->begins);
        const bool first = file->begins;
        if (t.kind == TOKEN_END) {
            while (r->conditions > file->conditions) pop_branch(r);
            r->files--;
            continue;
        }
        file->begins = false;
        file->at = token_end(&t);
        if (t.kind == TOKEN_NAME && *file->at == '"') r->beyond |= token_is_raw_string(&t);
        if (t.first_of_line && is_punctuation(&t, "#")) read_directive(r, file, t.begin, first);
        else if (r->skipping == 0) add_code(r, &t);
    }
    part_end(r);
}

static void reading_start(struct preprocessor *r, const struct source_text *sources, int count)
{
    /* Leaves out the macros and the text of the part, which are large. */
    memset(r, 0, offsetof(struct preprocessor, part));
    r->sources = sources;
    r->count = count;
    r->part.started = r->part.may_end = false;
    r->macros.count = 0;
    r->macros.asked = 0;
}

static uint64_t hash_bytes(const struct source_text *sources, int count)
{
    uint64_t hash = 0;
    for (int i = 0; i < count; i++) {
        hash = XXH64(sources[i].name, strlen(sources[i].name) + 1, hash);
        hash = XXH64(sources[i].text, strlen(sources[i].text) + 1, hash);
    }
    return hash;
}

static uint64_t finish(const struct preprocessor *r)
{
    const uint64_t hash = r->beyond ? hash_bytes(r->sources, r->count) : r->sum;
    return hash ? hash : 1;
}

uint64_t source_hash(const struct source_text *sources, int count, const char *const *definitions,
                     int definition_count, uint64_t *asked)
{
    struct preprocessor r;
    reading_start(&r, sources, count);
    give(&r, definitions, definition_count);
    read_all(&r);
    if (asked) *asked = r.macros.asked;
    return finish(&r);
}

void source_hash_missing(const struct source_text *sources, int count, const char *const *definitions,
                         int definition_count, char missing[64])
{
    struct preprocessor r;
    reading_start(&r, sources, count);
    give(&r, definitions, definition_count);
    read_all(&r);
    missing[0] = '\0';
    if (r.missing) snprintf(missing, 64, "%.*s", (int)r.missing_length, r.missing);
    for (int i = 1; !missing[0] && i < count; i++)
        if (!(r.included >> i & 1)) snprintf(missing, 64, "%s", sources[i].name);
}
