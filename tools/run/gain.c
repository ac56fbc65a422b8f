#include "cmd_run.h"

#include "answer.h"
#include "capture.h"
#include "db_view.h"
#include "print.h"

#include <string.h>

struct gain {
    double count;               /* calls of the problem at hand */
    double before_us, after_us; /* by cuBLAS, and by what answers */
    int faster, raced;          /* problems */
};

/* Of each problem the first: the others are of other cache policies. */
static bool add(void *self, const struct db_winner *w)
{
    struct gain *g = self;
    if (w->unusable || w->base.predicted || !(answer_rival_us(&w->base) > 0)) return true;
    g->raced++;
    g->faster += !answer_is_cublas(w);
    g->before_us += g->count * answer_rival_us(&w->base);
    g->after_us += g->count * (answer_is_cublas(w) ? answer_rival_us(&w->base) : w->base.time_us);
    return false;
}

static enum status add_all(struct db_view *view, const struct capture *capture, struct gain *gain)
{
    enum status st = OK;
    for (size_t i = 0; i < capture->count && !st; i++) {
        struct db_filter filter = view->filter;
        filter.problem = &capture->at[i].problem;
        gain->count = (double)capture->at[i].count;
        st = db_winners(view->db, &filter, &view->now, add, gain);
    }
    return st;
}

static void tell(const struct gain *g, size_t problems)
{
    if (!g->raced) {
        print_line(stderr, "tune run: none of the %zu problem%s was measured: the next run gains nothing",
                   problems, PRINT_S(problems));
        return;
    }
    print_line(
        stderr,
        "tune run: in the next run tuned kernels answer %d of the %zu problem%s; the calls of this run "
        "take %.3g s "
        "by cuBLAS and %.3g s then, %.3g times as fast",
        g->faster, problems, PRINT_S(problems), 1e-6 * g->before_us, 1e-6 * g->after_us,
        g->before_us / g->after_us);
    if ((size_t)g->raced < problems)
        print_line(stderr, "tune run: %zu of them were not reached; more time helps: tune --from-capture",
                   problems - (size_t)g->raced);
}

enum status gain_tell(const char *path)
{
    struct capture capture = {0};
    struct db_view view = {.gpu = "this"};
    struct gain gain = {0};
    enum status st = capture_read(path, &capture);
    if (!st) st = db_view_open(&view);
    if (!st) st = add_all(&view, &capture, &gain);
    if (!st) tell(&gain, capture.count);
    db_view_close(&view);
    capture_free(&capture);
    return st;
}
