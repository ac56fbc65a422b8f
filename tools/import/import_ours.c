#include "import_ours.h"

#include "exchange_json.h"
#include "json_pull.h"
#include "utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define KEY_MAX 256

/* ---- files ---- */

static enum status too_large(const char *path, const char *how)
{
    return fail(E_INPUT, "%s is larger than %zu MiB%s: no file of results is; split it if it is one", path,
                IMPORT_BYTES_MAX >> 20, how);
}

enum status import_read(const char *path, char **bytes, size_t *length)
{
    struct stat info;
    if (stat(path, &info) != 0) return fail(E_IO, "cannot read %s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return fail(E_IO, "%s is not a regular file", path);
    gzFile file = gzopen(path, "rb"); /* reads plain files as they are */
    if (!file) return fail(E_IO, "cannot read %s: %s", path, strerror(errno));
    size_t room = (size_t)1 << 20, used = 0;
    char *buffer = malloc(room);
    enum status st = !buffer                                     ? E_MEMORY
                     : (uint64_t)info.st_size > IMPORT_BYTES_MAX ? too_large(path, "")
                                                                 : OK;
    for (int got = 1; !st && got > 0; used += (size_t)(got > 0 ? got : 0)) {
        if (used == room) {
            char *grown = room < IMPORT_BYTES_MAX ? realloc(buffer, 2 * room) : NULL;
            if (!grown) st = room < IMPORT_BYTES_MAX ? E_MEMORY : too_large(path, " unpacked");
            else buffer = grown, room *= 2;
            if (st) break;
        }
        got = gzread(file, buffer + used, (unsigned)(room - used));
        int error;
        if (got < 0 && gzerror(file, &error) && error != Z_BUF_ERROR) /* that: a file that was cut off */
            st =
                fail(E_IO, "cannot read %s: %s", path, error == Z_ERRNO ? strerror(errno) : "damaged (gzip)");
        else if (got > 0 && memchr(buffer + used, '\0', (size_t)got))
            st = fail(E_INPUT, "%s holds a NUL byte, and results are text: name another file", path);
    }
    gzclose(file);
    if (st == E_MEMORY) fail(st, "out of memory while reading %s", path);
    if (st) {
        free(buffer);
        return st;
    }
    /* A byte order mark says nothing of UTF-8. */
    if (used >= 3 && memcmp(buffer, UTF8_MARK, 3) == 0) memmove(buffer, buffer + 3, used -= 3);
    *bytes = buffer;
    *length = used;
    return OK;
}

/* ---- counts ---- */

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

static enum status not_json(const char *path, const struct pull *p, const char *bytes)
{
    const size_t at = (size_t)(p->at - bytes);
    if (p->twice)
        return fail(E_INPUT,
                    "%s has an object at byte %zu in which a key comes twice: which of its values is meant?",
                    path, at);
    return fail(E_INPUT, "%s is not JSON at byte %zu", path, at);
}

enum status trials_here(const char *path, const char *bytes, size_t length, bool *here, json_t **gpus)
{
    struct pull p = {.at = bytes, .end = bytes + length};
    char key[KEY_MAX];
    *here = false;
    *gpus = NULL;
    if (pull_peek(&p) != '{' || !pull_enter(&p, '{')) return OK;
    json_t *seen = json_object();
    while (pull_key(&p, key, sizeof key)) {
        if (json_object_get(seen, key)) p.wrong = p.twice = true;
        else if (strlen(key) + 1 < sizeof key)
            json_object_set_new(seen, key, json_true()); /* else it was cut */
        *here |= strcmp(key, "results") == 0;
        if (strcmp(key, "metadata") != 0) {
            pull_skip(&p);
            continue;
        }
        json_t *value = pull_value(&p), *told = json_object_get(json_object_get(value, "gemmtune"), "gpus");
        if (json_is_array(told) && !*gpus) *gpus = json_incref(told);
        json_decref(value);
    }
    json_decref(seen);
    return p.wrong && *here ? not_json(path, &p, bytes) : OK;
}

static enum status import_trial(struct db *db, const json_t *json, const json_t *gpus, struct imported *im)
{
    struct db_full_trial trial;
    bool added = false;
    enum status st =
        json ? trial_from_json(json, gpus, &trial) : fail(E_INPUT, "it is no trial of tune export");
    if (!st) st = db_import_trial(db, &trial, &added);
    im->read++;
    im->added += added;
    return judge(st, im, "result", im->read);
}

enum status import_trials(struct db *db, const char *path, const char *bytes, size_t length,
                          const json_t *gpus, struct imported *im)
{
    struct pull p = {.at = bytes, .end = bytes + length};
    char key[KEY_MAX];
    enum status st = OK;
    pull_enter(&p, '{');
    while (!st && pull_key(&p, key, sizeof key)) {
        if (strcmp(key, "results") != 0) {
            pull_skip(&p);
            continue;
        }
        pull_enter(&p, '[');
        while (!st && pull_element(&p)) {
            json_t *value = pull_value(&p);
            if (value) st = import_trial(db, json_object_get(value, "gemmtune"), gpus, im);
            json_decref(value);
        }
    }
    return st ? st : p.wrong ? not_json(path, &p, bytes) : OK;
}
