#include "command_line.h"

#include "likely.h"
#include "print.h"
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *command_version = "";

enum common { HELP, QUIET, VERSION, COMMON };

static const struct command_option common[COMMON] = {
    [HELP] = {.name = "help", .letter = 'h', .about = "print this help", .group = 9},
    [QUIET] = {.name = "quiet", .letter = 'q', .about = "print results and errors only", .repeats = true},
    [VERSION] = {.name = "version", .letter = 'V', .about = "print the version"},
};

#define OPTIONS_MAX (COMMAND_OPTIONS_MAX + COMMON)
#define FIRST_LONG  256 /* getopt returns this and the place of a long option in the table */
#define ARGUMENT    1   /* getopt returns it for what is no option */

struct reading {
    const struct command_line *line;
    struct option longs[OPTIONS_MAX + 1];
    char shorts[2 * OPTIONS_MAX + 4];
    int given[OPTIONS_MAX]; /* how often */
    void *command;          /* NULL: options are only counted */
    struct command_words words;
};

const struct command_option *command_option_at(const struct command_line *line, int n)
{
    const int own = line->option_count;
    return n < own ? &line->options[n] : n < own + COMMON ? &common[n - own] : NULL;
}

/* The place of an option by its name, of so many characters, or by what getopt returned; -1: there is none.
 */
static int named(const struct command_line *line, const char *name, size_t length)
{
    const struct command_option *o;
    for (int i = 0; (o = command_option_at(line, i)); i++)
        if (o->name && strlen(o->name) == length && strncmp(o->name, name, length) == 0) return i;
    return -1;
}

static int returned(const struct command_line *line, int key)
{
    const struct command_option *o;
    if (key >= FIRST_LONG) return key - FIRST_LONG;
    for (int i = 0; (o = command_option_at(line, i)); i++)
        if (o->name && o->letter == key) return i;
    return key == '?' ? named(line, "help", 4) : -1;
}

static void prepare(struct reading *r)
{
    const struct command_option *o;
    size_t used = (size_t)snprintf(r->shorts, sizeof r->shorts, "-:"); /* arguments in their order */
    assert(r->line->option_count <= COMMAND_OPTIONS_MAX);
    for (int i = 0, count = 0; (o = command_option_at(r->line, i)); i++) {
        if (!o->name) continue; /* a heading */
        r->longs[count++] = (struct option){
            .name = o->name, .has_arg = o->value ? required_argument : no_argument, .val = FIRST_LONG + i};
        if (o->letter)
            used += (size_t)snprintf(r->shorts + used, sizeof r->shorts - used, "%c%s", o->letter,
                                     o->value ? ":" : "");
    }
}

static enum status unknown_option(const struct command_line *line, const char *word, size_t length)
{
    char name[64], meant[LIKELY_TEXT_MAX];
    const struct command_option *o;
    snprintf(name, sizeof name, "%.*s", (int)length, word + 2);
    struct likely likely = {.word = name};
    for (int i = 0; (o = command_option_at(line, i)); i++)
        if (o->name) likely_offer(&likely, o->name);
    if (length == 1 && strchr("mnk", name[0]) && named(line, "shape", 5) >= 0)
        return fail(E_USAGE, "there is no option '%.60s'; sizes are given together, as --shape MxNxK", word);
    snprintf(meant, sizeof meant, "; did you mean --%.64s?", likely.best ? likely.best : "");
    return fail(E_USAGE, "there is no option '%.60s'%s", word, likely.best ? meant : "");
}

/* kind: getopt's '?' or ':'. */
static enum status mistake(const struct command_line *line, int kind)
{
    const int option = optopt ? returned(line, optopt) : -1;
    if (option < 0) return fail(E_USAGE, "there is no option '-%c'", optopt);
    return fail(E_USAGE, kind == ':' ? "--%s needs a value" : "--%s takes no value",
                command_option_at(line, option)->name);
}

enum status command_whole(const char *option, const char *text, int64_t least, int64_t most, int64_t *value)
{
    char *end;
    errno = 0;
    const long long n = strtoll(text, &end, 10);
    if (end == text || *end || isspace((unsigned char)*text) || errno || n < least || n > most)
        return fail(E_USAGE, "--%s '%.40s' is not a whole number in %" PRId64 "..%" PRId64, option, text,
                    least, most);
    *value = n;
    return OK;
}

int command_gpu_number(const char *gpu)
{
    const size_t digits = strspn(gpu, "0123456789");
    return digits > 0 && digits < 5 && !gpu[digits] && atoi(gpu) < COMMAND_GPUS_MAX ? atoi(gpu) : -1;
}

static enum status choose(const struct command_option *option, const char *value, void *member)
{
    char choices[256], list[256] = "", meant[LIKELY_TEXT_MAX], *rest = NULL;
    struct likely likely = {.word = value};
    size_t used = 0;
    int n = 0;
    snprintf(choices, sizeof choices, "%s", option->value);
    for (char *c = strtok_r(choices, "|", &rest); c; c = strtok_r(NULL, "|", &rest), n++) {
        if (strcmp(c, value) == 0) {
            *(int *)member = n;
            return OK;
        }
        likely_offer(&likely, c);
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                 n == 0  ? ""
                                 : *rest ? ", "
                                         : " and ",
                                 c);
    }
    return fail(E_USAGE, "unknown %s '%.40s'; there are %s%s", option->name, value, list,
                likely_text(&likely, meant));
}

static enum status apply(const struct command_option *option, char *value, char *command)
{
    void *member = command + option->member;
    int64_t number = 0;
    enum status st;
    switch (option->effect) {
    case OPTION_SETS_TEXT:
        if (!*value) return fail(E_USAGE, "--%s needs a value that is not empty", option->name);
        *(const char **)member = value;
        return OK;
    case OPTION_SETS_FLAG:
    case OPTION_CLEARS_FLAG:
        *(bool *)member = option->effect == OPTION_SETS_FLAG;
        return OK;
    case OPTION_SETS_CHOICE:
        if (value) return choose(option, value, member);
        *(int *)member = option->number;
        return OK;
    case OPTION_SETS_WHOLE:
        return command_whole(option->name, value, option->least, option->most, member);
    case OPTION_SETS_INT:
        st = command_whole(option->name, value, option->least, option->most, &number);
        if (!st) *(int *)member = (int)number;
        return st;
    default:
        return option->take(command, option, value);
    }
}

static enum status add_word(struct reading *r, char *word)
{
    if (!r->line->arguments) return fail(E_USAGE, "'%.60s' belongs to no option", word);
    if (!*word) return fail(E_USAGE, "an argument is empty: it must be the name of a file");
    if (r->command) r->words.at[r->words.count++] = word;
    return OK;
}

/* question: the option that asks for help or the version, if there is one; it ends the reading. */
static enum status read_one(struct reading *r, int key, const struct command_option **question)
{
    if (key == ARGUMENT) return add_word(r, optarg);
    if (key == ':' || (key == '?' && optopt != '?')) return mistake(r->line, key);
    const int option = returned(r->line, key);
    const struct command_option *o = command_option_at(r->line, option);
    r->given[option]++;
    if (o == &common[QUIET]) print_quiet(true);
    else if (o >= common && o < common + COMMON) *question = o;
    else if (r->command) return apply(o, optarg, r->command);
    return OK;
}

static enum status read_all(struct reading *r, int argc, char **argv, const struct command_option **question)
{
    enum status st = OK;
    *question = NULL;
    r->words.at = argv + 1;
    opterr = 0;
    optind = 0; /* glibc: start from the beginning */
    while (!st && !*question) {
        const int at = optind ? optind : 1;
        const char *word = at < argc ? argv[at] : "";
        const size_t length = strncmp(word, "--", 2) == 0 ? strcspn(word + 2, "=") : 0;
        if (length && named(r->line, word + 2, length) < 0) return unknown_option(r->line, word, length);
        const int key = getopt_long(argc, argv, r->shorts, r->longs, NULL);
        if (key == -1) break;
        st = read_one(r, key, question);
    }
    while (!st && !*question && optind < argc) st = add_word(r, argv[optind++]);
    return st;
}

static bool is_pair(const char *const pair[2], const char *x, const char *y)
{
    return (strcmp(pair[0], x) == 0 && strcmp(pair[1], y) == 0) ||
           (strcmp(pair[0], y) == 0 && strcmp(pair[1], x) == 0);
}

static bool contradict(const struct command_line *line, const struct command_option *x,
                       const struct command_option *y)
{
    if (x->effect != OPTION_CALLS && y->effect != OPTION_CALLS && x->member == y->member) return true;
    for (int i = 0; line->excluding && line->excluding[i][0]; i++)
        if (is_pair(line->excluding[i], x->name, y->name)) return true;
    return false;
}

/* Options that are each right by itself. */
static enum status check_given(const struct reading *r)
{
    const struct command_option *options = r->line->options;
    const int count = r->line->option_count;
    for (int i = 0; i < count; i++)
        if (r->given[i] > 1 && !options[i].repeats)
            return fail(E_USAGE, "--%s is given %s, and may be given once only", options[i].name,
                        r->given[i] == 2 ? "twice" : "several times");
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++)
            if (r->given[i] && r->given[j] && contradict(r->line, &options[i], &options[j]))
                return fail(E_USAGE, "--%s and --%s contradict each other", options[i].name, options[j].name);
    return OK;
}

enum status command_line_read(const struct command_line *line, int argc, char **argv, void *command)
{
    const struct command_option *question;
    struct reading r = {.line = line};
    prepare(&r);
    enum status st = read_all(&r, argc, argv, &question);
    if (!st && question == &common[VERSION]) print_line(stdout, "%s", command_version);
    else if (!st && question) command_help(line, argv[0]);
    if (!st && question) return E_HELPED;
    if (!st) st = check_given(&r);
    if (st) return fail(st, "%s (see %s --help)", status_text(), argv[0]);
    r.command = command;
    if ((st = read_all(&r, argc, argv, &question))) return st;
    if (line->arguments) memcpy((char *)command + line->words, &r.words, sizeof r.words);
    return line->check ? line->check(command) : OK;
}
