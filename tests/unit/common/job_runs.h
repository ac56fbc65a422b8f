/* job_runs.h — tune as a process of its own, with fake children and a folder for each test, and what it left
 * there.
 */
#ifndef GT_JOB_RUNS_H
#define GT_JOB_RUNS_H

#include "unit.h"

#include "config.h"
#include "db.h"

#include <string.h>
#include <sys/types.h>

#define LEGAL  256 /* configurations of the space that all runs search */
#define SHAPE  "1024x1024x1024"
#define SHAPE2 "512x512x512"
#define SUITE  "--shape " SHAPE " --shape " SHAPE2 " --shape 768x768x768"

/* A space whose kernels need rows that are multiples of vectors of 4. */
#define SPACE_OF_VECTORS                                                                                     \
    "[simt]\nBM = 64 128 ; test\nBN = 64 ; test\nBK = 8 ; test\nWM = 32 ; test\nWN = 64 ; test\n"            \
    "TM = 8 ; test\nTN = 8 ; test\nSTAGES = 2 ; test\nLOADER = 0 ; test\nPACK = 0 ; test\n"                  \
    "VA = 4 ; test\nVB = 4 ; test\nVC = 4 ; test\nUNROLL = 8 ; test\nSTORE_AT = 4 ; test\n"                  \
    "MIN_BLOCKS = 1 ; test\nREDUCE = 0 ; test\nGROUP = 1 8 ; test\nSPLIT_K = 1 ; test\n"

#define JOB_TEST(name) cmocka_unit_test_setup_teardown(name, fresh_folder, clean_up)

/* The tests of a program whose main is here. Its argument, if there is one, names those that are run. */
extern const struct CMUnitTest job_tests[];
extern const size_t job_test_count;

int fresh_folder(void **state);
int clean_up(void **state); /* with the variables that tell the fake children what to do */

/* The path of a file of the test's folder: t.db, out, err, log, cache. The next seven calls leave it be. */
char *in_folder(const char *name);

/* Words separated by blanks are added to what all runs share; ~ is a blank within a word. tune waits, and
 * gives the exit code; start and wait_exit are its two halves, minus the signal if one ended it. */
int tune(const char *words);
pid_t start(const char *words);
pid_t start_until(const char *words, const char *verb, int times); /* waits for the log */
int wait_exit(pid_t pid);

/* Until the next call. */
const char *text_of(const char *name);

int times_said(const char *part); /* by the last run */

#define assert_said(part)                                                                                    \
    do {                                                                                                     \
        if (!strstr(text_of("err"), (part))) fail_msg("'%s' was not said:\n%s", (part), text_of("err"));     \
    } while (0)

/* config_text is "" if there is none. */
struct db_winner winner_of(const char *shape);

struct census {
    int total, verdict[VERDICT_COUNT], twice;
    const char *part;
    double best_us;
    char seen[2048][CONFIG_TEXT_MAX];
};

/* The trials of a problem whose configuration holds part (NULL: all). Until the next call. */
struct census *census(const char *shape, const char *part);

void assert_clean_db(void);

/* How often a child did this; the process that last did, 0 if none has. */
int count_log(const char *verb);
void wait_for_log(const char *verb, int times);
pid_t last_process(const char *verb);

#endif
