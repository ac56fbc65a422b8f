/* modules.h — machine code of kernels, loaded into a context, each once: threads that need a kernel which is
 * being built wait for it.
 *
 * The first MODULES_KEPT stay until the context is closed. Further ones are counted: one that neither a
 * plan nor a captured graph uses is unloaded when there are too many of these. Unloading waits for the
 * device.
 */
#ifndef GT_MODULES_H
#define GT_MODULES_H

#include "entries.h"
#include "handle.h"
#include "kernel_key.h"

#define MODULES_KEPT 256
#define MODULES_IDLE 32 /* of the others, without a user */

/* The module of a kernel whose configuration has passed its rules, in the current context, which must be this
 * one, with a reference that is the caller's to release. Taken from the cache, or from the machine code that
 * ships, else compiled.
 * E_ABSENT: this kernel cannot be had, with the reason, which is remembered; *passing is set if it was a lack
 * of memory, and it is tried again from time to time. Errors: E_COMPILER (nothing can be compiled), E_MEMORY.
 */
enum status modules_get(struct gpu_context *context, const struct kernel_key *kernel, struct module **module,
                        bool *passing);

/* In this thread, from begin to end, modules_get answers E_BUSY where it would have to compile a kernel or to
 * wait for another thread that does; later it may be asked again. True: it has done so. */
void modules_no_compiling_begin(void);
bool modules_no_compiling_end(void);

/* Adds or drops a reference. */
void modules_share(struct module *module);
void modules_release(struct module *module);

CUmodule module_code(const struct module *module);

/* Kernels that have parameters of their own, in the module's machine code: as entries_find. */
enum status module_entries(const struct module *module, struct launch_plan *plan, struct entries *entries);

/* True if the module is never unloaded. */
bool module_is_kept(const struct module *module);

/* Unloads kernels that no plan uses, in their context. */
void modules_trim(struct gpu_context *context);

/* Unload all, in its context; with the context gone, only forget them. */
void modules_close(struct gpu_context *context, bool context_gone);

#endif
