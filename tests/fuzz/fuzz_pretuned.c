/* Winners that ship as text: what a folder's files say is checked line by line, and whatever would be
 * launched for it has passed the rules. HASH-OF-TEMPLATE is in fuzz_hash.h. */
#include "ask.h"
#include "fuzz.h"
#include "fuzz_h200.h"
#include "fuzz_hash.h"
#include "json_pick.h"
#include "pretuned.h"
#include "template.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *const fuzz_words[] = {"\"problem\": \"4x4x4\"",
                                  "\"config\": \"cublas\"",
                                  "\"template_hash\": \"HASH-OF-TEMPLATE\"",
                                  "\"time_us\": 1e15",
                                  "\"predicted\": true",
                                  "\"cold\": false",
                                  "\"exact\": false",
                                  "\"arch\": 80",
                                  "\"sm_count\": 1",
                                  "sgemm:tt:",
                                  ":batch=3",
                                  ":pointers",
                                  ":epilogue=rowbias+gelu+out",
                                  ":epilogue=bias:stride_bias=9",
                                  ":lda=4097",
                                  " SPLIT_K=1024",
                                  "true",
                                  "null",
                                  "{",
                                  "}",
                                  "\n",
                                  "\xff",
                                  "\\u0000",
                                  "1e308",
                                  "-1",
                                  NULL};

static struct problem first;
static int64_t seen;

static void look(void *self, const struct db_brief *b)
{
    (void)self;
    char text[PROBLEM_TEXT_MAX];
    problem_format(&b->base.problem, text);
    PROMISE(problem_check(&b->base.problem) == OK, "%s: %s", text, status_text());
    PROMISE(isfinite(b->base.time_us) && b->base.time_us >= 0 && isfinite(b->base.anchor_us) &&
                b->base.anchor_us >= 0,
            "%s", text);
    PROMISE(isfinite(b->base.ratio) && b->base.ratio >= 0 && b->protocol >= 0, "%s", text);
    PROMISE(memchr(b->driver, 0, sizeof b->driver) && memchr(b->base.when, 0, sizeof b->base.when), "%s",
            text);
    const struct template *t = b->config.template;
    for (int i = 0; t && i < t->param_count; i++)
        PROMISE(b->config.value[i] >= t->params[i].least && b->config.value[i] <= t->params[i].most,
                "%s: %s=%d", text, t->params[i].name, b->config.value[i]);
    if (seen++ == 0) first = b->base.problem;
}

/* The quick reader reads what jansson reads, or leaves it to jansson. */
static void compare_readers(const char *text, size_t size)
{
    static const char *const wanted[] = {"problem", "arch", "time_us", "cold", "errors", "more", NULL};
    for (const char *at = text, *end = text + size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        json_t *quick = json_pick(at, (size_t)(stop - at), wanted),
               *all = json_loadb(at, (size_t)(stop - at), JSON_REJECT_DUPLICATES, NULL);
        PROMISE(!quick || json_is_object(all), "jansson does not read %.*s", (int)(stop - at), at);
        for (int i = 0; quick && wanted[i]; i++) {
            json_t *x = json_object_get(quick, wanted[i]), *y = json_object_get(all, wanted[i]);
            PROMISE(x == y || (x && y && json_equal(x, y)), "%s differs in %.*s", wanted[i], (int)(stop - at),
                    at);
        }
        json_decref(quick);
        json_decref(all);
        at = stop + (stop < end);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char path[256];
    static struct notices quiet = {.quiet = true};
    char broken_line[1400];
    int64_t broken = 0;
    struct winner_store store;
    char *text = fuzz_text(data, size);
    fuzz_put_hash(text);
    compare_readers(text, size);
    const char *file = fuzz_file((const uint8_t *)text, size);
    snprintf(path, sizeof path, "%s/input.jsonl", fuzz_folder());
    PROMISE(rename(file, path) == 0, "%s", path);

    seen = 0;
    first = problem_make(4, 4, 4);
    PROMISE(pretuned_read(fuzz_folder(), &fuzz_gpu, look, NULL, &broken, broken_line, sizeof broken_line) ==
                OK,
            "%s", status_text());
    PROMISE((broken > 0) == (broken_line[0] != '\0'), "%" PRId64 " broken: '%s'", broken, broken_line);
    PROMISE(winner_store_open(&store, &fuzz_gpu, "", fuzz_folder(), &quiet) == OK, "%s", status_text());
    PROMISE(store.set.count == (size_t)seen, "%zu winners of %" PRId64, store.set.count, seen);
    ask(&store, &first);
    winner_store_close(&store);
    return 0;
}
