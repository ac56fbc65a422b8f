#include "config.h"

#include "template.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum status config_parse(const char *text, struct config *config)
{
    char copy[CONFIG_TEXT_MAX];
    if (strlen(text) >= sizeof copy)
        return fail(E_INPUT, "a configuration is at most %d characters", CONFIG_TEXT_MAX - 1);
    memcpy(copy, text, strlen(text) + 1);

    char *rest = NULL;
    const char *name = strtok_r(copy, " ", &rest);
    const struct template *t = name ? template_find(name) : NULL;
    if (!t) return fail(E_INPUT, "unknown kernel template '%.40s'", name ? name : "");

    struct config c = {.template = t};
    bool seen[CONFIG_PARAMS_MAX] = {false};
    for (char *word; (word = strtok_r(NULL, " ", &rest));) {
        char *equals = strchr(word, '=');
        if (!equals) return fail(E_INPUT, "%s: expected NAME=VALUE, found '%.40s'", t->name, word);
        *equals = '\0';
        int i = template_param(t, word);
        if (i < 0) return fail(E_INPUT, "%s has no parameter '%.40s'", t->name, word);
        if (seen[i]) return fail(E_INPUT, "%s: %s is given twice", t->name, word);
        char *end;
        errno = 0;
        long value = strtol(equals + 1, &end, 10);
        if (end == equals + 1 || *end != '\0' || errno || value < t->params[i].least ||
            value > t->params[i].most)
            return fail(E_INPUT, "%s: %s=%.40s is not a whole number in %d..%d", t->name, word, equals + 1,
                        t->params[i].least, t->params[i].most);
        c.value[i] = (int32_t)value;
        seen[i] = true;
    }
    for (int i = 0; i < t->param_count; i++) {
        if (seen[i]) continue;
        c.value[i] = t->params[i].least;
        if (!(t->optional >> i & 1))
            return fail(E_INPUT, "%s: the parameter %s is missing", t->name, t->params[i].name);
    }
    *config = c;
    return OK;
}

void config_format(const struct config *config, char *text)
{
    const struct template *t = config->template;
    size_t used = (size_t)snprintf(text, CONFIG_TEXT_MAX, "%s", t->name);
    for (int i = 0; i < t->param_count && used < CONFIG_TEXT_MAX; i++)
        used += (size_t)snprintf(text + used, CONFIG_TEXT_MAX - used, " %s=%d", t->params[i].name,
                                 config->value[i]);
}

/* How people say it: sizes that belong together, and counts. */
struct phrase {
    const char
        *names[3]; /* those that a template has of them are joined by x, and stand where the first does */
    const char *before, *after;
};
static const struct phrase phrases[] = {
    {{"BM", "BN", "BK"}, "tile ", ""}, {{"TM", "TN"}, "thread ", ""},
    {{"LANES_X"}, "lanes ", ""},       {{"WARPS_X", "WARPS_K", "WARPS_R"}, "warps ", ""},
    {{"WARPS_K"}, "", " teams"},       {{"STAGES"}, "", " stages"},
    {{"BUFFERS"}, "", " buffers"},     {{"SPLIT_K"}, "split ", ""},
};
enum { PHRASES = sizeof phrases / sizeof *phrases };

static bool is_detail(const char *name)
{
    static const char *const names[] = {"WM", "WN",  "VA",     "VB",       "VC",    "VX",
                                        "VS", "SMS", "UNROLL", "STORE_AT", "ORDER", "MIN_BLOCKS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

/* The phrase that begins with this parameter; all: its values joined. NULL: it has none. */
static const struct phrase *phrase_of(const struct config *config, const char *name, char all[64])
{
    for (int i = 0; i < PHRASES; i++) {
        if (strcmp(phrases[i].names[0], name) != 0) continue;
        size_t used = 0;
        for (int j = 0; j < 3 && phrases[i].names[j]; j++)
            if (template_param(config->template, phrases[i].names[j]) >= 0)
                used += (size_t)snprintf(all + used, 64 - used, "%s%d", j ? "x" : "",
                                         config_get(config, phrases[i].names[j]));
        return &phrases[i];
    }
    return NULL;
}

/* It is said with the parameter that begins its phrase. */
static bool is_said_before(const struct template *t, const char *name)
{
    for (int i = 0; i < PHRASES; i++)
        for (int j = 1; j < 3 && phrases[i].names[j]; j++)
            if (strcmp(phrases[i].names[j], name) == 0 && template_param(t, phrases[i].names[0]) >= 0)
                return true;
    return false;
}

static bool joins_several(const struct phrase *phrase)
{
    return phrase && phrase->names[1];
}

void config_summary(const struct config *config, char *text)
{
    const struct template *t = config->template;
    size_t used = (size_t)snprintf(text, CONFIG_TEXT_MAX, "%s", t->name);
    const char *between = " ";
    for (int i = 0; i < t->param_count && used < CONFIG_TEXT_MAX; i++) {
        const char *name = t->params[i].name;
        char value[64], lower[32];
        if (is_detail(name) || is_said_before(t, name)) continue;
        const struct phrase *phrase = phrase_of(config, name, value);
        if (config->value[i] == t->params[i].least && !joins_several(phrase) && strcmp(name, "STAGES") != 0)
            continue;
        if (!phrase) {
            size_t length = 0;
            for (; name[length] && length + 1 < sizeof lower; length++)
                lower[length] = name[length] == '_' ? ' ' : (char)tolower((unsigned char)name[length]);
            lower[length] = '\0';
            used += (size_t)snprintf(text + used, CONFIG_TEXT_MAX - used, "%s%s %d", between, lower,
                                     config->value[i]);
        } else {
            used += (size_t)snprintf(text + used, CONFIG_TEXT_MAX - used, "%s%s%s%s", between, phrase->before,
                                     value, phrase->after);
        }
        between = ", ";
    }
}

int config_get(const struct config *config, const char *name)
{
    int i = template_param(config->template, name);
    return i < 0 ? 0 : config->value[i];
}

bool config_set(struct config *config, const char *name, int value)
{
    int i = template_param(config->template, name);
    if (i >= 0) config->value[i] = value;
    return i >= 0;
}

bool config_equal(const struct config *x, const struct config *y)
{
    return x->template == y->template && memcmp(x->value, y->value, sizeof x->value) == 0;
}

uint64_t config_hash(const struct config *config)
{
    char text[CONFIG_TEXT_MAX];
    config_format(config, text);
    return XXH64(text, strlen(text), 0);
}

bool config_same_kernel(const struct config *x, const struct config *y)
{
    if (x->template != y->template) return false;
    for (int i = 0; i < x->template->param_count; i++)
        if (x->template->params[i].kind == PARAM_COMPILE && x->value[i] != y->value[i]) return false;
    return true;
}
