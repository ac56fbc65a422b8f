/* complete.h — what a shell may offer while a command line of tune is typed. */
#ifndef GT_COMPLETE_H
#define GT_COMPLETE_H

#include "command_line.h"

struct complete_command {
    const char *name;
    const struct command_line *line; /* NULL: not for people */
    enum status (*run)(int argc, char **argv);
};

/* argv[1] and so on: the words after `tune`, of which the last is being typed. Prints a candidate a line,
 * behind a tab what it means; ":file" and ":dir" where the names of files or folders fit. commands[0] is the
 * command that needs no word. */
enum status complete(const struct complete_command *commands, size_t count, int argc, char **argv);

#endif
