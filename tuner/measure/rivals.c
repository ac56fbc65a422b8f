#include "rival_open.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Types that have a rival of a role: bits. */
enum {
    STRICT = 1,   /* strict FP32 */
    RELAXED = 2,  /* those with an arithmetic of their own */
    EMULATED = 4, /* accuracy classes that cuBLAS emulates */
};

/* The arithmetic stands between the two parts, in a name "TF32", in a sentence "with TF32". */
static const struct {
    unsigned of;
    const char *role, *name, *name_end, *what, *what_end;
    int epilogues;
    bool pointers;
    int algorithm;
    enum status (*open)(struct trial_setup *setup, const struct rival_row *row, struct kernel *kernel,
                        char detail[RIVAL_DETAIL_MAX]);
} roles[] = {
    {STRICT, "cublas", "cublasSgemm", "", "cublasSgemm", "", RIVAL_PLAIN, false, 0, rival_sgemm_open},
    {STRICT, "cublas", "cublasSgemmBatched", "", "cublasSgemmBatched", "", RIVAL_PLAIN, true, 0,
     rival_sgemm_open},
    {RELAXED, "cublas", "cublasGemmEx", "", "cublasGemmEx", "", RIVAL_PLAIN, false, RIVAL_ALGORITHM_DEFAULT,
     rival_gemm_ex_open},
    {RELAXED, "cublas", "cublasGemmBatchedEx", "", "cublasGemmBatchedEx", "", RIVAL_PLAIN, true,
     RIVAL_ALGORITHM_DEFAULT, rival_gemm_ex_open},
    {STRICT, "cublas", "cublasLt", " epilogue", "cublasLt", " with its epilogue", RIVAL_EPILOGUE, false,
     RIVAL_ALGORITHM_FIRST, rival_lt_open},
    {RELAXED, "cublas", "cublasLt", " epilogue", "cublasLt", " and its epilogue", RIVAL_EPILOGUE, false,
     RIVAL_ALGORITHM_FIRST, rival_lt_open},
    {STRICT | RELAXED, "lt", "cublasLt", "", "the best of cublasLt", "", RIVAL_PLAIN | RIVAL_EPILOGUE, false,
     0, rival_lt_open},
    {STRICT | RELAXED, "autotune", "cublasGemmEx", " autotune", "CUBLAS_GEMM_AUTOTUNE", "", RIVAL_PLAIN,
     false, RIVAL_ALGORITHM_AUTOTUNE, rival_gemm_ex_open},
    {EMULATED, "bf16x9", "cublasGemmEx", "", "", " emulation", RIVAL_PLAIN, false, RIVAL_ALGORITHM_DEFAULT,
     rival_gemm_ex_open},
};
enum { ROLES = sizeof roles / sizeof *roles };
_Static_assert((int)ROLES == (int)RIVAL_ROLES, "there is room for all rivals");

static struct rival_row rows[RIVALS_MAX];
static int row_count;

static unsigned kind_of(const struct gemm_type_row *type)
{
    if (!type->compute[0]) return 0;
    return type->rms_limit > 0 ? EMULATED : type->arithmetic ? RELAXED : STRICT;
}

static void add_row(enum gemm_type delivers, int role)
{
    const struct gemm_type_row *type = gemm_type_row(delivers);
    const bool ex = roles[role].open != rival_sgemm_open;
    struct rival_row *row = &rows[row_count];
    *row = (struct rival_row){.number = row_count++,
                              .role = roles[role].role,
                              .delivers = delivers,
                              .epilogues = roles[role].epilogues,
                              .pointers = roles[role].pointers,
                              .compute = ex ? type->compute[0] : 0,
                              .algorithm = roles[role].algorithm,
                              .open = roles[role].open};
    const char *word = type->arithmetic ? type->arithmetic : "", *what = roles[role].what;
    snprintf(row->name, sizeof row->name, "%s%s%s%s", roles[role].name, word[0] ? " " : "", word,
             roles[role].name_end);
    snprintf(row->what, sizeof row->what, "%s%s%s%s", what, word[0] && what[0] ? " with " : "", word,
             roles[role].what_end);
}

static void make_rows(void)
{
    for (int type = 0; type < GEMM_TYPE_COUNT; type++)
        for (int role = 0; role < ROLES; role++)
            if (roles[role].of & kind_of(gemm_type_row((enum gemm_type)type)))
                add_row((enum gemm_type)type, role);
}

const struct rival_row *rival_at(int number)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_rows);
    return number < row_count ? &rows[number] : NULL;
}

bool rival_is_known(const char *role)
{
    for (int i = 0; i < ROLES; i++)
        if (strcmp(roles[i].role, role) == 0) return true;
    return false;
}

const struct rival_row *rival_for(const char *role, const struct problem *problem)
{
    const struct rival_row *found = NULL, *row;
    const int epilogue = !problem->epilogue                        ? RIVAL_PLAIN
                         : epilogue_in_cublaslt(problem->epilogue) ? RIVAL_EPILOGUE
                                                                   : 0;
    for (int i = 0; (row = rival_at(i)); i++) {
        if (strcmp(row->role, role) != 0 || !(row->epilogues & epilogue) ||
            row->pointers != problem->pointers)
            continue;
        if (row->delivers == problem->type) return row;
        if (!gemm_type_satisfies(row->delivers, problem->type)) continue;
        if (!found) found = row;
    }
    return found;
}

const struct rival_row *rival_anchor(const struct problem *problem)
{
    return rival_for("cublas", problem);
}
