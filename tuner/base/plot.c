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

/* One line per row: its number, and its values. */
static void put_data(FILE *gnuplot, const struct plot *p)
{
    const int rows = rows_of(p), columns = is_turned(p) ? 1 : p->series;
    fputs("$data << END\n", gnuplot);
    for (int row = 0; row < rows; row++) {
        fprintf(gnuplot, "%d", row);
        for (int column = 0; column < columns; column++) {
            const double value = p->value[row * columns + column];
            if (isnan(value)) fputs(" NaN", gnuplot);
            else fprintf(gnuplot, " %.6g", value);
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
    fprintf(gnuplot, "set arrow from first %.6g,graph 0 to first %.6g,graph 1 nohead lw 2 lc rgb '#444444'\n",
            p->line, p->line);
    fputs("set label ", gnuplot);
    put_string(gnuplot, p->line_name);
    fprintf(gnuplot, " at first %.6g,graph 1 center offset 0,0.6 tc rgb '#444444'\n", p->line);
}

static void put_script(FILE *gnuplot, const struct plot *p, const char *kind)
{
    put_data(gnuplot, p);
    fprintf(gnuplot, "set terminal %s size %d,%d noenhanced background '#ffffff' font ',12'\n",
            strcmp(kind, "svg") == 0 ? "svg" : "pngcairo", WIDTH, MARGINS + ROW_HEIGHT * rows_of(p));
    fputs("set title ", gnuplot);
    put_string(gnuplot, p->title);
    fputs(" offset 0,1\nset xlabel offset 0,0.4 ", gnuplot);
    put_string(gnuplot, p->unit);
    fputs(p->ratios ? "\nset logscale x 2\nset xtics (0.125, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4, 6, 8, "
                      "12, 16, 32)\n"
                    : "\nset xrange [0:*]\n",
          gnuplot);
    fprintf(gnuplot, "set yrange [%g:-0.5]\nset border 3\nset xtics nomirror\n", rows_of(p) - 0.5);
    fputs("set grid x y lt 1 lw 1 lc rgb '#dddddd'\nset style fill solid 0.85 noborder\n", gnuplot);
    put_row_names(gnuplot, p);
    put_line(gnuplot, p);
    fputs(is_turned(p) ? "unset key\n" : "set key below center horizontal\n", gnuplot);
    if (is_turned(p))
        fprintf(gnuplot, "plot $data using 2:1:(0):2:($1-0.35):($1+0.35) with boxxyerror lc rgb '%s' notitle",
                colours[0]);
    for (int i = 0; i < p->series && !is_turned(p); i++) {
        fprintf(gnuplot, "%s$data using %d:1 with points pt %d ps 1 lc rgb '%s' title ", i ? ", " : "plot ",
                i + 2, shapes[i % SHAPES], colours[i]);
        put_string(gnuplot, p->serie[i]);
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
