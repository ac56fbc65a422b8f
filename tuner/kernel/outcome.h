/* outcome.h — the result of trying one candidate: a verdict, and the evidence. Plain data and its JSON form.
 *
 * A bad candidate is data: nothing here is an error.
 */
#ifndef GT_OUTCOME_H
#define GT_OUTCOME_H

#include "accuracy.h"
#include "status.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum verdict {
    VERDICT_MEASURED,    /* correct and timed */
    VERDICT_SLOW,        /* correct, dropped by the screen: few samples */
    VERDICT_WRONG,       /* the judge refused its C */
    VERDICT_UNBUILDABLE, /* the compiler failed, or ran out of time or memory */
    VERDICT_SPILLS,      /* built, but spills registers: not launched */
    VERDICT_REFUSED,     /* the driver refused to launch it (resources) */
    VERDICT_CRASHED,     /* its process died or the context was lost */
    VERDICT_HUNG,        /* its deadline passed and the worker was killed */
    VERDICT_PREDICTED,   /* compiled, never run: the model's time */
    VERDICT_COUNT
};

#define OUTCOME_SAMPLES_MAX 64
#define OUTCOME_DETAIL_MAX  200

/* Facts about a kernel from the compiler. */
struct kernel_facts {
    int registers;   /* per thread */
    int spill_bytes; /* spill stores + spill loads */
    int static_smem_bytes;
    int cubin_bytes;
    int most_threads;  /* of a block, that it was compiled for; 0: unknown */
    double compile_ms; /* 0 when it came from the cache */
};

/* State of the GPU while the candidate was timed; 0 where NVML gives no value. */
struct gpu_state {
    int sm_clock_mhz, memory_clock_mhz;
    double power_w;
    int temperature_c;
    uint64_t throttle_reasons; /* NVML bit mask */
};

struct outcome {
    enum verdict verdict;
    char detail[OUTCOME_DETAIL_MAX]; /* why it failed, "" otherwise */
    struct kernel_facts facts;
    double time_us; /* median of the samples, one call; the prediction for VERDICT_PREDICTED; 0: none */
    int sample_count;
    double samples_us[OUTCOME_SAMPLES_MAX]; /* raw, in order: the mean time of a call in each block */
    double worst_error;                     /* max |c - ref| / bound over random data; <= 1 is right */
    struct accuracy errors;                 /* over random data, independent of the bound; or unknown */
    bool exact;                             /* on integer data C is equal bit for bit */
    bool cold;                              /* cache policy: operands rotate beyond L2 */
    struct gpu_state state;
    double wall_ms; /* duration of the trial */
};

/* "measured", "slow", ... and the inverse; an unknown name gives E_INPUT. */
const char *verdict_name(enum verdict verdict);
enum status verdict_parse(const char *name, enum verdict *verdict);

/* True if the candidate ran and was correct. */
bool outcome_usable(const struct outcome *outcome);

/* A failed outcome with its reason (printf-like). */
struct outcome outcome_failed(enum verdict verdict, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* New reference; NULL only out of memory. from_json checks every field and range. Errors: E_INPUT. */
json_t *outcome_to_json(const struct outcome *outcome);
enum status outcome_from_json(const json_t *json, struct outcome *outcome);

#endif
