#pragma once

// Changes of the machine's clock (timerfd_create(2)), which Swift's module of glibc does not have.
#if defined(__linux__)
#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

// Returns a descriptor that can be read when the clock of the machine was set, and after it was suspended; -1 if there is none.
// Its timer itself is never due.
static inline int carillon_clock_open(void) {
    int clock = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (clock < 0) return -1;
    struct itimerspec never = { .it_value = { .tv_sec = INT64_MAX } };
    if (timerfd_settime(clock, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) == 0) return clock;
    close(clock);
    return -1;
}

// How long the machine has been suspended since it was started, in nanoseconds.
static inline int64_t carillon_clock_suspended(void) {
    struct timespec all, awake;
    if (clock_gettime(CLOCK_MONOTONIC, &awake) != 0 || clock_gettime(CLOCK_BOOTTIME, &all) != 0) return 0;
    return (int64_t)(all.tv_sec - awake.tv_sec) * 1000000000 + (all.tv_nsec - awake.tv_nsec);
}
#endif
