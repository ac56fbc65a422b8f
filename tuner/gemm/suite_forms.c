#include "suite_forms.h"

#include "not_done.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- names with values ---- */

#define PAIRS_MAX 256

struct pair {
    const char *name, *value;
};

struct pairs {
    struct pair at[PAIRS_MAX];
    int count;
};

static void add(struct pairs *pairs, const char *name, const char *value)
{
    if (pairs->count < PAIRS_MAX) pairs->at[pairs->count++] = (struct pair){name, value};
}

static bool is_word(const char *text, const char *words)
{
    const size_t length = strlen(text);
    for (; length && *words; words += strcspn(words, " "), words += *words == ' ')
        if (strcspn(words, " ") == length && strncasecmp(words, text, length) == 0) return true;
    return false;
}

/* Of the first that has one of these names, separated by blanks, and a value; NULL: none. */
static const char *value_of(const struct pairs *pairs, const char *names)
{
    for (int i = 0; i < pairs->count; i++)
        if (is_word(pairs->at[i].name, names) && pairs->at[i].value[0]) return pairs->at[i].value;
    return NULL;
}

/* The next field, without blanks and quotes around it, which is cut out of the text; NULL: there is none. */
static char *next_field(char **at, char separator)
{
    char *field = *at;
    if (!field) return NULL;
    field += strspn(field, " ");
    const char *const closing = *field && strchr("\"'", *field) ? strchr(field + 1, *field) : NULL;
    const char stop[] = {separator, '\0'};
    char *end = field + (closing ? (size_t)(closing - field) : 0);
    end += strcspn(end, stop);
    *at = *end ? end + 1 : NULL;
    *end = '\0';
    while (*field && strchr(" \t\"'", *field)) field++;
    while (end > field && strchr(" \t\"'", end[-1])) *--end = '\0';
    return field;
}

/* ---- a problem by its names ---- */

static enum status leave_out(const char *asked, const char *kind, const char **what)
{
    const char *why = not_done(asked);
    *what = why ? not_done_what(asked) : kind;
    return why ? fail(E_ABSENT, "%s", why)
               : fail(E_ABSENT, "gemmtune does not know '%.40s' (%s)", asked, kind);
}

/* The name of a type of ours, by an element's. */
static enum status read_type(const char *element, const char **type, const char **what)
{
    static const char *const types[][2] = {{"sgemm", "float f32_r f32 fp32 float32 single s"},
                                           {"tf32gemm", "tf32 xf32_r xf32"},
                                           {"bf16gemm", "bfloat16 bf16_r bf16"},
                                           {"hgemm", "half f16_r f16 fp16 float16"}};
    enum gemm_type own;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        *type = types[i][0];
        if (is_word(element, types[i][1])) return OK;
    }
    *type = element;
    return gemm_type_find(element, &own) ? OK : leave_out(element, "unknown types", what);
}

/* Sums in FP32, of operands that may be rounded to TF32. */
static enum status read_compute(const char *compute, const char **type, const char **what)
{
    if (!compute) return OK;
    if (strncasecmp(compute, "c_", 2) == 0) compute += 2;
    if (is_word(compute, "f32_r f32 float s fp32 compute_32f")) return OK;
    if (is_word(compute, "xf32_r tf32 xf32 compute_32f_fast_tf32")) {
        if (strcmp(*type, "sgemm") == 0) *type = "tf32gemm";
        return OK;
    }
    const bool half = strncasecmp(compute, "f16", 3) == 0 || strcasecmp(compute, "half") == 0;
    return leave_out(half ? "compute_16f" : compute, "unknown types", what);
}

/* "N", "transpose", "CUBLAS_OP_T", "0", "false". */
static enum status read_op(const char *value, char usual, char *op, const char **what)
{
    const char *letter = value ? strrchr(value, '_') : NULL;
    letter = letter ? letter + 1 : value;
    *op = usual;
    if (!value) return OK;
    *op = is_word(letter, "n 0 f false no none") ? 'n' : 't';
    if (*op == 'n' || is_word(letter, "t 1 true yes transpose")) return OK;
    *what = is_word(letter, "c conj") ? "conjugate transposition" : "unknown ops";
    return fail(E_ABSENT, "the op '%.40s' is neither n nor t (%s)", value, *what);
}

static enum status read_epilogue(const struct pairs *pairs, char *epilogue, size_t room, const char **what)
{
    const char *bias = value_of(pairs, "bias_vector bias"), *act = value_of(pairs, "activation_type");
    const bool biased = bias && !is_word(bias, "0 false none"), acts = act && strcasecmp(act, "none") != 0;
    *epilogue = '\0';
    if (acts && !is_word(act, "relu gelu")) return leave_out(act, "unknown epilogues", what);
    if (biased || acts)
        snprintf(epilogue, room, ":epilogue=%s%s%s", biased ? "bias" : "", biased && acts ? "+" : "",
                 !acts                          ? ""
                 : strcasecmp(act, "relu") == 0 ? "relu"
                                                : "gelu");
    return OK;
}

/* Which product is it, if any? rocblas_sgemm says its type, too. */
static enum status read_function(const struct pairs *pairs, const char **element, bool *pointers,
                                 const char **what)
{
    static const char *const gemms[][2] = {{"sgemm", "f32_r"},
                                           {"hgemm", "compute_16f"},
                                           {"dgemm", "dgemm"},
                                           {"cgemm", "cgemm"},
                                           {"zgemm", "zgemm"}};
    const char *function = value_of(pairs, "rocblas_function function f"),
               *grouped = value_of(pairs, "grouped_gemm");
    if (grouped && !is_word(grouped, "0 false")) return leave_out("grouped", "grouped products", what);
    *pointers = function && strstr(function, "gemm_batched");
    for (size_t i = 0; function && !*element && i < sizeof gemms / sizeof *gemms; i++)
        if (strstr(function, gemms[i][0])) *element = gemms[i][1];
    if (!function || strstr(function, "gemm") || strstr(function, "matmul")) return OK;
    return leave_out(function, "functions other than gemm", what);
}

/* Appends ":NAME=VALUE". A leading dimension of 0 and a stride below 0 are those that the sizes give. */
static void put(char *text, size_t room, const char *name, const char *value)
{
    const size_t used = strlen(text);
    const double number = value ? strtod(value, NULL) : 0;
    const bool usual = strncmp(name, "stride", 6) == 0 ? number < 0 : number == 0;
    if (value && !usual) snprintf(text + used, room - used, ":%s=%s", name, value);
}

/* c: of C's elements, NULL as those of A and B. */
static enum status read_c(const struct pairs *pairs, const char *type, const char **c, const char **what)
{
    const char *const a = value_of(pairs, "a_type"), *const b = value_of(pairs, "b_type"),
                      *const of_c = value_of(pairs, "c_type"), *const d = value_of(pairs, "d_type"),
                      *of = type;
    *c = NULL;
    enum status st = of_c ? read_type(of_c, &of, what) : OK;
    if (st) return st;
    const bool same = strcmp(of, type) == 0 || (strcmp(of, "sgemm") == 0 && strcmp(type, "tf32gemm") == 0);
    if (!same && strcmp(of, "sgemm") == 0) *c = "f32";
    if ((a && b && strcasecmp(a, b) != 0) || (of_c && d && strcasecmp(of_c, d) != 0) || (!same && !*c)) {
        *what = "mixed types";
        return fail(E_ABSENT, "A, B, C and D have types that gemmtune does not combine (%s, %s, %s, %s)",
                    a ? a : "-", b ? b : "-", of_c ? of_c : "-", d ? d : "-");
    }
    return OK;
}

static enum status describe(const struct pairs *pairs, bool columns, struct form_usual usual,
                            struct problem *problem, const char **what)
{
    static const char *const places[2][2] = {{"a", "b"}, {"b", "a"}}; /* columns: they change */
    const char *const whole = value_of(pairs, "problem"), *const m = value_of(pairs, "m sizem"),
                      *const n = value_of(pairs, "n sizen"), *const k = value_of(pairs, "k sizek"),
                      *const batch = value_of(pairs, "batch_count batch batchcount"),
                      *const op = usual.op ? usual.op : "nn",
                      *element = value_of(pairs, "a_type type dtype data_type precision r d_type"),
                      *type = NULL, *c = NULL;
    char ops[2], epilogue[40], text[1024];
    bool pointers = false;
    if (whole && strchr(whole, 'x')) return problem_parse_as(whole, usual.type, problem);
    enum status st = read_function(pairs, &element, &pointers, what);
    if (!st && (!m || !n || !k)) st = fail(E_INPUT, "it does not say all of m, n and k");
    if (!st && element) st = read_type(element, &type, what);
    if (!st && !type) type = gemm_type_row(usual.type)->name;
    if (!st) st = read_compute(value_of(pairs, "compute_type"), &type, what);
    if (!st) st = read_c(pairs, type, &c, what);
    if (!st) st = read_op(value_of(pairs, "transa transposea trans_a opa op_a ta a_t"), op[0], &ops[0], what);
    if (!st) st = read_op(value_of(pairs, "transb transposeb trans_b opb op_b tb b_t"), op[1], &ops[1], what);
    if (!st) st = read_epilogue(pairs, epilogue, sizeof epilogue, what);
    if (st) return st;
    snprintf(text, sizeof text, "%s:%c%c:%sx%sx%s%s%s%s", type, ops[columns], ops[!columns], columns ? n : m,
             columns ? m : n, k, epilogue, c ? ":c=" : "", c ? c : "");
    const bool many = batch && strtod(batch, NULL) > 1;
    if (many) put(text, sizeof text, "batch", batch);
    if (many && pointers) snprintf(text + strlen(text), sizeof text - strlen(text), ":pointers");
    for (int i = 0; i < 3; i++) {
        char ld[] = "ldc", stride[] = "stride_c";
        if (i < 2) ld[2] = stride[7] = "ab"[i];
        const char *from = i < 2 ? places[columns][i] : "c";
        char from_ld[4], from_stride[12];
        snprintf(from_ld, sizeof from_ld, "ld%s", from);
        snprintf(from_stride, sizeof from_stride, "stride_%s", from);
        put(text, sizeof text, ld, value_of(pairs, from_ld));
        if (many && !pointers) put(text, sizeof text, stride, value_of(pairs, from_stride));
    }
    put(text, sizeof text, "beta", value_of(pairs, "beta"));
    if (strlen(text) + 1 == sizeof text) return fail(E_INPUT, "its numbers are too long"); /* it was cut */
    return problem_parse(text, problem);
}

/* ---- TunableOp ---- */

static bool is_tunable(const char *text)
{
    const size_t first = strcspn(text, ",");
    const char *const name = strstr(text, "TunableOp");
    return name && (size_t)(name - text) < first;
}

/* "GemmTunableOp_float_NT,nt_25088_4096_64_ld_25088_4096_25088": the operation, the type of the elements, the
 * ops; then the ops, m, n, k, with a batch B and its length, and in newer files ld with the leading
 * dimensions. What follows another comma, such as a result, is not read. */
#define TUNABLE_MAX 255
static enum status read_tunable(const char *text, struct problem *problem, const char **what)
{
    enum { M = 1, N, K, WORDS_MAX = 12 };
    char copy[TUNABLE_MAX + 1], op_a[2] = "", op_b[2] = "", *rest = NULL, *word[WORDS_MAX + 1] = {NULL};
    const char *const comma = strchr(text, ',');
    struct pairs pairs = {.count = 0};
    const size_t length = comma ? (size_t)(comma - text) + 1 + strcspn(comma + 1, ",") : strlen(text);
    if (strncmp(text, "Gemm", 4) != 0) {
        char operation[64];
        snprintf(operation, sizeof operation, "%.*s", (int)strcspn(text, "_,"), text);
        const bool scaled = strncmp(text, "Scaled", 6) == 0;
        return leave_out(scaled ? "fp8" : operation, "unknown operations", what);
    }
    if (length > TUNABLE_MAX)
        return fail(E_INPUT,
                    "'%.60s...' is no line of TunableOp: its first two columns have %zu characters, and may "
                    "have %d",
                    text, length, TUNABLE_MAX);
    snprintf(copy, sizeof copy, "%.*s", (int)length, text);
    char *name = strtok_r(copy, ",", &rest), *sizes = strtok_r(NULL, ",", &rest);
    if (!sizes) return fail(E_INPUT, "'%.60s' is no line of TunableOp: it has one column", text);
    int words = 0;
    for (char *w = strtok_r(sizes, "_", &rest); w && words < WORDS_MAX; w = strtok_r(NULL, "_", &rest))
        word[words++] = w;
    char *const last = strrchr(name, '_'); /* the ops again */
    if (last) *last = '\0';
    const char *const operation = strtok_r(name, "_", &rest), *const element = rest;
    if (!last || !element || words <= K || strlen(word[0]) != 2)
        return fail(E_INPUT, "'%.60s' is no line of TunableOp that is known", text);
    op_a[0] = word[0][0];
    op_b[0] = word[0][1];
    add(&pairs, "type", element);
    add(&pairs, "transa", op_a);
    add(&pairs, "transb", op_b);
    add(&pairs, "m", word[M]);
    add(&pairs, "n", word[N]);
    add(&pairs, "k", word[K]);
    int at = K + 1;
    if (words > at + 1 && strcmp(word[at], "B") == 0) {
        add(&pairs, "batch", word[at + 1]);
        at += 2;
    }
    if (words > at + 3 && strcmp(word[at], "ld") == 0) {
        add(&pairs, "lda", word[at + 1]);
        add(&pairs, "ldb", word[at + 2]);
        add(&pairs, "ldc", word[at + 3]);
    }
    if (strcmp(operation, "GemmAndBiasTunableOp") == 0) add(&pairs, "bias", "1");
    return describe(&pairs, true, (struct form_usual){0}, problem, what);
}

/* ---- hipblaslt-bench and rocblas-bench ---- */

/* What follows the program's name; NULL: it is none of its command lines. */
static const char *bench_options(const char *text)
{
    static const char *const programs[] = {"hipblaslt-bench", "rocblas-bench", "hipblas-bench"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        const char *const found = strstr(text, programs[i]);
        const char *const end = found ? found + strlen(programs[i]) : text;
        if (found && (*end == ' ' || *end == '\t')) return end;
    }
    return NULL;
}

static bool is_option(const char *word)
{
    return word && word[0] == '-' && (word[1] == '-' || isalpha((unsigned char)word[1]));
}

static void read_options(char *words, struct pairs *pairs)
{
    char *rest = NULL, *word = strtok_r(words, " \t", &rest);
    while (word) {
        char *value = strtok_r(NULL, " \t", &rest), *const equals = strchr(word, '=');
        const char *const name = word + strspn(word, "-");
        if (is_option(word) && equals) {
            *equals = '\0';
            add(pairs, name, equals + 1);
        } else if (is_option(word) && value && !is_option(value)) {
            add(pairs, name, value);
            value = strtok_r(NULL, " \t", &rest);
        }
        word = value;
    }
}

static bool is_list(const char *text)
{
    return text[0] == '-' && text[1 + strspn(text + 1, " ")] == '{';
}

/* "- { rocblas_function: "rocblas_sgemm", transA: 'N', M: 128, ... }" */
static void read_list(char *text, struct pairs *pairs)
{
    char *at = strchr(text, '{') + 1, *const end = strrchr(at, '}');
    if (end) *end = '\0';
    for (char *field; (field = next_field(&at, ','));) {
        char *value = field;
        const char *const name = next_field(&value, ':');
        if (value && (value = next_field(&value, '\0'))) add(pairs, name, value);
    }
}

bool form_is_known(const char *text)
{
    return is_tunable(text) || bench_options(text) || is_list(text);
}

enum status form_read(const char *text, struct form_usual usual, struct problem *problem, const char **what)
{
    struct pairs pairs = {.count = 0};
    if (is_tunable(text)) return read_tunable(text, problem, what);
    char *const copy = strdup(is_list(text) ? text : bench_options(text));
    if (!copy) return fail(E_MEMORY, "out of memory for a line");
    if (is_list(text)) read_list(copy, &pairs);
    else read_options(copy, &pairs);
    const enum status st = describe(&pairs, true, usual, problem, what);
    free(copy);
    return st;
}

/* ---- tables ---- */

/* Of fields; '\0': it has one only. */
static char separator_of(const char *text)
{
    const char *const found = strpbrk(text, ",;\t");
    return found ? *found : '\0';
}

/* hipblaslt-bench numbers the solutions that it tries: "[0]:transA,..." */
static const char *past_number(const char *text)
{
    const size_t digits = text[0] == '[' ? strspn(text + 1, "0123456789") : 0;
    return digits && strncmp(text + 1 + digits, "]:", 2) == 0 ? text + digits + 3 : text;
}

static void read_names(char *text, char separator, struct pairs *pairs)
{
    for (char *field; (field = next_field(&text, separator));) add(pairs, field, "-");
}

bool form_is_head(const char *text)
{
    struct pairs pairs = {.count = 0};
    const char separator = separator_of(text);
    if (!separator || isdigit((unsigned char)text[0])) return false;
    char *const copy = strdup(past_number(text));
    if (!copy) return false;
    read_names(copy, separator, &pairs);
    const bool is = value_of(&pairs, "problem") ||
                    (value_of(&pairs, "m") && value_of(&pairs, "n") && value_of(&pairs, "k"));
    free(copy);
    return is;
}

bool form_is_row(const char *head, const char *text)
{
    return strchr(text, separator_of(head)) && !form_is_known(text);
}

enum status form_read_row(const char *head, const char *text, struct form_usual usual,
                          struct problem *problem, const char **what)
{
    struct pairs pairs = {.count = 0};
    const char separator = separator_of(head);
    const bool columns = strcasestr(head, "blas-gflops") || strcasestr(head, "blaslt-gflops");
    char *const names = strdup(past_number(head)), *const values = strdup(text), *at = values;
    enum status st = names && values ? OK : fail(E_MEMORY, "out of memory for a line of a table");
    if (!st) read_names(names, separator, &pairs);
    for (int i = 0; i < pairs.count; i++) {
        const char *const value = next_field(&at, separator);
        pairs.at[i].value = value ? value : "";
    }
    if (!st && value_of(&pairs, "operationkind"))
        st = fail(E_INPUT,
                  "this looks like a table of CUTLASS's profiler, whose columns A, B and C say type and "
                  "layout: write its problems as TYPE:OP:MxNxK");
    if (!st) st = describe(&pairs, columns, usual, problem, what);
    free(names);
    free(values);
    return st;
}

const char *form_looks_like(const char *text)
{
    static const char *const bench[] = {"hipblas", "hipBLAS",      "rocblas",
                                        "rocBLAS", "Query device", "Device ID"};
    if (*text == '{' || *text == '[')
        return "this looks like JSON: a suite has a problem a line (jq -r '.[] | \"\\(.m) \\(.n) \\(.k)\"' "
               "writes "
               "M N K), and tune import reads winners and trials";
    for (size_t i = 0; i < sizeof bench / sizeof *bench; i++)
        if (strstr(text, bench[i]))
            return "this looks like a log of hipblaslt-bench or rocblas-bench: command lines with -m, -n and "
                   "-k, lines - { ... M: 128 ... } and the table of results are read: remove the other lines";
    if (strncmp(text, "---", 3) == 0 || strncmp(text, "- ", 2) == 0 || text[strlen(text) - 1] == ':')
        return "this looks like YAML: lines - { ... M: 128, N: 128, K: 64 ... } are read, as rocblas-bench "
               "logs them, and other forms are not";
    return NULL;
}
