// For dl_iterate_phdr.
#define _GNU_SOURCE
#include "CPages.h"

// Not in a debug build, where a debugger may have written breakpoints into the code.
#if defined(__linux__) && defined(__LP64__) && !defined(DEBUG)
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int release(struct dl_phdr_info *object, size_t size, void *context) {
    (void)size;
    uintptr_t page = *(uintptr_t *)context;
    // The kernel's own object is in no file.
    if (object->dlpi_name != 0 && strstr(object->dlpi_name, "vdso") != 0) return 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || (part->p_flags & PF_W) != 0) continue;
        uintptr_t start = (object->dlpi_addr + part->p_vaddr + page - 1) / page * page;
        uintptr_t end = (object->dlpi_addr + part->p_vaddr + part->p_filesz) / page * page;
        // If this fails, the pages stay.
        if (end > start) madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}

void carillon_pages_release(void) {
    long bytes = sysconf(_SC_PAGESIZE);
    if (bytes <= 0) return;
    uintptr_t page = (uintptr_t)bytes;
    dl_iterate_phdr(release, &page);
}
#else
void carillon_pages_release(void) {}
#endif
