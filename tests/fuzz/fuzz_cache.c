/* The cache of compiled kernels: whatever lies in its folder, an entry that is found is whole, and one that
 * is not is stored anew. The input is an entry's last line, with CHECKSUM for that of the cubin before it;
 * after a line "---" the cubin. */
#include "cache.h"
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const fuzz_words[] = {"{\"checksum\":\"CHECKSUM\",\"facts\":{",
                                  "\"registers\":",
                                  "\"spill_bytes\":",
                                  "\"cubin_bytes\":",
                                  "CHECKSUM",
                                  "\n---\n",
                                  "null",
                                  "true",
                                  "[",
                                  "}",
                                  "-1",
                                  "2147483648",
                                  "1e308",
                                  "\\u0000",
                                  "\xff",
                                  NULL};

static const char key[] = "0123456789abcdef0123456789abcdef";

static void write_file(const char *path, const char *cubin, size_t size, const char *line)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(cubin, 1, size, file) != size || fputs(line, file) < 0 || fclose(file)) abort();
}

static void check_found(const struct cache_entry *entry, const char *cubin, size_t size)
{
    char *bytes = NULL;
    size_t length = 0;
    PROMISE(cache_read(entry->path, entry->checksum, &bytes, &length) == OK, "%s", status_text());
    PROMISE(length == size && (size == 0 || memcmp(bytes, cubin, size) == 0), "%zu other bytes", length);
    PROMISE((size_t)entry->facts.cubin_bytes == size && entry->facts.registers >= 0 &&
                entry->facts.spill_bytes >= 0,
            "%d registers", entry->facts.registers);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *folder = fuzz_folder();
    const struct kernel_facts facts = {.registers = 40, .cubin_bytes = 5, .compile_ms = 1};
    struct cache_entry entry, stored;
    int64_t entries = 0, bytes = 0;
    static char last[1 << 16];

    /* What a cubin's checksum is, the cache itself tells. */
    char *text = fuzz_text(data, size), *line = strstr(text, "\n---\n");
    const size_t json_size = line ? (size_t)(line - text) : strlen(text);
    const char *cubin = line ? line + 5 : "cubin";
    const size_t cubin_size = line ? size - json_size - 5 : 5;
    PROMISE(cache_store(folder, key, cubin, cubin_size, &facts, &stored) == OK, "%s", status_text());
    PROMISE(cache_find(folder, key, &entry) == OK, "%s", status_text());
    check_found(&entry, cubin, cubin_size);

    text[json_size] = '\0';
    for (char *at = text; (at = strstr(at, "CHECKSUM"));) { /* as far as there is room */
        const size_t room = strlen(at) < 32 ? strlen(at) : 32;
        memcpy(at, stored.checksum, room);
    }
    snprintf(last, sizeof last, "\n%s", text);
    write_file(stored.path, cubin, cubin_size, last);
    if (cache_find(folder, key, &entry) == OK) {
        fuzz_accept();
        check_found(&entry, cubin, cubin_size);
    }

    write_file(stored.path, text, json_size / 2, last); /* another one than its entry says */
    if (cache_find(folder, key, &entry) == OK) check_found(&entry, text, json_size / 2);
    PROMISE(cache_usage(folder, &entries, &bytes) == OK && entries == 1, "%lld entries", (long long)entries);
    PROMISE(cache_store(folder, key, "cubin", 5, &facts, &stored) == OK, "%s", status_text());
    PROMISE(cache_find(folder, key, &entry) == OK, "%s", status_text());
    check_found(&entry, "cubin", 5);
    return 0;
}
