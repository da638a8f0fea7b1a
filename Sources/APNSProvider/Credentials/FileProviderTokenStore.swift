import Foundation
import NIOPosix

/// Keeps provider tokens in a folder, one file for each signing key, so that several processes on one machine send the
/// same token. The files are readable by their owner alone: a token is good for an hour for whoever has it.
public struct FileProviderTokenStore: ProviderTokenStore {
    /// In bytes of a stored token; one has some 250.
    static let maximumBytes = 4_096

    private let folder: String

    /// - Parameter folder: made when it is not there.
    public init(folder: String) { self.folder = folder }

    /// See ``ProviderTokenStore/update(_:_:)``.
    public func update(
        _ key: String,
        _ change: @escaping @Sendable (StoredProviderToken?) throws -> StoredProviderToken,
    ) async throws -> StoredProviderToken {
        // Waiting for another process's lock blocks a thread.
        try await NIOThreadPool.singleton.runIfActive { try locked(key, change) }
    }

    private func locked(
        _ key: String,
        _ change: (StoredProviderToken?) throws -> StoredProviderToken,
    ) throws -> StoredProviderToken {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let path = "\(folder)/\(key).json"
        let lock = open("\(path).lock", O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw Failure(path: path, errno: errno) }
        defer { close(lock) }  // Which lets go of the lock.
        while flock(lock, LOCK_EX) != 0 {
            guard errno == EINTR else { throw Failure(path: path, errno: errno) }
        }
        let stored = FileManager.default.contents(atPath: path).flatMap { data in
            // What is damaged is made anew.
            data.count <= Self.maximumBytes ? try? JSONDecoder().decode(StoredProviderToken.self, from: data) : nil
        }
        let changed = try change(stored)
        if changed != stored { try replace(path, with: changed) }
        return changed
    }

    /// Under another name first, so that a reader without the lock, or a crash, never sees half a file.
    private func replace(_ path: String, with token: StoredProviderToken) throws {
        let data = try JSONEncoder().encode(token)
        let temporary = "\(path).new"
        unlink(temporary)
        let file = open(temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Failure(path: temporary, errno: errno) }
        defer { close(file) }
        let written = data.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
        guard written == data.count, rename(temporary, path) == 0 else {
            throw Failure(path: path, errno: errno)
        }
    }

    private struct Failure: Error, CustomStringConvertible {
        let path: String
        let errno: Int32

        var description: String { "\(path): \(String(cString: strerror(errno)))" }
    }
}
