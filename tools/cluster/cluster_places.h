/* cluster_places.h — where a new plan lives, and the database that takes in its shards: judged before
 * anything is written, since a night is too long to learn that one cannot be used.
 */
#ifndef GT_CLUSTER_PLACES_H
#define GT_CLUSTER_PLACES_H

#include "cluster_plan.h"

#include <stddef.h>

/* The whole path of a file that may not be there yet. Errors: E_INPUT, E_IO (its folder is not there). */
enum status places_absolute(const char *path, char whole[PATH_MAX]);

/* Completes plan->dir from --dir. Errors: E_INPUT (it has a plan, or shards of one), E_IO. */
enum status places_judge_folder(const char *dir, struct cluster_plan *plan);

/* plan->dir and the folders in it. Errors: E_IO. */
enum status places_make_folders(const struct cluster_plan *plan);

/* Completes plan->db from --db; NULL: the user's, whose folder is made then (made: as paths_make_folders, of
 * db). Errors: E_INPUT (it is a shard), E_IO, those of db_open. */
enum status places_choose_db(const char *named, struct cluster_plan *plan, char db[PATH_MAX], size_t *made);

#endif
