/* dlsym.h — dlsym, for programs that open cuBLAS themselves and ask for its functions by name (JAX, ctypes,
 * Julia): the handle is the real library's, and so is every answer, except the functions that the drop-in
 * replaces.
 */
#ifndef GT_DLSYM_H
#define GT_DLSYM_H

/* The C library's own dlsym. Exported, because our own libraries and programs need the real cuBLAS
 * (tuner/gpu/library.c). */
void *gemmtune_real_dlsym(void *handle, const char *name);

#endif
