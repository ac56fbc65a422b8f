#include "config.h"

#include "template.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* brief: parameters that are missing have their least value, as config_brief leaves them out. */
static enum status parse(const char *text, bool brief, struct config *config)
{
    char copy[CONFIG_TEXT_MAX];
    if (strlen(text) >= sizeof copy)
        return fail(E_INPUT, "a configuration is at most %d characters", CONFIG_TEXT_MAX - 1);
    memcpy(copy, text, strlen(text) + 1);

    char *rest = NULL;
    const char *name = strtok_r(copy, " ", &rest);
    const struct template *t = name ? template_find(name) : NULL;
    if (!t && name && strchr(name, '@'))
        return fail(E_INPUT, "the own kernel '%.60s' is in no database here whose own kernels may be used",
                    name);
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
        if (!brief && !(t->optional >> i & 1))
            return fail(E_INPUT, "%s: the parameter %s is missing", t->name, t->params[i].name);
    }
    *config = c;
    return OK;
}

enum status config_parse(const char *text, struct config *config)
{
    return parse(text, false, config);
}

enum status config_parse_brief(const char *text, struct config *config)
{
    return parse(text, true, config);
}

static void format(const struct config *config, bool brief, char *text)
{
    const struct template *t = config->template;
    size_t used = (size_t)snprintf(text, CONFIG_TEXT_MAX, "%s", t->name);
    for (int i = 0; i < t->param_count && used < CONFIG_TEXT_MAX; i++)
        if (config->value[i] != t->params[i].least || !(brief || t->silent >> i & 1))
            used += (size_t)snprintf(text + used, CONFIG_TEXT_MAX - used, " %s=%d", t->params[i].name,
                                     config->value[i]);
}

void config_format(const struct config *config, char *text)
{
    format(config, false, text);
}

void config_brief(const struct config *config, char *text)
{
    format(config, true, text);
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
