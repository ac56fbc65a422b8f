/* answers.h — lists which winners answer, wherever they are from: the user's database, the system's, and what
 * ships. The rule is that of answer.h, as the library's look-up (exact.h) applies it to one problem of one
 * GPU.
 */
#ifndef GT_ANSWERS_H
#define GT_ANSWERS_H

#include "answer.h"
#include "db_view.h"

struct answer {
    const struct db_winner *winner;
    enum answer_from from;
    /* Of the user's predictions: what was measured, and so answers in its place; NULL: nothing was. From OWN
     * it is for the other cache policy, and listed itself. */
    const struct db_winner *instead;
    enum answer_from instead_from;
};

/* Itself, or what the system's database or gemmtune has in its place. */
static inline const struct db_winner *answer_elsewhere(const struct answer *answer)
{
    return answer->instead && answer->instead_from != ANSWER_OWN ? answer->instead : answer->winner;
}

struct answers;

/* own: the user's database, opened by db_view_open, or empty. Opens the system's, and reads what ships. It
 * lists what fits --gpu; without that, the GPUs of both databases and of this machine, or all if there are
 * none. Says on standard error what cannot be read. Errors: E_MEMORY, own's. */
enum status answers_open(const struct db_view *own, struct answers **answers);
void answers_close(struct answers *answers); /* takes NULL */

/* The user's winners that match, as db_winners lists them, also those that do not answer. visit returns false
 * to stop; it must not list winners. Errors: those of the databases. */
enum status answers_own(struct answers *answers, const struct db_filter *filter,
                        bool (*visit)(void *self, const struct answer *answer), void *self);

/* The same without predictions that do not answer, and then the measured winners of the system's database and
 * of what ships that do: of each problem and GPU those of the first of the three that has measured it. */
enum status answers_each(struct answers *answers, const struct db_filter *filter,
                         bool (*visit)(void *self, const struct answer *answer), void *self);

#endif
