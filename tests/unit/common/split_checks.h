/* split_checks.h — what the tests of bf16x6 and f16x3 have in common. For the tests of one of them, whose
 * base has BM=128 BN=208 STAGES=5.
 */
#ifndef GT_SPLIT_CHECKS_H
#define GT_SPLIT_CHECKS_H

#include "one_family.h"

/* A piece of (128 + 208) x 64 elements a stage, 43,008 bytes, and two mbarriers; 1,024 bytes to align them,
 * and a flag. */
TEST(stages_fit_exactly_and_one_more_does_not)
{
    struct config config = base();
    assert_int_equal(config.template->resources(&config).smem_bytes, 1024 + 5 * (43008 + 16) + 16);
    assert_int_equal(config.template->resources(&config).threads, 3 * 128);
    assert_needs_smem(&config, NULL, 1024 + 5 * (43008 + 16) + 16);
    config_set(&config, "STAGES", 6);
    assert_refused(check(&config, NULL, &h200), "do not fit in a block's shared memory");
}

/* On sm_90 alone, these problems, and not those; NULL ends both. */
static inline void assert_computes(const char *const *computed, const char *const *refused, const char *why)
{
    const struct config config = base();
    const struct problem first = problem_of(computed[0]);
    struct problem odd = first;
    struct gpu gpu = h200;
    for (; *computed; computed++) {
        const struct problem p = problem_of(*computed);
        assert_taken(check(&config, &p, &h200));
    }
    for (; *refused; refused++) {
        const struct problem p = problem_of(*refused);
        assert_refused(check(&config, &p, &h200), why);
    }
    odd.ldc++;
    assert_refused(check(&config, &odd, &h200), "VC is wider than C");
    gpu.arch = 100;
    assert_refused(check(&config, &first, &gpu), "sm_90 alone");
}

/* From two starts. type: of the family's own problems. */
static inline void assert_refused_early(const struct config *starts, const char *type)
{
    static const int32_t values[] = {-1, 0, 1, 2, 3, 5, 7, 8, 12, 64, 72, 96, 128, 192, 208, 256};
    char own[2][64];
    snprintf(own[0], sizeof own[0], "%s:nn:512x512x512", type);
    snprintf(own[1], sizeof own[1], "%s:tt:511x513x70", type);
    const char *const shapes[] = {own[0], own[1], "sgemm:nn:64x64x64", "sgemm_normwise:nt:8x1024x8192"};
    assert_drawn_prefixes_pass(&(struct drawn){.starts = starts,
                                               .shapes = shapes,
                                               .shape_count = sizeof shapes / sizeof *shapes,
                                               .values = values,
                                               .value_count = sizeof values / sizeof *values,
                                               .changes = 4});
}

#endif
