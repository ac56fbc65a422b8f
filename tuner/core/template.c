#include "template.h"

#define XXH_STATIC_LINKING_ONLY /* a streaming state on the stack */
#include <string.h>
#include <xxhash.h>

#define BLANKS " \t\n\r\v\f"

const struct template *template_find(const char *name)
{
    for (size_t i = 0; i < template_count; i++)
        if (strcmp(templates[i]->name, name) == 0) return templates[i];
    return NULL;
}

int template_param(const struct template *t, const char *name)
{
    for (int i = 0; i < t->param_count; i++)
        if (strcmp(t->params[i].name, name) == 0) return i;
    return -1;
}

bool template_serves(const struct template *t, const struct problem *problem)
{
    return gemm_type_satisfies(t->delivers, problem->type);
}

const char *template_check_ranges(const struct config *config, int known)
{
    const struct param *params = config->template->params;
    for (int i = 0; i < known; i++)
        if (config->value[i] < params[i].least || config->value[i] > params[i].most)
            return "a parameter is outside its range";
    return NULL;
}

/* Lengths of what begins at `at`; 0 if it is something else. A literal that nothing closes ends with its
 * line: #error "don't". Raw strings are not known here: no template has one. */
static size_t comment_length(const char *at)
{
    if (strncmp(at, "//", 2) == 0) return strcspn(at, "\n");
    if (strncmp(at, "/*", 2) != 0) return 0;
    const char *end = strstr(at + 2, "*/");
    return end ? (size_t)(end + 2 - at) : strlen(at);
}

static size_t literal_length(const char *at)
{
    if (*at != '"' && *at != '\'') return 0;
    size_t length = 1;
    while (at[length] && at[length] != '\n' && at[length] != *at)
        length += at[length] == '\\' && at[length + 1] ? 2 : 1;
    return length + (at[length] == *at);
}

/* Whatever separates two pieces of code counts as one newline if it ends a line, which matters to directives,
 * else as one blank. A text begins as if after a newline, and what follows its last piece does not count. */
static void hash_code(XXH64_state_t *hash, const char *text)
{
    char gap = '\n';
    for (const char *at = text; *at;) {
        size_t length = comment_length(at);
        if (length || strchr(BLANKS, *at)) {
            if (gap != '\n') gap = *at == '\n' ? '\n' : ' ';
            at += length ? length : 1;
            continue;
        }
        if (gap) XXH64_update(hash, &gap, 1);
        gap = '\0';
        length = literal_length(at);
        if (!length) length = 1 + strcspn(at + 1, BLANKS "/\"'");
        XXH64_update(hash, at, length);
        at += length;
    }
}

static uint64_t hash_sources(const struct template *t)
{
    XXH64_state_t hash;
    XXH64_reset(&hash, 0);
    for (int i = 0; i < t->source_count; i++) {
        XXH64_update(&hash, t->sources[i].name, strlen(t->sources[i].name) + 1);
        hash_code(&hash, t->sources[i].text);
        XXH64_update(&hash, "", 1);
    }
    return XXH64_digest(&hash);
}

/* Reading all sources takes some tenths of a millisecond, and files of winners ask at each line: it is done
 * once. Two threads that do so at a time find the same. */
uint64_t template_hash(const struct template *t)
{
    static _Atomic uint64_t known[TEMPLATES_MAX]; /* 0: not yet */
    size_t i = 0;
    while (i < template_count && templates[i] != t) i++;
    if (i < template_count && known[i]) return known[i];
    const uint64_t hash = hash_sources(t);
    if (i < template_count) known[i] = hash;
    return hash;
}
