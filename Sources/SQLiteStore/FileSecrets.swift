package import Delivery
import Dispatch

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Secrets in a folder, a file for each, readable by its owner alone.
package final class FileSecrets: Secrets {
    /// In bytes. A certificate authority with its keys and certificates takes a few thousand; a larger file is none of
    /// ours.
    package static let maximumBytes = 1 << 20

    private let path: String
    /// Reads and writes block, which must not happen on the threads that tasks run on.
    private let queue = DispatchQueue(label: "FileSecrets")

    /// - Parameter path: the folder's, which is created where it is not there.
    package init(folder path: String) throws(StoreError) {
        self.path = path
        try Files.makeFolder(path)
        let folder = try Files.open(path, O_RDONLY | O_DIRECTORY)
        guard fchmod(folder.number, Files.privateFolder) == 0 else { throw Files.error("protect", path) }
    }

    package func secret(_ name: SecretName) async throws(StoreError) -> [UInt8]? {
        try await blocking { () throws(StoreError) in try self.read(name) }
    }

    package func keep(_ value: [UInt8], as name: SecretName) async throws(StoreError) -> [UInt8] {
        guard value.count <= Self.maximumBytes else {
            throw StoreError(.unavailable, "The secret \(name.rawValue) is larger than \(Self.maximumBytes) bytes.")
        }
        return try await blocking { () throws(StoreError) in
            if let present = try self.read(name) { return present }
            return try self.write(value, as: name) ? value : self.read(name) ?? value
        }
    }

    private func file(_ name: SecretName) -> String { path + "/" + name.rawValue }

    private func read(_ name: SecretName) throws(StoreError) -> [UInt8]? {
        guard try Files.exists(file(name)) else { return nil }
        let value = try Files.read(try Files.open(file(name), O_RDONLY), upTo: Self.maximumBytes + 1, of: file(name))
        guard value.count <= Self.maximumBytes else {
            throw StoreError(.unreadable, "\(file(name)) is too large for a secret: restore it from a backup.")
        }
        return value
    }

    /// Writes the value under a name that no secret has, and then gives it the secret's name in one step, which fails
    /// where there is a secret of that name. So nobody ever reads half a secret, and the first one stays.
    /// - Returns: Whether this value is the one that is kept.
    private func write(_ value: [UInt8], as name: SecretName) throws(StoreError) -> Bool {
        // Names of secrets do not begin with a period.
        let draft = path + "/." + name.rawValue + "." + String(UInt64.random(in: .min ... .max), radix: 16)
        let file = try Files.open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
        let isKept: Bool
        do throws(StoreError) {
            try Files.write(value, to: file, of: draft)
            try Files.sync(file, draft)
            isKept = try Files.link(draft, to: self.file(name))
        } catch {
            // Thrown away: why the secret could not be kept matters more.
            try? Files.remove(draft)
            throw error
        }
        try Files.remove(draft)
        try Files.sync(try Files.open(path, O_RDONLY | O_DIRECTORY), path)
        return isKept
    }

    private func blocking<Value: Sendable>(
        _ body: @escaping @Sendable () throws(StoreError) -> Value,
    ) async throws(StoreError) -> Value {
        try await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: Result { () throws(StoreError) in try body() }) }
        }.get()
    }
}
