/* import_ours.h — imports into a database what tune export wrote, perhaps on another machine. */
#ifndef GT_IMPORT_OURS_H
#define GT_IMPORT_OURS_H

#include "db_exchange.h"
#include "recorded.h"

struct imported {
    int64_t read;    /* winners or trials that the file holds */
    int64_t added;   /* that were not known */
    int64_t stand;   /* winners that nothing better stood against */
    int64_t useless; /* of a kernel that this program has not, or has in another version */
    int64_t broken;  /* what is no winner or trial at all */
    char first_useless[240], first_broken[240];
};

/* True if the text is winners as JSON lines (or one array of them). */
bool winners_here(const char *bytes, size_t length);

/* Between db_import_start and db_import_end. Sums are added to *imported. descriptors: folder of GPU
 * descriptors. Errors: those of the database, E_MEMORY; what is wrong with a line is counted. */
enum status import_winners(struct db *db, const char *bytes, size_t length, const char *descriptors,
                           struct imported *imported);

/* The results of a T4 file that carry what tune export adds. */
enum status import_trials(struct db *db, const char *bytes, size_t length, struct recorded *recorded,
                          struct imported *imported);

#endif
