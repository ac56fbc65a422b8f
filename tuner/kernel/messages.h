/* messages.h — the protocol between supervisor and children: one JSON object per request and one per answer.
 *
 * Every request has "do"; every answer "ok". An answer with ok=false has "status" (enum status as integer)
 * and "error" (one sentence). Texts of problems and configurations are those of problem.h and config.h.
 *
 * compiler (argv: _compiler --cache DIR)
 *   hello                                     -> nvrtc "13.0"
 *   compile key {config op type epilogue arch} -> built true,  cubin PATH, checksum HEX, cached, facts {}
 *                                             or built false, verdict, detail, facts {}
 * GPU worker (argv: _worker --device N --cache DIR)
 *   hello                                     -> gpu {} uuid driver cuda cublas nvrtc nvml canary devices
 *                                                power_limit_w (0: unknown)
 *   prepare problem cold seed warm_s limit_s  -> anchor_us (0: no rival), rival (its name),
 *                                                anchor_samples_us [], warm_s, sets,
 *                                                anchor_right anchor_detail
 *                                                anchor_errors (accuracy.h), judged_rows rows (of C)
 *   trial config cubin checksum facts best_us limit_s
 *                                             -> outcome {}
 *   block who block_ms [timing lead_ms]       -> time_us joules watts launches state {} detail
 *         who = "anchor" | "config" (then also config cubin checksum) | a role of rivals.h (the first block
 *         may take as long as a search of its own; E_ABSENT where there is no such rival)
 *         timing (timing.h; repeat); lead_ms: under load, before the block
 *         joules (a call), watts (the board): under load; 0: not known
 *   verify config cubin checksum call_us limit_s
 *                                             -> verdict detail shapes skipped
 *                                                errors (of the problem itself), checked (accuracy.h)
 *   roofline                                  -> fp32_tflops gb_per_s (measured)
 *   crash | hang                              -> test only, refused unless GEMMTUNE_TEST is set
 *
 * prepare sets the problem for trial, block and verify. best_us is the best time so far (0: none yet).
 * limit_s (0: none) is what it should take where calls are long: then as few are made as will do.
 */
#ifndef GT_MESSAGES_H
#define GT_MESSAGES_H

#include "gpu.h"
#include "kernel_key.h"
#include "outcome.h"
#include <jansson.h>

/* Calls where they are long: of a trial, three that are judged and one that is timed, and of a check. */
enum { TRIAL_CALLS_LEAST = 4, CHECK_CALLS_LEAST = 1 };

json_t *gpu_to_json(const struct gpu *gpu);
enum status gpu_from_json(const json_t *json, struct gpu *gpu);

/* Errors: E_CHILD, E_INPUT (its configuration). */
json_t *kernel_to_json(const struct kernel_key *kernel);
enum status kernel_from_json(const json_t *json, struct kernel_key *kernel);

json_t *facts_to_json(const struct kernel_facts *facts);
enum status facts_from_json(const json_t *json, struct kernel_facts *facts);

/* A member that is an integer from `least` to INT32_MAX; false if it is not. */
bool message_int(const json_t *object, const char *key, int least, int *value);

/* {"ok": false, "status": st, "error": status_text()} */
json_t *message_failure(enum status st);

/* OK if the answer says ok; else fail() with its sentence and status. A malformed answer is E_CHILD. */
enum status message_check(const json_t *answer);

#endif
