/* The judge's own kernels must compile wherever candidates do. */
#include "compile.h"
#include "oracle_build.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char text_oracle_cu[], text_oracle_args_h[], text_operand_h[], text_roofline_cu[];

TEST(judge_and_roofline_compile_without_spills_for_every_architecture)
{
    static const int archs[] = {75, 80, 86, 89, 90, 100, 120};
    char folder[] = "/tmp/gemmtune-oracle-XXXXXX", version[16], command[128];
    if (compile_load(version)) {
        print_message("skipped: %s\n", status_text());
        skip();
    }
    assert_non_null(mkdtemp(folder));
    const struct source_text judge[] = {
        {"oracle.cu", text_oracle_cu}, {"oracle_args.h", text_oracle_args_h}, {"operand.h", text_operand_h}};
    const struct source_text roofline[] = {{"roofline.cu", text_roofline_cu}};
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        struct compiled built;
        for (int element = 0; element < (archs[i] == 90 ? ELEMENT_TF32 : 1); element++) {
            static const char *const all[ELEMENT_TF32][3] = {
                {"-DORACLE_A=0", "-DORACLE_B=0", "-DORACLE_C=0"},
                {"-DORACLE_A=1", "-DORACLE_B=1", "-DORACLE_C=0"},
                {"-DORACLE_A=2", "-DORACLE_B=2", "-DORACLE_C=2"}};
            assert_ok(compile_sources(judge, 3, all[element], 3, archs[i], folder, &built));
            if (!built.built || built.facts.spill_bytes) fail_msg("sm_%d: %s", archs[i], built.log);
        }
        assert_ok(compile_sources(roofline, 1, NULL, 0, archs[i], folder, &built));
        if (!built.built || built.facts.spill_bytes) fail_msg("sm_%d: %s", archs[i], built.log);
    }
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

/* They are compiled at the same time: none twice, none left out. */
TEST(every_kernel_of_the_judge_is_in_one_part)
{
    static const char *const kernels[] = {"fill",     "addresses", "reference",   "finish",
                                          "epilogue", "compare",   "fingerprint", "untouched"};
    char folder[] = "/tmp/gemmtune-oracle-XXXXXX", version[16], command[128];
    if (compile_load(version)) {
        print_message("skipped: %s\n", status_text());
        skip();
    }
    assert_non_null(mkdtemp(folder));
    struct compiled built[ORACLE_PART_COUNT];
    int parts[sizeof kernels / sizeof *kernels] = {0};
    assert_ok(oracle_build_finish(oracle_build_start(90, folder, GEMM_SGEMM), built));
    for (int part = 0; part < ORACLE_PART_COUNT; part++) {
        char *bytes, section[32];
        size_t length;
        assert_ok(compile_read_cubin(built[part].path, built[part].checksum, &bytes, &length));
        assert_int_equal(built[part].facts.spill_bytes, 0);
        for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
            const size_t named = (size_t)snprintf(section, sizeof section, ".text.%s", kernels[k]) + 1;
            parts[k] += memmem(bytes, length, section, named) != NULL;
        }
        free(bytes);
    }
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        if (parts[k] != 1) fail_msg("%s is in %d parts", kernels[k], parts[k]);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

TEST(a_part_that_cannot_be_kept_is_an_error_with_its_reason)
{
    char version[16];
    struct compiled built[ORACLE_PART_COUNT];
    if (compile_load(version)) skip();
    assert_int_equal(oracle_build_finish(oracle_build_start(90, "/proc/none", GEMM_SGEMM), built), E_IO);
    assert_non_null(strstr(status_text(), "/proc/none"));
    assert_int_equal(oracle_build_finish(NULL, built), E_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judge_and_roofline_compile_without_spills_for_every_architecture),
        cmocka_unit_test(every_kernel_of_the_judge_is_in_one_part),
        cmocka_unit_test(a_part_that_cannot_be_kept_is_an_error_with_its_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
