import PostgresSupport

/// The tables, and the numbered migrations that made them.
///
/// A migration only adds things. It never changes anything that nodes of the release before need, because old and new
/// nodes run side by side during an upgrade. If a change is unavoidable, its migration raises `oldest`, and then
/// old nodes refuse to start.
enum PostgresSchema {
    /// The migrations, and the oldest build that works with the tables after all of them, given as the newest migration that
    /// it knows.
    static let all = PostgresMigrations(schema: "carillon", oldest: 7, migrations)

    static let migrations: [[StaticString]] = [
        first, attemptMark, storeCopy, nodes, channels, starts, sweeps, administrators, revokedKeys,
        upstreams,
        grants, broadcastsOfApps, lateStatements, usedInvitations, keptNotifications, handleAges,
        sealedHeldNotifications, webPushSubscriptions, usedGrantInvitations, webPushSettings,
        webPushToPhones,
    ]

    /// broadcasts: whether the app may have broadcast channels. Nodes of the release before do not know the column, and go
    /// on.
    private static let broadcastsOfApps: [StaticString] = [
        "ALTER TABLE carillon.app ADD COLUMN IF NOT EXISTS broadcasts boolean NOT NULL DEFAULT true"
    ]

    /// What activation codes were used for, until they would have expired. digest: SHA-256 of the code. key: SHA-256 of the
    /// device's public key. chain: its certificate with the intermediate one, PEM. To a node of the release before, a used code is
    /// unknown.
    private static let usedInvitations: [StaticString] = [
        """
        CREATE TABLE IF NOT EXISTS carillon.used_invitation (
            digest bytea PRIMARY KEY,
            environment smallint NOT NULL,
            expires bigint NOT NULL,
            key bytea NOT NULL,
            device bigint NOT NULL,
            chain bytea NOT NULL
        )
        """,
        "CREATE INDEX IF NOT EXISTS used_invitation_by_expiry ON carillon.used_invitation (expires)",
    ]

    /// Nodes of the release before know nothing of this: they accept no second key of a grant, ask for no code, and count
    /// handles that have ended.
    private static let handleAges: [StaticString] = [
        // keys: JSON with what replaces the grant's first keys, or stands beside them; NULL until there is any.
        "ALTER TABLE carillon.gateway_grant ADD COLUMN keys bytea",
        // made: when the handle was made; NULL if it was never registered again, or was made before this column.
        // ended_noted: when the service learnt of the end; NULL if a node of the release before has written it.
        "ALTER TABLE carillon.handle ADD COLUMN made bigint, ADD COLUMN ended_noted bigint",
        // From now on, handles that have ended are not counted.
        "DELETE FROM carillon.handle_count",
        """
        INSERT INTO carillon.handle_count (grant_id, handles)
            SELECT grant_id, count(*) FROM carillon.handle WHERE ended IS NULL GROUP BY grant_id
        """,
        // The codes with which handles were registered. digest: SHA-256 of the code's jti.
        """
        CREATE TABLE carillon.grant_code (
            grant_id text NOT NULL,
            digest bytea NOT NULL,
            expires bigint NOT NULL,
            PRIMARY KEY (grant_id, digest)
        )
        """,
        "CREATE INDEX grant_code_by_expiry ON carillon.grant_code (expires)",
    ]

    /// Notifications that could not be forwarded. token, payload: encrypted. A node of the release before uses the table
    /// held_push, whose rows are in clear; the nodes of this one move them.
    private static let sealedHeldNotifications: [StaticString] = [
        """
        CREATE TABLE carillon.sealed_push (
            number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            bundle_id text NOT NULL,
            environment smallint NOT NULL,
            expires bigint NOT NULL,
            taken bigint NOT NULL,
            token bytea NOT NULL,
            payload bytea NOT NULL,
            headers bytea NOT NULL
        )
        """,
        "CREATE INDEX sealed_push_by_place ON carillon.sealed_push (bundle_id, environment, number)",
        "CREATE INDEX sealed_push_by_expiry ON carillon.sealed_push (expires)",
    ]

    /// What invitations to make a grant were used for, until they would have expired. public_key: SHA-256 of it. To a node of
    /// the release before, a used code is unknown.
    private static let usedGrantInvitations: [StaticString] = [
        """
        CREATE TABLE carillon.used_grant_invitation (
            digest bytea PRIMARY KEY,
            bundle_id text NOT NULL,
            name bytea NOT NULL,
            limits bytea NOT NULL,
            expires bigint NOT NULL,
            public_key bytea NOT NULL,
            grant_id text NOT NULL
        )
        """,
        "CREATE INDEX used_grant_invitation_by_expiry ON carillon.used_grant_invitation (expires)",
    ]

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
        // Texts that come from clients are stored as bytes, because PostgreSQL's texts cannot contain a NUL
        // character.
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
        // Deleted apps, whose registrations have to be removed. A row is never removed, because an app's number is
        // never used again.
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
        // The nodes, and when the lease of each ends, by the server's clock.
        """
        CREATE TABLE carillon.node (
            identity bytea PRIMARY KEY,
            name bytea NOT NULL UNIQUE,
            until timestamptz NOT NULL
        )
        """,
        // value: encrypted with the store key, which is not in the database.
        """
        CREATE TABLE carillon.secret (
            name text PRIMARY KEY,
            value bytea NOT NULL
        )
        """,
        // Whoever registers an app on a device, revokes the device or renews its tokens first locks its row.
        // node: the node that holds the device's stream, or NULL. epoch: how often a node has taken the device.
        // environment: 0 for development, 1 for production. All times are milliseconds since 1970.
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
        // Announcements to a node. app: another node has stored something for this app. -1: another node has taken
        // the device in this epoch. -2 minus the app: another node has ended the app's registration.
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
        // A registration and its mailbox are one row, so changing this row changes both atomically. The columns from
        // expires on are the mailbox, and all are NULL while it is empty. version is the mailbox's last version, and
        // only grows. Each page has free space, so that the new version of a row fits on the same page.
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
        // Do not compress payloads: for 4 KB, the saved space is not worth the time.
        "ALTER TABLE carillon.destination ALTER COLUMN payload SET STORAGE EXTERNAL",
        "CREATE INDEX destination_by_app ON carillon.destination (app)",
        "CREATE INDEX destination_by_expiry ON carillon.destination (expires) WHERE expires IS NOT NULL",
        // The last number that was given out in a feedback list. Whoever adds entries locks this row, so entries
        // become visible in the order of their numbers. Otherwise a provider that confirms an entry could also remove
        // one with a lower number that it has not seen.
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
        // This table has one row, which is inserted when the first bound is written. The numbers of all delivery
        // attempts are smaller than `bound`. `moment` is when that bound was chosen, in milliseconds since 1970.
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

    private static let starts: [StaticString] = [
        // start: random bytes of the process that has the lease; NULL if it is of the release before.
        "ALTER TABLE carillon.node ADD COLUMN start bytea"
    ]

    private static let sweeps: [StaticString] = [
        // sweep: when to look whether the mailbox has expired, at the latest when it does; NULL if it needs no look. It
        // stays when the mailbox is emptied or filled again, so that these are changes of no indexed column: PostgreSQL
        // then writes to no index, and cleans the page up by itself (docs/decisions/0055-sweeps-in-postgresql.md).
        "ALTER TABLE carillon.destination ADD COLUMN sweep bigint",
        "UPDATE carillon.destination SET sweep = expires WHERE expires IS NOT NULL",
        "CREATE INDEX destination_by_sweep ON carillon.destination (sweep) WHERE sweep IS NOT NULL",
        "DROP INDEX carillon.destination_by_expiry",
    ]

    private static let administrators: [StaticString] = [
        // made: NULL if the certificate was not listed until its revocation. A node of the release before changes nothing
        // here, and accepts a certificate that is revoked.
        """
        CREATE TABLE carillon.administrator_certificate (
            serial bytea PRIMARY KEY,
            made bigint,
            valid_until bigint NOT NULL,
            revoked bigint
        )
        """
    ]

    private static let revokedKeys: [StaticString] = [
        // The public halves of revoked keys that were deleted with their team or app. A node of the release before adds
        // nothing here.
        "CREATE TABLE carillon.revoked_key (public_key bytea PRIMARY KEY)"
    ]

    private static let upstreams: [StaticString] = [
        // Where the notifications of apps are forwarded to. kind: 0 a key, 1 a certificate, 2 the client's provider token.
        // team and key_id: empty unless it is a key. credentials: encrypted. hold: milliseconds. A node of the release
        // before does not forward: upgrade all nodes before the first upstream is set.
        """
        CREATE TABLE carillon.upstream (
            bundle_id text NOT NULL,
            environment smallint NOT NULL,
            url bytea NOT NULL,
            authority bytea,
            kind smallint NOT NULL,
            team text NOT NULL,
            key_id text NOT NULL,
            credentials bytea NOT NULL,
            proxy bytea,
            hold bigint NOT NULL,
            captures boolean NOT NULL,
            compares boolean NOT NULL,
            PRIMARY KEY (bundle_id, environment)
        )
        """,
        // Notifications that could not be forwarded, in the order of their numbers. taken: until when a node is sending it.
        // headers: JSON.
        """
        CREATE TABLE carillon.held_push (
            number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            bundle_id text NOT NULL,
            environment smallint NOT NULL,
            expires bigint NOT NULL,
            taken bigint NOT NULL,
            token bytea NOT NULL,
            payload bytea NOT NULL,
            headers bytea NOT NULL
        )
        """,
        "CREATE INDEX held_push_by_place ON carillon.held_push (bundle_id, environment, number)",
        "CREATE INDEX held_push_by_expiry ON carillon.held_push (expires)",
    ]

    private static let grants: [StaticString] = [
        // What instances may send through the gateway. limits: JSON. A node of the release before does not know grants, so
        // it accepts no key of one.
        """
        CREATE TABLE carillon.gateway_grant (
            id text PRIMARY KEY,
            bundle_id text NOT NULL,
            team text NOT NULL REFERENCES carillon.team (id) ON DELETE CASCADE,
            name bytea NOT NULL,
            key_id text NOT NULL UNIQUE,
            public_key bytea NOT NULL,
            client_key text NOT NULL UNIQUE,
            limits bytea NOT NULL,
            suspended boolean NOT NULL,
            made bigint NOT NULL,
            revoked bigint
        )
        """,
        // token: the device token, encrypted. registered: when the app registered it last. ended_reason, ended: the
        // upstream's 410 for it, or NULL.
        """
        CREATE TABLE carillon.handle (
            handle bytea PRIMARY KEY,
            grant_id text NOT NULL,
            app bigint NOT NULL,
            environment smallint NOT NULL,
            token bytea NOT NULL,
            registered bigint NOT NULL,
            ended_reason text,
            ended bigint
        )
        """,
        // How many handles each grant has.
        "CREATE TABLE carillon.handle_count (grant_id text PRIMARY KEY, handles bigint NOT NULL)",
        // How many notifications each grant has sent on a day. day: days since 1970 (UTC).
        """
        CREATE TABLE carillon.grant_day (
            grant_id text NOT NULL,
            day bigint NOT NULL,
            sent bigint NOT NULL,
            PRIMARY KEY (grant_id, day)
        )
        """,
        // How the requests of each grant were answered. outcome: 200, or the reason of a refusal.
        """
        CREATE TABLE carillon.grant_answer (
            grant_id text NOT NULL,
            outcome text NOT NULL,
            answers bigint NOT NULL,
            PRIMARY KEY (grant_id, outcome)
        )
        """,
        // digest: SHA-256 of the code with which an instance makes its grant.
        """
        CREATE TABLE carillon.grant_invitation (
            digest bytea PRIMARY KEY,
            bundle_id text NOT NULL,
            name bytea NOT NULL,
            limits bytea NOT NULL,
            expires bigint NOT NULL
        )
        """,
    ]
}
