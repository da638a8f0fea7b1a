-- Makes a million registrations of an app that no device has, so that upsert.sql has rows to write. The database is one that
-- carillon serve has prepared and no node uses. See upsert.sql.
INSERT INTO carillon.device (device, environment) SELECT n, 1 FROM generate_series(1, 1000000) AS n
ON CONFLICT DO NOTHING;
INSERT INTO carillon.destination (device, environment, app, generation, token_key, token_since, changed, active)
SELECT n, 1, 1000000000, 1, 1, 0, 0, true FROM generate_series(1, 1000000) AS n
ON CONFLICT DO NOTHING;
ANALYZE carillon.device;
ANALYZE carillon.destination;
