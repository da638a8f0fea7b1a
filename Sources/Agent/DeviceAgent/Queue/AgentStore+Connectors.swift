import APNSDevice
import Foundation
import GRDB
import SQLiteSupport
import Storage

// The registrations of UnifiedPush, and the messages that their apps have not taken.
extension AgentStore {
    /// The registrations, by the names of their subscriptions.
    func connectors() throws(StoreError) -> [String: Connector] {
        let rows = try read { database throws(SQLiteFailure) in
            try database.rows("SELECT subscription, service, token, version, vapid, endpoint FROM connector") { row in
                Connector(
                    subscription: row.text(0), service: row.text(1), token: row.text(2),
                    version: Connector.Version(rawValue: row.integer(3)) ?? .two,
                    vapid: row.optionalText(4), endpoint: row.text(5))
            }
        }
        return Dictionary(rows.map { ($0.subscription, $0) }) { first, _ in first }
    }

    /// Keeps a registration. Its messages stay.
    func keep(_ connector: Connector) throws(StoreError) {
        _ = try write { database throws(SQLiteFailure) in
            try database.run(
                """
                INSERT INTO connector (subscription, service, token, version, vapid, endpoint) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT (subscription) DO UPDATE
                SET version = excluded.version, vapid = excluded.vapid, endpoint = excluded.endpoint
                """,
                [
                    connector.subscription, connector.service, connector.token, connector.version.rawValue,
                    connector.vapid,
                    connector.endpoint,
                ])
        }
    }

    /// Removes a registration with its messages.
    func removeConnector(_ subscription: String) throws(StoreError) {
        _ = try write { database throws(SQLiteFailure) in
            try database.run("DELETE FROM message WHERE subscription = ?", [subscription])
            return try database.run("DELETE FROM connector WHERE subscription = ?", [subscription])
        }
    }

    /// Adds a message, if its registration is there and it has not come before. It removes an earlier one with the same topic, as the
    /// service does (RFC 8030, 5.4). A message stays until its app has it: the service has looked at its TTL, and a machine's clock may be
    /// wrong.
    /// - Parameter id: the notification's.
    /// - Returns: how many of the oldest messages were removed to make room.
    func add(_ message: WebPushMessage, id: String) throws(StoreError) -> Int {
        try write { database throws(SQLiteFailure) in
            guard try see(id, database) else { return 0 }
            let subscription = message.subscription
            if let topic = message.topic {
                try database.run("DELETE FROM message WHERE subscription = ? AND topic = ?", [subscription, topic])
            }
            try database.run(
                """
                INSERT INTO message (subscription, id, body, topic) SELECT subscription, ?2, ?3, ?4 FROM connector WHERE subscription = ?1
                """, [subscription, id, Data(message.body), message.topic])
            return try database.run(
                """
                DELETE FROM message WHERE subscription = ?1 AND number <= (
                    SELECT max(number) FROM (
                        SELECT number, row_number() OVER newest AS place, sum(length(body)) OVER newest AS bytes
                        FROM message WHERE subscription = ?1 WINDOW newest AS (ORDER BY number DESC)
                    ) WHERE place > 1 AND (place > ?2 OR bytes > ?3)
                )
                """, [subscription, AgentLimits.connectorMessages, AgentLimits.connectorBytes])
        }
    }

    /// The oldest message of a subscription.
    func nextMessage(of subscription: String) throws(StoreError) -> ConnectorMessage? {
        try read { database throws(SQLiteFailure) in
            try database.firstRow(
                "SELECT number, id, body FROM message WHERE subscription = ? ORDER BY number LIMIT 1", [subscription]
            ) { row in ConnectorMessage(number: row.integer(0), id: row.text(1), body: Array(row.blob(2))) }
        }
    }

    func removeMessage(_ number: Int64) throws(StoreError) {
        _ = try write { database throws(SQLiteFailure) in
            try database.run("DELETE FROM message WHERE number = ?", [number])
        }
    }

    /// How many messages wait for apps of the desktop.
    func messageCount() throws(StoreError) -> Int {
        try read { database throws(SQLiteFailure) in
            try database.firstRow("SELECT count(*) FROM message") { Int(clamping: $0.integer(0)) } ?? 0
        }
    }
}
