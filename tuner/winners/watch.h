/* watch.h — a thread that tells when a database has changed: it looks at the times and sizes of its files
 * every two seconds (GEMMTUNE_RENEW_S; 0: there is no thread), so that calls need not. It takes no signals.
 */
#ifndef GT_WATCH_H
#define GT_WATCH_H

struct watch;

/* database: as winner_store_open. changed is called after a change, and once more at the next look, since
 * what was decided meanwhile may have been decided by what was known before; by one thread of the process at
 * a time. NULL: there is nothing to watch, or no thread for it. */
struct watch *watch_start(const char *database, void (*changed)(void *self), void *self);

/* Waits for a call of changed that is under way. Takes NULL. Not in a forked child. */
void watch_stop(struct watch *watch);

/* From now on nothing is called: the process ends. Waits as watch_stop does. */
void watch_end(void);

#endif
