-- A database of the first provider server that used PostgreSQL, with the schema of its only migration. Its store key is aa, 32 times.
CREATE SCHEMA carillon_provider;

CREATE TABLE carillon_provider.schema_version (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    newest bigint NOT NULL,
    oldest bigint NOT NULL
);

INSERT INTO carillon_provider.schema_version VALUES (true, 1, 1);

CREATE TABLE carillon_provider.secret (name text PRIMARY KEY, value bytea NOT NULL);

CREATE TABLE carillon_provider.app (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    bundle_id text NOT NULL UNIQUE,
    team text NOT NULL,
    endpoints bytea NOT NULL,
    client_key bytea NOT NULL,
    server_key bytea NOT NULL,
    accepts_claimed_users boolean NOT NULL,
    identity bytea
);

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
);

CREATE UNIQUE INDEX installation_by_id ON carillon_provider.installation (app, id);

CREATE UNIQUE INDEX installation_by_token ON carillon_provider.installation (app, environment, token)
WHERE ended IS NULL;

CREATE INDEX installation_by_user ON carillon_provider.installation (app, user_name)
WHERE user_name IS NOT NULL;

CREATE INDEX active_installation ON carillon_provider.installation (app, environment, number)
WHERE ended IS NULL;

CREATE TABLE carillon_provider.audience (
    app bigint NOT NULL REFERENCES carillon_provider.app (number) ON DELETE CASCADE,
    name text NOT NULL,
    document bytea NOT NULL,
    changed bigint NOT NULL,
    PRIMARY KEY (app, name)
);

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
);

CREATE INDEX open_message ON carillon_provider.message (number) WHERE state IN ('scheduled', 'running');

CREATE TABLE carillon_provider.outcome (
    message bigint NOT NULL,
    installation bigint NOT NULL,
    at bigint NOT NULL,
    status bigint NOT NULL,
    reason text,
    PRIMARY KEY (message, installation)
);

CREATE TABLE carillon_provider.tally (
    message bigint NOT NULL REFERENCES carillon_provider.message (number) ON DELETE CASCADE,
    reason text NOT NULL,
    count bigint NOT NULL,
    PRIMARY KEY (message, reason)
);

CREATE TABLE carillon_provider.hook (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    app bigint NOT NULL REFERENCES carillon_provider.app (number) ON DELETE CASCADE,
    url text NOT NULL,
    secret bytea NOT NULL
);

CREATE INDEX hook_by_app ON carillon_provider.hook (app);

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
);

CREATE INDEX hook_delivery_by_hook ON carillon_provider.hook_delivery (hook, number);

CREATE INDEX open_hook_delivery ON carillon_provider.hook_delivery (next) WHERE next IS NOT NULL;

INSERT INTO carillon_provider.secret VALUES ('store/key', '\x000102030405060708090a0bf9b9a29d98e09e889736740988559ebcff00a5e93b2537c1cbab3570c565db3764');
INSERT INTO carillon_provider.secret VALUES ('seal', '\x000102030405060708090a0b9bdad37f3b27b8db06d90f98f3128f2d691d66');
INSERT INTO carillon_provider.app OVERRIDING SYSTEM VALUE VALUES (1, 'com.example.shop', 'ABCDE12345', '\x7b22646576656c6f706d656e74223a7b2275726c223a2268747470733a2f2f3132372e302e302e313a32313937222c22617574686f72697479223a2250454d222c227365616c656443726564656e7469616c73223a5b302c312c3235355d2c2263726564656e7469616c73223a7b226b6579223a7b226b65794944223a224b455931323334353637227d7d7d7d', '\x0102', '\x0304', true, NULL);
INSERT INTO carillon_provider.installation OVERRIDING SYSTEM VALUE VALUES (1, 1, 'i', 0, '\x00fc', 'de-at', ' de-AT en ', 'Europe/Vienna', 'anna', ' news ', '2.1',
    '\x7b226e616d65223a22416e6e61227d', 1800000000000, 1800000000000, NULL, NULL, '\x05');
INSERT INTO carillon_provider.installation OVERRIDING SYSTEM VALUE VALUES (2, 1, 'j', 0, '\x01fc', '', '', '', NULL, '', NULL, NULL, 1800000000000, 1800000000000, 1800000000000, 'Unregistered',
    NULL);
INSERT INTO carillon_provider.message OVERRIDING SYSTEM VALUE VALUES (1, 'm', 1, 'running', '\x7b22c3a9223a307d', 1800000000000, 1800000000000, NULL, 10, NULL, 2, 0, 0, 2, 1,
    'order-7', '\x07', NULL, NULL);
INSERT INTO carillon_provider.outcome VALUES (1, 1, 1800000000000, 200, NULL);
INSERT INTO carillon_provider.outcome VALUES (1, 2, 1800000000000, 410, 'Unregistered');
INSERT INTO carillon_provider.tally VALUES (1, 'Unregistered', 1);
INSERT INTO carillon_provider.hook OVERRIDING SYSTEM VALUE VALUES (1, 'h', 1, 'https://hooks.example.com/', '\x09');
INSERT INTO carillon_provider.hook_delivery OVERRIDING SYSTEM VALUE VALUES (1, 'd', 1, 'installations.ended', '\x7b7d', 1800000000000, 1, 1800000000000, NULL, 'refused', NULL, NULL);
INSERT INTO carillon_provider.audience VALUES (1, 'a', '\x7b7d', 1800000000000);
SELECT setval(pg_get_serial_sequence('carillon_provider.app', 'number'), 1);
SELECT setval(pg_get_serial_sequence('carillon_provider.installation', 'number'), 2);
SELECT setval(pg_get_serial_sequence('carillon_provider.message', 'number'), 1);
SELECT setval(pg_get_serial_sequence('carillon_provider.hook', 'number'), 1);
SELECT setval(pg_get_serial_sequence('carillon_provider.hook_delivery', 'number'), 1);
