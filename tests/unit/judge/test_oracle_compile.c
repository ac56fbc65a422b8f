/* The judge's own kernels must compile wherever candidates do. */
#include "compile.h"
#include "gemm_type.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

extern const char text_oracle_cu[], text_oracle_args_h[], text_roofline_cu[];

TEST(judge_and_roofline_compile_without_spills_for_every_architecture)
{
    static const int archs[] = {75, 80, 86, 89, 90, 100, 120};
    char folder[] = "/tmp/gemmtune-oracle-XXXXXX", version[16], command[128];
    if (compile_load(version)) {
        print_message("skipped: %s\n", status_text());
        skip();
    }
    assert_non_null(mkdtemp(folder));
    const struct source_text judge[] = {{"oracle.cu", text_oracle_cu}, {"oracle_args.h", text_oracle_args_h}};
    const struct source_text roofline[] = {{"roofline.cu", text_roofline_cu}};
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        struct compiled built;
        for (int element = 0; element < (archs[i] == 90 ? ELEMENT_COUNT : 1); element++) {
            static const char *const all[ELEMENT_COUNT][3] = {
                {"-DORACLE_A=0", "-DORACLE_B=0", "-DORACLE_C=0"},
                {"-DORACLE_A=1", "-DORACLE_B=1", "-DORACLE_C=0"},
                {"-DORACLE_A=2", "-DORACLE_B=2", "-DORACLE_C=2"}};
            assert_ok(compile_sources(judge, 2, all[element], 3, archs[i], folder, &built));
            if (!built.built || built.facts.spill_bytes) fail_msg("sm_%d: %s", archs[i], built.log);
        }
        assert_ok(compile_sources(roofline, 1, NULL, 0, archs[i], folder, &built));
        if (!built.built || built.facts.spill_bytes) fail_msg("sm_%d: %s", archs[i], built.log);
    }
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judge_and_roofline_compile_without_spills_for_every_architecture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
