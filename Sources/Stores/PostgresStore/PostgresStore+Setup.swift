import PostgresClient

extension PostgresStore {
    /// Switches off waiting for the disk on connections that only read. Reading mailboxes locks their rows, and
    /// PostgreSQL writes locks as it writes changes, but they need not survive a crash.
    static let noWaitForDisk = PostgresStatement("SET synchronous_commit = off")
}
