/* due.h — what is due of a winner, as tables name it. */
#ifndef GT_DUE_H
#define GT_DUE_H

#include "db.h"

/* "race", "build", "tune"; NULL: nothing. */
static inline const char *due_name(enum db_due due)
{
    static const char *const names[] = {NULL, "race", "build", "tune"};
    return names[due];
}

#endif
