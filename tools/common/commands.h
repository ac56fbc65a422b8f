/* commands.h — the commands of `tune` besides the main job, one function and one file each: cmd_NAME.c in its
 * own folder, with its options as a table.
 *
 * Each gets its own argv (argv[0] is "tune NAME"); results go to stdout, progress and errors to stderr.
 * main.c holds the list of commands, prints the one error sentence and exits with its code.
 */
#ifndef GT_COMMANDS_H
#define GT_COMMANDS_H

#include "command_line.h"

extern const struct command_line cmd_query_line, cmd_explain_line, cmd_ladder_line, cmd_bench_line,
    cmd_export_line, cmd_import_line, cmd_merge_line, cmd_forget_line, cmd_verify_line, cmd_doctor_line,
    cmd_run_line, cmd_cluster_line, cmd_diff_line, cmd_refresh_line, cmd_report_line, cmd_check_line,
    cmd_show_kernel_line;

enum status cmd_query(int argc, char **argv);
enum status cmd_explain(int argc, char **argv);
enum status cmd_diff(int argc, char **argv); /* two databases, drivers, dates or GPUs */
enum status cmd_ladder(int argc, char **argv);
enum status cmd_refresh(int argc, char **argv); /* what driver, libraries and kernels made due */
enum status cmd_report(int argc, char **argv);  /* a page for the browser */
enum status cmd_bench(int argc, char **argv);   /* winners against NVIDIA's libraries */
enum status cmd_export(int argc, char **argv);  /* winners as a C header, and as text */
enum status cmd_import(int argc, char **argv);  /* what was exported, and other tuners' files */
enum status cmd_merge(int argc, char **argv);   /* several databases in one */
enum status cmd_cluster(int argc, char **argv); /* a suite on many machines */
enum status cmd_forget(int argc, char **argv);  /* winners and problems removed */
enum status cmd_verify(int argc, char **argv);  /* database and winners checked */
enum status cmd_doctor(int argc, char **argv);
enum status cmd_check(int argc, char **argv);       /* an own kernel: right or wrong, and how fast */
enum status cmd_show_kernel(int argc, char **argv); /* what the compiler makes of a kernel */

/* The page of tune --report, as cmd_tune_page. */
struct session;
enum status cmd_report_session(const struct session *session, bool live);

/* A program under the drop-in: turns into it, or returns E_PROGRAM and sets its exit code. Called before this
 * process has changed anything that the program inherits. Commands with exit codes of their own (tune check)
 * return E_PROGRAM, too. */
enum status cmd_run(int argc, char **argv);
extern int cmd_run_exit;

#endif
