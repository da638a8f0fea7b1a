// Web Push: subscriptions and their queues, which are rows of carillon.kept (docs/decisions/0085-web-push-queues.md).
extension PostgresSchema {
    static let webPushSubscriptions: [StaticString] = [
        // queue: the number of the subscription, from 1. version: of its newest message, 0 before the first. name: UTF-8. seed:
        // what the endpoint is made from, with a secret. digest: SHA-256 of the endpoint. vapid: the only key that may sign, a
        // point on P-256; NULL if there is none. plain: whether messages without encryption are accepted. Whoever changes a
        // row first locks the row in carillon.destination.
        """
        CREATE TABLE carillon.web_push_subscription (
            device bigint NOT NULL,
            environment smallint NOT NULL,
            app bigint NOT NULL,
            queue bigint NOT NULL,
            version bigint NOT NULL DEFAULT 0,
            name bytea NOT NULL,
            seed bytea NOT NULL,
            digest bytea NOT NULL UNIQUE,
            vapid bytea,
            plain boolean NOT NULL,
            PRIMARY KEY (device, environment, app, queue),
            UNIQUE (device, environment, app, name)
        )
        """,
        // As for what mailboxes keep: nodes of the release before end registrations too. The messages go with that trigger.
        """
        CREATE OR REPLACE FUNCTION carillon.end_web_push() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            DELETE FROM carillon.web_push_subscription AS s
            WHERE s.device = OLD.device AND s.environment = OLD.environment AND s.app = OLD.app;
            RETURN NULL;
        END
        $$
        """,
        """
        CREATE OR REPLACE TRIGGER ended_registration_web_push AFTER UPDATE OF active ON carillon.destination
        FOR EACH ROW WHEN (NOT NEW.active) EXECUTE FUNCTION carillon.end_web_push()
        """,
        """
        CREATE OR REPLACE TRIGGER removed_registration_web_push AFTER DELETE ON carillon.destination
        FOR EACH ROW EXECUTE FUNCTION carillon.end_web_push()
        """,
        // The function of the migration before, for queues as well. It has other parameters, so both exist: a node of the
        // build before goes on with its own.
        // Stores notifications behind those that their mailboxes hold. The arrays are columns, ordered by destination.
        // Nothing is stored for a destination whose row another transaction holds, unless `waits`, and there is no answer
        // for it. age, accepted, is_server: as for a mailbox that keeps only the newest, decision 0087. What comes late
        // neither removes nor drops a notification that may be newer.
        //
        // queues: 0, or the number of the subscription, whose bound is queue_bound and queue_largest. A subscription that has
        // ended counts as a registration that is not active. all_bytes: what counts for the bound.
        //
        // Answers with step 0 once for each entry: whether the registration is active, since when it is not, and the
        // version, NULL if it came late. With step 1 for what was removed by a collapse identifier, 2 for what was dropped.
        """
        CREATE OR REPLACE FUNCTION carillon.keep(
            devices bigint[], environments bigint[], apps bigint[], all_expires bigint[], ids bytea[],
            priorities bigint[], expirations bigint[], all_contents bigint[], push_types text[], topics bytea[],
            collapse_ids bytea[], payloads bytea[], ages bigint[], all_accepted bigint[], queues bigint[],
            all_bytes bigint[], largest bigint, queue_bound bigint, queue_largest bigint, is_server boolean, waits boolean
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
            bound_bytes bigint;
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
                END IF;
                CONTINUE WHEN NOT is_there;
                IF NOT mailbox.active THEN
                    RETURN QUERY SELECT i::bigint, 0::bigint, false, mailbox.changed, NULL::bigint, NULL::bytea, NULL::bytea;
                    CONTINUE;
                END IF;
                IF queues[i] = 0 THEN
                    IF mailbox.expires IS NOT NULL THEN
                        PERFORM carillon.adopt_newest(devices[i], environments[i], apps[i]);
                        mailbox.expires := NULL;
                    END IF;
                    newest := mailbox.version;
                    SELECT a.keep INTO bound FROM carillon.app AS a WHERE a.id = apps[i];
                    bound := coalesce(bound, 1);
                    bound_bytes := largest;
                ELSE
                    SELECT s.version INTO newest FROM carillon.web_push_subscription AS s
                    WHERE s.device = devices[i] AND s.environment = environments[i] AND s.app = apps[i]
                        AND s.queue = queues[i];
                    IF NOT FOUND THEN
                        RETURN QUERY SELECT i::bigint, 0::bigint, false, (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
                            NULL::bigint, NULL::bytea, NULL::bytea;
                        CONTINUE;
                    END IF;
                    bound := queue_bound;
                    bound_bytes := queue_largest;
                END IF;
                SELECT max(k.version) INTO same FROM carillon.kept AS k
                WHERE k.device = devices[i] AND k.environment = environments[i] AND k.app = apps[i] AND k.queue = queues[i]
                    AND k.id = ids[i] AND k.payload = payloads[i];
                IF same IS NOT NULL THEN
                    RETURN QUERY SELECT i::bigint, 0::bigint, true, NULL::bigint, same, NULL::bytea, NULL::bytea;
                    CONTINUE;
                END IF;
                SELECT count(*) + 1, coalesce(sum(k.bytes), 0) + all_bytes[i] INTO held_count, held_bytes
                FROM carillon.kept AS k
                WHERE k.device = devices[i] AND k.environment = environments[i] AND k.app = apps[i] AND k.queue = queues[i]
                    AND (collapse_ids[i] IS NULL OR k.collapse_id IS DISTINCT FROM collapse_ids[i]);
                last_dropped := NULL;
                IF held_count > bound OR held_bytes > bound_bytes THEN
                    FOR other IN
                        SELECT k.version, k.bytes FROM carillon.kept AS k
                        WHERE k.device = devices[i] AND k.environment = environments[i] AND k.app = apps[i]
                            AND k.queue = queues[i]
                            AND (collapse_ids[i] IS NULL OR k.collapse_id IS DISTINCT FROM collapse_ids[i])
                        ORDER BY k.version
                    LOOP
                        EXIT WHEN held_count <= bound AND held_bytes <= bound_bytes;
                        last_dropped := other.version;
                        held_count := held_count - 1;
                        held_bytes := held_bytes - other.bytes;
                    END LOOP;
                END IF;
                moment := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
                PERFORM 1 FROM carillon.kept AS k
                WHERE k.device = devices[i] AND k.environment = environments[i] AND k.app = apps[i] AND k.queue = queues[i]
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
                            AND k.queue = queues[i] AND (k.version <= last_dropped OR k.collapse_id = collapse_ids[i])
                        RETURNING k.id, k.topic, k.collapse_id
                    )
                    SELECT i::bigint, CASE WHEN gone.collapse_id = collapse_ids[i] THEN 1 ELSE 2 END::bigint, true,
                        NULL::bigint, NULL::bigint, gone.id, gone.topic
                    FROM gone;
                newest := greatest(newest + 1, moment);
                INSERT INTO carillon.kept (
                    device, environment, app, queue, version, expires, expiration, priority, contents, bytes, id,
                    push_type, topic, collapse_id, payload)
                VALUES (
                    devices[i], environments[i], apps[i], queues[i], newest, all_expires[i], expirations[i], priorities[i],
                    all_contents[i], all_bytes[i], ids[i], push_types[i], topics[i], collapse_ids[i],
                    payloads[i]);
                IF queues[i] = 0 THEN
                    UPDATE carillon.destination AS d SET version = newest
                    WHERE d.device = devices[i] AND d.environment = environments[i] AND d.app = apps[i];
                    mailbox.version := newest;
                ELSE
                    UPDATE carillon.web_push_subscription AS s SET version = newest
                    WHERE s.device = devices[i] AND s.environment = environments[i] AND s.app = apps[i]
                        AND s.queue = queues[i];
                END IF;
                RETURN QUERY SELECT i::bigint, 0::bigint, true, NULL::bigint, newest, NULL::bytea, NULL::bytea;
            END LOOP;
        END
        $$
        """,
    ]
}

extension PostgresSchema {
    static let webPushSettings: [StaticString] = [
        // What Web Push does with messages to an app's phones. template: JSON. relay_to: whether the app has the relay's URL. A
        // node of the release before has no relay's URL, and leaves the row of an app that it deletes.
        """
        CREATE TABLE carillon.web_push_app (
            bundle_id text NOT NULL,
            environment smallint NOT NULL,
            template bytea NOT NULL,
            relay_to boolean NOT NULL,
            plain boolean NOT NULL,
            PRIMARY KEY (bundle_id, environment)
        )
        """
    ]
}
