/* commands.h — the commands of `tune` besides the main job, one function and one file each: cmd_NAME.c in its
 * own folder.
 *
 * Each gets its own argv (argv[0] is "tune NAME") and parses it with argp; results go to stdout, progress and
 * errors to stderr. main.c holds the table, prints the one error sentence and exits with its code.
 */
#ifndef GT_COMMANDS_H
#define GT_COMMANDS_H

#include "status.h"

enum status cmd_query(int argc, char **argv);
enum status cmd_explain(int argc, char **argv);
enum status cmd_ladder(int argc, char **argv);
enum status cmd_bench(int argc, char **argv);  /* winners against NVIDIA's libraries */
enum status cmd_export(int argc, char **argv); /* winners as a C header, and as text */
enum status cmd_import(int argc, char **argv); /* what was exported, and other tuners' files */
enum status cmd_merge(int argc, char **argv);  /* several databases in one */
enum status cmd_verify(int argc, char **argv); /* database and winners checked */
enum status cmd_doctor(int argc, char **argv);

#endif
