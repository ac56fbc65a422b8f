#include "plot.h"
#include "unit.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/gemmtune-plot-XXXXXX", path[128];

static int folder_make(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int folder_remove(void **state)
{
    (void)state;
    return rmdir(folder); /* fails if a test left a file */
}

static const char *in_folder(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static const char *const shapes[] = {"4096x4096x4096", "32x1605632x27"};
static const char *const rungs[] = {"naive", "it's tuned", "cuBLAS"};
static const double tflops[] = {0.3, 48, 51, 0.1, NAN, 20};
static const struct bars bars = {"The ladder", "TFLOPS", 2, 3, shapes, rungs, tflops, 0};

/* The whole file as text; zeros as blanks. */
static void read_back(const char *name, char *text, size_t room)
{
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    size_t length = fread(text, 1, room - 1, file);
    fclose(file);
    for (size_t i = 0; i < length; i++)
        if (!text[i]) text[i] = ' ';
    text[length] = '\0';
}

static bool have_gnuplot(void)
{
    return system("gnuplot --version >/dev/null 2>&1") == 0;
}

TEST(svg_shows_every_name)
{
    static char text[200000];
    if (!have_gnuplot()) skip();
    assert_ok(plot_bars(&bars, in_folder("a.svg")));
    read_back(path, text, sizeof text);
    for (int i = 0; i < 2; i++) assert_non_null(strstr(text, shapes[i]));
    assert_non_null(strstr(text, "naive"));
    assert_non_null(strstr(text, "s tuned"));
    assert_non_null(strstr(text, "TFLOPS"));
    unlink(path);
}

TEST(one_group_names_its_bars_on_the_axis)
{
    static char text[200000];
    if (!have_gnuplot()) skip();
    struct bars one = bars;
    one.groups = 1;
    assert_ok(plot_bars(&one, in_folder("b.svg")));
    read_back(path, text, sizeof text);
    assert_non_null(strstr(text, "cuBLAS"));
    unlink(path);
}

TEST(png_is_a_png)
{
    static char text[200000];
    if (!have_gnuplot()) skip();
    assert_ok(plot_bars(&bars, in_folder("a.png")));
    read_back(path, text, sizeof text);
    assert_memory_equal(text, "\x89PNG", 4);
    unlink(path);
}

TEST(another_suffix_is_refused_before_drawing)
{
    assert_fails(plot_bars(&bars, in_folder("a.jpg")), E_USAGE, ".svg or .png");
    assert_int_equal(access(path, F_OK), -1);
}

TEST(a_folder_that_is_not_there_is_told)
{
    if (!have_gnuplot()) skip();
    assert_fails(plot_bars(&bars, in_folder("none/a.svg")), E_IO, "none/a.svg");
}

TEST(a_missing_gnuplot_is_told)
{
    char before[4096];
    snprintf(before, sizeof before, "%s", getenv("PATH"));
    setenv("PATH", folder, 1);
    enum status st = plot_bars(&bars, in_folder("a.svg"));
    setenv("PATH", before, 1);
    assert_int_equal(st, E_ABSENT);
    assert_non_null(strstr(status_text(), "gnuplot is not installed"));
    assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(svg_shows_every_name),
        cmocka_unit_test(one_group_names_its_bars_on_the_axis),
        cmocka_unit_test(png_is_a_png),
        cmocka_unit_test(another_suffix_is_refused_before_drawing),
        cmocka_unit_test(a_folder_that_is_not_there_is_told),
        cmocka_unit_test(a_missing_gnuplot_is_told),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
