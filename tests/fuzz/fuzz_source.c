/* Texts of kernels: any bytes have a hash, which depends on what was asked for alone. "@@" divides an input
 * into a text and the headers a.h and b.h. */
#include "fuzz.h"
#include "source_hash.h"
#include "template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const fuzz_words[] = {"#if ",
                                  "#ifdef ",
                                  "#ifndef A",
                                  "#elif ",
                                  "#else\n",
                                  "#endif\n",
                                  "#define A ",
                                  "#define B(x) ",
                                  "#undef A\n",
                                  "#include \"a.h\"\n",
                                  "#include \"b.h\"\n",
                                  "@@",
                                  "defined(A)",
                                  "ONE",
                                  "TWO",
                                  "__CUDA_ARCH__ >= 900",
                                  "__FUTURE__",
                                  " / 0",
                                  " ? 1 : ",
                                  " && ",
                                  " || ",
                                  "<<",
                                  "((((",
                                  "))))",
                                  "-9223372036854775808",
                                  "0xffffffffffffffffu",
                                  "\\\n",
                                  "/*",
                                  "*/",
                                  "//",
                                  "\"",
                                  "R\"(",
                                  "'",
                                  "{",
                                  "}",
                                  ";",
                                  "\n",
                                  NULL};

static uint64_t hash_of(const struct source_text *sources, const char *one, const char *two, uint64_t *asked)
{
    const char *const definitions[] = {one, two, "__CUDA_ARCH__=900"};
    return source_hash(sources, 3, definitions, 3, asked);
}

/* Too short for any bound. */
static bool is_small(const char *text)
{
    return strlen(text) < 200 && !strstr(text, "R\"") && !strstr(text, "include");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *at = text;
    struct source_text sources[3] = {{"x.cu", text}, {"a.h", ""}, {"b.h", ""}};
    for (int i = 1; i < 3 && (at = strstr(at, "@@")); i++) {
        *at = '\0';
        sources[i].text = at += 2;
    }
    uint64_t asked, again;
    const uint64_t hash = hash_of(sources, "ONE=1", "TWO=2", &asked);
    PROMISE(hash != 0, "0 means that there is none");
    PROMISE(asked < 8, "what nobody defined was asked for");
    PROMISE(hash_of(sources, "ONE=1", "TWO=2", &again) == hash && again == asked, "it is another one now");
    if (asked && asked != 7) fuzz_accept();
    if (!(asked & 1))
        PROMISE(hash_of(sources, "ONE=0", "TWO=2", NULL) == hash, "ONE was asked for all the same");
    if (!(asked & 2))
        PROMISE(hash_of(sources, "ONE=1", "TWO=-7", NULL) == hash, "TWO was asked for all the same");
    char missing[64];
    source_hash_missing(sources, 3, NULL, 0, missing);
    PROMISE(strlen(missing) < sizeof missing, "no text");
    if (!is_small(text)) return 0;
    char longer[256];
    snprintf(longer, sizeof longer, "/* a comment */ \n%s", text);
    sources[0].text = longer;
    PROMISE(hash_of(sources, "ONE=1", "TWO=2", NULL) == hash, "a comment counts");
    return 0;
}
