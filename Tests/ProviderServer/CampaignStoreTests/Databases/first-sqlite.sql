-- A database of the first provider server, with the schema of its only migration.
CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
INSERT INTO grdb_migrations VALUES ('1');

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

INSERT INTO app VALUES (1, 'com.example.shop', 'ABCDE12345', X'7b22646576656c6f706d656e74223a7b2275726c223a2268747470733a2f2f3132372e302e302e313a32313937222c22617574686f72697479223a2250454d222c227365616c656443726564656e7469616c73223a5b302c312c3235355d2c2263726564656e7469616c73223a7b226b6579223a7b226b65794944223a224b455931323334353637227d7d7d7d', X'0102', X'0304', 1, NULL);
INSERT INTO installation VALUES (1, 1, 'i', 0, X'00fc', 'de-at', ' de-AT en ', 'Europe/Vienna', 'anna', ' news ', '2.1',
    X'7b226e616d65223a22416e6e61227d', 1800000000000, 1800000000000, NULL, NULL, X'05');
INSERT INTO installation VALUES (2, 1, 'j', 0, X'01fc', '', '', '', NULL, '', NULL, NULL, 1800000000000, 1800000000000, 1800000000000, 'Unregistered',
    NULL);
INSERT INTO message VALUES (1, 'm', 1, 'running', X'7b22c3a9223a307d', 1800000000000, 1800000000000, NULL, 10, NULL, 2, 0, 0, 2, 1,
    'order-7', X'07');
INSERT INTO outcome VALUES (1, 1, 1800000000000, 200, NULL);
INSERT INTO outcome VALUES (1, 2, 1800000000000, 410, 'Unregistered');
INSERT INTO tally VALUES (1, 'Unregistered', 1);
INSERT INTO hook VALUES (1, 'h', 1, 'https://hooks.example.com/', X'09');
INSERT INTO hook_delivery VALUES (1, 'd', 1, 'installations.ended', X'7b7d', 1800000000000, 1, 1800000000000, NULL, 'refused');
