/* Measures the least that storing can cost: writes the rows of a mailbox table again, with SQLite alone, in as many
 * transactions as the service needed, with the same durability. Prints the seconds of CPU that the writing took.
 *
 *     bare SOURCE TARGET TRANSACTIONS CHECKPOINT
 *
 * SOURCE is the service's database after its run; TARGET gets the same tables. CHECKPOINT is the service's
 * DatabaseOpening.checkpointPages.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define COLUMNS 13

static void must(int result, sqlite3 *database) {
    if (result == SQLITE_OK || result == SQLITE_DONE || result == SQLITE_ROW) return;
    fprintf(stderr, "bare: %s\n", sqlite3_errmsg(database));
    exit(1);
}

static void run(sqlite3 *database, const char *sql) { must(sqlite3_exec(database, sql, 0, 0, 0), database); }

static double cpu(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* The rows. They are read before the measurement begins. */
static sqlite3_value **load(sqlite3 *source, int *count) {
    sqlite3_stmt *rows;
    int room = 0;
    sqlite3_value **values = NULL;
    /* Read them in the order in which they were stored. */
    must(sqlite3_prepare_v2(source, "SELECT * FROM mailbox ORDER BY version", -1, &rows, 0), source);
    for (*count = 0; sqlite3_step(rows) == SQLITE_ROW; ++*count) {
        if (*count == room) {
            room = room ? 2 * room : 1024;
            values = realloc(values, room * COLUMNS * sizeof *values);
        }
        for (int column = 0; column < COLUMNS; column++)
            values[*count * COLUMNS + column] = sqlite3_value_dup(sqlite3_column_value(rows, column));
    }
    sqlite3_finalize(rows);
    return values;
}

static void copy_schema(sqlite3 *source, sqlite3 *target) {
    sqlite3_stmt *made;
    const char *sql = "SELECT sql FROM sqlite_schema WHERE tbl_name = 'mailbox' AND sql IS NOT NULL ORDER BY type DESC";
    /* If the target exists, its rows are overwritten, as the service overwrites its own. */
    if (sqlite3_table_column_metadata(target, 0, "mailbox", 0, 0, 0, 0, 0, 0) == SQLITE_OK) return;
    must(sqlite3_prepare_v2(source, sql, -1, &made, 0), source);
    while (sqlite3_step(made) == SQLITE_ROW) run(target, (const char *)sqlite3_column_text(made, 0));
    sqlite3_finalize(made);
}

int main(int count, char **arguments) {
    if (count != 5) return fprintf(stderr, "usage: bare SOURCE TARGET TRANSACTIONS CHECKPOINT\n"), 2;
    sqlite3 *source, *target;
    sqlite3_stmt *store;
    int rows, transactions = atoi(arguments[3]);
    must(sqlite3_open(arguments[1], &source), source);
    must(sqlite3_open(arguments[2], &target), target);
    sqlite3_value **values = load(source, &rows);
    if (transactions < 1) transactions = 1;
    /* Use the same settings as the service: see DatabaseOpening.swift. */
    run(target, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -8192");
    must(sqlite3_wal_autocheckpoint(target, atoi(arguments[4])), target);
    copy_schema(source, target);
    must(sqlite3_prepare_v2(target, "REPLACE INTO mailbox VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)", -1, &store, 0), target);

    double began = cpu();
    for (int transaction = 0, row = 0; transaction < transactions; transaction++) {
        int end = (long long)rows * (transaction + 1) / transactions;
        if (row == end) continue;
        run(target, "BEGIN IMMEDIATE");
        for (; row < end; row++) {
            for (int column = 0; column < COLUMNS; column++)
                sqlite3_bind_value(store, column + 1, values[row * COLUMNS + column]);
            must(sqlite3_step(store), target);
            sqlite3_reset(store);
        }
        run(target, "COMMIT");
    }
    printf("{\"rows\":%d,\"cpu\":%.4f}\n", rows, cpu() - began);
    return 0;
}
