/* cmd_show_kernel.c — tune show-kernel: what the compiler makes of one configuration, of an own kernel or of
 * ours. */
#include "command_line.h"
#include "commands.h"
#include "compile.h"
#include "device.h"
#include "gpu.h"
#include "kernel.h"
#include "operand_layout.h"
#include "own_choice.h"
#include "print.h"
#include "suite.h"
#include "template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUNS_MAX 1000000

struct shown {
    struct command_words words;
    const char *config_text, *set, *shape, *gpu_name;
    bool ptx, sass, log;
    int runs;
};

static const struct command_option rows[] = {
    {"config", 0, "CONFIG", "a configuration of gemmtune's, as tables show it, in place of FILE",
     OPTION_TEXT(struct shown, config_text)},
    {"set", 0, "NAME=V,...", "values of FILE's parameters; of the others, those that the model likes best",
     OPTION_TEXT(struct shown, set)},
    {"shape", 's', "MxNxK", "the problem that it is compiled for (512x512x512)",
     OPTION_TEXT(struct shown, shape)},
    OPTION_ROW_GPU(struct shown, gpu_name, "the GPU that it is compiled for (h200)"),
    {"log", 0, NULL, "all that the compiler says", OPTION_FLAG(struct shown, log)},
    {"ptx", 0, NULL, "the kernel as PTX", OPTION_FLAG(struct shown, ptx)},
    {"sass", 0, NULL, "the kernel as machine code, by cuobjdump of the CUDA toolkit",
     OPTION_FLAG(struct shown, sass)},
    {"run", 0, "N", "launch it N times on GPU 0, for a profiler: ncu tune show-kernel my.cu --run 3",
     OPTION_INT(struct shown, runs, 1, RUNS_MAX)},
};

static const char *const excluding[][2] = {
    {"config", "set"}, {"ptx", "sass"}, {"ptx", "run"}, {"sass", "run"}, {NULL}};

static enum status check_words(void *self)
{
    const struct shown *s = self;
    if ((s->words.count == 1) != (s->config_text != NULL)) return OK;
    return fail(E_USAGE, "name one kernel, as a FILE or by --config");
}

const struct command_line cmd_show_kernel_line = {
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .about =
        "Compile one configuration of a kernel and show it: registers, spills and shared memory, the "
        "compiler's log, PTX, or "
        "machine code.\vNothing is judged or stored (tune check does that).\n"
        "\n"
        "Examples:\n"
        "  tune show-kernel my.cu --log\n"
        "  tune show-kernel my.cu --set BM=128 --sass\n"
        "  ncu tune show-kernel my.cu --shape 4096x4096x4096 --run 3\n"
        "\n"
        "Exit status: 0 done; 1 no configuration is legal; 21 it does not build; others as in tune --help.",
    .arguments = "[FILE]",
    .words = offsetof(struct shown, words),
    .excluding = excluding,
    .check = check_words};

static enum status choose(const struct shown *s, const struct problem *problem, const struct gpu *gpu,
                          struct config *config)
{
    if (s->words.count) return own_choose(s->words.at[0], s->set, problem, gpu, config);
    enum status st = config_parse_brief(s->config_text, config);
    if (st) return fail(E_INPUT, "--config: %s", status_text());
    if (template_is_library(config->template))
        return fail(E_INPUT, "--config: an algorithm of cublasLt is not compiled");
    const char *why = config->template->check(config, problem, gpu);
    return why ? fail(E_ABSENT, "--config is not legal for this problem: %s", why) : OK;
}

static void show_facts(const struct config *config, const struct compiled *built)
{
    char text[CONFIG_TEXT_MAX];
    config_format(config, text);
    print_line(stdout, "%s", text);
    if (!built->built) return;
    print_line(stdout, "registers      %d a thread", built->facts.registers);
    print_line(stdout, "spills         %d bytes", built->facts.spill_bytes);
    print_line(stdout, "shared memory  %d bytes, besides what a launch adds", built->facts.static_smem_bytes);
    if (built->facts.most_threads > 0)
        print_line(stdout, "threads        at most %d a block", built->facts.most_threads);
    print_line(stdout, "machine code   %d bytes, compiled in %.0f ms", built->facts.cubin_bytes,
               built->facts.compile_ms);
}

/* To standard output. */
static enum status disassemble(const char *cubin, size_t bytes)
{
    char path[] = "/tmp/gemmtune-XXXXXX";
    const int fd = mkstemp(path);
    if (fd < 0) return fail(E_IO, "cannot write to /tmp");
    const bool written = write(fd, cubin, bytes) == (ssize_t)bytes;
    close(fd);
    fflush(stdout);
    const pid_t child = written ? fork() : -1;
    if (child == 0) {
        execlp("cuobjdump", "cuobjdump", "-sass", path, (char *)NULL);
        execl("/usr/local/cuda/bin/cuobjdump", "cuobjdump", "-sass", path, (char *)NULL);
        _exit(127);
    }
    int how = 0;
    const bool ended = child > 0 && waitpid(child, &how, 0) == child && WIFEXITED(how);
    unlink(path);
    if (!ended) return fail(E_IO, "cannot run cuobjdump");
    if (WEXITSTATUS(how) == 127)
        return fail(E_ABSENT, "there is no cuobjdump here: install the CUDA toolkit, or use --ptx");
    return WEXITSTATUS(how) ? fail(E_IO, "cuobjdump ended with %d", WEXITSTATUS(how)) : OK;
}

/* The operands are zeros: nothing is judged. */
static enum status launch_all(const struct config *config, const struct problem *p, int runs)
{
    struct device device = {0};
    struct compiled built;
    struct kernel kernel = {0};
    struct device_buffer buffer[3] = {{0}};
    struct operands operands = {.prepared = 0};
    char cache[4096];
    const size_t bytes[] = {(size_t)operand_bytes(p, OPERAND_A), (size_t)operand_bytes(p, OPERAND_B),
                            (size_t)operand_bytes(p, OPERAND_C)};
    enum status st = compile_cache_folder(cache, sizeof cache);
    if (!st) st = device_open(0, &device);
    const struct kernel_key key = kernel_key_of(config, p, st ? 90 : device.gpu.arch);
    const char *why = st ? NULL : config->template->check(config, p, &device.gpu);
    if (why) st = fail(E_ABSENT, "it is not legal on %s: %s", device.gpu.name, why);
    if (!st) st = compile_kernel(&key, cache, &built);
    if (!st && !built.built) st = fail(E_INPUT, "%s", built.log);
    for (int i = 0; i < 3 && !st; i++) {
        st = device_allocate(&buffer[i], bytes[i]);
        operands.at[i] = buffer[i].address;
        if (!st)
            st = device_check(cuda.MemsetD8Async(buffer[i].address, 0, bytes[i], device.stream),
                              "clear an operand");
    }
    if (!st) st = kernel_load(&device, config, p, built.path, built.checksum, &kernel);
    for (int i = 0; i < runs && !st; i++) st = kernel.launch(kernel.self, &operands, p->alpha, p->beta);
    if (!st) st = device_check(cuda.StreamSynchronize(device.stream), "run the kernel");
    kernel_close(&kernel);
    for (int i = 0; i < 3; i++) device_free(&buffer[i]);
    device_close(&device);
    if (!st) print_line(stdout, "launched       %d times on %s", runs, device.gpu.name);
    return st;
}

static enum status show(const struct shown *s, const struct config *config, const struct problem *problem,
                        const struct gpu *gpu)
{
    const struct kernel_key key = kernel_key_of(config, problem, gpu->arch);
    struct compiled built;
    char *code = NULL, *log = NULL;
    size_t bytes = 0;
    enum status st = compile_show(&key, s->ptx, &built, &code, &bytes, &log);
    if (!st && s->ptx && code) print_text(stdout, code, bytes - 1);
    else if (!st && !s->sass) show_facts(config, &built);
    if (!st && log && (s->log || !built.built)) print_text(stdout, log, strlen(log));
    if (!st && s->sass && code) st = disassemble(code, bytes);
    if (!st && !built.built) {
        cmd_run_exit = 21;
        print_line(stderr, "tune: it does not build: %s", built.log);
        st = fail(E_PROGRAM, "%s", built.log);
    }
    free(code);
    free(log);
    return st;
}

enum status cmd_show_kernel(int argc, char **argv)
{
    struct shown s = {.shape = "512x512x512"};
    struct problem problem;
    struct config config;
    struct gpu gpu;
    enum status st = command_line_read(&cmd_show_kernel_line, argc, argv, &s);
    if (!st) st = suite_line(s.shape, GEMM_SGEMM, NULL, &problem);
    if (st == E_ABSENT) st = fail(E_INPUT, "--shape is empty");
    if (!st) st = own_described_gpu(s.gpu_name, &gpu);
    if (!st) st = choose(&s, &problem, &gpu, &config);
    if (!st) st = show(&s, &config, &problem, &gpu);
    if (!st && s.runs) st = launch_all(&config, &problem, s.runs);
    return st;
}
