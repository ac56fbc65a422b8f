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

/* How the values of a role are written for people: those of all its parameters, joined by x, at the position
 * of the first of them. Without `always` only if a value differs from its least one. */
static const struct {
    const char *before, *after;
    bool always;
} phrases[] = {
    [ROLE_TILE] = {"tile ", "", true},        [ROLE_THREAD] = {"thread ", "", true},
    [ROLE_LANES] = {"lanes ", "", false},     [ROLE_WARPS] = {"warps ", "", true},
    [ROLE_TEAMS] = {"", " teams", false},     [ROLE_STAGES] = {"", " stages", true},
    [ROLE_BUFFERS] = {"", " buffers", false}, [ROLE_SPLIT] = {"split ", "", false},
    [ROLE_REDUCE] = {"reduce ", "", false},
};

/* "LANES_X" as "lanes x". */
static void lower_name(const char *name, char lower[32])
{
    size_t length = 0;
    for (; name[length] && length + 1 < 32; length++)
        lower[length] = name[length] == '_' ? ' ' : (char)tolower((unsigned char)name[length]);
    lower[length] = '\0';
}

/* The values of all parameters of a role, joined. */
static void join_role(const struct config *config, enum param_role role, char all[64])
{
    const struct template *t = config->template;
    size_t used = 0;
    for (int i = 0; i < t->param_count && used < 64; i++)
        if (t->params[i].role == role)
            used += (size_t)snprintf(all + used, 64 - used, "%s%d", used ? "x" : "", config->value[i]);
}

static bool is_first_of_role(const struct template *t, int param)
{
    for (int i = 0; i < param; i++)
        if (t->params[i].role == t->params[param].role) return false;
    return true;
}

/* Writes a parameter for people; false: it is left out. */
static bool say(const struct config *config, int i, char text[128])
{
    const struct param *param = &config->template->params[i];
    const bool least = config->value[i] == param->least;
    char words[64];
    if (!phrases[param->role].before && param->role != ROLE_NAMED) return false;
    if (param->role == ROLE_NAMED) {
        lower_name(param->name, words);
        snprintf(text, 128, "%s %d", words, config->value[i]);
        return !least;
    }
    join_role(config, param->role, words);
    snprintf(text, 128, "%s%s%s", phrases[param->role].before, words, phrases[param->role].after);
    return (!least || phrases[param->role].always) && is_first_of_role(config->template, i);
}

void config_summary(const struct config *config, char *text)
{
    const struct template *t = config->template;
    size_t used = (size_t)snprintf(text, CONFIG_TEXT_MAX, "%s", t->name);
    const char *between = " ";
    for (int i = 0; i < t->param_count && used < CONFIG_TEXT_MAX; i++) {
        char words[128];
        if (!say(config, i, words)) continue;
        used += (size_t)snprintf(text + used, CONFIG_TEXT_MAX - used, "%s%s", between, words);
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
