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

#define COMMAND_NOT_FOUND 127 /* as the shell answers */
#define CROWD             12  /* groups */

/* "svg", "png" or NULL. */
static const char *kind_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    if (dot && strcmp(dot, ".svg") == 0) return "svg";
    if (dot && strcmp(dot, ".png") == 0) return "png";
    return NULL;
}

enum status plot_check(const char *path)
{
    if (!kind_of(path)) return fail(E_USAGE, "cannot draw %s: the name must end in .svg or .png", path);
    if (strchr(path, '\n')) return fail(E_USAGE, "the name of the picture contains a line break");
    return OK;
}

/* A gnuplot string: in single quotes nothing is special but the quote itself, which is doubled. */
static void put_string(FILE *gnuplot, const char *text)
{
    fputc('\'', gnuplot);
    for (; *text; text++) {
        if (*text == '\'') fputc('\'', gnuplot);
        fputc(*text, gnuplot);
    }
    fputc('\'', gnuplot);
}

/* Rows and columns of gnuplot's clustered histogram. One group alone is turned round: a bar for each serie,
 * named on the axis, instead of one cluster with a legend. */
static void put_data(FILE *gnuplot, const struct bars *b)
{
    bool turned = b->groups == 1;
    int rows = turned ? b->series : b->groups, columns = turned ? 1 : b->series;
    fputs("$data << END\n", gnuplot);
    for (int row = 0; row < rows; row++) {
        fprintf(gnuplot, "\"%s\"", turned ? b->serie[row] : b->group[row]);
        for (int column = 0; column < columns; column++) {
            double value = b->value[row * columns + column];
            if (isnan(value)) fputs(" NaN", gnuplot);
            else fprintf(gnuplot, " %.6g", value);
        }
        fputc('\n', gnuplot);
    }
    fputs("END\n", gnuplot);
}

static void put_script(FILE *gnuplot, const struct bars *b, const char *kind)
{
    bool turned = b->groups == 1;
    int width = 500 + 30 * (turned ? b->series : b->groups * b->series / 2);
    put_data(gnuplot, b);
    fprintf(gnuplot, "set terminal %s size %d,%d noenhanced background '#ffffff'\n",
            strcmp(kind, "svg") == 0 ? "svg" : "pngcairo", width, b->groups > CROWD ? 600 : 520);
    fputs("set title ", gnuplot);
    put_string(gnuplot, b->title);
    fputs("\nset ylabel ", gnuplot);
    put_string(gnuplot, b->unit);
    fputs("\nset yrange [0:*]\nset grid y\nset border 3\nset ytics nomirror\n"
          "set style data histogram\nset style histogram clustered gap 1\n"
          "set style fill solid 0.85 border -1\nset boxwidth 0.9\n",
          gnuplot);
    /* The names of many groups stand close: steeper, so that they do not cover each other. */
    fprintf(gnuplot, "set xtics nomirror rotate by %d\n", b->groups > CROWD ? -55 : -25);
    fputs(turned              ? "unset key\n"
          : b->groups > CROWD ? "set key above\nset rmargin 12\n"
                              : "set key outside right top\n",
          gnuplot);
    if (b->line > 0)
        fprintf(gnuplot, "set arrow from graph 0,first %.6g to graph 1,first %.6g nohead\n", b->line,
                b->line);
    for (int column = 0; column < (turned ? 1 : b->series); column++) {
        fprintf(gnuplot, "%s$data using %d:xtic(1) title ", column ? ", " : "plot ", column + 2);
        put_string(gnuplot, turned ? "" : b->serie[column]);
    }
    fputc('\n', gnuplot);
}

/* What gnuplot prints goes into the file. Its exit status, -1 if it could not be started. */
static int draw(const struct bars *bars, const char *kind, int fd)
{
    char command[80];
    snprintf(command, sizeof command, "exec gnuplot >/proc/self/fd/%d 2>/dev/null", fd);
    fcntl(fd, F_SETFD, 0);
    /* A gnuplot that is missing or ends early must not end us by SIGPIPE. */
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    FILE *gnuplot = popen(command, "w");
    int status = -1;
    if (gnuplot) {
        put_script(gnuplot, bars, kind);
        status = pclose(gnuplot);
    }
    signal(SIGPIPE, before);
    return status;
}

enum status plot_bars(const struct bars *bars, const char *path)
{
    struct outfile out;
    enum status st = plot_check(path);
    if (!st) st = outfile_open(path, &out);
    if (st) return st;
    int status = draw(bars, kind_of(path), fileno(out.stream));
    if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == COMMAND_NOT_FOUND)
        st = fail(E_ABSENT, "gnuplot is not installed, so %s cannot be drawn: apt-get install gnuplot-nox",
                  path);
    else if (status != 0) st = fail(E_IO, "gnuplot could not draw %s", path);
    return outfile_close(&out, st);
}
