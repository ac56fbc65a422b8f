/* command_line.h — the options of a command as one table: each with its help and with what it does. Read as
 * options.h says.
 */
#ifndef GT_COMMAND_LINE_H
#define GT_COMMAND_LINE_H

#include "status.h"
#include "table.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an option does to a member of the command's struct. */
enum option_effect {
    OPTION_SETS_TEXT,   /* const char *: its value */
    OPTION_SETS_FLAG,   /* bool */
    OPTION_CLEARS_FLAG, /* bool */
    OPTION_SETS_FORMAT, /* enum table_format: its value, or `number` if it takes none */
    OPTION_SETS_PLOT,   /* const char *: a file for plot_draw */
    OPTION_SETS_WHOLE,  /* int64_t, from least to most */
    OPTION_CALLS        /* take, which does what it likes */
};

struct command_option {
    const char *name;  /* "format"; NULL: a heading of its group */
    int letter;        /* 's': -s, too; 0: none */
    const char *value; /* what its value is called; NULL: it takes none */
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
#define OPTION_FORMAT(type, path) .effect = OPTION_SETS_FORMAT, .member = offsetof(type, path)
#define OPTION_PLOT(type, path)   .effect = OPTION_SETS_PLOT, .member = offsetof(type, path)
#define OPTION_WHOLE(type, path, low, high)                                                                  \
    .effect = OPTION_SETS_WHOLE, .member = offsetof(type, path), .least = low, .most = high
#define OPTION_CALL(function) .effect = OPTION_CALLS, .take = function

/* Rows that commands share. */
#define OPTION_ROW_DB(type, path)                                                                            \
    {                                                                                                        \
        "db", 0, "FILE", "the database (default: GEMMTUNE_DB, else the user's)", OPTION_TEXT(type, path)     \
    }
#define OPTION_ROW_FORMAT(type, path)                                                                        \
    {                                                                                                        \
        "format", 0, "F", "table (default), json or csv", OPTION_FORMAT(type, path)                          \
    }

#define COMMAND_OPTIONS_MAX 32

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

/* Errors: those of options_parse, the first of an option, else that of check. */
enum status command_line_read(const struct command_line *line, int argc, char **argv, void *command);

/* Errors: E_USAGE, which names the option. */
enum status command_whole(const char *option, const char *text, int64_t least, int64_t most, int64_t *value);

#endif
