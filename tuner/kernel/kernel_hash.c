#define XXH_STATIC_LINKING_ONLY /* a streaming state on the stack */
#include "kernel_hash.h"

#include "template.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

/* ---- the source ---- */

/* The part of a source that has been read and not yet hashed. */
struct reader {
    XXH64_state_t hash;
    char text[4096];
    size_t length;
};

/* Letters, digits and most signs stand for themselves, wherever they are but for the start of a line. */
static bool is_plain(char c)
{
    return c >= '(' && c <= '~' && c != '/' && c != '\\';
}

static void put(struct reader *r, char c)
{
    if (r->length == sizeof r->text) {
        XXH64_update(&r->hash, r->text, r->length);
        r->length = 0;
    }
    r->text[r->length++] = c;
}

/* The end of a comment that begins there: a line's end belongs to no comment. NULL: none begins. */
static const char *skip_comment(const char *at)
{
    if (at[0] != '/' || (at[1] != '*' && at[1] != '/')) return NULL;
    const char *end = at[1] == '*' ? strstr(at + 2, "*/") : strchr(at, '\n');
    if (!end) return at + strlen(at);
    return at[1] == '*' ? end + 2 : end;
}

/* A literal as it is: it may contain what looks like a comment. Returns its last character. */
static const char *put_literal(struct reader *r, const char *at)
{
    const char quote = *at;
    put(r, *at);
    while (at[1] && at[1] != '\n' && at[1] != quote) {
        if (at[1] == '\\' && at[2]) put(r, *++at);
        put(r, *++at);
    }
    if (at[1] == quote) put(r, *++at);
    return at;
}

/* Comments and white space count as one blank; the ends of a directive's line count, those of others do not.
 */
static void put_text(struct reader *r, const char *at)
{
    bool blank = true, line_begins = true, directive = false;
    for (; *at; at++) {
        for (; !blank && is_plain(*at); at++) put(r, *at); /* most of a text */
        if (!*at) break;
        const char *const end = skip_comment(at);
        const bool spliced = at[0] == '\\' && at[1] == '\n';
        if (end || spliced || isspace((unsigned char)*at)) {
            if (*at == '\n' && directive) put(r, '\n');
            if (*at == '\n') line_begins = true, directive = false;
            if (end || spliced) at = end ? end - 1 : at + 1;
            blank = true;
            continue;
        }
        if (*at == '#' && line_begins) put(r, '\n'), directive = true;
        else if (blank) put(r, ' ');
        blank = line_begins = false;
        if (*at == '"' || *at == '\'') at = put_literal(r, at);
        else put(r, *at);
    }
    put(r, '\0');
}

uint64_t kernel_source_hash(const struct template *t)
{
    struct reader r = {.length = 0};
    XXH64_reset(&r.hash, 0);
    for (int i = 0; t->sources[i].name; i++) put_text(&r, t->sources[i].text);
    XXH64_update(&r.hash, r.text, r.length);
    const uint64_t hash = XXH64_digest(&r.hash);
    return hash ? hash : 1;
}

/* ---- kernels ---- */

/* Hashes of the sources of templates by their number; 0: not known yet. */
static _Atomic uint64_t known[TEMPLATES_MAX + TEMPLATES_ADDED_MAX];

static uint64_t source_of(const struct template *t)
{
    const size_t count = templates_all();
    size_t i = 0;
    while (i < count && template_at(i) != t) i++;
    if (i >= count || i >= sizeof known / sizeof *known) return kernel_source_hash(t);
    uint64_t hash = atomic_load(&known[i]);
    if (!hash) atomic_store(&known[i], hash = kernel_source_hash(t));
    return hash;
}

static bool meets(const struct kernel_key *key, const int32_t values[2], const struct kept_kernel *row)
{
    return key->arch >= row->arch && (key->epilogue != 0) >= row->epilogue &&
           key->pointers >= row->pointers && values[0] >= row->least[0] && values[1] >= row->least[1];
}

/* The number of a kernel of this source in the table; `otherwise` if it has none. */
static uint64_t find_kept(const struct kernel_key *key, uint64_t source, uint64_t otherwise)
{
    const struct template *t = key->config.template;
    const struct kept_source *kept = kept_sources;
    int32_t values[2] = {0, 0};
    while (kept->template && (kept->source != source || strcmp(kept->template, t->name) != 0)) kept++;
    if (!kept->template) return otherwise;
    for (int i = 0; i < 2; i++)
        if (kept->params[i]) values[i] = config_get(&key->config, kept->params[i]);
    for (int i = 0; i < kept->count; i++)
        if (meets(key, values, &kept->kernels[i])) return kept->kernels[i].hash;
    return otherwise;
}

#define OF_A_LIBRARY 1

uint64_t kernel_hash(const struct kernel_key *key)
{
    if (template_is_library(key->config.template)) return OF_A_LIBRARY; /* its configuration says it all */
    const uint64_t source = source_of(key->config.template);
    const unsigned char macros[] = {key->epilogue != 0, key->pointers};
    const bool plain = !macros[0] && !macros[1];
    const uint64_t hash = find_kept(key, source, plain ? source : XXH64(macros, sizeof macros, source) | 1);
    return kernel_key_contracts(key) ? hash : hash + 2; /* compiled with another option */
}

void kernel_hash_format(const struct kernel_key *key, char text[KERNEL_HASH_TEXT])
{
    snprintf(text, KERNEL_HASH_TEXT, "%016" PRIx64, kernel_hash(key));
}

bool kernel_hash_means(const struct kernel_key *key, const char *text)
{
    char now[KERNEL_HASH_TEXT];
    kernel_hash_format(key, now);
    return strcmp(text, now) == 0;
}
