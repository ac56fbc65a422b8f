/* Kernels whose source changed since they were measured while their machine code did not: they keep the hash
 * under which databases and winners know them.
 *
 * A row says that the machine code was compared: with a change of such a source, its left column is computed
 * anew. If a kernel itself changes, its source's hash is in no row, and that is then its hash.
 */
#include "kernel_hash.h"

#include <stddef.h>

static const struct {
    uint64_t source, kernel;
} rows[] = {
    {0xd05b1145e39baa50, 0x491f01cb4b7e1d76}, /* simt sm_75 */
    {0xdefa65746735196a, 0x5e92a7675cdc1070}, /* simt PACK=1 sm_75 */
    {0x8be2a5cde3a82237, 0x04a696534b8a955d}, /* simt REDUCE=1 sm_75 */
    {0x9a81f9fc67419151, 0x1a1a3bef5ce88857}, /* simt PACK=1 REDUCE=1 sm_75 */
    {0x42cb8c1a127ebacf, 0xbb8f7c9f7a612df5}, /* simt sm_80 */
    {0x516ae048961829e9, 0xd103223b8bbf20ef}, /* simt PACK=1 sm_80 */
    {0xfe5320a2128b32b6, 0x771711277a6da5dc}, /* simt REDUCE=1 sm_80 */
    {0x0cf274d09624a1d0, 0x8c8ab6c38bcb98d6}, /* simt PACK=1 REDUCE=1 sm_80 */
    {0x09b2a5eb88044f2f, 0x82769670efe6c255}, /* simt sm_90 */
    {0x1851fa1a0b9dbe49, 0x97ea3c0d0144b54f}, /* simt PACK=1 sm_90 */
    {0xc53a3a738810c716, 0x3dfe2af8eff33a3c}, /* simt REDUCE=1 sm_90 */
    {0xd901c6d992bf864a, 0x51c5b75efaa1f970}, /* simt REDUCE=2 sm_90 */
    {0xd3d98ea20baa3630, 0x5371d09501512d36}, /* simt PACK=1 REDUCE=1 sm_90 */
    {0xe7a11b081658f564, 0x67395cfb0bffec6a}, /* simt PACK=1 REDUCE=2 sm_90 */
    {0x7a4cd2c56111dd18, 0x761d24b324b3ab7b}, /* skinny sm_75 */
    {0xecbd4d998ff4ed97, 0xe88d9f875396bbfa}, /* skinny sm_80 */
    {0xb3a4676b057a81f7, 0xaf74b958c91c505a}, /* skinny sm_90 */
    {0xc76bf3d11029412b, 0xc33c45bed3cb0f8e}, /* skinny REDUCE=2 sm_90 */
    {0xded6fd5003137902, 0xf6e31988848495cf}, /* resident sm_80 */
    {0x39263c36eb4a6699, 0x5132586f6cbb8366}, /* resident LOADER=2 sm_80 */
    {0x777112f97c1ef8bc, 0x8f7d2f31fd901589}, /* resident sm_90 */
    {0xd1c051e06455e653, 0xe9cc6e18e5c70320}, /* resident LOADER=2 sm_90 */
    {0xbe1856d6771a3874, 0xd624730ef88b5541}, /* resident LOADER=3 sm_90 */
    {0xa5ff458c04c3e177, 0xbe0b61c48634fe44}, /* tall sm_80 */
    {0x42084e5953eba908, 0x0cc2303f0757df02}, /* mma sm_80 */
    {0x91462e0b2a815168, 0x5c000ff0dded8762}, /* mma sm_90 */
};

uint64_t kernel_hash_kept(uint64_t source)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].source == source) return rows[i].kernel;
    return source;
}
