-- Made by Carillon 0.1.0. The notification's expires is put into the year 2100, so that it still waits.
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
INSERT INTO meta VALUES('accounts_version',4);
INSERT INTO meta VALUES('mailbox_versions_reserved',1048578);
CREATE TABLE team (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO team VALUES('2W4YJMO28R','Development');
INSERT INTO team VALUES('Z8MRP12322','Shop');
CREATE TABLE app (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    bundle_id TEXT NOT NULL UNIQUE,
    team TEXT NOT NULL REFERENCES team (id)
) STRICT;
INSERT INTO app VALUES(1,'com.example.app','2W4YJMO28R');
CREATE TABLE signing_key (
    id TEXT PRIMARY KEY,
    team TEXT NOT NULL REFERENCES team (id),
    public_key BLOB NOT NULL,
    development INTEGER NOT NULL,
    production INTEGER NOT NULL,
    revoked INTEGER
, bundle_ids TEXT) STRICT, WITHOUT ROWID;
INSERT INTO signing_key VALUES('5HKUGF8G1T','2W4YJMO28R',X'043c6bc731ea85bb61c785711ed5215a8448b6bc802fd0deedc7576fb2d5a47c7a0dc87173e8d2aa590763a8c0628b57d7baf8b2f17c970ac778d9b65fec24a890',1,1,NULL,NULL);
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
INSERT INTO registration VALUES(0,8093237993441775134,1,1,1,1795444229326,1,1795444229326);
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
INSERT INTO mailbox VALUES(0,8093237993441775134,1,1,4102444800000,X'6b2f4a3e000040008000000000000010',10,NULL,3,'alert','com.example.app',NULL,X'7b22617073223a7b22616c657274223a22416363657074656420627920302e312e30227d7d');
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
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('app',1);
CREATE INDEX app_by_team ON app (team);
CREATE INDEX signing_key_by_team ON signing_key (team);
CREATE INDEX mailbox_by_expiry ON mailbox (expires);
CREATE INDEX provider_certificate_by_team ON provider_certificate (team);
CREATE INDEX invitation_by_expiry ON invitation (expires);
CREATE INDEX feedback_by_list ON feedback (environment, app, number);
COMMIT;
