#include "oracle.h"

#include "operand_layout.h"
#include "stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Findings are collected in slots on the device, so that several checks need only one synchronisation. */
enum slot { SLOT_VALUES, SLOT_GUARDS, SLOT_HASH, SLOT_SOURCE, SLOT_REFERENCE, SLOT_EPILOGUE, SLOT_COUNT };

#define HASHES_MAX 64 /* further slots, one per set, for oracle_recheck */

static struct finding *slot_address(const struct oracle *o, int slot)
{
    return (struct finding *)(uintptr_t)o->findings.address + slot;
}

static enum status clear_findings(const struct oracle *o)
{
    return device_check(
        cuda.MemsetD32Async(o->findings.address, 0, o->findings.bytes / 4, o->kernels->device->stream),
        "clearing the judge's findings");
}

/* Waits for everything that was enqueued. A failure of the candidate itself first shows here. */
static enum status read_findings(const struct oracle *o, struct finding *findings, int count)
{
    enum status st =
        device_check(cuda.StreamSynchronize(o->kernels->device->stream), "running the kernel and the judge");
    if (st) return st;
    return device_check(cuda.MemcpyDtoH(findings, o->findings.address, (size_t)count * sizeof *findings),
                        "reading the judge's findings");
}

static double as_ratio(unsigned bits)
{
    float ratio;
    memcpy(&ratio, &bits, sizeof ratio);
    return (double)ratio;
}

static double *device_double(struct device_buffer buffer)
{
    return (double *)(uintptr_t)buffer.address;
}

/* The answers of the product become those of the problem. */
static enum status apply_epilogue(const struct oracle *o, int set, const struct reference_args *product)
{
    const struct problem *p = &o->work->problem;
    struct epilogue_args args = {.piece = product->piece,
                                 .bias_is = (int)epilogue_bias(p->epilogue),
                                 .activation = (int)epilogue_activation(p->epilogue),
                                 .value = product->value,
                                 .mass = product->mass,
                                 .mass_of_x = set == WORKLOAD_EXACT,
                                 .largest_mass = &slot_address(o, SLOT_EPILOGUE)->worst,
                                 .largest_value = &slot_address(o, SLOT_EPILOGUE)->largest};
    workload_list(o->work, set, args.at);
    return oracle_epilogue(o->kernels, &args);
}

static enum status compute_set(struct oracle *o, int set, struct device_buffer value,
                               struct device_buffer mass, struct device_buffer partial, double *largest_mass,
                               double *largest_value)
{
    const struct workload *w = o->work;
    const bool epilogue = w->problem.epilogue != 0;
    struct reference_args args = {.a = workload_a(w, set),
                                  .b = workload_b(w, set),
                                  .c = workload_matrices(w, set, OPERAND_SOURCE),
                                  .partial = (struct partial *)(uintptr_t)partial.address,
                                  .value = device_double(value),
                                  .mass = (float *)(uintptr_t)mass.address,
                                  .largest_mass = &slot_address(o, SLOT_REFERENCE)->worst,
                                  .largest_value = &slot_address(o, SLOT_REFERENCE)->largest,
                                  .trans_a = w->problem.trans_a,
                                  .trans_b = w->problem.trans_b,
                                  .k = w->problem.k,
                                  .splits = o->plan.splits,
                                  .k_per_split = o->plan.k_per_split};
    workload_scalars(w, set, &args.alpha, &args.beta);
    enum status st = clear_findings(o);
    /* C as it was when the operands were filled. */
    if (!st) st = workload_poison(w, set, POISON_NAN, args.beta);
    for (int i = 0; i < o->plan.count && !st; i++) {
        args.piece = o->plan.pieces[i];
        st = oracle_reference(o->kernels, &args);
        if (!st && epilogue) st = apply_epilogue(o, set, &args);
    }
    struct finding findings[SLOT_COUNT];
    if (!st) st = read_findings(o, findings, SLOT_COUNT);
    if (st) return st;
    const struct finding *largest = &findings[epilogue ? SLOT_EPILOGUE : SLOT_REFERENCE];
    *largest_mass = as_ratio(largest->worst);
    *largest_value = as_ratio(largest->largest);
    return st;
}

/* A matrix of one row of words, for the hash. */
static struct matrices as_words(struct device_buffer buffer)
{
    long long words = (long long)(buffer.bytes / 4);
    return (struct matrices){
        .data = (void *)(uintptr_t)buffer.address, .rows = 1, .cols = words, .ld = words, .batch = 1};
}

static enum status hash_answers(const struct oracle *o, uint64_t *hash)
{
    const struct device_buffer answers[] = {o->exact_value, o->value, o->mass, o->exact_mass};
    struct finding findings[SLOT_COUNT];
    enum status st = clear_findings(o);
    for (int i = 0; i < 4 && !st; i++)
        st = oracle_fingerprint(o->kernels, as_words(answers[i]), slot_address(o, SLOT_HASH));
    if (!st) st = read_findings(o, findings, SLOT_COUNT);
    if (!st) *hash = findings[SLOT_HASH].hash;
    return st;
}

/* True if there are operands besides A and B that are only read, and must be the same after every judged
 * call. */
static bool has_read_only(const struct oracle *o)
{
    return workload_read_only(o->work, 0).cols > 0;
}

static enum status hash_read_only(const struct oracle *o, int set, uint64_t *hash)
{
    struct finding findings[SLOT_COUNT];
    enum status st = clear_findings(o);
    if (!st)
        st = oracle_fingerprint(o->kernels, workload_read_only(o->work, set), slot_address(o, SLOT_SOURCE));
    if (!st) st = read_findings(o, findings, SLOT_COUNT);
    if (!st) *hash = findings[SLOT_SOURCE].hash;
    return st;
}

/* The hash of the operands that a judged call must leave as they are. Arrays of addresses differ from set to
 * set; the others do not. */
static enum status expect_read_only(const struct oracle *o, int set, uint64_t *hash)
{
    *hash = set == WORKLOAD_EXACT ? o->exact_read_only_hash : o->read_only_hash;
    return set > 0 && o->work->problem.pointers ? hash_read_only(o, set, hash) : OK;
}

enum status oracle_compute(struct oracle *oracle)
{
    struct device_buffer partial = {0};
    double mass = 0, exact_mass = 0, exact_value = 0;
    enum status st = device_allocate(&partial, (size_t)oracle->plan.partial_bytes);
    /* Mostly the exact test needs no masses; then the random test may overwrite them. */
    if (!st)
        st = compute_set(oracle, WORKLOAD_EXACT, oracle->exact_value,
                         oracle->plan.exact_masses ? oracle->exact_mass : oracle->mass, partial, &exact_mass,
                         &exact_value);
    if (!st) st = compute_set(oracle, 0, oracle->value, oracle->mass, partial, &mass, &oracle->largest_value);
    device_free(&partial);
    oracle->exact_holds = exact_mass < oracle->work->exact.limit;
    if (!st && has_read_only(oracle)) {
        st = hash_read_only(oracle, 0, &oracle->read_only_hash);
        if (!st) st = hash_read_only(oracle, WORKLOAD_EXACT, &oracle->exact_read_only_hash);
    }
    return st ? st : hash_answers(oracle, &oracle->answers_hash);
}

enum status oracle_open(const struct workload *work, uint64_t seed, const struct oracle_limits *limits,
                        struct oracle *oracle)
{
    struct oracle o = {.kernels = work->kernels, .work = work};
    oracle_plan(&work->problem, limits, seed, &o.plan);
    size_t elements = (size_t)o.plan.elements;
    enum status st = device_allocate(&o.findings, (SLOT_COUNT + HASHES_MAX) * sizeof(struct finding));
    if (!st) st = device_allocate(&o.exact_value, elements * sizeof(double));
    if (!st) st = device_allocate(&o.value, elements * sizeof(double));
    if (!st) st = device_allocate(&o.mass, elements * sizeof(float));
    if (!st && o.plan.exact_masses) st = device_allocate(&o.exact_mass, elements * sizeof(float));
    if (!st) st = oracle_compute(&o);
    if (st) oracle_close(&o);
    else *oracle = o;
    return st;
}

void oracle_close(struct oracle *oracle)
{
    device_free(&oracle->exact_value);
    device_free(&oracle->value);
    device_free(&oracle->mass);
    device_free(&oracle->exact_mass);
    device_free(&oracle->findings);
    *oracle = (struct oracle){0};
}

/* Makes one judged call into a set whose C is poison. Checks the memory around C, and what is only read. */
static enum status call_over_poison(struct oracle *o, const struct kernel *kernel, int set, unsigned poison)
{
    double alpha, beta;
    workload_scalars(o->work, set, &alpha, &beta);
    struct operands operands = workload_operands(o->work, set);
    enum status st = workload_poison(o->work, set, poison, beta);
    if (!st) st = kernel->launch(kernel->self, &operands, alpha, beta);
    if (!st)
        st = oracle_untouched(o->kernels, workload_c(o->work, set), workload_guard(o->work),
                              workload_poison_word(o->work, poison), slot_address(o, SLOT_GUARDS));
    if (!st && has_read_only(o))
        st = oracle_fingerprint(o->kernels, workload_read_only(o->work, set), slot_address(o, SLOT_SOURCE));
    return st;
}

static enum status compare_values(struct oracle *o, int set)
{
    bool exact = set == WORKLOAD_EXACT;
    struct error_bound bound = oracle_bound(&o->work->problem);
    struct compare_args args = {.c = workload_c(o->work, set),
                                .value = device_double(exact ? o->exact_value : o->value),
                                .mass = (const float *)(uintptr_t)(exact ? o->exact_mass : o->mass).address,
                                .slope = exact ? bound.activation : bound.slope,
                                .rounding = bound.rounding,
                                .finding = slot_address(o, SLOT_VALUES)};
    enum status st = OK;
    for (int i = 0; i < o->plan.count && !st; i++) {
        args.piece = o->plan.pieces[i];
        st = oracle_compare(o->kernels, &args);
    }
    return st;
}

static void describe_guard(const struct oracle *o, int set, const struct finding *f, char *detail)
{
    const struct problem placed = workload_placed(&o->work->problem, set), *p = &placed;
    int64_t span = problem_span_c(p);
    /* Counted from the start of the guard band or, for the band after a C without padding, from C's end. */
    int64_t at = (int64_t)~f->not_first - workload_guard(o->work);
    bool dense = p->ldc == p->n && (p->batch == 1 || p->stride_c == p->m * p->n);
    const char *where = dense       ? "in the guard bands around C"
                        : at < 0    ? "before C"
                        : at < span ? "in C's padding"
                                    : "behind C";
    snprintf(detail, OUTCOME_DETAIL_MAX, "%" PRIu64 " %s %s were written", (uint64_t)f->wrong,
             element_bytes(gemm_type_row(p->type)->c) == 4 ? "words" : "elements", where);
}

/* One of these was written: "the source or the bias". */
static void describe_read_only(const struct oracle *o, char *detail)
{
    const struct workload_layout *l = &o->work->layout;
    char names[160] = "";
    size_t used = 0;
    for (int i = OPERAND_C + 1; i < OPERANDS; i++)
        if (l->at[i])
            used += (size_t)snprintf(names + used, sizeof names - used, "%sthe %s", used ? " or " : "",
                                     operand_name((enum operand)i));
    snprintf(detail, OUTCOME_DETAIL_MAX, "%s was written, which is only read",
             used ? names : "an array of addresses");
}

/* Describes the first wrong element: its value and the correct one. */
static enum status describe_value(const struct oracle *o, int set, const struct finding *f, char *detail)
{
    bool exact = set == WORKLOAD_EXACT;
    const struct problem *p = &o->work->problem;
    uint64_t answer = ~f->not_first;
    int64_t item = 0, row = 0, col = 0;
    if (!oracle_place(&o->plan, answer, &item, &row, &col))
        return fail(E_GPU, "the judge found a wrong element at %" PRIu64 ", which does not exist", answer);
    unsigned bits = 0;
    double want = 0;
    const int element = gemm_type_row(p->type)->c;
    const size_t bytes = (size_t)element_bytes(gemm_type_row(p->type)->c);
    const struct matrices to = workload_c(o->work, set);
    const CUdeviceptr c =
        (CUdeviceptr)(uintptr_t)to.data + bytes * (CUdeviceptr)(item * to.stride + row * to.ld + col);
    CUdeviceptr value = (exact ? o->exact_value : o->value).address + 8 * (CUdeviceptr)answer;
    enum status st = device_check(cuda.MemcpyDtoH(&bits, c, bytes), "reading a wrong element");
    if (!st) st = device_check(cuda.MemcpyDtoH(&want, value, sizeof want), "reading a right element");
    char batch[40] = "";
    if (p->batch > 1) snprintf(batch, sizeof batch, " of item %" PRId64, workload_item(p, item));
    snprintf(detail, OUTCOME_DETAIL_MAX,
             "%s data: %" PRIu64 " of %" PRId64 " elements wrong, first C[%" PRId64 ",%" PRId64
             "]%s = %.9g, not %.9g",
             exact ? "whole-number" : "random", (uint64_t)f->wrong, o->plan.elements, row, col, batch,
             (double)oracle_widened(element, bits), want);
    return st;
}

/* Turns the findings of one call into a judgement; leaves `right` unchanged if nothing is wrong. */
static enum status conclude(const struct oracle *o, int set, uint64_t read_only,
                            const struct finding *findings, struct judgement *j)
{
    if (findings[SLOT_VALUES].wrong) {
        j->right = false;
        return describe_value(o, set, &findings[SLOT_VALUES], j->detail);
    }
    if (findings[SLOT_GUARDS].wrong) {
        j->right = false;
        describe_guard(o, set, &findings[SLOT_GUARDS], j->detail);
        return OK;
    }
    if (findings[SLOT_SOURCE].hash != read_only) {
        j->right = false;
        describe_read_only(o, j->detail);
    }
    return OK;
}

/* A call whose values are compared with the reference. */
static enum status judge_values(struct oracle *o, const struct kernel *kernel, int set,
                                struct finding *findings, struct judgement *j)
{
    uint64_t read_only;
    enum status st = expect_read_only(o, set, &read_only);
    if (!st) st = clear_findings(o);
    if (!st) st = call_over_poison(o, kernel, set, POISON_NAN);
    if (!st) st = compare_values(o, set);
    if (!st) st = oracle_fingerprint(o->kernels, workload_c(o->work, set), slot_address(o, SLOT_HASH));
    if (!st) st = read_findings(o, findings, SLOT_COUNT);
    return st ? st : conclude(o, set, read_only, findings, j);
}

/* A call that must give the same bits as the judged one. */
static enum status judge_again(struct oracle *o, const struct kernel *kernel, int set, struct judgement *j,
                               bool *same)
{
    struct finding findings[SLOT_COUNT];
    uint64_t read_only;
    enum status st = expect_read_only(o, set, &read_only);
    if (!st) st = clear_findings(o);
    if (!st) st = call_over_poison(o, kernel, set, POISON_NUMBER);
    if (!st) st = oracle_fingerprint(o->kernels, workload_c(o->work, set), slot_address(o, SLOT_HASH));
    if (!st) st = read_findings(o, findings, SLOT_COUNT);
    if (st) return st;
    *same = findings[SLOT_HASH].hash == j->hash;
    return conclude(o, set, read_only, findings, j);
}

static struct accuracy errors_of(const struct oracle *o, const struct finding *f)
{
    const double scale = o->largest_value > 0 ? o->largest_value : 1;
    const double count = o->plan.elements > 0 ? (double)o->plan.elements : 1;
    return (struct accuracy){.componentwise = as_ratio(f->componentwise),
                             .rms = sqrt(f->squares / count) / scale,
                             .max = as_ratio(f->largest) / scale};
}

static enum status judge_random(struct oracle *o, const struct kernel *kernel, struct judgement *j)
{
    struct finding findings[SLOT_COUNT] = {{0}};
    enum status st = judge_values(o, kernel, 0, findings, j);
    j->hash = findings[SLOT_HASH].hash;
    j->worst = as_ratio(findings[SLOT_VALUES].worst);
    j->errors = errors_of(o, &findings[SLOT_VALUES]);
    return st;
}

enum status oracle_judge_once(struct oracle *oracle, const struct kernel *kernel, struct judgement *judgement)
{
    *judgement = (struct judgement){.right = true, .errors = accuracy_unknown()};
    return judge_random(oracle, kernel, judgement);
}

static void describe_sample(const struct oracle_plan *plan, char *detail)
{
    const bool by_rows = plan->rows * plan->row_elements == plan->elements;
    snprintf(detail, OUTCOME_DETAIL_MAX, "judged on %" PRId64 " of %" PRId64 " %s",
             by_rows ? plan->rows : plan->elements,
             by_rows ? plan->rows_all : plan->rows_all * plan->row_elements, by_rows ? "rows" : "elements");
}

enum status oracle_judge(struct oracle *oracle, const struct kernel *kernel, struct judgement *judgement)
{
    struct judgement j = {.right = true, .errors = accuracy_unknown()};
    struct finding findings[SLOT_COUNT] = {{0}};
    enum status st = OK;
    if (oracle->exact_holds) {
        st = judge_values(oracle, kernel, WORKLOAD_EXACT, findings, &j);
        j.exact = !st && findings[SLOT_VALUES].wrong == 0;
    }
    if (!st && j.right) {
        st = judge_random(oracle, kernel, &j);
    } else {
        j.worst = INFINITY;
    }
    if (!st && j.right) {
        bool same = true;
        st = judge_again(oracle, kernel, oracle->work->layout.sets > 1 ? 1 : 0, &j, &same);
        if (!st && j.right && !same) {
            j.right = false;
            snprintf(j.detail, sizeof j.detail, "two runs over differently poisoned C gave different bits");
        }
    }
    if (!st && j.right && oracle->plan.sampled) describe_sample(&oracle->plan, j.detail);
    *judgement = j;
    return st;
}

enum status oracle_recheck(struct oracle *oracle, const struct kernel *kernel,
                           const struct judgement *judgement, int sets, bool *same)
{
    struct judgement j = *judgement;
    *same = true;
    if (workload_feeds_back(oracle->work)) {
        enum status st = judge_again(oracle, kernel, 0, &j, same);
        *same = *same && j.right;
        return st;
    }
    enum status st = OK;
    for (int first = 0; first < sets && !st; first += HASHES_MAX) {
        int count = sets - first < HASHES_MAX ? sets - first : HASHES_MAX;
        struct finding findings[SLOT_COUNT + HASHES_MAX];
        st = clear_findings(oracle);
        for (int i = 0; i < count && !st; i++)
            st = oracle_fingerprint(oracle->kernels, workload_c(oracle->work, first + i),
                                    slot_address(oracle, SLOT_COUNT + i));
        if (!st) st = read_findings(oracle, findings, SLOT_COUNT + count);
        for (int i = 0; i < count && !st; i++)
            if (findings[SLOT_COUNT + i].hash != judgement->hash) *same = false;
    }
    return st;
}

enum status oracle_repeat(struct oracle *oracle, const struct kernel *kernel,
                          const struct judgement *judgement, int runs, int *different)
{
    *different = 0;
    enum status st = OK;
    for (int run = 0; run < runs && !st; run++) {
        struct judgement j = *judgement;
        bool same = true;
        st = judge_again(oracle, kernel, run % oracle->work->layout.sets, &j, &same);
        if (!same || !j.right) ++*different;
    }
    return st;
}

#define SPOILED 64 /* elements */

static enum status spoil(const struct oracle *o, uint64_t seed)
{
    const struct problem placed = workload_placed(&o->work->problem, 0), *const p = &placed;
    const CUdeviceptr c = workload_operands(o->work, 0).at[OPERAND_C];
    const size_t bytes = (size_t)element_bytes(gemm_type_row(p->type)->c);
    enum status st = OK;
    for (int i = 0; i < SPOILED && !st; i++) {
        const int64_t row = (int64_t)stats_random_below(&seed, (uint64_t)p->m),
                      col = (int64_t)stats_random_below(&seed, (uint64_t)p->n),
                      item = (int64_t)stats_random_below(&seed, (uint64_t)p->batch);
        const CUdeviceptr at = c + bytes * (size_t)(item * p->stride_c + row * p->ldc + col);
        st = device_check(cuda.MemsetD8Async(at, 0xff, bytes, o->kernels->device->stream),
                          "spoiling an element of C");
    }
    return st;
}

enum status oracle_over_result(struct oracle *oracle, const struct kernel *kernel,
                               const struct judgement *judgement, uint64_t seed, bool *same)
{
    const struct problem *const p = &oracle->work->problem;
    struct judgement j = *judgement;
    struct finding findings[SLOT_COUNT];
    double alpha, beta;
    *same = true;
    if (workload_feeds_back(oracle->work) || p->pointers || p->m == 0 || p->n == 0) return OK;
    workload_scalars(oracle->work, 0, &alpha, &beta);
    struct operands operands = workload_operands(oracle->work, 0);
    enum status st = judge_again(oracle, kernel, 0, &j, same);
    if (!st) st = clear_findings(oracle);
    if (!st) st = spoil(oracle, seed);
    if (!st) st = kernel->launch(kernel->self, &operands, alpha, beta);
    if (!st)
        st =
            oracle_fingerprint(oracle->kernels, workload_c(oracle->work, 0), slot_address(oracle, SLOT_HASH));
    if (!st) st = read_findings(oracle, findings, SLOT_COUNT);
    if (!st) *same = *same && findings[SLOT_HASH].hash == judgement->hash;
    return st;
}

enum status oracle_restore(struct oracle *oracle)
{
    uint64_t hash = 0;
    enum status st = workload_fill(oracle->work);
    if (!st) st = hash_answers(oracle, &hash);
    if (st || hash == oracle->answers_hash) return st;
    return oracle_compute(oracle);
}
