extension PostgresSchema {
    /// Web Push to phones behind an upstream. A node of the release before knows no endpoint of a handle. If it removes a handle, the
    /// endpoints go with it. If it ends one, they are of no use until the app registers the handle again, and removed then.
    static let webPushToPhones: [StaticString] = [
        // name, seed, digest, vapid: as in the table web_push_subscription.
        """
        CREATE TABLE carillon.handle_endpoint (
            handle bytea NOT NULL REFERENCES carillon.handle (handle) ON DELETE CASCADE,
            name bytea NOT NULL,
            seed bytea NOT NULL,
            digest bytea NOT NULL,
            vapid bytea,
            PRIMARY KEY (handle, name)
        )
        """,
        "CREATE UNIQUE INDEX handle_endpoint_by_digest ON carillon.handle_endpoint (digest)",
        // Bodies of messages that did not fit into a notification. digest: SHA-256 of what the URL has. owner: the digest of
        // the endpoint, or a hash of a relay's token. bytes: of the body.
        """
        CREATE TABLE carillon.web_push_body (
            digest bytea PRIMARY KEY,
            owner bytea NOT NULL,
            bytes bigint NOT NULL,
            body bytea NOT NULL,
            expires bigint NOT NULL,
            fetched boolean NOT NULL
        )
        """,
        // Encrypted bodies cannot be compressed.
        "ALTER TABLE carillon.web_push_body ALTER COLUMN body SET STORAGE EXTERNAL",
        "CREATE INDEX web_push_body_by_owner ON carillon.web_push_body (owner, bytes)",
        "CREATE INDEX web_push_body_by_expiry ON carillon.web_push_body (expires)",
        // The bytes of all bodies together, in one row or none.
        "CREATE TABLE carillon.web_push_body_total (id bigint PRIMARY KEY, bytes bigint NOT NULL)",
    ]
}
