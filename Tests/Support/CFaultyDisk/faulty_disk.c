#include "faulty_disk.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { MAXIMUM_FOLDERS = 64, MAXIMUM_PATH = 512 };

struct folder {
    char path[MAXIMUM_PATH];
    atomic_int fault;
    atomic_long count;
};

static struct folder folders[MAXIMUM_FOLDERS];
static atomic_int folder_count;
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

static sqlite3_vfs vfs;
static sqlite3_vfs *system_vfs;

// An open file: our part, followed by the system's.
struct file {
    sqlite3_file base;
    struct folder *folder;
};

static sqlite3_file *real(sqlite3_file *file) { return (sqlite3_file *)((struct file *)file + 1); }

static int fault_of(sqlite3_file *file) {
    struct folder *folder = ((struct file *)file)->folder;
    return folder ? atomic_load(&folder->fault) : FAULTY_DISK_NONE;
}

static int failed(sqlite3_file *file, int code) {
    atomic_fetch_add(&((struct file *)file)->folder->count, 1);
    return code;
}

static int file_close(sqlite3_file *file) { return real(file)->pMethods->xClose(real(file)); }

static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    return real(file)->pMethods->xRead(real(file), bytes, count, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    switch (fault_of(file)) {
    case FAULTY_DISK_FULL: return failed(file, SQLITE_FULL);
    case FAULTY_DISK_WRITE: return failed(file, SQLITE_IOERR_WRITE);
    default: return real(file)->pMethods->xWrite(real(file), bytes, count, offset);
    }
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
    return real(file)->pMethods->xTruncate(real(file), size);
}

static int file_sync(sqlite3_file *file, int flags) {
    if (fault_of(file) == FAULTY_DISK_SYNC) return failed(file, SQLITE_IOERR_FSYNC);
    if (fault_of(file) == FAULTY_DISK_SLOW) {
        failed(file, SQLITE_OK);
        while (fault_of(file) == FAULTY_DISK_SLOW) usleep(500);
    }
    return real(file)->pMethods->xSync(real(file), flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
    return real(file)->pMethods->xFileSize(real(file), size);
}

static int file_lock(sqlite3_file *file, int level) { return real(file)->pMethods->xLock(real(file), level); }
static int file_unlock(sqlite3_file *file, int level) { return real(file)->pMethods->xUnlock(real(file), level); }

static int file_check_reserved_lock(sqlite3_file *file, int *result) {
    return real(file)->pMethods->xCheckReservedLock(real(file), result);
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
    return real(file)->pMethods->xFileControl(real(file), operation, argument);
}

static int file_sector_size(sqlite3_file *file) { return real(file)->pMethods->xSectorSize(real(file)); }

static int file_characteristics(sqlite3_file *file) {
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **memory) {
    return real(file)->pMethods->xShmMap(real(file), page, size, extend, memory);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file) { real(file)->pMethods->xShmBarrier(real(file)); }

static int file_shm_unmap(sqlite3_file *file, int delete) {
    return real(file)->pMethods->xShmUnmap(real(file), delete);
}

// Version 2 has no memory mapping, which would bypass this VFS.
static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_reserved_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

static struct folder *folder_of(const char *path) {
    if (!path) return 0;
    int count = atomic_load(&folder_count);
    for (int index = 0; index < count; index++) {
        size_t length = strlen(folders[index].path);
        if (strncmp(path, folders[index].path, length) == 0 && path[length] == '/') return &folders[index];
    }
    return 0;
}

static int vfs_open(sqlite3_vfs *self, const char *path, sqlite3_file *file, int flags, int *out_flags) {
    (void)self;
    file->pMethods = 0;
    ((struct file *)file)->folder = folder_of(path);
    int code = system_vfs->xOpen(system_vfs, path, real(file), flags, out_flags);
    if (real(file)->pMethods) file->pMethods = &methods;
    return code;
}

int faulty_disk_install(void) {
    pthread_mutex_lock(&adding);
    if (!system_vfs) {
        system_vfs = sqlite3_vfs_find(0);
        vfs = *system_vfs;
        vfs.pNext = 0;
        vfs.zName = "faulty-disk";
        vfs.szOsFile = (int)sizeof(struct file) + system_vfs->szOsFile;
        vfs.xOpen = vfs_open;
        // The other functions use the VFS only to find the system's data in it, which the copy has.
        if (sqlite3_vfs_register(&vfs, 1) != SQLITE_OK) system_vfs = 0;
    }
    int is_installed = system_vfs != 0;
    pthread_mutex_unlock(&adding);
    return is_installed ? 0 : -1;
}

int faulty_disk_add(const char *path) {
    pthread_mutex_lock(&adding);
    int number = atomic_load(&folder_count);
    if (number >= MAXIMUM_FOLDERS || strlen(path) >= MAXIMUM_PATH) {
        pthread_mutex_unlock(&adding);
        return -1;
    }
    strcpy(folders[number].path, path);
    atomic_store(&folder_count, number + 1);
    pthread_mutex_unlock(&adding);
    return number;
}

void faulty_disk_set(int folder, enum faulty_disk_fault fault) {
    if (folder >= 0 && folder < MAXIMUM_FOLDERS) atomic_store(&folders[folder].fault, fault);
}

long faulty_disk_count(int folder) {
    return folder >= 0 && folder < MAXIMUM_FOLDERS ? atomic_load(&folders[folder].count) : 0;
}
