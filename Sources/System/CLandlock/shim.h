#pragma once

// Landlock (https://docs.kernel.org/userspace-api/landlock.html), which glibc has no functions for. The numbers of the system
// calls are the same on all architectures.
#if defined(__linux__)
#include <fcntl.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Opens a place for a rule, and for nothing else. glibc shows its own name for this only to some programs.
#if defined(O_PATH)
static const int carillon_open_path = O_PATH;
#else
static const int carillon_open_path = __O_PATH;
#endif

// What is open: 1 if it is a folder, 0 if it is a file, and -1 if it is a link or nobody knows.
static inline int carillon_is_folder(int place) {
    struct stat status;
    if (fstat(place, &status) != 0 || S_ISLNK(status.st_mode)) return -1;
    return S_ISDIR(status.st_mode) ? 1 : 0;
}

// The version that the kernel has; less than 1 if it has none, or does not allow it.
static inline int carillon_landlock_version(void) {
    return (int)syscall(444, (void *)0, (size_t)0, 1u);
}

// Makes a set of rules, under which these kinds of access need a rule. Returns its descriptor, or -1.
static inline int carillon_landlock_create(uint64_t handled) {
    struct { uint64_t handled_access_fs; } attributes = { handled };
    return (int)syscall(444, &attributes, sizeof attributes, 0u);
}

// Allows access to everything at and below an open file or folder.
static inline int carillon_landlock_allow(int rules, int place, uint64_t allowed) {
    struct { uint64_t allowed_access; int32_t parent_fd; } __attribute__((packed)) attributes = { allowed, place };
    return (int)syscall(445, rules, 1, &attributes, 0u);
}

// Makes this process the parent of all descendants whose own parent has ended (prctl(2)). Returns 0, or -1.
static inline int carillon_become_subreaper(void) {
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

// The number of a child that has ended and was not collected yet. Waits until there is one. It stays as it is. -1 if there is no
// child, or a signal came (errno).
static inline int carillon_ended_child(void) {
    // waitid(2), with the beginning of siginfo_t: <sys/wait.h> would bring types that other modules of Swift have.
    struct {
        int number, error, code;
        union { long alignment; int process; char rest[112]; } of;
    } child;
    const int any = 0, ended = 4, stays = 0x01000000;
    return syscall(SYS_waitid, any, 0, &child, ended | stays, (void *)0) == 0 ? child.of.process : -1;
}

// The descriptor of the process at the other end of a Unix socket (unix(7), SO_PEERPIDFD, Linux 6.5); -1 if there is none (errno).
static inline int carillon_peer_process(int socket) {
    int process = -1;
    unsigned int length = sizeof process;
    const int level = 1, option = 77;
    return syscall(SYS_getsockopt, socket, level, option, &process, &length) == 0 ? process : -1;
}

// Applies the rules to this thread and to all programs that it becomes or starts.
static inline int carillon_landlock_restrict(int rules) {
    // Otherwise a program with the set-user-ID bit would run under rules that it does not know.
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return (int)syscall(446, rules, 0u);
}
#endif
