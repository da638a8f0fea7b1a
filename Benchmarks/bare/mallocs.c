/* Counts the heap allocations of a process that is started with this library loaded before all others (LD_PRELOAD). The file
 * that MALLOCS names holds the count as eight bytes, which another process may read at any time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* What the program would have called: glibc's, or those of its own allocator. */
static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void *(*next_aligned_alloc)(size_t, size_t);
static void *(*next_memalign)(size_t, size_t);
static int (*next_posix_memalign)(void **, size_t, size_t);

static atomic_ulong before_file;
static atomic_ulong *count = &before_file;

__attribute__((constructor)) static void open_file(void) {
    const char *path = getenv("MALLOCS");
    int file = path ? open(path, O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    if (file < 0 || ftruncate(file, sizeof *count) < 0) return;
    void *shared = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (shared != MAP_FAILED) count = shared;
}

/* dlsym itself may ask for memory before the functions are known. It gets some of this, which is never given back. */
static char early[4096];
static size_t early_used;

static void *early_memory(size_t size) {
    size_t start = (early_used + 15) & ~(size_t)15;
    if (size > sizeof early - start) return NULL;
    early_used = start + size;
    return early + start;
}

static void *find(const char *name) { return dlsym(RTLD_NEXT, name); }

static void add(void) { atomic_fetch_add_explicit(count, 1, memory_order_relaxed); }

void *malloc(size_t size) {
    add();
    if (!next_malloc) next_malloc = find("malloc");
    return next_malloc(size);
}

void *calloc(size_t number, size_t size) {
    static int is_finding;
    add();
    if (!next_calloc) {
        if (is_finding) return early_memory(number * size);
        is_finding = 1;
        next_calloc = find("calloc");
    }
    return next_calloc(number, size);
}

void *realloc(void *old, size_t size) {
    add();
    if (!next_realloc) next_realloc = find("realloc");
    return next_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    add();
    if (!next_aligned_alloc) next_aligned_alloc = find("aligned_alloc");
    return next_aligned_alloc(alignment, size);
}

void *memalign(size_t alignment, size_t size) {
    add();
    if (!next_memalign) next_memalign = find("memalign");
    return next_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    add();
    if (!next_posix_memalign) next_posix_memalign = find("posix_memalign");
    return next_posix_memalign(result, alignment, size);
}
