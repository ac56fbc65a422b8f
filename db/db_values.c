#include "db_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define RATIO_MAX 1e6
#define TEXT_MAX  4096

static void check_gpu(struct reader *r)
{
    char name[GPU_NAME_MAX];
    read_text(r, "GPU name", name, sizeof name);
    read_int(r, "arch", 10, 9999);
    read_int(r, "sm_count", 1, 1 << 16);
}

static void check_figures(struct reader *r)
{
    struct gpu gpu;
    db_read_figures(r, &gpu);
}

static void check_config(struct reader *r)
{
    char name[DB_TEXT_MAX], text[CONFIG_TEXT_MAX];
    read_text(r, "template", name, sizeof name);
    read_text(r, "configuration", text, sizeof text);
    size_t length = strlen(name);
    if (!r->bad && (strncmp(text, name, length) != 0 || (text[length] != ' ' && text[length] != '\0')))
        r->bad = "template";
}

static void check_run(struct reader *r)
{
    char uuid[48], version[DB_TEXT_MAX], command[TEXT_MAX], how[DB_TEXT_MAX];
    read_text(r, "gpu_uuid", uuid, sizeof uuid);
    read_text(r, "driver", version, sizeof version);
    read_text(r, "nvrtc", version, sizeof version);
    read_text(r, "cublas", version, sizeof version);
    read_real(r, "power_limit_w", 0, 1e6);
    read_bool(r, "cold");
    read_long(r, "protocol", 0, INT32_MAX);
    /* A command may be longer than our own ones. */
    if (sqlite3_column_bytes(r->stmt, r->next) < TEXT_MAX) read_text(r, "command", command, sizeof command);
    else r->next++;
    read_long(r, "started_us", 0, DB_TIME_MAX);
    if (!read_is_null(r)) read_long(r, "ended_us", 0, DB_TIME_MAX);
    if (!read_is_null(r)) read_text(r, "how", how, sizeof how);
}

static void check_decision(struct reader *r)
{
    read_bool(r, "cold");
    read_long(r, "decided_us", 0, DB_TIME_MAX);
    read_bool(r, "predicted");
    read_bool(r, "tied");
    read_bool(r, "exact");
    read_time_us(r, "time_us");
    char rival[sizeof((struct db_winner *)NULL)->rival];
    read_text(r, "rival", rival, sizeof rival);
    read_time_us(r, "anchor_us");
    read_real(r, "ratio", 0, RATIO_MAX);
    read_real(r, "ratio_low", 0, RATIO_MAX);
    read_real(r, "ratio_high", 0, RATIO_MAX);
    read_int(r, "rounds", 0, 1 << 20);
    read_int(r, "trials", 0, INT_MAX);
    read_long(r, "legal_count", 0, INT64_MAX);
    read_int(r, "model_rank", 0, INT_MAX);
    read_real(r, "model_first16_share", 0, RATIO_MAX);
    read_int(r, "registers", 0, 1 << 20);
    read_int(r, "smem_bytes", 0, INT_MAX);
    read_bool(r, "pinned");
    db_read_timing(r);
    read_bool(r, "objective");
    read_real(r, "joules", 0, DB_JOULES_MAX);
    read_real(r, "rival_joules", 0, DB_JOULES_MAX);
}

static void check_sample(struct reader *r)
{
    read_int(r, "runner", -1, INT_MAX);
    read_int(r, "round", 0, 1 << 20);
    read_real(r, "time_us", 0, INFINITY);
    db_read_timing(r);
    read_real(r, "joules", 0, DB_JOULES_MAX);
    read_int(r, "sm_clock_mhz", 0, INT_MAX);
    read_real(r, "power_w", 0, 1e6);
    read_long(r, "throttle_reasons", INT64_MIN, INT64_MAX);
}

static void check_error(struct reader *r)
{
    char who[DB_TEXT_MAX], name[DB_TEXT_MAX];
    read_text(r, "who", who, sizeof who);
    if (strcmp(who, "winner") != 0 && strcmp(who, "rival") != 0 && !r->bad) r->bad = "who";
    read_text(r, "name", name, sizeof name);
    read_real(r, "value", 0, INFINITY);
}

static void check_note(struct reader *r)
{
    char text[sizeof((struct db_search_note *)NULL)->text];
    read_text(r, "text", text, sizeof text);
}

static void check_preference(struct reader *r)
{
    char text[CONFIG_TEXT_MAX];
    read_bool(r, "pin");
    read_text(r, "configuration", text, sizeof text);
    read_bool(r, "holds");
    read_long(r, "changed_us", 0, DB_TIME_MAX);
}

static const struct {
    const char *what, *sql; /* the first column names the row */
    void (*check)(struct reader *r);
} tables[] = {
    {"GPU", "SELECT id, name, arch, sm_count FROM gpus ORDER BY id", check_gpu},
    {"GPU figures",
     "SELECT f.id, " DB_FIGURES_COLUMNS " FROM gpu_figures f JOIN gpus g ON g.id = f.gpu_id ORDER BY f.id",
     check_figures},
    {"configuration", "SELECT id, template, text FROM configs ORDER BY id", check_config},
    {"run",
     "SELECT id, gpu_uuid, driver, nvrtc, cublas, power_limit_w, cold, protocol, command, started_us, "
     "ended_us, how "
     "FROM runs ORDER BY id",
     check_run},
    {"decision", "SELECT id, " DB_DECISION_CONTENT ", " DB_DECISION_GROWN " FROM decisions ORDER BY id",
     check_decision},
    {"race of decision",
     "SELECT decision_id, runner, round, time_us, timing, joules, sm_clock_mhz, power_w, throttle_reasons "
     "FROM decision_samples ORDER BY decision_id, position",
     check_sample},
    {"errors of decision",
     "SELECT decision_id, who, name, value FROM decision_errors ORDER BY decision_id, who, name",
     check_error},
    {"note of run", "SELECT run_id, text FROM search_notes ORDER BY run_id, problem_id, text", check_note},
    {"preference for problem",
     "SELECT problem_id, pin, config, holds, changed_us FROM preferences ORDER BY gpu_id, problem_id, pin, "
     "config",
     check_preference},
};

enum status db_check_values(struct db *db, char *finding, size_t room)
{
    enum status st = OK;
    finding[0] = '\0';
    for (size_t i = 0; !st && !finding[0] && i < sizeof tables / sizeof *tables; i++) {
        const struct binder b = db_bind(db, tables[i].sql);
        bool row;
        while (!finding[0] && !(st = db_next(db, &b, &row, "check its values")) && row) {
            struct reader r = read_start(b.stmt);
            int64_t id = read_long(&r, "id", 1, INT64_MAX);
            tables[i].check(&r);
            if (r.bad) snprintf(finding, room, "%s %" PRId64 ": impossible %s", tables[i].what, id, r.bad);
        }
        db_done(&b);
    }
    return st;
}
