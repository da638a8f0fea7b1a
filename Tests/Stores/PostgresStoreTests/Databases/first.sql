-- A database of the first service that used PostgreSQL, with the schema of its only migration. Its store key is aa, 32 times.
CREATE SCHEMA carillon;

CREATE TABLE carillon.schema_version (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    newest bigint NOT NULL,
    oldest bigint NOT NULL
);

INSERT INTO carillon.schema_version VALUES (true, 1, 1);

CREATE TABLE carillon.accounts (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    version bigint NOT NULL,
    last_app bigint NOT NULL
);

INSERT INTO carillon.accounts VALUES (true, 0, 0);

CREATE TABLE carillon.team (
    id text PRIMARY KEY,
    name bytea NOT NULL
);

CREATE TABLE carillon.app (
    id bigint PRIMARY KEY,
    bundle_id text NOT NULL UNIQUE,
    team text NOT NULL REFERENCES carillon.team (id)
);

CREATE TABLE carillon.deleted_app (id bigint PRIMARY KEY);

CREATE TABLE carillon.signing_key (
    id text PRIMARY KEY,
    team text NOT NULL REFERENCES carillon.team (id),
    public_key bytea NOT NULL,
    development boolean NOT NULL,
    production boolean NOT NULL,
    revoked bigint,
    bundle_ids text
);

CREATE TABLE carillon.provider_certificate (
    serial bytea PRIMARY KEY,
    team text NOT NULL REFERENCES carillon.team (id),
    bundle_id text NOT NULL,
    development boolean NOT NULL,
    production boolean NOT NULL,
    valid_until bigint NOT NULL,
    revoked bigint
);

CREATE TABLE carillon.invitation (
    digest bytea PRIMARY KEY,
    environment smallint NOT NULL,
    expires bigint NOT NULL
);

CREATE INDEX invitation_by_expiry ON carillon.invitation (expires);

CREATE TABLE carillon.node (
    identity bytea PRIMARY KEY,
    name bytea NOT NULL UNIQUE,
    until timestamptz NOT NULL
);

CREATE TABLE carillon.secret (
    name text PRIMARY KEY,
    value bytea NOT NULL
);

CREATE TABLE carillon.device (
    device bigint NOT NULL,
    environment smallint NOT NULL,
    revoked bigint,
    node bytea,
    epoch bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (device, environment)
);

CREATE INDEX device_by_node ON carillon.device (node) WHERE node IS NOT NULL;

CREATE TABLE carillon.announcement (
    node bytea NOT NULL,
    device bigint NOT NULL,
    environment smallint NOT NULL,
    app bigint NOT NULL,
    epoch bigint NOT NULL,
    PRIMARY KEY (node, device, environment, app)
);

CREATE INDEX revoked_device ON carillon.device (device) WHERE revoked IS NOT NULL;

CREATE TABLE carillon.destination (
    device bigint NOT NULL,
    environment smallint NOT NULL,
    app bigint NOT NULL,
    generation bigint NOT NULL,
    token_key bigint NOT NULL,
    token_since bigint NOT NULL,
    changed bigint NOT NULL,
    version bigint NOT NULL DEFAULT 0,
    expires bigint,
    expiration bigint,
    priority smallint,
    contents smallint,
    active boolean NOT NULL,
    id bytea,
    push_type text,
    topic bytea,
    collapse_id bytea,
    payload bytea,
    PRIMARY KEY (device, environment, app)
) WITH (fillfactor = 70);

ALTER TABLE carillon.destination ALTER COLUMN payload SET STORAGE EXTERNAL;

CREATE INDEX destination_by_app ON carillon.destination (app);

CREATE INDEX destination_by_expiry ON carillon.destination (expires) WHERE expires IS NOT NULL;

CREATE TABLE carillon.feedback_list (
    environment smallint NOT NULL,
    app bigint NOT NULL,
    last bigint NOT NULL,
    PRIMARY KEY (environment, app)
);

CREATE TABLE carillon.feedback (
    device bigint NOT NULL,
    environment smallint NOT NULL,
    app bigint NOT NULL,
    generation bigint NOT NULL,
    number bigint NOT NULL,
    moment bigint NOT NULL,
    token bytea NOT NULL,
    PRIMARY KEY (device, environment, app, generation)
);

CREATE INDEX feedback_by_list ON carillon.feedback (environment, app, number);

UPDATE carillon.accounts SET version = 4, last_app = 2;
INSERT INTO carillon.team VALUES ('ABCDE12345', '\x53686f70');
INSERT INTO carillon.app VALUES (1, 'com.example.shop', 'ABCDE12345');
INSERT INTO carillon.deleted_app VALUES (2);
INSERT INTO carillon.signing_key VALUES ('KEY1234567', 'ABCDE12345', '\x0401010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101', true, false, NULL, 'com.example.shop');
INSERT INTO carillon.provider_certificate VALUES ('\x41000000000000000000000000000000', 'ABCDE12345', 'com.example.shop', true, true, 4102444800000, 1800000000000);
INSERT INTO carillon.invitation VALUES ('\x0707070707070707070707070707070707070707070707070707070707070707', 1, 4102444800000);
INSERT INTO carillon.node VALUES ('\x02', '\x7468657265', '2026-11-23 12:00:00+00');
INSERT INTO carillon.secret VALUES ('store/key', '\x000102030405060708090a0bf9b9a29d98e09e88f19a6da623f13bb0a8b4439385f46ca7');
INSERT INTO carillon.secret VALUES ('token-key-1', '\x000102030405060708090a0b9bdad3b92b0e5215beb8b02bbad1aa6c9111a1');
INSERT INTO carillon.device VALUES (1, 0, NULL, NULL, 3);
INSERT INTO carillon.device VALUES (3, 1, 1800000000000, NULL, 0);
INSERT INTO carillon.announcement VALUES ('\x02', 1, 0, 1, 3);
INSERT INTO carillon.destination VALUES (1, 0, 1, 1, 1, 1800000000000, 1800000000000, 5, 4102444800000, NULL, 10, 3, true,
    '\x6b2f4a3e000040008000000000000010', 'alert', '\x636f6d2e6578616d706c652e73686f70', NULL, '\x7b22617073223a7b22616c657274223a2248656c6c6f227d7d');
INSERT INTO carillon.destination VALUES (1, 0, 2, 1, 1, 1800000000000, 1800000000000, 0, NULL, NULL, NULL, NULL, true);
INSERT INTO carillon.destination VALUES (2, 0, 1, 1, 1, 1800000000000, 1800000000000, 0, NULL, NULL, NULL, NULL, false);
INSERT INTO carillon.feedback_list VALUES (0, 1, 1);
INSERT INTO carillon.feedback VALUES (2, 0, 1, 1, 1, 1800000000000, '\x0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f');
