#include "CQuietDispatch.h"

// libdispatch, on whose threads Swift runs tasks on Linux, looks at its threads once a second from its first task on, without end. It
// starts another one if too many of them wait in system calls. Tasks of a program that is idle for hours must not wake the machine for that,
// and must not wait in system calls anyway.
//
// These two functions are what libdispatch calls when a thread of its pool begins and ends. In a program that has libdispatch inside
// (--static-swift-stdlib), they replace libdispatch's own, so that no thread is looked at and no timer is started. A program that loads
// libdispatch, such as a debug build, has its own ones.
#if defined(__linux__)
void _dispatch_workq_worker_register(void *queue);
void _dispatch_workq_worker_unregister(void *queue);

void _dispatch_workq_worker_register(void *queue) { (void)queue; }
void _dispatch_workq_worker_unregister(void *queue) { (void)queue; }
#endif
