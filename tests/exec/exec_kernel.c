/* exec_kernel.c — runs configurations of the kernel templates on the CPU and compares every result with a
 * reference.
 *
 *     exec_kernel [WITH] FILE [OP [PART/PARTS]]      configurations of FILE, one per line
 *     exec_kernel --config "simt BM=.." [OP]         one configuration
 *     exec_kernel --config "simt BM=.." PROBLEM      on one problem, in every order of the threads
 *
 * OP: nn, nt, tn, tt, all, or turns: one for each configuration, another for the next; or two of them. WITH:
 * --epilogues, another epilogue for each kernel; --pointers, arrays of the addresses of batch items, and
 * single elements at a time of what is not packed, unless the kernel looks at the addresses; or --mixed,
 * neither, an epilogue, or pointers, in turn. --mixed in turns runs fewer problems; --mixed with all or two
 * runs one op of each configuration, in turn, on all problems, and each of the others on another third of
 * them.
 *
 * Exit: 0 all right, 1 something wrong (described on stderr), 2 usage.
 */
#include "exec_problems.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <template.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

enum { TRIALS_MAX = 64, LINE_MAX_BYTES = 1024 };

static char current[TRIAL_TEXT_MAX]; /* the running trial, for messages when a sanitizer ends the process */

static void say_current(void)
{
    fprintf(stderr, "while running %s\n", current);
}

struct tally {
    int kernels, runs, failures;
};

static void run_trials(const struct cpu_kernel *kernel, struct trial *trials, int count, struct tally *tally)
{
    for (int i = 0; i < count; i++) {
        char why[TRIAL_TEXT_MAX];
        trial_describe(kernel, &trials[i], current);
        grid_on_broken(say_current);
        tally->runs++;
        if (trial_passes(kernel, &trials[i], why)) continue;
        tally->failures++;
        fprintf(stderr, "%s\n    %s\n", current, why);
    }
}

/* Operands beyond 2^32 elements, for configurations whose tiles and splits allow such a small product. */
static void run_far(const struct cpu_kernel *kernel, const struct problem *like, struct tally *tally)
{
    struct problem p = far_problem(like);
    char why[TRIAL_TEXT_MAX];
    if (like->pointers || !exec_fits(&kernel->config, &p)) return;
    trial_describe(kernel, &(struct trial){.problem = p, .mode.seed = 1}, current);
    tally->runs++;
    if (far_passes(kernel, &p, why)) return;
    tally->failures++;
    fprintf(stderr, "%s\n    %s\n", current, why);
}

/* Runs one configuration on one problem. */
static int run_problem(const char *config_text, const char *problem_text)
{
    struct trial trials[ORDER_COUNT] = {{.mode.seed = 1}};
    struct cpu_kernel kernel;
    struct config config;
    struct tally tally = {0};
    struct problem *p = &trials[0].problem;
    enum status st = config_parse(config_text, &config);
    if (!st) st = problem_parse(problem_text, p);
    if (!st) {
        const char *why = config.template->check(&config, p, exec_gpu());
        if (why) st = fail(E_INPUT, "%s", why);
    }
    if (!st) st = cpu_kernel_build(&config, p, NULL, 0, &kernel);
    if (st) {
        fprintf(stderr, "%s\n", status_text());
        return 1;
    }
    for (int i = 0; i < ORDER_COUNT; i++) {
        trials[i] = trials[0];
        trials[i].mode.order = (enum block_order)i;
    }
    run_trials(&kernel, trials, ORDER_COUNT, &tally);
    cpu_kernel_close(&kernel);
    printf("%d runs, %d failures\n", tally.runs, tally.failures);
    return tally.failures > 0;
}

enum share { FEWER = -2, ALL = -1 }; /* of the problems; or 0, 1, 2: that third */

/* Every third of the trials from this one on. Returns how many. */
static int keep_third(struct trial *trials, int count, int first)
{
    int kept = 0;
    for (int i = first; i < count; i += 3) trials[kept++] = trials[i];
    return kept;
}

/* Runs one configuration on its share of the problems of a type and op that are legal for it. */
static void run_config(const struct config *config, const struct problem *like, int share,
                       struct tally *tally)
{
    static struct trial trials[TRIALS_MAX];
    struct cpu_kernel kernel;
    int count = exec_problems(config, like, share != FEWER, trials, TRIALS_MAX);
    if (share >= 0 && count >= 3) count = keep_third(trials, count, share);
    if (count == 0) return;
    if (cpu_kernel_build(config, like, NULL, 0, &kernel)) {
        char text[CONFIG_TEXT_MAX];
        config_format(config, text);
        fprintf(stderr, "%s: %s\n", text, status_text());
        tally->failures++;
        return;
    }
    tally->kernels++;
    run_trials(&kernel, trials, count, tally);
    if (share < 0) run_far(&kernel, like, tally);
    cpu_kernel_close(&kernel);
}

/* What to compile of a configuration: the ops, and an epilogue for each. */
struct variants {
    const char *op;
    bool epilogues, pointers, mixed;
    int line;     /* configurations before this one */
    int epilogue; /* kernels with epilogues before this one */
};

/* An epilogue: another one at each turn, until there are no others. */
static int epilogue_of_turn(int turn)
{
    int known[EPILOGUE_CODES], count = 0;
    for (int code = 1; code < EPILOGUE_CODES; code++)
        if (epilogue_is_known(code)) known[count++] = code;
    return known[turn % count];
}

/* A type that the template's kernels compute: another one at each turn. */
static enum gemm_type type_of_turn(const struct template *t, int turn)
{
    enum gemm_type known[GEMM_TYPE_COUNT];
    int count = 0;
    for (int i = 0; i < GEMM_TYPE_COUNT; i++)
        if (t->computes & GEMM_TYPE_BIT(i)) known[count++] = (enum gemm_type)i;
    return known[turn % count];
}

/* Whether wide accesses are legal for items that lie anywhere: then the kernel looks at their addresses. */
static bool looks_at_addresses(const struct config *config)
{
    struct problem p = problem_make(64, 64, 64);
    p.type = type_of_turn(config->template, 0);
    p.batch = 2;
    problem_use_pointers(&p);
    return !config->template->check(config, &p, exec_gpu());
}

/* Without vectors, except of packed operands. False: that is not legal. */
static bool use_elements(struct config *config)
{
    if (looks_at_addresses(config)) return true;
    const struct template *t = config->template;
    const int packed = template_param(t, "PACK") < 0 ? 0 : config_get(config, "PACK");
    for (int i = 0; i < t->param_count; i++) {
        const char *const name = t->params[i].name;
        const bool of_copy =
            ((packed & 1) && strcmp(name, "VA") == 0) || ((packed & 2) && strcmp(name, "VB") == 0);
        if (t->params[i].role == ROLE_VECTOR && !of_copy) config->value[i] = t->params[i].least;
    }
    return !t->check(config, NULL, exec_gpu());
}

/* One kernel: this type and op of the configuration, with the epilogue in turn, pointers, or neither. False:
 * no problem is legal. */
static bool run_kernel(const struct config *config, const struct problem *bare, bool epilogue, bool pointers,
                       int share, struct variants *variants, struct tally *tally)
{
    const int runs = tally->runs, failures = tally->failures;
    struct config it = *config;
    struct problem like = *bare;
    if (epilogue) like.epilogue = epilogue_of_turn(variants->epilogue);
    like.pointers = pointers;
    if (pointers && !use_elements(&it)) return false;
    run_config(&it, &like, share, tally);
    const bool legal = tally->runs > runs || tally->failures > failures;
    variants->epilogue += legal && epilogue;
    return legal;
}

/* Neither, an epilogue or pointers: of the three the first that is legal from this turn on. */
static bool run_mixed(const struct config *config, const struct problem *bare, int share,
                      struct variants *variants, struct tally *tally)
{
    const int first = variants->line + 2 * bare->trans_a + bare->trans_b;
    for (int i = first; i < first + 3; i++)
        if (run_kernel(config, bare, i % 3 == 1, i % 3 == 2, share, variants, tally)) return true;
    return false;
}

/* Runs the ops that are wanted of a configuration, or, in turns, the first that is legal from this turn on.
 */
static void run_ops(const struct config *config, struct variants *variants, struct tally *tally)
{
    const bool turns = strcmp(variants->op, "turns") == 0, all = strcmp(variants->op, "all") == 0;
    const bool two = strcmp(variants->op, "two") == 0;
    const int most = turns ? 1 : two ? 2 : 4;
    int kernels = 0;
    for (int i = variants->line; i < variants->line + 4 && kernels < most; i++) {
        const int third = (kernels - 1 + variants->line / 4) % 3;
        struct problem like = problem_make(1, 1, 1);
        like.type = type_of_turn(config->template, i + variants->line / 4);
        like.trans_a = i % 4 / 2;
        like.trans_b = i % 2;
        if (!turns && !two && !all && strcmp(variants->op, problem_op_name(&like)) != 0) continue;
        if (variants->mixed)
            kernels += run_mixed(config, &like, turns ? FEWER : kernels == 0 ? ALL : third, variants, tally);
        else
            kernels +=
                run_kernel(config, &like, variants->epilogues, variants->pointers, ALL, variants, tally);
    }
}

static void run_line(const char *line, struct variants *variants, struct tally *tally)
{
    struct config config;
    const int runs = tally->runs;
    if (config_parse(line, &config)) {
        fprintf(stderr, "%s\n", status_text());
        tally->failures++;
        return;
    }
    struct config elements = config;
    if (variants->pointers && !use_elements(&elements)) return;
    run_ops(&config, variants, tally);
    variants->line++;
    if (tally->runs == runs) {
        const char *why = config.template->check(&config, NULL, exec_gpu());
        fprintf(stderr, "%s: no problem is legal%s%s\n", line, why ? ": " : " for this op", why ? why : "");
        tally->failures++;
    }
}

static bool read_lines(const char *path, struct variants *variants, int part, int parts, struct tally *tally)
{
    FILE *file = fopen(path, "r");
    char line[LINE_MAX_BYTES];
    if (!file) return false;
    for (int number = 0; fgets(line, sizeof line, file);) {
        line[strcspn(line, "#\n")] = '\0';
        if (line[strspn(line, " ")] == '\0') continue;
        if (number++ % parts == part) run_line(line, variants, tally);
    }
    fclose(file);
    return true;
}

int main(int argc, char **argv)
{
    struct tally tally = {0};
    int part = 0, parts = 1, at = 1;
    const char *one = NULL;
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_set_death_callback(say_current);
#endif
    if (argc > 2 && strcmp(argv[1], "--config") == 0) one = argv[2], at = 2;
    const bool epilogues = argc > 2 && strcmp(argv[1], "--epilogues") == 0;
    const bool pointers = argc > 2 && strcmp(argv[1], "--pointers") == 0;
    const bool mixed = argc > 2 && strcmp(argv[1], "--mixed") == 0;
    if (epilogues || pointers || mixed) at = 2;
    if (one && argc > 3 && strchr(argv[3], 'x')) return run_problem(one, argv[3]);
    struct variants variants = {.op = argc > at + 1 ? argv[at + 1] : "all",
                                .epilogues = epilogues,
                                .pointers = pointers,
                                .mixed = mixed};
    if (argc > at + 2 && sscanf(argv[at + 2], "%d/%d", &part, &parts) != 2) parts = 0;
    if (argc < 2 || parts < 1 || part < 0 || part >= parts) {
        fprintf(stderr, "usage: exec_kernel [--epilogues | --pointers | --mixed] FILE | --config TEXT "
                        "[nn|nt|tn|tt|all|turns|two [PART/PARTS]]\n");
        return 2;
    }
    if (one) {
        run_line(one, &variants, &tally);
    } else if (!read_lines(argv[at], &variants, part, parts, &tally)) {
        fprintf(stderr, "cannot read %s\n", argv[at]);
        return 1;
    }
    printf("%d kernels, %d runs, %d failures\n", tally.kernels, tally.runs, tally.failures);
    return tally.failures > 0 || tally.runs == 0;
}
