/* exported_of.h — what an exported header takes of an open database. */
#ifndef GT_TEST_EXPORTED_OF_H
#define GT_TEST_EXPORTED_OF_H

#include "unit.h"

#include "export_picks.h"

static inline enum status read_picks(struct db *db, const struct db_filter *filter,
                                     const struct problem_list *problems, const struct pick_rules *rules,
                                     struct picks *picks)
{
    const struct db_view view = {.db = db};
    struct answers *answers;
    assert_ok(answers_open(&view, &answers));
    const enum status st = picks_read(answers, filter, problems, rules, picks);
    answers_close(answers);
    return st;
}

#endif
