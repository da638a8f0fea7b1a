import Delivery
import Foundation
import Logging
import Notifications
import PrivateFiles
import SQLiteStore
import Storage

#if PostgreSQL
    package import PostgresClient
    import PostgresStore
    package import PostgresSupport
#endif

/// Which store the service uses. Only this type knows all kinds of stores.
package enum StoreChoice: Sendable, Hashable {
    /// The embedded SQLite store in the data folder.
    case sqlite
    /// A store in memory. It is lost when the service ends.
    case memory
    #if PostgreSQL
        /// A PostgreSQL database.
        case postgresql(PostgresLocation)
    #endif

    /// - Parameters:
    ///   - text: the value of the setting `store`. Errors do not repeat it, because it may contain a password.
    ///   - isArgument: whether the text is an argument of the command, which all users of the machine can read.
    package init(_ text: String, isArgument: Bool = false) throws(ServiceError) {
        switch text {
        case "sqlite": self = .sqlite
        case "memory": self = .memory
        case _ where text.hasPrefix("postgresql:") || text.hasPrefix("postgres:"):
            self = try Self.postgresql(text, isArgument: isArgument)
        default:
            throw ServiceError(
                .badSetting, "The setting store takes sqlite, memory, or a URL that begins with postgresql://.")
        }
    }

    /// Whether the store is outside the data folder, and remains when the folder is removed.
    var isShared: Bool {
        switch self {
        case .sqlite, .memory: false
        #if PostgreSQL
            case .postgresql: true
        #endif
        }
    }

    #if PostgreSQL
        private static func postgresql(_ url: String, isArgument: Bool) throws(ServiceError) -> StoreChoice {
            let location: PostgresLocation
            do {
                location = try PostgresLocation(url)
            } catch {
                throw ServiceError(.badSetting, error.message)
            }
            guard !isArgument || !location.hasPassword else {
                throw ServiceError(
                    .badSetting,
                    "The URL in --store has a password, and everybody on this machine can read a command's arguments: put "
                        + "the URL into CARILLON_STORE or the settings file, or the password into libpq's password file."
                )
            }
            return .postgresql(location)
        }
    #else
        private static func postgresql(_ url: String, isArgument: Bool) throws(ServiceError) -> StoreChoice {
            throw ServiceError(
                .badSetting,
                "This build has no PostgreSQL store: build with the package trait PostgreSQL, or use sqlite or memory.")
        }
    #endif

    /// Opens the store.
    /// - Parameters:
    ///   - log: records notifications that the store itself removes from mailboxes, for example because they expire.
    func open(
        in folder: DataFolder,
        _ settings: Settings,
        log: any DeliveryLog,
        clock: ServiceClock,
        logger: Logger,
    ) async throws(ServiceError) -> any Store {
        switch self {
        case .memory:
            do {
                return try SQLiteStore.inMemory(log: log, clock: { clock.time })
            } catch {
                throw ServiceError(.store, error.cause)
            }
        case .sqlite:
            do {
                let store = try await SQLiteStore.open(
                    folder: folder.path, log: log, acceptsDamage: settings.acceptsDamagedLog,
                    clock: { clock.time })
                if let loss = store.loss {
                    logger.warning("The store has lost data that it had accepted", metadata: ["cause": "\(loss)"])
                }
                if !store.exposedSecrets.isEmpty {
                    logger.warning(
                        "Secrets were open to other users",
                        metadata: [
                            "paths": .array(store.exposedSecrets.map { .string($0) }),
                            "advice": "they are closed now; if somebody may have read them, start with a new folder",
                        ])
                }
                return store
            } catch {
                throw ServiceError(.store, error.cause)
            }
        #if PostgreSQL
            case .postgresql(let location):
                let store = try await Self.open(location, in: folder, settings, log: log, clock: clock)
                // Only now: a start that fails prints one line.
                if let file = settings.storeKeyFile, StoreKeyFile.othersMayRead(file) {
                    logger.warning(
                        "Other users can read the store key",
                        metadata: ["path": "\(file)", "advice": "only the service should read it: chmod 600"])
                }
                if location.mayBePlainText(ProcessInfo.processInfo.environment) {
                    logger.warning(
                        "The connections to PostgreSQL may be in plain text",
                        metadata: [
                            "store": "\(location)",
                            "advice": "add sslmode=verify-full and sslrootcert to the store's URL (docs/cluster.md)",
                        ])
                }
                return store
        #endif
        }
    }

    #if PostgreSQL
        private static func open(
            _ location: PostgresLocation,
            in folder: DataFolder,
            _ settings: Settings,
            log: any DeliveryLog,
            clock: ServiceClock,
        ) async throws(ServiceError) -> any Store {
            var configuration = PostgresStore.Configuration(
                location: location, storeKey: try StoreKeyFile.read(settings.storeKeyFile),
                node: PostgresNode(
                    name: settings.nodeName ?? ProcessInfo.processInfo.hostName,
                    identity: try NodeFile.identity(in: folder)))
            configuration.allowsAsynchronousCommit = settings.allowsAsynchronousCommit
            configuration.machineTime = { clock.machineTime }
            do {
                return try await PostgresStore.open(configuration, log: log, clock: { clock.time })
            } catch {
                throw ServiceError(.store, "The store at \(location) cannot be used. \(error.cause)")
            }
        }
    #endif
}

#if PostgreSQL
    /// The file with the key that seals the store's secrets.
    package enum StoreKeyFile {
        package static func read(_ file: String?) throws(ServiceError) -> StoreKey {
            guard let file else {
                throw ServiceError(
                    .badSetting,
                    "A PostgreSQL store needs --store-key-file, a file with 64 hexadecimal digits that is the same for all "
                        + "services of the store: make it with openssl rand -hex 32.")
            }
            let data: Data
            do {
                data = try Data(contentsOf: URL(fileURLWithPath: file))
            } catch {
                throw ServiceError(.trust, "The store key \(file) cannot be read: \(DataFolder.reason(error)).")
            }
            // Whoever can change the key can make the service unusable. Secrets of container systems are often readable for
            // everybody, but never writable.
            guard permissions(of: file) & 0o002 == 0 else {
                throw ServiceError(.trust, "The store key \(file) can be changed by every user: chmod 600 \(file).")
            }
            guard let key = StoreKey(hexadecimal: String(decoding: data, as: UTF8.self)) else {
                throw ServiceError(
                    .trust,
                    "The store key \(file) does not hold 64 hexadecimal digits: make one with openssl rand -hex 32.")
            }
            return key
        }

        /// Whether users other than the owner and the group may read the key.
        package static func othersMayRead(_ file: String) -> Bool { permissions(of: file) & 0o004 != 0 }

        /// The permissions of the file that the name leads to; 0 if they are unknown, and reading it says why.
        private static func permissions(of file: String) -> mode_t {
            do throws(StoreError) {
                return try Files.mode(of: Files.open(file, O_RDONLY), file)
            } catch {
                return 0
            }
        }
    }
#endif
