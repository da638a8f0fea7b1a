// Tells the Thread Sanitizer of the locks that it does not see. A Mutex of Swift's Synchronization that nobody waits for is locked and
// unlocked by instructions in our own code, which is instrumented. With a waiting thread, functions of the system's library do it, which
// is not: without this, everything under a contended lock is reported.
//
// script/tsan compiles it and loads it before that library.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *mutex
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

// A program that is not instrumented has neither.
void __tsan_acquire(void *address) __attribute__((weak));
void __tsan_release(void *address) __attribute__((weak));

SWIFT void carillon_lock(uint32_t thread, SELF) __asm__(LOCK);
SWIFT void carillon_lock(uint32_t thread, SELF) {
    SWIFT void (*lock)(uint32_t, SELF) = dlsym(RTLD_NEXT, LOCK);
    lock(thread, mutex);
    if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT void carillon_unlock(SELF) __asm__(UNLOCK);
SWIFT void carillon_unlock(SELF) {
    SWIFT void (*unlock)(SELF) = dlsym(RTLD_NEXT, UNLOCK);
    if (__tsan_release) __tsan_release(mutex);
    unlock(mutex);
}
