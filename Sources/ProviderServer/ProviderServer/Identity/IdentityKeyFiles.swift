import Foundation
import HTTPAPI
import Logging
import Synchronization

/// The key sets of identity providers, which are files on this machine. A file is read again when it has changed, so
/// the organisation replaces a key without a restart.
final class IdentityKeyFiles: Sendable {
    /// What a file looks like from outside. It changes when somebody writes or replaces the file.
    private struct FileVersion: Sendable, Hashable {
        let file: UInt64
        let size: UInt64
        let modified: Date
    }

    private let known = Mutex<[String: (version: FileVersion, keys: IdentityKeySet)]>([:])
    /// Why files cannot be used now. The log says it once and not for each request, because strangers can send those.
    private let troubles = Mutex<[String: String]>([:])
    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    /// Returns the keys in a file.
    /// - Throws: why the file cannot be used now. Old keys do not count then, because somebody may have removed a key
    ///   that was stolen.
    func keys(_ path: String) throws(ProviderServerError) -> IdentityKeySet {
        let version = try Self.fileVersion(path)
        if let known = known.withLock({ $0[path] }), known.version == version { return known.keys }
        let keys = try Self.read(path)
        // The file may have changed while it was read. Then the next request reads it again.
        known.withLock { $0[path] = (version, keys) }
        return keys
    }

    /// The same for a request with a token, which is answered 503 if the file cannot be used. The log says why.
    func keysForRequest(_ path: String) throws(Problem) -> IdentityKeySet {
        do throws(ProviderServerError) {
            let keys = try keys(path)
            if troubles.withLock({ $0.removeValue(forKey: path) }) != nil {
                logger.info("The keys of an identity provider can be read again", metadata: ["file": "\(path)"])
            }
            return keys
        } catch {
            let isNew = troubles.withLock { $0.updateValue(error.cause, forKey: path) != error.cause }
            if isNew {
                logger.error(
                    "The keys of an identity provider cannot be read",
                    metadata: ["file": "\(path)", "cause": "\(error.cause)"])
            }
            throw Problem(503, "The server cannot read the identity provider's keys now; its log says why.")
        }
    }

    private static func fileVersion(_ path: String) throws(ProviderServerError) -> FileVersion {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else {
            throw ProviderServerError(.unusableFile, "\(path) cannot be read: check the path and its permissions.")
        }
        return FileVersion(
            file: (attributes[.systemFileNumber] as? NSNumber)?.uint64Value ?? 0,
            size: (attributes[.size] as? NSNumber)?.uint64Value ?? 0,
            modified: attributes[.modificationDate] as? Date ?? .distantPast)
    }

    private static func read(_ path: String) throws(ProviderServerError) -> IdentityKeySet {
        let limit = ProviderServerLimits.identityFileBytes
        let bytes = try ServerFile(path: path, maximumBytes: limit).read()
        guard bytes.count <= limit else { throw ProviderServerError(.unusableFile, "\(path) may have \(limit) bytes.") }
        return try IdentityKeySet(bytes)
    }
}
