#include "db_internal.h"

#include <stdio.h>
#include <string.h>

/* The input is checked in one transaction, which sees one state: what another process writes meanwhile is
 * left to the next merge. */
static enum status check_input(struct db *from)
{
    char findings[512];
    bool clean;
    enum status st = db_exec(from, DB_CACHE_INPUT "; BEGIN", "read it");
    if (!st) st = db_check(from, findings, sizeof findings, &clean);
    if (st || clean) return st;
    findings[strcspn(findings, "\n")] = '\0';
    return fail(E_DB, "%s is not merged: %.300s", from->path, findings);
}

static void *open_checked(void *self)
{
    struct db_ahead *a = self;
    a->st = db_open(a->path, DB_EXAMINE, &a->db);
    if (!a->st) a->st = check_input(a->db);
    if (a->st) snprintf(a->why, sizeof a->why, "%s", status_text());
    return NULL;
}

void db_ahead_start(struct db_ahead *a, const char *path)
{
    *a = (struct db_ahead){.path = path};
    a->threaded = pthread_create(&a->thread, NULL, open_checked, a) == 0;
    if (!a->threaded) open_checked(a);
}

enum status db_ahead_end(struct db_ahead *a, struct db **db)
{
    *db = NULL;
    if (!a->path) return OK;
    if (a->threaded) pthread_join(a->thread, NULL);
    *db = a->db;
    a->path = NULL;
    return a->st ? fail(a->st, "%s", a->why) : OK;
}
