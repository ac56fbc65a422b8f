/* command_line.h — the options of a command as one table, by which its command line is read, its help and its
 * man page are printed, and shells complete it.
 *
 * Options have exact names: no abbreviations. Options that are repeated, or contradict each other, are
 * refused. Every command also has --help (-h), --quiet (-q) and --version (-V).
 */
#ifndef GT_COMMAND_LINE_H
#define GT_COMMAND_LINE_H

#include "status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an option does to a member of the command's struct. Options that set the same member contradict each
 * other. */
enum option_effect {
    OPTION_SETS_TEXT,   /* const char *: its value, which is not empty */
    OPTION_SETS_FLAG,   /* bool */
    OPTION_CLEARS_FLAG, /* bool */
    OPTION_SETS_CHOICE, /* an enum: the place of its value among the choices, or `number` if it takes none */
    OPTION_SETS_WHOLE,  /* int64_t, from least to most */
    OPTION_SETS_INT,    /* int, from least to most */
    OPTION_CALLS        /* take, which does what it likes */
};

struct command_option {
    const char *name;  /* "format"; NULL: a heading of its group */
    int letter;        /* 's': -s, too; 0: none */
    const char *value; /* what its value is called; NULL: it takes none. Completion knows FILE, DIR, GPU and
                          TYPE; words with | between them are choices: "table|json|csv" */
    const char *about; /* help */
    int group;         /* of the help; 0: that of the option before */
    bool repeats;      /* may be given more than once */
    enum option_effect effect;
    size_t member; /* offset */
    int64_t least, most;
    /* value: NULL if it takes none; take may change it. Errors end the reading. */
    enum status (*take)(void *command, const struct command_option *option, char *value);
    int number;
};

/* Members that end a row of the table. */
#define OPTION_TEXT(type, path)   .effect = OPTION_SETS_TEXT, .member = offsetof(type, path)
#define OPTION_FLAG(type, path)   .effect = OPTION_SETS_FLAG, .member = offsetof(type, path)
#define OPTION_CLEARS(type, path) .effect = OPTION_CLEARS_FLAG, .member = offsetof(type, path)
#define OPTION_CHOICE(type, path) .effect = OPTION_SETS_CHOICE, .member = offsetof(type, path)
#define OPTION_WHOLE(type, path, low, high)                                                                  \
    .effect = OPTION_SETS_WHOLE, .member = offsetof(type, path), .least = low, .most = high
#define OPTION_INT(type, path, low, high)                                                                    \
    .effect = OPTION_SETS_INT, .member = offsetof(type, path), .least = low, .most = high
#define OPTION_CALL(function) .effect = OPTION_CALLS, .take = function

/* Rows that commands share. */
#define OPTION_ROW_DB(type, path)                                                                            \
    {                                                                                                        \
        "db", 0, "FILE", "the database (GEMMTUNE_DB, else the user's)", OPTION_TEXT(type, path)              \
    }
#define OPTION_GPU_ABOUT                                                                                     \
    "short name (h200), driver's name, architecture (sm_90), number on this machine, or this"
#define OPTION_ROW_GPU(type, path, about)                                                                    \
    {                                                                                                        \
        "gpu", 0, "GPU", about ": " OPTION_GPU_ABOUT, OPTION_TEXT(type, path)                                \
    }

#define COMMAND_OPTIONS_MAX 48

struct command_words {
    char **at;
    int count;
};

struct command_line {
    const struct command_option *options;
    int option_count;
    const char *about;                   /* help, and behind \v what comes after the options */
    const char *arguments;               /* "FILE..."; NULL: it takes none */
    size_t words;                        /* offset of a struct command_words for them */
    const char *const (*excluding)[2];   /* pairs of names of which only one may be given; ends with NULL */
    enum status (*check)(void *command); /* what the options must be together; NULL: nothing */
};

/* Answered to --version; set once, by main. */
extern const char *command_version;

/* Words of argv that are not options are moved to its front. Errors: E_HELPED: help or the version was
 * printed; E_USAGE: the first mistake; else that of an option's take or of check. */
enum status command_line_read(const struct command_line *line, int argc, char **argv, void *command);

/* Errors: E_USAGE, which names the option. */
enum status command_whole(const char *option, const char *text, int64_t least, int64_t most, int64_t *value);

/* A number below any that --gpu takes by its number, and -1 for a name. */
#define COMMAND_GPUS_MAX 1024
int command_gpu_number(const char *gpu);

/* The n-th option, those of all commands after the command's own; NULL behind the last. */
const struct command_option *command_option_at(const struct command_line *line, int n);

/* The help on standard output; name: "tune query". */
void command_help(const struct command_line *line, const char *name);

/* The help as a man page in roff on standard output, for section 1. */
void command_man(const struct command_line *line, const char *name);

#endif
