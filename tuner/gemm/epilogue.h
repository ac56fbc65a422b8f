/* epilogue.h — what a kernel does to the product before it stores it (operand.h), as a number and as text.
 *
 * The bias is a vector of the elements of C: one for each column of row-major C (as in a linear layer), or
 * one for each row. Out of place D has the leading dimension and batch stride of C.
 *
 * The number (code) is what problems and kernels are told: bias + 4 * activation + 16 * out_of_place; 0: no
 * epilogue. The text joins the names of its parts by '+': "bias+gelu+out"; it is empty for 0.
 */
#ifndef GT_EPILOGUE_H
#define GT_EPILOGUE_H

#include "operand.h"
#include "status.h"
#include <stdbool.h>

enum epilogue_bias {
    BIAS_NONE,
    BIAS_COLUMN, /* n values; value j is added to column j of C */
    BIAS_ROW     /* m values; value i is added to row i of C */
};

/* GELU: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), which is what cublasLt computes. A NaN stays a
 * NaN. */
enum epilogue_activation { ACTIVATION_NONE, ACTIVATION_RELU, ACTIVATION_GELU };

int epilogue_code(enum epilogue_bias bias, enum epilogue_activation activation, bool out_of_place);

/* The parts of a code that is known. */
enum epilogue_bias epilogue_bias(int code);
enum epilogue_activation epilogue_activation(int code);
bool epilogue_out_of_place(int code);

bool epilogue_is_known(int code);

/* Does cublasLt apply it? It has no bias for the rows of row-major C. */
bool epilogue_in_cublaslt(int code);

#define EPILOGUE_TEXT_MAX 24

/* Parts in the order bias or rowbias, relu or gelu, out. The code must be known. */
void epilogue_format(int code, char text[EPILOGUE_TEXT_MAX]);

/* At least one part, in any order. Errors: E_INPUT, with a sentence that lists what there is. */
enum status epilogue_parse(const char *text, int *code);

#endif
