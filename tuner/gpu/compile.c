#include "compile.h"

#include "cache.h"
#include "clock.h"
#include "cubin.h"
#include "library.h"
#include "paths.h"
#include "ptxas_log.h"

#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <nvrtc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTIONS_MAX 64
#define SOURCES_MAX 32

/* Begins the codes of the assembler's warnings that wgmma instructions wait for each other: such a kernel is
 * slow by construction, and treated as refused. */
#define SERIALISED "(C75"

/* The entry points that we use; the prototypes are the header's. */
static struct {
    __typeof__(&nvrtcVersion) Version;
    __typeof__(&nvrtcGetErrorString) GetErrorString;
    __typeof__(&nvrtcCreateProgram) CreateProgram;
    __typeof__(&nvrtcDestroyProgram) DestroyProgram;
    __typeof__(&nvrtcCompileProgram) CompileProgram;
    __typeof__(&nvrtcGetCUBINSize) GetCUBINSize;
    __typeof__(&nvrtcGetCUBIN) GetCUBIN;
    __typeof__(&nvrtcGetProgramLogSize) GetProgramLogSize;
    __typeof__(&nvrtcGetProgramLog) GetProgramLog;
} nvrtc;

static const struct library_symbol entries[] = {
    {"nvrtcVersion", &nvrtc.Version},
    {"nvrtcGetErrorString", &nvrtc.GetErrorString},
    {"nvrtcCreateProgram", &nvrtc.CreateProgram},
    {"nvrtcDestroyProgram", &nvrtc.DestroyProgram},
    {"nvrtcCompileProgram", &nvrtc.CompileProgram},
    {"nvrtcGetCUBINSize", &nvrtc.GetCUBINSize},
    {"nvrtcGetCUBIN", &nvrtc.GetCUBIN},
    {"nvrtcGetProgramLogSize", &nvrtc.GetProgramLogSize},
    {"nvrtcGetProgramLog", &nvrtc.GetProgramLog},
};

/* NULL: this NVRTC does not have it. Headers of CUDA 12.8 need not have it, either. */
static struct {
    nvrtcResult (*SetFlowCallback)(nvrtcProgram, int (*)(void *payload, void *reserved), void *payload);
} nvrtc_flow;

static const struct library_symbol flow_entries[] = {
    {"nvrtcSetFlowCallback", &nvrtc_flow.SetFlowCallback},
};

/* Looked up when they are first needed. */
static struct {
    __typeof__(&nvrtcGetPTXSize) GetPTXSize;
    __typeof__(&nvrtcGetPTX) GetPTX;
} nvrtc_ptx;

static struct {
    __typeof__(&nvrtcAddNameExpression) AddNameExpression;
} nvrtc_names;

static const struct library_symbol names_entries[] = {
    {"nvrtcAddNameExpression", &nvrtc_names.AddNameExpression},
};

static const struct library_symbol ptx_entries[] = {
    {"nvrtcGetPTXSize", &nvrtc_ptx.GetPTXSize},
    {"nvrtcGetPTX", &nvrtc_ptx.GetPTX},
};

static void *nvrtc_handle;

/* NVRTC opens its companion library by bare name. The loader finds that only in its path, which does not
 * contain NVIDIA's wheels and toolkits in unusual places. A library that is already open is found by its
 * name, wherever it came from. */
static void open_builtins(int major, int minor)
{
    char path[1024], companion[1088];
    library_file(&nvrtc.Version, path, sizeof path);
    char *slash = strrchr(path, '/');
    if (!slash) return;
    *slash = '\0';
    snprintf(companion, sizeof companion, "%s/libnvrtc-builtins.so.%d.%d", path, major, minor);
    dlopen(companion, RTLD_NOW | RTLD_LOCAL);
}

static enum status load(char version[16])
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
    const struct library_names library = {"GEMMTUNE_LIBNVRTC", names, 3, true, false};
    char why[LIBRARY_WHY_MAX];
    void *handle = library_open(&library, why);
    if (!handle)
        return fail(E_COMPILER,
                    "no NVRTC, the CUDA run-time compiler (%s): install the CUDA toolkit or the wheel "
                    "nvidia-cuda-nvrtc, or set GEMMTUNE_LIBNVRTC to the library's path",
                    why);
    const char *missing = library_bind(handle, entries, sizeof entries / sizeof *entries);
    int major = 0, minor = 0;
    if (missing)
        return fail(E_COMPILER, "the NVRTC library found lacks %s: CUDA 12 or later is needed", missing);
    nvrtcResult result = nvrtc.Version(&major, &minor);
    if (result != NVRTC_SUCCESS)
        return fail(E_COMPILER, "NVRTC does not report its version: %s", nvrtc.GetErrorString(result));
    nvrtc_handle = handle;
    if (library_bind(handle, flow_entries, 1)) nvrtc_flow.SetFlowCallback = NULL;
    open_builtins(major, minor);
    snprintf(version, 16, "%d.%d", major, minor);
    return OK;
}

enum status compile_load(char version[16])
{
    static struct library_once once = {.lock = PTHREAD_MUTEX_INITIALIZER, .load = load};
    return library_load(&once, version);
}

enum status compile_library(char *path, size_t room)
{
    char version[16];
    enum status st = compile_load(version);
    if (st) return st;
    library_file(&nvrtc.Version, path, room);
    return OK;
}

/* One compilation: its inputs, and the key under which its result is stored. */
struct job {
    const struct source_text *sources;
    int source_count;
    char arch[16], arch_option[32], version[16];
    const char *options[OPTIONS_MAX];
    int option_count;
    char id[COMPILE_ID_TEXT], key[CACHE_KEY_TEXT];
    bool ptx;                              /* PTX instead of machine code */
    const char *entry, *const *expression; /* as of a kernel's definitions */
    int expressions;
    char **whole_log; /* NULL, or who gets all that the compiler says */
};
_Static_assert(COMPILE_ID_TEXT == CACHE_KEY_TEXT, "an id is a key");

/* What a source is compiled with: options, and of kernels that are C++ templates, name expressions. */
struct definitions {
    const char *list[KERNEL_DEFINITIONS_MAX + 1];
    char text[2048];
    int count;
    const char *entry; /* the kernel whose facts count */
    const char *expression[LAUNCH_KERNELS_MAX];
    char expression_text[LAUNCH_KERNELS_MAX][512];
    int expressions;
};

/* Everything that the result depends on but the compiler's version. */
static enum status describe_job(struct job *job, const struct source_text *sources, int count,
                                const struct definitions *with, int arch, bool ptx)
{
    const int definition_count = with->count;
    const char *const *const definitions = with->list;
    *job = (struct job){.sources = sources,
                        .source_count = count,
                        .ptx = ptx,
                        .entry = with->entry,
                        .expression = with->expression,
                        .expressions = with->expressions};
    if (count < 1 || count > SOURCES_MAX)
        return fail(E_COMPILER, "%d source texts; 1 to %d are possible", count, SOURCES_MAX);
    if (definition_count > OPTIONS_MAX - 4)
        return fail(E_COMPILER, "%d definitions; at most %d are possible", definition_count, OPTIONS_MAX - 4);
    if (ptx) snprintf(job->arch, sizeof job->arch, "compute_%d", arch); /* for later ones, unlike sm_90a */
    else gpu_arch_name(arch, job->arch);
    snprintf(job->arch_option, sizeof job->arch_option, "-arch=%s", job->arch);
    job->options[job->option_count++] = job->arch_option;
    job->options[job->option_count++] = "-std=c++17";
    job->options[job->option_count++] = "--ptxas-options=-v"; /* registers and spills, into the log */
    job->options[job->option_count++] = "-default-device";
    for (int i = 0; i < definition_count; i++) job->options[job->option_count++] = definitions[i];
    return OK;
}

/* version "": the id. */
static void make_key(const struct job *job, const char *version, char key[CACHE_KEY_TEXT])
{
    const char *parts[3 + 2 * SOURCES_MAX + OPTIONS_MAX + LAUNCH_KERNELS_MAX];
    char counts[32];
    int used = 0;
    snprintf(counts, sizeof counts, "%d sources", job->source_count);
    parts[used++] = version;
    parts[used++] = counts;
    for (int i = 0; i < job->source_count; i++) {
        parts[used++] = job->sources[i].name;
        parts[used++] = job->sources[i].text;
    }
    for (int i = 0; i < job->option_count; i++) parts[used++] = job->options[i];
    for (int i = 0; i < job->expressions; i++) parts[used++] = job->expression[i];
    cache_key(parts, used, key);
}

static enum status prepare(struct job *job, const struct source_text *sources, int count,
                           const struct definitions *with, int arch, bool ptx)
{
    enum status st = describe_job(job, sources, count, with, arch, ptx);
    if (!st) st = compile_load(job->version);
    if (st) return st;
    make_key(job, "", job->id);
    make_key(job, job->version, job->key);
    return OK;
}

/* ---- the end of the process ---- */

static void (*_Atomic wait_at_end)(void); /* NULL: nothing is abandoned */
static pid_t ending_process;              /* a forked child has the handler, and no thread */
static atomic_bool ending;

static void end_compilations(void)
{
    if (getpid() != ending_process) return;
    atomic_store(&ending, true);
    atomic_load (&wait_at_end)();
}

/* Called by NVRTC at many points of a compilation. */
static int flow(void *payload, void *reserved)
{
    (void)payload, (void)reserved;
    return atomic_load(&ending);
}

static void let_it_be_abandoned(nvrtcProgram program)
{
    if (atomic_load(&wait_at_end) && nvrtc_flow.SetFlowCallback)
        nvrtc_flow.SetFlowCallback(program, flow, NULL);
}

/* ---- one compilation ---- */

/* The compiler's log; NULL if out of memory. */
static char *take_log(nvrtcProgram program)
{
    size_t size = 0;
    if (nvrtc.GetProgramLogSize(program, &size) != NVRTC_SUCCESS) size = 0;
    char *log = calloc(size + 1, 1);
    if (log && size > 0 && nvrtc.GetProgramLog(program, log) != NVRTC_SUCCESS) log[0] = '\0';
    return log;
}

/* The line of the log that tells the cause: the first with `word`, else the first line; printable,
 * shortened. */
static void summarize(const char *log, const char *word, const char *otherwise, char text[OUTCOME_DETAIL_MAX])
{
    const char *line = log;
    for (const char *at = log; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        const char *found = strstr(at, word);
        if (!found || (size_t)(found - at) >= strcspn(at, "\n")) continue;
        line = at;
        break;
    }
    size_t length = strcspn(line, "\n");
    if (length == 0) line = otherwise, length = strlen(otherwise);
    if (length >= OUTCOME_DETAIL_MAX) length = OUTCOME_DETAIL_MAX - 1;
    for (size_t i = 0; i < length; i++) text[i] = isprint((unsigned char)line[i]) ? line[i] : ' ';
    text[length] = '\0';
}

/* The meaning of a result other than success: the source was refused (OK, out->built false), or the compiler
 * is unusable. */
static enum status refused(const struct job *job, nvrtcResult result, const char *log, struct compiled *out)
{
    const char *name = nvrtc.GetErrorString(result);
    switch ((int)result) {
    case NVRTC_ERROR_COMPILATION:
    case NVRTC_ERROR_INTERNAL_ERROR:
    case NVRTC_ERROR_OUT_OF_MEMORY:
        summarize(log, "error", name, out->log);
        out->out_of_memory = result == NVRTC_ERROR_OUT_OF_MEMORY;
        return OK;
    case NVRTC_ERROR_INVALID_OPTION:
        return fail(E_COMPILER,
                    "NVRTC %s refuses an option for %s (%.120s): an architecture newer than the compiler "
                    "needs a newer CUDA toolkit",
                    job->version, job->arch, log);
    case NVRTC_ERROR_BUILTIN_OPERATION_FAILURE:
        return fail(E_COMPILER,
                    "NVRTC %s does not find libnvrtc-builtins, which belongs beside libnvrtc: install the "
                    "toolkit again",
                    job->version);
    default:
        return fail(E_COMPILER, "NVRTC %s failed: %s", job->version, name);
    }
}

/* The compiled code; *bytes malloc'ed. */
static enum status take_code(const struct job *job, nvrtcProgram program, char **bytes, size_t *size)
{
    const char *missing =
        job->ptx ? library_bind(nvrtc_handle, ptx_entries, sizeof ptx_entries / sizeof *ptx_entries) : NULL;
    if (missing) return fail(E_COMPILER, "the NVRTC library found lacks %s", missing);
    nvrtcResult result = job->ptx ? nvrtc_ptx.GetPTXSize(program, size) : nvrtc.GetCUBINSize(program, size);
    if (result != NVRTC_SUCCESS || *size == 0)
        return fail(E_COMPILER, "NVRTC %s gave no code for %s", job->version, job->arch);
    if (!(*bytes = malloc(*size)))
        return fail(E_MEMORY, "out of memory for a compiled kernel of %zu bytes", *size);
    result = job->ptx ? nvrtc_ptx.GetPTX(program, *bytes) : nvrtc.GetCUBIN(program, *bytes);
    if (result == NVRTC_SUCCESS) return OK;
    free(*bytes);
    return fail(E_COMPILER, "NVRTC %s gave no code: %s", job->version, nvrtc.GetErrorString(result));
}

/* The result of a compilation. */
struct code {
    char *bytes;
    size_t size;
    struct kernel_facts facts;
};

/* An own kernel: its entry is there, once, and nothing of a call is left for the next but what it has written
 * to C and its workspace, which the judge poisons. False: out->log says why not. */
static bool accept(const struct job *job, const struct code *code, char symbol[CUBIN_SYMBOL_MAX],
                   struct compiled *out)
{
    const int found = cubin_find(code->bytes, code->size, job->entry, symbol);
    if (found != 1)
        snprintf(out->log, sizeof out->log, "error: the source has %s kernel %.100s%s",
                 found ? "more than one" : "no", job->entry, found ? "" : " (__global__, and not static)");
    else if (cubin_keeps_state(code->bytes, code->size))
        snprintf(out->log, sizeof out->log,
                 "error: the source has a __device__ variable, or prints: what a kernel keeps from call to "
                 "call cannot be judged");
    else return true;
    return false;
}

static enum status read_code(const struct job *job, nvrtcProgram program, const char *log, double compile_ms,
                             struct code *code, struct compiled *out)
{
    if (strstr(log, SERIALISED)) {
        summarize(log, SERIALISED, "", out->log);
        return OK;
    }
    code->facts = (struct kernel_facts){.compile_ms = compile_ms};
    char symbol[CUBIN_SYMBOL_MAX] = "gemm";
    enum status st = job->ptx ? OK : ptxas_log_parse(log, &code->facts);
    if (!st) st = take_code(job, program, &code->bytes, &code->size);
    if (st || job->ptx) return st;
    code->facts.cubin_bytes = (int)code->size;
    if (job->entry && !accept(job, code, symbol, out)) {
        free(code->bytes);
        code->bytes = NULL;
        return OK;
    }
    code->facts.most_threads = cubin_most_threads(code->bytes, code->size, symbol);
    return st;
}

static void describe(struct compiled *out, const struct cache_entry *entry)
{
    snprintf(out->path, sizeof out->path, "%s", entry->path);
    snprintf(out->checksum, sizeof out->checksum, "%s", entry->checksum);
    out->facts = entry->facts;
    out->built = true;
}

static enum status keep_code(const struct job *job, const struct code *code, const char *cache,
                             struct compiled *out)
{
    struct cache_entry entry;
    enum status st = cache_store(cache, job->key, code->bytes, code->size, &code->facts, &entry);
    if (st) return st;
    describe(out, &entry);
    if (!job->ptx) cache_note(cache, job->id, job->key);
    return OK;
}

/* The toolkit's headers, such as cuda_fp16.h, for sources that are not ours: beside NVRTC, or where a wheel,
 * or the system, has them. "": nowhere. Not a part of the key: a header changes with NVRTC's version, which
 * is. */
static void find_headers(char option[PATH_MAX + 32])
{
    static const char *const places[] = {"/../include", "/../../cuda_runtime/include", "/../../include"};
    char library[1024], folder[PATH_MAX], header[PATH_MAX + 16];
    option[0] = '\0';
    library_file(&nvrtc.Version, library, sizeof library);
    char *const slash = strrchr(library, '/');
    if (slash) *slash = '\0';
    for (size_t i = 0; i <= sizeof places / sizeof *places; i++) {
        if (i < sizeof places / sizeof *places) snprintf(folder, sizeof folder, "%s%s", library, places[i]);
        else snprintf(folder, sizeof folder, "/usr/local/cuda/include");
        snprintf(header, sizeof header, "%s/cuda_fp16.h", folder);
        if (access(header, R_OK) != 0) continue;
        snprintf(option, PATH_MAX + 32, "--include-path=%s", folder);
        return;
    }
}

/* NVRTC has a cache of its own where a driver is installed. A result from it has no report, so registers and
 * spills would be unknown. Versions without that cache do not know the option that bypasses it. */
static nvrtcResult compile_afresh(nvrtcProgram program, const struct job *job)
{
    static _Atomic bool no_such_option;
    const char *options[OPTIONS_MAX + 2];
    char headers[PATH_MAX + 32] = "";
    int count = job->option_count;
    memcpy(options, job->options, (size_t)count * sizeof *options);
    if (job->entry) find_headers(headers);
    if (headers[0]) options[count++] = headers;
    if (!no_such_option) {
        options[count] = "--no-cache";
        nvrtcResult result = nvrtc.CompileProgram(program, count + 1, options);
        if (result != NVRTC_ERROR_INVALID_OPTION) return result;
    }
    nvrtcResult result = nvrtc.CompileProgram(program, count, options);
    if (result == NVRTC_SUCCESS) no_such_option = true;
    return result;
}

/* code->bytes is malloc'ed, NULL if the compiler refused. */
static enum status build(const struct job *job, struct code *code, struct compiled *out)
{
    const char *header_names[SOURCES_MAX], *header_texts[SOURCES_MAX];
    int headers = job->source_count - 1;
    for (int i = 0; i < headers; i++) {
        header_names[i] = job->sources[i + 1].name;
        header_texts[i] = job->sources[i + 1].text;
    }
    nvrtcProgram program = NULL;
    double start_s = now_s();
    if (job->expressions && library_bind(nvrtc_handle, names_entries, 1))
        return fail(E_COMPILER, "the NVRTC library found lacks nvrtcAddNameExpression");
    if (atomic_load(&ending)) return fail(E_INTERRUPTED, "the process ends");
    nvrtcResult result = nvrtc.CreateProgram(&program, job->sources[0].text, job->sources[0].name, headers,
                                             headers ? header_texts : NULL, headers ? header_names : NULL);
    if (result != NVRTC_SUCCESS)
        return fail(E_COMPILER, "NVRTC %s cannot create a program: %s", job->version,
                    nvrtc.GetErrorString(result));
    let_it_be_abandoned(program);
    for (int i = 0; i < job->expressions; i++) nvrtc_names.AddNameExpression(program, job->expression[i]);
    result = compile_afresh(program, job);
    double compile_ms = 1e3 * (now_s() - start_s);
    enum status st;
    char *log = take_log(program);
    if (!log) st = fail(E_MEMORY, "out of memory for the compiler's log");
    else if (atomic_load(&ending)) st = fail(E_INTERRUPTED, "the process ends");
    else if (result != NVRTC_SUCCESS) st = refused(job, result, log, out);
    else st = read_code(job, program, log, compile_ms, code, out);
    if (job->whole_log) *job->whole_log = log;
    else free(log);
    nvrtc.DestroyProgram(&program);
    return st;
}

/* At exit, what was registered last is called first, and NVRTC registers destructors during its first
 * compilation: so that one comes before the handler. */
void compile_until_exit(int arch, void (*wait)(void))
{
    static const struct source_text empty = {"empty.cu", "__global__ void empty() {}"};
    struct compiled out;
    static const struct definitions none;
    struct code code = {.bytes = NULL};
    struct job job;
    if (!prepare(&job, &empty, 1, &none, arch, false)) build(&job, &code, &out);
    free(code.bytes);
    ending_process = getpid();
    atomic_store(&wait_at_end, wait);
    atexit(end_compilations);
}

static enum status compile_texts(const struct source_text *sources, int count, const struct definitions *with,
                                 int arch, bool ptx, const char *cache, struct compiled *out)
{
    *out = (struct compiled){.built = false};
    struct job job;
    struct cache_entry entry;
    enum status st = prepare(&job, sources, count, with, arch, ptx);
    if (st) return st;
    st = cache_find(cache, job.key, &entry);
    if (st == E_ABSENT) {
        struct code code = {.bytes = NULL};
        st = build(&job, &code, out);
        if (!st && code.bytes) st = keep_code(&job, &code, cache, out);
        free(code.bytes);
        return st;
    }
    if (st) return st;
    describe(out, &entry);
    out->facts.compile_ms = 0;
    out->cached = true;
    return OK;
}

enum status compile_sources(const struct source_text *sources, int count, const char *const *definitions,
                            int definition_count, int arch, const char *cache, struct compiled *out)
{
    struct definitions with = {.count = definition_count};
    if (definition_count > KERNEL_DEFINITIONS_MAX)
        return fail(E_COMPILER, "%d definitions; at most %d are possible", definition_count,
                    KERNEL_DEFINITIONS_MAX);
    for (int i = 0; i < definition_count; i++) with.list[i] = definitions[i];
    return compile_texts(sources, count, &with, arch, false, cache, out);
}

static enum status define(const struct kernel_key *kernel, struct definitions *d)
{
    const struct template *t = kernel->config.template;
    d->count = kernel_key_definitions(kernel, d->list, KERNEL_DEFINITIONS_MAX, d->text, sizeof d->text);
    if (d->count == 0) return fail(E_COMPILER, "the definitions of template %s do not fit", t->name);
    if (!kernel_key_contracts(kernel)) d->list[d->count++] = "-fmad=false";
    d->entry = t->entry;
    d->expressions = 0;
    if (!t->expression) return OK;
    for (int i = 0; i < LAUNCH_KERNELS_MAX &&
                    t->expression(kernel, i, d->expression_text[i], sizeof *d->expression_text);
         i++)
        d->expression[d->expressions++] = d->expression_text[i];
    return OK;
}

static enum status compile_for(const struct kernel_key *kernel, bool ptx, const char *cache,
                               struct compiled *out)
{
    const struct template *t = kernel->config.template;
    struct definitions d;
    enum status st = define(kernel, &d);
    if (st) return st;
    return compile_texts(t->sources, template_source_count(t), &d, kernel->arch, ptx, cache, out);
}

enum status compile_kernel(const struct kernel_key *kernel, const char *cache, struct compiled *out)
{
    return compile_for(kernel, false, cache, out);
}

enum status compile_ptx(const struct kernel_key *kernel, const char *cache, struct compiled *out)
{
    if (!kernel->config.template->one_arch) return compile_for(kernel, true, cache, out);
    *out = (struct compiled){.log = "its instructions exist on this architecture alone"};
    return OK;
}

enum status compile_id(const struct kernel_key *kernel, char id[COMPILE_ID_TEXT])
{
    const struct template *t = kernel->config.template;
    struct definitions d;
    struct job job;
    enum status st = define(kernel, &d);
    if (!st) st = describe_job(&job, t->sources, template_source_count(t), &d, kernel->arch, false);
    if (!st) make_key(&job, "", id);
    return st;
}

enum status compile_recall(const char *id, const char *cache, char **code, size_t *length)
{
    char key[CACHE_KEY_TEXT];
    struct cache_entry entry;
    enum status st = cache[0] ? cache_noted(cache, id, key) : E_ABSENT;
    return st ? E_ABSENT : cache_load(cache, key, &entry, code, length);
}

/* E_ABSENT: missing or not readable. */
static enum status recall(const struct job *job, const char *cache, struct code *code, struct compiled *out)
{
    struct cache_entry entry;
    enum status st = cache[0] ? cache_load(cache, job->key, &entry, &code->bytes, &code->size) : E_ABSENT;
    if (st) return st;
    cache_note(cache, job->id, job->key); /* a program before it may not have known names */
    describe(out, &entry);
    out->facts.compile_ms = 0;
    out->cached = true;
    return OK;
}

enum status compile_code(const struct kernel_key *kernel, const char *cache, char **bytes,
                         struct compiled *out, char why[COMPILE_WHY_MAX])
{
    const struct template *t = kernel->config.template;
    struct definitions d;
    struct job job;
    struct code code = {.bytes = NULL};
    *out = (struct compiled){.built = false};
    enum status st = define(kernel, &d);
    if (!st) st = prepare(&job, t->sources, template_source_count(t), &d, kernel->arch, false);
    if (!st) st = recall(&job, cache, &code, out);
    if (st != E_ABSENT) {
        *bytes = code.bytes;
        return st;
    }
    st = build(&job, &code, out);
    if (st || !code.bytes) return st;
    if (cache[0] && keep_code(&job, &code, cache, out))
        snprintf(why, COMPILE_WHY_MAX, "%.*s", COMPILE_WHY_MAX - 1, status_text());
    out->facts = code.facts;
    out->built = true;
    *bytes = code.bytes;
    return OK;
}

enum status compile_show(const struct kernel_key *kernel, bool ptx, struct compiled *out, char **bytes,
                         size_t *size, char **log)
{
    const struct template *t = kernel->config.template;
    struct definitions d;
    struct job job;
    struct code code = {.bytes = NULL};
    *out = (struct compiled){.built = false};
    *log = *bytes = NULL;
    enum status st = define(kernel, &d);
    if (!st) st = prepare(&job, t->sources, template_source_count(t), &d, kernel->arch, ptx);
    if (st) return st;
    job.whole_log = log;
    st = build(&job, &code, out);
    *bytes = code.bytes;
    *size = code.size;
    out->built = code.bytes != NULL;
    out->facts = code.facts;
    return st;
}

enum status compile_read_cubin(const char *path, const char *checksum, char **bytes, size_t *length)
{
    return cache_read(path, checksum, bytes, length);
}

enum status compile_cache_path(char *path, size_t room)
{
    enum status st = paths_user("GEMMTUNE_CACHE", "XDG_CACHE_HOME", ".cache", "", path, room);
    return st ? fail(E_IO, "no folder for compiled kernels: %s", status_text()) : OK;
}

enum status compile_cache_folder(char *path, size_t room)
{
    enum status st = compile_cache_path(path, room);
    return st ? st : cache_make_folder(path);
}
