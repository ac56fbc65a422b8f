/* Suites and captures, which share a form: what is read is what the lines say one by one, and what is written
 * reads back as the same. */
#include "capture.h"
#include "fuzz.h"
#include "suite.h"
#include "suite_forms.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const fuzz_words[] = {
    "sgemm:nn:",
    "4x4x4\n",
    "# ",
    "\n",
    "\r\n",
    "  ",
    " # count=",
    " time_us=",
    "count=3",
    ":batch=2",
    "\t",
    "1e308",
    "1e300",
    "count=18446744073709551615",
    "time_us=1.7e308",
    "nan",
    "#",
    "x",
    ":pointers",
    ":epilogue=rowbias+gelu+out",
    ":batch=3:epilogue=bias:stride_bias=9",
    ":beta=1",
    ":lda=2147483648",
    ":stride_a=0",
    "2147418112x1x1",
    "tf32gemm:tt:",
    "64 128 256",
    "64,128,256",
    "M,N,K",
    "Validator,PT_VERSION,2",
    "GemmTunableOp_float_TN,tn_8_16_32_ld_32_32_8",
    "GemmStridedBatchedTunableOp_Half_NN,nn_8_16_32_B_4_ld_8_32_8",
    "GroupedGemmTunableOp_float_CN,cn_8_16_32",
    "\nname,K,N,M,transA,a_type,lda\n\"a, b\",8,16,32,T,f16_r,32\n",
    "hipblaslt-bench -m 8 -n 16 -k 32 --transA T --a_type bf16_r --batch_count=4",
    "- { rocblas_function: rocblas_sgemm, transA: 'N', M: 8, N: 16, K: 32, lda: 8 }",
    "m;n;k;problem",
    "[0]:",
    "\"",
    NULL};

/* NULL: there is none. CR LF are two, with an empty line between. */
static const uint8_t *line_end(const uint8_t *at, const uint8_t *end)
{
    while (at < end && *at != '\n' && *at != '\r') at++;
    return at < end ? at : NULL;
}

/* The lines one by one: how many problems until the first that is none. *table: there are names of columns,
 * and what follows is not read by itself. */
static bool each_line(const uint8_t *data, size_t size, struct problem *problems, size_t *count, bool *table)
{
    *count = 0;
    *table = false;
    for (size_t start = 0; start < size;) {
        const uint8_t *end = line_end(data + start, data + size);
        size_t length = end ? (size_t)(end - data) - start : size - start;
        char *line = malloc(length + 1);
        if (!line) abort();
        memcpy(line, data + start, length);
        line[length] = '\0';
        bool good = strlen(line) == length; /* no NUL */
        start += length + 1;
        line[strcspn(line, "#")] = '\0';
        char *text = line + strspn(line, " \t");
        for (length = strlen(text); length > 0 && strchr(" \t\v\f", text[length - 1]);) text[--length] = '\0';
        *table |= form_is_head(text);
        const enum status st =
            good && *text ? suite_line(text, GEMM_SGEMM, NULL, &problems[*count]) : E_ABSENT;
        good = good && (st == OK || st == E_ABSENT);
        *count += good && st == OK;
        free(line);
        if (!good) return false;
    }
    return true;
}

static void check_suite(const char *path, const uint8_t *data, size_t size)
{
    struct problem *expected = calloc(size + 1, sizeof *expected);
    struct suite suite;
    size_t wanted = 0;
    if (!expected) abort();
    bool table;
    const bool good = each_line(data, size, expected, &wanted, &table) && wanted > 0;
    const enum status st = suite_read(path, GEMM_SGEMM, NULL, &suite);
    PROMISE(table || good == (st == OK), "%s", st ? status_text() : "what is no suite was read");
    PROMISE(table || st || suite.count == wanted, "%zu problems instead of %zu", suite.count, wanted);
    for (size_t i = 0; !table && !st && i < suite.count; i++)
        PROMISE(problem_equal(&suite.at[i], &expected[i]), "problem %zu", i);
    if (st) PROMISE(st == E_INPUT && strstr(status_text(), path), "%s", status_text());
    suite_free(&suite);
    free(expected);
}

static void check_capture(const char *path)
{
    static char copy[256];
    struct capture read = {0}, again = {0};
    const enum status st = capture_read(path, &read);
    PROMISE(!st || st == E_INPUT, "%s", status_text());
    if (!st) {
        fuzz_accept();
        snprintf(copy, sizeof copy, "%s/copy", fuzz_folder());
        for (size_t i = 0; i < read.count; i++) {
            const struct captured *c = &read.at[i];
            PROMISE(isfinite(c->time_us) && c->time_us >= 0 && isfinite(capture_weight(c)), "%s", c->text);
            PROMISE(i == 0 || capture_weight(c) <= capture_weight(c - 1), "%s is out of order", c->text);
        }
        PROMISE(capture_save(copy, &read) == OK, "%s", status_text());
        PROMISE(capture_read(copy, &again) == OK, "what was written cannot be read: %s", status_text());
        PROMISE(again.count == read.count, "%zu problems of %zu", again.count, read.count);
        uint64_t calls = 0, calls_again = 0;
        for (size_t i = 0; i < read.count; i++) calls += read.at[i].count, calls_again += again.at[i].count;
        PROMISE(calls == calls_again, "the counts have changed");
        unlink(copy);
    } else {
        struct capture one = {0};
        const struct problem p = problem_make(1, 2, 3);
        PROMISE(capture_add(&one, &p, 1, 0) == OK, "%s", status_text());
        PROMISE(capture_save(path, &one) == E_INPUT, "a file that is no capture was written over");
        capture_free(&one);
    }
    capture_free(&read);
    capture_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    check_suite(path, data, size);
    check_capture(path);
    return 0;
}
