/* fake_lock.h — the fakes' own locks, and what their "device" does, order nothing between the program's
 * threads: the driver promises no such order, and it would hide the program's races from the thread
 * sanitizer. What the device may do at once is fake_order.c's to judge.
 */
#ifndef GT_FAKE_LOCK_H
#define GT_FAKE_LOCK_H

#include <pthread.h>

#ifdef __SANITIZE_THREAD__
void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#define FAKE_ANNOTATE(what) Annotate##what(__FILE__, __LINE__)
#else
#define FAKE_ANNOTATE(what) (void)0
#endif

/* Around what the device does, not the calling thread. */
static inline void fake_device_begin(void)
{
    FAKE_ANNOTATE(IgnoreSyncBegin);
    FAKE_ANNOTATE(IgnoreReadsBegin);
    FAKE_ANNOTATE(IgnoreWritesBegin);
}

static inline void fake_device_end(void)
{
    FAKE_ANNOTATE(IgnoreWritesEnd);
    FAKE_ANNOTATE(IgnoreReadsEnd);
    FAKE_ANNOTATE(IgnoreSyncEnd);
}

static inline void fake_lock(pthread_mutex_t *lock)
{
    fake_device_begin();
    pthread_mutex_lock(lock);
}

static inline void fake_unlock(pthread_mutex_t *lock)
{
    pthread_mutex_unlock(lock);
    fake_device_end();
}

#endif
