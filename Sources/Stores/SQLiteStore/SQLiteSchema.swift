import GRDB

/// The tables of the database, as migrations from each version to the next.
enum SQLiteSchema {
    /// Marks a database file as one of Carillon's ("Cari" as a big-endian 32-bit integer, at offset 68 of the file).
    static let applicationID: UInt32 = 0x4361_7269

    /// The migrations. If a database has a migration that is not listed here, a newer version has made it.
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { database in
            try database.execute(sql: version1)
        }
        migrator.registerMigration("trust") { database in
            try database.execute(sql: trust)
        }
        migrator.registerMigration("feedback") { database in
            try database.execute(sql: feedback)
        }
        migrator.registerMigration("channels") { database in
            try database.execute(sql: channels)
        }
        migrator.registerMigration("administrators") { database in
            try database.execute(sql: administrators)
        }
        migrator.registerMigration("revoked keys") { database in
            try database.execute(sql: revokedKeys)
        }
        migrator.registerMigration("upstreams") { database in
            try database.execute(sql: upstreams)
        }
        migrator.registerMigration("grants") { database in
            try database.execute(sql: grants)
        }
        migrator.registerMigration("broadcasts of apps") { database in
            try database.execute(sql: broadcastsOfApps)
        }
        migrator.registerMigration("used invitations") { database in
            try database.execute(sql: usedInvitations)
        }
        migrator.registerMigration("kept notifications") { database in
            try database.execute(sql: keptNotifications)
        }
        migrator.registerMigration("handle ages") { database in
            try database.execute(sql: handleAges)
        }
        migrator.registerMigration("sealed held notifications") { database in
            try database.execute(sql: sealedHeldNotifications)
        }
        migrator.registerMigration("web push subscriptions") { database in
            try database.execute(sql: webPushSubscriptions)
        }
        migrator.registerMigration("used grant invitations") { database in
            try database.execute(sql: usedGrantInvitations)
        }
        migrator.registerMigration("web push settings") { database in
            try database.execute(sql: webPushSettings)
        }
        migrator.registerMigration("web push to phones") { database in
            try database.execute(sql: webPushToPhones)
        }
        return migrator
    }

    /// The keys of the table `meta`.
    enum Meta: String {
        /// The first mailbox version that is not reserved. No version from this one on was used.
        case mailboxVersionsReserved = "mailbox_versions_reserved"
        case accountsVersion = "accounts_version"
        /// The version of the newest stored broadcast.
        case broadcastVersion = "broadcast_version"
        /// A bound that the numbers of all delivery attempts are below. Missing until there is one.
        case attemptsBound = "attempts_bound"
        /// When the bound was chosen, in milliseconds since 1970. Missing until there is a bound.
        case attemptsTime = "attempts_time"
        /// The source of an unfinished copy. Missing in a store that can be used.
        case copySource = "copy_source"
    }

    private static let version1 = """
        CREATE TABLE meta (
            key TEXT PRIMARY KEY,
            value INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        INSERT INTO meta VALUES ('mailbox_versions_reserved', 1), ('accounts_version', 0);

        CREATE TABLE team (
            id TEXT PRIMARY KEY,
            name TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;

        -- AUTOINCREMENT: device tokens contain an app's number, so the number of a deleted app must never be used
        -- again.
        CREATE TABLE app (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            bundle_id TEXT NOT NULL UNIQUE,
            team TEXT NOT NULL REFERENCES team (id)
        ) STRICT;
        CREATE INDEX app_by_team ON app (team);

        -- revoked: milliseconds since 1970, NULL if the key is not revoked.
        CREATE TABLE signing_key (
            id TEXT PRIMARY KEY,
            team TEXT NOT NULL REFERENCES team (id),
            public_key BLOB NOT NULL,
            development INTEGER NOT NULL,
            production INTEGER NOT NULL,
            revoked INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX signing_key_by_team ON signing_key (team);

        -- environment: 0 development, 1 production. Moments: milliseconds since 1970.
        CREATE TABLE registration (
            environment INTEGER NOT NULL,
            device INTEGER NOT NULL,
            app INTEGER NOT NULL,
            generation INTEGER NOT NULL,
            token_key INTEGER NOT NULL,
            token_since INTEGER NOT NULL,
            active INTEGER NOT NULL,
            changed INTEGER NOT NULL,
            PRIMARY KEY (environment, device, app)
        ) STRICT, WITHOUT ROWID;

        -- Version and time come before the columns that may overflow to other pages. expiration: the provider's value
        -- in seconds since 1970, NULL if it gave none. contents: a set of bits that says what the payload contains.
        CREATE TABLE mailbox (
            environment INTEGER NOT NULL,
            device INTEGER NOT NULL,
            app INTEGER NOT NULL,
            version INTEGER NOT NULL,
            expires INTEGER NOT NULL,
            id BLOB NOT NULL,
            priority INTEGER NOT NULL,
            expiration INTEGER,
            contents INTEGER NOT NULL,
            push_type TEXT,
            topic TEXT NOT NULL,
            collapse_id TEXT,
            payload BLOB NOT NULL,
            PRIMARY KEY (environment, device, app)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX mailbox_by_expiry ON mailbox (expires);
        """

    private static let trust = """
        -- The bundle IDs that a key is restricted to, separated by spaces; NULL if the key is valid for all apps of
        -- its team.
        ALTER TABLE signing_key ADD COLUMN bundle_ids TEXT;

        -- serial: 16 bytes. Times: milliseconds since 1970. revoked: NULL if the certificate is not revoked.
        CREATE TABLE provider_certificate (
            serial BLOB PRIMARY KEY,
            team TEXT NOT NULL REFERENCES team (id),
            bundle_id TEXT NOT NULL,
            development INTEGER NOT NULL,
            production INTEGER NOT NULL,
            valid_until INTEGER NOT NULL,
            revoked INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX provider_certificate_by_team ON provider_certificate (team);

        CREATE TABLE revoked_device (
            environment INTEGER NOT NULL,
            device INTEGER NOT NULL,
            revoked INTEGER NOT NULL,
            PRIMARY KEY (environment, device)
        ) STRICT, WITHOUT ROWID;

        -- digest: SHA-256 of the code with which a device activates.
        CREATE TABLE invitation (
            digest BLOB PRIMARY KEY,
            environment INTEGER NOT NULL,
            expires INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX invitation_by_expiry ON invitation (expires);
        """

    private static let feedback = """
        -- Device tokens whose app was removed. AUTOINCREMENT: a number is a position in its list, and must never be
        -- used again. moment: milliseconds since 1970.
        CREATE TABLE feedback (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            environment INTEGER NOT NULL,
            device INTEGER NOT NULL,
            app INTEGER NOT NULL,
            generation INTEGER NOT NULL,
            moment INTEGER NOT NULL,
            token BLOB NOT NULL,
            UNIQUE (environment, device, app, generation)
        ) STRICT;
        CREATE INDEX feedback_by_list ON feedback (environment, app, number);
        """

    private static let channels = """
        INSERT INTO meta VALUES ('broadcast_version', 0);

        -- policy: 0 stores no broadcast, 1 stores the newest one. created: milliseconds since 1970.
        CREATE TABLE channel (
            environment INTEGER NOT NULL,
            app INTEGER NOT NULL,
            id TEXT NOT NULL,
            policy INTEGER NOT NULL,
            created INTEGER NOT NULL,
            PRIMARY KEY (environment, app, id)
        ) STRICT, WITHOUT ROWID;

        -- The newest broadcast of a channel, stored once for all devices. The columns are those of the table mailbox.
        CREATE TABLE broadcast (
            environment INTEGER NOT NULL,
            app INTEGER NOT NULL,
            channel TEXT NOT NULL,
            version INTEGER NOT NULL,
            expires INTEGER NOT NULL,
            id BLOB NOT NULL,
            priority INTEGER NOT NULL,
            expiration INTEGER,
            contents INTEGER NOT NULL,
            push_type TEXT,
            topic TEXT NOT NULL,
            payload BLOB NOT NULL,
            PRIMARY KEY (environment, app, channel)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX broadcast_by_expiry ON broadcast (expires);

        -- seen: the version of the newest broadcast that the device has acknowledged, 0 if it has acknowledged none.
        CREATE TABLE subscription (
            environment INTEGER NOT NULL,
            device INTEGER NOT NULL,
            app INTEGER NOT NULL,
            channel TEXT NOT NULL,
            seen INTEGER NOT NULL,
            PRIMARY KEY (environment, device, app, channel)
        ) STRICT, WITHOUT ROWID;
        """

    private static let revokedKeys = """
        -- The public halves of revoked keys that were deleted with their team or app.
        CREATE TABLE revoked_key (
            public_key BLOB PRIMARY KEY
        ) STRICT, WITHOUT ROWID;
        """

    private static let upstreams = """
        -- Where the notifications of apps are forwarded to. kind: 0 a key, 1 a certificate, 2 the client's provider
        -- token. team and key_id: empty unless it is a key. credentials: encrypted. hold: milliseconds.
        CREATE TABLE upstream (
            bundle_id TEXT NOT NULL,
            environment INTEGER NOT NULL,
            url TEXT NOT NULL,
            authority TEXT,
            kind INTEGER NOT NULL,
            team TEXT NOT NULL,
            key_id TEXT NOT NULL,
            credentials BLOB NOT NULL,
            proxy TEXT,
            hold INTEGER NOT NULL,
            captures INTEGER NOT NULL,
            compares INTEGER NOT NULL,
            PRIMARY KEY (bundle_id, environment)
        ) STRICT, WITHOUT ROWID;

        -- Notifications that could not be forwarded. AUTOINCREMENT: their order is that of their numbers. Moments:
        -- milliseconds since 1970. taken: until when a node is sending it. headers: JSON.
        CREATE TABLE held_push (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            bundle_id TEXT NOT NULL,
            environment INTEGER NOT NULL,
            expires INTEGER NOT NULL,
            taken INTEGER NOT NULL,
            token BLOB NOT NULL,
            payload BLOB NOT NULL,
            headers BLOB NOT NULL
        ) STRICT;
        CREATE INDEX held_push_by_place ON held_push (bundle_id, environment, number);
        CREATE INDEX held_push_by_expiry ON held_push (expires);
        """

    private static let sealedHeldNotifications = """
        -- Notifications that could not be forwarded, in place of the table held_push, whose rows are in clear. token and
        -- payload: encrypted.
        CREATE TABLE sealed_push (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            bundle_id TEXT NOT NULL,
            environment INTEGER NOT NULL,
            expires INTEGER NOT NULL,
            taken INTEGER NOT NULL,
            token BLOB NOT NULL,
            payload BLOB NOT NULL,
            headers BLOB NOT NULL
        ) STRICT;
        CREATE INDEX sealed_push_by_place ON sealed_push (bundle_id, environment, number);
        CREATE INDEX sealed_push_by_expiry ON sealed_push (expires);
        """

    private static let broadcastsOfApps = """
        -- broadcasts: 0 or 1, whether the app may have broadcast channels.
        ALTER TABLE app ADD COLUMN broadcasts INTEGER NOT NULL DEFAULT 1;
        """

    private static let keptNotifications = """
        -- keep: how many notifications the app keeps for a device.
        ALTER TABLE app ADD COLUMN keep INTEGER NOT NULL DEFAULT 1;

        -- The contents of mailboxes that keep more than one notification, in the order of their versions. The columns are
        -- those of the table mailbox, which then has no row for the destination. queue: 0, the app's own mailbox. bytes: of
        -- the payload. The index has all that is read to store another one.
        CREATE TABLE kept (
            environment INTEGER NOT NULL,
            device INTEGER NOT NULL,
            app INTEGER NOT NULL,
            queue INTEGER NOT NULL DEFAULT 0,
            version INTEGER NOT NULL,
            expires INTEGER NOT NULL,
            id BLOB NOT NULL,
            priority INTEGER NOT NULL,
            expiration INTEGER,
            contents INTEGER NOT NULL,
            push_type TEXT,
            topic TEXT NOT NULL,
            collapse_id TEXT,
            bytes INTEGER NOT NULL,
            payload BLOB NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX kept_by_place ON kept (
            environment, device, app, queue, version, bytes, id, collapse_id
        );
        CREATE INDEX kept_by_expiry ON kept (expires);
        """

    private static let webPushSubscriptions = """
        -- queue: the number of the subscription, from 1. Its messages are rows of the table kept, whose bytes are those of
        -- their bodies. name: UTF-8. seed: what the endpoint is made from, with a secret. digest: SHA-256 of the endpoint.
        -- vapid: the only key that may sign, a point on P-256; NULL if there is none. plain: 0 or 1, whether messages
        -- without encryption are accepted.
        CREATE TABLE web_push_subscription (
            environment INTEGER NOT NULL,
            device INTEGER NOT NULL,
            app INTEGER NOT NULL,
            queue INTEGER NOT NULL,
            name BLOB NOT NULL,
            seed BLOB NOT NULL,
            digest BLOB NOT NULL,
            vapid BLOB,
            plain INTEGER NOT NULL,
            PRIMARY KEY (environment, device, app, queue)
        ) STRICT, WITHOUT ROWID;
        CREATE UNIQUE INDEX web_push_subscription_by_name ON web_push_subscription (environment, device, app, name);
        CREATE UNIQUE INDEX web_push_subscription_by_digest ON web_push_subscription (digest);
        """

    private static let handleAges = """
        -- keys: JSON with what replaces the grant's first keys, or stands beside them; NULL until there is any.
        ALTER TABLE gateway_grant ADD COLUMN keys BLOB;

        -- made: when the handle was made; NULL if it was never registered again, or was made before this column.
        -- ended_noted: when the service learnt of the end; NULL if that was before this column.
        ALTER TABLE handle ADD COLUMN made INTEGER;
        ALTER TABLE handle ADD COLUMN ended_noted INTEGER;
        -- From now on, handles that have ended are not counted.
        DELETE FROM handle_count;
        INSERT INTO handle_count (grant_id, handles)
            SELECT grant_id, count(*) FROM handle WHERE ended IS NULL GROUP BY grant_id;

        -- The codes with which handles were registered. digest: SHA-256 of the code's jti.
        CREATE TABLE grant_code (
            grant_id TEXT NOT NULL,
            digest BLOB NOT NULL,
            expires INTEGER NOT NULL,
            PRIMARY KEY (grant_id, digest)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX grant_code_by_expiry ON grant_code (expires);
        """

    private static let grants = """
        -- What instances may send through the gateway. limits: JSON. suspended: 0 or 1. Times: milliseconds since 1970.
        -- revoked: NULL if the grant is not revoked.
        CREATE TABLE gateway_grant (
            id TEXT PRIMARY KEY,
            bundle_id TEXT NOT NULL,
            team TEXT NOT NULL REFERENCES team (id),
            name TEXT NOT NULL,
            key_id TEXT NOT NULL UNIQUE,
            public_key BLOB NOT NULL,
            client_key TEXT NOT NULL UNIQUE,
            limits BLOB NOT NULL,
            suspended INTEGER NOT NULL,
            made INTEGER NOT NULL,
            revoked INTEGER
        ) STRICT, WITHOUT ROWID;

        -- token: the device token, encrypted. registered: when the app registered it last. ended_reason, ended: the
        -- upstream's 410 for it, or NULL. There is no index by grant: in memory it would take 60 MB for a million handles,
        -- and only the removal of handles of revoked grants would use it.
        CREATE TABLE handle (
            handle BLOB PRIMARY KEY,
            grant_id TEXT NOT NULL,
            app INTEGER NOT NULL,
            environment INTEGER NOT NULL,
            token BLOB NOT NULL,
            registered INTEGER NOT NULL,
            ended_reason TEXT,
            ended INTEGER
        ) STRICT, WITHOUT ROWID;
        -- How many handles each grant has.
        CREATE TABLE handle_count (
            grant_id TEXT PRIMARY KEY,
            handles INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        -- How many notifications each grant has sent on a day. day: days since 1970 (UTC).
        CREATE TABLE grant_day (
            grant_id TEXT NOT NULL,
            day INTEGER NOT NULL,
            sent INTEGER NOT NULL,
            PRIMARY KEY (grant_id, day)
        ) STRICT, WITHOUT ROWID;
        -- How the requests of each grant were answered. outcome: 200, or the reason of a refusal.
        CREATE TABLE grant_answer (
            grant_id TEXT NOT NULL,
            outcome TEXT NOT NULL,
            answers INTEGER NOT NULL,
            PRIMARY KEY (grant_id, outcome)
        ) STRICT, WITHOUT ROWID;

        -- digest: SHA-256 of the code with which an instance makes its grant.
        CREATE TABLE grant_invitation (
            digest BLOB PRIMARY KEY,
            bundle_id TEXT NOT NULL,
            name TEXT NOT NULL,
            limits BLOB NOT NULL,
            expires INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    private static let usedInvitations = """
        -- What activation codes were used for, until they would have expired. digest: SHA-256 of the code. key: SHA-256 of the
        -- device's public key. chain: its certificate with the intermediate one, PEM.
        CREATE TABLE used_invitation (
            digest BLOB PRIMARY KEY,
            environment INTEGER NOT NULL,
            expires INTEGER NOT NULL,
            key BLOB NOT NULL,
            device INTEGER NOT NULL,
            chain BLOB NOT NULL
        ) STRICT;
        CREATE INDEX used_invitation_by_expiry ON used_invitation (expires);
        """

    private static let usedGrantInvitations = """
        -- What invitations to make a grant were used for, until they would have expired. public_key: SHA-256 of it.
        CREATE TABLE used_grant_invitation (
            digest BLOB PRIMARY KEY,
            bundle_id TEXT NOT NULL,
            name TEXT NOT NULL,
            limits BLOB NOT NULL,
            expires INTEGER NOT NULL,
            public_key BLOB NOT NULL,
            grant_id TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX used_grant_invitation_by_expiry ON used_grant_invitation (expires);
        """

    private static let webPushSettings = """
        -- What Web Push does with messages to an app's phones. template: JSON. relay_to: whether the app has the relay's URL.
        CREATE TABLE web_push_app (
            bundle_id TEXT NOT NULL,
            environment INTEGER NOT NULL,
            template BLOB NOT NULL,
            relay_to INTEGER NOT NULL,
            plain INTEGER NOT NULL,
            PRIMARY KEY (bundle_id, environment)
        ) STRICT, WITHOUT ROWID;
        """

    private static let webPushToPhones = """
        -- name, seed, digest, vapid: as in the table web_push_subscription. A handle takes its endpoints along.
        CREATE TABLE handle_endpoint (
            handle BLOB NOT NULL REFERENCES handle (handle) ON DELETE CASCADE,
            name TEXT NOT NULL,
            seed BLOB NOT NULL,
            digest BLOB NOT NULL,
            vapid BLOB,
            PRIMARY KEY (handle, name)
        ) STRICT, WITHOUT ROWID;
        CREATE UNIQUE INDEX handle_endpoint_by_digest ON handle_endpoint (digest);

        -- Bodies of messages that did not fit into a notification. digest: SHA-256 of what the URL has. owner: the digest of
        -- the endpoint, or a hash of a relay's token. bytes: of the body. fetched: 0 or 1.
        CREATE TABLE web_push_body (
            digest BLOB PRIMARY KEY,
            owner BLOB NOT NULL,
            bytes INTEGER NOT NULL,
            body BLOB NOT NULL,
            expires INTEGER NOT NULL,
            fetched INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX web_push_body_by_owner ON web_push_body (owner, bytes);
        CREATE INDEX web_push_body_by_expiry ON web_push_body (expires);
        -- The bytes of all bodies together, in one row or none.
        CREATE TABLE web_push_body_total (
            id INTEGER PRIMARY KEY,
            bytes INTEGER NOT NULL
        ) STRICT;
        """

    private static let administrators = """
        -- serial: 16 bytes. Times: milliseconds since 1970. made: NULL if the certificate was not listed until its
        -- revocation. revoked: NULL if it is not revoked.
        CREATE TABLE administrator_certificate (
            serial BLOB PRIMARY KEY,
            made INTEGER,
            valid_until INTEGER NOT NULL,
            revoked INTEGER
        ) STRICT, WITHOUT ROWID;
        """
}
