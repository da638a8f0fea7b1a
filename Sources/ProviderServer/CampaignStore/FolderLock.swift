import PrivateFiles
package import Storage

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Lets only one provider server at a time use a folder. The lock ends with this value, and with the process.
package final class FolderLock: Sendable {
    private let descriptor: Descriptor

    package init(_ folder: String) throws(StoreError) {
        descriptor = try Files.open(folder + "/provider.lock", O_RDWR | O_CREAT | O_NOFOLLOW)
        guard flock(descriptor.number, LOCK_EX | LOCK_NB) == 0 else {
            throw StoreError(.unavailable, "Another provider server uses \(folder): stop it, or choose another folder.")
        }
    }
}
