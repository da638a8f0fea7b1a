#include "bare_sqlite.h"

#include <sqlite3.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static const char *const setup =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -8192;"
    "PRAGMA wal_autocheckpoint = 8192;"
    "CREATE TABLE mailbox (environment INTEGER NOT NULL, device INTEGER NOT NULL, app INTEGER NOT NULL,"
    " version INTEGER NOT NULL, expires INTEGER NOT NULL, id BLOB NOT NULL, priority INTEGER NOT NULL,"
    " expiration INTEGER, contents INTEGER NOT NULL, push_type TEXT, topic TEXT NOT NULL, collapse_id TEXT,"
    " payload BLOB NOT NULL, PRIMARY KEY (environment, device, app)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX mailbox_by_expiry ON mailbox (expires);";

double bare_sqlite_write(const char *path, int rows, int rows_in_transaction, int payload_bytes) {
    static char payload[8192];
    memset(payload, 'x', sizeof payload);
    sqlite3 *database;
    sqlite3_stmt *insert;
    if (sqlite3_open(path, &database) != SQLITE_OK) return -1;
    if (sqlite3_exec(database, setup, 0, 0, 0) != SQLITE_OK) return -2;
    if (sqlite3_prepare_v2(database,
                           "REPLACE INTO mailbox VALUES (1, ?, 1, ?, ?, ?, 10, NULL, 3, NULL, 'com.example.app', NULL, ?)",
                           -1, &insert, 0) != SQLITE_OK)
        return -3;
    double start = seconds();
    uint64_t device = 1;
    for (int row = 0; row < rows;) {
        if (sqlite3_exec(database, "BEGIN IMMEDIATE", 0, 0, 0) != SQLITE_OK) return -4;
        for (int index = 0; index < rows_in_transaction && row < rows; index++, row++) {
            // As scattered as real device IDs.
            device = device * 6364136223846793005u + 1442695040888963407u;
            uint64_t id[2] = {device, (uint64_t)row};
            sqlite3_bind_int64(insert, 1, (sqlite3_int64)device);
            sqlite3_bind_int64(insert, 2, row + 1);
            sqlite3_bind_int64(insert, 3, 1700000000000 + row);
            sqlite3_bind_blob(insert, 4, id, sizeof id, SQLITE_STATIC);
            sqlite3_bind_blob(insert, 5, payload, payload_bytes, SQLITE_STATIC);
            if (sqlite3_step(insert) != SQLITE_DONE) return -5;
            sqlite3_reset(insert);
        }
        if (sqlite3_exec(database, "COMMIT", 0, 0, 0) != SQLITE_OK) return -6;
    }
    double end = seconds();
    sqlite3_finalize(insert);
    sqlite3_close(database);
    return end - start;
}
