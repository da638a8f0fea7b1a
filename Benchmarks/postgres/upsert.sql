-- What PostgreSQL alone does with the statements by which a node stores notifications: one batch, one transaction.
--
--   psql "$URL" -f Benchmarks/postgres/fill.sql
--   pgbench "$URL" -n -M prepared -c 4 -j 2 -T 30 -D batch=300 -f Benchmarks/postgres/upsert.sql
--
-- Rows a second are transactions a second times the batch. -c 4 because a node has four connections that write.
BEGIN;
WITH item AS (
    SELECT DISTINCT (random() * 999999)::bigint + 1 AS device, 1 AS environment, 1000000000 AS app
    FROM generate_series(1, :batch)
), held AS (
    SELECT
        d.device, d.environment, d.app, d.active,
        (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 30::bigint * 86400 * 1000 AS expires
    FROM item JOIN carillon.destination AS d
        ON d.device = item.device AND d.environment = item.environment AND d.app = item.app
    ORDER BY d.device, d.environment, d.app
    FOR NO KEY UPDATE OF d
)
UPDATE carillon.destination AS d SET
    version = greatest(d.version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint),
    sweep = least(d.sweep, held.expires), expires = held.expires, expiration = NULL, priority = 10, contents = 3,
    id = decode('00112233445566778899aabbccddeeff', 'hex'), push_type = 'alert', topic = 'com.example.app',
    collapse_id = NULL, payload = convert_to(repeat('x', 200), 'UTF8')
FROM held
WHERE d.device = held.device AND d.environment = held.environment AND d.app = held.app AND held.active;
INSERT INTO carillon.announcement (node, device, environment, app, epoch)
SELECT d.node, d.device, d.environment, 1000000000, 0
FROM (SELECT DISTINCT (random() * 999999)::bigint + 1 AS device, 1 AS environment FROM generate_series(1, :batch)) AS item
JOIN carillon.device AS d ON d.device = item.device AND d.environment = item.environment
WHERE d.node <> '\x01'
ON CONFLICT (node, device, environment, app) DO UPDATE SET epoch = 0;
COMMIT;
