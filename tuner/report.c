#include "report.h"

#include "clock.h"
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define REDRAW_S    0.2
#define QUIET_S     30.0
#define SETTLING_S  20.0 /* start-up and warming up are not counted as idle time of the GPUs */
#define LINE_LENGTH 1024

struct report {
    int problems, gpus;
    bool terminal; /* a line can be rewritten */
    bool line_shown;
    double opened_s, drawn_s;
    double busy_s, busy_late_s; /* of all GPUs; since the start and after SETTLING_S */
};

enum status report_open(int problems, int gpus, struct report **report)
{
    struct report *r = calloc(1, sizeof *r);
    if (!r) return fail(E_MEMORY, "out of memory for the progress report");
    const char *term = getenv("TERM");
    r->problems = problems;
    r->gpus = gpus;
    r->terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    r->opened_s = r->drawn_s = now_s();
    *report = r;
    return OK;
}

static void wipe(struct report *report)
{
    if (report->line_shown) fputs("\r\033[K", stderr);
    report->line_shown = false;
}

void report_close(struct report *report)
{
    if (!report) return;
    wipe(report);
    fflush(stderr);
    free(report);
}

void report_say(struct report *report, const char *format, ...)
{
    wipe(report);
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

/* ---- numbers for people ---- */

void format_time_us(double us, char *text)
{
    if (us < 1e3) snprintf(text, 32, "%.2f us", us);
    else if (us < 1e6) snprintf(text, 32, "%.3f ms", us * 1e-3);
    else snprintf(text, 32, "%.3f s", us * 1e-6);
}

void format_duration(double seconds, char *text)
{
    long s = lround(fmin(fmax(seconds, 0), 1e8));
    if (s >= 3600) snprintf(text, 32, "%ldh%02ldm", s / 3600, s / 60 % 60);
    else if (s >= 60) snprintf(text, 32, "%ldm%02lds", s / 60, s % 60);
    else snprintf(text, 32, "%lds", s);
}

/* A line that is put together piece by piece and never overflows. */
struct line {
    char text[LINE_LENGTH];
    size_t used;
};

static void __attribute__((format(printf, 2, 3))) add(struct line *line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line->text + line->used, sizeof line->text - line->used, format, args);
    va_end(args);
    if (n > 0) line->used += (size_t)n;
    if (line->used >= sizeof line->text) line->used = sizeof line->text - 1;
}

static void add_failures(struct line *line, const struct progress *p)
{
    const char *before = ", ";
    for (int v = 0; v < VERDICT_COUNT; v++) {
        if (v == VERDICT_MEASURED || v == VERDICT_SLOW || v == VERDICT_PREDICTED || p->failures[v] == 0)
            continue;
        add(line, "%s%zu %s", before, p->failures[v], verdict_name((enum verdict)v));
    }
}

/* What matters most comes first: a narrow terminal cuts the end off. */
static void add_progress(struct line *line, const struct progress *p, int gpus)
{
    char text[32];
    if (gpus > 1) add(line, "GPU %d ", p->gpu);
    add(line, "%s %s: %zu done, %zu left", p->problem, p->phase, p->done, p->left);
    if (p->best_us > 0) {
        format_time_us(p->best_us, text);
        add(line, ", best %s %.2f TFLOPS", text, p->tflops);
        if (p->anchor_us > 0) add(line, " %.1f%% of cuBLAS", 100 * p->anchor_us / p->best_us);
    }
    if (p->elapsed_s > 1 && p->trials > 0) add(line, ", %.0f/min", 60 * (double)p->trials / p->elapsed_s);
    format_duration(p->left_s, text);
    add(line, ", ETA %s", text);
    add_failures(line, p);
    if (p->best_us > 0) add(line, ", %s", p->best);
}

static size_t terminal_width(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 10) return size.ws_col;
    return 80;
}

void report_progress(struct report *report, const struct progress *progress, int count, int ended,
                     double left_s, bool force)
{
    double now = now_s();
    if (!force && now - report->drawn_s < (report->terminal ? REDRAW_S : QUIET_S)) return;
    report->drawn_s = now;
    struct line line = {.used = 0};
    char text[32];
    if (report->problems > 1) {
        format_duration(left_s, text);
        add(&line, "[%d/%d, %s] ", ended, report->problems, text);
    }
    for (int i = 0; i < count; i++) {
        if (i) add(&line, " | ");
        add_progress(&line, &progress[i], report->gpus);
    }
    if (report->terminal) {
        size_t width = terminal_width() - 1;
        if (line.used > width) line.text[width] = '\0';
        fprintf(stderr, "\r\033[K%s", line.text);
        report->line_shown = true;
    } else {
        fprintf(stderr, "%s\n", line.text);
    }
    fflush(stderr);
}

void report_best(struct report *report, const char *problem, double us, double tflops, double anchor_us,
                 const char *config)
{
    if (!report->terminal) return; /* the quiet lines hold it */
    char time[32], ratio[48] = "";
    format_time_us(us, time);
    if (anchor_us > 0) snprintf(ratio, sizeof ratio, ", %.1f%% of cuBLAS", 100 * anchor_us / us);
    report_say(report, "%s: %s, %.2f TFLOPS%s: %s", problem, time, tflops, ratio, config);
}

/* ---- how busy the GPUs were ---- */

void report_busy(struct report *report, double from_s, double to_s)
{
    double late_from = fmax(from_s, report->opened_s + SETTLING_S);
    report->busy_s += to_s - from_s;
    if (to_s > late_from) report->busy_late_s += to_s - late_from;
}

double report_busy_share(const struct report *report)
{
    double elapsed = now_s() - report->opened_s;
    double busy = elapsed > SETTLING_S ? report->busy_late_s : report->busy_s;
    double span = elapsed > SETTLING_S ? elapsed - SETTLING_S : elapsed;
    return span > 0 && report->gpus > 0 ? fmin(1, busy / (span * report->gpus)) : 0;
}
