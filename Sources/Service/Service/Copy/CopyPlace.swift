import Delivery
import Foundation
import SQLiteStore
import Storage

#if PostgreSQL
    package import PostgresClient
    import PostgresStore
#endif

/// The source or the target of a copy.
package enum CopyPlace: Sendable, CustomStringConvertible {
    /// The embedded store in a data folder.
    case folder(DataFolder)
    #if PostgreSQL
        case database(PostgresLocation)
    #endif

    /// - Parameter text: `sqlite:` and a folder, or a PostgreSQL URL. Errors do not quote it, because it may contain a
    ///   password.
    package init(_ text: String) throws(ServiceError) {
        if text.hasPrefix("sqlite:") {
            let path = text.dropFirst("sqlite:".count)
            guard !path.isEmpty else {
                throw ServiceError(.badSetting, "After sqlite: comes the data folder, as in sqlite:./carillon-data.")
            }
            self = .folder(DataFolder(String(path)))
            return
        }
        #if PostgreSQL
            if case .postgresql(let location)? = try? StoreChoice(text) {
                guard !location.hasPassword else {
                    throw ServiceError(
                        .badSetting,
                        "The URL has a password, and everybody on this machine can read a command's arguments: put the "
                            + "password into libpq's password file.")
                }
                self = .database(location)
                return
            }
        #endif
        throw ServiceError(
            .badSetting, "A store is sqlite: and a data folder, or a URL that begins with postgresql://.")
    }

    package var description: String {
        switch self {
        case .folder(let folder): folder.path
        #if PostgreSQL
            case .database(let location): location.description
        #endif
        }
    }

    /// Opens the store while `body` runs. Meanwhile no service can use it.
    /// - Parameter isTarget: whether this store is the target. A target may be missing.
    func with<Value: Sendable>(
        _ storeKeyFile: String?,
        isTarget: Bool,
        _ body: (any CopyableStore) async throws(ServiceError) -> Value,
    ) async throws(ServiceError) -> Value {
        let lock = try lock(isTarget: isTarget)
        defer { withExtendedLifetime(lock) {} }
        let store = try await open(storeKeyFile, isTarget: isTarget)
        do throws(ServiceError) {
            let value = try await body(store)
            await store.close()
            return value
        } catch {
            await store.close()
            throw error
        }
    }

    private func lock(isTarget: Bool) throws(ServiceError) -> DataFolderLock? {
        guard case .folder(let folder) = self else { return nil }
        if isTarget {
            try folder.prepare(for: .sqlite)
        } else if !FileManager.default.fileExists(atPath: folder.path + "/" + SQLiteStore.fileName) {
            throw ServiceError(
                .dataFolder, "\(folder.path) holds no embedded store: name the data folder of a service.")
        }
        return try DataFolderLock(folder)
    }

    private func open(
        _ storeKeyFile: String?,
        isTarget: Bool,
    ) async throws(ServiceError) -> any CopyableStore {
        switch self {
        case .folder(let folder):
            do throws(StoreError) {
                return try await SQLiteStore.open(folder: folder.path, isForCopy: isTarget)
            } catch {
                throw ServiceError(.store, error.cause)
            }
        #if PostgreSQL
            case .database(let location):
                var random = SystemRandomNumberGenerator()
                let identity = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) }
                let configuration = PostgresStore.Configuration(
                    location: location, storeKey: try StoreKeyFile.read(storeKeyFile),
                    node: .copy(identity: identity))
                do throws(StoreError) {
                    return try await PostgresStore.open(configuration)
                } catch {
                    throw ServiceError(.store, "The store at \(location) cannot be used. \(error.cause)")
                }
        #endif
        }
    }
}
