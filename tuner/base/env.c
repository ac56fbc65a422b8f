#include "env.h"

#include "number.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define MIB INT64_C(1048576)

#define OFF "off 0 no false"
#define ON  "on 1 yes true"

enum kind { TEXT, CHOICE, MIBS, SIZE, SECONDS };

/* A variable of ours. docs/environment.md has the same names. */
struct variable {
    const char *name;
    enum kind kind;
    const char *form;    /* what it must be: "a number of seconds ..." */
    const char *instead; /* what is used if it is not that */
    int64_t least;       /* bytes */
    const char *choices[4];
    int unset, unknown; /* choices that are used then */
};

#define TEXT_OF(variable)                                                                                    \
    {                                                                                                        \
        .name = (variable), .kind = TEXT                                                                     \
    }
#define SWITCH_OF(variable)                                                                                  \
    {                                                                                                        \
        .name = (variable), .kind = CHOICE, .choices = { OFF, ON }                                           \
    }

static const struct variable variables[] = {
    {.name = "GEMMTUNE_DROPIN",
     .kind = CHOICE,
     .choices = {"exact " ON, "nearest", OFF},
     .unset = ENV_DROPIN_EXACT,
     .unknown = ENV_DROPIN_OFF}, /* a switch that is meant to turn kernels off must not leave them on */
    {.name = "GEMMTUNE_ACCURACY", .kind = CHOICE, .choices = {"strict", "accurate", "normwise", "tf32"}},
    TEXT_OF("GEMMTUNE_EXCLUDE"),
    SWITCH_OF("GEMMTUNE_LOG"),
    SWITCH_OF("GEMMTUNE_QUIET"),
    TEXT_OF("GEMMTUNE_CAPTURE"),
    {.name = "GEMMTUNE_CAPTURE_S",
     .kind = SECONDS,
     .form = "a number of seconds from 0 to 86400",
     .instead = "30"},
    {.name = "GEMMTUNE_RENEW_S",
     .kind = SECONDS,
     .form = "a number of seconds from 0 to 86400",
     .instead = "2"},
    SWITCH_OF("GEMMTUNE_WAIT"),
    TEXT_OF("GEMMTUNE_RUN"),
    TEXT_OF("GEMMTUNE_DB"),
    TEXT_OF("GEMMTUNE_SYSTEM_DB"),
    {.name = "GEMMTUNE_DB_SAFE", .kind = CHOICE, .choices = {"auto", OFF, ON}},
    TEXT_OF("GEMMTUNE_CONFIGS"),
    TEXT_OF("GEMMTUNE_CACHE"),
    {.name = "GEMMTUNE_CACHE_MIB",
     .kind = MIBS,
     .form = "a whole number of MiB, at least 1, without a unit (GEMMTUNE_CACHE_SIZE takes one)",
     .instead = "2048",
     .least = MIB},
    {.name = "GEMMTUNE_CACHE_SIZE",
     .kind = SIZE,
     .form = "a size of at least 1M, such as 512M or 10G",
     .instead = "GEMMTUNE_CACHE_MIB or else 2G",
     .least = MIB},
    {.name = "GEMMTUNE_WORKSPACE",
     .kind = SIZE,
     .form = "a size such as 64M, 1G or 0",
     .instead = "64M for sgemm, 1G for others,"},
    {.name = "GEMMTUNE_SLURM_S",
     .kind = SECONDS,
     .form = "a number of seconds from 0 to 86400",
     .instead = "30, and 180 for sbatch,"},
    TEXT_OF("GEMMTUNE_LIBCUDA"),
    TEXT_OF("GEMMTUNE_LIBNVRTC"),
    TEXT_OF("GEMMTUNE_LIBCUBLAS"),
    TEXT_OF("GEMMTUNE_LIBCUBLASLT"),
    TEXT_OF("GEMMTUNE_LIBNVML"),
    /* for tests and for developers of gemmtune */
    TEXT_OF("GEMMTUNE_EXE"),
    TEXT_OF("GEMMTUNE_PROC"),
    SWITCH_OF("GEMMTUNE_DEBUG"),
    SWITCH_OF("GEMMTUNE_TEST"),
};
enum { COUNT = sizeof variables / sizeof *variables, CHOICES = 4 };

const char *env_text(const char *name)
{
    const char *value = secure_getenv(name);
    return value && value[0] ? value : NULL;
}

bool env_is_nonzero(const char *name)
{
    const char *value = env_text(name);
    return value && strcmp(value, "0") != 0;
}

/* NULL: it is not in the table. */
static const struct variable *find(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (strcmp(variables[i].name, name) == 0) return &variables[i];
    return NULL;
}

/* ---- values ---- */

static bool is_among(const char *word, const char *words)
{
    const size_t length = strlen(word);
    for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == length && strncasecmp(at, word, length) == 0) return true;
    return false;
}

/* CHOICES: it is none. */
static int choice_of(const struct variable *v, const char *text)
{
    for (int i = 0; i < CHOICES && v->choices[i]; i++)
        if (is_among(text, v->choices[i])) return i;
    return CHOICES;
}

static bool read_bytes(const struct variable *v, const char *text, int64_t *bytes)
{
    int64_t number = 0;
    if (!number_size(text, &number)) return false;
    if (v->kind == MIBS) {
        if (!isdigit((unsigned char)text[strlen(text) - 1]) || number > INT64_MAX / MIB) return false;
        number *= MIB;
    }
    if (number < v->least) return false;
    *bytes = number;
    return true;
}

static bool read_seconds(const char *text, double *seconds)
{
    char *end;
    const double number = number_double(text, &end);
    if (end == text || *end || !(number >= 0 && number <= 86400)) return false;
    *seconds = number;
    return true;
}

int env_choice(const char *name)
{
    const struct variable *v = find(name);
    const char *text = env_text(name);
    const int choice = text ? choice_of(v, text) : v->unset;
    return choice < CHOICES ? choice : v->unknown;
}

bool env_is_on(const char *name)
{
    return env_choice(name) == 1;
}

bool env_bytes(const char *name, int64_t *bytes)
{
    const char *text = env_text(name);
    return text && read_bytes(find(name), text, bytes);
}

bool env_seconds(const char *name, double *seconds)
{
    const char *text = env_text(name);
    return text && read_seconds(text, seconds);
}

/* ---- what was understood ---- */

static bool is_understood(const struct variable *v, const char *text)
{
    int64_t bytes;
    double seconds;
    return v->kind == TEXT || (v->kind == CHOICE    ? choice_of(v, text) < CHOICES
                               : v->kind == SECONDS ? read_seconds(text, &seconds)
                                                    : read_bytes(v, text, &bytes));
}

/* The first word of a choice: "off". */
static void append_choice(char *said, const struct variable *v, int choice)
{
    const size_t used = strlen(said);
    snprintf(said + used, ENV_SAID_MAX - used, "%.*s", (int)strcspn(v->choices[choice], " "),
             v->choices[choice]);
}

static void append(char *said, const char *text)
{
    const size_t used = strlen(said);
    snprintf(said + used, ENV_SAID_MAX - used, "%s", text);
}

static void say_meaning(const struct variable *v, const char *text, char *said)
{
    int64_t bytes = 0;
    double seconds = 0;
    snprintf(said, ENV_SAID_MAX, "'%.100s'", text);
    if (v->kind == TEXT) return;
    append(said, ": ");
    const size_t used = strlen(said), room = ENV_SAID_MAX - used;
    if (v->kind == CHOICE) append_choice(said, v, choice_of(v, text));
    else if (v->kind == SECONDS && read_seconds(text, &seconds)) snprintf(said + used, room, "%g s", seconds);
    else if (read_bytes(v, text, &bytes))
        snprintf(said + used, room, bytes % MIB ? "%lld bytes" : "%lld MiB",
                 (long long)(bytes % MIB ? bytes : bytes / MIB));
}

static void say_misunderstood(const struct variable *v, const char *text, char *said)
{
    snprintf(said, ENV_SAID_MAX, "'%.40s' is not %s", text, v->kind == CHOICE ? "" : v->form);
    for (int i = 0; v->kind == CHOICE && i < CHOICES && v->choices[i]; i++) {
        if (i) append(said, i + 1 < CHOICES && v->choices[i + 1] ? ", " : " or ");
        append_choice(said, v, i);
    }
    append(said, ": ");
    if (v->kind == CHOICE) append_choice(said, v, v->unknown);
    else append(said, v->instead);
    append(said, " is used");
}

bool env_find(const char *name, struct env_finding *finding)
{
    const struct variable *v = find(name);
    const char *text = env_text(name);
    int64_t bytes;
    if (!text) return false;
    snprintf(finding->name, sizeof finding->name, "%s", name);
    finding->understood = v && is_understood(v, text);
    if (!v) snprintf(finding->said, ENV_SAID_MAX, "'%.100s': gemmtune knows no such variable", text);
    else if (!finding->understood) say_misunderstood(v, text, finding->said);
    else say_meaning(v, text, finding->said);
    if (finding->understood && strcmp(name, "GEMMTUNE_CACHE_MIB") == 0 &&
        env_bytes("GEMMTUNE_CACHE_SIZE", &bytes)) {
        finding->understood = false;
        append(finding->said, ", not used because GEMMTUNE_CACHE_SIZE is set");
    }
    return true;
}

bool env_finding(size_t n, struct env_finding *finding)
{
    static const char prefix[] = "GEMMTUNE_";
    char name[sizeof finding->name];
    for (int i = 0; i < COUNT; i++)
        if (env_find(variables[i].name, finding) && n-- == 0) return true;
    for (char **at = environ; at && *at; at++) {
        const size_t length = strcspn(*at, "=");
        if (strncmp(*at, prefix, sizeof prefix - 1) != 0 || length >= sizeof name) continue;
        snprintf(name, sizeof name, "%.*s", (int)length, *at);
        if (!find(name) && env_find(name, finding) && n-- == 0) return true;
    }
    return false;
}

void env_report(void (*say)(const char *line))
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    struct env_finding finding;
    char line[ENV_SAID_MAX + 64];
    if (atomic_flag_test_and_set(&said)) return;
    for (int i = 0; i < COUNT; i++) {
        if (!env_find(variables[i].name, &finding) || finding.understood) continue;
        snprintf(line, sizeof line, "%s %s", finding.name, finding.said);
        say(line);
    }
}
