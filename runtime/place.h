/* place.h — the CUDA contexts that a handle works in, told apart by the id that the driver gives each once in
 * the life of the process: another may come to be at the address of one that was reset.
 */
#ifndef GT_PLACE_H
#define GT_PLACE_H

#include "handle.h"

/* The current context as a new place, under the handle's lock. Errors: E_ABSENT (there is none), E_GPU,
 * E_MEMORY. */
enum status place_add(struct gt_handle *handle, struct place **place);

/* The place of the current context, by its id; made if it is new. Errors: those of place_add. */
enum status place_of(struct gt_handle *handle, uint64_t context, struct place **place);

/* False: the context was destroyed or reset, and with it what was in it. */
bool place_is_alive(const struct place *place);

/* With all that is in it. */
void place_free(struct place *place);

/* Give back what nobody needs, when nothing runs. */
void place_trim(struct gt_handle *handle, struct place *place);

enum status place_adopt_context(const struct gt_handle *handle, CUresult result, unsigned long long *context);

/* The context to work in, by its id. A thread without one gets that of gt_open. Errors: E_GPU. */
static inline enum status place_current_context(const struct gt_handle *handle, unsigned long long *context)
{
    CUresult result = cuda.CtxGetId(NULL, context);
    return result == CUDA_SUCCESS ? OK : place_adopt_context(handle, result, context);
}

#endif
