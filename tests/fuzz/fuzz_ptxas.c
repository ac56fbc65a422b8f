/* What the assembler says: figures that are believed are possible ones, and come from whole reports only. */
#include "fuzz.h"
#include "ptxas_log.h"

#include <string.h>

const char *const fuzz_words[] = {"ptxas info    : ",
                                  "ptxas         . ",
                                  "Compiling entry function 'gemm' for 'sm_90a'\n",
                                  "Function properties for gemm\n",
                                  "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n",
                                  "Used 128 registers, 16384 bytes smem, 1 barriers\n",
                                  " bytes smem",
                                  "-",
                                  "4294967296",
                                  "'",
                                  "gemm_reduce",
                                  "\n",
                                  NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *log = fuzz_text(data, size);
    struct kernel_facts facts = {.registers = -7, .compile_ms = 3}, again = facts;
    if (ptxas_log_parse(log, &facts) != OK) {
        PROMISE(facts.registers == -7 && facts.spill_bytes == 0, "refused, but left something");
        return 0;
    }
    fuzz_accept();
    PROMISE(facts.registers >= 0 && facts.registers <= 1 << 16, "%d registers", facts.registers);
    PROMISE(facts.spill_bytes >= 0 && facts.static_smem_bytes >= 0, "%d bytes spilt, %d shared",
            facts.spill_bytes, facts.static_smem_bytes);
    PROMISE(facts.compile_ms == 3 && facts.cubin_bytes == 0, "other facts have changed");
    PROMISE(strstr(log, "Compiling") && strstr(log, "registers"), "from nothing");

    const size_t first = (size_t)(strstr(log, "Compiling") - log);
    PROMISE(ptxas_log_parse(fuzz_text(data, first), &again) != OK, "a report without an entry is believed");
    return 0;
}
