/* Where operands, guard bands and sets lie in memory. */
#include "problem_texts.h"
#include "workload.h"

TEST(cold_sets_exceed_twice_l2_and_hot_is_one)
{
    const int64_t l2 = 50 << 20, room = (int64_t)100 << 30;
    struct problem p = problem_of("1024x1024x1024"); /* 12 MiB a set */
    assert_int_equal(workload_layout(&p, true, l2, room).sets, 9);
    assert_int_equal(workload_layout(&p, false, l2, room).sets, 1);
    p = problem_of("8192x8192x8192");
    assert_int_equal(workload_layout(&p, true, l2, room).sets, 2);
    p = problem_of("16x16x16");
    assert_int_equal(workload_layout(&p, true, l2, room).sets, WORKLOAD_SETS_MAX);
    p = problem_of("0x0x0");
    assert_int_equal(workload_layout(&p, true, l2, room).sets, 2);
}

TEST(sets_shrink_to_the_room_there_is_and_the_exact_set_counts)
{
    struct problem p = problem_of("1024x1024x1024");
    int64_t set = 4 * workload_layout(&p, true, 50 << 20, (int64_t)1 << 40).set_words;
    assert_int_equal(workload_layout(&p, true, 50 << 20, 4 * set).sets, 3);
    assert_int_equal(workload_layout(&p, true, 50 << 20, 2 * set).sets, 1);
    assert_int_equal(workload_layout(&p, true, 50 << 20, 2 * set - 1).sets, 0);
    assert_int_equal(workload_layout(&p, true, 50 << 20, 0).sets, 0);
}

TEST(operands_are_aligned_and_their_guards_do_not_overlap_them)
{
    struct problem p = problem_of("tn:33x65x7:batch=3:ldc=70");
    struct workload_layout l = workload_layout(&p, true, 1 << 20, 1 << 30);
    assert_int_equal(l.at[OPERAND_A] % 64 + l.at[OPERAND_B] % 64 + l.at[OPERAND_C] % 64 + l.set_words % 64,
                     0);
    assert_true(l.at[OPERAND_A] >= WORKLOAD_GUARD);
    assert_true(l.at[OPERAND_B] >= l.at[OPERAND_A] + problem_span_a(&p) + WORKLOAD_GUARD);
    assert_true(l.at[OPERAND_C] >= l.at[OPERAND_B] + problem_span_b(&p) + WORKLOAD_GUARD);
    assert_true(l.set_words >= l.at[OPERAND_C] + problem_span_c(&p) + WORKLOAD_GUARD);
}

TEST(source_and_bias_have_places_of_their_own_and_c_is_the_last)
{
    static const char *const texts[] = {"33x65x7:epilogue=bias", "33x65x7:batch=3:ldc=70:epilogue=out",
                                        "33x65x7:batch=3:epilogue=rowbias+relu+out:stride_bias=50"};
    const struct problem plain = problem_of("33x65x7");
    assert_int_equal(workload_layout(&plain, true, 1 << 20, 1 << 30).at[OPERAND_SOURCE], 0);
    assert_int_equal(workload_layout(&plain, true, 1 << 20, 1 << 30).at[OPERAND_BIAS], 0);
    for (int i = 0; i < 3; i++) {
        const struct problem p = problem_of(texts[i]);
        const struct workload_layout l = workload_layout(&p, true, 1 << 20, 1 << 30);
        int64_t end = l.at[OPERAND_B] + problem_span_b(&p) + WORKLOAD_GUARD;
        assert_true((l.at[OPERAND_SOURCE] > 0) == epilogue_out_of_place(p.epilogue));
        assert_true((l.at[OPERAND_BIAS] > 0) == (epilogue_bias(p.epilogue) != BIAS_NONE));
        if (l.at[OPERAND_SOURCE]) {
            assert_true(l.at[OPERAND_SOURCE] >= end && l.at[OPERAND_SOURCE] % 64 == 0);
            end = l.at[OPERAND_SOURCE] + problem_span_c(&p) + WORKLOAD_GUARD;
        }
        if (l.at[OPERAND_BIAS]) {
            assert_true(l.at[OPERAND_BIAS] >= end && l.at[OPERAND_BIAS] % 64 == 0);
            end = l.at[OPERAND_BIAS] + problem_span_bias(&p) + WORKLOAD_GUARD;
        }
        assert_true(l.at[OPERAND_C] >= end && l.at[OPERAND_C] % 64 == 0);
        assert_true(l.set_words >= l.at[OPERAND_C] + problem_span_c(&p) + WORKLOAD_GUARD);
    }
}

TEST(items_of_pointers_lie_apart_and_in_another_order_than_their_addresses)
{
    const struct problem p = problem_of("33x65x7:batch=11:pointers"),
                         exact = workload_placed(&p, WORKLOAD_EXACT), timed = workload_placed(&p, 0);
    const struct workload_layout l = workload_layout(&p, true, 1 << 20, 1 << 30);
    assert_false(exact.pointers || timed.pointers);
    assert_int_equal(timed.stride_a % 64 + timed.stride_b % 64 + timed.stride_c % 64, 0);
    assert_int_equal(exact.stride_a % 4, 1);
    assert_true(timed.stride_c >= p.m * p.ldc && exact.stride_c > p.m * p.ldc);
    assert_true(l.arrays >= l.at[OPERAND_B] + problem_span_b(&exact) + WORKLOAD_GUARD && l.arrays % 64 == 0);
    assert_true(l.at[OPERAND_C] >= l.arrays + 3 * 11 * 2 + WORKLOAD_GUARD && l.at[OPERAND_C] % 64 == 0);
    assert_true(l.set_words >= l.at[OPERAND_C] + problem_span_c(&exact) + WORKLOAD_GUARD);
    const struct problem plain = problem_of("33x65x7:batch=11");
    assert_int_equal(workload_layout(&plain, true, 1 << 20, 1 << 30).arrays, 0);
}

TEST(every_item_of_pointers_has_a_place)
{
    static const int64_t batches[] = {1, 2, 3, 4, 5, 6, 30, 64, 97, 1000};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        struct problem p = problem_make(4, 4, 4);
        bool seen[1000] = {false};
        int64_t even = 0;
        p.batch = batches[i];
        problem_use_pointers(&p);
        for (int64_t place = 0; place < p.batch; place++) {
            const int64_t item = workload_item(&p, place);
            assert_in_range(item, 0, p.batch - 1);
            assert_false(seen[item]);
            seen[item] = true;
            even += place > 0 && item == workload_item(&p, place - 1) + 1;
        }
        if (p.batch > 1) assert_true(even < p.batch - 1);
        if (p.batch > 4) assert_int_equal(even, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cold_sets_exceed_twice_l2_and_hot_is_one),
        cmocka_unit_test(sets_shrink_to_the_room_there_is_and_the_exact_set_counts),
        cmocka_unit_test(operands_are_aligned_and_their_guards_do_not_overlap_them),
        cmocka_unit_test(source_and_bias_have_places_of_their_own_and_c_is_the_last),
        cmocka_unit_test(items_of_pointers_lie_apart_and_in_another_order_than_their_addresses),
        cmocka_unit_test(every_item_of_pointers_has_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
