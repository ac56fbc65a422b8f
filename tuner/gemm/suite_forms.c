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

static bool is_off(const char *value)
{
    return name_is_among(value, "0 false no none off");
}

static const char *value_of(const struct pairs *pairs, int field)
{
    const char *name = suite_names[field];
    for (; *name; name += strcspn(name, " "), name += *name == ' ')
        for (int i = 0; i < pairs->count; i++) {
            const size_t length = strcspn(name, " ");
            const bool named =
                strlen(pairs->at[i].name) == length && strncasecmp(pairs->at[i].name, name, length) == 0;
            if (named && pairs->at[i].value[0]) return pairs->at[i].value;
        }
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
                                           {"hgemm", "half f16_r f16 fp16 float16 h"},
                                           {"dgemm", "d"},
                                           {"cgemm", "c"},
                                           {"zgemm", "z"}};
    enum gemm_type own;
    *type = element;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (name_is_among(element, types[i][1])) *type = types[i][0];
    return gemm_type_find(*type, &own) ? OK : leave_out(*type, "unknown types", what);
}

/* Sums in FP32, of operands that may be rounded to TF32. */
static enum status read_compute(const char *compute, const char **type, const char **what)
{
    if (!compute) return OK;
    if (strncasecmp(compute, "c_", 2) == 0) compute += 2;
    if (name_is_among(compute, "f32_r f32 float s fp32 compute_32f")) return OK;
    if (name_is_among(compute, "xf32_r tf32 xf32 compute_32f_fast_tf32")) {
        if (strcmp(*type, "sgemm") == 0) *type = "tf32gemm";
        return OK;
    }
    const char *own;
    const bool half = strncasecmp(compute, "f16", 3) == 0 || name_is_among(compute, "half h");
    const enum status st = half ? OK : read_type(compute, &own, what);
    return st ? st : leave_out(half ? "compute_16f" : compute, "unknown types", what);
}

/* "N", "transpose", "CUBLAS_OP_T", "0", "false". */
static enum status read_op(const char *value, char *op, const char **what)
{
    static const char *const before[] = {"cublas_op_", "hipblas_op_", "rocblas_operation_", "cblas"};
    const char *name = value;
    for (size_t i = 0; value && i < sizeof before / sizeof *before; i++)
        if (strncasecmp(value, before[i], strlen(before[i])) == 0) name = value + strlen(before[i]);
    if (!value) return OK;
    *op = is_off(name) || strncasecmp(name, "no", 2) == 0 || name_is_among(name, "n f") ? 'n' : 't';
    if (*op == 'n' || name_is_among(name, "t 1 true yes trans transpose transposed")) return OK;
    *what = name_is_among(name, "c conj conjtrans conjugate_transpose") ? "conjugate transposition"
                                                                        : "unknown ops";
    return fail(E_ABSENT, "the op '%.40s' is neither n nor t (%s)", value, *what);
}

/* Of A and of B, together ("nt") or each by itself. */
static enum status read_ops(const struct pairs *pairs, const char *usual, char ops[2], const char **what)
{
    const char *const both = value_of(pairs, OF_OP), *const from = both ? both : usual;
    if (strlen(from) != 2 || strspn(from, "ntcNTC") != 2)
        return fail(E_INPUT,
                    "the op '%.40s' is none of nn, nt, tn and tt (a table has it in one of the columns %s)",
                    from, suite_names[OF_OP]);
    enum status st = OK;
    for (int i = 0; i < 2 && !st; i++) {
        st = read_op((char[]){from[i], '\0'}, &ops[i], what);
        if (!st) st = read_op(value_of(pairs, OF_TRANS_A + i), &ops[i], what);
    }
    return st;
}

/* "" or ":epilogue=bias+relu", from up to three names. */
static enum status read_epilogue(const struct pairs *pairs, char *epilogue, size_t room, const char **what)
{
    static const char *const parts[] = {"bias", "rowbias", "relu", "gelu", "out"};
    const char *bias = value_of(pairs, OF_BIAS), *act = value_of(pairs, OF_ACTIVATION),
               *all = value_of(pairs, OF_EPILOGUE);
    char words[128], *rest = NULL;
    bool has[sizeof parts / sizeof *parts] = {false};
    if (bias && name_is_among(bias, "1 true yes")) bias = "bias";
    const int length =
        snprintf(words, sizeof words, "%s %s %s", bias ? bias : "", act ? act : "", all ? all : "");
    if (length >= (int)sizeof words) return leave_out(words, "unknown epilogues", what);
    for (char *word = strtok_r(words, " +_|", &rest); word; word = strtok_r(NULL, " +_|", &rest)) {
        bool known = is_off(word) || name_is_among(word, "default identity cublaslt hipblaslt epilogue");
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            if (name_is_among(word, parts[i])) has[i] = known = true;
        if (!known) return leave_out(word, "unknown epilogues", what);
    }
    size_t used = 0;
    *epilogue = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (has[i])
            used +=
                (size_t)snprintf(epilogue + used, room - used, "%s%s", used ? "+" : ":epilogue=", parts[i]);
    return OK;
}

static enum status read_switches(const struct pairs *pairs, const char **what)
{
    for (int i = 0; i < pairs->count; i++)
        for (size_t s = 0; s < suite_switch_count; s++)
            if (name_is_among(pairs->at[i].name, suite_switches[s][0]) && *pairs->at[i].value &&
                !is_off(pairs->at[i].value))
                return leave_out(pairs->at[i].name, suite_switches[s][1], what);
    return OK;
}

/* Which product is it, if any? rocblas_sgemm says its type, too. */
static enum status read_function(const char *function, const char **element, const char **what)
{
    static const char *const gemms[][2] = {{"sgemm", "f32_r"},
                                           {"hgemm", "compute_16f"},
                                           {"dgemm", "dgemm"},
                                           {"cgemm", "cgemm"},
                                           {"zgemm", "zgemm"}};
    for (size_t i = 0; function && !*element && i < sizeof gemms / sizeof *gemms; i++)
        if (strstr(function, gemms[i][0])) *element = gemms[i][1];
    if (!function || strstr(function, "gemm") || strstr(function, "matmul")) return OK;
    return leave_out(function, "functions other than gemm", what);
}

/* Appends :batch=B and :pointers. A batch of rocblas_gemm_batched that is one product needs none. */
static enum status put_batch(const struct pairs *pairs, const char *function, char *text, size_t room)
{
    const char *const batch = value_of(pairs, OF_BATCH), *const pointers = value_of(pairs, OF_POINTERS);
    const bool many = batch && strcmp(batch, "1") != 0,
               by_name = function && strstr(function, "gemm_batched"), asked = pointers && !is_off(pointers);
    if (asked && !name_is_among(pointers, "1 true yes pointers"))
        return fail(E_INPUT, "its pointers are '%.40s', neither true nor false", pointers);
    const size_t used = strlen(text);
    snprintf(text + used, room - used, "%s%s%s", many ? ":batch=" : "", many ? batch : "",
             asked || (many && by_name) ? ":pointers" : "");
    return OK;
}

/* Appends ":NAME=VALUE". A leading dimension of 0 and a stride below 0 are those that the sizes give. */
static void put(char *text, size_t room, const char *name, const char *value)
{
    const size_t used = strlen(text);
    char *end = NULL;
    const double number = value ? strtod(value, &end) : 0;
    const bool usual = end && !*end && (strncmp(name, "stride", 6) == 0 ? number < 0 : number == 0);
    if (value && !usual) snprintf(text + used, room - used, ":%s=%s", name, value);
}

/* c: of C's elements, NULL as those of A and B. */
static enum status read_c(const struct pairs *pairs, const char *type, const char **c, const char **what)
{
    const char *const a = value_of(pairs, OF_TYPE_A), *const b = value_of(pairs, OF_TYPE_B),
                      *const of_c = value_of(pairs, OF_TYPE_C), *const d = value_of(pairs, OF_TYPE_D),
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

/* columns: column-major, so that A and B change places. Where m, n and k are named, they count. */
static enum status describe(const struct pairs *pairs, bool columns, struct form_usual usual,
                            struct problem *problem, const char **what)
{
    const char *const m = value_of(pairs, OF_M), *const n = value_of(pairs, OF_N),
                      *const k = value_of(pairs, OF_K), *const whole = value_of(pairs, OF_PROBLEM),
                      *const function = value_of(pairs, OF_FUNCTION), *element = value_of(pairs, OF_TYPE),
                      *type = NULL, *c = NULL;
    char ops[2], epilogue[40], text[1024];
    if (whole && !m && !n && !k) return problem_parse_as(whole, usual.type, problem);
    enum status st = read_switches(pairs, what);
    if (!st) st = read_function(function, &element, what);
    if (!st && (!m || !n || !k)) st = fail(E_INPUT, "it does not say all of m, n and k");
    if (!st && element) st = read_type(element, &type, what);
    if (!st && !type) type = gemm_type_row(usual.type)->name;
    if (!st) st = read_compute(value_of(pairs, OF_COMPUTE), &type, what);
    if (!st) st = read_c(pairs, type, &c, what);
    if (!st) st = read_ops(pairs, usual.op ? usual.op : "nn", ops, what);
    if (!st) st = read_epilogue(pairs, epilogue, sizeof epilogue, what);
    if (st) return st;
    snprintf(text, sizeof text, "%s:%c%c:%sx%sx%s%s%s%s", type, ops[columns], ops[!columns], columns ? n : m,
             columns ? m : n, k, epilogue, c ? ":c=" : "", c ? c : "");
    if ((st = put_batch(pairs, function, text, sizeof text))) return st;
    const bool strided = strstr(text, ":batch=") && !strstr(text, ":pointers");
    for (int i = 0; i < 3; i++) {
        static const char *const names[][2] = {{"lda", "stride_a"}, {"ldb", "stride_b"}, {"ldc", "stride_c"}};
        const int from = columns && i < 2 ? !i : i;
        put(text, sizeof text, names[i][0], value_of(pairs, OF_LDA + from));
        if (strided) put(text, sizeof text, names[i][1], value_of(pairs, OF_STRIDE_A + from));
    }
    put(text, sizeof text, "beta", value_of(pairs, OF_BETA));
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
    char copy[TUNABLE_MAX + 1], *rest = NULL, *word[WORDS_MAX + 1] = {NULL};
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
    if (!last || !element || words <= K)
        return fail(E_INPUT, "'%.60s' is no line of TunableOp that is known", text);
    add(&pairs, "type", element);
    add(&pairs, "op", word[0]);
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

/* By its long name. */
static void add_option(struct pairs *pairs, const char *name, const char *value)
{
    add(pairs, strcmp(name, "f") == 0 ? "function" : strcmp(name, "r") == 0 ? "precision" : name, value);
}

/* An option that may stand without a value is on. */
static void read_options(char *words, struct pairs *pairs)
{
    char *rest = NULL, *word = strtok_r(words, " \t", &rest);
    while (word) {
        char *value = strtok_r(NULL, " \t", &rest), *const equals = strchr(word, '=');
        const char *const name = word + strspn(word, "-");
        if (is_option(word) && equals) {
            *equals = '\0';
            add_option(pairs, name, equals + 1);
        } else if (is_option(word) && value && !is_option(value)) {
            add_option(pairs, name, value);
            value = strtok_r(NULL, " \t", &rest);
        } else if (is_option(word) &&
                   name_is_among(name, "bias_vector grouped_gemm swizzlea swizzleb use_e gradient")) {
            add(pairs, name, "1");
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
        if (value && (value = next_field(&value, '\0'))) add_option(pairs, name, value);
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

static bool names_sizes(const struct pairs *pairs)
{
    return value_of(pairs, OF_M) && value_of(pairs, OF_N) && value_of(pairs, OF_K);
}

bool form_is_head(const char *text)
{
    struct pairs pairs = {.count = 0};
    const char separator = separator_of(text);
    if (!separator || isdigit((unsigned char)text[0])) return false;
    char *const copy = strdup(past_number(text));
    if (!copy) return false;
    read_names(copy, separator, &pairs);
    const bool is = value_of(&pairs, OF_PROBLEM) || names_sizes(&pairs);
    free(copy);
    return is;
}

/* Is the name one of the list, which ", " separates? */
static bool is_listed(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at++)
        if ((at == list || at[-1] == ' ') && (at[length] == ',' || !at[length])) return true;
    return false;
}

/* A problem in full needs no other column, but would be another one by those that also describe it. */
void form_unread(const char *head, char *list, size_t room)
{
    struct pairs pairs = {.count = 0};
    char *const copy = strdup(past_number(head));
    if (!copy) return;
    read_names(copy, separator_of(head), &pairs);
    const bool sizes = names_sizes(&pairs);
    for (int i = 0; i < pairs.count; i++) {
        const char *const name = pairs.at[i].name;
        const bool whole = name_is_among(name, suite_names[OF_PROBLEM]), field = name_is_read(name);
        const bool unread = sizes ? whole || (!field && !name_is_silent(name)) : field && !whole;
        const size_t used = strlen(list);
        if (unread && !is_listed(list, name))
            snprintf(list + used, room - used, "%s%s", used ? ", " : "", name);
    }
    free(copy);
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
    if (!st && value_of(&pairs, OF_CUTLASS))
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
