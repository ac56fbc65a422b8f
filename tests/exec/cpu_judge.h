/* cpu_judge.h — a problem with its operands and right answers, made by kernels that are executed on the CPU.
 */
#ifndef GT_CPU_JUDGE_H
#define GT_CPU_JUDGE_H

#include "host_device.h"
#include "oracle.h"
#include "problem_texts.h"

#define ROOM ((int64_t)1 << 30)
#define SEED 7

static struct device device;
static struct oracle_kernels kernels;

static inline int open_device(void **state)
{
    (void)state;
    host_device_open(&device, &kernels);
    return 0;
}

/* Of all ops, sizes that no tile fits, and paddings. */
static const char *const ragged[] = {
    "nn:1x1x1",
    "nn:65x63x17:lda=20:ldb=64:ldc=70",
    "nt:64x128x16:alpha=2.5:beta=-0.75",
    "tn:3x130x700:lda=5:ldb=131:beta=1",
    "tt:70x5x33:batch=3:lda=72:ldb=40:ldc=6:alpha=-1:beta=2",
    "nn:7x9x0:beta=0.5",
    "nt:2x2x5:batch=2:stride_a=1",
    "tn:17x9x12:batch=3:stride_a=0:beta=1",
    "nt:9x17x12:batch=3:stride_b=0:epilogue=bias+relu",
    "nn:8x8x8:batch=5:stride_a=0:stride_b=0",
    "tn:67x2x1200:alpha=0.125",
    "nn:65x63x17:epilogue=bias",
    "nt:64x128x16:alpha=2.5:beta=-0.75:epilogue=bias+gelu",
    "tt:70x5x33:batch=3:lda=72:ldb=40:ldc=6:alpha=-1:beta=2:epilogue=rowbias+relu+out:stride_bias=71",
    "tn:3x130x700:ldc=140:beta=1:epilogue=out",
    "nn:7x9x0:beta=0.5:epilogue=bias+gelu",
    "tn:67x2x1200:alpha=-2:epilogue=gelu",
    "nt:2x2x5:batch=2:stride_a=1:epilogue=bias:stride_bias=1",
    "nn:5x6x7:alpha=-3:epilogue=relu",
    "nn:9x8x7:batch=2:beta=1:epilogue=rowbias+out",
    "nn:6x7x8:alpha=0:epilogue=rowbias+gelu",
};

struct cpu_judge {
    struct workload work;
    struct oracle oracle;
};

static inline struct oracle_limits limits_of(int64_t room)
{
    return oracle_limits(&device.gpu, room, ORACLE_SECONDS);
}

static inline void cpu_judge_open(const char *text, int64_t room, struct cpu_judge *cpu_judge)
{
    const struct problem p = problem_of(text);
    assert_ok(workload_open(&kernels, &p, true, SEED, (int64_t)8 << 20, &cpu_judge->work));
    const struct oracle_limits limits = limits_of(room);
    assert_ok(oracle_open(&cpu_judge->work, SEED, &limits, &cpu_judge->oracle));
}

static inline void cpu_judge_close(struct cpu_judge *cpu_judge)
{
    oracle_close(&cpu_judge->oracle);
    workload_close(&cpu_judge->work);
    assert_int_equal(host_bytes_in_use, 0);
}

#endif
