// Mailboxes that keep more than one notification (docs/decisions/0095-mailboxes-that-keep-more.md).
extension PostgresSchema {
    static let keptNotifications: [StaticString] = [
        // keep: how many notifications the app keeps for a device. A node of the release before keeps one, and neither
        // delivers nor removes the others: upgrade all nodes before the first app keeps more.
        "ALTER TABLE carillon.app ADD COLUMN IF NOT EXISTS keep bigint NOT NULL DEFAULT 1",
        // The contents of mailboxes that keep more than one notification, in the order of their versions. The columns are
        // those of the mailbox in carillon.destination, which is then empty. queue: 0, the app's own mailbox. Whoever
        // changes a mailbox's rows first locks the row in carillon.destination, except for removing what has expired.
        """
        CREATE TABLE carillon.kept (
            device bigint NOT NULL,
            environment smallint NOT NULL,
            app bigint NOT NULL,
            queue bigint NOT NULL DEFAULT 0,
            version bigint NOT NULL,
            expires bigint NOT NULL,
            expiration bigint,
            priority smallint,
            contents smallint,
            bytes bigint NOT NULL,
            id bytea,
            push_type text,
            topic bytea,
            collapse_id bytea,
            payload bytea,
            PRIMARY KEY (device, environment, app, queue, version)
        )
        """,
        "ALTER TABLE carillon.kept ALTER COLUMN payload SET STORAGE EXTERNAL",
        "CREATE INDEX kept_by_expiry ON carillon.kept (expires)",
        // As for subscriptions: nodes of the release before end registrations too.
        """
        CREATE OR REPLACE FUNCTION carillon.end_kept() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            DELETE FROM carillon.kept AS k
            WHERE k.device = OLD.device AND k.environment = OLD.environment AND k.app = OLD.app;
            RETURN NULL;
        END
        $$
        """,
        """
        CREATE OR REPLACE TRIGGER ended_registration_kept AFTER UPDATE OF active ON carillon.destination
        FOR EACH ROW WHEN (NOT NEW.active) EXECUTE FUNCTION carillon.end_kept()
        """,
        """
        CREATE OR REPLACE TRIGGER removed_registration_kept AFTER DELETE ON carillon.destination
        FOR EACH ROW EXECUTE FUNCTION carillon.end_kept()
        """,
        // Moves the contents of a mailbox that kept only the newest so far. The caller has locked its row.
        """
        CREATE OR REPLACE FUNCTION carillon.adopt_newest(a_device bigint, an_environment bigint, an_app bigint)
        RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO carillon.kept (
                device, environment, app, version, expires, expiration, priority, contents, bytes, id, push_type, topic,
                collapse_id, payload)
            SELECT device, environment, app, version, expires, expiration, priority, contents,
                coalesce(length(payload), 0), id, push_type, topic, collapse_id, payload
            FROM carillon.destination
            WHERE device = a_device AND environment = an_environment AND app = an_app AND expires IS NOT NULL
            ON CONFLICT DO NOTHING;
            IF FOUND THEN
                UPDATE carillon.destination SET
                    expires = NULL, expiration = NULL, priority = NULL, contents = NULL, id = NULL, push_type = NULL,
                    topic = NULL, collapse_id = NULL, payload = NULL
                WHERE device = a_device AND environment = an_environment AND app = an_app;
            END IF;
        END
        $$
        """,
        // Stores notifications behind those that their mailboxes hold. The arrays are columns, ordered by destination.
        // Nothing is stored for a destination whose row another transaction holds, unless `waits`, and there is no answer
        // for it. age, accepted, is_server: as for a mailbox that keeps only the newest, decision 0087. What comes late
        // neither removes nor drops a notification that may be newer.
        //
        // Answers with step 0 once for each entry: whether the registration is active, since when it is not, and the
        // version, NULL if it came late. With step 1 for what was removed by a collapse identifier, 2 for what was dropped.
        """
        CREATE OR REPLACE FUNCTION carillon.keep(
            devices bigint[], environments bigint[], apps bigint[], all_expires bigint[], ids bytea[],
            priorities bigint[], expirations bigint[], all_contents bigint[], push_types text[], topics bytea[],
            collapse_ids bytea[], payloads bytea[], ages bigint[], all_accepted bigint[], largest bigint,
            is_server boolean, waits boolean
        ) RETURNS TABLE (
            place bigint, step bigint, is_active boolean, changed bigint, version bigint, id bytea, topic bytea
        ) LANGUAGE plpgsql AS $$
        #variable_conflict use_column
        DECLARE
            mailbox carillon.destination;
            other record;
            is_there boolean := false;
            same bigint;
            newest bigint;
            bound bigint;
            held_count bigint;
            held_bytes bigint;
            last_dropped bigint;
            moment bigint;
        BEGIN
            FOR i IN 1 .. cardinality(devices) LOOP
                IF i = 1 OR (devices[i], environments[i], apps[i])
                    <> (devices[i - 1], environments[i - 1], apps[i - 1])
                THEN
                    IF waits THEN
                        SELECT * INTO mailbox FROM carillon.destination AS d
                        WHERE d.device = devices[i] AND d.environment = environments[i] AND d.app = apps[i]
                        FOR NO KEY UPDATE;
                    ELSE
                        SELECT * INTO mailbox FROM carillon.destination AS d
                        WHERE d.device = devices[i] AND d.environment = environments[i] AND d.app = apps[i]
                        FOR NO KEY UPDATE SKIP LOCKED;
                    END IF;
                    is_there := FOUND;
                    IF is_there AND mailbox.active AND mailbox.expires IS NOT NULL THEN
                        PERFORM carillon.adopt_newest(devices[i], environments[i], apps[i]);
                    END IF;
                    newest := mailbox.version;
                    SELECT a.keep INTO bound FROM carillon.app AS a WHERE a.id = apps[i];
                    bound := coalesce(bound, 1);
                END IF;
                CONTINUE WHEN NOT is_there;
                IF NOT mailbox.active THEN
                    RETURN QUERY SELECT i::bigint, 0::bigint, false, mailbox.changed, NULL::bigint, NULL::bytea, NULL::bytea;
                    CONTINUE;
                END IF;
                SELECT max(k.version) INTO same FROM carillon.kept AS k
                WHERE k.device = devices[i] AND k.environment = environments[i] AND k.app = apps[i] AND k.queue = 0
                    AND k.id = ids[i] AND k.payload = payloads[i];
                IF same IS NOT NULL THEN
                    RETURN QUERY SELECT i::bigint, 0::bigint, true, NULL::bigint, same, NULL::bytea, NULL::bytea;
                    CONTINUE;
                END IF;
                SELECT count(*) + 1, coalesce(sum(k.bytes), 0) + length(payloads[i]) INTO held_count, held_bytes
                FROM carillon.kept AS k
                WHERE k.device = devices[i] AND k.environment = environments[i] AND k.app = apps[i] AND k.queue = 0
                    AND (collapse_ids[i] IS NULL OR k.collapse_id IS DISTINCT FROM collapse_ids[i]);
                last_dropped := NULL;
                IF held_count > bound OR held_bytes > largest THEN
                    FOR other IN
                        SELECT k.version, k.bytes FROM carillon.kept AS k
                        WHERE k.device = devices[i] AND k.environment = environments[i] AND k.app = apps[i]
                            AND k.queue = 0
                            AND (collapse_ids[i] IS NULL OR k.collapse_id IS DISTINCT FROM collapse_ids[i])
                        ORDER BY k.version
                    LOOP
                        EXIT WHEN held_count <= bound AND held_bytes <= largest;
                        last_dropped := other.version;
                        held_count := held_count - 1;
                        held_bytes := held_bytes - other.bytes;
                    END LOOP;
                END IF;
                moment := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
                PERFORM 1 FROM carillon.kept AS k
                WHERE k.device = devices[i] AND k.environment = environments[i] AND k.app = apps[i] AND k.queue = 0
                    AND (k.version <= last_dropped OR k.collapse_id = collapse_ids[i])
                    AND (k.version > moment - ages[i]
                        OR is_server AND k.version > all_accepted[i] AND k.version <= moment);
                IF FOUND THEN
                    RETURN QUERY
                        SELECT i::bigint, 0::bigint, true, NULL::bigint, NULL::bigint, NULL::bytea, NULL::bytea;
                    CONTINUE;
                END IF;
                RETURN QUERY
                    WITH gone AS (
                        DELETE FROM carillon.kept AS k
                        WHERE k.device = devices[i] AND k.environment = environments[i] AND k.app = apps[i]
                            AND k.queue = 0 AND (k.version <= last_dropped OR k.collapse_id = collapse_ids[i])
                        RETURNING k.id, k.topic, k.collapse_id
                    )
                    SELECT i::bigint, CASE WHEN gone.collapse_id = collapse_ids[i] THEN 1 ELSE 2 END::bigint, true,
                        NULL::bigint, NULL::bigint, gone.id, gone.topic
                    FROM gone;
                newest := greatest(newest + 1, moment);
                INSERT INTO carillon.kept (
                    device, environment, app, version, expires, expiration, priority, contents, bytes, id, push_type,
                    topic, collapse_id, payload)
                VALUES (
                    devices[i], environments[i], apps[i], newest, all_expires[i], expirations[i], priorities[i],
                    all_contents[i], length(payloads[i]), ids[i], push_types[i], topics[i], collapse_ids[i],
                    payloads[i]);
                UPDATE carillon.destination AS d SET version = newest
                WHERE d.device = devices[i] AND d.environment = environments[i] AND d.app = apps[i];
                RETURN QUERY SELECT i::bigint, 0::bigint, true, NULL::bigint, newest, NULL::bytea, NULL::bytea;
            END LOOP;
        END
        $$
        """,
        // Makes a mailbox fit into its bound, and answers what was dropped. If it keeps one, that one goes to its row in
        // carillon.destination, unless a newer one is there.
        """
        CREATE OR REPLACE FUNCTION carillon.fit(a_device bigint, an_environment bigint, an_app bigint, largest bigint)
        RETURNS TABLE (id bytea, topic bytea) LANGUAGE plpgsql AS $$
        #variable_conflict use_column
        DECLARE
            mailbox carillon.destination;
            other record;
            bound bigint;
            held_count bigint;
            held_bytes bigint;
            last_dropped bigint;
        BEGIN
            SELECT * INTO mailbox FROM carillon.destination AS d
            WHERE d.device = a_device AND d.environment = an_environment AND d.app = an_app FOR NO KEY UPDATE;
            IF NOT FOUND THEN RETURN; END IF;
            SELECT a.keep INTO bound FROM carillon.app AS a WHERE a.id = an_app;
            IF coalesce(bound, 1) > 1 THEN
                PERFORM carillon.adopt_newest(a_device, an_environment, an_app);
                SELECT count(*), coalesce(sum(k.bytes), 0) INTO held_count, held_bytes FROM carillon.kept AS k
                WHERE k.device = a_device AND k.environment = an_environment AND k.app = an_app AND k.queue = 0;
                FOR other IN
                    SELECT k.version, k.bytes FROM carillon.kept AS k
                    WHERE k.device = a_device AND k.environment = an_environment AND k.app = an_app AND k.queue = 0
                    ORDER BY k.version
                LOOP
                    EXIT WHEN held_count <= bound AND held_bytes <= largest;
                    last_dropped := other.version;
                    held_count := held_count - 1;
                    held_bytes := held_bytes - other.bytes;
                END LOOP;
            ELSE
                SELECT max(k.version) INTO last_dropped FROM carillon.kept AS k
                WHERE k.device = a_device AND k.environment = an_environment AND k.app = an_app AND k.queue = 0;
                IF last_dropped IS NOT NULL AND (mailbox.expires IS NULL OR mailbox.version < last_dropped) THEN
                    IF mailbox.expires IS NOT NULL THEN RETURN QUERY SELECT mailbox.id, mailbox.topic; END IF;
                    UPDATE carillon.destination AS d SET
                        version = k.version, sweep = least(d.sweep, k.expires), expires = k.expires,
                        expiration = k.expiration, priority = k.priority, contents = k.contents, id = k.id,
                        push_type = k.push_type, topic = k.topic, collapse_id = k.collapse_id, payload = k.payload
                    FROM carillon.kept AS k
                    WHERE d.device = a_device AND d.environment = an_environment AND d.app = an_app
                        AND k.device = a_device AND k.environment = an_environment AND k.app = an_app AND k.queue = 0
                        AND k.version = last_dropped;
                    DELETE FROM carillon.kept AS k
                    WHERE k.device = a_device AND k.environment = an_environment AND k.app = an_app AND k.queue = 0
                        AND k.version = last_dropped;
                END IF;
            END IF;
            RETURN QUERY
                DELETE FROM carillon.kept AS k
                WHERE k.device = a_device AND k.environment = an_environment AND k.app = an_app AND k.queue = 0
                    AND k.version <= last_dropped
                RETURNING k.id, k.topic;
        END
        $$
        """,
    ]
}
