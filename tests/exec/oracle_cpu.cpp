/* oracle_cpu.cpp — the judge's own kernels as functions of the CPU execution (cpu_block.h). */
extern "C" double fabs(double);
extern "C" double exp(double);

template <typename T> static T atomicMax(T *p, T value)
{
    T old = *p;
    if (value > old) *p = value;
    return old;
}

#include "oracle.cu"
#include <gemm_args.h>

/* The only argument of a grid is a struct gemm_args, so its first pointer points to the real argument. */
#define ON_CPU(kernel, args)                                                                                 \
    extern "C" void cpu_##kernel(struct gemm_args p)                                                         \
    {                                                                                                        \
        kernel(*(const struct args *)(const void *)p.a);                                                     \
    }
ON_CPU(fill, fill_args)
ON_CPU(addresses, addresses_args)
ON_CPU(reference, reference_args)
ON_CPU(in_order, in_order_args)
ON_CPU(finish, reference_args)
ON_CPU(epilogue, epilogue_args)
ON_CPU(compare, compare_args)
ON_CPU(rewrite, rewrite_args)
ON_CPU(fingerprint, scan_args)
ON_CPU(untouched, scan_args)
