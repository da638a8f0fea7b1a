import Crypto
import Delivery
import Foundation
import Notifications
import PrivateFiles
import CampaignStore

#if PostgreSQL
    package import PostgresClient
    import PostgresCampaignStore
    package import PostgresSupport
#endif

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Which store a provider server uses. Only this type knows all kinds of stores.
package enum CampaignStoreChoice: Sendable {
    /// The embedded SQLite store in the folder.
    case sqlite
    #if PostgreSQL
        /// A PostgreSQL database, which several servers may share, and the key that encrypts its secrets.
        case postgresql(PostgresLocation, StoreKey)
    #endif

    /// An open store, and what comes with it.
    struct Opened: Sendable {
        let store: any CampaignStore
        let vault: CredentialVault
        let administratorKey: String
        /// Locks the folder if the store does not.
        var lock: FolderLock?
    }

    func open(folder: String, now: @escaping @Sendable () -> Timestamp) async throws(StoreError) -> Opened {
        switch self {
        case .sqlite:
            let store = try SQLiteCampaignStore(folder: folder, now: now)
            return Opened(
                store: store, vault: try CredentialVault(folder: folder),
                administratorKey: try Self.administratorKey(in: folder))
        #if PostgreSQL
            case .postgresql(let location, let key):
                let lock = try FolderLock(folder)
                let configuration = PostgresCampaignStore.Configuration(
                    location: location, storeKey: key, identity: try Self.identity(in: folder), now: now)
                let store: PostgresCampaignStore
                do throws(StoreError) {
                    store = try await PostgresCampaignStore.open(configuration)
                } catch {
                    throw StoreError(error.code, "The store at \(location) cannot be used. \(error.cause)")
                }
                do throws(StoreError) {
                    return Opened(
                        store: store, vault: CredentialVault(key: key.key),
                        administratorKey: try await Self.sharedKey(store, folder), lock: lock)
                } catch {
                    await store.close()
                    throw error
                }
        #endif
        }
    }

    /// Reads the administrator's key. Makes one at the first start.
    private static func administratorKey(in folder: String) throws(StoreError) -> String {
        let path = folder + "/" + ProviderServer.administratorKeyFile
        if try !Files.exists(path) { try write(AccessKey(prefix: AccessKey.administratorPrefix).text, to: path) }
        let bytes = try Files.read(try Files.open(path, O_RDONLY), upTo: 1024, of: path)
        let key = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard key.utf8.count >= 16 else {
            throw StoreError(.unreadable, "\(path) has no key: delete it, and the next start makes a new one.")
        }
        return key
    }

    private static func write(_ key: String, to path: String) throws(StoreError) {
        _ = try Files.make(path, Array((key + "\n").utf8), replacing: true)
    }

    #if PostgreSQL
        /// The administrator's key of all servers of the database. The first server's key is theirs.
        private static func sharedKey(
            _ store: PostgresCampaignStore, _ folder: String
        ) async throws(StoreError) -> String {
            let own = try administratorKey(in: folder)
            let shared = String(
                decoding: try await store.keep(Array(own.utf8), as: "administrator/key"), as: UTF8.self)
            if shared != own { try write(shared, to: folder + "/" + ProviderServer.administratorKeyFile) }
            return shared
        }

        private static let identityFile = "server.identity"
        private static let identityBytes = 16

        /// Random bytes that name this server to the others. Made at the first start.
        private static func identity(in folder: String) throws(StoreError) -> [UInt8] {
            let path = folder + "/" + identityFile
            if try !Files.exists(path) {
                let bytes = SymmetricKey(size: SymmetricKeySize(bitCount: identityBytes * 8)).withUnsafeBytes {
                    Array($0)
                }
                _ = try Files.make(path, bytes, replacing: false)
            }
            let bytes = try Files.read(try Files.open(path, O_RDONLY), upTo: identityBytes + 1, of: path)
            guard bytes.count == identityBytes else {
                throw StoreError(.unreadable, "\(path) is damaged: delete it, and the next start makes a new one.")
            }
            return bytes
        }
    #endif
}
