/* lt_epilogue.h — the epilogue of a call of cublasLtMatmul. */
#ifndef GT_LT_EPILOGUE_H
#define GT_LT_EPILOGUE_H

#include "engine.h"

/* value: that of LT_DESC_EPILOGUE. reads_c: beta may be other than 0. by_rows: D is in row order. request:
 * has the type and the sizes; epilogue, bias and source are set. NULL: done; else why no kernel computes such
 * a call. */
struct refusal *lt_epilogue_read(const struct matmul *x, int value, bool reads_c, bool by_rows,
                                 struct blas_request *request);

#endif
