#include "command_line.h"

#include "options.h"
#include "plot.h"
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_KEY 256

struct reading {
    const struct command_line *line;
    char *command;
    enum status st; /* of the first mistake */
};

static int key_of(const struct command_line *line, int option)
{
    return line->options[option].letter ? line->options[option].letter : FIRST_KEY + option;
}

static int key_named(const struct command_line *line, const char *name)
{
    int i = 0;
    while (!line->options[i].name || strcmp(line->options[i].name, name) != 0) i++;
    return key_of(line, i);
}

enum status command_whole(const char *option, const char *text, int64_t least, int64_t most, int64_t *value)
{
    char *end;
    errno = 0;
    const long long n = strtoll(text, &end, 10);
    if (end == text || *end || errno || n < least || n > most)
        return fail(E_USAGE, "--%s '%.40s' is not a whole number in %" PRId64 "..%" PRId64, option, text,
                    least, most);
    *value = n;
    return OK;
}

static enum status apply(const struct command_option *option, char *value, char *command)
{
    void *member = command + option->member;
    switch (option->effect) {
    case OPTION_SETS_TEXT:
        *(const char **)member = value;
        return OK;
    case OPTION_SETS_PLOT:
        *(const char **)member = value;
        return plot_check(value);
    case OPTION_SETS_FLAG:
    case OPTION_CLEARS_FLAG:
        *(bool *)member = option->effect == OPTION_SETS_FLAG;
        return OK;
    case OPTION_SETS_FORMAT:
        if (value) return table_format_parse(value, member);
        *(enum table_format *)member = (enum table_format)option->number;
        return OK;
    case OPTION_SETS_WHOLE:
        return command_whole(option->name, value, option->least, option->most, member);
    default:
        return option->take(command, option, value);
    }
}

static error_t on_option(int key, char *value, struct argp_state *state)
{
    struct reading *r = state->input;
    const struct command_line *line = r->line;
    if (key == ARGP_KEY_ARGS && line->arguments) {
        const struct command_words words = {state->argv + state->next, state->argc - state->next};
        memcpy(r->command + line->words, &words, sizeof words);
        return 0;
    }
    for (int i = 0; i < line->option_count; i++) {
        if (!line->options[i].name || key_of(line, i) != key) continue;
        r->st = apply(&line->options[i], value, r->command);
        return r->st ? EINVAL : 0;
    }
    return ARGP_ERR_UNKNOWN;
}

enum status command_line_read(const struct command_line *line, int argc, char **argv, void *command)
{
    struct argp_option rows[COMMAND_OPTIONS_MAX + 1] = {{0}};
    int repeatable[COMMAND_OPTIONS_MAX + 1] = {0}, excluding[COMMAND_OPTIONS_MAX + 1][2] = {{0}};
    int repeating = 0;
    assert(line->option_count <= COMMAND_OPTIONS_MAX);
    for (int i = 0; i < line->option_count; i++) {
        const struct command_option *o = &line->options[i];
        const int key = o->name ? key_of(line, i) : 0;
        rows[i] = (struct argp_option){
            .name = o->name, .key = key, .arg = o->value, .doc = o->about, .group = o->group};
        if (o->repeats) repeatable[repeating++] = key;
    }
    for (int i = 0; line->excluding && line->excluding[i][0]; i++)
        for (int j = 0; j < 2; j++) excluding[i][j] = key_named(line, line->excluding[i][j]);
    const struct argp argp = {/* argp loses the memory that it takes for an empty list */
                              .options = line->option_count > 0 ? rows : NULL,
                              .parser = on_option,
                              .doc = line->about,
                              .args_doc = line->arguments};
    const struct option_rules rules = {.repeatable = repeatable, .excluding = (const int(*)[2])excluding};
    struct reading reading = {.line = line, .command = command};
    enum status st = options_parse(&argp, &rules, argc, argv, &reading);
    if (reading.st) st = reading.st;
    return st || !line->check ? st : line->check(command);
}
