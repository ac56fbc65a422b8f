#include "complete.h"

#include "gemm_type.h"
#include "gpu.h"
#include "ladder.h"
#include "paths.h"
#include "print.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is typed, and what stands before each candidate: "--format=". */
struct typed {
    const char *word, *before;
};

static void offer(const struct typed *typed, const char *candidate, const char *about)
{
    if (strncmp(candidate, typed->word, strlen(typed->word)) != 0) return;
    print_text(stdout, typed->before, strlen(typed->before));
    print_text(stdout, candidate, strlen(candidate));
    if (*about) print_text(stdout, "\t", 1);
    print_text(stdout, about, strcspn(about, ".:;,(\v"));
    print_end(stdout);
}

static void offer_gpus(const struct typed *typed)
{
    char folder[4096];
    struct gpu *gpus = NULL;
    size_t count = 0;
    if (!paths_configs("gpus", folder, sizeof folder) && !gpu_list(folder, &gpus, &count))
        for (size_t i = 0; i < count; i++) offer(typed, gpus[i].id, gpus[i].name);
    free(gpus);
    offer(typed, "this", "the GPU of this machine");
}

static void offer_types(const struct typed *typed)
{
    for (int i = 0; i < GEMM_TYPE_COUNT; i++) {
        const struct gemm_type_row *row = gemm_type_row((enum gemm_type)i);
        if (!strchr(row->name, ':')) offer(typed, row->name, row->meaning);
    }
}

static void offer_rungs(const struct typed *typed)
{
    for (int i = 0; i < LADDER_RUNGS; i++) offer(typed, ladder_rungs[i]->name + strlen("ladder_"), "");
}

/* One alternative of what an option's value is called. */
static void offer_value(const struct typed *typed, const char *value)
{
    static const struct {
        const char *name;
        void (*offer)(const struct typed *typed);
    } lists[] = {{"GPU", offer_gpus}, {"TYPE", offer_types}, {"RUNG", offer_rungs}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (strcmp(value, lists[i].name) == 0) lists[i].offer(typed);
    if (strcmp(value, "FILE") == 0) print_line(stdout, ":file");
    else if (strcmp(value, "DIR") == 0) print_line(stdout, ":dir");
    else if (islower((unsigned char)*value)) offer(typed, value, "");
}

static void offer_values(const struct typed *typed, const char *list)
{
    char values[256], *rest = NULL;
    snprintf(values, sizeof values, "%s", list);
    for (char *v = strtok_r(values, "|", &rest); v; v = strtok_r(NULL, "|", &rest)) offer_value(typed, v);
}

/* The option that word is, "--format", "--format=js" or "-s"; NULL: none. */
static const struct command_option *option_of(const struct command_line *line, const char *word)
{
    const struct command_option *o;
    const size_t length = word[0] == '-' && word[1] == '-' ? strcspn(word + 2, "=") : 0;
    for (int i = 0; word[0] == '-' && (o = command_option_at(line, i)); i++) {
        if (!o->name) continue;
        if (length && strlen(o->name) == length && strncmp(o->name, word + 2, length) == 0) return o;
        if (o->letter && word[1] == o->letter && !word[2]) return o;
    }
    return NULL;
}

static void offer_options(const struct typed *typed, const struct command_line *line, int argc, char **argv)
{
    const struct command_option *o;
    char name[64];
    for (int i = 0; (o = command_option_at(line, i)); i++) {
        bool given = !o->name;
        for (int j = 1; j + 1 < argc && !given && !o->repeats; j++) given = option_of(line, argv[j]) == o;
        if (given) continue;
        snprintf(name, sizeof name, "--%s", o->name);
        offer(typed, name, o->about);
    }
}

static void offer_commands(const struct typed *typed, const struct complete_command *commands, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (commands[i].line) offer(typed, commands[i].name, commands[i].line->about);
}

static const struct command_line *line_of(const struct complete_command *commands, size_t count, int argc,
                                          char **argv)
{
    for (size_t i = 0; argc > 2 && i < count; i++)
        if (commands[i].line && strcmp(commands[i].name, argv[1]) == 0) return commands[i].line;
    return commands[0].line;
}

enum status complete(const struct complete_command *commands, size_t count, int argc, char **argv)
{
    struct typed typed = {.word = argc > 1 ? argv[argc - 1] : "", .before = ""};
    const struct command_line *line = line_of(commands, count, argc, argv);
    const bool help = argc > 2 && strcmp(argv[1], "help") == 0;
    char before[80];
    int option_at = argc - 2; /* bash takes the = of --format=json for a word */
    if (strcmp(typed.word, "=") == 0) typed.word = "";
    else if (option_at > 1 && strcmp(argv[option_at], "=") == 0) option_at--;
    const struct command_option *o = option_at > 0 ? option_of(line, argv[option_at]) : NULL;
    const char *equals = strncmp(typed.word, "--", 2) == 0 ? strchr(typed.word, '=') : NULL;
    if (equals && (o = option_of(line, typed.word))) {
        snprintf(before, sizeof before, "%.*s", (int)(equals + 1 - typed.word), typed.word);
        typed = (struct typed){equals + 1, before};
    }
    if (o && o->value) {
        offer_values(&typed, o->value);
        return OK;
    }
    if (help || (argc <= 2 && *typed.word != '-')) offer_commands(&typed, commands, count);
    if (argc <= 2 && *typed.word != '-') offer(&typed, "help", "what a command does");
    if (!help && *typed.word == '-') offer_options(&typed, line, argc, argv);
    else if (!help && argc == 3 && line->arguments && strchr(line->arguments, '|'))
        offer_values(&typed, line->arguments); /* "slurm|status|merge" */
    else if (!help && argc > 2 && line->arguments) print_line(stdout, ":file");
    return OK;
}
