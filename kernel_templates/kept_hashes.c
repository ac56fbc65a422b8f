/* Kernels that keep the numbers under which they were measured, although the texts that they are hashed from
 * have changed since: their machine code has not (tests/compare_kernels.c compares it). The numbers up to
 * commit 69c5e2b were hashes of what the compiler saw of a source, one for each way in which its conditions
 * held.
 *
 * With a change of a source its hash at the end of this file is computed anew, and rows of kernels whose
 * machine code changes are deleted; these kernels then have the number of their source.
 * tests/compare_kernels.c prints both.
 */
#include "kernel_hash.h"

#include <stddef.h>

static const struct kept_kernel simt[] = {
    {90, 1, 0, {2, 1}, 0x834b43d18c502858}, {90, 1, 0, {2, 0}, 0x74abefa308b6b93e},
    {90, 1, 0, {1, 1}, 0x6f83b76b81a16924}, {90, 1, 0, {1, 0}, 0x60e4633cfe07fa0a},
    {90, 1, 0, {0, 1}, 0xb3fc22e38194f13d}, {90, 1, 0, {0, 0}, 0xa55cceb4fdfb8223},
    {90, 0, 1, {2, 1}, 0xf238a8e52ba8b4fc}, {90, 0, 1, {2, 0}, 0xe39954b6a80f45e2},
    {90, 0, 1, {1, 1}, 0xde711c7f20f9f5c8}, {90, 0, 1, {1, 0}, 0xcfd1c8509d6086ae},
    {90, 0, 1, {0, 1}, 0x22e987f720ed7de1}, {90, 0, 1, {0, 0}, 0x144a33c89d540ec7},
    {90, 0, 0, {2, 1}, 0x67395cfb0bffec6a}, {90, 0, 0, {2, 0}, 0x51c5b75efaa1f970},
    {90, 0, 0, {1, 1}, 0x5371d09501512d36}, {90, 0, 0, {1, 0}, 0x3dfe2af8eff33a3c},
    {90, 0, 0, {0, 1}, 0x97ea3c0d0144b54f}, {90, 0, 0, {0, 0}, 0x82769670efe6c255},
    {80, 1, 0, {1, 1}, 0xa89c9d9a0c1bd4c4}, {80, 1, 0, {1, 0}, 0x99fd496b888265aa},
    {80, 1, 0, {0, 1}, 0xed1509120c0f5cdd}, {80, 1, 0, {0, 0}, 0xde75b4e38875edc3},
    {80, 0, 1, {1, 1}, 0x178a02adab746168}, {80, 0, 1, {1, 0}, 0x08eaae7f27daf24e},
    {80, 0, 1, {0, 1}, 0x5c026e25ab67e981}, {80, 0, 1, {0, 0}, 0x4d6319f727ce7a67},
    {80, 0, 0, {1, 1}, 0x8c8ab6c38bcb98d6}, {80, 0, 0, {1, 0}, 0x771711277a6da5dc},
    {80, 0, 0, {0, 1}, 0xd103223b8bbf20ef}, {80, 0, 0, {0, 0}, 0xbb8f7c9f7a612df5},
    {0, 1, 0, {1, 1}, 0x362c22c5dd38c445},  {0, 1, 0, {1, 0}, 0x278cce97599f552b},
    {0, 1, 0, {0, 1}, 0x7aa48e3ddd2c4c5e},  {0, 1, 0, {0, 0}, 0x6c053a0f5992dd44},
    {0, 0, 1, {1, 1}, 0xa51987d97c9150e9},  {0, 0, 1, {1, 0}, 0x967a33aaf8f7e1cf},
    {0, 0, 1, {0, 1}, 0xe991f3517c84d902},  {0, 0, 1, {0, 0}, 0xdaf29f22f8eb69e8},
    {0, 0, 0, {1, 1}, 0x1a1a3bef5ce88857},  {0, 0, 0, {1, 0}, 0x04a696534b8a955d},
    {0, 0, 0, {0, 1}, 0x5e92a7675cdc1070},  {0, 0, 0, {0, 0}, 0x491f01cb4b7e1d76},
};

static const struct kept_kernel skinny[] = {
    {90, 1, 0, {2, 0}, 0xf304b3cdd7e2aaa1}, {90, 1, 0, {0, 0}, 0xdf3d2767cd33eb6d},
    {90, 0, 1, {2, 0}, 0xd20381ae257900c3}, {90, 0, 1, {0, 0}, 0xbe3bf5481aca418f},
    {90, 0, 0, {2, 0}, 0xc33c45bed3cb0f8e}, {90, 0, 0, {0, 0}, 0xaf74b958c91c505a},
    {80, 1, 0, {0, 0}, 0x18560d9657ae570d}, {80, 0, 1, {0, 0}, 0xf754db76a544ad2f},
    {80, 0, 0, {0, 0}, 0xe88d9f875396bbfa}, {0, 1, 0, {0, 0}, 0xa5e592c228cb468e},
    {0, 0, 1, {0, 0}, 0x84e460a276619cb0},  {0, 0, 0, {0, 0}, 0x761d24b324b3ab7b},
};

static const struct kept_kernel resident[] = {
    {90, 1, 0, {3, 0}, 0xe9b116d33ed3a1ea}, {90, 1, 0, {2, 0}, 0xfd5911dd2c0f4fc9},
    {90, 1, 0, {0, 0}, 0xa309d2f643d86232}, {90, 0, 0, {3, 0}, 0xd624730ef88b5541},
    {90, 0, 0, {2, 0}, 0xe9cc6e18e5c70320}, {90, 0, 0, {0, 0}, 0x8f7d2f31fd901589},
    {80, 1, 0, {2, 0}, 0x64befc33b303d00f}, {80, 1, 0, {0, 0}, 0x0a6fbd4ccacce278},
    {80, 0, 0, {2, 0}, 0x5132586f6cbb8366}, {80, 0, 0, {0, 0}, 0xf6e31988848495cf},
    {0, 1, 0, {2, 0}, 0xf24e815f8420bf90},  {0, 1, 0, {0, 0}, 0x97ff42789be9d1f9},
    {0, 0, 0, {2, 0}, 0xc6b5c162bc67561a},  {0, 0, 0, {0, 0}, 0x6c66827bd4306883},
};

static const struct kept_kernel tall[] = {
    {80, 1, 0, {0, 0}, 0xd1980588cc7d4aed},
    {80, 0, 0, {0, 0}, 0xbe0b61c48634fe44},
};

static const struct kept_kernel streamk[] = {
    {90, 1, 0, {0, 0}, 0x12f29e1866947d67}, {90, 0, 0, {0, 0}, 0x8df4ac11dd43a373},
    {80, 1, 0, {0, 0}, 0x1e1d1e9310808996}, {80, 0, 0, {0, 0}, 0x991f2c8c872fafa2},
    {0, 1, 0, {0, 0}, 0xabaca3bee19d7917},  {0, 0, 0, {0, 0}, 0x26aeb1b8584c9f23},
};

static const struct kept_kernel mma[] = {
    {90, 1, 0, {0, 0}, 0xbcdeee07f23abade}, {90, 0, 1, {0, 0}, 0x9bddbbe83fd11100},
    {90, 0, 0, {0, 0}, 0x5c000ff0dded8762}, {80, 1, 0, {0, 0}, 0x6da10e561ba5127e},
    {80, 0, 1, {0, 0}, 0x4c9fdc36693b68a0}, {80, 0, 0, {0, 0}, 0x0cc2303f0757df02},
};

static const struct kept_kernel wgmma[] = {
    {90, 0, 1, {0, 0}, 0xda82933ffd1d9453},
    {90, 0, 0, {0, 0}, 0x9f0fa03320b0727f},
};

static const struct kept_kernel wgmma_tf32[] = {
    {90, 1, 1, {0, 0}, 0xaa25a32fdfa222b1},
    {90, 1, 0, {0, 0}, 0x4ed4914e35725895},
    {90, 0, 1, {0, 0}, 0xf20ea511f3aca303},
    {90, 0, 0, {0, 0}, 0x6d97f24a5a2d8337},
};

/* FUSE 2 and 3 came later; the others' machine code is that of before. */
static const struct kept_kernel bf16x6[] = {
    {90, 1, 1, {2, 0}, 0x104eb7047dce7cb3}, {90, 1, 0, {2, 0}, 0x158f5d6a1e06bfd3},
    {90, 0, 1, {2, 0}, 0x26249e7348bd37a1}, {90, 0, 0, {2, 0}, 0x2d2988134cb77bec},
    {90, 1, 1, {0, 0}, 0x306c5a868d290327}, {90, 1, 0, {0, 0}, 0x29b0cd46352396ff},
    {90, 0, 1, {0, 0}, 0x6b394d7b170bd51f}, {90, 0, 0, {0, 0}, 0x6e6b050ee26e1de6},
};

static const struct kept_kernel f16x3[] = {
    {90, 1, 1, {0, 0}, 0x9250637c2aa19fa1},
    {90, 1, 0, {0, 0}, 0xd8e0625424aff3e3},
    {90, 0, 1, {0, 0}, 0x7f7a9c648aa8a76d},
    {90, 0, 0, {0, 0}, 0x3818bc1c4e3332b0},
};

static const struct kept_kernel ladder_naive[] = {
    {0, 0, 0, {0, 0}, 0x7f5881f5f592b617},
};

static const struct kept_kernel ladder_coalesced[] = {
    {0, 0, 0, {0, 0}, 0xba55f7ab53d406b4},
};

static const struct kept_kernel ladder_shared[] = {
    {0, 0, 0, {0, 0}, 0xe2531804e3bb891c},
};

static const struct kept_kernel ladder_blocktile_1d[] = {
    {0, 0, 0, {0, 0}, 0x8be6ba2b435a3cfa},
};

static const struct kept_kernel ladder_blocktile_2d[] = {
    {0, 0, 0, {0, 0}, 0xb643976e3a036ec3},
};

static const struct kept_kernel ladder_vectorized[] = {
    {0, 0, 0, {0, 0}, 0xfb0ead45d491bab7},
};

static const struct kept_kernel ladder_double_buffered[] = {
    {0, 0, 0, {0, 0}, 0xda7271e88d3a839d},
};

static const struct kept_kernel ladder_warptiled[] = {
    {0, 0, 0, {0, 0}, 0x6ff35c68b1776215},
};

#define KEPT(name, first, second, source)                                                                    \
    {                                                                                                        \
#name, {first, second }, source, name, sizeof name / sizeof *name                                    \
    }

const struct kept_source kept_sources[] = {
    KEPT(simt, "REDUCE", "PACK", 0x4e16634fbeba664c),
    KEPT(skinny, "REDUCE", NULL, 0x3a340732af76b586),
    KEPT(resident, "LOADER", NULL, 0x780355ccdb97dcfd),
    KEPT(tall, NULL, NULL, 0xa0229e558498415d),
    KEPT(streamk, NULL, NULL, 0x7b2d2b50cb845b1f),
    KEPT(mma, NULL, NULL, 0x9ae6ede1919aae9d),
    KEPT(wgmma, NULL, NULL, 0xf2244d39d59eb064),
    KEPT(wgmma_tf32, NULL, NULL, 0xf2244d39d59eb064),
    KEPT(bf16x6, "FUSE", NULL, 0x7d3b0be68de0d2cc),
    KEPT(f16x3, NULL, NULL, 0xe9e8c19ff9adc635),
    KEPT(ladder_naive, NULL, NULL, 0xcbd0101a217f5ac0),
    KEPT(ladder_coalesced, NULL, NULL, 0xdae567f4b97fb1b6),
    KEPT(ladder_shared, NULL, NULL, 0x8b51d5aea637476e),
    KEPT(ladder_blocktile_1d, NULL, NULL, 0x32057159d28cab95),
    KEPT(ladder_blocktile_2d, NULL, NULL, 0x2faacd8591bc33b1),
    KEPT(ladder_vectorized, NULL, NULL, 0x7491b3ed0a78876b),
    KEPT(ladder_double_buffered, NULL, NULL, 0x035a8df0a519f892),
    KEPT(ladder_warptiled, NULL, NULL, 0x52880a069b144d86),
    {.template = NULL},
};
