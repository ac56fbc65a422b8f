/* dlsym.h — dlsym, for programs that open cuBLAS themselves and ask for its functions by name (JAX, ctypes,
 * Julia): the handle is the real library's, and so is every answer, except the functions that the drop-in
 * replaces. Where other libraries answer dlsym, too, before the drop-in or behind it, each is asked.
 */
#ifndef GT_DLSYM_H
#define GT_DLSYM_H

/* What dlsym gives a program that has no drop-in. Exported, because our own libraries and programs need the
 * real cuBLAS (tuner/gpu/library.c). The handle is that of a library. */
void *gemmtune_real_dlsym(void *handle, const char *name);

/* The first function of that name in what is loaded behind the drop-in; NULL: there is none. */
void *dlsym_behind(const char *name);

#endif
