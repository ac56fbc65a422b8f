/* Which measured problems are like another, and what is made of them: arithmetic, without GPU, driver or
 * database. */
#include "h200.h"
#include "lookup.h"
#include "nearest.h"
#include "template.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct winner_store store;
static struct notices quiet = {.quiet = true};

static void set(struct config *config, const char *changes)
{
    for (const char *at = changes; *at;) {
        char name[32];
        int value, length = 0;
        assert_int_equal(sscanf(at, "%31[A-Z_]=%d %n", name, &value, &length), 2);
        assert_true(config_set(config, name, value));
        at += length;
    }
}

static struct config simt(const char *changes)
{
    struct config config = {.template = template_find("simt")};
    for (int i = 0; i < config.template->param_count; i++) config.value[i] = config.template->params[i].least;
    set(&config, "BM=64 BN=64 BK=16 WM=32 WN=32 TM=4 TN=8 STAGES=2 VA=4 VB=4 VC=4 UNROLL=16 STORE_AT=8");
    set(&config, changes);
    return config;
}

/* Winners come as lines of text, as they are shipped. */
static int start(void **state)
{
    (void)state;
    static const struct gpu h200 = {H200_LIMITS, H200_FIGURES, .rate = {{"fp32", 66.9}}};
    return winner_store_open(&store, &h200, "", "", &quiet);
}

static int stop(void **state)
{
    (void)state;
    winner_store_close(&store);
    return 0;
}

/* changes NULL: cuBLAS won. */
static struct stored_winner *add(const char *text, const char *changes, double time_us, double cublas_us)
{
    store.set.winners = realloc(store.set.winners, (store.set.count + 1) * sizeof *store.set.winners);
    store.set.configs =
        realloc(store.set.configs, (size_t)(store.set.config_count + 1) * sizeof *store.set.configs);
    assert_true(store.set.winners && store.set.configs);
    struct stored_winner *w = &store.set.winners[store.set.count++];
    *w = (struct stored_winner){.config = CUBLAS_WON,
                                .base.cold = true,
                                .base.exact = true,
                                .base.time_us = time_us,
                                .base.anchor_us = cublas_us};
    assert_ok(problem_parse(text, &w->base.problem));
    w->shape = shape_of(&w->base.problem);
    if (!changes) return w;
    store.set.configs[w->config = store.set.config_count++] = simt(changes);
    return w;
}

static double distance(const char *text)
{
    struct problem p;
    assert_ok(problem_parse(text, &p));
    const struct shape shape = shape_of(&p);
    return shape_distance(&store.set.winners[0].shape, &shape);
}

static int near_of(const char *text, int alignment, bool decides, struct neighbour *list)
{
    struct problem p;
    int count;
    assert_ok(problem_parse(text, &p));
    assert_ok(nearest_find(&store, &p, alignment, decides, list, &count));
    return count;
}

static int near(const char *text, int alignment, struct neighbour *list)
{
    return near_of(text, alignment, true, list);
}

/* One winner is near, the one with that number. */
static void assert_only_near(const char *text, int winner)
{
    struct neighbour list[NEAREST_MAX];
    assert_int_equal(near(text, 16, list), 1);
    assert_ptr_equal(list[0].winner, &store.set.winners[winner]);
}

static struct choice first(const char *text)
{
    struct choice choices[CHOICES_MAX];
    struct problem p;
    int count;
    assert_ok(problem_parse(text, &p));
    assert_ok(lookup_others(&store, &p, 16, choices, &count));
    assert_true(count > 0);
    for (int i = 0; i < count; i++) { /* whatever is listed is legal */
        if (choices[i].cublas) continue;
        const char *why = choices[i].config.template->check(&choices[i].config, &p, &store.gpu);
        if (why) fail_msg("%s: choice %d is illegal: %s", text, i, why);
    }
    return choices[0];
}

/* What the exact lookup finds; "" if nothing. */
static const char *exact(const char *text)
{
    static struct choice choices[CHOICES_MAX];
    struct problem p;
    int count;
    assert_ok(problem_parse(text, &p));
    assert_ok(lookup_exact(&store, &p, 16, choices, &count));
    return count ? choices[0].tuned_for : "";
}

TEST(a_stricter_winner_answers_a_laxer_problem_and_never_the_reverse)
{
    static const char *const texts[] = {"sgemm:nn:64x64x64",    "tf32gemm:nn:128x128x128",
                                        "sgemm:nn:256x256x256", "sgemm_accurate:nn:256x256x256",
                                        "sgemm:nn:512x512x512", "tf32gemm:nn:512x512x512"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct stored_winner *w = add(texts[i], "", 10 - (double)i, 11);
        w->pretuned = true;
    }
    assert_string_equal(exact("sgemm:nn:64x64x64"), "sgemm:nn:64x64x64");
    assert_string_equal(exact("tf32gemm:nn:64x64x64"), "");       /* not raced against its rival */
    assert_string_equal(exact("sgemm_accurate:nn:64x64x64"), ""); /* not measured against its limits */
    assert_string_equal(exact("tf32gemm:nt:64x64x64"), "");
    assert_string_equal(exact("tf32gemm:nn:128x128x128"), "tf32gemm:nn:128x128x128");
    assert_string_equal(exact("sgemm:nn:128x128x128"), "");
    assert_string_equal(exact("sgemm_normwise:nn:128x128x128"), "");
    assert_string_equal(exact("tf32gemm:nn:256x256x256"), "");
    assert_string_equal(exact("sgemm_normwise:nn:256x256x256"), "sgemm_accurate:nn:256x256x256");
    assert_string_equal(exact("tf32gemm:nn:512x512x512"), "tf32gemm:nn:512x512x512"); /* its own first */
}

/* Whatever was tuned and whatever is asked for, by the exact lookup and as a neighbour. */
TEST(of_every_pair_of_types_only_what_is_strict_enough_answers)
{
    char text[PROBLEM_TEXT_MAX];
    for (int tuned = 0; tuned < GEMM_TYPE_COUNT; tuned++) {
        const enum gemm_type type = (enum gemm_type)tuned;
        if (gemm_type_row(type)->a != ELEMENT_F32) continue;
        store.set.count = 0;
        snprintf(text, sizeof text, "%s:nn:512x512x512", gemm_type_row(type)->name);
        add(text, "", 0.1, 11)->pretuned = true; /* faster than cuBLAS with tensor cores, too */
        for (int needed = 0; needed < GEMM_TYPE_COUNT; needed++) {
            struct neighbour list[NEAREST_MAX];
            const bool answers = gemm_type_answers(type, (enum gemm_type)needed),
                       decides = gemm_type_decides(type, (enum gemm_type)needed);
            if (gemm_type_row((enum gemm_type)needed)->a != ELEMENT_F32) continue;
            if (answers) assert_true(gemm_type_satisfies(type, (enum gemm_type)needed));
            snprintf(text, sizeof text, "%s:nn:512x512x512", gemm_type_row((enum gemm_type)needed)->name);
            if ((*exact(text) != '\0') != decides) fail_msg("%s by one for %d", text, tuned);
            snprintf(text, sizeof text, "%s:nn:512x512x500", gemm_type_row((enum gemm_type)needed)->name);
            assert_int_equal(near_of(text, 16, true, list), decides);
            assert_int_equal(near_of(text, 16, false, list), answers && !decides);
        }
    }
}

TEST(a_neighbour_is_of_a_type_that_answers)
{
    struct neighbour list[NEAREST_MAX];
    add("sgemm:nn:1024x1024x1024", "", 100, 110);
    assert_int_equal(near_of("tf32gemm:nn:1024x1024x1000", 16, false, list), 1);
    assert_int_equal(near("sgemm_accurate:nn:1024x1024x1000", 16, list), 0);
    assert_true(distance("tf32gemm:nn:1024x1024x1024") > 0.01);
    assert_true(distance("tf32gemm:nn:1024x1024x1024") < 0.03);
    store.set.winners[0].base.problem.type = GEMM_TF32;
    store.set.winners[0].shape = shape_of(&store.set.winners[0].base.problem);
    assert_int_equal(near("tf32gemm:nn:1024x1024x1000", 16, list), 1);
    assert_int_equal(near("sgemm:nn:1024x1024x1000", 16, list), 0);
}

/* The errors of pieces, relative to FP32's, grow as K falls: below its own K a kernel was not checked. */
TEST(a_kernel_of_pieces_answers_no_shorter_k_than_its_own)
{
    struct neighbour list[NEAREST_MAX];
    struct stored_winner *w = add("sgemm_normwise:nn:1024x1024x256", "", 10, 30);
    assert_ok(config_parse("f16x3 BM=128 BN=128 BK=64 STAGES=3 LOW=16 VC=2 GROUP=1 SPLIT_K=1 SMS=132",
                           &store.set.configs[w->config]));
    assert_int_equal(near("sgemm_normwise:nn:1024x1024x256", 16, list), 1);
    assert_int_equal(near("sgemm_normwise:nn:1000x1024x320", 16, list), 1);
    assert_int_equal(near("sgemm_normwise:nn:1024x1024x192", 16, list), 0);
    assert_int_equal(near("sgemm_normwise:nn:1024x1024x128", 16, list), 0);
    add("sgemm_normwise:nn:1024x1024x256", "", 20, 30); /* FFMA is as accurate at any k */
    assert_int_equal(near("sgemm_normwise:nn:1024x1024x192", 16, list), 1);
}

TEST(winners_of_pointers_and_of_strides_do_not_serve_each_other)
{
    struct neighbour list[NEAREST_MAX];
    add("sgemm:nn:384x384x64:batch=64", "VA=1 VB=1 VC=1", 100, 110)->pretuned = true;
    add("sgemm:nn:384x384x64:batch=64:pointers", "VA=1 VB=1 VC=1 BM=128", 110, 120)->pretuned = true;
    assert_string_equal(exact("384x384x64:batch=64"), "sgemm:nn:384x384x64:batch=64");
    assert_string_equal(exact("384x384x64:batch=64:pointers"), "sgemm:nn:384x384x64:batch=64:pointers");
    assert_string_equal(exact("384x384x64:pointers"), "");
    assert_only_near("384x384x60:batch=64", 0);
    assert_only_near("384x384x60:batch=64:pointers", 1);
    assert_int_equal(near("nt:384x384x60:batch=64:pointers", 16, list), 0);
}

TEST(a_winner_is_for_its_own_epilogue)
{
    struct neighbour list[NEAREST_MAX];
    add("sgemm:nn:1024x1024x1024", "", 100, 110)->pretuned = true;
    add("sgemm:nn:1024x1024x1024:epilogue=bias+relu", "BM=128", 110, 120)->pretuned = true;
    assert_string_equal(exact("1024x1024x1024:epilogue=bias+relu"),
                        "sgemm:nn:1024x1024x1024:epilogue=bias+relu");
    assert_string_equal(exact("1024x1024x1024"), "sgemm:nn:1024x1024x1024");
    assert_string_equal(exact("1024x1024x1024:epilogue=bias"), "");
    assert_string_equal(exact("1024x1024x1024:epilogue=bias+relu+out"), "");
    assert_only_near("1024x1024x1000", 0);
    assert_only_near("1024x1024x1000:epilogue=bias+relu", 1);
    assert_int_equal(near("1024x1024x1000:epilogue=rowbias+relu", 16, list), 0);
    /* Its configurations are still known to be good ones. */
    assert_string_equal(first("1024x1024x1000:epilogue=rowbias+relu").tuned_for, "");
    assert_true(distance("1024x1024x1024:epilogue=gelu") > 0.01);
    assert_true(distance("1024x1024x1024:epilogue=gelu") < 0.03);
}

TEST(a_doubled_side_is_one_away)
{
    add("sgemm:nn:1024x1024x1024", "", 100, 110);
    assert_true(distance("sgemm:nn:1024x1024x1024") < 1e-6);
    assert_true(fabs(distance("sgemm:nn:2048x1024x1024") - 1) < 0.01);
    assert_true(fabs(distance("sgemm:nn:1024x512x1024") - 1) < 0.01);
    assert_true(fabs(distance("sgemm:nn:2048x2048x1024") - sqrt(2)) < 0.01);
    assert_true(distance("sgemm:nn:1024x1024x1100") < distance("sgemm:nn:1024x1024x1200"));
    assert_true(distance("sgemm:nn:1024x1024x1023") > 0.25); /* A's rows are no longer aligned */
    assert_true(distance("sgemm:nn:1024x1024x1024:lda=1028") > 0.01);
    assert_true(distance("sgemm:nn:1024x1024x1024:beta=1") > 0.01);
    assert_true(distance("sgemm:nn:1024x1024x1024:batch=2") > 0.5);
}

TEST(only_what_is_like_it_and_legal_is_near)
{
    struct neighbour list[NEAREST_MAX];
    add("sgemm:nn:1024x1024x1024", "", 100, 110);
    add("sgemm:nt:1024x1024x1024", "", 100, 110);
    add("sgemm:nn:1024x1024x64", "", 10, 11);
    add("sgemm:nn:1024x1024x1028", "", 100, 110)->base.predicted = true;
    add("sgemm:nn:1024x1024x1032", "", 100, 110)->changed = true;
    add("sgemm:nn:1024x1024x1036", "", 100, 110)->other_gpu = true;
    add("sgemm:nn:1024x1024x1040", "", 100, 110)->base.exact = false;
    assert_only_near("sgemm:nn:1000x1024x1024", 0);
    assert_int_equal(near("sgemm:nn:1000x1024x1023", 16, list), 0); /* its loads are 16 bytes wide */
    assert_int_equal(near("sgemm:nn:1000x1024x1024", 8, list), 0);
    assert_int_equal(near("sgemm:nn:1000x1024x1024", 4, list), 0);
    add("sgemm:nn:1024x1024x1024", "VA=1 VB=1 VC=1", 100, 110);
    assert_int_equal(near("sgemm:nn:1000x1024x1024", 4, list), 1);
    assert_int_equal(near("sgemm:nn:1000x1024x1023", 16, list), 1);
}

TEST(the_nearest_of_many_are_kept_in_order)
{
    struct neighbour list[NEAREST_MAX];
    for (int i = 0; i < 200; i++) {
        char text[64];
        snprintf(text, sizeof text, "sgemm:nn:%dx1024x1024", 512 + 8 * ((i * 37) % 200));
        add(text, "", 50 + 0.05 * i, 0);
    }
    int count = near("sgemm:nn:1024x1024x1024", 16, list);
    assert_int_equal(count, NEAREST_MAX);
    for (int i = 1; i < count; i++) assert_true(list[i - 1].distance <= list[i].distance);
    assert_int_equal(list[0].winner->base.problem.m, 1024);
}

/* Serving: M of 1, 2, 4 ... were tuned. Every M below 64 is answered by the next larger one, whatever is
 * expected of other winners, and none by one that is twice as large or more. */
TEST(the_next_larger_m_below_twice_as_many_answers)
{
    for (int m = 1; m <= 64; m *= 2) {
        char text[64];
        snprintf(text, sizeof text, "sgemm:nt:%dx4096x4096", m);
        add(text, m % 3 == 1 ? "" : "BM=128", 200.0 / m, 210); /* the larger, the faster: a trap */
    }
    add("sgemm:nt:40x4096x4000", "", 0.1, 210);
    add("sgemm:nt:41x4096x4096:beta=1", "", 0.1, 210);
    for (int m = 2; m < 64; m++) {
        char text[64], tuned[64];
        int next = 1;
        while (next < m) next *= 2;
        if (next == m) continue; /* the exact lookup answers */
        snprintf(text, sizeof text, "sgemm:nt:%dx4096x4096:alpha=3", m);
        snprintf(tuned, sizeof tuned, "sgemm:nt:%dx4096x4096", next);
        assert_string_equal(first(text).tuned_for, tuned);
    }
    struct neighbour list[NEAREST_MAX];
    for (int count = near("sgemm:nt:128x4096x4096", 16, list), i = 0; i < count; i++)
        assert_false(list[i].bucket); /* only smaller ones are known */
    for (int count = near("sgemm:nt:20x4096x4096", 8, list), i = 0; i < count; i++)
        assert_false(list[i].bucket); /* 32's reads 16 bytes at a time */
}

TEST(a_time_is_carried_over_in_proportion)
{
    struct neighbour list[NEAREST_MAX];
    add("sgemm:nn:4096x4096x4096", "BM=128 BN=128 WM=64 TM=8 MIN_BLOCKS=2", 2500, 2600);
    assert_int_equal(near("sgemm:nn:4096x4096x4096", 16, list), 1);
    assert_true(fabs(list[0].time_us - 2500) < 1);
    assert_int_equal(near("sgemm:nn:4096x4096x8192", 16, list), 1);
    assert_true(list[0].time_us > 4000 && list[0].time_us < 7000);
}

TEST(the_user_s_own_comes_before_a_pretuned_one_as_near)
{
    struct neighbour list[NEAREST_MAX];
    add("sgemm:nn:1024x1024x1024", "GROUP=2", 100, 0)->pretuned = true;
    add("sgemm:nn:1024x1024x1024", "GROUP=3", 100, 0);
    assert_int_equal(near("sgemm:nn:1024x1024x1000", 16, list), 2);
    assert_false(list[0].winner->pretuned);
}

TEST(where_cublas_won_nearby_it_is_chosen)
{
    add("sgemm:nn:1024x1024x1024", NULL, 50, 50);
    struct choice c = first("sgemm:nn:1024x1024x1000");
    assert_true(c.cublas && c.source == CHOICE_NEAREST);
    assert_true(c.time_us > 30 && c.time_us < 70);
    assert_string_equal(c.tuned_for, "sgemm:nn:1024x1024x1024");
}

/* The same race, nearby and for the problem itself. */
TEST(a_kernel_that_lost_its_race_comes_after_cublas)
{
    static const struct {
        double ratio;
        bool lost;
    } cases[] = {{0.683, true}, {0.994, true}, {0.009, true}, {1, true}, {1.001, false}, {0, false}};
    struct stored_winner *w = add("sgemm:nn:1024x1024x1024", "", 100, 0);
    w->pretuned = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct choice choices[CHOICES_MAX];
        struct problem p = w->base.problem;
        int count;
        w->base.ratio = cases[i].ratio; /* a shipped line may tell it without cuBLAS's time */
        assert_ok(lookup_exact(&store, &p, 16, choices, &count));
        assert_int_equal(count, 1 + cases[i].lost);
        assert_int_equal(choices[0].cublas, cases[i].lost);
        assert_true(!choices[count - 1].cublas && choices[count - 1].time_us == 100);
        if (cases[i].lost) assert_true(fabs(choices[0].time_us - 100 * cases[i].ratio) < 1e-9);
        for (int c = 0; c < count; c++)
            assert_int_equal(choice_replaces_cublas(&choices[c]), c == count - 1 && cases[i].ratio > 1);
        assert_ok(lookup_exact(&store, &p, 4, choices, &count)); /* its kernel needs aligned operands */
        assert_int_equal(count, cases[i].lost);
        p.k = 1000;
        assert_ok(lookup_others(&store, &p, 16, choices, &count));
        assert_int_equal(choices[0].source, CHOICE_NEAREST);
        if (cases[i].ratio <= 1) assert_int_equal(choices[0].cublas, cases[i].lost);
        assert_false(choices[choices[0].cublas].cublas);
        assert_int_equal(choice_replaces_cublas(&choices[0]), cases[i].ratio > 1 && !choices[0].cublas);
    }
}

/* The library takes the first choice, the drop-in only what replaces cuBLAS. */
TEST(library_and_drop_in_agree_on_a_neighbour_that_was_raced)
{
    int kernels = 0, rivals = 0;
    struct stored_winner *w = add("sgemm:nn:1024x1024x1024", "BM=128 BN=128 WM=64 TM=8 MIN_BLOCKS=2", 50, 0);
    for (double ratio = 0.9; ratio < 1.3; ratio += 0.005)
        for (int k = 512; k <= 2048; k += 128) {
            struct choice choices[CHOICES_MAX];
            struct problem p = problem_make(1024, 1024, k);
            int count;
            w->base.ratio = ratio;
            w->base.anchor_us = ratio * w->base.time_us;
            assert_ok(lookup_others(&store, &p, 16, choices, &count));
            const struct choice *kernel = choices[0].cublas ? &choices[1] : &choices[0];
            assert_int_equal(kernel->source, CHOICE_NEAREST);
            if (choice_replaces_cublas(kernel) == choices[0].cublas)
                fail_msg("1024x1024x%d at a ratio of %.3f: the library takes %s, the drop-in %s", k, ratio,
                         choices[0].cublas ? "cuBLAS" : "the kernel",
                         choices[0].cublas ? "the kernel" : "cuBLAS");
            *(choices[0].cublas ? &rivals : &kernels) += 1;
        }
    assert_true(kernels > 100 && rivals > 100);
}

/* What was measured for the other type counts, as it is. */
TEST(a_stricter_kernel_that_lost_its_race_gives_way_to_cublas)
{
    struct stored_winner *w = add("sgemm:nn:512x512x512", "", 10, 9);
    w->pretuned = true;
    w->base.ratio = 0.9;
    assert_string_equal(exact("sgemm:nn:512x512x512"), "sgemm:nn:512x512x512");
    assert_string_equal(exact("tf32gemm:nn:512x512x512"), "");
    assert_true(first("tf32gemm:nn:512x512x512").cublas);
}

/* All choices for a problem as they come; each is legal, and cuBLAS is among them once. */
static int all_for(const char *text, struct choice choices[2 * CHOICES_MAX])
{
    struct problem p;
    int count, others, cublas = 0;
    assert_ok(problem_parse(text, &p));
    assert_ok(lookup_exact(&store, &p, 16, choices, &count));
    assert_ok(lookup_others(&store, &p, 16, choices + count, &others));
    for (int i = 0; i < count + others; i++) {
        cublas += choices[i].cublas;
        if (!choices[i].cublas) assert_null(nearest_illegal(&store, &choices[i].config, &p, 16));
    }
    assert_int_equal(cublas, 1);
    return count + others;
}

static void assert_stricter(const struct choice *c, enum choice_source source, const char *tuned_for)
{
    assert_false(c->cublas);
    assert_int_equal(c->source, source);
    assert_string_equal(c->tuned_for, tuned_for);
    assert_true(c->ratio == 0 && c->gain == 0); /* against this type's rival they are not known */
    assert_false(choice_replaces_cublas(c));
}

/* cublasSgemm takes 289 us, and the strict winner 224; cuBLAS with TF32 takes 181. */
TEST(a_stricter_kernel_goes_behind_cublas_that_it_was_never_raced_against)
{
    struct choice c[2 * CHOICES_MAX];
    add("sgemm:nn:64x559104x147", "VA=1", 224, 289)->pretuned = true;
    assert_true(all_for("tf32gemm:nn:64x559104x147", c) >= 2);
    assert_true(c[0].cublas);
    assert_stricter(&c[1], CHOICE_EXACT, "sgemm:nn:64x559104x147");
    assert_true(all_for("tf32gemm:nn:64x500000x147", c) >= 2);
    assert_true(c[0].cublas);
    assert_stricter(&c[1], CHOICE_NEAREST, "sgemm:nn:64x559104x147");
}

TEST(a_near_winner_of_the_type_goes_before_a_stricter_one)
{
    struct choice c[2 * CHOICES_MAX];
    add("sgemm:nn:512x512x512", "", 5, 6)->pretuned = true;
    struct stored_winner *near = add("tf32gemm:nn:512x512x480", "BM=128", 6, 8);
    near->base.ratio = 8.0 / 6;
    assert_true(all_for("tf32gemm:nn:512x512x512", c) >= 3);
    assert_true(c[0].source == CHOICE_NEAREST && choice_replaces_cublas(&c[0]));
    assert_string_equal(c[0].tuned_for, "tf32gemm:nn:512x512x480");
    assert_true(c[1].cublas);
    assert_stricter(&c[2], CHOICE_EXACT, "sgemm:nn:512x512x512");

    near->base.anchor_us = 4; /* cuBLAS won; where there is none, the faster of the two kernels is next */
    near->base.ratio = 4.0 / 6;
    assert_true(all_for("tf32gemm:nn:512x512x512", c) >= 3);
    assert_true(c[0].cublas && c[0].source == CHOICE_NEAREST);
    assert_stricter(&c[1], CHOICE_EXACT, "sgemm:nn:512x512x512");
    assert_string_equal(c[2].tuned_for, "tf32gemm:nn:512x512x480");
    near->base.time_us = 2;
    near->base.anchor_us = 1.5;
    near->base.ratio = 0.75;
    assert_true(all_for("tf32gemm:nn:512x512x512", c) >= 3);
    assert_string_equal(c[1].tuned_for, "tf32gemm:nn:512x512x480");
    assert_stricter(&c[2], CHOICE_EXACT, "sgemm:nn:512x512x512");
}

/* They have one rival, whose time does not depend on the class. */
TEST(a_winner_of_a_stricter_class_is_exact_for_a_laxer_one)
{
    struct choice c[2 * CHOICES_MAX];
    add("sgemm_accurate:nn:4096x4096x4096", "", 1000, 1400)->pretuned = true;
    store.set.winners[0].base.ratio = 1.4;
    all_for("sgemm_normwise:nn:4096x4096x4096", c);
    assert_true(c[0].source == CHOICE_EXACT && choice_replaces_cublas(&c[0]));
    all_for("sgemm_normwise:nn:4096x4096x4000", c);
    assert_true(c[0].source == CHOICE_NEAREST && choice_replaces_cublas(&c[0]));
}

TEST(a_winner_that_cublas_would_beat_here_gives_way_to_it)
{
    add("sgemm:nn:1024x1024x1024", "", 100, 60); /* it won by less memory, or before cuBLAS was updated */
    struct choice choices[CHOICES_MAX];
    struct problem p = problem_make(1024, 1024, 1000);
    int count;
    assert_ok(lookup_others(&store, &p, 16, choices, &count));
    assert_true(choices[0].cublas && choices[0].source == CHOICE_NEAREST);
    assert_true(!choices[1].cublas && choices[1].source == CHOICE_NEAREST); /* where there is no cuBLAS */
}

TEST(without_winners_the_list_is_cublas_and_plain_configurations)
{
    static const char *const texts[] = {"sgemm:nn:1x1x1",
                                        "sgemm:tt:7x5x3",
                                        "sgemm:nt:100000x1x3",
                                        "sgemm:tn:64x64x1000000",
                                        "sgemm:nn:8192x8192x64",
                                        "sgemm:nn:8x8x8:batch=100000",
                                        "sgemm:nn:5x5x5:lda=6:ldb=7:ldc=9"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct choice choices[CHOICES_MAX];
        struct problem p;
        int count, kernels = 0;
        assert_ok(problem_parse(texts[i], &p));
        for (int alignment = 4; alignment <= 16; alignment *= 2) {
            assert_ok(lookup_others(&store, &p, alignment, choices, &count));
            assert_true(choices[0].cublas);
            assert_int_equal(choices[0].source, CHOICE_FALLBACK);
            kernels = 0;
            for (int c = 1; c < count; c++) {
                assert_false(choices[c].cublas); /* once is enough */
                assert_null(nearest_illegal(&store, &choices[c].config, &p, alignment));
                kernels++;
            }
            assert_true(kernels >= 2);
        }
    }
}

TEST(plain_configurations_use_wide_loads_where_the_problem_allows)
{
    struct choice choices[CHOICES_MAX];
    struct problem p = problem_make(64, 64, 64);
    int count;
    assert_ok(lookup_others(&store, &p, 16, choices, &count));
    assert_int_equal(config_get(&choices[1].config, "VA"), 4);
    assert_ok(lookup_others(&store, &p, 8, choices, &count));
    assert_int_equal(config_get(&choices[1].config, "VA"), 2);
    assert_ok(lookup_others(&store, &p, 4, choices, &count));
    assert_int_equal(config_get(&choices[1].config, "VA"), 1);
}

TEST(a_problem_as_aligned_as_its_operands_admits_no_wider_access)
{
    static const char *const texts[] = {"sgemm:nn:64x64x64", "sgemm:tt:62x66x70",
                                        "sgemm:nt:8x8x8:lda=13:batch=4"};
    for (size_t i = 0; i < 3; i++) {
        struct problem p, q;
        assert_ok(problem_parse(texts[i], &p));
        for (int alignment = 4; alignment <= 16; alignment *= 2) {
            q = nearest_as_aligned(&p, alignment);
            assert_ok(problem_check(&q));
            assert_true(problem_align_a(&q) <= alignment / 4 && problem_align_a(&q) <= problem_align_a(&p));
            assert_true(problem_align_b(&q) <= alignment / 4 && problem_align_b(&q) <= problem_align_b(&p));
            assert_true(problem_align_c(&q) <= alignment / 4 && problem_align_c(&q) <= problem_align_c(&p));
            assert_true(q.m == p.m && q.n == p.n && q.k == p.k && q.lda >= p.lda);
        }
    }
}

TEST(any_number_of_strange_winners_gives_a_legal_choice)
{
    srand(3);
    for (int i = 0; i < 300; i++) {
        char text[128];
        snprintf(text, sizeof text, "sgemm:%s:%dx%dx%d", i % 2 ? "nn" : "nt", 1 + rand() % 3000,
                 1 + rand() % 3000, rand() % 3000);
        add(text, rand() % 5 ? "" : NULL, rand() % 3 ? 1e-3 * rand() : 0, rand() % 2 ? 1e-3 * rand() : 0);
    }
    for (int i = 0; i < 200; i++) {
        char text[128];
        snprintf(text, sizeof text, "sgemm:%s:%dx%dx%d", i % 2 ? "nn" : "nt", 1 + rand() % 3000,
                 1 + rand() % 3000, rand() % 3000);
        struct choice c = first(text);
        assert_true(isfinite(c.time_us) && isfinite(c.loss));
    }
}

#define ARITHMETIC(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ARITHMETIC(a_stricter_winner_answers_a_laxer_problem_and_never_the_reverse),
        ARITHMETIC(of_every_pair_of_types_only_what_is_strict_enough_answers),
        ARITHMETIC(a_neighbour_is_of_a_type_that_answers),
        ARITHMETIC(a_kernel_of_pieces_answers_no_shorter_k_than_its_own),
        ARITHMETIC(winners_of_pointers_and_of_strides_do_not_serve_each_other),
        ARITHMETIC(a_winner_is_for_its_own_epilogue),
        ARITHMETIC(a_doubled_side_is_one_away),
        ARITHMETIC(only_what_is_like_it_and_legal_is_near),
        ARITHMETIC(the_nearest_of_many_are_kept_in_order),
        ARITHMETIC(the_next_larger_m_below_twice_as_many_answers),
        ARITHMETIC(a_time_is_carried_over_in_proportion),
        ARITHMETIC(the_user_s_own_comes_before_a_pretuned_one_as_near),
        ARITHMETIC(where_cublas_won_nearby_it_is_chosen),
        ARITHMETIC(a_kernel_that_lost_its_race_comes_after_cublas),
        ARITHMETIC(library_and_drop_in_agree_on_a_neighbour_that_was_raced),
        ARITHMETIC(a_stricter_kernel_that_lost_its_race_gives_way_to_cublas),
        ARITHMETIC(a_stricter_kernel_goes_behind_cublas_that_it_was_never_raced_against),
        ARITHMETIC(a_near_winner_of_the_type_goes_before_a_stricter_one),
        ARITHMETIC(a_winner_of_a_stricter_class_is_exact_for_a_laxer_one),
        ARITHMETIC(a_winner_that_cublas_would_beat_here_gives_way_to_it),
        ARITHMETIC(without_winners_the_list_is_cublas_and_plain_configurations),
        ARITHMETIC(plain_configurations_use_wide_loads_where_the_problem_allows),
        ARITHMETIC(a_problem_as_aligned_as_its_operands_admits_no_wider_access),
        ARITHMETIC(any_number_of_strange_winners_gives_a_legal_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
