import GRDB
import SQLiteSupport

/// The tables of the agent's database.
enum AgentSchema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { database in
            try database.execute(
                sql: """
                    -- The apps that have registered: an AppRecord in JSON.
                    CREATE TABLE app (bundleID TEXT PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
                    -- The events that apps have not handled. AUTOINCREMENT: no number is used twice.
                    CREATE TABLE event (
                        delivery INTEGER PRIMARY KEY AUTOINCREMENT, bundleID TEXT NOT NULL, text BLOB NOT NULL,
                        attempts INTEGER NOT NULL DEFAULT 0
                    );
                    CREATE INDEX eventOfApp ON event (bundleID, delivery);
                    -- The newest notifications that have come. None is queued twice.
                    CREATE TABLE seen (number INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB NOT NULL UNIQUE);
                    -- The apps that were removed, and of which the service does not know that yet.
                    CREATE TABLE removed (bundleID TEXT PRIMARY KEY) WITHOUT ROWID;
                    -- The user's settings for the whole device.
                    CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("2") { database in
            try database.execute(
                sql: """
                    -- The numbers beside the apps' icons.
                    CREATE TABLE badge (bundleID TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("3") { database in
            try database.execute(
                sql: """
                    -- The registrations of UnifiedPush: apps of the desktop.
                    CREATE TABLE connector (
                        subscription TEXT PRIMARY KEY, service TEXT NOT NULL, token TEXT NOT NULL UNIQUE,
                        version INTEGER NOT NULL, vapid TEXT, endpoint TEXT NOT NULL
                    ) WITHOUT ROWID;
                    -- Their messages that no app has taken. AUTOINCREMENT: the number of a message that was replaced is not used again.
                    CREATE TABLE message (
                        number INTEGER PRIMARY KEY AUTOINCREMENT, subscription TEXT NOT NULL, id TEXT NOT NULL,
                        body BLOB NOT NULL, topic TEXT
                    );
                    CREATE INDEX messageOfConnector ON message (subscription, number);
                    """)
        }
        return migrator
    }
}
