import Foundation
import NIOPosix
import Notifications

/// A store that keeps provider tokens in a folder, one file for each signing key, so that several processes on one
/// machine use the same token. Only their owner can read the files, because anybody who has a token can use it for
/// an hour.
public struct FileProviderTokenStore: ProviderTokenStore {
    /// The largest size of a stored token, in bytes. A token has about 250.
    static let maximumBytes = 4_096

    private let folder: String

    /// Creates a store.
    /// - Parameter folder: the folder's path. The folder is made if it does not exist.
    public init(folder: String) { self.folder = folder }

    /// Reads and replaces a key's token. See ``ProviderTokenStore/update(_:_:)``.
    /// - Throws: The error of `change`, or an error of the file system.
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
        defer {
            // Closing alone does not release it: a child process that has not yet become another program has a copy.
            flock(lock, LOCK_UN)
            close(lock)
        }
        while flock(lock, LOCK_EX) != 0 {
            guard errno == EINTR else { throw Failure(path: path, errno: errno) }
        }
        let stored = FileManager.default.contents(atPath: path).flatMap { data in
            // If the file is damaged, a new token is made.
            data.count <= Self.maximumBytes ? try? JSONValue.decode(data, as: StoredProviderToken.self) : nil
        }
        let changed = try change(stored)
        if changed != stored { try replace(path, with: changed) }
        return changed
    }

    /// Writes to another name first, so that a crash, or a reader without the lock, never sees half a file.
    private func replace(_ path: String, with token: StoredProviderToken) throws {
        let data = Data(try JSONValue(encoding: token).text.utf8)
        let temporary = "\(path).new"
        unlink(temporary)
        let file = open(temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Failure(path: temporary, errno: errno) }
        defer { close(file) }
        // A write that stops short sets no errno: the next one says why.
        var rest = data[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
            guard count >= 0 else { throw Failure(path: path, errno: errno) }
            rest = rest.dropFirst(count)
        }
        guard rename(temporary, path) == 0 else { throw Failure(path: path, errno: errno) }
    }

    private struct Failure: Error, CustomStringConvertible {
        let path: String
        let errno: Int32

        var description: String { "\(path): \(String(cString: strerror(errno)))" }
    }
}
