// Channels, their newest broadcasts, and the subscriptions of devices.
extension PostgresSchema {
    static let channels: [StaticString] = [
        """
        CREATE TABLE carillon.channel (
            app bigint NOT NULL,
            environment smallint NOT NULL,
            id text COLLATE "C" NOT NULL,
            policy smallint NOT NULL,
            created bigint NOT NULL,
            PRIMARY KEY (app, environment, id)
        )
        """,
        // Whoever creates a channel locks the row of its app and environment, so that the limit of channels holds.
        """
        CREATE TABLE carillon.channel_list (
            app bigint NOT NULL,
            environment smallint NOT NULL,
            PRIMARY KEY (app, environment)
        )
        """,
        // One row, which is inserted with the first channel: the number of the last change of channels that other
        // nodes have to learn of. Whoever makes a change locks this row until the commit. So changes become visible in
        // the order of their numbers, and a node that asks for what came after a number misses nothing.
        """
        CREATE TABLE carillon.channel_change (
            is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
            last bigint NOT NULL
        )
        """,
        // The newest broadcast of a channel. A row without a payload says that the channel was removed.
        // version: the number of the change. node: the node that made it.
        """
        CREATE TABLE carillon.broadcast (
            app bigint NOT NULL,
            environment smallint NOT NULL,
            channel text COLLATE "C" NOT NULL,
            version bigint NOT NULL,
            node bytea NOT NULL,
            expires bigint NOT NULL,
            expiration bigint,
            priority smallint,
            contents smallint,
            id bytea,
            push_type text,
            topic bytea,
            payload bytea,
            PRIMARY KEY (app, environment, channel)
        ) WITH (fillfactor = 70)
        """,
        "ALTER TABLE carillon.broadcast ALTER COLUMN payload SET STORAGE EXTERNAL",
        "CREATE INDEX broadcast_by_version ON carillon.broadcast (version)",
        "CREATE INDEX broadcast_by_expiry ON carillon.broadcast (expires)",
        "CREATE INDEX removed_channel ON carillon.broadcast (app, environment, channel) WHERE payload IS NULL",
        // seen: the newest stored broadcast that the device has acknowledged; 0 if it has acknowledged none.
        """
        CREATE TABLE carillon.subscription (
            device bigint NOT NULL,
            environment smallint NOT NULL,
            app bigint NOT NULL,
            channel text COLLATE "C" NOT NULL,
            seen bigint NOT NULL DEFAULT 0,
            PRIMARY KEY (device, environment, app, channel)
        )
        """,
        "CREATE INDEX subscription_by_channel ON carillon.subscription (app, environment, channel)",
        // A registration's end also ends its subscriptions. This is a trigger and not a statement of the store,
        // because nodes of the release before do not know subscriptions. Storing a notification does not set the
        // column `active`, so it does not call the trigger.
        """
        CREATE FUNCTION carillon.end_subscriptions() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            DELETE FROM carillon.subscription AS s
            WHERE s.device = OLD.device AND s.environment = OLD.environment AND s.app = OLD.app;
            RETURN NULL;
        END
        $$
        """,
        """
        CREATE TRIGGER ended_registration AFTER UPDATE OF active ON carillon.destination
        FOR EACH ROW WHEN (NOT NEW.active) EXECUTE FUNCTION carillon.end_subscriptions()
        """,
        """
        CREATE TRIGGER removed_registration AFTER DELETE ON carillon.destination
        FOR EACH ROW EXECUTE FUNCTION carillon.end_subscriptions()
        """,
    ]

    static let lateStatements: [StaticString] = [
        // stored: when the broadcast was stored, in microseconds of the server's clock. A trigger sets it, because nodes of
        // the release before do not know the column. NULL until the next broadcast.
        "ALTER TABLE carillon.broadcast ADD COLUMN IF NOT EXISTS stored bigint",
        """
        CREATE OR REPLACE FUNCTION carillon.note_time() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            NEW.stored = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
            RETURN NEW;
        END
        $$
        """,
        """
        CREATE OR REPLACE TRIGGER stored_broadcast BEFORE INSERT OR UPDATE ON carillon.broadcast
        FOR EACH ROW EXECUTE FUNCTION carillon.note_time()
        """,
        // Ends a transaction that is executed later than this time of this server's clock.
        """
        CREATE OR REPLACE FUNCTION carillon.demand_prompt(server bigint, latest bigint) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            IF server = (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint
                AND latest < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
            THEN
                RAISE EXCEPTION 'It came so late that another node may have changed the same meanwhile.';
            END IF;
        END
        $$
        """,
    ]
}
