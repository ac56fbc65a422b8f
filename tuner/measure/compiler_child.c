/* compiler_child.c — the compiler process: reads requests from the supervisor, compiles, answers. It holds
 * nothing that is lost when it is killed.
 */
#include "compiler_child.h"
#include "cache.h"
#include "command_line.h"
#include "compile.h"
#include "env.h"
#include "frame.h"
#include "messages.h"
#include "own_child.h"
#include "utf8.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define SUPERVISOR 3 /* file descriptor of the socket */

/* Limits of an architecture, for the rules (CUDA C++ Programming Guide, technical specifications by compute
 * capability). */
static const struct {
    int arch, threads_per_sm, blocks_per_sm, smem_per_sm_kib, smem_per_block_kib;
} architectures[] = {
    {75, 1024, 16, 64, 64},   {80, 2048, 32, 164, 163}, {86, 1536, 16, 100, 99},   {87, 1536, 16, 164, 163},
    {89, 1536, 24, 100, 99},  {90, 2048, 32, 228, 227}, {100, 2048, 32, 228, 227}, {103, 2048, 32, 228, 227},
    {120, 1536, 24, 100, 99}, {121, 1536, 24, 100, 99},
};

static enum status find_architecture(int arch, struct gpu *gpu)
{
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++) {
        if (architectures[i].arch != arch) continue;
        *gpu =
            (struct gpu){.arch = arch,
                         .sm_count = INT_MAX, /* any: the cubin is valid for all GPUs of the architecture */
                         .registers_per_sm = 64 << 10};
        snprintf(gpu->name, sizeof gpu->name, "any GPU of compute capability %d.%d", arch / 10, arch % 10);
        gpu->threads_per_sm = architectures[i].threads_per_sm;
        gpu->blocks_per_sm = architectures[i].blocks_per_sm;
        gpu->smem_per_sm_bytes = architectures[i].smem_per_sm_kib << 10;
        gpu->smem_per_block_bytes = architectures[i].smem_per_block_kib << 10;
        gpu->smem_reserved_bytes = arch >= 80 ? 1 << 10 : 0;
        return OK;
    }
    return fail(E_INPUT, "compute capability %d.%d is not supported: kernels are not compiled for it",
                arch / 10, arch % 10);
}

static json_t *answer_hello(void)
{
    char version[16];
    enum status st = compile_load(version);
    if (st) return message_failure(st);
    return json_pack("{s:b, s:s}", "ok", 1, "nvrtc", version);
}

static json_t *unbuildable(const char *why, const struct kernel_facts *facts)
{
    char detail[OUTCOME_DETAIL_MAX]; /* the compiler's message, cut to fit */
    utf8_copy(detail, sizeof detail, why);
    return json_pack("{s:b, s:b, s:s, s:s, s:o}", "ok", 1, "built", 0, "verdict",
                     verdict_name(VERDICT_UNBUILDABLE), "detail", detail, "facts", facts_to_json(facts));
}

static json_t *answer_compile(const json_t *request, const char *cache)
{
    struct kernel_key kernel;
    struct gpu gpu;
    struct compiled compiled = {0};
    const json_t *key = json_object_get(request, "key");
    enum status st =
        key ? kernel_from_json(key, &kernel) : fail(E_CHILD, "malformed request to the compiler: no key");
    if (!st) st = find_architecture(kernel.arch, &gpu);
    if (st) return message_failure(st);
    /* The sender should have checked the key, but nothing reaches the compiler unchecked. */
    const char *why = kernel_key_check(&kernel, &gpu);
    if (why) return unbuildable(why, &compiled.facts);
    st = compile_kernel(&kernel, cache, &compiled);
    if (st) return message_failure(st);
    if (!compiled.built) return unbuildable(compiled.log, &compiled.facts);
    char spare_why[1024];
    utf8_copy(spare_why, sizeof spare_why, cache_spare_why());
    return json_pack("{s:b, s:b, s:s, s:s, s:b, s:s, s:o}", "ok", 1, "built", 1, "cubin", compiled.path,
                     "checksum", compiled.checksum, "cached", compiled.cached, "spare", spare_why, "facts",
                     facts_to_json(&compiled.facts));
}

static json_t *answer(void *self, const json_t *request)
{
    const char *cache = *(const char **)self;
    const char *verb = json_string_value(json_object_get(request, "do"));
    if (verb && strcmp(verb, "hello") == 0) return answer_hello();
    if (verb && strcmp(verb, "compile") == 0) return answer_compile(request, cache);
    if (verb && env_is_on("GEMMTUNE_TEST")) {
        if (strcmp(verb, "crash") == 0) abort();
        if (strcmp(verb, "hang") == 0)
            for (;;) pause();
    }
    return message_failure(fail(E_CHILD, "the compiler does not know the request '%.40s'", verb ? verb : ""));
}

/* The process ends with the supervisor, and leaves the terminal's signals to it. */
static void settle(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* else a running compilation would outlive a killed supervisor */
    signal(SIGINT, SIG_IGN);          /* Ctrl-C reaches the whole group; the supervisor handles it */
    signal(SIGPIPE, SIG_IGN);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    /* If memory runs out, the system should kill a compiler, which can be restarted, and not the
     * supervisor. */
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    (void)!write(fd, "500", 3);
    close(fd);
}

struct compiler {
    const char *cache;
};

enum status cmd_compiler_child(int argc, char **argv)
{
    static const struct command_option options[] = {
        {"cache", 0, "DIR", "folder of compiled kernels", OPTION_TEXT(struct compiler, cache)},
        OPTION_ROW_KERNELS};
    static const struct command_line line = {
        .options = options, .option_count = 2, .about = "Child process; started by tune."};
    struct compiler compiler = {.cache = NULL};
    if (command_line_read(&line, argc, argv, &compiler) || !compiler.cache)
        return fail(E_USAGE, "%s is started by tune itself, with --cache DIR", argv[0]);
    cache_spare(getppid());
    settle();
    return frame_serve(SUPERVISOR, answer, NULL, &compiler.cache);
}
