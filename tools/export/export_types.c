#include "export_header.h"

#include "winner_types.h"

#include <ctype.h>
#include <string.h>

/* "bf16gemm:c=f32": BF16GEMM_TO_F32 */
static void write_name(const char *name, FILE *f)
{
    const char *c = strchr(name, ':');
    fprintf(f, "GT_WINNER_");
    for (; *name && *name != ':'; name++) putc(toupper((unsigned char)*name), f);
    if (!c) return;
    fprintf(f, "_TO_");
    for (c = strchr(c, '=') + 1; *c; c++) putc(toupper((unsigned char)*c), f);
}

static void write_table(const char *about, const char *name, unsigned (*of)(int type), FILE *f)
{
    fprintf(f, "\n/* %s */\nstatic inline unsigned %s(int type)\n{\n    static const unsigned of[] = {",
            about, name);
    for (int t = 0; t < GT_WINNER_TYPES; t++) fprintf(f, "%s%u", t ? ", " : "", of(t));
    fprintf(f, "};\n    return of[type];\n}\n");
}

static void write_list(FILE *f)
{
    fprintf(f, "/* How exact a product must be. A kernel of strict FP32 also answers TF32GEMM; one that was "
               "measured against\n"
               " * the limits of SGEMM_ACCURATE also answers SGEMM_NORMWISE. Never the reverse. */\n"
               "enum gt_winner_type {\n");
    for (int t = 0; t < GT_WINNER_TYPES; t++) {
        const struct gemm_type_row *row = gemm_type_row((enum gemm_type)t);
        fprintf(f, "    ");
        write_name(row->name, f);
        fprintf(f, " = %d%s /* %s */\n", t, t + 1 < GT_WINNER_TYPES ? "," : "", row->meaning);
    }
    fprintf(f, "};\n#define GT_WINNER_TYPES %d\n", GT_WINNER_TYPES);
    write_table("Bit t: what won for a type may answer for type t.", "gt_winner_type_answers",
                gt_winner_type_answers, f);
    write_table("Bit t: it was raced against the rival of type t, too.", "gt_winner_type_decides",
                gt_winner_type_decides, f);
    write_table("Measured errors decide which kernels may answer.", "gt_winner_type_is_measured",
                gt_winner_type_is_measured, f);
    fprintf(f, "\n/* Of an element of A (0), B (1) or C (2). */\n"
               "static inline int gt_winner_type_bytes(int type, int operand)\n"
               "{\n"
               "    static const unsigned char bytes[][3] = {");
    for (int t = 0; t < GT_WINNER_TYPES; t++)
        fprintf(f, "%s{%d, %d, %d}", t ? ", " : "", gt_winner_type_bytes(t, 0), gt_winner_type_bytes(t, 1),
                gt_winner_type_bytes(t, 2));
    fprintf(f, "};\n    return bytes[type][operand];\n}\n");
}

void types_write(const char *text, FILE *f)
{
    static const char mark[] = "#include \"winner_types.h\"";
    const char *at = strstr(text, mark), *rest = strchr(at, '\n') + 1;
    fprintf(f,
            "#if defined(GT_WINNER_TYPES) && GT_WINNER_TYPES != %d\n"
            "#error \"headers exported by different versions of gemmtune do not go together: export them "
            "again\"\n"
            "#endif\n%.*s",
            GT_WINNER_TYPES, (int)(at - text), text);
    write_list(f);
    fprintf(f, "%s\n", rest);
}
