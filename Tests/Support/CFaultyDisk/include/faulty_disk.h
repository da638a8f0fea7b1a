// A disk below SQLite that fails on request, for tests only.
//
// It is a VFS (https://www.sqlite.org/vfs.html) on top of the system's own. Files below an added folder fail as that
// folder was told; all other files work as usual.
#ifndef FAULTY_DISK_H
#define FAULTY_DISK_H

enum faulty_disk_fault {
    FAULTY_DISK_NONE = 0,
    /// There is no room for writing.
    FAULTY_DISK_FULL = 1,
    /// Writing fails.
    FAULTY_DISK_WRITE = 2,
    /// Syncing to the disk fails.
    FAULTY_DISK_SYNC = 3,
    /// Syncing waits until the fault is over.
    FAULTY_DISK_SLOW = 4,
};

/// Makes this the default VFS. Calling it again is harmless. Returns 0 on success.
int faulty_disk_install(void);

/// Adds a folder by its absolute path. Returns its number, or -1 if there are too many.
int faulty_disk_add(const char *folder);

/// Sets how the folder's files behave from now on.
void faulty_disk_set(int folder, enum faulty_disk_fault fault);

/// Returns how many calls have failed or waited.
long faulty_disk_count(int folder);

#endif
