// What SQLite alone does with the rows that the store writes: the measure of durable acceptance.
#ifndef BARE_SQLITE_H
#define BARE_SQLITE_H

/// Writes rows like those of the table of mailboxes into a new database, so many to a transaction, as the store does:
/// in WAL mode, with an fsync at the end of each transaction.
/// Returns the seconds that it took, or a negative number where SQLite refused.
double bare_sqlite_write(const char *path, int rows, int rows_in_transaction, int payload_bytes);

#endif
