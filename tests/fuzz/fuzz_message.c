/* What goes between processes: a stream of frames in any pieces, and the objects in them. The first byte of
 * the input says which: 'S' a stream as it is, 'P' a payload that is framed as it should be, 'T' a text that
 * a failure tells. */
#include "frame.h"
#include "fuzz.h"
#include "messages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xxhash.h>

const char *const fuzz_words[] = {"GTF1",
                                  "{\"ok\":true}",
                                  "{\"ok\":false,\"status\":3,\"error\":\"x\"}",
                                  "\"registers\":",
                                  "\"samples_us\":[1,2]",
                                  "{}",
                                  "[",
                                  "null",
                                  "true",
                                  "false",
                                  "1e308",
                                  "-1",
                                  "2147483648",
                                  "9223372036854775807",
                                  "\"verdict\":\"measured\"",
                                  "\xff",
                                  "\xc3\xa9",
                                  "\\u0000",
                                  "\\ud800",
                                  "0",
                                  ",",
                                  NULL};

static void check_outcome(const json_t *json)
{
    struct outcome o, again;
    if (outcome_from_json(json, &o) != OK) return;
    PROMISE((unsigned)o.verdict < VERDICT_COUNT, "verdict %d", (int)o.verdict);
    PROMISE(o.sample_count >= 0 && o.sample_count <= OUTCOME_SAMPLES_MAX, "%d samples", o.sample_count);
    PROMISE(memchr(o.detail, 0, sizeof o.detail), "the detail does not end");
    PROMISE(isfinite(o.time_us) && o.time_us >= 0 && isfinite(o.wall_ms) && o.wall_ms >= 0, "%g us",
            o.time_us);
    PROMISE(!outcome_usable(&o) || (o.time_us > 0 && o.sample_count > 0), "usable without a time");
    json_t *told = outcome_to_json(&o);
    PROMISE(told && outcome_from_json(told, &again) == OK, "%s", told ? status_text() : "it cannot be told");
    PROMISE(again.verdict == o.verdict && again.time_us == o.time_us &&
                again.sample_count == o.sample_count &&
                again.state.throttle_reasons == o.state.throttle_reasons && again.exact == o.exact,
            "it changed on its way");
    json_decref(told);
}

/* No number is cut to fit. */
static bool said(const json_t *json, const char *key, int value)
{
    return json_integer_value(json_object_get(json, key)) == value;
}

static void check_gpu(const json_t *json)
{
    struct gpu g, again;
    if (gpu_from_json(json, &g) != OK) return;
    PROMISE(g.arch >= 50 && g.sm_count >= 1 && g.threads_per_sm >= 32 && g.blocks_per_sm >= 1,
            "impossible limits");
    PROMISE(g.smem_per_sm_bytes >= 1 && g.smem_per_block_bytes >= 1 && g.smem_reserved_bytes >= 0,
            "impossible limits");
    PROMISE(g.l2_bytes >= 0 && g.memory_bytes >= 0, "impossible memory");
    PROMISE(said(json, "arch", g.arch) && said(json, "sm_count", g.sm_count) &&
                said(json, "smem_per_block_bytes", g.smem_per_block_bytes),
            "another number than was sent");
    PROMISE(isfinite(g.clock_mhz) && g.clock_mhz >= 0 && isfinite(gpu_rate(&g, "fp32")) &&
                gpu_rate(&g, "fp32") >= 0,
            "impossible speed");
    PROMISE(isfinite(g.memory_gb_per_s) && g.memory_gb_per_s >= 0, "impossible speed");
    json_t *told = gpu_to_json(&g);
    PROMISE(told && gpu_from_json(told, &again) == OK, "%s", told ? status_text() : "it cannot be told");
    PROMISE(again.arch == g.arch && again.memory_bytes == g.memory_bytes && again.clock_mhz == g.clock_mhz,
            "changed");
    json_decref(told);
}

static void check_object(const json_t *json)
{
    struct kernel_facts facts;
    PROMISE(json_is_object(json), "a message that is no object");
    fuzz_accept();
    if (message_check(json) != OK) PROMISE(status_text()[0], "no sentence");
    if (facts_from_json(json, &facts) == OK)
        PROMISE(facts.spill_bytes >= 0 && isfinite(facts.compile_ms) &&
                    said(json, "registers", facts.registers),
                "impossible facts");
    check_outcome(json);
    check_gpu(json);
}

/* The same stream through a socket, as a child receives it. */
static enum status receive(const char *bytes, size_t size, size_t *messages)
{
    int ends[2];
    json_t *json;
    enum status st;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) abort();
    if (send(ends[0], bytes, size, MSG_DONTWAIT) != (ssize_t)size) abort();
    close(ends[0]);
    for (*messages = 0; (st = frame_receive(ends[1], &json)) == OK; ++*messages) json_decref(json);
    PROMISE(!json, "a message with an error");
    close(ends[1]);
    return st;
}

static void check_stream(const char *bytes, size_t size)
{
    size_t at = 0, count = 0, received;
    enum status st = OK;
    for (size_t used = 1; !st && used > 0; at += used) {
        json_t *json;
        st = frame_decode(bytes + at, size - at, &json, &used);
        PROMISE(used <= size - at && (used > 0) == (json != NULL), "%zu bytes of %zu", used, size - at);
        PROMISE(!st || !json, "a message with an error");
        if (json) check_object(json), count++;
        json_decref(json);
    }
    if (size > 100000) return; /* more than a socket holds */
    const enum status other = receive(bytes, size, &received);
    PROMISE(received == count, "%zu messages, and %zu through a socket", count, received);
    PROMISE(st || (other == E_ABSENT) == (at == size), "the stream's end: %s", status_text());
    PROMISE(!st || other == st, "%s", status_text());
}

static void check_payload(const uint8_t *data, size_t size)
{
    char *frame = malloc(FRAME_HEADER + size);
    if (!frame) abort();
    memcpy(frame, "GTF1", 4);
    const uint64_t hash = XXH64(data, size, 0);
    for (int i = 0; i < 4; i++) frame[4 + i] = (char)(size >> 8 * i);
    for (int i = 0; i < 8; i++) frame[8 + i] = (char)(hash >> 8 * i);
    memcpy(frame + FRAME_HEADER, data, size);
    check_stream(frame, FRAME_HEADER + size);
    free(frame);
}

/* Whatever a sentence holds, its failure reaches the other side. */
static void check_failure(const char *text)
{
    char *bytes;
    size_t length, used;
    json_t *json = NULL, *told = message_failure(fail(E_IO, "cannot write %s", text));
    PROMISE(told, "a failure that cannot be told");
    PROMISE(frame_encode(told, &bytes, &length) == OK, "%s", status_text());
    PROMISE(frame_decode(bytes, length, &json, &used) == OK && used == length, "%s", status_text());
    PROMISE(message_check(json) == E_IO, "%s", status_text());
    struct outcome outcome = outcome_failed(VERDICT_UNBUILDABLE, "%s", text), again;
    json_t *as_json = outcome_to_json(&outcome);
    PROMISE(as_json && outcome_from_json(as_json, &again) == OK, "an outcome that cannot be told");
    json_decref(as_json);
    json_decref(json);
    json_decref(told);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    if (data[0] == 'S') check_stream((const char *)data + 1, size - 1);
    if (data[0] == 'P') check_payload(data + 1, size - 1);
    if (data[0] == 'T') check_failure(fuzz_text(data + 1, size - 1));
    return 0;
}
