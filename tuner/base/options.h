/* options.h — a command line, read by argp, with stricter rules: repeated and contradictory options are
 * refused, every mistake is reported through status.h, and failing to write the help is an error.
 */
#ifndef GT_OPTIONS_H
#define GT_OPTIONS_H

#include "status.h"
#include <argp.h>

/* Lists of argp keys that end with 0. NULL: none. */
struct option_rules {
    const int *repeatable;     /* may be given more than once */
    const int (*excluding)[2]; /* pairs of which only one may be given; ends with {0, 0} */
};

/* argp_parse with the options of one table (no children) and --help, --usage and --version. args_doc NULL:
 * arguments that are not options are refused. rules may be NULL. The parser returns an errno when it has
 * called fail().
 *
 * Errors: E_HELPED: help, usage or version was printed; E_USAGE, with a sentence about the mistake or the
 * parser's own sentence; E_MEMORY.
 */
enum status options_parse(const struct argp *argp, const struct option_rules *rules, int argc, char **argv,
                          void *input);

#endif
