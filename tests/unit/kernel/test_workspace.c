/* What a kernel may take beside its operands: how it is said, and what it keeps out of the search. */
#include "space.h"
#include "template.h"
#include "unit.h"
#include "workspace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int64_t parsed(const char *text)
{
    int64_t bytes = -1;
    assert_ok(workspace_parse("--workspace", text, &bytes));
    return bytes;
}

TEST(sizes_are_bytes_or_have_a_unit)
{
    assert_int_equal(parsed("0"), 0);
    assert_int_equal(parsed("67108864"), 64 << 20);
    assert_int_equal(parsed("512K"), 512 << 10);
    assert_int_equal(parsed("64M"), 64 << 20);
    assert_int_equal(parsed("3G"), INT64_C(3) << 30);
}

TEST(anything_else_is_refused)
{
    static const char *const bad[] = {"",
                                      " 1",
                                      "-1",
                                      "+1",
                                      "M",
                                      "1T",
                                      "64MB",
                                      "1.5",
                                      "0x1",
                                      "1 M",
                                      "1m",
                                      "1MM",
                                      "9223372036854775807K",
                                      "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t bytes = 7;
        assert_fails(workspace_parse("--workspace", bad[i], &bytes), E_USAGE, "is not a size such as 64M");
        assert_int_equal(bytes, 7);
    }
}

TEST(the_environment_says_how_much_and_is_checked)
{
    unsetenv(WORKSPACE_VARIABLE);
    assert_int_equal(workspace_from_environment(), WORKSPACE_DEFAULT);
    setenv(WORKSPACE_VARIABLE, "", 1);
    assert_int_equal(workspace_from_environment(), WORKSPACE_DEFAULT);
    setenv(WORKSPACE_VARIABLE, "2G", 1);
    assert_int_equal(workspace_from_environment(), INT64_C(2) << 30);
    setenv(WORKSPACE_VARIABLE, "much", 1);
    assert_int_equal(workspace_from_environment(), WORKSPACE_DEFAULT);
    unsetenv(WORKSPACE_VARIABLE);
}

static void enumerate(const char *shape, int64_t workspace_bytes, struct candidates *c)
{
    struct space *space;
    struct gpu gpu;
    struct problem p;
    assert_ok(gpu_find(GT_SOURCE_DIR "/configs/gpus", "h200", &gpu));
    assert_ok(problem_parse(shape, &p));
    assert_ok(space_load_all(GT_SOURCE_DIR "/configs/spaces", &space));
    assert_ok(space_enumerate(space, &p, &gpu, workspace_bytes, c));
    space_free(space);
}

/* How many take any, and the most that one takes. */
static size_t takers(const char *shape, const struct candidates *c, int64_t *most)
{
    struct problem p;
    size_t count = 0;
    *most = 0;
    assert_ok(problem_parse(shape, &p));
    for (size_t i = 0; i < c->count; i++) {
        int64_t bytes = workspace_of(&c->config[i], &p);
        assert_true(bytes >= 0);
        count += bytes > 0;
        if (bytes > *most) *most = bytes;
    }
    return count;
}

TEST(no_candidate_takes_more_than_is_allowed)
{
    static const char *const shapes[] = {"4095x4097x4093", "512x11008x4096",
                                         "sgemm:tn:512x512x512:batch=300"};
    static const int64_t allowed[] = {0, 1 << 20, 64 << 20, 512 << 20};
#ifdef __SANITIZE_ADDRESS__ /* ten times slower */
    const size_t count_shapes = 1;
#else
    const size_t count_shapes = sizeof shapes / sizeof *shapes;
#endif
    for (size_t s = 0; s < count_shapes; s++) {
        size_t count = 0;
        for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
            struct candidates c;
            int64_t most;
            enumerate(shapes[s], allowed[i], &c);
            size_t taking = takers(shapes[s], &c, &most);
            assert_true(most <= allowed[i]);
            if (allowed[i] == 0) assert_int_equal(taking, 0);
            /* Of 4095x4097x4093, which has no room for parts, one operand may be copied. */
            if (allowed[i] >= 64 << 20) assert_true(taking > 1000);
            assert_true(c.count > 10000);
            assert_true(c.count >= count); /* more memory, more candidates */
            count = c.count;
            candidates_free(&c);
        }
    }
}

TEST(where_all_need_more_that_is_the_reason_given)
{
    char path[] = "/tmp/gemmtune_space_XXXXXX";
    static const char text[] = "[simt]\nBM = 64\nBN = 64\nBK = 16\nWM = 32\nWN = 32\nTM = 4\nTN = 8\n"
                               "WARPS_K = 1\nSTAGES = 2\nLOADER = 0\nPACK = 0\nVA = 4\nVB = 4\nVC = 4\n"
                               "UNROLL = 16\nSTORE_AT = 8\nORDER = 0\nMIN_BLOCKS = 1\nREDUCE = 0\n"
                               "GROUP = 8\nSPLIT_K = 4\n";
    FILE *file = fdopen(mkstemp(path), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, sizeof text - 1, file), sizeof text - 1);
    fclose(file);
    struct space *space;
    struct gpu gpu;
    struct candidates c;
    struct problem p = problem_make(1024, 1024, 1024); /* 4 parts of 4 MiB */
    assert_ok(gpu_find(GT_SOURCE_DIR "/configs/gpus", "h200", &gpu));
    assert_ok(space_load(path, &space));
    unlink(path);
    assert_fails(space_enumerate(space, &p, &gpu, (16 << 20) - 1, &c), E_ABSENT, "--workspace");
    assert_ok(space_enumerate(space, &p, &gpu, 16 << 20, &c));
    assert_int_equal(c.count, 1);
    assert_null(workspace_refuses(&c.config[0], &p, 16 << 20));
    assert_non_null(workspace_refuses(&c.config[0], &p, (16 << 20) - 1));
    candidates_free(&c);
    space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_bytes_or_have_a_unit),
        cmocka_unit_test(anything_else_is_refused),
        cmocka_unit_test(the_environment_says_how_much_and_is_checked),
        cmocka_unit_test(no_candidate_takes_more_than_is_allowed),
        cmocka_unit_test(where_all_need_more_that_is_the_reason_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
