#include "files.h"
#include "plot.h"
#include "scratch_folder.h"
#include "unit.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int no_file_is_left(void **state)
{
    (void)state;
    return rmdir(folder);
}

static const char *const shapes[] = {"4096x4096x4096", "32x1605632x27"};
static const char *const rungs[] = {"naive", "it's tuned", "cuBLAS"};
static const double tflops[] = {0.3, 48, 51, 0.1, NAN, 20};
static const struct plot plot = {"The ladder", "TFLOPS", 2,     3,    shapes, rungs, tflops, 40,
                                 "the rival",  false,    false, NULL, NULL,   NULL,  NULL};

static bool have_gnuplot(void)
{
    return system("gnuplot --version >/dev/null 2>&1") == 0;
}

/* What gnuplot makes of it, where there is one; the file is removed again. */
static const char *drawn(const struct plot *what, const char *name)
{
    if (!have_gnuplot()) skip();
    assert_ok(plot_draw(what, in_folder(name)));
    const char *text = file_text(in_folder(name));
    assert_int_equal(unlink(in_folder(name)), 0);
    return text;
}

TEST(svg_shows_every_name)
{
    const char *text = drawn(&plot, "a.svg");
    for (int i = 0; i < 2; i++) assert_non_null(strstr(text, shapes[i]));
    assert_non_null(strstr(text, "naive"));
    assert_non_null(strstr(text, "s tuned"));
    assert_non_null(strstr(text, "TFLOPS"));
    assert_non_null(strstr(text, "the rival"));
}

/* How often a text stands in another. */
static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (; (text = strstr(text, part)); text += strlen(part)) count++;
    return count;
}

/* The colour of each point: "stroke='rgb(  0, 114, 178)'" in gnuplot's SVG, once for the key and once for
 * data. */
TEST(no_two_series_have_one_colour)
{
    static const char *const names[PLOT_SERIES_MAX] = {"a", "b", "c", "d", "e", "f",
                                                       "g", "h", "i", "j", "k", "l"};
    double values[2 * PLOT_SERIES_MAX];
    for (int i = 0; i < 2 * PLOT_SERIES_MAX; i++) values[i] = i;
    const struct plot many = {
        "", "", 2, PLOT_SERIES_MAX, shapes, names, values, 0, NULL, false, false, NULL, NULL, NULL, NULL};
    const char *text = drawn(&many, "c.svg");
    static const char *const rgb[PLOT_SERIES_MAX] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                                     "#56b4e9", "#d55e00", "#000000", "#8c6d31",
                                                     "#7b4fa3", "#9e9e9e", "#a6d854", "#5a0f1c"};
    for (int i = 0; i < PLOT_SERIES_MAX; i++) {
        unsigned r, g, b;
        char shown[32];
        assert_int_equal(sscanf(rgb[i], "#%2x%2x%2x", &r, &g, &b), 3);
        snprintf(shown, sizeof shown, "rgb(%3u, %3u, %3u)", r, g, b);
        if (!count_of(text, shown)) fail_msg("no point is %s", shown);
    }
}

TEST(more_series_than_colours_are_refused)
{
    struct plot many = plot;
    many.series = PLOT_SERIES_MAX + 1;
    assert_fails(plot_draw(&many, in_folder("d.svg")), E_USAGE, "12 colours");
    assert_int_equal(files_in(folder), 0);
}

/* The heights of the points of a colour: "<use xlink:href='#gpPt6' transform='translate(x,y) ..." */
static double height_of_point(const char *text, const char *colour)
{
    double x = 0, y = 0;
    const char *at = strstr(text, "<svg"), *mark;
    while ((mark = strstr(at, "transform='translate("))) { /* the key comes last */
        const char *end = strstr(mark, "/>"), *own = strstr(mark, colour);
        at = mark + 1;
        if (own && end && own < end) {
            assert_int_equal(sscanf(mark, "transform='translate(%lf,%lf)", &x, &y), 2);
            return y;
        }
    }
    fail_msg("there is no point of %s", colour);
    return 0;
}

/* AUTOTUNE's time often is cublasSgemm's. */
TEST(equal_values_of_a_row_hide_nothing_where_points_lie_apart)
{
    static const double equal[] = {1.2, 1.2, 1.2, 1.5, 1.5, 1.5}, bound[] = {2, 3};
    struct plot same = plot;
    same.value = equal;
    same.line = 1;
    same.ratios = true;
    const char *text = drawn(&same, "f.svg");
    static const char first[] = "rgb(  0, 114, 178)", second[] = "rgb(230, 159,   0)";
    assert_true(height_of_point(text, first) == height_of_point(text, second));
    same.apart = true;
    same.bound = bound;
    same.bound_name = "the roofline";
    text = drawn(&same, "f.svg");
    assert_true(height_of_point(text, second) - height_of_point(text, first) > 5);
    assert_non_null(strstr(text, "the roofline"));
}

/* gnuplot's SVG begins with its size. */
TEST(many_groups_are_no_wider)
{
    enum { MANY = 40 };
    const char *names[MANY];
    double values[MANY];
    for (int i = 0; i < MANY; i++) names[i] = shapes[i % 2], values[i] = 1 + i;
    const struct plot tall = {"",       "ratio", MANY,  1,    names, rungs, values, 1,
                              "cuBLAS", true,    false, NULL, NULL,  NULL,  NULL};
    const char *text = drawn(&tall, "e.svg");
    assert_non_null(strstr(text, "width=\"800\""));
}

TEST(one_group_names_its_bars_on_the_axis)
{
    struct plot one = plot;
    one.groups = 1;
    const char *text = drawn(&one, "b.svg");
    assert_non_null(strstr(text, "cuBLAS"));
}

TEST(png_is_a_png)
{
    const char *text = drawn(&plot, "a.png");
    assert_memory_equal(text, "\x89PNG", 4);
}

TEST(another_suffix_is_refused_before_drawing)
{
    assert_fails(plot_draw(&plot, in_folder("a.jpg")), E_USAGE, ".svg or .png");
    assert_int_equal(files_in(folder), 0);
}

TEST(a_folder_that_is_not_there_is_told)
{
    if (!have_gnuplot()) skip();
    assert_fails(plot_draw(&plot, in_folder("none/a.svg")), E_IO, "none/a.svg");
}

TEST(a_missing_gnuplot_is_told)
{
    char before[4096];
    snprintf(before, sizeof before, "%s", getenv("PATH"));
    setenv("PATH", folder, 1);
    enum status st = plot_draw(&plot, in_folder("a.svg"));
    setenv("PATH", before, 1);
    assert_int_equal(st, E_ABSENT);
    assert_non_null(strstr(status_text(), "gnuplot is not installed"));
    assert_int_equal(files_in(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(svg_shows_every_name),
        cmocka_unit_test(one_group_names_its_bars_on_the_axis),
        cmocka_unit_test(no_two_series_have_one_colour),
        cmocka_unit_test(more_series_than_colours_are_refused),
        cmocka_unit_test(equal_values_of_a_row_hide_nothing_where_points_lie_apart),
        cmocka_unit_test(many_groups_are_no_wider),
        cmocka_unit_test(png_is_a_png),
        cmocka_unit_test(another_suffix_is_refused_before_drawing),
        cmocka_unit_test(a_folder_that_is_not_there_is_told),
        cmocka_unit_test(a_missing_gnuplot_is_told),
    };
    return cmocka_run_group_tests(tests, make_folder, no_file_is_left);
}
