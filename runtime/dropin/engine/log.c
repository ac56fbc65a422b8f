#include "log.h"

#include "calls.h"
#include "print.h"
#include "recorder.h"
#include "table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

bool log_calls;

void log_say(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    print_line(stderr, "gemmtune: %s", line); /* in one write, since other threads may write, too */
}

void log_text(const char *text)
{
    log_say("%s", text);
}

void log_call_once(const struct blas_request *request, struct record *record, unsigned reason,
                   const char *why)
{
    struct instead_state now;
    if ((atomic_load_explicit(&record->said, memory_order_relaxed) & reason) ||
        (atomic_fetch_or(&record->said, reason) & reason))
        return;
    instead_state(&record->instead, &now);
    log_say("%s %s -> %s: %s", request->function, record->instead.unnamed ? "(no problem)" : record->text,
            reason == SAID_TUNED ? "tuned kernel" : "cuBLAS", why ? why : now.why);
}

/* ---- the end ---- */

void log_summary(void)
{
    uint64_t calls = 0, tuned = 0, problems = 0;
    for (struct record *r = record_newest(); r; r = r->older) {
        calls += atomic_load(&r->calls);
        tuned += atomic_load(&r->tuned);
        problems++;
    }
    if (problems)
        log_say("%llu of %llu calls of products, of %llu problems, went to tuned kernels",
                (unsigned long long)tuned, (unsigned long long)calls, (unsigned long long)problems);
    struct left_out left;
    for (int i = 0; recorder_left_out(i, &left); i++)
        log_say("the capture leaves out %llu calls: %s", (unsigned long long)left.calls, left.why);
}

enum { ROWS_MAX = 20, WHY_MAX = INSTEAD_WHY_MAX + 16 };

static const struct column columns[] = {
    {"problem", "problem", COLUMN_TEXT | COLUMN_KEY, 0},
    {"calls", "calls", COLUMN_NUMBER, 0},
    {"tuned", "tuned", COLUMN_NUMBER, 0},
    {"time_ms", "time (ms)", COLUMN_NUMBER, 2},
    {"share", "share (%)", COLUMN_NUMBER, 1},
    {"by", "answered by", COLUMN_TEXT | COLUMN_LAST, 0},
};

/* Microseconds of GPU time, where it is known, and calls where it is not. */
struct totals {
    double tuned, rival_won, other;
    uint64_t untimed;
};

static double add_time(struct totals *t, const struct record *r, const struct instead_state *state,
                       uint64_t calls, uint64_t tuned)
{
    const double us = recorder_time_us(r);
    t->tuned += us * (double)tuned;
    *(state->rival_won ? &t->rival_won : &t->other) += us * (double)(calls - tuned);
    if (!(us > 0)) t->untimed += calls;
    return us * (double)calls;
}

static void describe(const struct instead_state *state, uint64_t tuned, char why[WHY_MAX])
{
    if (tuned && state->family)
        snprintf(why, WHY_MAX, "%s, %.3f times as fast as cuBLAS", state->family, state->ratio);
    else snprintf(why, WHY_MAX, "cuBLAS: %s", state->why);
}

static void add_records(struct table *table, struct totals *t, double all_us)
{
    char why[WHY_MAX];
    struct instead_state state;
    for (struct record *r = record_newest(); r; r = r->older) {
        const uint64_t calls = atomic_load(&r->calls), counted = atomic_load(&r->tuned);
        const uint64_t tuned = counted < calls ? counted : calls;
        if (r->instead.unnamed || !calls) continue; /* of those that are none, the reasons are listed */
        instead_state(&r->instead, &state);
        const double us = add_time(t, r, &state, calls, tuned);
        if (!table) continue;
        describe(&state, tuned, why);
        table_text(table, r->text);
        table_number(table, (double)calls);
        table_number(table, (double)tuned);
        table_number(table, table_known(1e-3 * us));
        table_number(table, table_known(100 * us / all_us));
        table_text(table, why);
    }
}

static void add_left_out(struct table *table, struct totals *t, double all_us)
{
    struct left_out left;
    for (int i = 0; recorder_left_out(i, &left); i++) {
        const double us = left.time_us * (double)left.calls;
        t->other += us;
        if (!(us > 0)) t->untimed += left.calls;
        if (!table) continue;
        table_text(table, "(passed on)");
        table_number(table, (double)left.calls);
        table_number(table, 0);
        table_number(table, table_known(1e-3 * us));
        table_number(table, table_known(100 * us / all_us));
        table_text(table, left.why);
    }
}

static void print_totals(const struct totals *t, double all_us)
{
    print_line(
        stderr,
        "gemmtune: %.3g s of GPU time in products: %.1f %% answered by tuned kernels, %.1f %% by cuBLAS "
        "because it is as fast, %.1f %% by cuBLAS for other reasons",
        1e-6 * all_us, 100 * t->tuned / all_us, 100 * t->rival_won / all_us, 100 * t->other / all_us);
}

void log_table(void)
{
    struct totals totals = {0}, again = {0};
    add_records(NULL, &totals, 0);
    add_left_out(NULL, &totals, 0);
    const double all_us = totals.tuned + totals.rival_won + totals.other;
    struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    if (!table || !(all_us > 0 || totals.untimed)) {
        table_free(table);
        return;
    }
    if (all_us > 0) print_totals(&totals, all_us);
    if (totals.untimed)
        print_line(stderr, "gemmtune: the time of %" PRIu64 " call%s is not known", totals.untimed,
                   PRINT_S(totals.untimed));
    add_records(table, &again, all_us);
    add_left_out(table, &again, all_us);
    table_sort(table, "-time_ms");
    const int rows = table_rows(table);
    table_cut(table, ROWS_MAX);
    table_print(table, TABLE_TEXT, stderr);
    if (rows > ROWS_MAX) print_line(stderr, "and %d others", rows - ROWS_MAX);
    table_free(table);
}

/* "1,664" */
static const char *with_commas(uint64_t n, char text[32])
{
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%" PRIu64, n);
    char *to = text;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0) *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return text;
}

/* cuBLAS's time of all answered products over theirs; 0: not known. */
static double gain_of_answers(void)
{
    double cublas_us = 0, us = 0;
    for (struct record *r = record_newest(); r; r = r->older) {
        struct instead_state state;
        instead_state(&r->instead, &state);
        const double of_record = state.time_us * (double)atomic_load(&r->tuned);
        if (!(state.ratio > 0) || !(of_record > 0)) continue;
        us += of_record;
        cublas_us += state.ratio * of_record;
    }
    return us > 0 ? cublas_us / us : 0;
}

void log_answers(struct answers *answers)
{
    calls_sum(&answers->products, &answers->answered);
    answers->gain = gain_of_answers();
}

void log_share(void)
{
    char count[32], gain[64] = "";
    struct answers answers;
    log_answers(&answers);
    const uint64_t products = answers.products, answered = answers.answered;
    if (products == 0) return;
    with_commas(products, count);
    if (answered == 0) {
        print_line(
            stderr,
            "gemmtune: none of %s product%s was answered: tune run --log says why, --learn 10m tunes them",
            count, PRINT_S(products));
        return;
    }
    const double ratio = answers.gain, share = 100 * (double)answered / (double)products;
    if (ratio > 0) snprintf(gain, sizeof gain, ", about %.2f times as fast", ratio);
    print_line(stderr, "gemmtune: %.*f %% of %s product%s answered%s", share < 10 ? 1 : 0,
               answered < products && share > 99 ? 99.0 : share, count, PRINT_S(products), gain);
}
