package import Storage

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Lets only one process at a time use a folder. The lock ends with this value, and with the process.
package final class FolderLock: Sendable {
    /// How often a lock is tried again that others only look at. Looking takes microseconds; on a busy machine, the system
    /// may stop the other process meanwhile. In total, this is ten seconds.
    private static let attempts = 1000
    /// The time between two attempts, in microseconds.
    private static let interval: UInt32 = 10_000

    private let descriptor: Descriptor

    private init(_ descriptor: Descriptor) { self.descriptor = descriptor }

    // Closing the descriptor is not enough: a child process that has not yet become another program has a copy of it.
    deinit { flock(descriptor.number, LOCK_UN) }

    /// - Parameters:
    ///   - file: the name of the lock's file in the folder.
    ///   - program: who uses the folder, as in "provider server".
    package convenience init(_ folder: String, file: String, of program: String) throws(StoreError) {
        guard let descriptor = try Self.locked(folder + "/" + file) else {
            throw StoreError(.unavailable, "Another \(program) uses \(folder): stop it, or choose another folder.")
        }
        self.init(descriptor)
    }

    /// Takes the lock of a file. Creates the file if it is missing.
    /// - Returns: nil if a process holds the lock.
    package static func acquire(_ path: String) throws(StoreError) -> FolderLock? {
        try locked(path).map { FolderLock($0) }
    }

    /// Whether a process holds the lock of a file. This does not keep anybody from taking it.
    package static func isHeld(_ path: String) -> Bool {
        // If the file is missing or cannot be opened, no process of this user has locked it.
        guard let descriptor = try? Files.open(path, O_RDONLY | O_NOFOLLOW) else { return false }
        defer { flock(descriptor.number, LOCK_UN) }
        return !isShareable(descriptor)
    }

    private static func locked(_ path: String) throws(StoreError) -> Descriptor? {
        let descriptor = try Files.open(path, O_RDWR | O_CREAT | O_NOFOLLOW)
        for _ in 0..<attempts {
            if flock(descriptor.number, LOCK_EX | LOCK_NB) == 0 { return descriptor }
            // A process that calls ``isHeld(_:)`` shares the lock for a moment. One that uses the folder shares it with nobody.
            guard isShareable(descriptor) else { return nil }
            flock(descriptor.number, LOCK_UN)
            usleep(interval)
        }
        return nil
    }

    /// Takes the lock in a way that others can take it as well.
    private static func isShareable(_ descriptor: Descriptor) -> Bool {
        flock(descriptor.number, LOCK_SH | LOCK_NB) == 0
    }
}
