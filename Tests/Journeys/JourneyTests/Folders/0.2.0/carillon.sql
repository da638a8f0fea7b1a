-- The folder of 0.1.0 with the tables of Carillon 0.2.0: what its migrations make of it.
PRAGMA application_id = 1130459753;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE administrator_certificate (
    serial BLOB PRIMARY KEY,
    made INTEGER,
    valid_until INTEGER NOT NULL,
    revoked INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE app (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    bundle_id TEXT NOT NULL UNIQUE,
    team TEXT NOT NULL REFERENCES team (id)
, broadcasts INTEGER NOT NULL DEFAULT 1) STRICT;
INSERT INTO "app" VALUES(1,'com.example.app','2W4YJMO28R',1);
CREATE TABLE broadcast (
    environment INTEGER NOT NULL,
    app INTEGER NOT NULL,
    channel TEXT NOT NULL,
    version INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    id BLOB NOT NULL,
    priority INTEGER NOT NULL,
    expiration INTEGER,
    contents INTEGER NOT NULL,
    push_type TEXT,
    topic TEXT NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (environment, app, channel)
) STRICT, WITHOUT ROWID;
CREATE TABLE channel (
    environment INTEGER NOT NULL,
    app INTEGER NOT NULL,
    id TEXT NOT NULL,
    policy INTEGER NOT NULL,
    created INTEGER NOT NULL,
    PRIMARY KEY (environment, app, id)
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
CREATE TABLE gateway_grant (
    id TEXT PRIMARY KEY,
    bundle_id TEXT NOT NULL,
    team TEXT NOT NULL REFERENCES team (id),
    name TEXT NOT NULL,
    key_id TEXT NOT NULL UNIQUE,
    public_key BLOB NOT NULL,
    client_key TEXT NOT NULL UNIQUE,
    limits BLOB NOT NULL,
    suspended INTEGER NOT NULL,
    made INTEGER NOT NULL,
    revoked INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE grant_answer (
    grant_id TEXT NOT NULL,
    outcome TEXT NOT NULL,
    answers INTEGER NOT NULL,
    PRIMARY KEY (grant_id, outcome)
) STRICT, WITHOUT ROWID;
CREATE TABLE grant_day (
    grant_id TEXT NOT NULL,
    day INTEGER NOT NULL,
    sent INTEGER NOT NULL,
    PRIMARY KEY (grant_id, day)
) STRICT, WITHOUT ROWID;
CREATE TABLE grant_invitation (
    digest BLOB PRIMARY KEY,
    bundle_id TEXT NOT NULL,
    name TEXT NOT NULL,
    limits BLOB NOT NULL,
    expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
INSERT INTO "grdb_migrations" VALUES('1');
INSERT INTO "grdb_migrations" VALUES('trust');
INSERT INTO "grdb_migrations" VALUES('feedback');
INSERT INTO "grdb_migrations" VALUES('channels');
INSERT INTO "grdb_migrations" VALUES('administrators');
INSERT INTO "grdb_migrations" VALUES('revoked keys');
INSERT INTO "grdb_migrations" VALUES('upstreams');
INSERT INTO "grdb_migrations" VALUES('grants');
INSERT INTO "grdb_migrations" VALUES('broadcasts of apps');
CREATE TABLE handle (
    handle BLOB PRIMARY KEY,
    grant_id TEXT NOT NULL,
    app INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    token BLOB NOT NULL,
    registered INTEGER NOT NULL,
    ended_reason TEXT,
    ended INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE handle_count (
    grant_id TEXT PRIMARY KEY,
    handles INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE held_push (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    bundle_id TEXT NOT NULL,
    environment INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    taken INTEGER NOT NULL,
    token BLOB NOT NULL,
    payload BLOB NOT NULL,
    headers BLOB NOT NULL
) STRICT;
CREATE TABLE invitation (
    digest BLOB PRIMARY KEY,
    environment INTEGER NOT NULL,
    expires INTEGER NOT NULL
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
INSERT INTO "mailbox" VALUES(0,8093237993441775134,1,1,4102444800000,X'6B2F4A3E000040008000000000000010',10,NULL,3,'alert','com.example.app',NULL,X'7B22617073223A7B22616C657274223A22416363657074656420627920302E322E30227D7D');
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "meta" VALUES('accounts_version',4);
INSERT INTO "meta" VALUES('broadcast_version',0);
INSERT INTO "meta" VALUES('mailbox_versions_reserved',1048578);
CREATE TABLE provider_certificate (
    serial BLOB PRIMARY KEY,
    team TEXT NOT NULL REFERENCES team (id),
    bundle_id TEXT NOT NULL,
    development INTEGER NOT NULL,
    production INTEGER NOT NULL,
    valid_until INTEGER NOT NULL,
    revoked INTEGER
) STRICT, WITHOUT ROWID;
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
INSERT INTO "registration" VALUES(0,8093237993441775134,1,1,1,1795444229326,1,1795444229326);
CREATE TABLE revoked_device (
    environment INTEGER NOT NULL,
    device INTEGER NOT NULL,
    revoked INTEGER NOT NULL,
    PRIMARY KEY (environment, device)
) STRICT, WITHOUT ROWID;
CREATE TABLE revoked_key (
    public_key BLOB PRIMARY KEY
) STRICT, WITHOUT ROWID;
CREATE TABLE signing_key (
    id TEXT PRIMARY KEY,
    team TEXT NOT NULL REFERENCES team (id),
    public_key BLOB NOT NULL,
    development INTEGER NOT NULL,
    production INTEGER NOT NULL,
    revoked INTEGER
, bundle_ids TEXT) STRICT, WITHOUT ROWID;
INSERT INTO "signing_key" VALUES('5HKUGF8G1T','2W4YJMO28R',X'043C6BC731EA85BB61C785711ED5215A8448B6BC802FD0DEEDC7576FB2D5A47C7A0DC87173E8D2AA590763A8C0628B57D7BAF8B2F17C970AC778D9B65FEC24A890',1,1,NULL,NULL);
CREATE TABLE subscription (
    environment INTEGER NOT NULL,
    device INTEGER NOT NULL,
    app INTEGER NOT NULL,
    channel TEXT NOT NULL,
    seen INTEGER NOT NULL,
    PRIMARY KEY (environment, device, app, channel)
) STRICT, WITHOUT ROWID;
CREATE TABLE team (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "team" VALUES('2W4YJMO28R','Development');
INSERT INTO "team" VALUES('Z8MRP12322','Shop');
CREATE TABLE upstream (
    bundle_id TEXT NOT NULL,
    environment INTEGER NOT NULL,
    url TEXT NOT NULL,
    authority TEXT,
    kind INTEGER NOT NULL,
    team TEXT NOT NULL,
    key_id TEXT NOT NULL,
    credentials BLOB NOT NULL,
    proxy TEXT,
    hold INTEGER NOT NULL,
    captures INTEGER NOT NULL,
    compares INTEGER NOT NULL,
    PRIMARY KEY (bundle_id, environment)
) STRICT, WITHOUT ROWID;
CREATE INDEX app_by_team ON app (team);
CREATE INDEX signing_key_by_team ON signing_key (team);
CREATE INDEX mailbox_by_expiry ON mailbox (expires);
CREATE INDEX provider_certificate_by_team ON provider_certificate (team);
CREATE INDEX invitation_by_expiry ON invitation (expires);
CREATE INDEX feedback_by_list ON feedback (environment, app, number);
CREATE INDEX broadcast_by_expiry ON broadcast (expires);
CREATE INDEX held_push_by_place ON held_push (bundle_id, environment, number);
CREATE INDEX held_push_by_expiry ON held_push (expires);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('app',1);
COMMIT;
