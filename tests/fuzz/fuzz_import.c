/* What tune export wrote, or somebody else: winners as JSON lines and trials as T4, taken into a database.
 * The file stays whole, taking in the same twice adds nothing, and what stands as a winner can be computed
 * with and told again. HASH-OF-TEMPLATE in an input stands for that of simt, so that seeds outlive its
 * changes. */
#include "exchange_json.h"
#include "fuzz.h"
#include "fuzz_hash.h"
#include "import_ours.h"
#include "pretuned.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DESCRIPTORS   GT_SOURCE_DIR "/configs/gpus"
#define INPUTS_A_FILE 32 /* before a fresh database */

const char *const fuzz_words[] = {"\"problem\": \"4x4x4\"",
                                  ":batch=3:pointers",
                                  ":epilogue=rowbias+gelu+out",
                                  ":batch=3:epilogue=bias:stride_bias=9",
                                  "\"config\": \"cublas\"",
                                  "\"template_hash\": \"HASH-OF-TEMPLATE\"",
                                  "\"time_us\": 1e15",
                                  "\"predicted\": true",
                                  "\"when\": \"1970-01-01T00:00:00Z\"",
                                  "\"when\": \"9999-12-31T23:59:59Z\"",
                                  "\"cold\": false",
                                  "\"figures\": {}",
                                  "\"gpu\": \"NVIDIA A100-SXM4-80GB\", \"arch\": 80",
                                  "true",
                                  "false",
                                  "null",
                                  "{",
                                  "}",
                                  "[",
                                  ",\n",
                                  "\"",
                                  "\xff",
                                  "\xc3\xa9",
                                  "\\u0000",
                                  "\\ud800",
                                  "1e308",
                                  "-1",
                                  "9223372036854775807",
                                  NULL};

static struct db *db;
static char path[256];

static void open_fresh(void)
{
    static const char *const ends[] = {"", "-wal", "-shm", ".lock"};
    db_close(db);
    db = NULL;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char name[300];
        snprintf(name, sizeof name, "%s/import.db%s", fuzz_folder(), ends[i]);
        unlink(name);
    }
    snprintf(path, sizeof path, "%s/import.db", fuzz_folder());
    PROMISE(db_open(path, DB_WRITE, &db) == OK, "%s", status_text());
}

static bool within(double x, double most)
{
    return x >= 0 && x <= most;
}

/* What a stored winner says, and that the library would understand it as text. */
static bool check_winner(void *self, const struct db_winner *w)
{
    char problem[PROBLEM_TEXT_MAX];
    struct db_brief brief;
    (void)self;
    problem_format(&w->base.problem, problem);
    PROMISE(problem_check(&w->base.problem) == OK, "%s: %s", problem, status_text());
    PROMISE(w->base.time_us > 0 && within(w->base.time_us, 1e15) && within(w->base.anchor_us, 1e15),
            "%s: %g us", problem, w->base.time_us);
    PROMISE(within(w->base.ratio, 1e6) && within(w->base.ratio_low, 1e6) && within(w->base.ratio_high, 1e6),
            "%s: %g", problem, w->base.ratio);
    if (w->unusable) return true;
    if (w->config.template) {
        const char *why = w->config.template->check(&w->config, &w->base.problem, &w->gpu);
        PROMISE(!why, "%s may run, but %s", problem, why);
    }
    json_t *json = winner_to_json(w, true);
    PROMISE(json, "%s cannot be told", problem);
    char *line = json_dumps(json, JSON_COMPACT);
    PROMISE(line, "%s cannot be written", problem);
    PROMISE(pretuned_parse(line, strlen(line), &w->gpu, &brief) == OK, "%s: %s", line, status_text());
    PROMISE(problem_equal(&brief.base.problem, &w->base.problem) &&
                brief.config.template == w->config.template && !brief.changed &&
                brief.base.predicted == w->base.predicted && brief.base.cold == w->base.cold,
            "%s", line);
    free(line);
    json_decref(json);
    return true;
}

static enum status take_in(const char *text, size_t size, struct imported *im)
{
    json_t *gpus = NULL;
    bool t4 = false;
    memset(im, 0, sizeof *im);
    enum status st = OK;
    const bool winners = winners_here(text, size);
    if (!winners) st = trials_here("input", text, size, &t4, &gpus);
    if (!winners && (st || !t4 || !gpus)) {
        json_decref(gpus);
        return E_ABSENT;
    }
    PROMISE(db_import_start(db) == OK, "%s", status_text());
    st = winners ? import_winners(db, text, size, DESCRIPTORS, im)
                 : import_trials(db, "input", text, size, gpus, im);
    st = db_import_end(db, st);
    PROMISE(!st || (st == E_INPUT && !winners), "%s", status_text());
    PROMISE(im->added >= 0 && im->added <= im->read && im->stand <= im->added, "%" PRId64 " of %" PRId64,
            im->added, im->read);
    json_decref(gpus);
    return st;
}

static void check_file(void)
{
    char findings[1024];
    bool clean;
    const struct db_filter all = {.gpu = NULL};
    PROMISE(db_check(db, findings, sizeof findings, &clean) == OK, "%s", status_text());
    PROMISE(clean, "%s", findings);
    PROMISE(db_winners(db, &all, NULL, check_winner, NULL) == OK, "%s", status_text());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int inputs;
    if (inputs++ % INPUTS_A_FILE == 0) open_fresh();
    if (memchr(data, 0, size)) return 0; /* fuzz_recorded's */
    char *text = fuzz_text(data, size);
    fuzz_put_hash(text);
    struct imported im, again;
    if (take_in(text, size, &im)) return 0;
    if (im.added == 0) return 0;
    fuzz_accept();
    PROMISE(take_in(text, size, &again) == OK, "%s", status_text());
    PROMISE(again.added == 0 && again.read == im.read && again.broken == im.broken,
            "%" PRId64 " were new again", again.added);
    check_file();
    return 0;
}
