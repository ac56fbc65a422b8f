/* commands.h — the commands of `tune`, one function and one file each. main.c holds the table, prints the one
 * error sentence and exits with its code.
 *
 * Each is given its own argv (argv[0] is "tune NAME") and parses it with argp; results go to stdout, progress
 * and errors to stderr.
 */
#ifndef GT_COMMANDS_H
#define GT_COMMANDS_H

#include "status.h"

enum status cmd_tune(int argc, char **argv);    /* tuner/job/cmd_tune.c: the main job */
enum status cmd_query(int argc, char **argv);   /* tools/query/cmd_query.c */
enum status cmd_explain(int argc, char **argv); /* tools/explain/cmd_explain.c */
enum status cmd_ladder(int argc, char **argv);  /* tools/ladder/cmd_ladder.c */
enum status cmd_bench(int argc, char **argv);   /* tools/bench/cmd_bench.c: winners against NVIDIA's libraries */
enum status cmd_export(int argc, char **argv);  /* tools/export/cmd_export.c: winners as a C header, and as text */
enum status cmd_import(int argc,
                       char **argv); /* tools/import/cmd_import.c: what was exported, and other tuners' files */
enum status cmd_merge(int argc, char **argv);  /* tools/merge/cmd_merge.c: several databases in one */
enum status cmd_verify(int argc, char **argv); /* tools/verify/cmd_verify.c: database and winners checked */
enum status cmd_doctor(int argc, char **argv); /* tools/doctor/cmd_doctor.c */

/* Children, not for people: started by the pool with a socket on file descriptor 3. */

/* tuner/measure/compiler_child.c: tune _compiler --cache DIR */
enum status cmd_compiler_child(int argc, char **argv);
/* tuner/measure/worker.c: tune _worker --device N --cache DIR */
enum status cmd_gpu_worker(int argc, char **argv);

#endif
