// A disk below SQLite that fails on request: for tests alone.
//
// It is a VFS (https://www.sqlite.org/vfs.html) over the system's own. Files below a folder that was added fail as that
// folder is told to; all others are passed on as they are.
#ifndef FAULTY_DISK_H
#define FAULTY_DISK_H

enum faulty_disk_fault {
    FAULTY_DISK_NONE = 0,
    /// Writing finds no room.
    FAULTY_DISK_FULL = 1,
    /// Writing fails.
    FAULTY_DISK_WRITE = 2,
    /// What was written cannot be brought to the disk.
    FAULTY_DISK_SYNC = 3,
    /// Bringing it to the disk takes until the fault is over.
    FAULTY_DISK_SLOW = 4,
};

/// Makes this the VFS that databases are opened with. Harmless when it is that already.
/// Returns 0 when it is.
int faulty_disk_install(void);

/// Adds a folder by its absolute path. Returns its number, or -1 when there are too many.
int faulty_disk_add(const char *folder);

/// What the folder's files do from now on.
void faulty_disk_set(int folder, enum faulty_disk_fault fault);

/// How many calls have failed, or have waited.
long faulty_disk_count(int folder);

#endif
