#include "import_ours.h"

#include "exchange_json.h"
#include "json_pull.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A value that is wrong is the file's fault and counted; anything else is ours and ends the import. */
static enum status judge(enum status st, struct imported *im, const char *what, int64_t number)
{
    char why[160];
    if (st != E_INPUT && st != E_ABSENT) return st;
    snprintf(why, sizeof why, "%.150s", status_text());
    if (st == E_ABSENT && im->useless++ == 0)
        snprintf(im->first_useless, sizeof im->first_useless, "%s %" PRId64 ": %s", what, number, why);
    if (st == E_INPUT && im->broken++ == 0)
        snprintf(im->first_broken, sizeof im->first_broken, "%s %" PRId64 ": %s", what, number, why);
    return OK;
}

/* ---- winners ---- */

static bool is_winner(const json_t *json)
{
    return json_is_string(json_object_get(json, "problem")) &&
           json_is_string(json_object_get(json, "config"));
}

bool winners_here(const char *bytes, size_t length)
{
    struct pull p = {.at = bytes, .end = bytes + length};
    if (pull_peek(&p) == '[' && (!pull_enter(&p, '[') || !pull_element(&p))) return false;
    if (pull_peek(&p) != '{') return false;
    /* The first line may be broken: any of the first few will do. */
    for (int i = 0; i < 8 && p.at < p.end; i++) {
        const char *stop = memchr(p.at, '\n', (size_t)(p.end - p.at));
        struct pull line = {.at = p.at, .end = p.end, .lenient = true};
        json_t *value = pull_value(&line);
        const bool yes = is_winner(value);
        json_decref(value);
        if (yes) return true;
        if (!stop) return false;
        p.at = stop + 1;
    }
    return false;
}

static enum status import_winner(struct db *db, const json_t *json, const char *descriptors, int64_t number,
                                 const char *what, struct imported *im)
{
    struct db_winner winner;
    int64_t decided_us;
    bool added = false, won = false;
    enum status st = winner_from_json(json, descriptors, &winner, &decided_us);
    if (!st) st = db_import_winner(db, &winner, decided_us, &added, &won);
    im->read++;
    im->added += added;
    im->stand += won;
    return judge(st, im, what, number);
}

static enum status import_lines(struct db *db, const char *bytes, size_t length, const char *descriptors,
                                struct imported *im)
{
    enum status st = OK;
    int64_t number = 1;
    for (const char *at = bytes, *end = bytes + length; !st && at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        json_error_t error;
        struct pull line = {.at = at, .end = stop};
        if (pull_peek(&line)) {
            json_t *json = json_loadb(at, (size_t)(stop - at), JSON_REJECT_DUPLICATES, &error);
            im->read += !json;
            if (json) st = import_winner(db, json, descriptors, number, "line", im);
            else st = judge(fail(E_INPUT, "%.120s", error.text), im, "line", number);
            json_decref(json);
        }
        at = stop < end ? stop + 1 : end;
    }
    return st;
}

static enum status import_array(struct db *db, const char *bytes, size_t length, const char *descriptors,
                                struct imported *im)
{
    struct pull p = {.at = bytes, .end = bytes + length};
    enum status st = OK;
    pull_enter(&p, '[');
    for (int64_t number = 1; !st && pull_element(&p); number++) {
        json_t *json = pull_value(&p);
        if (json) st = import_winner(db, json, descriptors, number, "element", im);
        json_decref(json);
    }
    if (!st && (p.wrong || p.cut))
        st = judge(fail(E_INPUT, "%s",
                        p.cut     ? "the file ends in the middle"
                        : p.twice ? "a key comes twice in one object"
                                  : "not JSON"),
                   im, "byte", p.at - bytes);
    return st;
}

enum status import_winners(struct db *db, const char *bytes, size_t length, const char *descriptors,
                           struct imported *im)
{
    struct pull p = {.at = bytes, .end = bytes + length};
    return pull_peek(&p) == '[' ? import_array(db, bytes, length, descriptors, im)
                                : import_lines(db, bytes, length, descriptors, im);
}

/* ---- trials ---- */

struct trials {
    struct db *db;
    const json_t *gpus;
    struct imported *imported;
    enum status st;
};

static bool import_trial(void *self, const struct recorded_row *row)
{
    struct trials *t = self;
    struct db_full_trial trial;
    bool added = false;
    if (!row->gemmtune) return true;
    enum status st = trial_from_json(row->gemmtune, t->gpus, &trial);
    if (!st) st = db_import_trial(t->db, &trial, &added);
    t->imported->read++;
    t->imported->added += added;
    t->st = judge(st, t->imported, "result", t->imported->read);
    return !t->st;
}

enum status import_trials(struct db *db, const char *bytes, size_t length, struct recorded *recorded,
                          struct imported *im)
{
    struct trials trials = {.db = db, .gpus = recorded->gpus, .imported = im};
    enum status st = recorded_rows(bytes, length, recorded, import_trial, &trials);
    if (!st && recorded->broken && im->broken == 0)
        snprintf(im->first_broken, sizeof im->first_broken, "%" PRId64 " entries are no results",
                 recorded->broken);
    im->broken += recorded->broken;
    return st ? st : trials.st;
}
