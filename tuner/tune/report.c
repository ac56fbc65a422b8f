#include "report.h"

#include "clock.h"
#include "print.h"
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

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

enum status report_open(int problems, int gpus, struct report **report)
{
    struct report *r = calloc(1, sizeof *r);
    if (!r) return fail(E_MEMORY, "out of memory for the progress report");
    r->problems = problems;
    r->gpus = gpus;
    r->terminal = print_can_replace(stderr);
    r->opened_s = r->drawn_s = now_s();
    *report = r;
    return OK;
}

static void wipe(struct report *report)
{
    if (report->line_shown) print_replace(stderr, NULL);
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
    struct line line = {.used = 0};
    va_list args;
    va_start(args, format);
    vsnprintf(line.text, sizeof line.text, format, args);
    va_end(args);
    wipe(report);
    print_wrapped(stderr, 0, print_columns(stderr), line.text);
}

void report_advice(struct report *report, const struct problem *problem)
{
    if (epilogue_out_of_place(problem->epilogue) && problem->beta == 0)
        report_say(report,
                   "    C is not read: with beta = 0 on the host this problem is answered by the winner of "
                   "the one without out; tune that one, unless beta is in device memory");
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

static void add_failures(struct line *line, const struct progress *p)
{
    const char *before = "";
    for (int v = 0; v < VERDICT_COUNT; v++) {
        if (v == VERDICT_MEASURED || v == VERDICT_SLOW || v == VERDICT_PREDICTED || p->failures[v] == 0)
            continue;
        add(line, "%s%zu %s", before, p->failures[v], verdict_name((enum verdict)v));
        before = ", ";
    }
}

/* ---- the line ---- */

/* The pieces of the progress line, in their order. */
enum piece {
    GPU,
    PROBLEM,
    PHASE,
    BAR,
    DONE,
    BEST,
    TFLOPS,
    RATIO,
    GAIN,
    LEFT,
    RATE,
    FAILURES,
    CONFIG,
    PIECES
};

/* Columns of a bar without its brackets, which depend on the terminal's width alone: a bar that grew and
 * shrank with the words beside it would not show what is done. */
static int bar_width(int columns)
{
    return columns >= 120 ? 20 : columns >= 75 ? 10 : 5;
}

static double share_done(const struct progress *p)
{
    if (p->done == 0) return 0;
    const double whole_s = p->elapsed_s + fmax(p->left_s, 0);
    const double of_time = whole_s > 0 ? p->elapsed_s / whole_s : 0;
    const double of_trials = p->planned > 0 ? (double)p->done / (double)p->planned : 0;
    return fmin(1, fmax(of_time, of_trials));
}

static void add_bar(struct line *line, double share, int width)
{
    add(line, "[");
    for (int i = 0; i < width; i++) add(line, "%c", i < (int)(share * width) ? '#' : '-');
    add(line, "]");
}

static void write_pieces(const struct progress *p, int gpus, struct line piece[PIECES])
{
    char text[32];
    if (gpus > 1) add(&piece[GPU], "GPU %d", p->gpu);
    add(&piece[PROBLEM], "%s", p->problem);
    add(&piece[PHASE], "%s", p->phase);
    add(&piece[DONE], "%zu/%zu", p->done, p->planned);
    if (p->best_us > 0) {
        format_time_us(p->best_us, text);
        add(&piece[BEST], "best %s", text);
        add(&piece[TFLOPS], "%.2f TFLOPS", p->tflops);
        if (p->anchor_us > 0) add(&piece[RATIO], "%.3f x cuBLAS", p->anchor_us / p->best_us);
        if (p->gain >= 0) add(&piece[GAIN], "%.1f %% to gain", 100 * p->gain);
        add(&piece[CONFIG], "%s", p->best);
    }
    format_duration(p->left_s, text);
    add(&piece[LEFT], "%s left", text);
    if (p->elapsed_s > 1 && p->trials > 0)
        add(&piece[RATE], "%.0f/min", 60 * (double)p->trials / p->elapsed_s);
    add_failures(&piece[FAILURES], p);
}

static int length_of(const struct line piece[PIECES])
{
    int sum = 0;
    for (int i = 0; i < PIECES; i++)
        if (piece[i].used) sum += (sum ? 2 : 0) + print_width(piece[i].text);
    return sum;
}

/* A line of at most `room` columns, as far as what must be told allows; 0: as long as it takes, and no bar.
 */
static void join_pieces(const struct report *report, const struct progress *p, int room, int bar,
                        struct line *line)
{
    static const enum piece least_first[] = {CONFIG, FAILURES, RATE, GAIN, TFLOPS, PHASE, PROBLEM};
    struct line *piece = calloc(PIECES, sizeof *piece);
    if (!piece) return; /* the next one may find memory */
    write_pieces(p, report->gpus, piece);
    if (room > 0 && report->problems > 1)
        piece[LEFT] = (struct line){.used = 0}; /* that of the run is told */
    if (room > 0) add_bar(&piece[BAR], share_done(p), bar);
    for (size_t i = 0; room > 0 && i < sizeof least_first / sizeof *least_first; i++)
        if (length_of(piece) > room) piece[least_first[i]] = (struct line){.used = 0};
    if (room > 0 && piece[BEST].used && length_of(piece) > room) {
        char time[32];
        format_time_us(p->best_us, time);
        piece[BEST] = (struct line){.used = 0};
        add(&piece[BEST], "%s", time);
    }
    for (int i = 0; i < PIECES; i++) {
        const bool words = i > DONE;
        if (piece[i].used) add(line, "%s%s", line->used ? words ? ", " : "  " : "", piece[i].text);
    }
    free(piece);
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
        add(&line, "[%d/%d, %s left] ", ended, report->problems, text);
    }
    /* Asked each time: a terminal may change its size. Its last column stays free. */
    const int columns = print_columns(stderr), width = columns > 10 ? columns - 1 : 79;
    for (int i = 0; i < count; i++) {
        struct line one = {.used = 0};
        const int room = (width - (int)line.used - 3 * (count - 1 - i)) / (count - i);
        join_pieces(report, &progress[i], report->terminal ? room > 1 ? room : 1 : 0,
                    bar_width(width / count), &one);
        add(&line, "%s%s", i ? " | " : "", one.text);
    }
    if (report->terminal) print_replace(stderr, line.text);
    else print_line(stderr, "%s", line.text);
    report->line_shown = report->terminal;
}

void report_best(struct report *report, const char *problem, double us, double tflops, double anchor_us,
                 const char *config)
{
    if (!report->terminal) return; /* the quiet lines hold it */
    char time[32], ratio[48] = "";
    format_time_us(us, time);
    if (anchor_us > 0) snprintf(ratio, sizeof ratio, ", %.3f x cuBLAS", anchor_us / us);
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
