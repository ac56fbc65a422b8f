/* Kernels whose hash changed since schema 1 while their machine code did not. Schema 1 hashed the names and
 * the code of all sources of a template (column template_hash). For each such hash, the table lists the
 * hashes that the template's kernels have now.
 *
 * A row says that measurements under the old hash hold for the new one. If a kernel changes, its hash
 * changes, and its rows no longer match. If a source changes without changing the machine code, the right
 * column may be updated after the machine code was compared.
 */
#include "kernel_hash.h"

static const struct {
    uint64_t template_hash, kernel_hash;
} rows[] = {
    {0x96e908e2942d6e51, 0x491f01cb4b7e1d76}, /* simt sm_75 */
    {0x96e908e2942d6e51, 0x5e92a7675cdc1070}, /* simt PACK=1 sm_75 */
    {0x96e908e2942d6e51, 0x04a696534b8a955d}, /* simt REDUCE=1 sm_75 */
    {0x96e908e2942d6e51, 0x1a1a3bef5ce88857}, /* simt REDUCE=1 PACK=1 sm_75 */
    {0x96e908e2942d6e51, 0xbb8f7c9f7a612df5}, /* simt sm_80 */
    {0x96e908e2942d6e51, 0xd103223b8bbf20ef}, /* simt PACK=1 sm_80 */
    {0x96e908e2942d6e51, 0x771711277a6da5dc}, /* simt REDUCE=1 sm_80 */
    {0x96e908e2942d6e51, 0x8c8ab6c38bcb98d6}, /* simt REDUCE=1 PACK=1 sm_80 */
    {0x96e908e2942d6e51, 0x82769670efe6c255}, /* simt sm_90 */
    {0x96e908e2942d6e51, 0x97ea3c0d0144b54f}, /* simt PACK=1 sm_90 */
    {0x96e908e2942d6e51, 0x3dfe2af8eff33a3c}, /* simt REDUCE=1 sm_90 */
    {0x96e908e2942d6e51, 0x5371d09501512d36}, /* simt REDUCE=1 PACK=1 sm_90 */
    {0x96e908e2942d6e51, 0x51c5b75efaa1f970}, /* simt REDUCE=2 sm_90 */
    {0x96e908e2942d6e51, 0x67395cfb0bffec6a}, /* simt REDUCE=2 PACK=1 sm_90 */
    {0xb2cd04c2b0ee79b4, 0x761d24b324b3ab7b}, /* skinny REDUCE=0 sm_75 */
    {0xb2cd04c2b0ee79b4, 0xe88d9f875396bbfa}, /* skinny REDUCE=0 sm_80 */
    {0xb2cd04c2b0ee79b4, 0xaf74b958c91c505a}, /* skinny REDUCE=0 sm_90 */
    {0xb2cd04c2b0ee79b4, 0xc33c45bed3cb0f8e}, /* skinny REDUCE=2 sm_90 */
    {0x17cb4170b7d78690, 0xf6e31988848495cf}, /* resident sm_80 */
    {0x17cb4170b7d78690, 0x5132586f6cbb8366}, /* resident LOADER=2 sm_80 */
    {0x17cb4170b7d78690, 0x3d8a5d657f7fd587}, /* resident LOADER=3 sm_80 */
    {0x17cb4170b7d78690, 0x8f7d2f31fd901589}, /* resident sm_90 */
    {0x17cb4170b7d78690, 0xe9cc6e18e5c70320}, /* resident LOADER=2 sm_90 */
    {0x17cb4170b7d78690, 0xd624730ef88b5541}, /* resident LOADER=3 sm_90 */
    {0x54d32facd828c143, 0x7f5881f5f592b617}, /* ladder_naive */
    {0x2be6f1c1520bef62, 0xba55f7ab53d406b4}, /* ladder_coalesced */
    {0xb366899e11f9fb44, 0xe2531804e3bb891c}, /* ladder_shared */
    {0x4757a246980b1db9, 0xb643976e3a036ec3}, /* ladder_blocktile_2d */
    {0xf501d74fcd43f564, 0xfb0ead45d491bab7}, /* ladder_vectorized */
    {0xe57a6c3a6cdb93b1, 0xda7271e88d3a839d}, /* ladder_double_buffered */
    {0x7f429af17d475bce, 0x6ff35c68b1776215}, /* ladder_warptiled */
};

bool kernel_hash_was(const struct kernel_key *key, uint64_t template_hash)
{
    const uint64_t now = kernel_hash(key);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].template_hash == template_hash && rows[i].kernel_hash == now) return true;
    return false;
}
