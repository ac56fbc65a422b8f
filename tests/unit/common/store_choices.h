/* store_choices.h — what look-ups in the store of winners answer (store.h). */
#ifndef GT_STORE_CHOICES_H
#define GT_STORE_CHOICES_H

#include "lookup.h"
#include "store.h"
#include "template.h"

/* The choices for a problem in their order, the exact ones first. Every one is legal. */
static inline int choices_for(const char *text, struct choice all[2 * CHOICES_MAX])
{
    struct notices quiet = {.quiet = true};
    const struct db_context context = store_context();
    struct winner_store store;
    struct problem p;
    int count, others;
    assert_ok(problem_parse(text, &p));
    assert_ok(winner_store_open(&store, &context.gpu, store_path, "", &quiet));
    assert_ok(lookup_exact(&store, &p, 16, all, &count));
    assert_ok(lookup_others(&store, &p, 16, all + count, &others));
    winner_store_close(&store);
    for (int i = 0; i < count + others; i++)
        if (!all[i].cublas) assert_null(all[i].config.template->check(&all[i].config, &p, &context.gpu));
    return count + others;
}

#endif
