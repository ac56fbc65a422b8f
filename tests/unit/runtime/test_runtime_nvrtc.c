/* What the runtime falls back on is built by the real compiler: every plain configuration, as wide and as
 * narrow as operands may be, for every op. No GPU is needed.
 */
#include "compile.h"
#include "lookup.h"
#include "nvrtc.h"
#include "runtime_fakes.h"

TEST(every_plain_configuration_is_built_without_spilling)
{
    static const char *const ops[] = {"nn", "nt", "tn", "tt"};
    struct db_context context = store_context();
    struct notices quiet = {.quiet = true};
    struct winner_store store;
    char cache[160];
    int built = 0;
    snprintf(cache, sizeof cache, "%s/kernels", store_folder);
    assert_ok(winner_store_open(&store, &context.gpu, "", "", &quiet));
    for (int o = 0; o < 4; o++)
        for (int alignment = 4; alignment <= 16; alignment *= 4) {
            struct choice choices[CHOICES_MAX];
            struct problem p;
            char text[64];
            int count;
            snprintf(text, sizeof text, "sgemm:%s:1024x1024x1024", ops[o]);
            assert_ok(problem_parse(text, &p));
            assert_ok(lookup_others(&store, &p, alignment, choices, &count));
            for (int i = 0; i < count; i++) {
                struct compiled out;
                if (choices[i].cublas) continue;
                const struct kernel_key kernel = kernel_key_of(&choices[i].config, &p, 90);
                assert_ok(compile_kernel(&kernel, cache, &out));
                if (!out.built || out.facts.spill_bytes) fail_msg("%s, choice %d: %s", text, i, out.log);
                built++;
            }
        }
    assert_true(built >= 4 * 2 * 3);
    winner_store_close(&store);
}

int main(void)
{
    if (no_nvrtc()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_plain_configuration_is_built_without_spilling, fakes_setup,
                                        fakes_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
