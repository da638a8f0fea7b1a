import PostgresClient

/// The tables, and the numbered migrations that made them.
///
/// A migration adds; it never changes what nodes of the release before rely on, because old and new nodes run side by
/// side during an upgrade. If it has to, it raises ``oldest``, and old nodes refuse to start.
enum PostgresSchema {
    /// The newest migration that this build knows.
    static var newest: Int64 { Int64(migrations.count) }
    /// The oldest build, by its newest migration, that works with the tables after all migrations.
    static let oldest: Int64 = 1

    /// The table that must exist before the first migration: its row is the lock.
    static let foundation: [StaticString] = [
        "CREATE SCHEMA IF NOT EXISTS carillon",
        """
        CREATE TABLE IF NOT EXISTS carillon.schema_version (
            is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
            newest bigint NOT NULL,
            oldest bigint NOT NULL
        )
        """,
        "INSERT INTO carillon.schema_version VALUES (true, 0, 0) ON CONFLICT DO NOTHING",
    ]

    static let migrations: [[StaticString]] = [first, attemptMark, storeCopy, nodes]

    private static let first: [StaticString] = [
        // One row: the version of the accounts, and the number of the newest app, whether it is still there or not.
        """
        CREATE TABLE carillon.accounts (
            is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
            version bigint NOT NULL,
            last_app bigint NOT NULL
        )
        """,
        "INSERT INTO carillon.accounts VALUES (true, 0, 0)",
        // Texts from outside are bytes, because PostgreSQL's texts cannot hold a NUL.
        """
        CREATE TABLE carillon.team (
            id text PRIMARY KEY,
            name bytea NOT NULL
        )
        """,
        """
        CREATE TABLE carillon.app (
            id bigint PRIMARY KEY,
            bundle_id text NOT NULL UNIQUE,
            team text NOT NULL REFERENCES carillon.team (id)
        )
        """,
        // Apps whose registrations have to be removed. The number of an app never comes again, so they stay here.
        "CREATE TABLE carillon.deleted_app (id bigint PRIMARY KEY)",
        """
        CREATE TABLE carillon.signing_key (
            id text PRIMARY KEY,
            team text NOT NULL REFERENCES carillon.team (id),
            public_key bytea NOT NULL,
            development boolean NOT NULL,
            production boolean NOT NULL,
            revoked bigint,
            bundle_ids text
        )
        """,
        """
        CREATE TABLE carillon.provider_certificate (
            serial bytea PRIMARY KEY,
            team text NOT NULL REFERENCES carillon.team (id),
            bundle_id text NOT NULL,
            development boolean NOT NULL,
            production boolean NOT NULL,
            valid_until bigint NOT NULL,
            revoked bigint
        )
        """,
        """
        CREATE TABLE carillon.invitation (
            digest bytea PRIMARY KEY,
            environment smallint NOT NULL,
            expires bigint NOT NULL
        )
        """,
        "CREATE INDEX invitation_by_expiry ON carillon.invitation (expires)",
        // The nodes, each with the end of its lease by the server's clock.
        """
        CREATE TABLE carillon.node (
            identity bytea PRIMARY KEY,
            name bytea NOT NULL UNIQUE,
            until timestamptz NOT NULL
        )
        """,
        // value: sealed with the store key, which is not in the database.
        """
        CREATE TABLE carillon.secret (
            name text PRIMARY KEY,
            value bytea NOT NULL
        )
        """,
        // A device's row is locked by whoever registers an app on it, revokes it or renews its tokens.
        // node: which one holds its stream, or none; epoch counts the nodes that have taken it.
        // environment: 0 development, 1 production. Moments: milliseconds since 1970.
        """
        CREATE TABLE carillon.device (
            device bigint NOT NULL,
            environment smallint NOT NULL,
            revoked bigint,
            node bytea,
            epoch bigint NOT NULL DEFAULT 0,
            PRIMARY KEY (device, environment)
        )
        """,
        "CREATE INDEX device_by_node ON carillon.device (node) WHERE node IS NOT NULL",
        // Changes that a node has to read: a destination that another node has changed, or, with the app -1, a device
        // that another node has taken in this epoch.
        """
        CREATE TABLE carillon.announcement (
            node bytea NOT NULL,
            device bigint NOT NULL,
            environment smallint NOT NULL,
            app bigint NOT NULL,
            epoch bigint NOT NULL,
            PRIMARY KEY (node, device, environment, app)
        )
        """,
        "CREATE INDEX revoked_device ON carillon.device (device) WHERE revoked IS NOT NULL",
        // A registration and its mailbox in one row, so that every operation on both is atomic by changing one row.
        // expires and what follows is the mailbox, all NULL while it is empty. version is the mailbox's last one and
        // only grows. There is room on each page for the new version of a row.
        """
        CREATE TABLE carillon.destination (
            device bigint NOT NULL,
            environment smallint NOT NULL,
            app bigint NOT NULL,
            generation bigint NOT NULL,
            token_key bigint NOT NULL,
            token_since bigint NOT NULL,
            changed bigint NOT NULL,
            version bigint NOT NULL DEFAULT 0,
            expires bigint,
            expiration bigint,
            priority smallint,
            contents smallint,
            active boolean NOT NULL,
            id bytea,
            push_type text,
            topic bytea,
            collapse_id bytea,
            payload bytea,
            PRIMARY KEY (device, environment, app)
        ) WITH (fillfactor = 70)
        """,
        // Compressing 4 KB costs more time than it saves space.
        "ALTER TABLE carillon.destination ALTER COLUMN payload SET STORAGE EXTERNAL",
        "CREATE INDEX destination_by_app ON carillon.destination (app)",
        "CREATE INDEX destination_by_expiry ON carillon.destination (expires) WHERE expires IS NOT NULL",
        // The last number that was given out in a feedback list. Locking the row makes entries visible in the order
        // of their numbers; otherwise a provider that confirms one could remove another that it has not seen.
        """
        CREATE TABLE carillon.feedback_list (
            environment smallint NOT NULL,
            app bigint NOT NULL,
            last bigint NOT NULL,
            PRIMARY KEY (environment, app)
        )
        """,
        """
        CREATE TABLE carillon.feedback (
            device bigint NOT NULL,
            environment smallint NOT NULL,
            app bigint NOT NULL,
            generation bigint NOT NULL,
            number bigint NOT NULL,
            moment bigint NOT NULL,
            token bytea NOT NULL,
            PRIMARY KEY (device, environment, app, generation)
        )
        """,
        "CREATE INDEX feedback_by_list ON carillon.feedback (environment, app, number)",
    ]

    private static let attemptMark: [StaticString] = [
        // One row, inserted when the first bound is written. The numbers of all delivery attempts are smaller than
        // `bound`. `moment` is when it was chosen, in milliseconds since 1970.
        """
        CREATE TABLE carillon.attempt_mark (
            is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
            bound bigint NOT NULL,
            moment bigint NOT NULL
        )
        """
    ]

    private static let storeCopy: [StaticString] = [
        // One row while the database is an unfinished copy of another store; source identifies that store.
        """
        CREATE TABLE carillon.unfinished_copy (
            is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
            source bigint NOT NULL
        )
        """
    ]

    private static let nodes: [StaticString] = [
        // peer: where other nodes reach it, as host:port; NULL if they cannot.
        // state: 0 active, 1 draining, 2 drained. drain_over: the time that draining takes, in milliseconds.
        """
        ALTER TABLE carillon.node
            ADD COLUMN peer text,
            ADD COLUMN state smallint NOT NULL DEFAULT 0,
            ADD COLUMN drain_over bigint
        """
    ]

    /// Brings the tables up to date. Of several nodes that start at the same time, one does it and the others wait.
    /// - Returns: Why this build cannot use the tables; nil if it can.
    static func migrate(_ transaction: PostgresTransaction) throws(PostgresError) -> String? {
        let versions = try transaction.execute(
            "SELECT newest, oldest FROM carillon.schema_version WHERE is_only FOR UPDATE")
        guard let row = versions.first, let present = row.integer(0), let oldest = row.integer(1) else {
            return "The table carillon.schema_version is damaged: restore a backup of the database."
        }
        guard oldest <= newest else {
            return "The database was made by a newer version of Carillon (schema \(present)): install that version."
        }
        guard present < newest else { return nil }
        for migration in migrations.dropFirst(Int(clamping: present)) {
            for statement in migration { try transaction.execute(statement) }
        }
        try transaction.execute(
            "UPDATE carillon.schema_version SET newest = $1, oldest = $2", [.integer(newest), .integer(Self.oldest)])
        return nil
    }
}
