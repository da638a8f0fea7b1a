-- A database of 0.1.0, with its schema as Folders/0.1.0 of JourneyTests has it, and with a row in each table.
PRAGMA application_id = 1130459753;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
INSERT INTO grdb_migrations VALUES('1');
INSERT INTO grdb_migrations VALUES('trust');
INSERT INTO grdb_migrations VALUES('feedback');
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE team (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE app (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    bundle_id TEXT NOT NULL UNIQUE,
    team TEXT NOT NULL REFERENCES team (id)
) STRICT;
CREATE TABLE signing_key (
    id TEXT PRIMARY KEY,
    team TEXT NOT NULL REFERENCES team (id),
    public_key BLOB NOT NULL,
    development INTEGER NOT NULL,
    production INTEGER NOT NULL,
    revoked INTEGER
, bundle_ids TEXT) STRICT, WITHOUT ROWID;
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
CREATE TABLE provider_certificate (
    serial BLOB PRIMARY KEY,
    team TEXT NOT NULL REFERENCES team (id),
    bundle_id TEXT NOT NULL,
    development INTEGER NOT NULL,
    production INTEGER NOT NULL,
    valid_until INTEGER NOT NULL,
    revoked INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE revoked_device (
    environment INTEGER NOT NULL,
    device INTEGER NOT NULL,
    revoked INTEGER NOT NULL,
    PRIMARY KEY (environment, device)
) STRICT, WITHOUT ROWID;
CREATE TABLE invitation (
    digest BLOB PRIMARY KEY,
    environment INTEGER NOT NULL,
    expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
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
CREATE INDEX app_by_team ON app (team);
CREATE INDEX signing_key_by_team ON signing_key (team);
CREATE INDEX mailbox_by_expiry ON mailbox (expires);
CREATE INDEX provider_certificate_by_team ON provider_certificate (team);
CREATE INDEX invitation_by_expiry ON invitation (expires);
CREATE INDEX feedback_by_list ON feedback (environment, app, number);
INSERT INTO meta VALUES ('accounts_version', 4);
INSERT INTO meta VALUES ('mailbox_versions_reserved', 1048578);
INSERT INTO team VALUES ('ABCDE12345', 'Shop');
INSERT INTO app VALUES (1, 'com.example.shop', 'ABCDE12345');
INSERT INTO signing_key VALUES ('KEY1234567', 'ABCDE12345', X'0401010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101', 1, 0, NULL, 'com.example.shop');
INSERT INTO provider_certificate VALUES (X'41000000000000000000000000000000', 'ABCDE12345', 'com.example.shop', 1, 1, 4102444800000, 1800000000000);
INSERT INTO revoked_device VALUES (1, 3, 1800000000000);
INSERT INTO invitation VALUES (X'0707070707070707070707070707070707070707070707070707070707070707', 1, 4102444800000);
INSERT INTO registration VALUES (0, 1, 1, 1, 1, 1800000000000, 1, 1800000000000);
INSERT INTO registration VALUES (0, 2, 1, 1, 1, 1800000000000, 0, 1800000000000);
-- The app with the number 2 was deleted.
INSERT INTO registration VALUES (0, 1, 2, 1, 1, 1800000000000, 1, 1800000000000);
INSERT INTO mailbox VALUES (0, 1, 1, 5, 4102444800000, X'6b2f4a3e000040008000000000000010', 10, NULL, 3, 'alert', 'com.example.shop', NULL,
    X'7b22617073223a7b22616c657274223a2248656c6c6f227d7d');
INSERT INTO feedback VALUES (7, 0, 2, 1, 1, 1800000000000, X'0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f');
UPDATE sqlite_sequence SET seq = 2 WHERE name = 'app';
COMMIT;
