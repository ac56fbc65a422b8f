#include "options.h"

#include "print.h"
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* KEY_HELP is not '?', which getopt returns for a mistake. */
enum { KEY_VERSION = 'V', KEY_USAGE = 1000, KEY_HELP, KEYS };

/* The same options as argp's own, which print without print.h and end the process. */
static const struct argp_option questions[] = {
    {"help", '?', NULL, 0, "Print this help", -1},
    {"usage", KEY_USAGE, NULL, 0, "Print a short usage message", -1},
    {"version", KEY_VERSION, NULL, 0, "Print program version", -1},
    {0},
};

static error_t ignore(int key, char *argument, struct argp_state *state)
{
    (void)key, (void)argument, (void)state;
    return ARGP_ERR_UNKNOWN;
}

static const struct argp question_argp = {.options = questions, .parser = ignore};

/* The options of a command line. */
struct names {
    struct option *longs; /* for getopt; ends with zeros */
    int count;
    char shorts[64]; /* for getopt */
};

static bool is_short(int key)
{
    return key > 0 && key < 128 && isalnum(key);
}

static void add_names(struct names *names, const struct argp_option *list)
{
    for (; list && (list->name || list->key || list->doc); list++) {
        if (!list->name) continue; /* a heading */
        names->longs[names->count++] = (struct option){.name = list->name,
                                                       .has_arg = list->arg ? required_argument : no_argument,
                                                       .val = list->key == '?' ? KEY_HELP : list->key};
        const size_t used = strlen(names->shorts);
        if (is_short(list->key) && used + 3 < sizeof names->shorts)
            snprintf(names->shorts + used, sizeof names->shorts - used, "%c%s", list->key,
                     list->arg ? ":" : "");
    }
}

static enum status collect_names(const struct argp *argp, struct names *names)
{
    size_t room = 1 + sizeof questions / sizeof *questions;
    for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++) room++;
    *names = (struct names){.longs = calloc(room, sizeof *names->longs), .shorts = ":"};
    if (!names->longs) return fail(E_MEMORY, "out of memory while reading the command line");
    add_names(names, argp->options);
    add_names(names, questions);
    return OK;
}

static const char *name_of(const struct names *names, int key)
{
    for (int i = 0; i < names->count; i++)
        if (names->longs[i].val == key) return names->longs[i].name;
    return NULL;
}

/* kind: getopt's '?' or ':'; word: the argument at which it stopped. */
static enum status mistake(const struct names *names, int kind, const char *word)
{
    const char *known = optopt ? name_of(names, optopt) : NULL;
    if (kind == ':') return fail(E_USAGE, "--%s needs a value", known ? known : "?");
    if (known) return fail(E_USAGE, "--%s takes no value", known);
    if (optopt) return fail(E_USAGE, "there is no option '-%c'", optopt);
    int candidates = 0;
    for (int i = 0; i < names->count; i++)
        candidates += strncmp(names->longs[i].name, word + 2, strcspn(word + 2, "=")) == 0;
    return fail(E_USAGE,
                candidates ? "'%.60s' is short for more than one option" : "there is no option '%.60s'",
                word);
}

static bool contains(const int *list, int key)
{
    for (; list && *list; list++)
        if (*list == key) return true;
    return false;
}

static enum status judge_repeats(const struct names *names, const struct option_rules *rules,
                                 const int *given)
{
    for (int key = 1; key < KEYS; key++)
        if (given[key] > 1 && !(rules && contains(rules->repeatable, key)))
            return fail(E_USAGE, "--%s is given %s, and may be given once only", name_of(names, key),
                        given[key] == 2 ? "twice" : "several times");
    for (const int(*pair)[2] = rules ? rules->excluding : NULL; pair && (*pair)[0]; pair++)
        if (given[(*pair)[0]] && given[(*pair)[1]])
            return fail(E_USAGE, "--%s and --%s contradict each other", name_of(names, (*pair)[0]),
                        name_of(names, (*pair)[1]));
    return OK;
}

static enum status answer(const struct argp *argp, const char *name, int question)
{
    char title[64];
    snprintf(title, sizeof title, "%s", name);
    if (question == KEY_VERSION) {
        print_line(stdout, "%s", argp_program_version);
        return E_HELPED;
    }
    struct argp whole = *argp;
    const struct argp_child children[] = {{.argp = &question_argp}, {0}};
    whole.children = children;
    unsetenv("ARGP_HELP_FMT"); /* else argp would print its complaint about a wrong value to the terminal */
    argp_help(&whole, stdout,
              question == KEY_USAGE ? ARGP_HELP_USAGE
                                    : ARGP_HELP_SHORT_USAGE | ARGP_HELP_DOC | ARGP_HELP_LONG,
              title);
    return E_HELPED;
}

/* A first pass, which finds mistakes in the options as such. question: the help option that was given, or
 * 0. */
static enum status look_through(const struct argp *argp, const struct option_rules *rules,
                                const struct names *names, int argc, char **argv, int *question)
{
    int given[KEYS] = {0}, key;
    opterr = 0;
    optind = 0; /* glibc: start from the beginning */
    while ((key = getopt_long(argc, argv, names->shorts, names->longs, NULL)) != -1) {
        *question = key == '?' && optopt == '?'                                 ? KEY_HELP
                    : key == KEY_HELP || key == KEY_USAGE || key == KEY_VERSION ? key
                                                                                : 0;
        if (*question) return OK;
        if (key == '?' || key == ':') return mistake(names, key, argv[optind - 1]);
        given[key]++;
    }
    if (optind < argc && !argp->args_doc) return fail(E_USAGE, "'%.60s' belongs to no option", argv[optind]);
    return judge_repeats(names, rules, given);
}

enum status options_parse(const struct argp *argp, const struct option_rules *rules, int argc, char **argv,
                          void *input)
{
    struct names names;
    int question = 0;
    enum status st = collect_names(argp, &names);
    if (!st) st = look_through(argp, rules, &names, argc, argv, &question);
    free(names.longs);
    if (!st && question) return answer(argp, argv[0], question);
    if (st == E_USAGE) return fail(st, "%s (see %s --help)", status_text(), argv[0]);
    if (st) return st;
    const error_t error = argp_parse(argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, input);
    if (error == ENOMEM) return fail(E_MEMORY, "out of memory while reading the command line");
    return error ? E_USAGE : OK;
}
