#include "plot.h"

#include "output_file.h"
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define COMMAND_NOT_FOUND 127 /* exit status of the shell */
#define WIDTH             800 /* pixels */
#define ROW_HEIGHT        20
#define APART             9   /* pixels from point to point, where they lie one below the other */
#define MARGINS           190 /* title, axis and legend */

/* "svg", "png" or NULL. */
static const char *kind_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    if (dot && strcmp(dot, ".svg") == 0) return "svg";
    if (dot && strcmp(dot, ".png") == 0) return "png";
    return NULL;
}

static enum status check_path(const char *path)
{
    if (!kind_of(path)) return fail(E_USAGE, "cannot draw %s: the name must end in .svg or .png", path);
    if (strchr(path, '\n')) return fail(E_USAGE, "the name of the picture contains a line break");
    return OK;
}

enum status plot_set(void *command, const struct command_option *option, char *path)
{
    *(const char **)(void *)((char *)command + option->member) = path;
    return check_path(path);
}

/* A gnuplot string: in single quotes only the quote itself is special, and is doubled. */
static void put_string(FILE *gnuplot, const char *text)
{
    fputc('\'', gnuplot);
    for (; *text; text++) {
        if (*text == '\'') fputc('\'', gnuplot);
        fputc(*text, gnuplot);
    }
    fputc('\'', gnuplot);
}

/* Distinct in hue and lightness, also with most kinds of colour blindness: Okabe and Ito's eight ("Color
 * Universal Design", 2008) without yellow, which is hard to see on white, and five more between them. */
static const char *const colours[PLOT_SERIES_MAX] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                                     "#56b4e9", "#d55e00", "#000000", "#8c6d31",
                                                     "#7b4fa3", "#9e9e9e", "#a6d854", "#5a0f1c"};
/* gnuplot's filled shapes: disc, square, diamond, triangles. */
static const int shapes[] = {7, 5, 13, 9, 11};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static bool is_turned(const struct plot *p)
{
    return p->groups == 1;
}

static int rows_of(const struct plot *p)
{
    return is_turned(p) ? p->series : p->groups;
}

static int row_height(const struct plot *p)
{
    return p->apart ? APART * (p->series + 1) : ROW_HEIGHT;
}

/* Where the point of a series lies in its row, from -0.5 to 0.5. */
static double place_of(const struct plot *p, int serie)
{
    return p->apart ? (serie + 1.0) / (p->series + 1) - 0.5 : 0;
}

static void put_value(FILE *gnuplot, double value)
{
    if (isfinite(value)) fprintf(gnuplot, " %.6g", value);
    else fputs(" NaN", gnuplot);
}

/* One line per row: its number and its values; then, of points, the bound and the intervals, low and high. */
static void put_data(FILE *gnuplot, const struct plot *p)
{
    const int rows = rows_of(p), columns = is_turned(p) ? 1 : p->series;
    fputs("$data << END\n", gnuplot);
    for (int row = 0; row < rows; row++) {
        fprintf(gnuplot, "%d", row);
        for (int column = 0; column < columns; column++) {
            put_value(gnuplot, p->value[row * columns + column]);
        }
        put_value(gnuplot, p->bound ? p->bound[row] : (double)NAN);
        for (int column = 0; p->low && column < columns; column++) {
            const int at = row * columns + column; /* without an interval the point alone */
            put_value(gnuplot, isfinite(p->low[at]) ? p->low[at] : p->value[at]);
            put_value(gnuplot, isfinite(p->high[at]) ? p->high[at] : p->value[at]);
        }
        fputc('\n', gnuplot);
    }
    fputs("END\n", gnuplot);
}

static void put_row_names(FILE *gnuplot, const struct plot *p)
{
    fputs("set ytics scale 0 (", gnuplot);
    for (int row = 0; row < rows_of(p); row++) {
        if (row) fputs(", ", gnuplot);
        put_string(gnuplot, is_turned(p) ? p->serie[row] : p->group[row]);
        fprintf(gnuplot, " %d", row);
    }
    fputs(")\n", gnuplot);
}

static void put_line(FILE *gnuplot, const struct plot *p)
{
    if (!(p->line > 0)) return;
    fprintf(gnuplot,
            "set arrow from first %.6g,graph 0 to first %.6g,graph 1 nohead front lw 2 lc rgb '#444444'\n",
            p->line, p->line);
    fputs("set label ", gnuplot);
    put_string(gnuplot, p->line_name);
    fprintf(gnuplot, " at first %.6g,graph 1 center offset 0,0.6 tc rgb '#444444'\n", p->line);
}

/* The axis of ratios has room beside its first and last point: what lies at its end is not cut. */
static void put_range(FILE *gnuplot, const struct plot *p)
{
    double least = p->line > 0 ? p->line : INFINITY, most = p->line > 0 ? p->line : 0;
    for (int i = 0; i < p->groups * p->series; i++) {
        least = fmin(least, p->low ? fmin(p->low[i], p->value[i]) : p->value[i]); /* fmin skips what is NAN */
        most = fmax(most, p->high ? fmax(p->high[i], p->value[i]) : p->value[i]);
    }
    for (int i = 0; p->bound && i < p->groups; i++) most = fmax(most, p->bound[i]);
    if (most > least && least > 0) fprintf(gnuplot, "set xrange [%.6g:%.6g]\n", least / 1.07, most * 1.07);
}

/* A faint bar for each row, behind the points. */
static void put_bounds(FILE *gnuplot, const struct plot *p)
{
    if (!p->bound) return;
    fprintf(gnuplot, "$data using %d:1:(%.6g):%d:($1-0.38):($1+0.38) with boxxyerror lc rgb '#e4e4e4' title ",
            p->series + 2, p->line, p->series + 2);
    put_string(gnuplot, p->bound_name);
    fputs(", ", gnuplot);
}

/* The points of one series, and their intervals. */
static void put_series(FILE *gnuplot, const struct plot *p, int i)
{
    const double place = place_of(p, i);
    if (p->low)
        fprintf(gnuplot, "$data using %d:($1+%.4g):%d:%d with xerrorbars pt 0 lw 1.5 lc rgb '%s' notitle, ",
                i + 2, place, p->series + 3 + 2 * i, p->series + 4 + 2 * i, colours[i]);
    fprintf(gnuplot, "$data using %d:($1+%.4g) with points pt %d ps %g lc rgb '%s' title ", i + 2, place,
            shapes[i % SHAPES], p->apart ? 0.7 : 1, colours[i]);
    put_string(gnuplot, p->serie[i]);
}

static void put_script(FILE *gnuplot, const struct plot *p, const char *kind)
{
    put_data(gnuplot, p);
    fprintf(gnuplot, "set terminal %s size %d,%d noenhanced background '#ffffff' font ',12'\n",
            strcmp(kind, "svg") == 0 ? "svg" : "pngcairo", WIDTH, MARGINS + row_height(p) * rows_of(p));
    fputs("set title ", gnuplot);
    put_string(gnuplot, p->title);
    fputs(" offset 0,1\nset xlabel offset 0,0.4 ", gnuplot);
    put_string(gnuplot, p->unit);
    fputs(p->ratios ? "\nset logscale x 2\nset xtics (0.125, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4, 6, 8, "
                      "12, 16, 32)\n"
                    : "\nset xrange [0:*]\n",
          gnuplot);
    fprintf(gnuplot, "set yrange [%g:-0.5]\nset border 3\nset xtics nomirror\n", rows_of(p) - 0.5);
    fprintf(gnuplot, "set grid x%s lt 1 lw 1 lc rgb '#dddddd'\nset style fill solid 0.85 noborder\n",
            p->apart ? "" : " y");
    if (p->ratios) put_range(gnuplot, p);
    if (p->apart && !is_turned(p)) /* rows are told apart by lines between them */
        for (int row = 1; row < p->groups; row++)
            fprintf(gnuplot,
                    "set arrow from graph 0,first %g to graph 1,first %g nohead lw 0.5 lc rgb '#dddddd'\n",
                    row - 0.5, row - 0.5);
    put_row_names(gnuplot, p);
    put_line(gnuplot, p);
    fputs(is_turned(p) ? "unset key\n" : "set key below center horizontal height 0.8\n", gnuplot);
    if (is_turned(p))
        fprintf(gnuplot, "plot $data using 2:1:(0):2:($1-0.35):($1+0.35) with boxxyerror lc rgb '%s' notitle",
                colours[0]);
    if (!is_turned(p)) fputs("plot ", gnuplot);
    if (!is_turned(p)) put_bounds(gnuplot, p);
    for (int i = 0; i < p->series && !is_turned(p); i++) {
        if (i) fputs(", ", gnuplot);
        put_series(gnuplot, p, i);
    }
    fputc('\n', gnuplot);
}

/* Writes gnuplot's output to the file. Returns its exit status, -1 if it could not be started. */
static int draw(const struct plot *plot, const char *kind, int fd)
{
    char command[80];
    snprintf(command, sizeof command, "exec gnuplot >/proc/self/fd/%d 2>/dev/null", fd);
    fcntl(fd, F_SETFD, 0);
    /* If gnuplot is missing or ends early, SIGPIPE must not end this process. */
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    FILE *gnuplot = popen(command, "w");
    int status = -1;
    if (gnuplot) {
        put_script(gnuplot, plot, kind);
        status = pclose(gnuplot);
    }
    signal(SIGPIPE, before);
    return status;
}

enum status plot_draw(const struct plot *plot, const char *path)
{
    if (plot->series > PLOT_SERIES_MAX)
        return fail(E_USAGE, "cannot draw %d series in one picture: %d colours can be told apart",
                    plot->series, PLOT_SERIES_MAX);
    struct outfile out;
    enum status st = check_path(path);
    if (!st) st = outfile_open(path, &out);
    if (st) return st;
    int status = draw(plot, kind_of(path), fileno(out.stream));
    if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == COMMAND_NOT_FOUND)
        st = fail(E_ABSENT, "gnuplot is not installed, so %s cannot be drawn: apt-get install gnuplot-nox",
                  path);
    else if (status != 0) st = fail(E_IO, "gnuplot could not draw %s", path);
    return outfile_close(&out, st);
}
