#include "epilogue.h"

#include <stdio.h>
#include <string.h>

#define ACTIVATION_MASK 12

/* In the order of the text. */
static const struct {
    const char *name;
    int code, mask; /* mask: of this part and its alternatives */
} parts[] = {{"bias", BIAS_COLUMN, EPILOGUE_BIAS},
             {"rowbias", BIAS_ROW, EPILOGUE_BIAS},
             {"relu", 4 * ACTIVATION_RELU, ACTIVATION_MASK},
             {"gelu", 4 * ACTIVATION_GELU, ACTIVATION_MASK},
             {"out", EPILOGUE_OUT, EPILOGUE_OUT}};
#define PARTS ((int)(sizeof parts / sizeof *parts))

int epilogue_code(enum epilogue_bias bias, enum epilogue_activation activation, bool out_of_place)
{
    return (int)bias + 4 * (int)activation + (out_of_place ? EPILOGUE_OUT : 0);
}

enum epilogue_bias epilogue_bias(int code)
{
    return (enum epilogue_bias)(code & EPILOGUE_BIAS);
}

enum epilogue_activation epilogue_activation(int code)
{
    return (enum epilogue_activation)((code & ACTIVATION_MASK) / 4);
}

bool epilogue_out_of_place(int code)
{
    return (code & EPILOGUE_OUT) != 0;
}

bool epilogue_is_known(int code)
{
    return code >= 0 && code < EPILOGUE_CODES && (code & EPILOGUE_BIAS) <= BIAS_ROW &&
           (code & ACTIVATION_MASK) <= 4 * ACTIVATION_GELU;
}

bool epilogue_in_cublaslt(int code)
{
    const bool of_cublaslt = !(code & ~(EPILOGUE_BIAS | ACTIVATION_MASK | EPILOGUE_OUT));
    return of_cublaslt && epilogue_is_known(code) && epilogue_bias(code) != BIAS_ROW;
}

void epilogue_format(int code, char text[EPILOGUE_TEXT_MAX])
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < PARTS; i++) {
        if ((code & parts[i].mask) != parts[i].code) continue;
        used +=
            (size_t)snprintf(text + used, EPILOGUE_TEXT_MAX - used, "%s%s", used ? "+" : "", parts[i].name);
    }
}

/* -1: there is no such part. */
static int find_part(const char *name, size_t length)
{
    for (int i = 0; i < PARTS; i++)
        if (strlen(parts[i].name) == length && memcmp(parts[i].name, name, length) == 0) return i;
    return -1;
}

enum status epilogue_parse(const char *text, int *code)
{
    int all = 0;
    for (const char *at = text;; at++) {
        const size_t length = strcspn(at, "+");
        const int i = find_part(at, length);
        if (i < 0)
            return fail(E_INPUT,
                        "unknown part '%.*s' of the epilogue '%.40s'; parts are bias or rowbias, relu or "
                        "gelu, and out, joined by '+'",
                        (int)(length < 16 ? length : 16), at, text);
        if (all & parts[i].mask)
            return fail(E_INPUT,
                        "the epilogue '%.40s' has two parts of a kind; it has at most one of bias and "
                        "rowbias, one of relu and gelu, and out",
                        text);
        all |= parts[i].code;
        at += length;
        if (*at == '\0') break;
    }
    *code = all;
    return OK;
}
