import Dispatch
package import Storage

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Secrets as files in a folder, one file for each. Only their owner can read them.
package final class FileSecrets: Secrets {
    /// The largest size of a secret, in bytes. A certificate authority with its keys and certificates has a few
    /// thousand.
    package static let maximumBytes = 1 << 20

    /// The paths of the folder and the files that other users could read or change before this was opened. They are
    /// private now, if the system allowed that.
    package let exposed: [String]

    private let path: String
    private let known: SecretNames
    /// Files are read and written on this queue, because that blocks, and the threads that run tasks must not block.
    private let queue = DispatchQueue(label: "FileSecrets")

    /// - Parameter path: the path of the folder, which is created if it is missing.
    package init(folder path: String) throws(StoreError) {
        self.path = path
        try Files.makeFolder(path)
        let folder = try Files.open(path, O_RDONLY | O_DIRECTORY)
        // Change the permissions only if needed, because the folder may be on a disk that can only be read.
        let mode = try Files.mode(of: folder, path)
        guard mode == Files.privateFolder || fchmod(folder.number, Files.privateFolder) == 0 else {
            throw Files.error("protect", path)
        }
        let names = Set(try Files.fileNames(inFolder: path).compactMap(SecretName.init(rawValue:)))
        var exposed = mode & ~Files.privateFolder == 0 ? [] : [path]
        for file in names.map({ path + "/" + $0.rawValue }).sorted() where try Self.close(file) { exposed.append(file) }
        self.exposed = exposed
        known = SecretNames(names)
    }

    /// Makes a file private.
    /// - Returns: Whether other users could use it before.
    private static func close(_ file: String) throws(StoreError) -> Bool {
        let descriptor = try Files.open(file, O_RDONLY)
        guard try Files.mode(of: descriptor, file) & ~Files.privateFile != 0 else { return false }
        // If the disk cannot be written, the file stays as it is, and a warning names it.
        _ = fchmod(descriptor.number, Files.privateFile)
        return true
    }

    /// The names of the secrets that are there now.
    package var present: Set<SecretName> { known.all }

    package func nameStream() -> AsyncStream<SecretName> { known.stream() }

    /// Always false, because only one process uses the folder.
    package var isShared: Bool { false }

    package func secret(_ name: SecretName) async throws(StoreError) -> [UInt8]? {
        try await blocking { () throws(StoreError) in try self.read(name) }
    }

    package func keep(_ value: [UInt8], as name: SecretName) async throws(StoreError) -> [UInt8] {
        guard value.count <= Self.maximumBytes else {
            throw StoreError(.unavailable, "The secret \(name.rawValue) is larger than \(Self.maximumBytes) bytes.")
        }
        return try await blocking { () throws(StoreError) in
            defer { self.known.insert(name) }
            if let present = try self.read(name) { return present }
            // If the secret exists already, keep it and return it.
            return try Files.make(self.file(name), value, replacing: false) ? value : self.read(name) ?? value
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

    private func blocking<Value: Sendable>(
        _ body: @escaping @Sendable () throws(StoreError) -> Value,
    ) async throws(StoreError) -> Value {
        try await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: Result { () throws(StoreError) in try body() }) }
        }.get()
    }
}
