#include "ptxas_log.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define REGISTERS_MAX   65536      /* per thread: all registers of an SM */
#define SPILL_BYTES_MAX 2000000000 /* sum over all functions */

struct log_parser {
    char entry[128];  /* being compiled; "" before the first */
    bool seen_spills; /* of that entry */
    bool seen_used;
    bool expect_spills; /* the line before was "Function properties" */
    bool have_gemm;
    int entries;
    struct kernel_facts facts;
};

static enum status finish_entry(const struct log_parser *r)
{
    if (!r->entry[0] || (r->seen_spills && r->seen_used)) return OK;
    return fail(E_COMPILER,
                "the compiler's report lacks the %s of entry %s: this program does not support this NVRTC",
                r->seen_used ? "spills" : "registers", r->entry);
}

/* The number before " bytes smem" among the comma-separated parts; 0 if the kernel uses none. */
static int shared_bytes(const char *line)
{
    const char *at = strstr(line, " bytes smem");
    if (!at) return 0;
    const char *start = at;
    while (start > line && start[-1] >= '0' && start[-1] <= '9') start--;
    int bytes = 0;
    return at - start <= 9 && sscanf(start, "%9d", &bytes) == 1 ? bytes : -1;
}

static bool take_used(struct log_parser *r, const char *line)
{
    int registers = 0, smem = shared_bytes(line), end = 0;
    if (!r->entry[0] || r->seen_used || sscanf(line, "Used %9d registers%n", &registers, &end) != 1)
        return false;
    if (end == 0 || registers < 0 || registers > REGISTERS_MAX || smem < 0) return false;
    r->seen_used = true;
    bool is_gemm = strcmp(r->entry, "gemm") == 0;
    if (is_gemm || (!r->have_gemm && registers > r->facts.registers)) r->facts.registers = registers;
    if (is_gemm || (!r->have_gemm && smem > r->facts.static_smem_bytes)) r->facts.static_smem_bytes = smem;
    r->have_gemm = r->have_gemm || is_gemm;
    return true;
}

static bool take_spills(struct log_parser *r, const char *line)
{
    /* At most nine digits each: a longer number is not from a report, and sums cannot overflow. */
    int stack, stores, loads, end = 0;
    if (sscanf(line, " %9d bytes stack frame, %9d bytes spill stores, %9d bytes spill loads%n", &stack,
               &stores, &loads, &end) != 3 ||
        end == 0)
        return false;
    if (stores < 0 || loads < 0 || stores + loads > SPILL_BYTES_MAX - r->facts.spill_bytes) return false;
    r->facts.spill_bytes += stores + loads;
    r->expect_spills = false;
    return true;
}

/* Parses one line without its end. Returns false if it belongs to the report but has an unknown form. */
static bool take_line(struct log_parser *r, const char *line, enum status *st)
{
    static const char info[] = "ptxas info    : ", more[] = "ptxas         . ";
    char name[128];
    if (r->expect_spills)
        return strncmp(line, more, strlen(more)) == 0 && take_spills(r, line + strlen(more));
    if (strncmp(line, info, strlen(info)) != 0) return true; /* warnings, source lines */
    line += strlen(info);
    if (sscanf(line, "Compiling entry function '%127[^']'", name) == 1) {
        *st = finish_entry(r);
        snprintf(r->entry, sizeof r->entry, "%s", name);
        r->seen_spills = r->seen_used = false;
        r->entries++;
        return true;
    }
    if (sscanf(line, "Function properties for %127s", name) == 1) {
        r->expect_spills = true;
        r->seen_spills = r->seen_spills || strcmp(name, r->entry) == 0;
        return true;
    }
    return strncmp(line, "Used", 4) != 0 || take_used(r, line);
}

enum status ptxas_log_parse(const char *log, struct kernel_facts *facts)
{
    struct log_parser r = {.entries = 0};
    for (const char *at = log; *at;) {
        char line[512];
        size_t length = strcspn(at, "\n");
        snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line - 1), at);
        enum status st = OK;
        if (!take_line(&r, line, &st))
            return fail(E_COMPILER,
                        "the compiler's report has a line that this program does not know: '%.200s'", line);
        if (st) return st;
        at += length + (at[length] == '\n');
    }
    if (r.expect_spills)
        return fail(E_COMPILER, "the compiler's report ends before the spills of %s", r.entry);
    if (r.entries == 0) return fail(E_COMPILER, "the compiler's report names no kernel");
    enum status st = finish_entry(&r);
    if (st) return st;
    facts->registers = r.facts.registers;
    facts->spill_bytes = r.facts.spill_bytes;
    facts->static_smem_bytes = r.facts.static_smem_bytes;
    return OK;
}
