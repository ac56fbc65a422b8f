#include "reasons.h"

#include "print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SAID_MOST 20 /* rules have many sentences */

enum status reasons_add(struct reasons *reasons, const char *text)
{
    for (int i = 0; i < reasons->count; i++)
        if (strcmp(reasons->list[i].text, text) == 0) {
            reasons->list[i].count++;
            return OK;
        }
    struct reason *grown = realloc(reasons->list, ((size_t)reasons->count + 1) * sizeof *grown);
    if (grown) reasons->list = grown;
    char *copy = grown ? strdup(text) : NULL;
    if (!copy) return fail(E_MEMORY, "out of memory for reasons");
    grown[reasons->count++] = (struct reason){copy, 1};
    return OK;
}

static int compare(const void *a, const void *b)
{
    const struct reason *x = a, *y = b;
    const int order = (x->count < y->count) - (x->count > y->count);
    return order ? order : strcmp(x->text, y->text);
}

void reasons_say(struct reasons *reasons)
{
    int64_t rest = 0;
    if (reasons->count) qsort(reasons->list, (size_t)reasons->count, sizeof *reasons->list, compare);
    for (int i = 0; i < reasons->count; i++) {
        const struct reason *r = &reasons->list[i];
        if (i < SAID_MOST) print_line(stderr, "tune: %6" PRId64 "  %s", r->count, r->text);
        else rest += r->count;
    }
    if (rest) print_line(stderr, "tune: %6" PRId64 "  for other reasons", rest);
}

void reasons_free(struct reasons *reasons)
{
    for (int i = 0; i < reasons->count; i++) free(reasons->list[i].text);
    free(reasons->list);
    *reasons = (struct reasons){.count = 0};
}
