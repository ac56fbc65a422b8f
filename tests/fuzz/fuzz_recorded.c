/* Result files of other tuners, T4 and Kernel Tuner's caches, plain or compressed: the sums are those of the
 * rows, every figure can be computed with, and what is written as T4 reads back as the same rows. */
#include "commands.h"
#include "fuzz.h"
#include "import_ours.h"
#include "recorded.h"

#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const fuzz_words[] = {"{",
                                  "}",
                                  "[",
                                  "]",
                                  ",",
                                  ":",
                                  "\"",
                                  "\\",
                                  "\"cache\": {",
                                  "\"results\": [",
                                  "\"metadata\": {\"timeunit\": \"seconds\"}",
                                  "\"invalidity\": \"correct\"",
                                  "\"times\": {}",
                                  "\"configuration\": {}",
                                  "\"time\": 1",
                                  "\"__error__\": \"x\"",
                                  "\"tune_params_keys\": [\"MWG\"]",
                                  "\"gemmtune\": {}",
                                  "\"nanoseconds\"",
                                  "null",
                                  "true",
                                  "1e308",
                                  "1.7e308",
                                  "-1",
                                  "\xff",
                                  "\\u0000",
                                  "\x1f\x8b\x08",
                                  NULL};

struct sums {
    int64_t rows, counts[RECORDED_VERDICTS];
    double best_ms;
};

static bool look(void *self, const struct recorded_row *row)
{
    struct sums *s = self;
    PROMISE((unsigned)row->verdict < RECORDED_VERDICTS, "verdict %d", (int)row->verdict);
    PROMISE(json_is_object(row->configuration), "a row without a configuration");
    PROMISE(isfinite(row->time_ms) && row->time_ms >= 0, "a time of %g", row->time_ms);
    PROMISE(row->verdict == RECORDED_CORRECT || row->time_ms == 0, "%s, but timed",
            recorded_verdict_name(row->verdict));
    PROMISE(isfinite(row->compile_ms) && row->compile_ms >= 0, "a compilation of %g ms", row->compile_ms);
    PROMISE(row->timestamp, "no timestamp");
    s->rows++;
    s->counts[row->verdict]++;
    if (row->time_ms > 0 && (s->best_ms == 0 || row->time_ms < s->best_ms)) s->best_ms = row->time_ms;
    return true;
}

/* False if the file is none, or is broken. */
static bool read_all(const char *path, struct sums *sums)
{
    char *bytes = NULL;
    size_t length = 0;
    struct recorded r = {.unit_ms = 1};
    memset(sums, 0, sizeof *sums);
    enum status st = recorded_read(path, &bytes, &length);
    if (st) {
        PROMISE(st == E_IO || st == E_INPUT, "%s", status_text()); /* compressed, and damaged; no text */
        return false;
    }
    (void)winners_here(bytes, length);
    st = recorded_open(path, bytes, length, &r);
    PROMISE(!st || st == E_INPUT, "%s", status_text());
    if (!st && r.format != RECORDED_UNKNOWN) st = recorded_rows(bytes, length, &r, look, sums);
    PROMISE(!st || st == E_INPUT, "%s", status_text());
    PROMISE(r.rows == sums->rows && memcmp(r.counts, sums->counts, sizeof r.counts) == 0, "sums");
    PROMISE(r.best_ms == sums->best_ms && (r.best_ms == 0) == (r.best == NULL), "the best of all");
    const bool known = !st && r.format != RECORDED_UNKNOWN;
    recorded_close(&r);
    free(bytes);
    return known;
}

static enum status import(const char *option, const char *value, const char *path)
{
    char *arguments[] = {(char *)(uintptr_t) "import", (char *)(uintptr_t)option, (char *)(uintptr_t)value,
                         (char *)(uintptr_t)path, NULL};
    return cmd_import(4, arguments);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char copy[256];
    struct sums sums, again;
    argp_program_version = "tune";
    if (!freopen("/dev/null", "w", stdout)) abort();
    const char *path = fuzz_file(data, size);
    const bool known = read_all(path, &sums);
    enum status st = import("--list", "--format=json", path);
    if (!known || sums.rows == 0) return 0;
    fuzz_accept();
    snprintf(copy, sizeof copy, "%s/copy", fuzz_folder());
    st = import("--t4", copy, path);
    if (st == E_INPUT) return 0; /* winners */
    PROMISE(st == OK, "%s", status_text());
    PROMISE(read_all(copy, &again), "what was written cannot be read: %s", status_text());
    PROMISE(again.rows == sums.rows, "%lld rows of %lld", (long long)again.rows, (long long)sums.rows);
    PROMISE(memcmp(again.counts, sums.counts, sizeof sums.counts) == 0, "other verdicts");
    PROMISE(again.best_ms == sums.best_ms, "the best is %.17g, and was %.17g", again.best_ms, sums.best_ms);
    unlink(copy);
    return 0;
}
