/* Result files of other tuners, T4 and Kernel Tuner's caches, plain or compressed: the sums are those of the
 * rows, and every figure can be computed with. */
#include "fuzz.h"
#include "import_ours.h"
#include "recorded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    enum status st = import_read(path, &bytes, &length);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sums sums;
    if (read_all(fuzz_file(data, size), &sums) && sums.rows) fuzz_accept();
    return 0;
}
