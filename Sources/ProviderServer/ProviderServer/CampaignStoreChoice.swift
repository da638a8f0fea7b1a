import CampaignStore
import Crypto
import Foundation
import Notifications
import PrivateFiles
import Storage

#if PostgreSQL
    package import PostgresClient
    import PostgresCampaignStore
    package import PostgresSupport
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
    struct OpenStore: Sendable {
        let store: any CampaignStore
        let vault: CredentialVault
        let administratorKey: String
    }

    /// - Parameter lock: the lock of the folder.
    func open(folder: String, _ lock: FolderLock, now: @escaping @Sendable () -> Timestamp) async throws -> OpenStore {
        switch self {
        case .sqlite:
            let store = try SQLiteCampaignStore(folder: folder, lock: lock, now: now)
            return OpenStore(
                store: store, vault: try CredentialVault(folder: folder),
                administratorKey: try Self.administratorKey(Self.administratorKeyFile(in: folder)))
        #if PostgreSQL
            case .postgresql(let location, let key):
                let configuration = PostgresCampaignStore.Configuration(
                    location: location, storeKey: key, identity: try Self.identity(in: folder), now: now)
                let store: PostgresCampaignStore
                do throws(StoreError) {
                    store = try await PostgresCampaignStore.open(configuration)
                } catch {
                    throw StoreError(error.code, "The store at \(location) cannot be used. \(error.cause)")
                }
                do {
                    return OpenStore(
                        store: store, vault: CredentialVault(key: key.key),
                        administratorKey: try await Self.sharedKey(store, folder))
                } catch {
                    await store.close()
                    throw error
                }
        #endif
        }
    }

    /// Reads the administrator's key. Makes one at the first start.
    private static func administratorKey(_ file: ServerFile) throws(ProviderServerError) -> String {
        let bytes = try file.read { line(AccessKey(prefix: AccessKey.administratorPrefix).text) }
        let key = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard key.utf8.count >= 16 else {
            throw ProviderServerError(
                .unusableFile, "\(file.path) has no key: delete it, and the next start makes a new one.")
        }
        return key
    }

    private static func administratorKeyFile(in folder: String) -> ServerFile {
        ServerFile(path: folder + "/" + ProviderServer.administratorKeyFile, maximumBytes: 1024)
    }

    private static func line(_ key: String) -> [UInt8] { Array((key + "\n").utf8) }

    #if PostgreSQL
        /// The administrator's key of all servers of the database. The first server's key is theirs.
        private static func sharedKey(_ store: PostgresCampaignStore, _ folder: String) async throws -> String {
            let file = administratorKeyFile(in: folder)
            let own = try administratorKey(file)
            let shared = String(
                decoding: try await store.keep(Array(own.utf8), as: "administrator/key"), as: UTF8.self)
            if shared != own { try file.replace(with: line(shared)) }
            return shared
        }

        private static let identityFile = "server.identity"
        private static let identityBytes = 16

        /// Random bytes that name this server to the others. Made at the first start.
        private static func identity(in folder: String) throws(ProviderServerError) -> [UInt8] {
            let path = folder + "/" + identityFile
            let bytes = try ServerFile(path: path, maximumBytes: identityBytes).read {
                SymmetricKey(size: SymmetricKeySize(bitCount: identityBytes * 8)).withUnsafeBytes { Array($0) }
            }
            guard bytes.count == identityBytes else {
                throw ProviderServerError(
                    .unusableFile, "\(path) is damaged: delete it, and the next start makes a new one.")
            }
            return bytes
        }
    #endif
}
