/* cpu_products.c — products of matrices in shared memory by a warpgroup: each thread computes its part of a
 * product when it waits for it, which is as late as allowed. */
#include "cpu_elements.h"
#include "cpu_threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The interface declared in gt_cpu.h. */
void gt_product_begin(void);
void gt_product_issue(float (*sums)[4], int quads, uint64_t left, uint64_t right, int left_along_k,
                      int right_along_k, int bf16, int anew);
void gt_product_issue_tf32(float (*sums)[4], int quads, uint64_t left, const float *x, uint64_t right);
void gt_product_issue_e5m2(float (*sums)[4], int quads, uint64_t left, uint64_t right, int anew);
void gt_product_issue_left(float (*sums)[4], int quads, const unsigned *x, uint64_t right, int anew);
void gt_warp_share(const void *value, int bytes, void *all);
void gt_not_tf32(float value);
void gt_product_commit(void);
void gt_product_wait(int pending);
void gt_warp_barrier(unsigned mask);
extern int gt_sums_again;
int gt_sums_again;

enum {
    PRODUCT_K = 16,
    PRODUCT_K_TF32 = 8,
    PRODUCT_K_E5M2 = 32,
    QUADS_MAX = 32,
    HELD_MAX = 4,
    WARPGROUP = 4 * WARP
};

/* A thread's sums that products on the way add to. The thread has NaN in their place. */
struct held {
    float (*at)[4];
    int quads, products; /* products: on the way */
    float value[QUADS_MAX][4];
};

struct product {
    struct held *held;
    int group; /* number of the commit that closed its group; -1: still open */
    uint64_t left, right;
    int left_along_k, right_along_k, bf16;
    int anew; /* what was in the sums is not added to */
    bool tf32, e5m2, in_registers;
    const float *x; /* registers of the left operand of TF32; NULL: it is in shared memory */
    float x_was[4], rows[2][PRODUCT_K]; /* rows: of the left operand, if it is in registers */
};

struct pending {
    struct product *product;
    int count, room, groups;
    bool begun;
    struct held held[HELD_MAX];
};

static struct pending pending_of[THREADS_MAX];

/* Where the element of row x and k of a matrix lies, in the 128-byte swizzle: moves whole 16 bytes. */
static const uint16_t *place_of(uint64_t matrix, int along_k, int x, int k)
{
    const uintptr_t offset = along_k ? (uintptr_t)(x / 8 * 1024 + x % 8 * 128 + k * 2)
                                     : (uintptr_t)(x / 64 * 8192 + k / 8 * 1024 + k % 8 * 128 + x % 64 * 2);
    uintptr_t at = (uintptr_t)(matrix * 16) + offset;
    at ^= (at >> 7 & 7) << 4;
    return (const uint16_t *)at;
}

/* All k of row x. */
static void read_row(uint64_t matrix, int along_k, int x, int bf16, float row[PRODUCT_K])
{
    uint16_t bits[PRODUCT_K];
    if (along_k)
        for (int k = 0; k < PRODUCT_K; k += 8) memcpy(bits + k, place_of(matrix, along_k, x, k), 16);
    else
        for (int k = 0; k < PRODUCT_K; k++) bits[k] = *place_of(matrix, along_k, x, k);
    for (int k = 0; k < PRODUCT_K; k++) row[k] = element_value(bf16, bits[k]);
}

/* Of TF32, in lines along k. */
static float tf32_of(uint64_t matrix, int x, int k)
{
    uintptr_t at = (uintptr_t)(matrix * 16) + (uintptr_t)(x / 8 * 1024 + x % 8 * 128 + k * 4);
    at ^= (at >> 7 & 7) << 4;
    uint32_t bits;
    float value;
    memcpy(&bits, (const void *)at, sizeof bits);
    memcpy(&value, &bits, sizeof value);
    if (bits & 0x1fffU) gt_not_tf32(value);
    return value;
}

/* All k of row x, of FP8 in lines along k: a byte is the high one of FP16. */
static void read_e5m2(uint64_t matrix, int x, float row[PRODUCT_K_E5M2])
{
    for (int k = 0; k < PRODUCT_K_E5M2; k++) {
        uintptr_t at = (uintptr_t)(matrix * 16) + (uintptr_t)(x / 8 * 1024 + x % 8 * 128 + k);
        at ^= (at >> 7 & 7) << 4;
        row[k] = element_value(0, (uint16_t)(*(const uint8_t *)at << 8));
    }
}

static void read_left(const struct product *p, int i, int x, float row[PRODUCT_K_E5M2])
{
    if (p->x || p->in_registers) memcpy(row, p->rows[i], sizeof p->rows[i]);
    else if (p->tf32)
        for (int k = 0; k < PRODUCT_K_TF32; k++) row[k] = tf32_of(p->left, x, k);
    else if (p->e5m2) read_e5m2(p->left, x, row);
    else read_row(p->left, p->left_along_k, x, p->bf16, row);
}

static void read_right(const struct product *p, int x, float row[PRODUCT_K_E5M2])
{
    if (p->tf32)
        for (int k = 0; k < PRODUCT_K_TF32; k++) row[k] = tf32_of(p->right, x, k);
    else if (p->e5m2) read_e5m2(p->right, x, row);
    else read_row(p->right, p->right_along_k, x, p->bf16, row);
}

/* A float not further from zero: what the tensor cores do to their sums. */
static float truncated(double x)
{
    const float near = (float)x;
    return fabs((double)near) > fabs(x) ? nextafterf(near, 0.0F) : near;
}

/* Sums of FP8 products keep about 14 bits (DeepSeek-AI 2024, "DeepSeek-V3 technical report", section 3.3.2).
 */
static float coarse(double x)
{
    int exponent;
    const double fraction = frexp(x, &exponent);
    return isfinite(x) ? (float)ldexp(trunc(fraction * 0x1p14), exponent - 14) : (float)x;
}

/* Not watched by the sanitizer, since nothing here is the kernel's: it took most of the time of wgmma's
 * tests. */
__attribute__((no_sanitize("address", "undefined"))) static void compute(const struct product *p)
{
    const int lane = self % WARP, row = self % thread_count % WARPGROUP / WARP * 16 + lane / 4;
    const int depth = p->tf32 ? PRODUCT_K_TF32 : p->e5m2 ? PRODUCT_K_E5M2 : PRODUCT_K;
    float left[2][PRODUCT_K_E5M2], right[PRODUCT_K_E5M2];
    if (p->x && memcmp(p->x, p->x_was, sizeof p->x_was) != 0)
        broken("writes to registers of a left operand while its products are on the way");
    for (int i = 0; i < 2; i++) read_left(p, i, row + 8 * i, left[i]);
    for (int q = 0; q < p->held->quads; q++)
        for (int j = 0; j < 2; j++) {
            float *const quad = p->held->value[q];
            double sum[2] = {p->anew ? 0 : quad[j], p->anew ? 0 : quad[2 + j]};
            read_right(p, 8 * q + lane % 4 * 2 + j, right);
            for (int k = 0; k < depth; k++) {
                sum[0] += (double)left[0][k] * (double)right[k];
                sum[1] += (double)left[1][k] * (double)right[k];
            }
            quad[j] = p->e5m2 ? coarse(sum[0]) : truncated(sum[0]);
            quad[2 + j] = p->e5m2 ? coarse(sum[1]) : truncated(sum[1]);
        }
}

static void hold(struct held *held, float (*sums)[4], int quads)
{
    *held = (struct held){.at = sums, .quads = quads};
    memcpy(held->value, sums, (size_t)quads * sizeof *sums);
    memset(sums, 0xff, (size_t)quads * sizeof *sums);
}

/* Gives the thread its sums back. */
static void give_back(const struct held *held)
{
    for (int q = 0; q < held->quads; q++)
        for (int e = 0; e < 4; e++)
            if (!isnan(held->at[q][e])) broken("somebody wrote to sums while products were on the way there");
    memcpy(held->at, held->value, (size_t)held->quads * sizeof *held->at);
}

/* The thread's sums, held from now on. */
static struct held *held_sums(struct pending *t, float (*sums)[4], int quads)
{
    struct held *room = NULL;
    for (int i = 0; i < HELD_MAX; i++) {
        struct held *const held = &t->held[i];
        if (held->products == 0) room = held;
        else if (held->at == sums && held->quads == quads) return held;
        else if (held->at < sums + quads && sums < held->at + held->quads)
            broken("starts products of different widths with the same sums");
    }
    if (!room) broken("adds to more than %d arrays of sums at once", HELD_MAX);
    if (!t->begun) broken("starts products without wgmma_begin()");
    hold(room, sums, quads);
    return room;
}

void gt_product_begin(void)
{
    pending_of[self].begun = true;
}

static void issue(float (*sums)[4], int quads, const struct product *product)
{
    struct pending *t = &pending_of[self];
    if (quads < 1 || quads > QUADS_MAX) broken("multiplies by %d columns at once", 8 * quads);
    if (t->count == t->room) {
        t->room = t->room ? 2 * t->room : 64;
        t->product = realloc(t->product, (size_t)t->room * sizeof *t->product);
        if (!t->product) abort();
    }
    struct held *const held = held_sums(t, sums, quads);
    held->products++;
    t->product[t->count] = *product;
    t->product[t->count].held = held;
    t->product[t->count++].group = -1;
}

void gt_product_issue(float (*sums)[4], int quads, uint64_t left, uint64_t right, int left_along_k,
                      int right_along_k, int bf16, int anew)
{
    issue(sums, quads,
          &(struct product){.left = left,
                            .right = right,
                            .left_along_k = left_along_k,
                            .right_along_k = right_along_k,
                            .bf16 = bf16,
                            .anew = anew});
}

void gt_product_issue_tf32(float (*sums)[4], int quads, uint64_t left, const float *x, uint64_t right)
{
    struct product product = {.left = left, .right = right, .tf32 = true, .x = x};
    if (x) {
        memcpy(product.x_was, x, sizeof product.x_was);
        float all[WARP][4];
        gt_warp_share(x, sizeof all[0], all);
        for (int i = 0; i < 2; i++)
            for (int k = 0; k < PRODUCT_K_TF32; k++)
                product.rows[i][k] = all[self % WARP / 4 * 4 + k % 4][i + k / 4 * 2];
        for (int i = 0; i < 4; i++) {
            uint32_t bits;
            memcpy(&bits, x + i, sizeof bits);
            if (bits & 0x1fffU) gt_not_tf32(x[i]);
        }
    }
    issue(sums, quads, &product);
}

void gt_product_issue_e5m2(float (*sums)[4], int quads, uint64_t left, uint64_t right, int anew)
{
    issue(sums, quads, &(struct product){.left = left, .right = right, .e5m2 = true, .anew = anew});
}

void gt_product_issue_left(float (*sums)[4], int quads, const unsigned *x, uint64_t right, int anew)
{
    struct product product = {
        .right = right, .right_along_k = 1, .bf16 = 1, .anew = anew, .in_registers = true};
    unsigned all[WARP][4];
    gt_warp_share(x, sizeof all[0], all);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < PRODUCT_K; k++) {
            const unsigned two = all[self % WARP / 4 * 4 + k % 8 / 2][i + k / 8 * 2];
            product.rows[i][k] = element_value(1, (uint16_t)(two >> k % 2 * 16));
        }
    issue(sums, quads, &product);
}

void gt_product_commit(void)
{
    struct pending *t = &pending_of[self];
    for (int i = t->count; i > 0 && t->product[i - 1].group < 0; i--) t->product[i - 1].group = t->groups;
    t->groups++;
}

void gt_product_wait(int pending)
{
    struct pending *t = &pending_of[self];
    int done = 0;
    while (done < t->count && t->product[done].group >= 0 && t->product[done].group < t->groups - pending) {
        struct held *const held = t->product[done].held;
        compute(&t->product[done++]);
        if (--held->products == 0) give_back(held);
    }
    t->count -= done;
    if (done > 0) memmove(t->product, t->product + done, (size_t)t->count * sizeof *t->product);
    if (t->count == 0) t->begun = false;
    gt_warp_barrier(0xffffffffU); /* a warp waits as one */
}

void products_begin(void)
{
    for (int i = 0; i < cluster * thread_count; i++) {
        pending_of[i].count = pending_of[i].groups = 0;
        pending_of[i].begun = false;
        for (int h = 0; h < HELD_MAX; h++) pending_of[i].held[h].products = 0;
    }
}

void products_end_thread(void)
{
    if (pending_of[self].count > 0) broken("ends while its products are on the way");
}
