#include "suite_forms.h"

#include <fnmatch.h>
#include <string.h>
#include <strings.h>

bool name_is_among(const char *name, const char *words)
{
    const size_t length = strlen(name);
    for (; length && *words; words += strcspn(words, " "), words += *words == ' ')
        if (strcspn(words, " ") == length && strncasecmp(words, name, length) == 0) return true;
    return false;
}

const char *const suite_names[SUITE_FIELDS] = {
    [OF_PROBLEM] = "problem",
    [OF_M] = "m sizem",
    [OF_N] = "n sizen",
    [OF_K] = "k sizek",
    [OF_BATCH] = "batch_count batch batchcount batch_size",
    [OF_POINTERS] = "pointers",
    [OF_OP] = "op trans layout",
    [OF_TRANS_A] = "transa transposea trans_a opa op_a ta a_t",
    [OF_TRANS_B] = "transb transposeb trans_b opb op_b tb b_t",
    [OF_TYPE] = "a_type dtype data_type precision type d_type",
    [OF_TYPE_A] = "a_type",
    [OF_TYPE_B] = "b_type",
    [OF_TYPE_C] = "c_type c d_type",
    [OF_TYPE_D] = "d_type",
    [OF_COMPUTE] = "compute_type",
    [OF_LDA] = "lda",
    [OF_LDA + 1] = "ldb",
    [OF_LDC] = "ldc",
    [OF_STRIDE_A] = "stride_a",
    [OF_STRIDE_A + 1] = "stride_b",
    [OF_STRIDE_C] = "stride_c",
    [OF_BETA] = "beta",
    [OF_BIAS] = "bias_vector bias",
    [OF_ACTIVATION] = "activation_type activation",
    [OF_EPILOGUE] = "epilogue",
    [OF_FUNCTION] = "rocblas_function function",
    [OF_CUTLASS] = "operationkind",
};

const char *const suite_switches[][2] = {
    {"grouped_gemm", "grouped products"},
    {"scalea scaleb scalec scaled scalealpha_vector amaxd", "products with scales"},
    {"swizzlea swizzleb", "operands in another order"},
    {"use_e gradient", "epilogues with gradients or an auxiliary output"}};
const size_t suite_switch_count = sizeof suite_switches / sizeof *suite_switches;

/* Patterns of names that say nothing of the problem, or nothing that its time depends on. */
static const char *const says_nothing[] = {
    "id",   "*_id",   "idx",    "index", "*_index",  "unnamed*", "name",      "*_name",   "label",
    "tag",  "model",  "layer*", "note*", "comment*", "gpu*",     "*time*",    "us",       "ms",
    "ns",   "s",      "*_us",   "*_ms",  "cpu-us",   "*flops*",  "*gb/s*",    "*error*",  "atol",
    "rtol", "alpha*", "betai",  "ldd",   "stride_d", "num_cu*",  "bias_type", "aux_type", "rotating_buffer"};

bool name_is_read(const char *name)
{
    bool is = false;
    for (size_t i = 0; i < SUITE_FIELDS; i++) is |= name_is_among(name, suite_names[i]);
    for (size_t i = 0; i < suite_switch_count; i++) is |= name_is_among(name, suite_switches[i][0]);
    return is;
}

bool name_is_silent(const char *name)
{
    bool is = !*name;
    for (size_t i = 0; i < sizeof says_nothing / sizeof *says_nothing; i++)
        is |= fnmatch(says_nothing[i], name, FNM_CASEFOLD) == 0;
    return is;
}
