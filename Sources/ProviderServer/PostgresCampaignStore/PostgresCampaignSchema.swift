import PostgresSupport

/// The tables of the provider server. They have a schema of their own, so the database may be the one of a cluster.
enum PostgresCampaignSchema {
    /// A migration only adds things, because servers of two releases run side by side during an upgrade.
    static let migrations = PostgresMigrations(schema: schema, oldest: 1, versions)
    static let schema = "carillon_provider"
    static let versions = [first, second, third, fourth]

    /// badge: the number on the app's icon.
    private static let fourth: [StaticString] = [
        "ALTER TABLE carillon_provider.installation ADD COLUMN badge bigint NOT NULL DEFAULT 0"
    ]

    /// What an installation has stays with the backend until the app says which tags are its own (app_tags is empty).
    /// tokens: those of services, each between two spaces; see ServiceTokens.
    private static let third: [StaticString] = [
        """
        ALTER TABLE carillon_provider.installation
        ADD COLUMN app_tags text NOT NULL DEFAULT '',
        ADD COLUMN app_values bytea,
        ADD COLUMN tokens text NOT NULL DEFAULT '',
        ADD COLUMN created bigint NOT NULL DEFAULT 0
        """,
        // When it was added. Of what is there already, only the last registration is known.
        "UPDATE carillon_provider.installation SET created = registered",
        // How many recipients it has; NULL until they are counted.
        "ALTER TABLE carillon_provider.message ADD COLUMN total bigint",
        // How many recipients opened it, and when.
        "ALTER TABLE carillon_provider.message ADD COLUMN opened bigint NOT NULL DEFAULT 0",
        "ALTER TABLE carillon_provider.outcome ADD COLUMN opened bigint",
    ]

    /// The next events of each hook.
    private static let second: [StaticString] = [
        """
        CREATE INDEX open_delivery_by_hook ON carillon_provider.hook_delivery (hook, next) WHERE next IS NOT NULL
        """
    ]

    // Times are milliseconds since 1970. Numbers are never used again, because outcomes and positions refer to
    // installations by number. Outcomes and installations have no foreign keys: each of them would lock the row of its
    // message or app, which all of them share.
    private static let first: [StaticString] = [
        // value: encrypted with the store key, which is not in the database.
        "CREATE TABLE carillon_provider.secret (name text PRIMARY KEY, value bytea NOT NULL)",
        // endpoints: JSON, by environment, with the encrypted credentials. identity: JSON.
        """
        CREATE TABLE carillon_provider.app (
            number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            bundle_id text NOT NULL UNIQUE,
            team text NOT NULL,
            endpoints bytea NOT NULL,
            client_key bytea NOT NULL,
            server_key bytea NOT NULL,
            accepts_claimed_users boolean NOT NULL,
            identity bytea
        )
        """,
        // environment: 0 development, 1 production. language: the first of languages, in lower case. tags: each between
        // two spaces, which makes a search for one a search for text. user_values: JSON.
        """
        CREATE TABLE carillon_provider.installation (
            number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            app bigint NOT NULL,
            id text NOT NULL,
            environment bigint NOT NULL,
            token bytea NOT NULL,
            language text NOT NULL,
            languages text NOT NULL,
            time_zone text NOT NULL,
            user_name text,
            tags text NOT NULL,
            app_version text,
            user_values bytea,
            registered bigint NOT NULL,
            changed bigint NOT NULL,
            ended bigint,
            end_reason text,
            secret bytea
        )
        """,
        "CREATE UNIQUE INDEX installation_by_id ON carillon_provider.installation (app, id)",
        """
        CREATE UNIQUE INDEX installation_by_token ON carillon_provider.installation (app, environment, token)
        WHERE ended IS NULL
        """,
        """
        CREATE INDEX installation_by_user ON carillon_provider.installation (app, user_name)
        WHERE user_name IS NOT NULL
        """,
        // The order in which messages work through an app.
        """
        CREATE INDEX active_installation ON carillon_provider.installation (app, environment, number)
        WHERE ended IS NULL
        """,
        // document: JSON, as in a message.
        """
        CREATE TABLE carillon_provider.audience (
            app bigint NOT NULL REFERENCES carillon_provider.app (number) ON DELETE CASCADE,
            name text NOT NULL,
            document bytea NOT NULL,
            changed bigint NOT NULL,
            PRIMARY KEY (app, name)
        )
        """,
        // last, due, environment, after: the position, see MessageRecord.Position. holder and held_until: the server
        // that sends the message, and until when no other server may.
        """
        CREATE TABLE carillon_provider.message (
            number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            id text NOT NULL UNIQUE,
            app bigint NOT NULL REFERENCES carillon_provider.app (number) ON DELETE CASCADE,
            state text NOT NULL,
            document bytea NOT NULL,
            created bigint NOT NULL,
            starts bigint NOT NULL,
            finished bigint,
            rate bigint,
            cause text,
            last bigint,
            due bigint NOT NULL DEFAULT 0,
            environment bigint NOT NULL DEFAULT 0,
            after bigint NOT NULL DEFAULT 0,
            accepted bigint NOT NULL DEFAULT 0,
            idempotency_key text,
            idempotency_digest bytea,
            holder bytea,
            held_until timestamptz,
            UNIQUE (app, idempotency_key)
        )
        """,
        """
        CREATE INDEX open_message ON carillon_provider.message (number) WHERE state IN ('scheduled', 'running')
        """,
        // status and reason: 200 and NULL if the service accepted it.
        """
        CREATE TABLE carillon_provider.outcome (
            message bigint NOT NULL,
            installation bigint NOT NULL,
            at bigint NOT NULL,
            status bigint NOT NULL,
            reason text,
            PRIMARY KEY (message, installation)
        )
        """,
        // How many outcomes of a message have which reason.
        """
        CREATE TABLE carillon_provider.tally (
            message bigint NOT NULL REFERENCES carillon_provider.message (number) ON DELETE CASCADE,
            reason text NOT NULL,
            count bigint NOT NULL,
            PRIMARY KEY (message, reason)
        )
        """,
        // secret: encrypted.
        """
        CREATE TABLE carillon_provider.hook (
            number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            id text NOT NULL UNIQUE,
            app bigint NOT NULL REFERENCES carillon_provider.app (number) ON DELETE CASCADE,
            url text NOT NULL,
            secret bytea NOT NULL
        )
        """,
        "CREATE INDEX hook_by_app ON carillon_provider.hook (app)",
        // next: when to try again, NULL if it arrived or was given up. cause: NULL if it arrived. holder and
        // held_until: the server that sends it.
        """
        CREATE TABLE carillon_provider.hook_delivery (
            number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            id text NOT NULL,
            hook bigint NOT NULL REFERENCES carillon_provider.hook (number) ON DELETE CASCADE,
            kind text NOT NULL,
            body bytea NOT NULL,
            created bigint NOT NULL,
            attempts bigint NOT NULL DEFAULT 0,
            next bigint,
            status bigint,
            cause text,
            holder bytea,
            held_until timestamptz
        )
        """,
        "CREATE INDEX hook_delivery_by_hook ON carillon_provider.hook_delivery (hook, number)",
        "CREATE INDEX open_hook_delivery ON carillon_provider.hook_delivery (next) WHERE next IS NOT NULL",
    ]
}
