/* SPDX-License-Identifier: MIT */
/* winner_epilogue_code.h — the definitions to winner_epilogue.h.
 */
#ifndef GT_WINNER_EPILOGUE_CODE
#define GT_WINNER_EPILOGUE_CODE

#ifdef __cplusplus
extern "C" {
#endif

GT_WINNERS_API const struct gt_winner_set *
gt_winner_epilogue_find(const struct gt_winner_epilogues *epilogues, int bias, int activation,
                        int out_of_place)
{
    int32_t i;
    for (i = 0; epilogues && i < epilogues->count; i++) {
        const struct gt_winner_epilogue *e = &epilogues->list[i];
        if (e->bias == bias && e->activation == activation && e->out_of_place == (out_of_place != 0))
            return e->set;
    }
    return NULL;
}

#ifdef __cplusplus
}
#endif

#endif
