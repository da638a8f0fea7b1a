// SQLite alone with rows like the store's, to compare durable acceptance with.
#ifndef BARE_SQLITE_H
#define BARE_SQLITE_H

/// Writes rows like those of the mailbox table into a new database, as the store does: in WAL mode, with this many rows
/// in a transaction and an fsync at the end of each. Returns the seconds that this took, or a negative number if SQLite
/// failed.
double bare_sqlite_write(const char *path, int rows, int rows_in_transaction, int payload_bytes);

#endif
