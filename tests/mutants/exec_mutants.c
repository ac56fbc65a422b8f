/* exec_mutants.c — are the checks worth anything? Plants each bug, runs it, and demands that it is caught;
 * the text without the bug must pass the same runs. Prints the table bug -> how it was caught.
 *
 *     exec_mutants [PART/PARTS]     all of them, or a share
 *     exec_mutants TEXT             those whose name holds the text, or whose configuration begins with it
 *
 * Each runs in a process of its own, since a sanitizer ends it. Exit 0: all caught.
 */
#include "exec_problems.h"
#include "mutants.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <template.h>
#include <unistd.h>

enum { TRIALS_MAX = 64, DEADLINE_S = 120, UNFIT = 71, OUTPUT_BYTES_MAX = 1 << 16 };

/* In the child: 0 if every run is right, 1 at the first that is not, UNFIT if the edit or the text does not
 * build. */
static int run_here(const struct mutant *m, bool planted)
{
    static struct trial trials[TRIALS_MAX];
    struct config config;
    struct cpu_kernel kernel;
    char why[TRIAL_TEXT_MAX];
    struct problem like = problem_make(1, 1, 1);
    like.trans_a = m->op[0] == 't';
    like.trans_b = m->op[1] == 't';
    alarm(DEADLINE_S);
    enum status st = config_parse(m->config, &config);
    like.pointers = strcmp(m->op + 2, ":pointers") == 0;
    if (!st && m->op[2] == ':' && !like.pointers) st = epilogue_parse(m->op + 3, &like.epilogue);
    if (!st) {
        like.type = template_first_type(config.template);
        st = cpu_kernel_build(&config, &like, &m->edit, planted ? 1 : 0, &kernel);
    }
    if (st) {
        fprintf(stderr, "unfit: %s\n", status_text());
        return UNFIT;
    }
    int count = exec_problems(&config, &like, true, trials, TRIALS_MAX);
    if (count == 0) return UNFIT;
    for (int i = 0; i < count; i++)
        if (!trial_passes(&kernel, &trials[i], why)) {
            fprintf(stderr, "%s\n", why);
            return 1;
        }
    struct problem far = far_problem(&like);
    if (!like.pointers && exec_fits(&config, &far) && !far_passes(&kernel, &far, why)) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    return 0;
}

/* Run in a child; what it said on stderr goes to output. Returns its exit status, or minus the signal. */
static int run_in_child(const struct mutant *m, bool planted, char output[OUTPUT_BYTES_MAX])
{
    int ends[2], ended;
    fflush(stdout);
    if (pipe(ends)) return UNFIT;
    pid_t child = fork();
    if (child < 0) return UNFIT;
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        _exit(run_here(m, planted));
    }
    close(ends[1]);
    size_t used = 0;
    for (ssize_t got; (got = read(ends[0], output + used, OUTPUT_BYTES_MAX - 1 - used)) > 0;)
        used += (size_t)got;
    output[used] = '\0';
    close(ends[0]);
    if (waitpid(child, &ended, 0) != child) return UNFIT;
    return WIFEXITED(ended) ? WEXITSTATUS(ended) : -WTERMSIG(ended);
}

/* What caught it: the first of these that its output holds. */
static const char *caught_by(const char *output, int status)
{
    static const struct {
        const char *said, *means;
    } signs[] = {
        {"AddressSanitizer: use-after-poison", "out of bounds: guard around an operand"},
        {"AddressSanitizer: heap-buffer-overflow", "out of bounds: heap"},
        {"AddressSanitizer: global-buffer-overflow", "out of bounds: static shared memory"},
        {"AddressSanitizer", "address sanitizer"},
        {"runtime error: load of misaligned", "misaligned access"},
        {"runtime error: store to misaligned", "misaligned access"},
        {"runtime error", "undefined behaviour"},
        {"barrier divergence", "barrier divergence"},
        {"misaligned", "misaligned access"},
        {"broken kernel", "broken kernel"},
        {"beyond 2^32", "wrong answer beyond 2^32 elements"},
        {"wrong answer", "wrong answer"},
        {"guard band", "guard band"},
        {"padding", "padding of C written"},
        {"operand", "an operand changed"},
    };
    if (status == -SIGALRM) return "deadline";
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strstr(output, signs[i].said)) return signs[i].means;
    return NULL;
}

/* The first mutant that has the same unchanged kernel. */
static int first_of(const struct mutant *all, int i)
{
    int j = 0;
    while (strcmp(all[j].config, all[i].config) != 0 || strcmp(all[j].op, all[i].op) != 0) j++;
    return j;
}

struct share {
    int part, parts;  /* mutants of one kernel are in one part */
    const char *only; /* NULL: whatever they are called */
};

static bool is_wanted(const struct share *share, const struct mutant *all, int i)
{
    const char *only = share->only;
    return first_of(all, i) % share->parts == share->part &&
           (!only || strstr(all[i].name, only) || strncmp(all[i].config, only, strlen(only)) == 0);
}

/* Returns how many were run. */
static int run_family(const struct mutant *all, int count, const struct share *share, int *failures)
{
    static char output[OUTPUT_BYTES_MAX];
    int runs = 0;
    for (int i = 0; i < count; i++) {
        const struct mutant *m = &all[i];
        if (!is_wanted(share, all, i)) continue;
        runs++;
        if (first_of(all, i) == i && run_in_child(m, false, output) != 0) {
            printf("FAILED  %s: the text without the bug does not pass:\n%s\n", m->config, output);
            ++*failures;
        }
        int status = run_in_child(m, true, output);
        const char *how = status == 0 || status == UNFIT ? NULL : caught_by(output, status);
        if (!how) {
            printf("FAILED  %s: %s: %s (status %d)\n%s\n", m->edit.file, m->name,
                   status == 0 ? "not caught" : "cannot be run", status, output);
            ++*failures;
        } else {
            printf("caught  %-20s %-58s %s\n", m->edit.file, m->name, how);
        }
    }
    return runs;
}

int main(int argc, char **argv)
{
    struct share share = {0, 1, NULL};
    int failures = 0, runs = 0;
    char rest;
    if (argc > 1 && sscanf(argv[1], "%d/%d%c", &share.part, &share.parts, &rest) != 2)
        share = (struct share){0, 1, argv[1]};
    if (share.parts < 1 || share.part < 0 || share.part >= share.parts) {
        fprintf(stderr, "usage: exec_mutants [PART/PARTS | TEXT]\n");
        return 2;
    }
    runs += run_family(mutants_ladder, mutants_ladder_count, &share, &failures);
    runs += run_family(mutants_simt, mutants_simt_count, &share, &failures);
    runs += run_family(mutants_skinny, mutants_skinny_count, &share, &failures);
    runs += run_family(mutants_resident, mutants_resident_count, &share, &failures);
    runs += run_family(mutants_tall, mutants_tall_count, &share, &failures);
    runs += run_family(mutants_streamk, mutants_streamk_count, &share, &failures);
    runs += run_family(mutants_mma, mutants_mma_count, &share, &failures);
    runs += run_family(mutants_mma16, mutants_mma16_count, &share, &failures);
    runs += run_family(mutants_gemv16, mutants_gemv16_count, &share, &failures);
    runs += run_family(mutants_wgmma, mutants_wgmma_count, &share, &failures);
    runs += run_family(mutants_split, mutants_split_count, &share, &failures);
    runs += run_family(mutants_epilogue, mutants_epilogue_count, &share, &failures);
    runs += run_family(mutants_pointers, mutants_pointers_count, &share, &failures);
    printf("%d mutants, %d failures\n", runs, failures);
    return failures > 0 || runs == 0;
}
