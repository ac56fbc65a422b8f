#include "children.h"
#include "messages.h"

json_t *request_prepare(const struct problem *problem, bool cold, uint64_t seed, double warm_s,
                        double limit_s)
{
    char text[PROBLEM_TEXT_MAX];
    problem_format(problem, text);
    /* JSON integers are signed: of the seed the low 63 bits are used, the same in every run. */
    return json_pack("{s:s, s:s, s:b, s:I, s:f, s:f}", "do", "prepare", "problem", text, "cold", cold, "seed",
                     (json_int_t)(seed & INT64_MAX), "warm_s", warm_s, "limit_s", limit_s);
}

/* A request about a configuration and its cubin. */
static json_t *about(const char *verb, const struct config *config, const struct build *build)
{
    char text[CONFIG_TEXT_MAX];
    config_format(config, text);
    return json_pack("{s:s, s:s, s:s, s:s, s:o}", "do", verb, "config", text, "cubin", build->cubin,
                     "checksum", build->checksum, "facts", facts_to_json(&build->facts));
}

json_t *request_trial(const struct config *config, const struct build *build, double best_us, double limit_s)
{
    json_t *request = about("trial", config, build);
    if (!request) return NULL;
    json_object_set_new(request, "best_us", json_real(best_us));
    json_object_set_new(request, "limit_s", json_real(limit_s));
    return request;
}

json_t *request_block(const struct config *config, const struct build *build, double block_ms)
{
    json_t *request = about("block", config, build);
    if (!request) return NULL;
    json_object_set_new(request, "who", json_string("config"));
    json_object_set_new(request, "block_ms", json_real(block_ms));
    return request;
}

json_t *request_anchor_block(double block_ms)
{
    return request_rival_block("anchor", block_ms);
}

json_t *request_rival_block(const char *who, double block_ms)
{
    return json_pack("{s:s, s:s, s:f}", "do", "block", "who", who, "block_ms", block_ms);
}

json_t *request_with_timing(json_t *block, enum call_timing timing, double lead_ms)
{
    if (!block || timing == TIMING_REPEAT) return block;
    json_object_set_new(block, "timing", json_string(timing_name(timing)));
    json_object_set_new(block, "lead_ms", json_real(timing == TIMING_LOAD ? lead_ms : 0));
    return block;
}

json_t *request_verify(const struct config *config, const struct build *build, double call_us, double limit_s)
{
    json_t *request = about("verify", config, build);
    if (!request) return NULL;
    json_object_set_new(request, "call_us", json_real(call_us));
    json_object_set_new(request, "limit_s", json_real(limit_s));
    return request;
}
