/* drive.c — runs a fuzz target on seeds and on what becomes of them by deterministic damage.
 *
 *     fuzz_NAME [-n RUNS] [-s SEED] [-l] PATH...
 *
 * PATH is a seed or a folder of seeds; -l makes each line of a seed one of its own. Every seed is run as it
 * is, then RUNS times one that is mutated. The same seeds, SEED and RUNS give the same inputs everywhere;
 * nothing looks at a clock. The input is written to a file before it is run, and the file is removed in the
 * end: what broke the target is still there, and `fuzz_NAME -n 0 FILE` runs it again.
 */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INPUT_MAX (1 << 16)

struct bytes {
    uint8_t *at;
    size_t size;
};

struct seeds {
    struct bytes *at;
    size_t count;
};

_Noreturn static void give_up(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(2);
}

/* ---- seeds ---- */

static void add_seed(struct seeds *seeds, const uint8_t *data, size_t size)
{
    if (size > INPUT_MAX) size = INPUT_MAX;
    struct bytes *grown = realloc(seeds->at, (seeds->count + 1) * sizeof *grown);
    uint8_t *copy = malloc(size + 1);
    if (!grown || !copy) give_up("seeds", "out of memory");
    memcpy(copy, data, size);
    seeds->at = grown;
    seeds->at[seeds->count++] = (struct bytes){copy, size};
}

static void add_file(struct seeds *seeds, const char *path, bool lines)
{
    static uint8_t data[1 << 22];
    FILE *file = fopen(path, "re");
    if (!file) give_up(path, strerror(errno));
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    if (!lines) {
        add_seed(seeds, data, size);
        return;
    }
    for (size_t start = 0; start < size;) {
        const uint8_t *end = memchr(data + start, '\n', size - start);
        size_t length = end ? (size_t)(end - data) - start : size - start;
        if (length) add_seed(seeds, data + start, length);
        start += length + 1;
    }
}

static int by_name(const struct dirent **x, const struct dirent **y)
{
    return strcmp((*x)->d_name, (*y)->d_name); /* not alphasort, which asks the locale */
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void add_path(struct seeds *seeds, const char *path, bool lines)
{
    struct stat info;
    if (stat(path, &info)) give_up(path, strerror(errno));
    if (!S_ISDIR(info.st_mode)) {
        add_file(seeds, path, lines);
        return;
    }
    struct dirent **entries;
    int count = scandir(path, &entries, not_hidden, by_name);
    if (count < 0) give_up(path, strerror(errno));
    for (int i = 0; i < count; i++) {
        char below[4096];
        snprintf(below, sizeof below, "%s/%s", path, entries[i]->d_name);
        add_file(seeds, below, lines);
        free(entries[i]);
    }
    free(entries);
}

/* ---- damage ---- */

static uint64_t state;

static uint64_t draw(void)
{
    uint64_t x = state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static size_t below(size_t limit)
{
    return limit ? (size_t)(draw() % limit) : 0;
}

static uint8_t input[INPUT_MAX];
static size_t input_size;

/* Put `size` bytes in place of `gone` bytes at `at`; what does not fit is cut. */
static void replace(size_t at, size_t gone, const void *with, size_t size)
{
    uint8_t copy[4096];
    if (size > sizeof copy) size = sizeof copy;
    memcpy(copy, with, size); /* it may lie in the input */
    if (at > input_size) at = input_size;
    if (gone > input_size - at) gone = input_size - at;
    size_t tail = input_size - at - gone;
    if (size > INPUT_MAX - at) size = INPUT_MAX - at;
    if (tail > INPUT_MAX - at - size) tail = INPUT_MAX - at - size;
    memmove(input + at + size, input + at + gone, tail);
    memcpy(input + at, copy, size);
    input_size = at + size + tail;
}

static void flip_a_bit(void)
{
    if (input_size) input[below(input_size)] ^= (uint8_t)(1u << below(8));
}

static void change_bytes(void)
{
    uint8_t fresh[4];
    const size_t count = 1 + below(4);
    for (size_t i = 0; i < count; i++) fresh[i] = (uint8_t)draw();
    replace(below(input_size + 1), draw() % 2 ? count : 0, fresh, count);
}

static void cut_out(void)
{
    const size_t at = below(input_size + 1);
    replace(at, 1 + below(draw() % 4 ? 8 : input_size - at), "", 0);
}

static void cut_off(void)
{
    input_size = below(input_size + 1);
}

static void repeat_a_piece(void)
{
    const size_t at = below(input_size + 1), length = below(input_size - at < 256 ? input_size - at : 256);
    for (size_t times = 1 + below(draw() % 8 ? 2 : 64); times > 0; times--)
        replace(at, 0, input + at, length);
}

static void put_a_word(void)
{
    size_t count = 0;
    while (fuzz_words[count]) count++;
    if (count == 0) return;
    const char *word = fuzz_words[below(count)];
    replace(below(input_size + 1), draw() % 2 ? strlen(word) : 0, word, strlen(word));
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static void edit_a_number(void)
{
    static const char *const numbers[] = {"0",          "1",
                                          "-1",         "2",
                                          "3",          "4",
                                          "7",          "8",
                                          "16",         "31",
                                          "32",         "64",
                                          "127",        "128",
                                          "255",        "256",
                                          "1000",       "1024",
                                          "1025",       "65535",
                                          "65536",      "1048576",
                                          "16777217",   "2147418112",
                                          "2147483647", "2147483648",
                                          "4294967295", "4294967296",
                                          "1e9",        "576460752303423488",
                                          "1e308",      "1152921504606846976",
                                          "1e-320",     "9223372036854775807",
                                          "1e999",      "9223372036854775808",
                                          "nan",        "18446744073709551616",
                                          "inf",        "99999999999999999999999999999999",
                                          "0x10",       "-9223372036854775808",
                                          "007",        "1.5"};
    size_t at = below(input_size), end;
    while (at < input_size && !is_digit(input[at])) at++;
    while (at > 0 && at < input_size && is_digit(input[at - 1])) at--;
    for (end = at; end < input_size && is_digit(input[end]);) end++;
    if (at == end) return;
    if (draw() % 3) {
        const char *number = numbers[below(sizeof numbers / sizeof *numbers)];
        replace(at, end - at, number, strlen(number));
    } else { /* another of the same size */
        input[at + below(end - at)] = (uint8_t)('0' + below(10));
    }
}

/* Where the line that holds `at` begins, and its length with its end. */
static void find_line(size_t at, size_t *start, size_t *length)
{
    while (at > 0 && input[at - 1] != '\n') at--;
    const uint8_t *end = at < input_size ? memchr(input + at, '\n', input_size - at) : NULL;
    *start = at;
    *length = end ? (size_t)(end - input) + 1 - at : input_size - at;
}

static void copy_a_line(void)
{
    size_t from, length, to, unused;
    find_line(below(input_size), &from, &length);
    find_line(below(input_size), &to, &unused);
    replace(to, draw() % 4 ? 0 : unused, input + from, length);
}

static void drop_a_line(void)
{
    size_t start, length;
    find_line(below(input_size), &start, &length);
    replace(start, length, "", 0);
}

/* A piece of another seed, or its end instead of ours. */
static void graft(const struct seeds *seeds)
{
    const struct bytes *other = &seeds->at[below(seeds->count)];
    const size_t from = below(other->size + 1), at = below(input_size + 1);
    if (draw() % 2) replace(at, input_size - at, other->at + from, other->size - from);
    else
        replace(at, draw() % 2 ? 16 : 0, other->at + from,
                below(other->size - from < 64 ? other->size - from : 64));
}

static void mutate(const struct seeds *seeds)
{
    static void (*const ways[])(void) = {flip_a_bit,     change_bytes,  cut_out,     cut_off,
                                         repeat_a_piece, put_a_word,    put_a_word,  edit_a_number,
                                         edit_a_number,  edit_a_number, copy_a_line, drop_a_line};
    const size_t way_count = sizeof ways / sizeof *ways;
    if (draw() % 4 == 0) { /* little else than numbers is wrong in most files that somebody has edited */
        for (size_t left = 1 + below(3); left > 0; left--) edit_a_number();
        return;
    }
    for (size_t left = 1 + below(draw() % 4 ? 3 : 16); left > 0; left--) {
        const size_t way = below(way_count + 1);
        if (way < way_count) ways[way]();
        else graft(seeds);
    }
}

/* ---- running ---- */

static char kept_path[256];
static int kept;

static void keep_input(void)
{
    kept = open(kept_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (kept < 0) give_up(kept_path, strerror(errno));
}

static void run(const uint8_t *data, size_t size)
{
    /* Of its exact size on the heap, so that a read past it is seen. */
    uint8_t *exact = malloc(size ? size : 1);
    if (!exact) give_up("input", "out of memory");
    memcpy(exact, data, size);
    if (pwrite(kept, exact, size, 0) != (ssize_t)size || ftruncate(kept, (off_t)size))
        give_up(kept_path, strerror(errno));
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static uint64_t number_of(const char *text)
{
    char *end = NULL;
    const unsigned long long value = text && text[0] != '-' ? strtoull(text, &end, 10) : 0;
    if (!end || end == text || *end) give_up(text ? text : "", "not a whole number");
    return value;
}

int main(int argc, char **argv)
{
    struct seeds seeds = {0};
    uint64_t runs = 0, seed = 1;
    bool lines = false;
    int option;
    while ((option = getopt(argc, argv, "n:s:l")) != -1) {
        if (option == 'n') runs = number_of(optarg);
        else if (option == 's') seed = number_of(optarg);
        else if (option == 'l') lines = true;
        else return 2;
    }
    for (int i = optind; i < argc; i++) add_path(&seeds, argv[i], lines);
    if (seeds.count == 0) give_up(argv[0], "no seed; fuzz_NAME [-n RUNS] [-s SEED] [-l] PATH...");

    const char *slash = strrchr(argv[0], '/');
    const char *name = slash ? slash + 1 : argv[0];
    snprintf(kept_path, sizeof kept_path, "%.100s.%d.input", name, (int)getpid());
    fprintf(stderr, "%s: the input that is being run is in %s; %s -n 0 FILE runs it again\n", name, kept_path,
            name);
    keep_input();

    for (size_t i = 0; i < seeds.count; i++) run(seeds.at[i].at, seeds.at[i].size);
    state = seed;
    for (uint64_t i = 0; i < runs; i++) {
        const struct bytes *from = &seeds.at[below(seeds.count)];
        memcpy(input, from->at, from->size);
        input_size = from->size;
        mutate(&seeds);
        run(input, input_size);
    }
    close(kept);
    unlink(kept_path);
    fprintf(stderr, "%s: %zu seeds and %llu mutations of them, %llu accepted\n", name, seeds.count,
            (unsigned long long)runs, (unsigned long long)fuzz_accepted());
    for (size_t i = 0; i < seeds.count; i++) free(seeds.at[i].at);
    free(seeds.at);
    return runs > 0 && !fuzz_accepted(); /* a target that accepts nothing asks nothing of good input */
}
