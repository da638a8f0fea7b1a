import GRDB
import SQLiteSupport

/// The tables. Each version of the schema is one migration.
enum SQLiteCampaignSchema {
    /// Applies the migrations. If a database has a migration that is not listed here, a newer version made it.
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { try $0.execute(sql: version1) }
        migrator.registerMigration("2") { try $0.execute(sql: version2) }
        migrator.registerMigration("3") { try $0.execute(sql: version3) }
        migrator.registerMigration("4") { try $0.execute(sql: version4) }
        migrator.registerMigration("5") { try $0.execute(sql: version5) }
        return migrator
    }

    /// badge: the number on the app's icon.
    private static let version5 = "ALTER TABLE installation ADD COLUMN badge INTEGER NOT NULL DEFAULT 0"

    /// What an installation has stays with the backend until the app says which tags are its own (app_tags is empty).
    /// tokens: those of services, each between two spaces; see ServiceTokens.
    private static let version4 = """
        ALTER TABLE installation ADD COLUMN app_tags TEXT NOT NULL DEFAULT '';
        ALTER TABLE installation ADD COLUMN app_values BLOB;
        ALTER TABLE installation ADD COLUMN tokens TEXT NOT NULL DEFAULT '';
        -- When it was added. Of what is there already, only the last registration is known.
        ALTER TABLE installation ADD COLUMN created INTEGER NOT NULL DEFAULT 0;
        UPDATE installation SET created = registered;
        -- How many recipients it has; NULL until they are counted.
        ALTER TABLE message ADD COLUMN total INTEGER;
        -- How many recipients opened it, and when.
        ALTER TABLE message ADD COLUMN opened INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE outcome ADD COLUMN opened INTEGER;
        """

    private static let version3 = """
        -- The next events of each hook.
        CREATE INDEX open_delivery_by_hook ON hook_delivery (hook, next) WHERE next IS NOT NULL;
        DROP INDEX open_hook_delivery;
        """

    private static let version2 = """
        -- document: JSON, as in a message.
        CREATE TABLE audience (
            app INTEGER NOT NULL REFERENCES app (number) ON DELETE CASCADE,
            name TEXT NOT NULL,
            document BLOB NOT NULL,
            changed INTEGER NOT NULL,
            PRIMARY KEY (app, name)
        ) STRICT, WITHOUT ROWID;
        """

    /// Times are milliseconds since 1970. Numbers are never used again (AUTOINCREMENT), because outcomes and positions
    /// refer to installations by number.
    private static let version1 = """
        CREATE TABLE app (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            bundle_id TEXT NOT NULL UNIQUE,
            team TEXT NOT NULL,
            -- JSON, by environment, with the sealed credentials.
            endpoints BLOB NOT NULL,
            client_key BLOB NOT NULL,
            server_key BLOB NOT NULL,
            accepts_claimed_users INTEGER NOT NULL,
            -- JSON; NULL for none.
            identity BLOB
        ) STRICT;

        -- environment: 0 development, 1 production. language: the first of languages, in lower case. tags: each between
        -- two spaces, which makes a search for one a search for text. user_values: JSON, NULL for none.
        CREATE TABLE installation (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            app INTEGER NOT NULL REFERENCES app (number) ON DELETE CASCADE,
            id TEXT NOT NULL,
            environment INTEGER NOT NULL,
            token BLOB NOT NULL,
            language TEXT NOT NULL,
            languages TEXT NOT NULL,
            time_zone TEXT NOT NULL,
            user TEXT,
            tags TEXT NOT NULL,
            app_version TEXT,
            user_values BLOB,
            registered INTEGER NOT NULL,
            changed INTEGER NOT NULL,
            ended INTEGER,
            end_reason TEXT,
            secret BLOB
        ) STRICT;
        CREATE UNIQUE INDEX installation_by_id ON installation (app, id);
        CREATE UNIQUE INDEX installation_by_token ON installation (app, environment, token) WHERE ended IS NULL;
        CREATE INDEX installation_by_user ON installation (app, user) WHERE user IS NOT NULL;
        -- The order in which messages work through an app.
        CREATE INDEX active_installation ON installation (app, environment) WHERE ended IS NULL;

        CREATE TABLE message (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            app INTEGER NOT NULL REFERENCES app (number) ON DELETE CASCADE,
            state TEXT NOT NULL,
            document BLOB NOT NULL,
            created INTEGER NOT NULL,
            starts INTEGER NOT NULL,
            finished INTEGER,
            rate INTEGER,
            cause TEXT,
            -- The position: see MessageRecord.Position.
            last INTEGER,
            due INTEGER NOT NULL,
            environment INTEGER NOT NULL,
            after INTEGER NOT NULL,
            accepted INTEGER NOT NULL,
            idempotency_key TEXT,
            idempotency_digest BLOB
        ) STRICT;
        CREATE UNIQUE INDEX message_by_key ON message (app, idempotency_key) WHERE idempotency_key IS NOT NULL;
        CREATE INDEX open_message ON message (state) WHERE state IN ('scheduled', 'running');

        -- status and reason: 200 and NULL if the service accepted it.
        CREATE TABLE outcome (
            message INTEGER NOT NULL REFERENCES message (number) ON DELETE CASCADE,
            installation INTEGER NOT NULL,
            at INTEGER NOT NULL,
            status INTEGER NOT NULL,
            reason TEXT,
            PRIMARY KEY (message, installation)
        ) STRICT, WITHOUT ROWID;

        -- How many outcomes of a message have which reason.
        CREATE TABLE tally (
            message INTEGER NOT NULL REFERENCES message (number) ON DELETE CASCADE,
            reason TEXT NOT NULL,
            count INTEGER NOT NULL,
            PRIMARY KEY (message, reason)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE hook (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            app INTEGER NOT NULL REFERENCES app (number) ON DELETE CASCADE,
            url TEXT NOT NULL,
            -- Sealed.
            secret BLOB NOT NULL
        ) STRICT;
        CREATE INDEX hook_by_app ON hook (app);

        -- next: when to try again, NULL if it arrived or was given up. cause: NULL if it arrived.
        CREATE TABLE hook_delivery (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL,
            hook INTEGER NOT NULL REFERENCES hook (number) ON DELETE CASCADE,
            kind TEXT NOT NULL,
            body BLOB NOT NULL,
            created INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            next INTEGER,
            status INTEGER,
            cause TEXT
        ) STRICT;
        CREATE INDEX hook_delivery_by_hook ON hook_delivery (hook);
        CREATE INDEX open_hook_delivery ON hook_delivery (next) WHERE next IS NOT NULL;
        """
}
